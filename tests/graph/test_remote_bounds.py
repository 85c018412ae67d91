"""Clocks of two machines: bars hold however long a message takes on either way."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, packet, remote_sync, snapshot, trace
from graph_files import array, members_of, zipped
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import opened
from relay import (
    CLIENT,
    MS,
    US,
    Relay,
    S,
    ours,
    running,
    sleeping,
    theirs,
    usual_client,
    usual_host,
)

from tracetime import ConversionError, TraceError, diagnose
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.graph.clock_graph import from_bytes, to_bytes
from tracetime.graph.storage.save import FACTS

MONOTONIC_RAW, MONOTONIC_COARSE = BUILTIN_IDS["MONOTONIC_RAW"], BUILTIN_IDS["MONOTONIC_COARSE"]


def bars(graph, relay, times, clock=BOOTTIME, **options):
    """(whether the truth is in the bar, how wide it is) of the client's readings at true times."""
    readings, truth = relay.truth(np.asarray(times, dtype=np.int64), clock)
    found = graph.convert(
        readings, theirs(clock), ours(clock), policy="tube", bounds=True, errors="mask", **options
    )
    low, high = (np.asarray(side) for side in found[1:])
    return (low <= truth) & (truth <= high), high - low


def both_hold(data, relay, times, clock=BOOTTIME):
    with opened(data) as trace:
        for kind in ("estimated", "guaranteed"):
            held, _ = bars(trace.clocks, relay, times, clock, bars=kind)
            assert held.all(), (kind, int((~held).sum()), len(held))
        return bars(trace.clocks, relay, times, clock)[1]


EVERY_30_S = [k * 30 * S for k in range(8)]
TIMES = np.arange(-20 * S, 240 * S, 1_234_567_891)
WAYS = [((MS, 0), (100 * US, 0)), ((100 * US, 0), (MS, 0)), ((20 * US, 500 * US), (2 * MS, MS))]


@pytest.mark.parametrize(("there", "back"), WAYS)
def test_messages_that_take_longer_on_one_way_leave_no_event_outside(there, back):
    relay = Relay(there, back)
    data = relay.trace(*(relay.sync(t) for t in EVERY_30_S))
    widths = both_hold(data, relay, TIMES)
    # No wider than the round trip, what the host waits, and what the clocks drift in between.
    assert np.median(widths) <= sum(there) + sum(back) + 250 * US


@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, REALTIME])
def test_every_clock_that_both_machines_read_is_bounded(clock):
    relay = Relay()
    both_hold(relay.trace(*(relay.sync(t) for t in EVERY_30_S)), relay, TIMES, clock)


def test_order_is_never_certain_and_wrong():
    """An event that is sent right after another one, at 0.5 ms the other way at most."""
    relay = Relay()
    with opened(relay.trace(*(relay.sync(t) for t in EVERY_30_S))) as trace:
        times = np.arange(S, 200 * S, 97 * MS + 13)
        decided = 0
        for apart_ns in (-3 * MS, -600 * US, -200 * US, -1, 0, 1, 200 * US, 600 * US, 3 * MS):
            said = trace.clocks.order(
                (relay.truth(times)[0], theirs()), (relay.truth(times + apart_ns)[1], ours())
            )
            truly = -np.sign(apart_ns)
            assert np.isin(said, (0, truly)).all(), apart_ns
            decided += np.count_nonzero(said)
        # A distance greater than the round trip is reported.
        assert decided >= len(times)


DELAYS = st.tuples(
    st.sampled_from([5 * US, 50 * US, MS, 20 * MS]), st.sampled_from([0, 100 * US, 5 * MS])
)


@settings(max_examples=40)
@given(
    DELAYS,
    DELAYS,
    st.tuples(st.integers(-400, 400), st.integers(-400, 400)),
    st.sampled_from([1, 5, 30, 120]),
    st.integers(1, 12),
    st.integers(2, 5),
    st.sampled_from([10 * US, MS, S]),
    st.integers(0, 9),
)
def test_whatever_the_ways_the_rates_and_the_rounds_bars_hold_and_order_is_right(
    there, back, ppm, apart_s, n, rounds, wait_ns, seed
):
    relay = Relay(
        there,
        back,
        seed,
        host={BOOTTIME: running(ppm[0], 1000 * S)},
        client={BOOTTIME: running(ppm[1], 77 * S)},
    )
    times = np.linspace(-apart_s * S, (n + 1) * apart_s * S, 101).astype(np.int64)
    data = relay.trace(*(relay.sync(k * apart_s * S, rounds, wait_ns) for k in range(n)))
    with opened(data) as trace:
        for kind in ("estimated", "guaranteed"):
            assert bars(trace.clocks, relay, times, bars=kind)[0].all(), kind
        after = times + (np.arange(len(times)) * 7_919) ** 2 % 30_000_001 + 1
        first, second = (relay.truth(times)[0], theirs()), (relay.truth(after)[1], ours())
        assert not (trace.clocks.order(first, second) > 0).any()
        assert not (trace.clocks.order(second, first) < 0).any()


