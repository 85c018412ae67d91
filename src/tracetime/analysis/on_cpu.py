"""Which threads were on a CPU when they wrote an event, by the scheduler's events.

A thread writes the events of its own track while it runs. Where the scheduler's events are on the
same time as they are, a thread is on a CPU then; by another clock it is so by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import AS_IS
from tracetime.graph.values import Mask, Values, ascending
from tracetime.trace.event_clocks import ClockNumbers, run_starts
from tracetime.trace.events_table import HAS_CPU, HAS_TID, TYPES, Columns
from tracetime.trace.trace import Trace

_MARGIN_NS: Final = 50_000
"""Switches and events are stamped at different places of the same moment."""
_MOST: Final = 1 << 14
"""So many events of a sequence are looked at."""
_SAMPLE: Final = 128
"""From so many events the shift is guessed."""
_BIN_NS: Final = 200_000
_GUESSES: Final = 8
_EXPLAINED: Final = 0.9
"""A shift that explains fewer events is none."""
_OF_THREADS: Final = ("slice_begin", "slice_end")
_SWITCH: Final = b"sched_switch"


class OnCpu(NamedTuple):
    """How many events of a sequence a running thread wrote.

    Attributes:
        sequence, clock: of the packets, and the number of the clock they were read in.
        events: that the scheduler's events say anything of.
        running: how many of them have a thread that was on a CPU.
        elsewhere: how many at most at other times of the trace: what chance makes.
        by_chance: the share of them that would run if they were anywhere.
        shift_ns: by how much the scheduler's events are later where most threads run; None where
            there is no such shift.
        packet: of the first event.
        apart: when the scheduler's events end, and the first of these, where they all are later;
            else None.
    """

    sequence: int
    clock: int
    events: int
    running: int
    elsewhere: int
    by_chance: float
    shift_ns: int | None
    packet: int
    apart: tuple[int, int] | None = None


class _Runs(NamedTuple):
    """When threads ran, by thread and then by time; `key` orders both.

    Attributes:
        tid, begin, end: int64[n].
        low, high: between which times all CPUs are known.
    """

    tid: Values
    begin: Values
    end: Values
    low: int
    high: int


def on_cpu(trace: Trace, clocks: Sequence[ClockId]) -> list[OnCpu]:
    """Read a trace, and count the events of each sequence whose thread was on a CPU.

    clocks: by number.
    """
    numbers = ClockNumbers(clocks, trace.machines)
    switches: list[Values] = []
    events: list[Values] = []
    codes = [TYPES.index(name) for name in _OF_THREADS]
    kinds = {kind.name: code for code, kind in enumerate(trace.vocabulary.kinds)}
    for columns in trace.columns(names=True):
        placed = columns["status"] <= AS_IS
        has = columns["has"]
        named = placed & (has & HAS_TID > 0)
        to, away = _switches(columns, named & (has & HAS_CPU > 0), kinds)
        rows = np.flatnonzero(to | away)
        cpu = 2 * columns["cpu"][rows].astype(np.int64) + away[rows]
        switches.append(
            np.array([cpu, columns["trace_time"][rows], columns["tid"][rows]], np.int64)
        )
        rows = np.flatnonzero(named & np.isin(columns["type"], codes))
        chosen = {name: columns[name][rows] for name in ("clock", "sequence", "machine")}
        events.append(
            np.array(
                [
                    columns["packet_sequence"][rows],
                    numbers.of_rows(chosen),
                    columns["tid"][rows],
                    columns["trace_time"][rows],
                    columns["packet"][rows],
                ],
                np.int64,
            )
        )
    every = np.concatenate([np.empty((3, 0), dtype=np.int64), *switches], axis=1)
    return list(_by_sequence(_runs(every), np.concatenate(events, axis=1))) if events else []


def _switches(columns: Columns, kept: Mask, kinds: dict[str, int]) -> tuple[Mask, Mask]:
    """Which rows are switches to their thread, and which are switches away from it.

    Those of compact_sched have the next thread; an event of ftrace has the thread that wrote it.
    """
    to = kept & (columns["kind"] == kinds["sched_switch"])
    events = kept & (columns["kind"] == kinds["ftrace_event"])
    text, ends = columns["name:text"].tobytes(), columns["name:ends"].tolist()
    codes = [k for k, (a, b) in enumerate(pairwise([0, *ends])) if text[a:b] == _SWITCH]
    return to, events & np.isin(columns["name"], codes)


def _runs(switches: Values) -> _Runs:
    """The runs between switches of one CPU that follow each other; its number is doubled, and odd
    where the switches are away from the thread."""
    cpu, time, tid = switches[:, np.lexsort((switches[1], switches[0]))]
    same = np.flatnonzero(cpu[1:] == cpu[:-1])
    if not len(same):
        return _Runs(tid[:0], tid[:0], tid[:0], 0, 0)
    ends = np.flatnonzero(np.append(cpu[1:] != cpu[:-1], True))
    low, high = int(time[np.append(0, ends[:-1] + 1)].max()), int(time[ends].min())
    tid = tid[same + (cpu[same] & 1)]
    tid, begin, end = (column[tid > 0] for column in (tid, time[same], time[same + 1]))
    order = np.lexsort((begin, tid))
    return _Runs(tid[order], begin[order], end[order], low, high)


def _by_sequence(runs: _Runs, events: Values) -> Iterator[OnCpu]:
    known = np.isin(events[2], runs.tid)
    events = events[:, known]
    pairs = events[:2, np.lexsort((events[1], events[0]))]
    # Not by np.unique, which imports masked arrays.
    for sequence, clock in pairs[:, run_starts(*pairs)].T.tolist():
        own = events[:, (events[0] == sequence) & (events[1] == clock)][:, :_MOST]
        tid, at = own[2], own[3]
        inside = (at >= runs.low) & (at < runs.high)
        if not inside.any():
            if len(runs.tid) and runs.high <= at.min():
                apart = runs.high, int(at.min())
                shift, packet = _shift(runs, tid, at), int(own[4].min())
                yield OnCpu(sequence, clock, len(at), 0, 0, 0.0, shift, packet, apart)
            continue
        n = int(np.count_nonzero(inside))
        running = int(np.count_nonzero(_running(runs, tid[inside], at[inside])))
        others = [_share(runs, tid, at + shift) for shift in _elsewhere(runs)]
        yield OnCpu(
            sequence,
            clock,
            n,
            running,
            int(n * max(others, default=0.0)),
            _by_chance(runs, tid[inside]),
            _shift(runs, tid, at),
            int(own[4].min()),
        )


def _running(runs: _Runs, tid: Values, at: Values) -> Mask:
    """Which threads ran at some times, or about then."""
    order = np.lexsort((at, tid))
    # The last run that began by then, of the same thread.
    place = _last_before(runs, tid[order], at[order] + _MARGIN_NS)
    found = np.zeros(len(at), dtype=bool)
    there = place >= 0
    ours = place[there]
    found[order[there]] = (runs.tid[ours] == tid[order][there]) & (
        at[order][there] < runs.end[ours] + _MARGIN_NS
    )
    return found


def _last_before(runs: _Runs, tid: Values, at: Values) -> Values:
    """The last run of a thread, or of one before it, that began by some time; -1 for none."""
    every = np.lexsort(
        (
            np.append(np.zeros(len(runs.tid)), np.ones(len(tid))),
            np.append(runs.begin, at),
            np.append(runs.tid, tid),
        )
    )
    is_run = every < len(runs.tid)
    so_far = np.cumsum(is_run) - 1
    result = np.empty(len(tid), dtype=np.int64)
    result[every[~is_run] - len(runs.tid)] = so_far[~is_run]
    return result


def _share(runs: _Runs, tid: Values, at: Values) -> float:
    inside = (at >= runs.low) & (at < runs.high)
    n = np.count_nonzero(inside)
    if n < len(at) // 4 or not n:
        return 0.0
    return float(np.count_nonzero(_running(runs, tid[inside], at[inside])) / n)


def _elsewhere(runs: _Runs) -> Iterator[int]:
    """Shifts that are longer than a thread runs at once, and leave most of the trace."""
    length = runs.high - runs.low
    for part in range(3, 15):
        yield int(length * part / 31)
        yield -int(length * part / 29)


def _by_chance(runs: _Runs, tid: Values) -> float:
    """The share of events of some threads that chance puts into a run."""
    length = max(1, runs.high - runs.low)
    threads = ascending(runs.tid)
    where = np.searchsorted(threads, runs.tid)
    busy = np.bincount(where, weights=(runs.end - runs.begin + 2 * _MARGIN_NS).astype(np.float64))
    return float(np.minimum(busy / length, 1.0)[np.searchsorted(threads, tid)].mean())


def _shift(runs: _Runs, tid: Values, at: Values) -> int | None:
    """By how much later threads run than they write events; None where no shift explains it."""
    sample = ascending(np.linspace(0, len(at) - 1, min(_SAMPLE, len(at))).astype(np.int64))
    apart = np.sort(np.concatenate([runs.begin[runs.tid == tid[k]] - at[k] for k in sample]))
    # Most of them are alike where every event is as long after its run began.
    ends = np.searchsorted(apart, apart + _BIN_NS)
    counts = ends - np.arange(len(apart))
    best, share = None, _EXPLAINED
    for guess in np.argsort(-counts, kind="stable")[:_GUESSES].tolist():
        by = int(np.median(apart[guess : ends[guess]]))
        found = _share(runs, tid, at + by)
        if found > share:
            best, share = by, found
    return best
