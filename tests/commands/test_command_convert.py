"""`tracetime convert`: what it writes, what it says, and with which exit code."""

import csv
import gzip
import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from building import MONOTONIC_RAW as RAW
from building import event, packet, pb, snapshot, trace
from samples import BOOTTIME, CLOCK_SYNC, MANY, MONOTONIC, UNRESOLVED

from tracetime import open_trace
from tracetime.formats.perfetto.read import reader
from tracetime.verbs.convert import convert

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


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_convert_to_standard_output(spawn, write, tmp_path, kind):
    child = spawn("convert", write(CLOCK_SYNC), "-o", "-", "--format", kind, stdout=subprocess.PIPE)
    data = child.communicate()[0]
    assert child.returncode == 0
    read = {"csv": pa.csv.read_csv, "parquet": pq.read_table, "arrow": read_arrow}[kind]
    assert read(io.BytesIO(data))["trace_time"].to_pylist() == [2104, 7000]
    assert [path.name for path in tmp_path.iterdir()] == ["t.pftrace"]


def read_arrow(file):
    return pa.ipc.open_file(file).read_all()


def test_convert_to_standard_output_says_what_was_not_read(spawn, write):
    args = ("convert", write(CLOCK_SYNC[:-1]), "-o", "-", "--format", "csv", "--partial")
    child = spawn(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text, err = child.communicate()
    assert len(text.splitlines()) == 2
    assert err.startswith("warning: reading stopped early: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-o", "-"], "give --format parquet, arrow or csv"),
        (["-o", "-", "--format", "csv", "--json"], "--json writes the summary"),
        (["-o", "-", "--format", "xls"], "'xls' is not one of"),
    ],
)
def test_convert_refuses_standard_output(tracetime, write, args, message):
    code, text, err = tracetime("convert", write(CLOCK_SYNC), *args)
    assert (code, text) == (2, "")
    assert message in err


def test_convert_in_a_format_that_the_name_does_not_say(tracetime, write, tmp_path):
    out = tmp_path / "events.txt"
    assert tracetime("convert", write(CLOCK_SYNC), "-o", out, "--format", "csv")[0] == 0
    assert out.read_text().startswith("packet,")


@pytest.mark.parametrize(
    ("limits", "times"),
    [
        (["--from", "104ns", "--until", "105ns"], ["2104"]),
        (["--from", "14:48:40.123458894"], ["7000"]),
        (["--until", "2026-08-22T14:48:40.123458894Z"], ["2104"]),
        (["--until", "2104"], []),
    ],
    ids=str,
)
def test_convert_from_and_until(tracetime, write, tmp_path, limits, times):
    out = tmp_path / "events.csv"
    code, text, err = tracetime("convert", write(CLOCK_SYNC), "-o", out, *limits)
    nothing = "nothing is between --from and --until: the trace starts at 2000 ns, and lasts"
    assert code == 0
    assert err == ("" if times else f"warning: {nothing} 5 us\n")
    with out.open() as file:
        assert [row["trace_time"] for row in csv.DictReader(file)] == times


