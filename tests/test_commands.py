"""The command line: what it prints, how it ends, and what it leaves behind."""

import csv
import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
from building import event, snapshot, trace

from tracetime import __version__, commands
from tracetime.commands import run
from tracetime.commands.show import duration, size

MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1
WALL = 1787410120123456789  # 2026-08-22T14:48:40.123456789Z

# MONOTONIC against BOOTTIME as on Perfetto's clock-sync page, and REALTIME besides.
CLOCK_SYNC = trace(
    *(
        snapshot({MONOTONIC: m, BOOTTIME: b, REALTIME: WALL + b})
        for m, b in zip(
            (1000, 1100, 1200, 1900, 2000, 2100), (2000, 2100, 2200, 2900, 3500, 3600), strict=True
        )
    ),
    snapshot({64: (5, 1000, True), BOOTTIME: 5000}, seq=7),
    event(1104, MONOTONIC),
    event(2, 64, seq=7),
)
UNRESOLVED = trace(
    *(snapshot({BOOTTIME: 1000 + n, MONOTONIC: 2000 - n}) for n in range(2)),
    event(1, MONOTONIC),
    event(2, 777),
    event(3, BOOTTIME),
    event(4, needs_state=True, seq=9),
)
EMPTY = trace(snapshot({BOOTTIME: 1, MONOTONIC: 2}))
MANY = trace(
    *(snapshot({64: (n, 1000), BOOTTIME: 1000 * n}, seq=n) for n in range(1, 40)),
    *(event(5, 64, seq=n) for n in range(1, 40)),
)


@pytest.fixture
def write(tmp_path):
    def write(data, name="t.pftrace"):
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write


@pytest.fixture
def tracetime(capsys):
    """Run the command line; returns (exit code, stdout, stderr)."""

    def call(*args):
        code = run([str(arg) for arg in args])
        return code, *capsys.readouterr()

    return call


def spawn(*args, **more):
    return subprocess.Popen([sys.executable, "-m", "tracetime", *map(str, args)], **more)


# tracetime


def test_version(tracetime):
    assert tracetime("--version") == (0, f"tracetime {__version__}\n", "")


@pytest.mark.parametrize("name", commands.SUBCOMMANDS)
def test_every_command_has_help_with_examples(tracetime, name):
    code, out, _ = tracetime(name, "--help")
    assert code == 0
    assert out.count(f"tracetime {name}") >= 2
    assert max(map(len, out.splitlines())) <= 80


def test_the_list_of_commands_is_not_cut(tracetime):
    code, out, _ = tracetime("--help")
    assert code == 0
    assert "..." not in out
    assert [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines()] == list(
        commands.SUBCOMMANDS
    )


@pytest.mark.parametrize(
    "args",
    [
        ["nope"],
        ["convert"],
        ["convert", "t"],
        ["convert", "t", "-o", "t.csv", "--nope"],
        ["convert", "t", "-o", "t.csv", "--max-expansion", "4X"],
        ["convert", "t", "-o", "t.csv", "--to", "NOPE"],
        ["at", "t", "5", "--from", "6@seq7"],
        ["completion", "tcsh"],
    ],
)
def test_wrong_usage_is_code_2_and_says_where_help_is(tracetime, args):
    code, out, err = tracetime(*args)
    assert (code, out) == (2, "")
    assert err.startswith("tracetime: error: ")
    assert re.search(r"Try 'tracetime.* --help'", err)


@pytest.mark.parametrize("command", ["clocks", "at", "convert"])
def test_a_trace_that_is_not_there_is_code_2(tracetime, tmp_path, command):
    more = {"at": ["5", "--to", "MONOTONIC"], "convert": ["-o", tmp_path / "o.csv"]}
    code, out, err = tracetime(command, tmp_path / "none", *more.get(command, []))
    assert (code, out) == (2, "")
    assert "No such file or directory" in err


@pytest.mark.parametrize("command", ["clocks", "at", "convert"])
def test_a_bad_trace_is_code_3_and_says_where(tracetime, write, tmp_path, command):
    more = {"at": ["5", "--to", "MONOTONIC"], "convert": ["-o", tmp_path / "o.csv"]}
    path = write(CLOCK_SYNC[:-3])
    code, out, err = tracetime(command, path, *more.get(command, []))
    assert (code, out) == (3, "")
    assert re.fullmatch(r"tracetime: error: .*\(byte \d+, packet 8\)\n", err)
    assert [p.name for p in tmp_path.iterdir()] == ["t.pftrace"]