def test_more_rounds_narrow():
    """Of several rounds the quickest one counts; many show that the rate may stray, too."""
    widths = {"estimated": [], "guaranteed": []}
    for n in (2, 3, 4, 12):
        relay = Relay((50 * US, 2 * MS), (50 * US, 2 * MS), seed=5)
        with opened(relay.trace(*(relay.sync(t, n) for t in EVERY_30_S))) as trace:
            for kind, found in widths.items():
                held, width = bars(trace.clocks, relay, TIMES, bars=kind)
                assert held.all()
                found.append(np.median(width))
    few, guaranteed = widths["estimated"][:3], widths["guaranteed"]
    assert few == sorted(few, reverse=True)
    assert guaranteed == sorted(guaranteed, reverse=True)


def test_the_estimate_is_of_the_fastest_messages():
    """Not the mean of all: one way may take ten times as long as the other."""
    missed = []
    for seed in range(10):
        relay = Relay((20 * US, 200 * US), (20 * US, 200 * US), seed)
        with opened(relay.trace(*(relay.sync(k * 10 * S, wait_ns=0) for k in range(60)))) as trace:
            readings, truth = relay.truth(np.arange(0, 590 * S, 3 * S + 1))
            found = trace.clocks.convert(readings, theirs(), ours(), policy="tube")
            missed.append(np.sqrt(np.mean(np.square(np.asarray(found) - truth))))
    assert np.mean(missed) < 9 * US


def test_rounds_that_perfetto_skips_bound_too():
    """30 s from one round to the next: floor takes both REALTIMEs to be one clock."""
    relay = Relay()
    data = relay.trace(relay.sync(0, wait_ns=30 * S), events=[S])
    with opened(data) as trace:
        at = relay.client[BOOTTIME](S)
        assert abs(trace.clocks.convert(at, theirs(), ours()) - relay.host[BOOTTIME](S)) > 299 * S
        held, widths = bars(trace.clocks, relay, TIMES, bars="guaranteed")
        assert held.all()
        assert widths.min() <= 30 * S + 60 * MS


def test_a_suspend_between_two_messages():
    """The client sleeps for 100 s: its MONOTONIC stops, and its BOOTTIME goes on.

    It replies meanwhile, as if it woke up each time. Several suspends between the same messages
    leave nothing that bounds what is between these.
    """
    asleep = sleeping(usual_client()[MONOTONIC], 70 * S, 170 * S)
    relay = Relay(client={**usual_client(), MONOTONIC: asleep})
    data = relay.trace(*(relay.sync(t) for t in EVERY_30_S))
    awake = TIMES[(TIMES < 60 * S) | (TIMES > 180 * S)]
    for clock in (BOOTTIME, MONOTONIC):
        both_hold(data, relay, awake, clock)
    with opened(data) as trace:
        for kind in ("estimated", "guaranteed"):
            held, widths = bars(trace.clocks, relay, TIMES, bars=kind)
            assert (held | np.isnan(widths)).all()


@pytest.mark.parametrize("stops", [MONOTONIC, MONOTONIC_RAW, MONOTONIC_COARSE])
@pytest.mark.parametrize("snapshots", [(0,), range(0, 240 * S, 10 * S)])
def test_a_client_that_sleeps_sets_no_clock_back(stops, snapshots):
    """Against the host's clocks it falls; against its own BOOTTIME it only waits."""
    asleep = sleeping(usual_client()[MONOTONIC], 90 * S + 100 * MS, 100 * S)
    host = usual_host() | {stops: usual_host()[MONOTONIC]}
    relay = Relay(client={**usual_client(), MONOTONIC: asleep, stops: asleep}, host=host)
    data = relay.trace(*(relay.sync(t) for t in EVERY_30_S), snapshots=snapshots)
    times = TIMES[(TIMES < 90 * S) | (TIMES > 100 * S)]
    with opened(data) as trace:
        for target in (MONOTONIC, BOOTTIME, stops):
            for kind in ("estimated", "guaranteed"):
                found = trace.clocks.convert(
                    relay.truth(times, stops)[0],
                    theirs(stops),
                    ours(target),
                    policy="tube",
                    bounds=True,
                    errors="mask",
                    bars=kind,
                )
                truth = relay.truth(times, target)[1]
                assert not found[0].null_count
                low, high = np.asarray(found.earliest), np.asarray(found.latest)
                assert ((low <= truth) & (truth <= high)).all()