def test_convert_until_is_after_from(tracetime, write, tmp_path):
    limits = ("--from", "2s", "--until", "1s")
    code, _, err = tracetime("convert", write(CLOCK_SYNC), "-o", tmp_path / "o.csv", *limits)
    assert (code, err) == (2, "tracetime: error: --until 1s is not after --from 2s\n")


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
    result = json.loads(text)
    assert (result["trace"], result["out"], result["trace_clock"]) == (path, out, "BOOTTIME")
    assert (result["rows"], result["unresolved"], result["truncated"]) == (4, 3, None)
    assert result["kinds"] == [
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
    assert result["clocks"][0] == {
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
    assert [reason["reason"] for reason in result["reasons"]] == [
        "unknown_source_clock",
        "non_monotonic_source",
        "skipped_incremental_state",
    ]
    assert all(reason["advice"] for reason in result["reasons"])


@pytest.mark.parametrize(("data", "code"), [(CLOCK_SYNC, 0), (UNRESOLVED, 1)])
def test_strict_is_code_1_where_anything_stays_unresolved(tracetime, write, tmp_path, data, code):
    path = write(data)
    assert tracetime("convert", path, "-o", tmp_path / "o.csv")[0] == 0
    assert tracetime("convert", path, "-o", tmp_path / "o.csv", "--strict")[0] == code


def test_partial_keeps_what_came_before(tracetime, write, tmp_path):
    args = ("convert", write(CLOCK_SYNC[:-3]), "-o", tmp_path / "o.parquet", "--partial")
    code, text, err = tracetime(*args)
    assert (code, err) == (0, "")
    assert "warning: reading stopped early" in text
    assert pq.read_table(tmp_path / "o.parquet")["trace_time"].to_pylist() == [2104]
    assert tracetime(*args, "--strict")[0] == 1
    truncated = json.loads(tracetime(*args, "--json")[1])["truncated"]
    assert truncated["packet"] == 8


def test_with_names_says_what_each_event_is(tracetime, write, tmp_path):
    path, out = write(CLOCK_SYNC), tmp_path / "o.parquet"
    code, text, err = tracetime("convert", path, "-o", out, "--with-names")
    assert (code, err) == (0, "")
    assert "left out" not in text
    assert pq.read_table(out)["type"].to_pylist() == ["instant", "instant"]
    result = json.loads(tracetime("convert", path, "-o", out, "--with-names", "--json")[1])
    assert result["names_left_out"] == 0
    assert json.loads(tracetime("convert", path, "-o", out, "--json")[1])["names_left_out"] is None


def test_names_without_room_are_counted(tracetime, write, tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 0)
    path = write(trace(packet(seq=1, track_descriptor=pb.TrackDescriptor(uuid=1)), event(5)))
    text = tracetime("convert", path, "-o", tmp_path / "o.parquet", "--with-names")[1]
    assert "1 name left out" in text


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
    reasons = text.partition("3 events without a trace time\n")[2]
    assert "  unknown_source_clock: 1 event (777: 1)\n    No snapshot in the trace" in reasons
    assert "  non_monotonic_source: 1 event (MONOTONIC: 1)\n    This clock ran" in reasons


@pytest.mark.parametrize(
    ("given", "named"), [((), True), (("--with-names",), False), (("--slices",), False)]
)
def test_the_summary_names_the_options_for_names_and_slices(
    tracetime, write, tmp_path, given, named
):
    code, text, _ = tracetime("convert", write(CLOCK_SYNC), "-o", tmp_path / "e.csv", *given)
    assert code == 0
    assert [word in text for word in ("--with-names adds", "--slices writes")] == [named] * 2


def test_equal_warnings_are_printed_once(tracetime, write, tmp_path):
    backwards = trace(*(snapshot({BOOTTIME: 9000 - n}) for n in range(200)), event(5))
    _, text, _ = tracetime("convert", write(backwards), "-o", tmp_path / "o.csv")
    text = " ".join(text.split())
    assert text.count("went backwards") == text.count("the first of 100)") == 1
    assert "warning: 199 warnings in all; only the first 100 are kept" in text


GPU = 0x8A01B2C3
DRIFTING = trace(
    *(
        snapshot({BOOTTIME: 10**10 * k, MONOTONIC: 10**10 * k + 200_000 * k, GPU: 10**10 * k})
        for k in range(10)
    ),
    *(event(10**10 * k + 5 * 10**9, MONOTONIC) for k in range(9)),
    event(7, GPU),
)


def test_convert_by_the_tube_adds_the_bounds(tracetime, write, tmp_path):
    out = tmp_path / "o.parquet"
    args = ("convert", write(DRIFTING), "-o", out, "--policy", "tube")
    code, text, err = tracetime(*args, "--max-drift-ppm", "MONOTONIC=50", "--to", "MONOTONIC")
    assert (code, err) == (0, "")
    text = " ".join(text.split())
    assert "is at most 99.9" in text
    assert "(MONOTONIC); it puts 0 events in an order that is wrong by their bars" in text
    table = pq.read_table(out)
    assert table.column_names[-3:] == ["earliest", "latest", "to_time"]
    assert table["trace_time"][0].as_py() == pytest.approx(5 * 10**9 - 100_000, abs=20)
    assert table["to_time"][0].as_py() == pytest.approx(5 * 10**9, abs=20)
    metadata = table.schema.metadata
    assert (metadata[b"tracetime.policy"], metadata[b"tracetime.bars"]) == (b"tube", b"estimated")
    (limits,) = json.loads(metadata[b"tracetime.limits"])
    assert (limits["id"], limits["max_drift_ppm"]) == ("MONOTONIC", 50)


def test_every_summary_says_what_floor_costs(tracetime, write, tmp_path):
    args = ("convert", write(DRIFTING), "-o", tmp_path / "o.csv")
    text = " ".join(tracetime(*args)[1].split())
    # Its events are half-way between two snapshots.
    assert "The floor policy's trace time is at most 99.998 us from the tube's" in text
    result = json.loads(tracetime(*args, "--json")[1])
    assert (result["policy"], result["bars"]) == ("floor", None)
    assert result["floor_cost"]["clock"] == "MONOTONIC"
    assert result["floor_cost"]["at_most_ns"] == pytest.approx(100_000, abs=20)
    assert result["floor_cost"]["events_reordered"] == 0
    result = json.loads(tracetime(*args, "--json", "--policy", "tube", "--bars", "guaranteed")[1])
    assert (result["policy"], result["bars"]) == ("tube", "guaranteed")
    assert result["floor_cost"]["events_reordered"] == 0


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_a_summary_says_that_floor_costs_nothing_where_nothing_is_converted(
    tracetime, write, tmp_path, policy
):
    path = write(
        trace(snapshot({BOOTTIME: 100, MONOTONIC: 50}), event(120, BOOTTIME), event(9, 777))
    )
    args = ("convert", path, "-o", tmp_path / "o.csv", "--policy", policy)
    text = " ".join(tracetime(*args)[1].split())
    assert "has no error here: no event was converted from another clock" in text
    path = write(trace(snapshot({BOOTTIME: 100, MONOTONIC: 50}), event(70, MONOTONIC)))
    args = ("convert", path, "-o", tmp_path / "o.csv", "--policy", policy)
    text = " ".join(tracetime(*args)[1].split())
    assert "costs nothing" not in text
    assert "The floor policy's trace time is at most 0 ns" in text


def test_the_summary_compares_the_events_of_all_clocks(tracetime, write, tmp_path):
    """`convert` in Python looks at a few clocks: tubes take longer than so few events."""
    clocks = range(200, 220)
    packets = []
    for k in range(4):
        at = (k + 1) * 10**9
        packets.append(snapshot({BOOTTIME: at} | {c: at + 1000 * c + k % 2 * 800 for c in clocks}))
        packets += [event(at + 5 * 10**8 + 1000 * c, c) for c in clocks]
    path = write(trace(*packets))
    with open_trace(path) as opened:
        cost = convert(opened, tmp_path / "o.parquet").floor_cost
        assert (cost.is_limit, cost.clocks_left_out, cost.events_reordered) == (False, 17, None)
    result = json.loads(tracetime("convert", path, "-o", tmp_path / "o.csv", "--json")[1])
    cost = result["floor_cost"]
    assert (cost["is_limit"], cost["clocks_left_out"]) == (True, 0)
    assert 400 <= cost["at_most_ns"] <= 800
    assert cost["events_reordered"] == 0


def test_a_name_given_to_a_clock_is_printed_and_parsed(tracetime, write, tmp_path):
    args = ("convert", write(DRIFTING), "-o", tmp_path / "o.csv", "--clock-name", f"{GPU}=gpu0")
    code, text, _ = tracetime(*args, "--to", "gpu0", "--wander-ppm", "gpu0=1")
    assert code == 0
    assert any(line.startswith("gpu0 ") for line in text.splitlines())


def test_what_is_said_of_a_clock_becomes_one_domain(tracetime, write, tmp_path):
    out = tmp_path / "o.parquet"
    said = (
        ("--clock-rate", "TSC=2.445GHz"), ("--valid-bits", "TSC=36"), ("--wander-ppm", "TSC=0.5"),
        ("--assume-half-width", "TSC=1.5us"), ("--max-drift-ppm", "64@seq7=20"),
    )  # fmt: skip
    options = [word for words in said for word in words]
    assert tracetime("convert", write(DRIFTING), "-o", out, "--policy", "tube", *options)[0] == 0
    tsc, other = json.loads(pq.read_schema(out).metadata[b"tracetime.limits"])
    assert (tsc["id"], tsc["ns_per_tick"], tsc["valid_bits"]) == ("TSC", "200/489", 36)
    assert (tsc["wander_ppm"], tsc["assumed_half_width_ns"]) == (0.5, 1500)
    assert (other["id"], other["max_drift_ppm"], other["ns_per_tick"]) == ("64@seq7", 20, "1/1")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--clock-rate", "TSC=0Hz", "write it as TSC=2.445GHz"),
        ("--clock-rate", "TSC=2.4", "write it as"),
        ("--max-drift-ppm", "MONOTONIC", "write it as"),
        ("--max-drift-ppm", "MONOTONIC=-1", "use 0 to 32000"),
        ("--max-drift-ppm", "MONOTONIC=nan", "write it as"),
        ("--valid-bits", "TSC=65", "use 1 to 64"),
        ("--assume-half-width", "NOPE=1us", "is not a clock"),
        ("--assume-half-width", "TSC=1", "write it as"),
        ("--clock-name", "6=", "write it as"),
        ("--bars", "guaranteed", "--policy tube"),
        ("--policy", "nearest", "floor"),
    ],
)
def test_convert_refuses(tracetime, write, tmp_path, option, value, message):
    args = ("convert", write(DRIFTING), "-o", tmp_path / "o.csv", option, value)
    code, _, err = tracetime(*args)
    assert code == 2
    assert message in err
    assert not (tmp_path / "o.csv").exists()


