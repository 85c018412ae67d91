"""Machines that Perfetto's rule alone ties: floor takes their clocks to be one, the tube does not."""

from __future__ import annotations

import json
import pickle

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    TRACE_FILE,
    event,
    heap_dumps,
    packet,
    remote_sync,
    snapshot,
    trace,
)
from reading import opened, placed
from relay import CLIENT, MS, Relay, S, ours, theirs

from tracetime import ClockGraph, ConversionError, Snapshot, diagnose
from tracetime.graph.clock_graph import to_bytes

pytest_plugins = ["cli"]

TIMES = [S, 2 * S, 3 * S]
RELAY = Relay()
ADVICE = "record with a relay"


def snapshots(clocks, **more):
    return [
        snapshot({clock: read(t) for clock, read in clocks.items()}, **more) for t in (0, 10 * S)
    ]


def client_events(clock=BOOTTIME):
    return [event(RELAY.client[clock](t), clock, machine=CLIENT) for t in TIMES]


HOST = snapshots(RELAY.host)
# Before its own snapshots: they would make its BOOTTIME trace time.
ASKED = event(RELAY.client[BOOTTIME](S // 2), BOOTTIME, machine=CLIENT)


def by_boottime():
    return trace(*HOST, ASKED, *snapshots(RELAY.client, machine=CLIENT), *client_events(MONOTONIC))


def by_realtime():
    theirs = [
        snapshot({c: read(t) for c, read in RELAY.client.items()} | {TRACE_FILE: 0}, machine=CLIENT)
        for t in (0, 10 * S)
    ]
    return trace(*HOST, *theirs, *client_events(MONOTONIC))


def by_the_files_own_time():
    return trace(event(5, BOOTTIME), event(6, BOOTTIME, machine=CLIENT), event(7, BOOTTIME))


def at_the_end():
    """The machine's only events are placed when the file has been read."""
    dump = packet(seq=1, machine=CLIENT, profile_packet=heap_dumps([(5, None)]))
    theirs = snapshot({4: 0, BOOTTIME: 700, TRACE_FILE: 0}, machine=CLIENT)
    return trace(*HOST, event(RELAY.host[BOOTTIME](S)), dump, theirs)


def with_a_sync_that_bounds_nothing():
    rounds = RELAY.rounds(0)
    rounds[1] = rounds[0]
    return trace(*HOST, ASKED, packet(machine=CLIENT, remote_clock_sync=remote_sync(rounds)))


TRACES = [by_boottime, by_realtime, by_the_files_own_time, at_the_end]


@pytest.mark.parametrize("data", [made() for made in TRACES], ids=lambda _: "")
def test_events_of_such_a_machine_have_no_bar_and_floor_has_its_time(data):
    with opened(data) as read:
        floor = read.read_all().to_pylist()
        tube = read.read_all("tube").to_pylist()
        again = read.read_all("tube").to_pylist()
    assert tube == again
    of_client = [row["machine"] == CLIENT for row in tube]
    assert any(of_client)
    for row, placed_row, far in zip(tube, floor, of_client, strict=True):
        assert placed_row["status"] == "resolved"
        if far:
            assert row["status"] == "no_path"
            assert (row["trace_time"], row["earliest"], row["latest"]) == (None, None, None)
        else:
            assert row["earliest"] <= row["trace_time"] <= row["latest"]


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("made", [by_boottime, by_realtime])
@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, REALTIME])
def test_no_conversion_and_no_order_between_them(made, bars, clock):
    at = RELAY.client[clock](S), theirs(clock)
    with opened(made()) as read:
        graph = read.clocks
        for one, other in ((theirs(clock), ours()), (ours(), theirs(clock))):
            with pytest.raises(ConversionError, match=ADVICE) as caught:
                graph.convert(at[0], one, other, policy="tube", bars=bars)
            assert caught.value.reason == "no_path"
            graph.convert(at[0], one, other)
        with pytest.raises(ConversionError, match=ADVICE):
            graph.order(at, (RELAY.host[BOOTTIME](S), ours()))
        with pytest.raises(ConversionError, match=ADVICE):
            graph.explain(*at, ours(), policy="tube")
        found = graph.convert(
            [at[0]], at[1], ours(), policy="tube", bars=bars, bounds=True, errors="mask"
        )
        assert [side.to_pylist() for side in found] == [[None]] * 3


def test_within_each_machine_all_stays():
    with opened(by_boottime()) as read:
        for clock in (ours, theirs):
            read.clocks.convert(RELAY.client[BOOTTIME](S), clock(), clock(MONOTONIC), policy="tube")
        at = RELAY.client[BOOTTIME](S)
        assert read.clocks.order((at, theirs()), (at + S, theirs())) == -1


def test_the_files_own_time_is_boottime_where_a_trace_has_no_snapshots():
    with opened(trace(event(5, BOOTTIME))) as read:
        (row,) = read.read_all("tube").to_pylist()
    # Rounded outwards.
    assert (row["earliest"], row["trace_time"], row["latest"]) == (4, 5, 6)


def test_two_clients_of_one_host_are_not_one_either():
    data = trace(*HOST, ASKED, event(5, BOOTTIME, machine=CLIENT + 1))
    with opened(data) as read, pytest.raises(ConversionError, match=ADVICE):
        one, other = (ours().__class__(BOOTTIME, machine=m) for m in (1, 2))
        read.clocks.order((5, one), (6, other))


