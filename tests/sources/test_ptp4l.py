"""ptp4l's bound: a fake of its socket, hostile answers, and a real ptp4l that steers no clock."""

import contextlib
import math
import os
import re
import shutil
import socket
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from fake_ptp4l import (
    CURRENT,
    DEFAULT,
    GRANDMASTER,
    PARENT,
    PORT,
    PROPERTIES,
    PTP,
    TIME_STATUS,
    TRACEABLE,
    UTC_VALID,
    FakePtp4l,
    answers,
    response,
)
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.kernel_clock import KernelClock
from tracetime.errors import NoBoundError
from tracetime.sources.time_service import ptp4l
from tracetime.sources.time_service.ptp4l import Ptp4l
from tracetime.sources.time_service.service import TimeService

S = 10**9
STEERED = KernelClock(65_536 * 12, 10_000, 0, 0, 0, 0, 0, 37)


@pytest.fixture
def fake(tmp_path):
    made = FakePtp4l(tmp_path / "ptp4l")
    yield made
    made.close()


def source(fake, **options):
    return Ptp4l([fake.path], kernel=lambda: STEERED, **options)


def test_the_bound_is_offset_delay_and_the_grandmasters_accuracy(fake):
    ingress_ns = time.time_ns() - S // 2
    fake.said = answers(ingress_ns=ingress_ns, offset_ns=-149, delay_scaled=(751 << 16) + 1)
    said = source(fake, realtime_ns=lambda: ingress_ns + S // 2).ask(lambda: 77 * S)
    # 100 ns for 0x21; a part of a ns of the delay is a whole one.
    assert said.bound_ns == 149 + 752 + 100
    assert (said.as_of_ns, said.mark) == (77 * S - S // 2, str(ingress_ns))
    # An oscillator, and the 12 ppm by which the kernel steers it.
    assert (said.growth_ppb, said.drift_ppb) == (512_001, 500_000)
    # To every clock and port; no hops, and GET.
    assert {data[34:48] for data in fake.requests} == {b"\xff" * 10 + bytes(4)}
    assert {len(data) for data in fake.requests} == {54}


@pytest.mark.parametrize(
    ("accuracy", "ns"),
    [(0x17, 10), (0x1F, 10), (0x20, 25), (0x23, 1_000), (0x29, 10**6), (0x30, 10**10)],
)
def test_what_the_grandmaster_says_of_itself_is_added(fake, accuracy, ns):
    fake.said = answers(offset_ns=0, delay_scaled=0, accuracy=accuracy)
    assert source(fake).ask(time.monotonic_ns).bound_ns == ns


def test_the_largest_of_the_last_offsets_counts(fake):
    asking, base = source(fake), time.time_ns() - S
    bounds = []
    for n, offset_ns in enumerate([9_000, -20_000, *[100] * 17]):
        fake.said = answers(offset_ns=offset_ns, delay_scaled=0, ingress_ns=base + n)
        bounds += [asking.ask(time.monotonic_ns).bound_ns for _ in range(2)]
    assert bounds == [9_100] * 2 + [20_100] * 32 + [200] * 4


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"present": 0}, "has no master"),
        ({"grandmaster": GRANDMASTER + 1}, "has no master"),
        ({"steps": 3}, "2 boundary clocks"),
        ({"steps": 0}, "has no master"),
        ({"flags": UTC_VALID | TRACEABLE}, "does not count TAI"),
        ({"flags": PTP | TRACEABLE}, "does not know UTC"),
        ({"flags": PTP | UTC_VALID}, "no primary reference .*timeTraceable 0"),
        ({"kind": 248}, "no primary reference .clockClass 248"),
        ({"kind": 13}, "no primary reference"),
        ({"accuracy": 0xFE}, "does not say how far it is off .clockAccuracy 0xfe"),
        ({"accuracy": 0x31}, "does not say how far it is off"),
        ({"accuracy": 0x16}, "does not say how far it is off"),
        ({"offset_ns": S}, "not synchronised .offset 1000000000 ns"),
        ({"offset_ns": -(2**47)}, "not synchronised"),
        ({"delay_scaled": -(1 << 20)}, "not synchronised"),
        ({"delay_scaled": 2**63 - 1}, "not synchronised"),
        ({"ingress_ns": 0}, "not of the last 10 s"),
        ({"ingress_ns": -(2**63)}, "not of the last 10 s"),
        ({"ingress_ns": 2**63 - 1}, "not of the last 10 s"),
        ({"state": 8}, "not synchronised; wait until its port is in the state SLAVE"),
        ({"state": 6, "ports": 0}, "in the state SLAVE"),
        ({"stamps": 1}, "keeps the clock of a network card"),
        ({"stamps": 3}, "keeps the clock of a network card"),
    ],
)
def test_what_bounds_nothing_is_refused(fake, said, why):
    said.setdefault("offset_ns", 0)
    packed = {**said, "offset_ns": max(-(2**47), min(said["offset_ns"], 2**47 - 1))}
    fake.said = answers(**packed)
    with pytest.raises(NoBoundError, match=why) as caught:
        source(fake).ask(time.monotonic_ns)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("ahead_s", "is_late"), [(37, True), (1, True), (-9, False), (-11, True)])