def test_two_limits_for_one_clock_are_refused(tracetime, write, tmp_path):
    twice = ("--max-drift-ppm", "MONOTONIC=1", "--max-drift-ppm", "3=2")
    code, _, err = tracetime("convert", write(DRIFTING), "-o", tmp_path / "o.csv", *twice)
    assert code == 2
    assert "given twice" in err


def counted(every, n=4):
    """A 32-bit counter of ns, in a snapshot every so many ns, and read once in between."""
    packets = []
    for at in range(0, n * every, every):
        packets.append(snapshot({BOOTTIME: at, GPU: at % (1 << 32)}))
        packets.append(event((at + 10**8) % (1 << 32), GPU))
    return trace(*packets)


def why_ambiguous(tracetime, path, *more):
    args = ("convert", path, "-o", f"{path}.csv", "--policy", "tube", "--json", *more)
    (reason,) = json.loads(tracetime(*args)[1])["reasons"]
    assert reason["reason"] == "ambiguous_source"
    return reason["advice"]


def test_advice_for_a_counter_whose_wraps_cannot_be_counted(tracetime, write):
    path = write(counted(7300 * 10**9))
    advice = why_ambiguous(tracetime, path, "--valid-bits", f"{GPU}=32")
    assert "wraps every 4.29497 s" in advice
    assert "at least every 2142.41 s" in advice
    assert "stepped back" not in advice
    named = ("--valid-bits", f"{GPU}=32", "--clock-name", f"{GPU}=gpu0")
    text = tracetime("convert", path, "-o", f"{path}.csv", "--policy", "tube", *named)[1]
    assert "    gpu0 wraps every" in text