def test_completion_prints_a_script_and_completes(tracetime, monkeypatch, capsys):
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = tracetime("completion", shell)
        assert code == 0
        assert "_TRACETIME_COMPLETE" in out
    monkeypatch.setenv("_TRACETIME_COMPLETE", "bash_complete")
    for words, expected in (
        ("tracetime con", ["convert"]),
        ("tracetime at t 5 --to mono", ["MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW"]),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        with pytest.raises(SystemExit) as raised:
            run([])
        assert raised.value.code == 0
        out = capsys.readouterr().out
        assert [line.partition(",")[2] for line in out.splitlines()] == expected


# convert


def test_convert_writes_the_events(tracetime, write, tmp_path):
    out = tmp_path / "events.csv"
    code, text, err = tracetime("convert", write(CLOCK_SYNC), "-o", out)
    assert (code, err) == (0, "")
    assert text.startswith("2 events on trace time BOOTTIME in")
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["timestamp"], row["trace_time"]) for row in rows] == [
        ("1104", "2104"),
        ("2", "7000"),
    ]


def test_convert_reads_standard_input(write, tmp_path):
    out = tmp_path / "events.parquet"
    done = subprocess.run(
        [sys.executable, "-m", "tracetime", "convert", "-", "-o", out],
        input=gzip.compress(CLOCK_SYNC),
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert pq.read_table(out)["trace_time"].to_pylist() == [2104, 7000]


def test_convert_json_is_the_summary(tracetime, write, tmp_path):
    path, out = write(UNRESOLVED), str(tmp_path / "o.csv")
    code, text, err = tracetime("convert", path, "-o", out, "--json")
    assert (code, err) == (0, "")
    told = json.loads(text)
    assert (told["trace"], told["out"], told["trace_clock"]) == (path, out, "BOOTTIME")
    assert (told["rows"], told["unresolved"], told["truncated"]) == (4, 3, None)
    assert told["kinds"] == [
        {
            "kind": "packet",
            "events": 4,
            "statuses": {
                "non_monotonic_source": 1,
                "unknown_source_clock": 1,
                "resolved": 1,
                "skipped_incremental_state": 1,
            },
        }
    ]
    assert told["clocks"][0] == {
        "clock": "MONOTONIC",
        "scope": "builtin",
        "unit_ns": 1,
        "incremental": False,
        "monotonic": False,
        "snapshots": 2,
        "first_ns": 2000,
        "last_ns": 1999,
        "events": 1,
        "unresolved": 1,
    }
    assert [reason["reason"] for reason in told["reasons"]] == [
        "unknown_source_clock",
        "non_monotonic_source",
        "skipped_incremental_state",
    ]
    assert all(reason["advice"] for reason in told["reasons"])


@pytest.mark.parametrize(("data", "code"), [(CLOCK_SYNC, 0), (UNRESOLVED, 1)])
def test_strict_is_code_1_where_anything_stays_unresolved(tracetime, write, tmp_path, data, code):
    path = write(data)
    assert tracetime("convert", path, "-o", tmp_path / "o.csv")[0] == 0
    assert tracetime("convert", path, "-o", tmp_path / "o.csv", "--strict")[0] == code


def test_partial_keeps_what_came_before(tracetime, write, tmp_path):
    args = ("convert", write(CLOCK_SYNC[:-3]), "-o", tmp_path / "o.parquet", "--partial")
    code, text, err = tracetime(*args)
    assert (code, err) == (0, "")
    assert "warning: not read to its end" in text
    assert pq.read_table(tmp_path / "o.parquet")["trace_time"].to_pylist() == [2104]
    assert tracetime(*args, "--strict")[0] == 1
    truncated = json.loads(tracetime(*args, "--json")[1])["truncated"]
    assert truncated["packet"] == 8


def test_max_expansion_stops_a_bomb(tracetime, write, tmp_path):
    path = write(gzip.compress(CLOCK_SYNC * 100))
    code, _, err = tracetime("convert", path, "-o", tmp_path / "o.csv", "--max-expansion", "4K")
    assert code == 3
    assert "4096 bytes" in err
    assert tracetime("convert", path, "-o", tmp_path / "o.csv", "--max-expansion", "1M")[0] == 0


@pytest.mark.parametrize("data", [CLOCK_SYNC, UNRESOLVED, MANY, EMPTY, trace(event(5))])
@pytest.mark.parametrize("command", ["convert", "clocks"])
def test_text_reads_well_on_80_columns(tracetime, write, tmp_path, monkeypatch, data, command):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    write(data)
    more = ["-o", "o.csv"] if command == "convert" else []
    code, text, err = tracetime(command, "t.pftrace", *more)
    assert (code, err) == (0, "")
    for line in text.splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()
        assert "…" not in line


def test_the_same_clock_of_many_sequences_is_one_line(tracetime, write, tmp_path):
    _, text, _ = tracetime("convert", write(MANY), "-o", tmp_path / "o.csv")
    line = next(line for line in text.splitlines() if line.startswith("64@seq*"))
    assert line.split() == ["64@seq*", "(39)", "sequence", "39", "0", "ns", "39", "0"]
    _, text, _ = tracetime("clocks", write(MANY), "--all")
    assert "\n64@seq39 " in text


def test_the_summary_says_why_and_what_to_do(tracetime, write, tmp_path):
    _, text, _ = tracetime("convert", write(UNRESOLVED), "-o", tmp_path / "o.csv")
    told = text.partition("3 events have no trace time\n")[2]
    assert "  unknown_source_clock: 1 events (777: 1)\n    No snapshot in the trace" in told
    assert "  non_monotonic_source: 1 events (MONOTONIC: 1)\n    This clock ran" in told


def test_a_progress_bar_on_a_terminal_only(write, tmp_path):
    # The pipe of stdout does not matter: the bar goes to stderr.
    path = write(MANY)
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    for more, shown in (([], True), (["--json"], False)):
        args = ("convert", path, "-o", tmp_path / "o.csv", *more)
        with spawn(*args, stdout=subprocess.PIPE, stderr=slave, env=env) as child:
            out = child.stdout.read()
        ready = select.select([master], [], [], 0.2 if not shown else 10)[0]
        assert bool(ready) == shown
        if shown:
            assert "1.4 kB" in os.read(master, 65536).decode()
        assert b"\x1b" not in out
    os.close(master)
    os.close(slave)


# clocks


def test_clocks_shows_the_graph(tracetime, write):
    code, text, err = tracetime("clocks", write(CLOCK_SYNC))
    assert (code, err) == (0, "")
    assert text.startswith("Trace time is BOOTTIME.\n")
    lines = [line.split() for line in text.splitlines()]
    assert ["MONOTONIC", "builtin", "1", "6", "1.100", "us"] in lines
    assert ["64@seq7", "sequence", "1,000", "1", "0", "ns", "incremental"] in lines
    assert ["6", "MONOTONIC,", "BOOTTIME,", "REALTIME"] in lines


def test_clocks_says_what_ran_backwards(tracetime, write):
    assert "ran backwards" in tracetime("clocks", write(UNRESOLVED))[1]


def test_clocks_json(tracetime, write):
    told = json.loads(tracetime("clocks", write(CLOCK_SYNC), "--json")[1])
    assert told["trace_clock"] == "BOOTTIME"
    assert [clock["clock"] for clock in told["clocks"]] == [
        "REALTIME",
        "MONOTONIC",
        "BOOTTIME",
        "64@seq7",
    ]
    assert {"src": "64@seq7", "dst": "BOOTTIME", "snapshots": 1} in told["edges"]
    assert told["series"][0] == {"clocks": ["MONOTONIC", "BOOTTIME", "REALTIME"], "snapshots": 6}


def test_clocks_dot_draws_each_pair_once(tracetime, write):
    code, text, _ = tracetime("clocks", write(UNRESOLVED), "--dot")
    assert code == 0
    assert text.startswith("digraph clocks {\n")
    assert text.endswith("}\n")
    # MONOTONIC ran backwards: there is only the way to it.
    assert [line for line in text.splitlines() if "->" in line] == [
        '  "BOOTTIME" -> "MONOTONIC" [label="2"];'
    ]
    text = tracetime("clocks", write(CLOCK_SYNC), "--dot")[1]
    assert text.count("dir=both") == text.count("->") == 4


def test_dot_and_json_exclude_each_other(tracetime, write):
    assert tracetime("clocks", write(CLOCK_SYNC), "--dot", "--json")[0] == 2


def test_a_trace_without_snapshots_is_told(tracetime, write):
    code, text, _ = tracetime("clocks", write(trace(event(5))))
    assert code == 0
    assert "no clock snapshots" in text


# at


def test_at_1104_is_2104(tracetime, write):
    path = write(CLOCK_SYNC)
    code, text, err = tracetime("at", path, 1104, "--from", "MONOTONIC", "--to", "BOOTTIME")
    assert (code, err) == (0, "")
    assert text.splitlines()[0] == "MONOTONIC 1104 -> BOOTTIME 2104"
    told = json.loads(tracetime("at", path, 1104, "--from", "MONOTONIC", "--json")[1])
    assert told == {
        "trace": path,
        "from": "MONOTONIC",
        "to": "BOOTTIME",
        "value": 1104,
        "unit_ns": 1,
        "result": 2104,
        "steps": [
            {
                "src": "MONOTONIC",
                "dst": "BOOTTIME",
                "snapshot_src_ns": 1100,
                "snapshot_dst_ns": 2100,
                "value_ns_before": 1104,
                "value_ns_after": 2104,
                "snapshot_index": 1,
                "snapshots": 6,
                "extrapolated": "",
            }
        ],
    }


def test_at_from_the_trace_clock_to_wall_time_and_back(tracetime, write):
    path = write(CLOCK_SYNC)
    _, text, _ = tracetime("at", path, 2000, "--to", "REALTIME")
    assert text.splitlines()[-1] == (f"REALTIME {WALL + 2000} is 2026-08-22T14:48:40.123458789Z")
    for more in ([], ["--to", "BOOTTIME"], ["--from", "REALTIME"]):
        _, text, _ = tracetime("at", path, "2026-08-22T16:48:40.123458789+02:00", *more)
        assert text.splitlines()[0] == f"REALTIME {WALL + 2000} -> BOOTTIME 2000"
    told = json.loads(tracetime("at", path, 2000, "--to", "REALTIME", "--json")[1])
    assert told["result_utc"] == "2026-08-22T14:48:40.123458789Z"


@pytest.mark.parametrize("name", ["t.pftrace", "t.pftrace.gz"])
def test_at_a_clock_of_a_sequence(tracetime, write, name):
    data = gzip.compress(CLOCK_SYNC) if name.endswith("gz") else CLOCK_SYNC
    path = write(data, name)
    for clock in (["64", "--sequence", "7"], ["64@seq7"]):
        code, text, _ = tracetime("at", path, 6, "--from", *clock)
        assert code == 0
        assert re.match(r"64@seq7(@file1)? 6 -> BOOTTIME 6000\n  6 x 1000 ns = 6000 ns\n", text)
    code, _, err = tracetime("at", path, 6, "--from", "64")
    assert code == 2
    assert "--sequence" in err
    assert "this trace has it on 7" in err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["5"], 2, "--from CLOCK, --to CLOCK"),
        (["5.5", "--to", "REALTIME"], 2, "whole number"),
        (["2026-08-22", "--to", "BOOTTIME"], 2, "date and time"),
        (["2026-08-22T14:48:40", "--to", "BOOTTIME"], 2, "no time zone"),
        (["2026-08-22T14:48:40Z", "--from", "MONOTONIC"], 2, "reading of REALTIME"),
        (["9223372036854775808", "--to", "REALTIME"], 2, "int64"),
        (["9" * 5000, "--to", "REALTIME"], 2, "whole number"),
        (["5", "--to", "REALTIME", "--sequence", "7"], 2, "64 to 127"),
        (["5", "--from", "777"], 1, "no snapshot has 777"),
        (["9223372036854775807", "--to", "REALTIME"], 1, "int64"),
    ],
)
def test_at_refuses(tracetime, write, args, code, message):
    got, out, err = tracetime("at", write(CLOCK_SYNC), *args)
    assert (got, out) == (code, "")
    assert message in err


