"""A finding about threads that write events while the scheduler has them off the CPU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from tracetime.analysis.file_order import NEVER_NS
from tracetime.analysis.on_cpu import OnCpu, on_cpu
from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.text import duration

_FEW: Final = 20
"""Fewer events that chance would put off the CPU say nothing."""
_APART_NS: Final = 1_000_000
"""A smaller shift does not explain it."""
_SAME: Final = 0.02
"""A shift that is so near to an offset between clocks is that."""


def off_cpu(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each sequence whose threads ran as chance has it.

    Only of a trace that has both slices of threads and the scheduler's events: it is read again.
    """
    # A table of such a trace has its payloads, too.
    is_perfetto = survey.trace.perfetto_reads == "packets"
    if not is_perfetto or not {"track_event", "ftrace_events"} <= survey.payloads:
        return
    for one in on_cpu(survey.trace, survey.clocks):
        if one.apart is not None:
            yield from _ended(survey, one, *one.apart)
            continue
        n, p = one.events, one.by_chance
        # Begins and ends go together: half as many are independent.
        by_chance = one.running <= min(one.elsewhere, n * p + math.sqrt(2 * n * p * (1 - p)))
        shifted = abs(one.shift_ns or 0) > _APART_NS and 2 * one.running < n
        if n * (1 - p) >= _FEW and (by_chance or shifted):
            yield _told(survey, one)


def _ended(survey: Survey, one: OnCpu, until_ns: int, first_ns: int) -> Iterator[Finding]:
    """Yield a finding where the scheduler's events end before all snapshots, and so before these.

    What ftrace had from before the recording goes on in it, on one clock.
    """
    if one.events >= _FEW and until_ns < survey.file_order.after[0] < NEVER_NS:
        clock = survey.clocks[one.clock]
        yield finding(
            "threads-off-cpu",
            "info",
            clocks=(clock,) if clock.clock else (),
            packets=(one.packet,),
            events=one.events,
            worst_ns=abs(one.shift_ns or first_ns - until_ns),
            selections=[EventSelection(clock, sequence=one.sequence)],
            parts=("ended", "ended_why", *(["apart", "shifted"] if one.shift_ns else [])),
            sequence=one.sequence,
            gap=duration(first_ns - until_ns),
            size=duration(abs(one.shift_ns or 0)),
            side="later",
        )


def _told(survey: Survey, one: OnCpu) -> Finding:
    clock, shift = survey.clocks[one.clock], one.shift_ns or 0
    is_shift = abs(shift) > _APART_NS
    others = _others(survey, shift) if is_shift else []
    return finding(
        "threads-off-cpu",
        clocks=(clock,) if clock.clock else (),
        packets=(one.packet,),
        events=one.events,
        worst_ns=abs(shift) if is_shift else None,
        selections=[EventSelection(clock, sequence=one.sequence)],
        parts=(
            *(["apart", "shifted"] * is_shift),
            *(["matches"] if others else []),
            "ran",
            "ran_why",
        ),
        off=f"{one.events - one.running:,}",
        sequence=one.sequence,
        running=one.running,
        size=duration(abs(shift)),
        side="later" if shift < 0 else "earlier",
        others=" or ".join(others),
    )


def _others(survey: Survey, shift_ns: int) -> list[str]:
    """The clocks that are as far from the trace clock."""
    home, found = survey.trace_clock, []
    for other in survey.infos:
        _, own, there = survey.together(home, other)
        if len(own) and abs(int(there[0]) - int(own[0]) - shift_ns) <= _SAME * abs(shift_ns):
            found.append(str(other))
    return found[:2]
