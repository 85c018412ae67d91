"""Which clock the times of a file are of."""

import json
from types import SimpleNamespace

import pytest

from tracetime import ClockId, diagnose, open_trace
from tracetime.formats.chrome_json import file_clocks


@pytest.fixture
def trace(tmp_path):
    opened = []

    def of(ts=(1, 2000000), **values):
        path = tmp_path / "t.json"
        events = [{"ph": "i", "ts": one} for one in ts]
        path.write_text(json.dumps({"traceEvents": events, **values}))
        opened.append(open_trace(path))
        return opened[-1]

    yield of
    for one in opened:
        one.close()


@pytest.mark.parametrize(
    ("values", "clock"),
    [
        ({}, "org.chromium.trace"),
        ({"metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"}}, "MONOTONIC"),
        ({"metadata": {"clock-domain": "WIN_QPC"}}, "org.chromium.win_qpc"),
        ({"metadata": {"clock-domain": "\u00e9" * 1000}}, "org.chromium." + "_" * 64),
        ({"metadata": {"clock-domain": 5}}, "org.chromium.trace"),
        ({"metadata": []}, "org.chromium.trace"),
        ({"distributedInfo": {"rank": 0}}, "REALTIME"),
        ({"deviceProperties": [], "baseTimeNanoseconds": 0}, "REALTIME"),
        ({"baseTimeNanoseconds": 10**18}, "org.pytorch.kineto"),
        ({"displayTimeUnit": "ns"}, "org.chromium.trace"),
    ],
)
def test_the_file_says_which(trace, values, clock):
    opened = trace(**values)
    assert opened.clocks.name(opened.trace_clock) == clock
    assert opened.trace_clock == ClockId.parse(clock)
    assert {row["clock"] for row in opened.read_all().to_pylist()} == {opened.trace_clock.clock}


@pytest.mark.parametrize("ts", [(1, 2000000), (5,), (4203669603018.756, 4203679613175.703)])
def test_kinetos_base_ties_its_clock_to_realtime_exactly(trace, ts):
    base = 1735632360000000001
    opened = trace(ts=ts, baseTimeNanoseconds=base)
    rows = opened.read_all("tube").to_pylist()
    for row in rows:
        assert row["timestamp"] - row["earliest"] == (500 if row["timestamp"] % 1000 == 0 else 0)
        for policy in ("floor", "tube"):
            there = opened.clocks.convert(
                row["timestamp"], opened.trace_clock, ClockId(1), policy=policy
            )
            assert int(there) == row["timestamp"] + base
    assert opened.metadata["baseTimeNanoseconds"] == base


def test_a_base_may_be_a_text(trace):
    opened = trace(baseTimeNanoseconds="1735632360000000001")
    there = opened.clocks.convert(5000, opened.trace_clock, "REALTIME")
    assert int(there) == 1735632360000005001


@pytest.mark.parametrize("base", [1.73563236e18, "1e18", "x", True, [5], None, "9" * 40])
def test_a_base_that_is_no_whole_number_is_not_taken_for_0(trace, base):
    opened = trace(baseTimeNanoseconds=base)
    assert opened.clocks.name(opened.trace_clock) == "org.pytorch.kineto"
    assert opened.clocks.clocks() == []


def test_a_base_beyond_int64_ties_nothing(trace):
    opened = trace(baseTimeNanoseconds=10**19)
    assert opened.clocks.clocks() == []
    assert opened.read_all().num_rows == 2


def test_a_healthy_file_has_no_finding_but_that_it_has_one_clock(trace):
    assert {one.code for one in diagnose(trace())} == {"no-snapshots"}
    assert diagnose(trace(baseTimeNanoseconds=10**18)) == []


def test_of_what_stands_beside_the_events_only_what_is_asked_for_is_decoded(trace, monkeypatch):
    decoded = []

    def loads(text):
        decoded.append(text)
        return json.loads(text)

    monkeypatch.setattr(file_clocks, "json", SimpleNamespace(loads=loads))
    read = trace(metadata={"clock-domain": "WIN_QPC"}, **{f"k{i}": i for i in range(100)})
    diagnose(read)
    assert set(decoded) == {'{"clock-domain": "WIN_QPC"}'}
    assert len(read.metadata) == 101
    assert read.metadata is read.metadata