def test_at_takes_a_negative_time(tracetime, write):
    code, text, _ = tracetime("at", write(CLOCK_SYNC), "--to", "MONOTONIC", "--", "-5")
    assert code == 0
    assert text.startswith("BOOTTIME -5 -> MONOTONIC -1005\n")


def test_at_says_why_a_clock_that_ran_backwards_does_not_convert(tracetime, write):
    code, _, err = tracetime("at", write(UNRESOLVED), 5, "--from", "MONOTONIC")
    assert code == 1
    assert "ran backwards" in err


# Ends before the end


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_nothing_half_done(write, tmp_path, number, code):
    path = write(CLOCK_SYNC * 200_000)
    with spawn("convert", path, "-o", tmp_path / "o.csv", stderr=subprocess.PIPE) as child:
        end = time.monotonic() + 30
        while not list(tmp_path.glob(".o.csv.*")) and time.monotonic() < end:
            time.sleep(0.005)
        child.send_signal(number)
        err = child.stderr.read()
    assert child.returncode == code
    assert b"Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["t.pftrace"]


def test_a_broken_pipe_is_quiet(write):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with spawn("clocks", write(MANY), "--json", stdout=write_end, stderr=subprocess.PIPE) as child:
        os.close(write_end)
        err = child.stderr.read()
    assert child.returncode == 141
    assert err == b""


# How numbers look


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (999, "999 ns"),
        (1000, "1.000 us"),
        (18_500_000, "18.500 ms"),
        (10_008_553_378, "10.009 s"),
        (200 * 10**9, "3 min 20 s"),
        (101_100 * 10**9, "28 h 5 min"),
        (273_600 * 10**9, "3 d 4 h"),
        (-5_000_000, "-5.000 ms"),
    ],
)
def test_durations(ns, text):
    assert duration(ns) == text


def test_sizes():
    assert [size(n) for n in (7, 52_058, 3_550_998, 2 * 10**9)] == [
        "7 bytes",
        "52.1 kB",
        "3.6 MB",
        "2.0 GB",
    ]