def test_a_client_that_was_restarted_has_had_each_reading_twice():
    """It came up again, and reads more at the next message than at the last one before."""
    client = {
        clock: (lambda t, r=read: r(t) if t < 31 * S else r(t - 60 * S))
        for clock, read in usual_client().items()
    }
    client[REALTIME] = usual_client()[REALTIME]
    relay = Relay(client=client)
    times = [*range(0, 30 * S, 7 * S), 35 * S, 61 * S, 85 * S, *range(120 * S, 230 * S, 7 * S)]
    data = relay.trace(*(relay.sync(t) for t in (0, 30 * S, 120 * S, 150 * S, 180 * S, 210 * S)))
    with opened(data) as trace:
        for clock in (MONOTONIC, BOOTTIME):
            said, truth = relay.truth(np.array(times), clock)
            found = trace.clocks.convert(
                said, theirs(clock), ours(clock), policy="tube", bounds=True, errors="mask"
            )
            for value, low, high, true in zip(*map(list, found), truth, strict=True):
                assert not value.is_valid or low.as_py() <= true <= high.as_py()


@pytest.mark.parametrize("jump_ns", [-80 * MS, 7 * S])
def test_a_wall_clock_that_is_set_between_two_rounds(jump_ns):
    """Set back, its second reading may be below what it read when the host was."""
    jumps = [(90 * S + 80 * MS, jump_ns)]
    client = usual_client() | {REALTIME: running(-17, 1_700_000_300 * S, jumps)}
    quick, slow = (Relay((ns, 0), (ns, 0), client=client) for ns in (MS, 50 * MS))
    syncs = [(slow if t == 90 * S else quick).sync(t) for t in EVERY_30_S]
    both_hold(quick.trace(*syncs), quick, TIMES, REALTIME)


def test_clocks_that_only_one_machine_reads_are_reached_over_others():
    """The client has no MONOTONIC, the host no REALTIME; a round without BOOTTIME bounds less."""
    host, client = usual_host(), usual_client()
    del client[MONOTONIC], host[REALTIME]
    relay = Relay(host=host, client=client)
    data = relay.trace(*(relay.sync(t) for t in EVERY_30_S))
    with opened(data) as trace:
        graph = trace.clocks
        assert graph.path(theirs(REALTIME), ours(MONOTONIC), "tube") == [
            theirs(REALTIME),
            theirs(),
            ours(),
            ours(MONOTONIC),
        ]
        both_hold(data, relay, TIMES)


def test_three_of_four_readings_bound():
    relay = Relay()
    for missing in ((0, 0), (0, 1), (1, 0), (1, 1)):
        rounds = relay.rounds(0)
        del rounds[missing[0]][missing[1]][BOOTTIME]
        data = relay.trace(packet(machine=CLIENT, remote_clock_sync=remote_sync(rounds)))
        with opened(data) as trace:
            pairs = trace.clocks._graph.state.between.pairs()
        # Without the first host reading, or the second client one, the others bound nothing.
        assert ((ours(), theirs()) in pairs) == (missing in ((0, 0), (1, 1)))


def test_where_trace_time_is_the_clients_the_host_is_the_host_all_the_same():
    """Perfetto takes the host's readings for those of trace time's machine then."""
    relay = Relay()
    times = range(S, 200 * S, 7 * S)
    moves = snapshot({clock: read(MS) for clock, read in relay.client.items()}, machine=CLIENT)
    data = relay.trace(moves, *(relay.sync(t) for t in EVERY_30_S))
    data += trace(*(event(relay.host[BOOTTIME](t), BOOTTIME) for t in times))
    with opened(data) as read:
        assert read.trace_clock == theirs()
        rows = read.read_all("tube").to_pylist()
    for row, t in zip(rows, times, strict=True):
        assert row["earliest"] <= relay.client[BOOTTIME](t) <= row["latest"]


