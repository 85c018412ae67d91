"""`tracetime record`: how long, of what, whose exit code, and what becomes of signals."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from platforms import WITH_BOOTTIME
from recorded import names_of, packets_of

from tracetime import open_trace

pytest_plugins = ["cli"]

LIMIT_S = 600
CLOCKS = ("--clock", "MONOTONIC", "--clock", "REALTIME")
# Says that it runs, and ends by whatever signal comes, or when its input does.
WAITS = (sys.executable, "-c", "print('here', flush=True); input()")
# Says which signals it is sent, and ends at the one that is last.
SAYS = """
import signal, sys, time
def say(number, frame):
    print(signal.Signals(number).name, flush=True)
    if number == signal.SIGTERM:
        sys.exit(5)
for one in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(one, say)
signal.signal(signal.SIGTERM, say)
print("here", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.pftrace"


@pytest.fixture
def record(spawn, path):
    """Start `tracetime record` away from any terminal; pipes to and from it."""

    def record(*args):
        return spawn(
            "record", "-o", path, *CLOCKS, *args, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return record


def snapshots_of(path):
    """How many there are; fails where the trace is not whole."""
    with open_trace(path) as trace:
        trace.read_all()
        assert trace.truncated is None
    return sum(packet.HasField("clock_snapshot") for packet in packets_of(path.read_bytes()))


@WITH_BOOTTIME
def test_a_duration_then_the_summary(tracetime, path):
    code, out, err = tracetime(
        "record", "-o", path, *CLOCKS, "--duration", "300ms", "--interval", "50ms"
    )
    assert (code, out) == (0, "")
    taken = snapshots_of(path)
    assert err.startswith(
        f"{path}: {taken} snapshots of MONOTONIC_RAW, MONOTONIC, REALTIME, BOOTTIME ("
    )
    # The first, the last, and those between: how many, the machine's load decides.
    assert taken >= 2
    with open_trace(path) as trace:
        raw = next(info for info in trace.clocks.clocks() if str(info.clock) == "MONOTONIC_RAW")
        assert raw.last_ns - raw.first_ns >= 300_000_000


@WITH_BOOTTIME
def test_json_has_what_was_recorded(tracetime, path):
    code, out, err = tracetime("record", "-o", path, *CLOCKS, "--duration", "0s", "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    floor = result.pop("floor_error_ns")
    assert set(floor) == {"MONOTONIC_RAW", "MONOTONIC", "REALTIME"}
    assert all(ns > 0 for ns in floor.values())
    assert result == {
        "trace": str(path),
        "bytes": path.stat().st_size,
        "snapshots": snapshots_of(path),
        "clocks": ["MONOTONIC_RAW", "MONOTONIC", "REALTIME", "BOOTTIME"],
        "events_dropped": 0,
        "out_of_reach": [],
        "peers": [],
        "problems": [],
    }


@pytest.mark.parametrize(
    ("script", "code"),
    [("pass", 0), ("raise SystemExit(7)", 7)]
    + [
        (f"import os; os.kill(os.getpid(), {number})", 128 + number)
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
    ],
)
def test_the_exit_code_of_the_command_is_passed_on(tracetime, path, script, code):
    found, _, err = tracetime("record", "-o", path, *CLOCKS, "--", sys.executable, "-c", script)
    assert found == code
    assert "snapshots of" in err
    assert snapshots_of(path) >= 2
    # The command is a slice on a track of its own.
    (name,) = names_of(path.read_bytes())
    assert name == f"{sys.executable} -c {script}"
    kinds = Counter(
        p.track_event.type for p in packets_of(path.read_bytes()) if p.HasField("track_event")
    )
    assert kinds == {1: 1, 2: 1}


def test_a_command_that_is_not_there_or_cannot_be_run(tracetime, path, tmp_path):
    code, out, err = tracetime("record", "-o", path, *CLOCKS, "--", tmp_path / "none")
    assert (code, out) == (127, "")
    assert f"no such command: {tmp_path / 'none'}" in err
    (tmp_path / "plain").write_text("no program")
    for cannot in (tmp_path / "plain", tmp_path):
        code, out, err = tracetime("record", "-o", path, *CLOCKS, "--", cannot)
        assert (code, out) == (126, "")
        assert f"cannot run {cannot}: Permission denied" in err
    (tmp_path / "garbled").write_bytes(b"\0\1\2\3")
    (tmp_path / "garbled").chmod(0o755)
    code, out, err = tracetime("record", "-o", path, *CLOCKS, "--", tmp_path / "garbled")
    assert (code, out) == (126, "")
    assert "Exec format error" in err
    code, out, err = tracetime("record", "--json", "-o", path, *CLOCKS, "--", tmp_path / "none")
    assert (code, out) == (127, "")
    assert json.loads(err)["error"]["message"] == f"no such command: {tmp_path / 'none'}"
    # It leaves nothing, and what was there as it was.
    assert not path.exists()
    path.write_bytes(b"mine")
    assert tracetime("record", "--force", "-o", path, *CLOCKS, "--", tmp_path / "none")[0] == 127
    assert path.read_bytes() == b"mine"


def test_a_name_that_is_no_text(tracetime, path):
    word = os.fsdecode(b"\xff\xfe")
    args = ("record", "-o", path, *CLOCKS, "--", sys.executable, "-c", "raise SystemExit(3)", word)
    assert tracetime(*args)[0] == 3
    assert names_of(path.read_bytes()).total() == 1
    assert tracetime(*args[: args.index("--")], "--force", "--", word)[0] == 127


def test_input_and_output_of_the_command_are_its_own(record, path):
    child = record("--", sys.executable, "-c", "print(input()[::-1]); raise SystemExit(4)")
    out, err = child.communicate("drawer\n", timeout=LIMIT_S)
    assert (child.returncode, out) == (4, "reward\n")
    assert "snapshots of" in err
    assert "Recording until" not in err


@pytest.mark.parametrize("before", [("--",), ()])
def test_options_of_the_command_are_its_own(record, path, before):
    show = (sys.executable, "-c", "import sys; print(sys.argv[1:])")
    child = record(*before, *show, "--json", "-o", "x", "--", "--help")
    out, _ = child.communicate(timeout=LIMIT_S)
    assert (child.returncode, out) == (0, "['--json', '-o', 'x', '--', '--help']\n")
    assert snapshots_of(path) >= 2


def test_files_that_the_command_inherits_stay_open(spawn, path):
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    child = spawn(
        "record", "-o", path, *CLOCKS, "--",
        sys.executable, "-c", f"import os; os.write({writing}, b'token')",
        pass_fds=[writing], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert child.wait(LIMIT_S) == 0
    assert os.read(reading, 10) == b"token"
    os.close(reading)
    os.close(writing)


def test_signals_are_passed_on_and_the_trace_is_whole(record, path):
    child = record("--interval", "10ms", "--", sys.executable, "-c", SAYS)
    assert child.stdout.readline() == "here\n"
    # Without a terminal, Ctrl-C is a signal like others: nothing else sends it to the command.
    for name in ("SIGUSR1", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR2", "SIGTERM"):
        child.send_signal(getattr(signal, name))
        assert child.stdout.readline() == f"{name}\n"
    assert child.wait(LIMIT_S) == 5
    assert snapshots_of(path) >= 2
    assert "snapshots of" in child.stderr.read()


def test_a_command_that_a_passed_on_signal_kills(record, path):
    child = record("--", *WAITS)
    assert child.stdout.readline() == "here\n"
    child.terminate()
    assert child.wait(LIMIT_S) == 128 + signal.SIGTERM
    assert snapshots_of(path) >= 2


def test_ctrl_c_of_a_terminal_reaches_the_command_once(tmp_path, path):
    """The terminal sends it to both: passed on as well, the command would have it twice."""
    pty = pytest.importorskip("pty")
    script = tmp_path / "counts.py"
    script.write_text(
        "import signal, time\n"
        "seen = []\n"
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n"
        "print('here', flush=True)\n"
        "while not seen: time.sleep(0.01)\n"
        "end = time.monotonic() + 0.5\n"
        "while (left := end - time.monotonic()) > 0: time.sleep(left)\n"
        "raise SystemExit(40 + len(seen))\n"
    )
    command = [sys.executable, "-m", "tracetime", "record", "-o", str(path), *CLOCKS, "--"]
    child, terminal = pty.fork()
    if child == 0:
        signal.alarm(LIMIT_S)
        os.execv(sys.executable, [*command, sys.executable, str(script)])
    said = b""
    while b"here" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    status = os.waitpid(child, 0)[1]
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 41
    assert snapshots_of(path) >= 2


def test_after_the_duration_the_command_is_terminated(record, path):
    child = record("--duration", "200ms", "--", *WAITS)
    assert child.wait(LIMIT_S) == 128 + signal.SIGTERM
    assert snapshots_of(path) >= 2


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_without_a_command_signals_end_the_recording(record, path, number, code):
    """Ctrl-C is how it ends; whatever it is, the last snapshot and the summary come."""
    child = record("--interval", "20ms")
    assert child.stderr.readline() == "Recording until Ctrl-C ...\n"
    while path.stat().st_size < 2_000:
        assert child.poll() is None
    child.send_signal(number)
    assert child.wait(LIMIT_S) == code
    summary = child.stderr.read()
    assert f"{snapshots_of(path):,} snapshots of" in summary
    assert "Traceback" not in summary


def test_what_nohup_has_ignored_stays_so(record, path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        child = record()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert child.stderr.readline() == "Recording until Ctrl-C ...\n"
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGTERM)
    assert child.wait(LIMIT_S) == 128 + signal.SIGTERM


def test_a_file_never_exceeds_max_size(record, path):
    """It says so, too: a trace that ends early would else look as if all was well."""
    child = record("--interval", "1ms", "--max-size", "16K")
    while not path.exists() or path.stat().st_size < 12 << 10:
        assert child.poll() is None
        time.sleep(0.05)
    # Hundreds of snapshots more, of which dozens fill it.
    size = 0
    while size < path.stat().st_size:
        size = path.stat().st_size
        time.sleep(1)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 0
    assert "warning: the file: max_size is reached" in err
    assert path.stat().st_size <= 16 << 10
    assert snapshots_of(path) >= 2


def test_the_interval_adapts_to_a_target(tracetime, path):
    """One that is easily kept: from 1 ms on twice as long each time, where it were hundreds."""
    code, out, _ = tracetime(
        "record", "-o", path, *CLOCKS, "--duration", "600ms", "--interval", "1ms",
        "--target-error", "1ms", "--json",
    )  # fmt: skip
    assert code == 0
    assert 2 <= json.loads(out)["snapshots"] <= 20


@pytest.mark.parametrize("short", ["0.0001min", "0.000001h"])
def test_minutes_and_hours_are_durations(tracetime, path, short):
    assert tracetime("record", "-o", path, *CLOCKS, "--duration", short)[0] == 0
    assert snapshots_of(path) == 2


def test_a_command_that_ignores_termination_is_killed(tracetime, path, monkeypatch):
    from tracetime.commands import record

    monkeypatch.setattr(record, "_GRACE_S", 0.3)
    code, _, err = tracetime(
        "record", "-o", path, *CLOCKS, "--duration", "500ms", "--",
        "sh", "-c", "trap '' TERM; while true; do sleep 0.05; done",
    )  # fmt: skip
    assert code == 128 + signal.SIGKILL
    assert "snapshots of" in err
    assert snapshots_of(path) >= 2


def test_a_target_that_no_interval_keeps_is_reported(tracetime, path):
    args = ("record", "--force", "-o", path, *CLOCKS, "--duration", "20ms", "--target-error", "1ns")
    code, _, err = tracetime(*args)
    assert code == 0
    assert "warning: half-widths alone are above --target-error" in err
    code, out, _ = tracetime(*args, "--json")
    assert "REALTIME" in json.loads(out)["out_of_reach"]


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("--clock", "vulkan:77"), 4, "no clock vulkan:77 here: "),
        (("--clock", "com.example.nowhere"), 4, "no source of this machine has clock"),
        (("--clock", "sundial:0"), 2, "no clock of this machine; there are "),
        (("--interval", "0s"), 2, "interval"),
        (("--interval", "soon"), 2, "soon"),
        (("--duration", "-1s"), 2, "-1s"),
        (("--target-error", "0ns"), 2, "target"),
        (("--max-size", "5"), 2, "max_size"),
        (("--reference", "com.example.nowhere"), 4, "com.example.nowhere"),
    ],
)
def test_wrong_usage_and_clocks_that_are_not_there(tracetime, path, args, code, says):
    found, out, err = tracetime("record", "-o", path, "--duration", "0s", *args)
    assert (found, out) == (code, "")
    assert says in err
    assert not path.exists()


def test_standard_output_is_no_file_to_record_into(tracetime, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = tracetime("record", "-o", "-", "--duration", "0s")
    assert (code, out) == (2, "")
    assert "a recording cannot go to standard output" in err
    assert not list(tmp_path.iterdir())


def test_a_target_that_cannot_be_written_is_exit_2(tracetime, tmp_path):
    ran = tmp_path / "ran"
    for target in (tmp_path, tmp_path / "none" / "x", "/dev/null"):
        code, out, err = tracetime(
            "record", "-o", target, *CLOCKS, "--", sys.executable, "-c", f"open({str(ran)!r}, 'w')"
        )
        assert (code, out) == (2, "")
        assert f"cannot write '{target}'" in err
    # The command is not run in vain.
    assert not ran.exists()


def test_a_read_only_target_is_exit_2(tracetime):
    args = ("record", *CLOCKS, "--duration", "0s", "-o")
    # Not in a folder that only root may enter: root may write anything, and becomes another.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        target = Path(folder) / "read-only.pftrace"
        assert tracetime(*args, target)[0] == 0
        args = ("record", "--force", *args[1:])
        target.write_bytes(b"mine")
        target.chmod(0o444)
        before = os.geteuid()
        if before == 0:
            os.seteuid(65_534)
        try:
            code, _, err = tracetime(*args, target)
        finally:
            os.seteuid(before)
        assert code == 2
        assert f"cannot write '{target}': Permission denied" in err
        assert target.read_bytes() == b"mine"
