"""Findings about several machines in a trace; their checks: `machines.py`, `trace_clock.py`,
`lost_events.py`."""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Row

_EVENT_FIRST: Final = (
    "Of each other machine, write a RemoteClockSync and then an event ahead of its first "
    "ClockSnapshot: a machine that has had events moves trace time no more. Or convert each "
    "machine's trace alone."
)

ROWS: Final = (
    Row(
        "machine-not-synchronised",
        "error",
        "Nothing ties the clocks of a machine to the trace clock.",
        otherwise="warning where all its events have a trace time all the same",
        title="machine {machine}: nothing ties its clocks to {trace_clock}",
        why="{host_why}{other_why}",
        fix="{host_fix}{other_fix}",
        parts={
            "host_why": (
                "The clocks of another machine are other clocks, whatever they are called. They "
                "are tied to those of the trace clock's machine by RemoteClockSync packets, and "
                "there are none: Perfetto takes the REALTIME of both to be one, or else their "
                "BOOTTIME, and drops what leads to neither. Nobody read that, so --policy tube "
                "gives these events no time."
            ),
            "host_fix": (
                "Record with a relay (traced_relay) that sends RemoteClockSync, or convert each "
                "machine's trace alone."
            ),
            "other_why": (
                "The trace clock is machine {trace_machine}'s: a snapshot of that machine made it "
                "so. RemoteClockSync ties the machine that it comes from to the trace clock's, so "
                "one from there ties nothing, and what led to the trace clock before does no more."
            ),
            "other_fix": _EVENT_FIRST,
        },
    ),
    Row(
        "machine-sync-unusable",
        "warning",
        "Readings that machines exchanged contradict the order they were taken in.",
        otherwise="error where nothing else bounds the clocks of events",
        title="machine {machine}: {unused:,} of {bounds} on its clocks make no sense",
        why=(
            "The rounds of a RemoteClockSync are read in turn, on the client, on the host, on the "
            "client, on the host. Here a clock fell from one round to the next or stood still, so "
            "what was read between two of its readings is unknown. Perfetto takes the mean all the "
            "same; error bars leave these rounds out{no_others}."
        ),
        fix="Look at what writes RemoteClockSync: each round has to read every clock anew.",
        parts={"no_others": ", and there are no others"},
    ),
    Row(
        "round-trip-limits",
        "info",
        "How long messages take limits how well another machine's clocks are known.",
        otherwise="warning where it is more than the tolerance",
        title=(
            "machine {machine}: the round trip of messages limits how well its clocks are known, "
            "not drift: {theirs} to {worst} either way"
        ),
        why=(
            "A message tells that one clock was read between two readings of the other, and not "
            "where in between: how long each way took, nothing says. Halving the round trip is a "
            "guess, off by half of it where the ways differ most."
        ),
        fix=(
            "More messages help as far as some of them are quicker. For better, keep the link "
            "quiet while they are exchanged, or let PTP discipline both clocks."
        ),
    ),
    Row(
        "trace-clock-moved",
        "warning",
        "Trace time became another machine's clock.",
        otherwise=(
            "error where events are known to be misplaced by more than the tolerance, or are lost "
            "by it"
        ),
        title="trace time moved{often} from {first} to {now}{in_the_end}{unknown}{known}",
        why=(
            "A machine's snapshots make its own clock the trace clock until it has had an event. "
            "What was placed by then keeps the time of the clock from before.{stray}"
        ),
        fix=_EVENT_FIRST,
        parts={
            "often": " {times:,} times,",
            "in_the_end": " in the end",
            "unknown": ": {events} from before in another clock's time",
            "known": ": {events} from before off by up to {worst}",
            "stray": (
                " {readings} of the host taken for those of machine {machine}: one from there ties "
                "a clock to itself, one of another machine's is off by what the two clocks differ."
            ),
        },
    ),
)
