"""Snapshots and orders, into a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tracetime._kernels import graph as kernel
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.snapshot import ReadingsByClock, Snapshot
from tracetime.errors import UsageError
from tracetime.graph.arguments import SNAPSHOT_FAULTS, ClockTimes, Times
from tracetime.graph.facts import clock_named, readings
from tracetime.graph.graph import Graph
from tracetime.graph.state import GraphState
from tracetime.graph.tube.messages import LONGEST_NS
from tracetime.graph.tube.wraps import modulus_of
from tracetime.graph.values import Given, Marks, Values, take


def add_snapshot(graph: Graph, given: Snapshot | ReadingsByClock) -> None:
    """Add a snapshot; see `ClockGraph.add_snapshot`."""
    snapshot = given if isinstance(given, Snapshot) else Snapshot(given)
    with graph.lock:
        if not isinstance(given, Snapshot):
            graph.state.take_names(*(clock for clock, _ in given.items()))
        _add(graph.state, snapshot)


def add_readings(graph: Graph, clocks: Sequence[ClockId], values_ns: Values) -> None:
    """Add snapshots of clocks that count ns, and of whose reading nothing more is known.

    values_ns: int64, a row each, a column for each clock.
    """
    n = len(clocks)
    with graph.lock:
        _add_rows(
            graph.state, clocks, values_ns, np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.uint8)
        )


def _add(state: GraphState, snapshot: Snapshot) -> None:
    clocks, readings = snapshot.clocks, snapshot.readings.values()
    values = np.empty((len(snapshot), len(clocks)), dtype=np.int64)
    for column, reading in enumerate(readings):
        values[:, column] = reading.value
    units = np.array([reading.unit_ns for reading in readings], dtype=np.int64)
    incremental = np.array([reading.incremental for reading in readings], dtype=np.uint8)
    first = kernel.version(state.engine)
    try:
        _add_rows(state, clocks, values, units, incremental)
    finally:
        state.measured.add(first, kernel.version(state.engine), snapshot)


def _add_rows(
    state: GraphState, clocks: Sequence[ClockId], values: Values, units: Values, incremental: Marks
) -> None:
    trace_key = None if state.trace_clock is None else state.key(state.trace_clock)
    keys = [state.key(clock) for clock in clocks]
    added, fault, position = kernel.add_snapshots(
        state.engine, keys, values, units, incremental, trace_key
    )
    if fault:
        which = f"snapshot {added} of {len(values)}: " if len(values) > 1 else ""
        raise UsageError(which + SNAPSHOT_FAULTS[fault].format(clock=clocks[position]))


def add_order(
    graph: Graph,
    before: ClockTimes,
    after: ClockTimes,
    min_delay_ns: Times = 0,
    max_delay_ns: Times | None = None,
) -> None:
    """Add orders; see `ClockGraph.add_order`."""
    (sent, here), (received, there) = (
        _side(graph, side, name) for side, name in ((before, "before"), (after, "after"))
    )
    if here == there:
        raise UsageError(
            f"before and after are both {here}: an order is of two clocks; readings of one clock "
            "are in order by themselves"
        )
    _check_lengths([("before", sent), ("after", received)])
    n = len(sent.values)
    least = _delays(min_delay_ns, n, "min_delay_ns")
    most = None if max_delay_ns is None else _delays(max_delay_ns, n, "max_delay_ns")
    short = np.zeros(1, dtype=bool) if most is None else np.atleast_1d(np.less(most, least))
    if most is not None and short.any():
        first = int(np.argmax(short))
        raise UsageError(
            f"max_delay_ns {_one(most, first)} is less than min_delay_ns {_one(least, first)}"
            + ("" if sent.scalar else f" (index {first})")
        )
    _check_unwrapped(graph, here, there)
    with graph.lock:
        # The caller may change its arrays.
        one, other = sent.values.copy(), received.values.copy()
        graph.state.orders.add(here, there, one, other, least, most)


def add_pings(graph: Graph, clocks: tuple[ClockLike, ClockLike], times: tuple[Times, ...]) -> None:
    """Add two orders for each ping; see `ClockGraph.add_pings`.

    clocks: local, remote; times: sent, received, replied, returned.
    """
    local, remote = (_clock(graph, clock) for clock in clocks)
    if local == remote:
        raise UsageError(f"local and remote are both {local}: a ping is between two clocks")
    names = ("sent", "received", "replied", "returned")
    owners = (local, remote, remote, local)
    given = [
        _whole(readings(graph, ts, clock), name)
        for ts, name, clock in zip(times, names, owners, strict=True)
    ]
    _check_lengths(list(zip(names, given, strict=True)))
    _check_unwrapped(graph, local, remote)
    for clock, one, other in ((local, 0, 3), (remote, 1, 2)):
        fell = given[other].values < given[one].values
        if fell.any():
            first = int(np.argmax(fell))
            raise UsageError(
                f"{names[other]} {given[other].values[first]} is before {names[one]} "
                f"{given[one].values[first]} on {clock} (ping {first}): leave it out"
            )
    out, there, back, home = (column.values.copy() for column in given)
    with graph.lock:
        graph.state.orders.add(local, remote, out, there, 0)
        graph.state.orders.add(remote, local, back, home, 0)


def add_pings_of_many(
    graph: Graph, local: ClockId, remotes: Sequence[ClockId], which: Values, times: Values
) -> None:
    """Add two orders for each ping of one clock with many others.

    Args:
        remotes: the others; each has a ping.
        which: int64, of each ping, its place in `remotes`.
        times: int64[4, n]: sent, received, replied, returned; neither clock goes back in a ping.
    """
    _check_unwrapped(graph, local, *remotes)
    pairs = [pair for remote in remotes for pair in ((local, remote), (remote, local))]
    # The pings of one pair together, as if they were added alone.
    pair_of = np.concatenate([2 * which, 2 * which + 1])
    order = np.argsort(pair_of, kind="stable")
    before, after = np.concatenate([times[0], times[2]]), np.concatenate([times[1], times[3]])
    with graph.lock:
        graph.state.orders.add_of_many(pairs, pair_of[order], before[order], after[order])


def add_together(graph: Graph, starts: Iterable[ClockTimes], ends: Iterable[ClockTimes]) -> None:
    """Add orders of starts that were all before some ends; see `ClockGraph.add_together`.

    Of one clock only its last start and its first end can bind.
    """
    last = {clock: int(ts.max()) for clock, ts in _by_clock(graph, starts, "starts").items()}
    first = {clock: int(ts.min()) for clock, ts in _by_clock(graph, ends, "ends").items()}
    _check_unwrapped(graph, *last, *first)
    for clock, start in last.items():
        if first.get(clock, start) < start:
            raise UsageError(
                f"a start, {clock} {start}, is after an end, {clock} {first[clock]}: they do not "
                "belong together"
            )
    with graph.lock:
        for here, start in last.items():
            for there, end in first.items():
                if here != there:
                    graph.state.orders.add(here, there, _row(start), _row(end), 0)


def _row(ts: int) -> Values:
    return np.array([ts], dtype=np.int64)


def _by_clock(graph: Graph, sides: Iterable[ClockTimes], name: str) -> dict[ClockId, Values]:
    """The timestamps of some starts or ends, by clock."""
    if not isinstance(sides, Iterable):
        raise UsageError(f"{name} are a list of (timestamps, clock), not {sides!r}")
    found: dict[ClockId, list[Values]] = {}
    for side in sides:
        given, clock = _side(graph, side, f"each of {name}")
        if len(given.values):
            found.setdefault(clock, []).append(given.values)
    return {clock: np.concatenate(parts) for clock, parts in found.items()}


def _check_unwrapped(graph: Graph, *clocks: ClockId) -> None:
    for clock in clocks:
        # One that was not declared has 64 bits.
        declared = graph.state.domains.get(clock)
        bits = 64 if declared is None else declared.valid_bits
        if modulus_of(bits, 1) is not None:
            raise UsageError(
                f"{clock} wraps, for it has {bits} bits: which wrap an order belongs to is open; "
                "unwrap its readings, and declare it with 64 bits"
            )


def _side(graph: Graph, side: ClockTimes, name: str) -> tuple[Given, ClockId]:
    if not (isinstance(side, (tuple, list)) and len(side) == 2):
        raise UsageError(f"{name} is (timestamps, clock), not {side!r}")
    clock = _clock(graph, side[1])
    return _whole(readings(graph, side[0], clock), name), clock


def _clock(graph: Graph, given: ClockLike) -> ClockId:
    """The clock that a caller adds readings of; its name is kept."""
    clock = clock_named(graph, given)
    with graph.lock:
        graph.state.take_names(given)
    return clock


def _whole(given: Given, name: str) -> Given:
    if given.missing is not None:
        raise UsageError(f"there are nulls among the timestamps of {name}: leave them out")
    return given


def _check_lengths(sides: list[tuple[str, Given]]) -> None:
    name, one = sides[0]
    for there, other in sides[1:]:
        if one.scalar != other.scalar or len(one.values) != len(other.values):
            sizes = ("one" if g.scalar else f"an array of {len(g.values)}" for g in (one, other))
            here, and_there = sizes
            raise UsageError(
                f"{name} has {here} and {there} {and_there}: an order takes one timestamp of each"
            )


def _delays(given: Times, n: int, name: str) -> Values | int:
    """Delays as whole ns: one, or an array of its own."""
    try:
        delays = _whole(take(given), name)
        if delays.is_wall:
            raise UsageError("timestamps are whole numbers of ns")
    except UsageError as error:
        raise UsageError(f"{name}: {error}".replace("timestamps", "delays")) from None
    if not delays.scalar and len(delays.values) != n:
        raise UsageError(f"{name} has {len(delays.values)} delays for {n} orders")
    off = (delays.values < 0) | (delays.values > LONGEST_NS)
    if off.any():
        raise UsageError(f"{name} {delays.values[off][0]}: a delay is from 0 ns to a year")
    return delays.values.item() if delays.scalar else delays.values.copy()


def _one(delays: Values | int, index: int) -> int:
    return delays if isinstance(delays, int) else int(delays[index])
