"""Real CTF traces: of LTTng, barectf and babeltrace's tests, against what babeltrace2 prints."""

import re
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from corpus import DATA, NO_DATA
from platforms import WITH_BT2
from scp import expected as on_destination
from scp import packets

from tracetime import TraceError, diagnose, match_messages, open_trace

pytestmark = WITH_BT2

CTF = DATA / "other" / "ctf"
SCP = CTF / "tracecompass" / "synctraces"
WITH_DATA = pytest.mark.skipif(not CTF.is_dir(), reason=NO_DATA)
LINE = re.compile(r"\[(\d+)\.(\d{9})\] \(\S+\) (?:\S+ )?(\S+): \{")

PRINTED = {
    "bt_intersection_3eventsintersect": "bt/intersection/3eventsintersect",
    "bt_succeed_2packets": "bt/succeed/2packets",
    "bt_succeed_lttng-tracefile-rotation": "bt/succeed/lttng-tracefile-rotation",
    "bt_succeed_multi-domains": "bt/succeed/multi-domains",
    "bt_succeed_wk-heartbeat-u": "bt/succeed/wk-heartbeat-u",
    "tracecompass_context-switches_context-switches-ust": (
        "tracecompass/context-switches/context-switches-ust"
    ),
}


def wall_times(trace, table):
    return trace.clocks.convert(table["trace_time"].to_numpy(), trace.trace_clock, "REALTIME")


@WITH_DATA
@pytest.mark.sweep
@pytest.mark.parametrize(("name", "events"), [("scp_src", 110_771), ("scp_dest", 85_729)])
def test_the_machines_of_a_copy_are_read_to_the_last_event(name, events):
    expected = pq.read_table(CTF / f"{name}.parquet")
    with open_trace(SCP / name) as trace:
        table = trace.read_all(names=True)
        wall = wall_times(trace, table)
        assert diagnose(trace) == []
    assert table.num_rows == expected.num_rows == events
    assert np.array_equal(wall, expected["timestamp"].to_numpy())
    for column in ("name", "cpu"):
        assert table[column].to_pylist() == expected[column].to_pylist()
    some = list(range(0, events, 97))
    texts = (table["args"].take(some).to_pylist(), expected["fields"].take(some).to_pylist())
    for args, fields in zip(*texts, strict=True):
        keys = re.findall(r'[{,]"([^"]+)":', args)
        assert all(f" {key} = " in fields for key in keys), (args, fields)


@WITH_DATA
@pytest.mark.parametrize("name", PRINTED)
def test_events_are_those_that_babeltrace2_prints(name):
    lines = (CTF / f"{name}.txt").read_text().splitlines()
    found = filter(None, map(LINE.match, lines))
    expected = Counter(
        (int(s) * 10**9 + int(ns), event) for s, ns, event in (m.groups() for m in found)
    )
    with open_trace(CTF / PRINTED[name]) as trace:
        table = trace.read_all(names=True)
        wall = wall_times(trace, table)
    assert Counter(zip(wall.tolist(), table["name"].to_pylist(), strict=True)) == expected


@WITH_DATA
def test_sessions_whose_offset_was_read_again_differ_by_what_it_changed():
    lines = (CTF / "bt_succeed_session-rotation.txt").read_text().splitlines()
    expected = sorted(int(m[1]) * 10**9 + int(m[2]) for line in lines if (m := LINE.match(line)))
    with open_trace(CTF / "bt" / "succeed" / "session-rotation") as trace:
        assert trace.machines == [0]
        wall = np.sort(wall_times(trace, trace.read_all()))
    assert len(wall) == 266
    assert np.abs(wall - expected).max() == 1


@WITH_DATA
@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("no-lost", 0),
        ("no-lost-not-starting-at-0", 0),
        ("2-lost-before-last", 2),
        ("7-lost-between-2-with-index", 7),
        ("2-streams-lost-in-1", 2),
    ],
)
def test_missing_packets_are_counted(name, dropped):
    with open_trace(CTF / "bt" / "packet-seq-num" / name) as trace:
        assert trace.events_dropped == dropped
        assert trace.read_all().num_rows > 0


@WITH_DATA
@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("succeed/lttng-crash", 400),
        ("succeed/barectf-event-before-packet", None),
        ("succeed/sequence", 10),
        ("intersection/nostream", 0),
        ("intersection/nointersect", 6),
        ("intersection/3eventsintersectreverse", 8),
    ],
)
def test_traces_of_babeltraces_tests_are_read(name, events):
    with open_trace(CTF / "bt" / name) as trace:
        table = trace.read_all("tube", names=True)
        assert events in (None, table.num_rows)
        assert set(table["status"].to_pylist()) <= {"resolved"}


@pytest.mark.sweep
@WITH_DATA
def test_the_machines_of_a_copy_are_tied_by_their_packets():
    with open_trace(SCP) as trace:
        assert trace.machines == [0, 1]
        assert Counter(trace.read_all()["status"].to_pylist()) == {
            "resolved": 85_729,
            "no_path": 110_771,
        }
        destination, source = (
            trace.sql(
                "select timestamp, json_extract_string(args, ['seq', 'ack_seq', 'flags']) as key, "
                f"name from events where machine = {machine} and name like 'inet_sock_local_%'"
            )
            for machine in (0, 1)
        )
        graph = trace.clocks
    for sent, received, clocks in (
        (source, destination, ("MONOTONIC@machine1", "MONOTONIC")),
        (destination, source, ("MONOTONIC", "MONOTONIC@machine1")),
    ):
        sides = []
        for table, name in ((sent, "out"), (received, "in")):
            rows = [row for row in table.to_pylist() if row["name"].endswith(name)]
            sides.append(
                ([" ".join(row["key"]) for row in rows], [row["timestamp"] for row in rows])
            )
        match = match_messages(sides[0][0], sides[1][0])
        before, after = (
            np.array(times)[index]
            for (_, times), index in zip(sides, (match.sent, match.received), strict=True)
        )
        graph.add_order(before=(before, clocks[0]), after=(after, clocks[1]))
    # Trace Compass' line, from REALTIME of the source to that of the destination.
    src_offset, dest_offset = 1_361_203_559_332_331_489, 1_361_203_569_335_098_971
    sent = packets(CTF / "scp_src.parquet", "out").ns[10:40]
    line = on_destination(sent) - dest_offset
    bars = graph.convert(
        sent - src_offset,
        "MONOTONIC@machine1",
        "MONOTONIC",
        policy="tube",
        bars="guaranteed",
        bounds=True,
    )
    assert np.all((bars.earliest <= line) & (line <= bars.latest))
    assert np.median(bars.latest - bars.earliest) < 1_000_000


@WITH_DATA
def test_events_without_a_time_are_refused():
    with open_trace(CTF / "bt" / "succeed" / "succeed1") as trace:
        with pytest.raises(TraceError, match="has no clock"):
            trace.read_all()