def test_a_counter_that_wraps_twice_between_snapshots_is_reported(tracetime, write):
    advice = why_ambiguous(tracetime, write(counted(10 * 10**9)), "--valid-bits", f"{GPU}=32")
    assert "wraps every 4.29497 s, up to 2.3 times between two of its snapshots" in advice
    assert advice.endswith("take a snapshot of it more often than it wraps.")


def test_a_counter_that_ran_backwards_covers_no_span(tracetime, write):
    ends = [snapshot({BOOTTIME: at, 128: 900 - at}) for at in (100, 800)]
    path = write(trace(*ends, event(850, BOOTTIME)))
    text = tracetime("convert", path, "-o", f"{path}.csv")[1]
    (row,) = [line.split() for line in text.splitlines() if line.startswith("128 ")]
    assert row == ["128", "global", "2", "-", "0", "0"]


def test_of_many_counters_some_are_named_and_the_others_counted(tracetime, write):
    packets = []
    for at in range(0, 40 * 10**9, 10 * 10**9):
        for seq in range(1, 6):
            packets.append(snapshot({BOOTTIME: at, 64: at % (1 << 32)}, seq))
            packets.append(event((at + 10**8) % (1 << 32), 64, seq))
    advice = why_ambiguous(tracetime, write(trace(*packets)), "--valid-bits", "64=32")
    assert advice.count("wraps every") == 3
    assert advice.endswith("So it is with 2 more clocks.")