def test_messages_of_one_clock_do_not_make_the_others_one():
    """REALTIMEs that the rule tied before the messages, which bound BOOTTIME alone."""
    client, host = ({BOOTTIME: m[BOOTTIME]} for m in (RELAY.client, RELAY.host))
    # Without their BOOTTIME the rule has the REALTIMEs only.
    early = by_realtime()
    syncs = [Relay(client=client, host=host).sync(t) for t in (0, 5 * S)]
    with opened(early + trace(*syncs)) as read:
        graph = read.clocks
        assert len(graph._graph.shared(theirs(REALTIME), ours(REALTIME))[0])
        assert graph.path(theirs(REALTIME), ours(REALTIME), "tube") == [
            theirs(REALTIME),
            theirs(),
            ours(),
            ours(REALTIME),
        ]
        at = RELAY.client[REALTIME](S)
        bar = graph.convert(at, theirs(REALTIME), ours(REALTIME), policy="tube", bounds=True)
        assert bar.earliest <= RELAY.host[REALTIME](S) <= bar.latest
        assert bar.latest - bar.earliest >= MS


def test_readings_of_one_machine_are_compared_where_all_its_clocks_were_set_back():
    falling = [
        snapshot({REALTIME: t, BOOTTIME: 2 * t, TRACE_FILE: 0}, machine=CLIENT)
        for t in (5 * S, 9 * S, 2 * S)
    ]
    with opened(trace(*HOST, ASKED, *falling)) as read:
        graph = read.clocks
        assert graph.order((5 * S, theirs(REALTIME)), (20 * S, theirs())) in (-1, 0, 1)


def test_of_a_machine_that_nothing_ties_no_tubes_are_made():
    clocks = {128 + k: 1 for k in range(100)}
    known = snapshot(clocks | {BOOTTIME: 5 * S, TRACE_FILE: 0}, machine=CLIENT)
    events = [event(2, clock, machine=CLIENT) for clock in clocks]
    with opened(trace(*HOST, ASKED, known, *events)) as read:
        assert set(read.read_all("tube")["status"].to_pylist()) == {"no_path"}
        assert not read.clocks._graph.tubes.pairs._made


def test_a_sync_that_bounds_nothing_leaves_the_rule_and_no_bar():
    with opened(with_a_sync_that_bounds_nothing()) as read:
        (row,) = read.read_all("tube").to_pylist()
        assert row["status"] == "no_path"
        codes = {finding.code for finding in diagnose(read)}
    assert "machine-sync-unusable" in codes


@pytest.mark.parametrize("made", TRACES)
def test_a_graph_that_is_saved_knows_it_too(made, tmp_path):
    with opened(made()) as read:
        list(read.events("tube"))
        graph = read.clocks
        graph.save(tmp_path / "graph.npz")
        for again in (
            graph,
            ClockGraph.load(tmp_path / "graph.npz"),
            pickle.loads(pickle.dumps(graph)),
        ):
            assert to_bytes(again) == to_bytes(graph)
            with pytest.raises(ConversionError, match=ADVICE):
                again.convert(5, theirs(), read.trace_clock, policy="tube")
            again.convert(5, theirs(), read.trace_clock)


def test_who_measured_that_two_machines_read_0_is_believed():
    graph = ClockGraph()
    both, half = {"BOOTTIME": 0, "BOOTTIME@machine1": 0}, {"BOOTTIME@machine1": 50}
    graph.add_snapshot(Snapshot(both, reference="BOOTTIME", half_width_ns=half))
    bar = graph.convert(0, "BOOTTIME@machine1", "BOOTTIME", policy="tube", bounds=True)
    assert (bar.earliest, bar.latest) == (-51, 51)


# Findings and columns


@pytest.mark.parametrize("made", TRACES)
def test_the_doctor_reports_that_the_machine_is_not_synchronised(made):
    with opened(made()) as read:
        found = diagnose(read)
    (expected,) = [finding for finding in found if finding.code == "machine-not-synchronised"]
    assert expected.events == (4 if made is by_boottime else 3 if made is by_realtime else 1)
    assert expected.severity == "warning"
    assert "--policy tube" in expected.why


def test_the_doctor_does_not_wonder_where_a_rule_puts_its_events():
    """15 minutes from the host's: no timestamp is wrong, and no snapshot missing."""
    host = [snapshot({c: f(t) for c, f in RELAY.host.items()}) for t in (0, 10 * S, 20 * S)]
    with opened(trace(*host, *client_events())) as read:
        assert [finding.code for finding in diagnose(read)] == ["machine-not-synchronised"]


@pytest.mark.parametrize("made", TRACES)
@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_nobody_says_that_floor_costs_nothing(made, policy, tmp_path, write, tracetime):
    args = ("convert", write(made()), "-o", tmp_path / "a.parquet", "--policy", policy)
    cost = json.loads(tracetime(*args, "--json")[1])["floor_cost"]
    assert (cost["is_limit"], cost["clocks_untied"]) == (False, 1 + (made is by_boottime))
    said = " ".join("".join(tracetime(*args)[1:]).split())
    assert " can be is not known" in said
    assert (ADVICE in said) == (policy == "tube")
    assert "costs nothing" not in said


def test_the_report_and_sql(tmp_path, write, tracetime):
    path = write(by_boottime())
    code, _, expected = tracetime("report", path, "-o", tmp_path / "a.html")
    assert code == 0, expected
    assert ADVICE in (tmp_path / "a.html").read_text()
    sql = "select count(*) filter (latest is null), count(*) from events where machine <> 0"
    code, out, expected = tracetime("sql", path, sql, "--policy", "tube", "--json")
    assert code == 0, expected
    assert list(json.loads(out)[0].values()) == [4, 4]


def test_floor_places_them_as_ever():
    assert set(placed(by_boottime()).values()) == {
        RELAY.client[BOOTTIME](S // 2),
        *(RELAY.client[BOOTTIME](t) for t in TIMES),
    }