def test_a_sync_is_of_the_last_10_s(fake, ahead_s, is_late):
    fake.said = answers(ingress_ns=time.time_ns() + ahead_s * S)
    if is_late:
        with pytest.raises(NoBoundError, match="see whether its master runs"):
            source(fake).ask(time.monotonic_ns)
    else:
        assert source(fake).ask(lambda: 100 * S).as_of_ns < 91 * S


def test_a_sync_between_the_answers_makes_it_ask_again(fake):
    base = time.time_ns() - S
    times = iter([base, base + 5, *[base + 9] * 9])
    fake.said[TIME_STATUS] = lambda: answers(ingress_ns=next(times))[TIME_STATUS]
    assert source(fake).ask(time.monotonic_ns).mark == str(base + 9)
    times = iter(range(base, base + 99))
    with pytest.raises(NoBoundError, match="faster than ptp4l answers"):
        source(fake).ask(time.monotonic_ns)


def test_one_of_its_ports_follows_a_master(fake):
    states = [answers(state=state)[PORT] for state in (6, 9, 6)]
    fake.said = answers(ports=3)
    fake.reply = lambda about, content, sequence: [
        response(about, one, sequence) for one in (states if about == PORT else [content])
    ]
    assert source(fake).ask(time.monotonic_ns).bound_ns == 149 + 751 + 100
    states[1] = states[0]
    with pytest.raises(NoBoundError, match="in the state SLAVE"):
        source(fake).ask(time.monotonic_ns)


def test_answers_to_others_are_passed_over(fake):
    fake.reply = lambda about, content, sequence: [
        response(about, b"", sequence - 1),
        response(about, content, sequence, action=0),
        response(about, content, sequence),
    ]
    assert source(fake).ask(time.monotonic_ns).bound_ns == 149 + 751 + 100


HOSTILE = [
    (lambda *of: [b"short"], "5 bytes"),
    (lambda *of: [response(*of, kind=0x0B)], "a message 0xb"),
    (lambda *of: [response(*of, version=1)], "version 0x1"),
    (lambda *of: [response(*of, more=1)], "with 105 bytes"),
    (lambda *of: [response(*of)[:-1]], "with 104 bytes"),
    (lambda about, content, n: [response(about, content[:-1], n)], "49 bytes of 0xc000"),
    (lambda about, content, n: [response(about, content + b"0", n)], "51 bytes of 0xc000"),
    (lambda about, content, n: [response(about, content[:11] if about == PORT else content, n)], "11 bytes of 0xc004"),
    (lambda about, content, n: [response(about ^ 1, content, n)], "of 0xc001"),
    (lambda *of: [response(*of, tlv=3)], "a TLV 3"),
    (lambda about, content, n: [response(6, content, n, tlv=2)], r"refuses to say 0xc000 \(error 6\)"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "why"), HOSTILE, ids=[why for _, why in HOSTILE])
