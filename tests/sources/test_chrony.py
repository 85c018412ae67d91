"""chronyd's bound: lines of `chronyc -c tracking`, and a real chronyd that is given no clock."""

import os
import re
import shutil
import subprocess
import sys
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.errors import NoBoundError
from tracetime.sources.time_service import chrony
from tracetime.sources.time_service.chrony import Chrony, tracking_statement
from tracetime.sources.time_service.service import TimeService

LINE = (
    "A9FEA97B,169.254.169.123,4,1795473549.735290509,-0.000001229,-0.000000009,0.000000301,"
    "-7.223,-0.004,0.948,0.000306124,0.000021368,16.1,Normal"
)


def with_field(i, text):
    fields = LINE.split(",")
    fields[i] = text
    return ",".join(fields)


def test_the_bound_is_offset_dispersion_and_half_the_delay():
    said = tracking_statement(LINE, 77)
    # 1229 + 21368 + 306124 / 2 ns, and 3 ns of rounding.
    assert said.bound_ns == 175_662
    # Frequency, residual frequency and skew, and 15 ppm.
    assert said.growth_ppb == said.drift_ppb == 23_175
    assert (said.as_of_ns, said.mark) == (77, "1795473549.735290509")


@pytest.mark.parametrize("leap", ["Insert second", "Delete second"])
def test_a_leap_second_to_come_is_no_fault(leap):
    assert tracking_statement(with_field(13, leap), 0).bound_ns == 175_662


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (with_field(13, "Not synchronised"), "is not synchronised; wait"),
        (with_field(0, "00000000"), "is not synchronised; wait"),
        (with_field(0, "7F7F0101"), "serves this machine's own clock"),
        (with_field(13, "Fine"), "prints what chrony 4 does not"),
        (with_field(4, "nan"), "prints what chrony 4 does not"),
        (with_field(4, "1e3"), "prints what chrony 4 does not"),
        (with_field(4, "٣.0"), "prints what chrony 4 does not"),
        (with_field(11, ""), "prints what chrony 4 does not"),
        (with_field(11, "2000000000.0"), "is beyond use"),
        (with_field(9, "1000000.0"), "is beyond use"),
        (LINE + ",", "prints what chrony 4 does not"),
        ("", "prints what chrony 4 does not"),
        ("506 Cannot talk to daemon", "prints what chrony 4 does not"),
        ("\x1b[31m" * 100, r"\\x1b\[31m"),
    ],
)
def test_what_bounds_nothing_is_refused(line, says):
    with pytest.raises(NoBoundError, match=says) as caught:
        tracking_statement(line, 0)
    assert len(str(caught.value)) < 1_500
    assert str(caught.value).isprintable()


@given(
    st.one_of(
        st.text(max_size=200),
        st.tuples(st.integers(0, 13), st.text("0123456789.-+eE,ANaninf", max_size=30)).map(
            lambda change: with_field(*change)
        ),
    )
)
def test_any_line_is_a_bound_or_a_clear_error(line):
    try:
        said = tracking_statement(line, 0)
    except NoBoundError as error:
        assert ";" in str(error)
    else:
        assert 0 <= said.bound_ns <= 10**18
        assert 15_000 <= said.growth_ppb <= said.drift_ppb <= 10**9


def program(text):
    """A command in chronyc's place."""
    return (sys.executable, "-c", text)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("/nowhere/chronyc",), "cannot run chronyc .*; install chrony"),
        (program("print('506 Cannot talk to daemon'); exit(1)"), '"506 Cannot .*"; start chronyd'),
        (program("import sys; print('gone', file=sys.stderr); exit(1)"), '"gone"; start chronyd'),
        (program("import os; os.write(1, bytes(range(256)))"), "prints what chrony 4 does not"),
    ],
)
def test_a_chronyc_that_does_not_answer(command, says):
    with pytest.raises(NoBoundError, match=says):
        Chrony(command).ask(time.monotonic_ns)


def test_a_chronyc_that_hangs(monkeypatch):
    monkeypatch.setattr(chrony, "_TIMEOUT_S", 0.2)
    chronyd = Chrony(program("import time; time.sleep(60)"))
    assert chronyd.retry_ns == 5 * 10**9
    with pytest.raises(NoBoundError, match="has not answered for 0.2 s; restart chronyd"):
        chronyd.ask(time.monotonic_ns)
    # A recording is held up by that once a minute, not all the time.
    assert chronyd.retry_ns == 60 * 10**9
    monkeypatch.undo()
    chronyd._command = program("print('gone'); exit(1)")
    with pytest.raises(NoBoundError, match="gone"):
        chronyd.ask(time.monotonic_ns)
    assert chronyd.retry_ns == 5 * 10**9