def test_what_perfetto_makes_of_them_is_no_evidence():
    relay = Relay()
    with opened(relay.trace(*(relay.sync(t) for t in EVERY_30_S))) as trace:
        explained = trace.clocks.explain(
            relay.client[BOOTTIME](45 * S), theirs(), ours(), policy="tube", bars="guaranteed"
        )
        assert [step.assumed for step in explained.steps] == [False]
        assert 500 * US <= explained.steps[0].half_width_ns <= 600 * US
        assert explained.basis == "guaranteed"


def test_bounds_go_with_a_graph_that_is_saved_or_pickled(tmp_path):
    relay = Relay()
    with opened(relay.trace(*(relay.sync(t) for t in EVERY_30_S))) as trace:
        graph = trace.clocks
        graph.save(tmp_path / "graph.npz")
        expected = bars(graph, relay, TIMES)[1]
        for again in (type(graph).load(tmp_path / "graph.npz"), pickle.loads(pickle.dumps(graph))):
            held, widths = bars(again, relay, TIMES)
            assert held.all()
            assert (widths == expected).all()


@pytest.mark.parametrize(
    ("column", "values", "match"),
    [
        ("between_pair", None, "not equally long"),
        ("between_pair", [0] * 50 + [7], "not equally long"),
        ("between_pair", [7] * 48, "of clocks or snapshots that it does not have"),
        ("between_pair", [0] * 48, "names two clocks as bounded"),
        ("between_snapshot", [10**6] * 48, "of clocks or snapshots that it does not have"),
        ("worked_out", [10**6], "of clocks or snapshots that it does not have"),
        ("between_one_low_ns", [2**62] * 48, "is reversed, or too wide"),
        ("between_one_low_ns", [-(2**63)] * 48, "is reversed, or too wide"),
        ("between_other_high_ns", [2**63 - 1] * 48, "is reversed, or too wide"),
    ],
)
def test_bounds_in_a_file_that_no_graph_has(column, values, match):
    relay = Relay()
    with opened(relay.trace(*(relay.sync(t) for t in EVERY_30_S))) as trace:
        data = to_bytes(trace.clocks)
    members = members_of(data)
    if values is None:
        del members[f"{column}.npy"]
    else:
        members[f"{column}.npy"] = array(values, "<i8" if column.endswith("_ns") else "<u4")
    assert to_bytes(from_bytes(data)) == data
    with pytest.raises(TraceError, match=match):
        from_bytes(zipped(list(members.items())))


@pytest.mark.parametrize("pairs", [[[]], [3], [[{}, {}]]])
def test_pairs_in_a_file_that_are_none(pairs):
    relay = Relay()
    with opened(relay.trace(relay.sync(0))) as trace:
        data = to_bytes(trace.clocks)
    members = members_of(data)
    facts = json.loads(members[FACTS])
    for wrong in (pairs, [facts["between"][0]] * 3, [[facts["between"][0][0]] * 2] * 3):
        members[FACTS] = json.dumps(facts | {"between": wrong}).encode()
        with pytest.raises(TraceError):
            from_bytes(zipped(list(members.items())))


# Bounds that make no sense


@pytest.mark.parametrize(("side", "shift_ns"), [(0, -2 * MS), (1, -2 * MS), (0, None), (1, None)])
def test_bounds_that_are_reversed_or_empty_are_reported_and_not_used(side, shift_ns):
    """One message of nine, foreign: a machine's clocks fell, or were not read anew."""
    relay = Relay()
    bad = relay.rounds(100 * S)
    for clock in bad[1][side]:
        bad[1][side][clock] = bad[0][side][clock] + (shift_ns or 0)
    syncs = [relay.sync(t) for t in EVERY_30_S]
    syncs.insert(4, packet(machine=CLIENT, remote_clock_sync=remote_sync(bad)))
    data = relay.trace(*syncs, events=[100 * S])
    both_hold(data, relay, TIMES)
    with opened(data) as trace:
        (found,) = [f for f in diagnose(trace) if f.code == "machine-sync-unusable"]
        assert found.severity == "warning"
        assert found.clocks == (theirs(REALTIME), theirs(MONOTONIC), theirs())
        assert len(found.packets) == 1
        assert trace.unused_bounds[0][1:3] == (2, 16)