def test_other_answers_are_refused(fake, reply, why):
    fake.reply = reply
    with pytest.raises(NoBoundError, match=why):
        source(fake).ask(time.monotonic_ns)


@given(
    st.sampled_from([TIME_STATUS, CURRENT, PARENT, PROPERTIES, PORT, DEFAULT]),
    st.binary(max_size=130),
    st.integers(0, 104),
)
def test_any_bytes_are_a_bound_or_a_clear_error(fake, about, junk, at):
    def reply(number, content, sequence):
        whole = response(number, content, sequence)
        return [whole[:at] + junk if number == about else whole]

    fake.reply = reply
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ptp4l, "_TIMEOUT_S", 0.05)
        try:
            said = source(fake).ask(time.monotonic_ns)
        except NoBoundError as error:
            assert ";" in str(error) or "nothing says" in str(error) or "say" in str(error)
        else:
            assert 0 <= said.bound_ns <= 13 * S


def test_nobody_else_can_answer(fake):
    """A socket that is connected hears from the other end alone."""
    refused = []

    def reply(about, content, sequence):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            sockets = Path("/proc/net/unix").read_text().split()
            for path in {word for word in sockets if word.endswith("/replies")}:
                try:
                    other.sendto(response(about, b"?" * len(content), sequence), path)
                except PermissionError:
                    refused.append(path)
                except OSError:
                    pass  # A socket of another test.
        return [response(about, content, sequence)]

    fake.reply = reply
    assert source(fake).ask(time.monotonic_ns).bound_ns == 149 + 751 + 100
    assert refused


def test_a_ptp4l_that_is_silent_is_left_alone_for_a_while(fake, monkeypatch):
    monkeypatch.setattr(ptp4l, "_TIMEOUT_S", 0.05)
    fake.reply = lambda *of: []
    asking = source(fake)
    assert asking.retry_ns == 5 * S
    with pytest.raises(NoBoundError, match="has not answered for 0.05 s"):
        asking.ask(time.monotonic_ns)
    assert asking.retry_ns == 60 * S


def test_a_flood_of_others_answers_ends(fake, monkeypatch):
    monkeypatch.setattr(ptp4l, "_TIMEOUT_S", 0.05)
    fake.reply = lambda about, content, sequence: [response(about, b"", sequence - 1)] * 100
    with pytest.raises(NoBoundError, match="has not answered"):
        source(fake).ask(time.monotonic_ns)


def test_where_no_ptp4l_runs_it_says_so(tmp_path, fake):
    with pytest.raises(NoBoundError, match="No such file or directory.; start ptp4l"):
        Ptp4l([str(tmp_path / "none")]).ask(time.monotonic_ns)
    # The first of the paths that can be used.
    both = Ptp4l([str(tmp_path / "none"), fake.path], kernel=lambda: STEERED)
    assert both.ask(time.monotonic_ns).bound_ns == 1_000
    with pytest.raises(NoBoundError, match="no adjtimex"):
        Ptp4l([fake.path], kernel=lambda: None).ask(time.monotonic_ns)


