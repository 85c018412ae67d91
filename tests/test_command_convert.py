"""`tracetime convert`: what it writes, what it says, and with which exit code."""

import csv
import gzip
import json
import os
import pty
import select
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from building import event, snapshot, trace
from samples import BOOTTIME, CLOCK_SYNC, MANY, UNRESOLVED

pytest_plugins = ["cli"]


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


def test_the_same_clock_of_many_sequences_is_one_line(tracetime, write, tmp_path):
    _, text, _ = tracetime("convert", write(MANY), "-o", tmp_path / "o.csv")
    line = next(line for line in text.splitlines() if line.startswith("64@seq*"))
    assert line.split() == ["64@seq*", "(39)", "sequence", "39", "0", "ns", "39", "0"]
    _, text, _ = tracetime("clocks", write(MANY), "--all")
    assert "\n64@seq39 " in text


def test_the_summary_says_why_and_what_to_do(tracetime, write, tmp_path):
    _, text, _ = tracetime("convert", write(UNRESOLVED), "-o", tmp_path / "o.csv")
    told = text.partition("3 events without a trace time\n")[2]
    assert "  unknown_source_clock: 1 event (777: 1)\n    No snapshot in the trace" in told
    assert "  non_monotonic_source: 1 event (MONOTONIC: 1)\n    This clock ran" in told


def test_a_progress_bar_on_a_terminal_only(spawn, write, tmp_path):
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


def test_warnings_that_are_alike_are_told_once(tracetime, write, tmp_path):
    backwards = trace(*(snapshot({BOOTTIME: 9000 - n}) for n in range(200)), event(5))
    _, text, _ = tracetime("convert", write(backwards), "-o", tmp_path / "o.csv")
    text = " ".join(text.split())
    assert text.count("went backwards") == text.count("the first of 100)") == 1
    assert "warning: 199 in all; only the first 100 are kept" in text
