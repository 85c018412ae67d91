"""Clocks that count ticks: the commands refuse floor from and to them; their readings are named ticks."""

import json
import re
from pathlib import Path

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, snapshot, trace

import tracetime as tt
from tracetime import open_trace

pytest_plugins = ["cli"]

TSC = 9
S = 10**9
GHZ = 2_445


def ticks(ns):
    return ns * GHZ // 1000


TICKING = trace(
    *(snapshot({BOOTTIME: k * 10 * S, TSC: ticks(k * 10 * S)}) for k in range(1, 6)),
    *(event(k * 5 * S, BOOTTIME) for k in range(2, 10)),
)


def test_floor_adds_ns_to_ticks_in_the_library_as_perfetto_does(write):
    with open_trace(write(TICKING)) as opened:
        at = 15 * S
        assert opened.clocks.convert(at, "BOOTTIME", "TSC") == ticks(10 * S) + 5 * S
        expected = str(opened.clocks.explain(at, "BOOTTIME", "TSC"))
        assert expected.startswith(f"BOOTTIME {at} -> TSC {ticks(10 * S) + 5 * S} ticks\n")
        assert ", a tick taken for 1 ns, from snapshot 1 of 5" in expected
        # By floor it lands seconds of ticks beside where the tube puts it.
        tube = opened.clocks.convert(at, "BOOTTIME", "TSC", policy="tube")
        assert abs(tube - ticks(at)) < 10


@pytest.mark.parametrize(
    "args",
    [
        ("convert", "{trace}", "-o", "{trace}.csv", "--to", "TSC"),
        ("at", "{trace}", 15 * S, "--to", "TSC"),
        ("sql", "{trace}", "select to_clock(trace_time, 'BOOTTIME', 'TSC') from events"),
        ("at", "{trace}", ticks(15 * S), "--from", "TSC"),
        ("sql", "{trace}", "select to_clock(36675000000, 'TSC', 'BOOTTIME')"),
        ("convert", "{table}", "-o", "{trace}.csv", "--map", "ts:TSC", "--graph", "{trace}"),
        ("convert", "{table}", "-o", "{trace}.csv", "--map", "ts:@clock", "--graph", "{trace}"),
    ],
    ids=lambda args: f"{args[0]} {args[-3]}",
)
def test_commands_refuse_floor_of_ticks_and_name_the_tube(tracetime, write, args):
    path = write(TICKING)
    table = write(f"ts,clock\n{ticks(15 * S)},TSC\n".encode(), "table.csv")
    given = [str(arg).format(trace=path, table=table) for arg in args]
    code, out, err = tracetime(*given)
    assert (code, out) == (2, "")
    assert "TSC counts ticks of 0.408998 ns, and the floor policy takes each for 1 ns" in err
    assert "--policy tube" in err
    assert tracetime(*given, "--policy", "tube")[0] == 0


def test_what_nothing_says_the_rate_of_is_refused_with_how_to_say_it(tracetime, write):
    once = write(trace(snapshot({BOOTTIME: 5, TSC: 70}), event(5, BOOTTIME)))
    code, _, err = tracetime("at", once, 7, "--to", "TSC")
    assert code == 2
    assert "--policy tube, and the rate, as in --clock-rate TSC=2.4GHz" in err
    args = ("at", once, 7, "--to", "TSC", "--policy", "tube", "--clock-rate", "TSC=2.4GHz")
    assert tracetime(*args)[0] == 0