def test_now_is_bounded_by_it(fake):
    fake.said[TIME_STATUS] = lambda: answers(ingress_ns=time.time_ns() // S * S)[TIME_STATUS]
    service = TimeService(sources=[source(fake)])
    for _ in range(100):
        before_ns = time.time_ns()
        now = service.now()
        assert now.earliest_ns <= time.time_ns()
        assert before_ns <= now.latest_ns
        assert now.source == "ptp4l"


CONFIG = """
[global]
free_running 1
time_stamping software
network_transport L2
logSyncInterval 0
logAnnounceInterval -2
logMinDelayReqInterval -3
utc_offset 0
uds_address {folder}/{name}
"""
MASTER = "clockClass 6\nclockAccuracy 0x22\npriority1 1\n"
SLAVE = "slaveOnly 1\n"
TRACEABLE_MASTER = (
    "SET GRANDMASTER_SETTINGS_NP clockClass 6 clockAccuracy 0x22 offsetScaledLogVariance 0xffff "
    "currentUtcOffset 0 leap61 0 leap59 0 currentUtcOffsetValid 1 ptpTimescale 1 timeTraceable 1 "
    "frequencyTraceable 1 timeSource 0x20"
)
"""It serves REALTIME, and says that it counts TAI: so UTC, of which it then says the same."""


def pmc(folder, name, message):
    command = ["pmc", "-u", "-b", "0", "-s", f"{folder}/{name}", "-i", f"{folder}/pmc", message]
    return subprocess.run(command, capture_output=True, text=True, timeout=600).stdout


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def following(tmp_path):
    """The folder of the sockets of two ptp4l that steer nothing; `slave` follows `master`."""
    if not all(map(shutil.which, ("ptp4l", "pmc", "ip"))):
        pytest.skip("ptp4l and pmc (apt-get install linuxptp iproute2)")
    names = [f"tt{end}{os.getpid()}" for end in "ab"]
    if subprocess.run(["ip", "netns", "add", names[0]], capture_output=True).returncode:
        pytest.skip("network namespaces (root, with CAP_SYS_ADMIN)")
    started = []
    try:
        run("ip", "netns", "add", names[1])
        a, b = names
        run("ip", "link", "add", "tt0", "netns", a, "type", "veth", "peer", "tt0", "netns", b)
        for space, name, more in zip(names, ("master", "slave"), (MASTER, SLAVE), strict=True):
            run("ip", "-n", space, "link", "set", "tt0", "up")
            config = tmp_path / f"{name}.conf"
            config.write_text(CONFIG.format(folder=tmp_path, name=name) + more)
            command = ["ip", "netns", "exec", space, "ptp4l", "-f", config, "-i", "tt0", "-m"]
            with (tmp_path / f"{name}.log").open("w") as log:
                started.append(subprocess.Popen(command, stdout=log, stderr=log))
        yield tmp_path
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(600)
        for space in names:
            with contextlib.suppress(subprocess.CalledProcessError):
                run("ip", "netns", "del", space)


def until(found, folder):
    """What a function returns as soon as it has something."""
    ends = time.monotonic() + 600
    while True:
        with contextlib.suppress(NoBoundError):
            if (result := found()) is not None:
                return result
        if time.monotonic() > ends:
            pytest.fail("".join(log.read_text()[-2_000:] for log in folder.glob("*.log")))
        time.sleep(0.05)


def test_a_ptp4l_of_this_machine_bounds_its_clock(following, monkeypatch):
    """It follows one that serves this machine's clock: so that is the truth."""

    def refusal(why):
        try:
            Ptp4l([f"{following}/slave"]).ask(time.monotonic_ns)
        except NoBoundError as error:
            return why in str(error) or None

    def same():
        """Whether this and pmc say the same, of one Sync and one delay: the delay changes often."""
        printed = pmc(following, "slave", "GET CURRENT_DATA_SET")
        said = Ptp4l([f"{following}/slave"]).ask(time.monotonic_ns)
        printed += pmc(following, "slave", "GET TIME_STATUS_NP")
        offset, ingress, delay = (
            re.search(rf"{name} +(\S+)", printed)[1]
            for name in ("master_offset", "ingress_time", "meanPathDelay")
        )
        bound_ns = abs(int(offset)) + math.ceil(float(delay)) + 250
        return (said.mark, said.bound_ns) == (ingress, bound_ns) or None

    assert until(partial(refusal, "in the state SLAVE"), following)
    # A ptp4l that steers nothing stays in the one before that.
    monkeypatch.setattr(ptp4l, "_SLAVE", 8)
    assert until(partial(refusal, "does not count TAI"), following)
    # The master has no socket, or does not answer, before it has begun.
    until(
        lambda: pmc(following, "master", TRACEABLE_MASTER).count("timeTraceable") or None, following
    )
    until(same, following)
    service = TimeService(sources=[Ptp4l([f"{following}/slave"])])
    before_ns = time.time_ns()
    now = service.now()
    assert now.earliest_ns <= time.time_ns()
    assert before_ns <= now.latest_ns