def test_chronyc_is_asked_once_a_second(tmp_path):
    count = f"open({str(tmp_path / 'asked')!r}, 'a').write('x'); print({LINE!r})"
    service = TimeService(sources=[Chrony(program(count))])
    answers = [service.now() for _ in range(50)]
    assert len((tmp_path / "asked").read_text()) <= 2
    assert all(now.source == "chrony" and now.half_width_ns > 175_662 for now in answers)


CHRONYD = shutil.which("chronyd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
SERVED = """
port {port}
bindaddress 127.0.0.1
allow 127.0.0.1
local stratum 10
"""
SERVING = """
server 127.0.0.1 port {port} iburst minpoll 0 maxpoll 0
port 0
"""


@pytest.fixture
def chronyd(tmp_path):
    """A function that starts a chronyd without control of this machine's clock (-x)."""
    if CHRONYD is None or shutil.which("chronyc") is None:
        pytest.skip("chronyd and chronyc (apt-get install chrony)")
    # The paths of sockets are short.
    started = []

    def start(name, config):
        folder = tmp_path / name
        folder.mkdir(mode=0o700)
        config += f"cmdport 0\nbindcmdaddress {folder}/sock\npidfile {folder}/pid\n"
        (folder / "conf").write_text(config)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout
        command = [CHRONYD, "-x", "-d", "-u", user.strip(), "-f", f"{folder}/conf"]
        with (folder / "log").open("w") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
        return ("chronyc", "-n", "-h", f"{folder}/sock", "-c", "tracking")

    yield start
    for process in started:
        process.terminate()
    for process in started:
        process.wait(600)


def bound_of(source):
    """The bound, when there is one."""
    ends = time.monotonic() + 600
    while True:
        try:
            return source.ask(time.monotonic_ns)
        except NoBoundError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)


def printed(command):
    """What `chronyc tracking` prints for people: when it measured, and the bound, ns."""
    text = subprocess.run(
        [part for part in command if part != "-c"], capture_output=True, text=True, check=True
    ).stdout
    offset, delay, dispersion = (
        Decimal(re.search(rf"{name} *: (\S+) seconds", text)[1])
        for name in ("System time", "Root delay", "Root dispersion")
    )
    measured = re.search(r"Ref time.*: (.*)", text)[1]
    return measured, (offset + dispersion + delay / 2) * 10**9


def test_a_chronyd_of_this_machine_bounds_its_clock(chronyd, tmp_path):
    """It follows a second one, which serves this machine's clock for true: so that is the truth."""
    port = 20_000 + os.getpid() % 10_000
    chronyd("served", SERVED.format(port=port))
    command = chronyd("serving", SERVING.format(port=port))
    bound_of(Chrony(command))
    for _ in range(30):
        before, said, after = (
            printed(command),
            Chrony(command).ask(time.monotonic_ns),
            printed(command),
        )
        if before[0] == after[0]:
            break
    # What it prints for people grows, too, until it measures again.
    assert before[0] == after[0]
    assert before[1] - 50 <= said.bound_ns <= after[1] + 50
    service = TimeService(sources=[Chrony(command)])
    for _ in range(20):
        before = time.time_ns()
        now = service.now()
        assert now.earliest_ns <= time.time_ns()
        assert now.latest_ns >= before
        assert now.source == "chrony"
        assert now.half_width_ns > 0
        time.sleep(0.1)


def test_a_chronyd_that_serves_its_own_clock_bounds_nothing(chronyd):
    command = chronyd("served", "port 0\nlocal stratum 10\n")
    with pytest.raises(NoBoundError, match="serves this machine's own clock"):
        bound_of_own(Chrony(command))


def test_a_chronyd_without_a_server_bounds_nothing(chronyd):
    command = chronyd("alone", "port 0\n")
    with pytest.raises(NoBoundError, match="is not synchronised"):
        bound_of_own(Chrony(command))


def bound_of_own(source):
    """What a daemon says once it answers."""
    ends = time.monotonic() + 600
    while True:
        try:
            return source.ask(time.monotonic_ns)
        except NoBoundError as error:
            if "start chronyd" not in str(error) or time.monotonic() > ends:
                raise
            time.sleep(0.1)