def test_a_counter_whose_rate_is_unknown_is_reported(tracetime, write):
    packets = [snapshot({BOOTTIME: at * 10**9, 9: at * 10**9}) for at in range(3)]
    path = write(trace(*packets, event(10**9, 9)))
    args = ("convert", path, "-o", f"{path}.csv", "--policy", "tube", "--valid-bits", "TSC=32")
    text = tracetime(*args)[1]
    assert "  no_path: 1 event (TSC: 1)\n    TSC wraps, and its rate is unknown: say how" in text


def test_a_clock_that_was_set_back_gets_the_advice_of_its_status(tracetime, write):
    stepped = [
        snapshot({BOOTTIME: 10**9 * k, 1: 10**12 + 10**9 * (k - 3 * (k > 5))}) for k in range(12)
    ]
    advice = why_ambiguous(tracetime, write(trace(*stepped, event(1004 * 10**9, 1))))
    assert advice.startswith("The clock was set back")


@pytest.mark.parametrize(
    ("n", "bars", "expected"),
    [(2, "estimated", ["MONOTONIC_RAW"]), (2, "guaranteed", []), (3, "estimated", [])],
)
def test_convert_tells_of_rates_that_two_snapshots_show(
    tracetime, write, tmp_path, n, bars, expected
):
    second = 10**9
    read = [(k + 100) * second for k in range(n)]
    packets = [snapshot({BOOTTIME: t, RAW: t + t // 50_000, MONOTONIC: t - second}) for t in read]
    packets += [event(read[0] + 7, clock) for clock in (BOOTTIME, RAW, MONOTONIC)]
    path, out = write(trace(*packets)), tmp_path / "o.csv"
    options = ("--policy", "tube", "--bars", bars)
    code, text, _ = tracetime("convert", path, "-o", out, *options)
    assert code == 0
    assert ("bars of MONOTONIC_RAW take the one that they show" in " ".join(text.split())) == bool(
        expected
    )
    _, text, _ = tracetime("convert", path, "-o", out, *options, "--json")
    assert json.loads(text)["rate_unproven"] == expected