def test_where_no_bound_makes_sense_there_is_no_bar_and_an_error():
    relay = Relay()
    rounds = relay.rounds(0)
    rounds[1] = rounds[0]
    sync = packet(machine=CLIENT, remote_clock_sync=remote_sync(rounds))
    with opened(relay.trace(sync, events=[S])) as trace:
        with pytest.raises(ConversionError):
            trace.clocks.convert(relay.client[BOOTTIME](S), theirs(), ours(), policy="tube")
        (found,) = [f for f in diagnose(trace) if f.code == "machine-sync-unusable"]
        assert (found.severity, found.events) == ("error", 1)


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.dictionaries(st.integers(1, 6), st.integers(0, 2**64 - 1), max_size=3),
                st.dictionaries(st.integers(1, 6), st.integers(0, 2**64 - 1), max_size=3),
            ),
            max_size=4,
        ),
        max_size=3,
    )
)
def test_hostile_rounds_end_in_bars_or_in_errors(syncs):
    relay = Relay()
    data = relay.trace(
        relay.sync(0),
        *(packet(machine=CLIENT, remote_clock_sync=remote_sync(rounds)) for rounds in syncs),
        events=[S],
    )
    with opened(data) as trace:
        diagnose(trace)
        trace.read_all("tube")


# The doctor


def found_in(data):
    with opened(data) as trace:
        return {finding.code: finding for finding in diagnose(trace)}


def test_the_doctor_says_when_the_round_trip_limits_a_pair():
    relay = Relay()
    found = found_in(relay.trace(*(relay.sync(t) for t in EVERY_30_S), events=[45 * S]))
    limited = found["round-trip-limits"]
    assert limited.severity == "info"
    assert limited.clocks == (ours(), theirs())
    assert 550 * US <= limited.worst_ns <= 650 * US
    assert "round trip" in limited.title


def test_a_round_trip_beyond_the_tolerance_is_a_warning():
    relay = Relay((5 * MS, 0), (5 * MS, 0))
    found = found_in(relay.trace(*(relay.sync(t) for t in EVERY_30_S), events=[45 * S]))
    assert found["round-trip-limits"].severity == "warning"


def test_where_drift_limits_the_round_trip_is_not_blamed():
    """Messages of 10 us, once an hour: the rates are what is not known."""
    relay = Relay((5 * US, 0), (5 * US, 0))
    found = found_in(
        relay.trace(relay.sync(0, wait_ns=US), relay.sync(3600 * S, wait_ns=US), events=[S])
    )
    assert "round-trip-limits" not in found


def walking(seed):
    """A client 30 ppm off whose rate walks by 0.01 ppm per root second, over 600 s of true time."""
    step = S // 10
    walk = np.random.default_rng(seed).normal(0, 1e-8 * np.sqrt(step / S), 6100)
    off = np.concatenate(([0.0], np.cumsum((3e-5 + np.cumsum(walk)) * step)))
    at = np.arange(len(off)) * step
    return lambda t: int(t) + 77 * S + round(float(np.interp(t, at, off)))


def round_trips(seed):
    """What a message every 10 s shows, each way of 20 us and an exponential 200 us.

    The rms of the tube's estimate, and of a line through the instants that Perfetto makes of them;
    and how many of the readings it places before what was before them.
    """
    random = np.random.default_rng([seed, 1])
    relay = Relay((20 * US, 200 * US), (20 * US, 200 * US), seed, {BOOTTIME: lambda t: t + 900 * S})
    relay.client = {BOOTTIME: walking(seed)}
    rounds = [relay.rounds(k * 10 * S + int(random.integers(S)), wait_ns=0) for k in range(60)]
    syncs = (packet(machine=CLIENT, remote_clock_sync=remote_sync(one)) for one in rounds)
    with opened(relay.trace(*syncs)) as trace:
        graph = trace.clocks
        said, truth = relay.truth(np.sort(random.integers(10 * S, 590 * S, 5000)))
        _, host, client = graph._graph.shared(ours(), theirs())
        line = said + np.interp(said - 77 * S, client - 77 * S, (host - client).astype(float))

        def on_host(readings):
            return np.asarray(graph.convert(np.array(readings), theirs(), ours(), policy="tube"))

        first, second = (
            [[one[which][side][BOOTTIME] for one in rounds] for side in (0, 1)] for which in (0, 1)
        )
        wrong = (on_host(first[0]) > first[1]).sum() + (on_host(second[0]) < first[1]).sum()
        wrong += (on_host(second[0]) > second[1]).sum()
        off = [float(np.sqrt(np.mean((there - truth) ** 2.0))) for there in (on_host(said), line)]
    return *off, int(wrong)


def test_the_estimate_is_ten_times_better_than_a_line_through_perfettos_means():
    found = [round_trips(seed) for seed in range(1, 31)]
    shares = [tube / line for tube, line, _ in found]
    assert np.median(shares) <= 0.1
    assert max(shares) <= 0.2
    assert sum(wrong for *_, wrong in found) == 0
