"""Findings about what a trace's snapshots hold, and how they are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import compress
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.families import COARSE, NEVER_SET
from tracetime.clocks.ids import BUILTIN_IDS, FIRST_GLOBAL_CLOCK, FIRST_HASHED_CLOCK, ClockId
from tracetime.doctor.finding import Finding, count, duration, first_packets, names
from tracetime.graph.tube.policy import Inconsistency
from tracetime.trace import SnapshotFault

_REALTIME: Final = BUILTIN_IDS["REALTIME"]
_NEVER_BACK: Final = (
    "The kernel never sets this clock back: look where the readings come from, write snapshots in "
    "the order in which they were taken, and keep recordings apart."
)
_LONG_PATH: Final = 3
_CUT_OFF: Final = "is cut off"

# That a RemoteClockSync ties a clock to itself follows of where trace time is: see
# `trace_clock.py`.
_FAULTS: Final = {
    1: (
        "incremental-clock-not-of-a-sequence",
        "{clock} is incremental, and belongs to no sequence",
        "Deltas add up per packet sequence, so only clocks 64 to 127 can be incremental.",
        "Use a clock from 64 to 127 for deltas.",
    ),
    2: (
        "clock-properties-changed",
        "{clock} changed its unit or its incremental flag between snapshots",
        "A clock's unit_multiplier_ns and is_incremental are those of its first snapshot. A "
        "snapshot that says otherwise is not taken whole.",
        "Give a clock the same properties in every snapshot, and another clock another number.",
    ),
    3: (
        "trace-clock-unit",
        "{clock} is the trace clock, and does not count nanoseconds",
        "Trace time is in nanoseconds; snapshots in which it has another unit are not taken whole.",
        "Leave out unit_multiplier_ns for the trace clock, or name another primary_trace_clock.",
    ),
    4: (
        "clock-twice-in-snapshot",
        "{clock} stands twice in a snapshot",
        "A snapshot says once what each clock read. What contradicts itself is not taken whole.",
        "Write each clock once; on a sequence, the same number twice is the same clock.",
    ),
    5: (
        "trace-clock-ran-backwards",
        "{clock} is the trace clock, and went backwards",
        "Trace time only goes forward: a snapshot in which it falls is not taken whole, and what "
        "comes after is placed by the one before the fall. The clock was set back, recordings were "
        "joined, or one reading was far too high.",
        "Use BOOTTIME or MONOTONIC as primary_trace_clock, and keep recordings apart.",
    ),
    6: (
        "reading-overflow",
        "a reading of {clock} does not fit in int64 nanoseconds",
        "The reading times its unit leaves int64: it is corrupt, or the unit is wrong.",
        "Check the reading and unit_multiplier_ns of the clock.",
    ),
}


def structure(survey: Survey) -> Iterator[Finding]:
    """Snapshots not taken whole, ids, paths, what is missing."""
    yield from _faults(survey)
    yield from _ad_hoc(survey)
    yield from _late_trace_clock(survey)
    yield from _disagreements(survey)
    yield from _long_paths(survey)
    yield from _missing(survey)
    yield from _unsynchronised(survey)
    yield from _coarse(survey)
    yield from _truncated(survey)


def _faults(survey: Survey) -> Iterator[Finding]:
    by_kind: dict[tuple[int, int, int], list[SnapshotFault]] = defaultdict(list)
    faults = [one for one in survey.trace.faults if one.fault in _FAULTS]
    for one in faults:
        by_kind[one.fault, one.clock.clock, one.clock.machine].append(one)
    not_kept = survey.trace.n_warnings - survey.trace.n_own_syncs - len(faults)
    for (fault, *_), found in by_kind.items():
        code, title, why, fix = _FAULTS[fault]
        clocks = tuple(sorted({one.clock for one in found}))
        # Of several kinds nothing tells which the others were of.
        more = not_kept if len(by_kind) == 1 else 0
        least = "at least " if not_kept > more else ""
        lost = f"{least}{count(len(found) + more, 'snapshot')} lost"
        packets = [one.packet for one in found]
        fell_by_ns = max(one.fell_by_ns for one in found)
        placed = 0
        if fell_by_ns > survey.tolerance_ns:
            placed = survey.count_placed(_falls_on(survey, clocks[0], packets, more=bool(not_kept)))
        by = f" by {'up to ' if len(found) > 1 else ''}{duration(fell_by_ns)}" if fell_by_ns else ""
        if code == "trace-clock-ran-backwards" and clocks[0].clock in NEVER_SET:
            fix = _NEVER_BACK
        yield Finding(
            code, "error" if placed else "warning",
            f"{title.format(clock=names(clocks, 1))}{by}: {lost}",
            clocks, first_packets(packets),
            placed or sum(survey.lost.get(clock, 0) for clock in clocks), fell_by_ns or None, why,
            fix,
        )  # fmt: skip


def _falls_on(
    survey: Survey, clock: ClockId, packets: list[int], *, more: bool
) -> list[tuple[int, int | None]]:
    """Spans of packets from one lost snapshot to the next, with none between that was taken.

    What stands there is placed by a snapshot from before the fall. None: to the end, where several
    were lost and none was taken behind them.
    """
    partner = survey.partner(clock)
    numbers = () if partner is None else survey.together(clock, partner)[0]
    taken = np.setdiff1d(survey.packets_of(numbers), packets)
    before = np.searchsorted(taken, packets)
    spans: list[tuple[int, int | None]] = [
        (packets[k], packets[k + 1]) for k in np.flatnonzero(before[:-1] == before[1:]).tolist()
    ]
    if len(packets) > 1 and (more or before[-1] == len(taken)):
        spans.append((packets[-1], None))
    return spans


def _ad_hoc(survey: Survey) -> Iterator[Finding]:
    is_one = [FIRST_GLOBAL_CLOCK <= clock.clock < FIRST_HASHED_CLOCK for clock in survey.clocks]
    clocks = sorted(compress(survey.clocks, is_one), key=ClockId.order)
    if clocks:
        told = survey.counted
        ours = np.array(is_one)[told.clock]
        events = int(told.events[ours].sum())
        yield Finding(
            "ad-hoc-clock-id",
            "warning",
            f"{names(clocks)}: a global clock by a number that anyone may choose",
            tuple(clocks), first_packets(told.first_packet[ours]), events, None,
            "Clocks of 128 and above are seen by every sequence of the trace. Two producers that "
            "choose the same small number overwrite each other's clock, and nothing tells.",
            "Use the hash of a name, which has the top bit set: tracetime.clock_id(NAME).",
        )  # fmt: skip


def _late_trace_clock(survey: Survey) -> Iterator[Finding]:
    late = survey.trace.late_trace_clock
    if late is not None:
        packet, clock = late
        yield Finding(
            "trace-clock-changed-late",
            "warning",
            f"{clock} is named as primary_trace_clock too late: it stays {survey.trace_clock}",
            (clock, survey.trace_clock), (packet,), 0, None,
            "The trace clock is settled by the first conversion: events before that snapshot had "
            "been brought to another one already, and Perfetto does not go back.",
            "Write the snapshot with primary_trace_clock before the first event of the trace.",
        )  # fmt: skip


def _disagreements(survey: Survey) -> Iterator[Finding]:
    loops: dict[frozenset[ClockId], Inconsistency] = {}
    for found in survey.inconsistencies:
        loop = frozenset((found.src, found.dst, *found.via))
        if loop not in loops or loops[loop].gap_ns < found.gap_ns:
            loops[loop] = found
    for found in loops.values():
        worst = found.gap_ns > survey.tolerance_ns
        over = ", ".join(map(str, found.via))
        # What is read in the trace clock is not converted.
        ends = {found.src, found.dst} - {survey.trace_clock}
        events = sum(survey.used.get(clock, 0) for clock in ends)
        packets = survey.packets_of(survey.nearest(found.src, found.dst, found.at_ns))
        yield Finding(
            "paths-disagree",
            "warning" if worst and events else "info",
            f"{found.src} to {found.dst}: directly and over {over} differ by "
            f"{duration(found.gap_ns)} at least",
            tuple(sorted((found.src, found.dst, *found.via))), first_packets(packets), events,
            found.gap_ns,
            "Different snapshots tie these clocks together, and contradict each other beyond what "
            "drift within the limits and the width of the readings can explain.",
            "Find the snapshot that is wrong (`tracetime report` draws them), or say that its "
            "readings are less exact: `--assume-half-width`.",
        )  # fmt: skip


def _long_paths(survey: Survey) -> Iterator[Finding]:
    far = survey.ways.hops >= _LONG_PATH
    for clock in compress(survey.infos, far.tolist()):
        path = survey.path(clock) if clock in survey.used else None
        if path is not None:
            yield Finding(
                "long-path",
                "info",
                f"{clock} reaches {survey.trace_clock} in {len(path) - 1} hops: "
                + " -> ".join(map(str, path)),
                tuple(path), first_packets(group.first_packet for group in survey.groups_of(clock)),
                survey.used[clock], None,
                "Each hop adds the error of a snapshot and of the drift since it; beyond 4 hops "
                "Perfetto gives up.",
                f"Take snapshots that hold {path[0]} and {path[-1]} together.",
            )  # fmt: skip


def _missing(survey: Survey) -> Iterator[Finding]:
    if not survey.has_snapshots:
        named = [clock for clock in survey.used if clock.clock]
        events = sum(survey.used.values())
        yield Finding(
            "no-snapshots",
            "info",
            "no clock snapshots: timestamps are taken as they stand",
            (), (), events, None,
            "Nothing says what the clocks of this trace read together. Events "
            + ("that name a clock cannot be placed." if named else "name no clock: one is enough."),
            "To line the trace up with anything else, record ClockSnapshots.",
        )  # fmt: skip
    elif not _has_realtime(survey):
        yield Finding(
            "no-realtime",
            "info",
            "no snapshot has REALTIME: when this was, in days and hours, is unknown",
            (), (), 0, None,
            "The trace's events line up with each other, but not with logs or other traces by date "
            "and time.",
            "Put REALTIME into the snapshots.",
        )  # fmt: skip


def _has_realtime(survey: Survey) -> bool:
    return any(clock.clock == _REALTIME for clock in survey.infos)


def _unsynchronised(survey: Survey) -> Iterator[Finding]:
    if survey.trace.is_unsynchronised and _has_realtime(survey):
        yield Finding(
            "realtime-unsynchronised",
            "info",
            "REALTIME was not synchronised when this was recorded",
            (ClockId(_REALTIME),), (), survey.used.get(ClockId(_REALTIME), 0), None,
            "The kernel said that nothing (NTP, PTP) keeps its time right. Events line up with each"
            " other all the same, but not with other machines by date and time.",
            "Start chrony, ntpd or systemd-timesyncd before recording.",
        )  # fmt: skip


def _coarse(survey: Survey) -> Iterator[Finding]:
    clocks = sorted(c for c in survey.used if c.clock in COARSE and survey.used[c])
    if clocks:
        tick_ns = max(map(survey.tick_ns, clocks))
        yield Finding(
            "coarse-clock",
            "info",
            f"{names(clocks)}: events are good to the kernel's tick only, {duration(tick_ns)}",
            tuple(clocks), (), sum(survey.used[c] for c in clocks), tick_ns,
            "The COARSE clocks say what time it was at the kernel's last tick.",
            "Where order matters, time events with MONOTONIC or BOOTTIME: 20 ns more a reading.",
        )  # fmt: skip
    shown = {
        clock: shown_ns
        for clock in sorted(filter(survey.may_show_tick, survey.used), key=ClockId.order)
        if survey.used[clock] and clock.clock not in COARSE
        if (shown_ns := survey.shown_tick_ns(clock)) is not None
    }
    if shown:
        most_ns = round(max(shown.values()))
        yield Finding(
            "coarse-clock",
            "info",
            f"{names(shown)}: events are good to a tick only, {duration(most_ns)}",
            tuple(shown), (), sum(survey.used[c] for c in shown), most_ns,
            "Its readings are whole multiples of that: it is read, or written, no finer.",
            "Where order matters, time events with a clock that counts ns. `--policy tube` gives a "
            "bar that holds the tick.",
        )  # fmt: skip


def _truncated(survey: Survey) -> Iterator[Finding]:
    error = survey.trace.truncated
    if error is not None and "sequence-scoped clock" in error.message:
        yield Finding(
            "sequence-clock-without-sequence",
            "error",
            f"the trace cannot be imported: {error}",
            (), () if error.packet is None else (error.packet,), 0, None,
            "Clocks 64 to 127 belong to the packet sequence they are used on. This packet has no "
            "trusted_packet_sequence_id, and Perfetto reads no further.",
            "Write trusted_packet_sequence_id into the packets and into the snapshot of the clock, "
            "or use a clock of 128 or above, which every sequence sees.",
        )  # fmt: skip
    elif error is not None:
        yield Finding(
            "trace-truncated",
            "error",
            str(error) if _CUT_OFF in error.message else f"the trace cannot be read on: {error}",
            (), () if error.packet is None else (error.packet,), 0, None,
            "What follows that place cannot be read.",
            "Let the recorder flush before it ends; copy the file again.",
        )  # fmt: skip