def test_a_clock_on_the_way_that_counts_ticks_is_refused_too(tracetime, write):
    gpu = 0x8A01B2C3
    path = write(
        trace(
            *(snapshot({BOOTTIME: k * S, TSC: ticks(k * S)}) for k in range(1, 6)),
            *(snapshot({TSC: ticks(k * S + S // 2), gpu: k * S}) for k in range(1, 6)),
            event(S, BOOTTIME),
        )
    )
    code, _, err = tracetime("at", path, 2 * S, "--to", "0x8a01b2c3")
    assert code == 2
    assert "TSC (on the way to 0x8a01b2c3) counts ticks" in err


def test_a_clock_on_the_way_from_ticks_is_named_too(tracetime, write):
    gpu = 0x8A01B2C3
    path = write(
        trace(
            *(snapshot({BOOTTIME: k * S, TSC: ticks(k * S)}) for k in range(1, 6)),
            *(snapshot({TSC: ticks(k * S + S // 2), gpu: k * S}) for k in range(1, 6)),
            event(S, BOOTTIME),
        )
    )
    code, _, err = tracetime("at", path, 2 * S, "--from", "0x8a01b2c3")
    assert code == 2
    assert "TSC (on the way to BOOTTIME) counts ticks" in err


CALIBRATED = b"monotonic_ns,com.gpu_ticks\n42,1234\n10086,7890\n"
"""Two calibrations: a tick lasts 10,044 / 6,656 = 1.509 ns."""


def test_a_column_of_ticks_is_refused_by_floor_and_right_by_the_tube(tracetime, write):
    graph = write(CALIBRATED, "clocks.csv")
    code, _, err = tracetime("at", graph, 2345, "--from", "com.gpu")
    assert (code, "com.gpu counts ticks of 1.50901 ns" in err) == (2, True)
    table = write(b"cyc\n2345\n4567\n", "events.csv")
    args = ("convert", table, "-o", f"{table}.csv", "--map", "cyc:com.gpu", "--graph", graph)
    code, _, err = tracetime(*args)
    assert (code, "com.gpu counts ticks of 1.50901 ns" in err) == (2, True)
    assert tracetime(*args, "--policy", "tube")[0] == 0
    _, *rows = Path(f"{table}.csv").read_text().splitlines()
    right = [42 + (cyc - 1234) * 10_044 / 6_656 for cyc in (2345, 4567)]
    assert [float(row.split(",")[1]) for row in rows] == pytest.approx(right, abs=1)


def test_a_tsc_that_counts_ns_is_a_clock_as_any_other(tracetime, write):
    path = write(
        trace(
            *(snapshot({BOOTTIME: k * S, TSC: k * S + 7}) for k in range(1, 6)), event(S, BOOTTIME)
        )
    )
    assert tracetime("at", path, S, "--to", "TSC")[1].startswith(
        f"BOOTTIME {S} -> TSC {S + 7} ns\n"
    )
    assert tracetime("convert", path, "-o", f"{path}.csv", "--to", "TSC")[0] == 0


def test_a_clock_declared_to_tick_is_refused(tracetime, write):
    gpu = 0x8A01B2C3
    path = write(
        trace(
            *(snapshot({BOOTTIME: k * S, gpu: k * 19_200_000}) for k in range(1, 6)), event(S, gpu)
        )
    )
    args = ("convert", path, "-o", f"{path}.csv", "--to", "0x8a01b2c3")
    code, _, err = tracetime(*args, "--clock-rate", "0x8a01b2c3=19.2MHz")
    assert code == 2
    assert "counts ticks of 52.0833 ns" in err


def test_events_read_in_ticks_stay_perfettos(write, tmp_path):
    path = write(
        trace(
            *(snapshot({BOOTTIME: k * S, TSC: ticks(k * S)}) for k in range(1, 4)),
            event(ticks(S) + 1000, TSC),
        )
    )
    with open_trace(path) as opened:
        assert opened.read_all()["trace_time"].to_pylist() == [S + 1000]


def test_at_prints_ticks_as_ticks(tracetime, write):
    once = write(trace(snapshot({BOOTTIME: 5, TSC: 70}), event(5, BOOTTIME)), "once.pftrace")
    text = tracetime("at", once, 1070, "--from", "TSC")[1]
    first, _, steps = text.partition("\n")
    step = " ".join(steps.split())  # lines fit the screen
    assert first == "TSC 1070 ticks -> BOOTTIME 1005 ns"
    assert "TSC 1070 ticks -> BOOTTIME" in step
    assert "a tick taken for 1 ns" in step
    path = write(TICKING)
    text = tracetime("at", path, 15 * S, "--to", "TSC", "--policy", "tube")[1]
    assert re.match(rf"BOOTTIME {15 * S} -> TSC \d+ ticks\n", text)
    text = tracetime("at", path, ticks(15 * S), "--from", "TSC", "--policy", "tube")[1]
    assert re.match(rf"TSC {ticks(15 * S)} ticks -> BOOTTIME \d+\n", text)
    for policy in ("floor", "tube"):
        text = tracetime("at", path, 7, "--from", "TSC", "--to", "TSC", "--policy", policy)[1]
        assert text.startswith("TSC 7 ticks -> TSC 7 ticks\n")
    expected = json.loads(
        tracetime("at", path, 15 * S, "--to", "TSC", "--policy", "tube", "--json")[1]
    )
    assert (expected["value_unit"], expected["unit"]) == ("ns", "ticks")
    expected = json.loads(tracetime("at", once, 1070, "--from", "TSC", "--json")[1])
    assert (expected["value_unit"], expected["unit"]) == ("ticks", "ns")


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize(
    ("at", "side", "words"),
    [
        (5 * S, "before first", "5 s before the first snapshot of BOOTTIME and MONOTONIC"),
        (10 * S, "", ""),
        (25 * S, "", ""),
        (50 * S, "", ""),
        (50 * S + 200 * S, "after last", "3 min 20 s after the last snapshot of BOOTTIME and MON"),
    ],
)
def test_at_says_how_far_outside_the_snapshots_a_value_is(
    tracetime, write, policy, at, side, words
):
    path = write(
        trace(
            *(snapshot({BOOTTIME: k * 10 * S, MONOTONIC: k * 10 * S}) for k in range(1, 6)),
            event(S, BOOTTIME),
        )
    )
    args = ("at", path, at, "--to", "MONOTONIC", "--policy", policy)
    code, text, _ = tracetime(*args)
    assert code == 0
    assert words in text
    assert ("snapshot of BOOTTIME" in text) == bool(side)
    assert tracetime(*args, "--strict")[0] == (1 if side else 0)
    expected = json.loads(tracetime(*args, "--json")[1])
    distance = {"before first": 5 * S, "": 0, "after last": 200 * S}[side]
    assert (expected["extrapolated"], expected["outside_ns"]) == (side, distance)
    (step,) = expected["steps"]
    assert (step["extrapolated"], step["outside_ns"]) == (side, distance)


def test_how_far_outside_is_in_ns_for_ticks_too(tracetime, write):
    args = ("at", write(TICKING), ticks(60 * S), "--from", "TSC", "--policy", "tube")
    expected = json.loads(tracetime(*args, "--json")[1])
    assert expected["outside_ns"] == pytest.approx(10 * S, abs=10)
    once = write(trace(snapshot({BOOTTIME: 5, TSC: 70}), event(5, BOOTTIME)), "once.pftrace")
    args = ("at", once, 1070, "--from", "TSC")
    assert "1,000 ticks after the last snapshot of TSC and BOOTTIME" in tracetime(*args)[1]
    expected = json.loads(tracetime(*args, "--json")[1])
    assert (expected["extrapolated"], expected["outside_ns"]) == ("after last", None)
    assert tracetime(*args, "--strict")[0] == 1


def test_the_farthest_of_several_hops_is_reported():
    graph = tt.ClockGraph()
    graph.add_snapshot({"MONOTONIC": [0, 100 * S], "BOOTTIME": [0, 100 * S]})
    graph.add_snapshot({"BOOTTIME": [0, 10 * S], "REALTIME": [0, 10 * S]})
    for policy in ("floor", "tube"):
        explained = graph.explain(40 * S, "MONOTONIC", "REALTIME", policy=policy)
        assert [step.extrapolated for step in explained.steps] == ["", "after last"]
        assert str(explained.outside).startswith(
            "30 s after the last snapshot of BOOTTIME and REALTIME"
        )


STEPPING = trace(
    # REALTIME is slewed by 100 us from one snapshot to the next; MONOTONIC keeps to BOOTTIME.
    *(
        snapshot({BOOTTIME: k * S, MONOTONIC: k * S + 5, REALTIME: k * (S + 100_000)})
        for k in range(1, 10)
    ),
    *(event(k * S + 999_999_000, MONOTONIC) for k in range(1, 9)),
)


def test_what_is_said_of_floor_speaks_of_to_time_where_that_is_written(tracetime, write, tmp_path):
    args = ("convert", write(STEPPING), "-o", tmp_path / "o.csv")
    text = " ".join(tracetime(*args)[1].split())
    assert "trace time is at most 0 ns from the tube's estimate here (MONOTONIC); it puts" in text
    assert "to_time" not in text
    text = " ".join(tracetime(*args, "--to", "REALTIME")[1].split())
    words = r"here \(MONOTONIC\), and its to_time is at most ([\d.]+) us from where the tube puts "
    found = re.search(words + "that trace time on REALTIME; it puts", text)
    assert 99 < float(found[1]) < 101
    expected = json.loads(tracetime(*args, "--to", "REALTIME", "--json")[1])
    assert expected["floor_cost"]["at_most_ns"] == 0
    assert 99_000 < expected["to_floor_cost"]["at_most_ns"] < 101_000
    assert expected["to_floor_cost"]["is_limit"]
    assert json.loads(tracetime(*args, "--json")[1])["to_floor_cost"] is None
    tube = tracetime(*args, "--to", "REALTIME", "--policy", "tube", "--json")[1]
    assert json.loads(tube)["to_floor_cost"] is None


def test_floor_costs_in_to_time_where_no_event_was_converted_to_trace_time(
    tracetime, write, tmp_path
):
    snapshots = [snapshot({BOOTTIME: k * S, REALTIME: k * (S + 100_000)}) for k in range(1, 10)]
    path = write(trace(*snapshots, event(9 * S - 1, BOOTTIME)))
    args = ("convert", path, "-o", tmp_path / "o.csv")
    assert "has no error here" in " ".join(tracetime(*args)[1].split())
    text = " ".join(tracetime(*args, "--to", "REALTIME")[1].split())
    assert "costs nothing" not in text
    assert "The floor policy's to_time is at most 100.000 us from where the tube puts" in text
