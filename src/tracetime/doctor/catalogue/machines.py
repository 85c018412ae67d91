"""Findings about several machines in a trace.

The checks are in `machines.py` and `lost_events.py`.
"""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Row

_EVENT_FIRST: Final = (
    "For each other machine, write a RemoteClockSync and then an event before its first "
    "ClockSnapshot: the snapshots of a machine that has an event do not change the trace clock. "
    "Or convert each machine's trace alone."
)

ROWS: Final = (
    Row(
        "machine-not-synchronised",
        {
            "error": "",
            "warning": (
                "where all its events have a trace time nevertheless, or the tube places them in a "
                "format that Perfetto does not read"
            ),
        },
        "Nothing relates the clocks of a machine to the trace clock.",
        title="machine {machine}: {nothing}{messages_only} its clocks to {trace_clock}",
        why="{host_why}{other_why}{apart_why}",
        fix="{host_fix}{other_fix}{apart_fix}",
        parts={
            "nothing": "nothing relates",
            "messages_only": "messages alone relate",
            "no_time": ", so `--policy tube` gives these events no time.",
            "by_messages": (
                "; messages between the machines relate them, so `--policy tube` places these "
                "events by the messages."
            ),
            "beyond_limits": (
                "; messages between the machines relate them, but over so many hops from clock to "
                "clock that `--policy tube` refuses the trace."
            ),
            "use_messages": " Or convert with `--policy tube --orders flows`.",
            "try_messages": (
                " Or, where events of one flow are on both machines, let them relate the clocks: "
                "`--policy tube --orders flows`."
            ),
            "host_why": (
                "The clocks of two machines are different clocks, even under the same name. Only "
                "RemoteClockSync packets relate them, and there are none. Perfetto assumes that "
                "the REALTIME clocks of both are one clock, or else their BOOTTIME clocks, and "
                "drops events that reach neither. No reading supports this{no_time}{by_messages}"
                "{beyond_limits}"
            ),
            "host_fix": (
                "Record with a relay (traced_relay) that sends RemoteClockSync, or convert each "
                "machine's trace alone.{use_messages}{try_messages}"
            ),
            "other_why": (
                "The trace clock is machine {trace_machine}'s, because of a snapshot of that "
                "machine. RemoteClockSync relates the machine that sends it to the trace clock's "
                "machine, so one from that machine relates nothing, and paths to the earlier trace "
                "clock no longer count."
            ),
            "other_fix": _EVENT_FIRST,
            "apart_why": (
                "The clocks of two machines are different clocks, even under the same name, and no "
                "snapshot of this file reads both{no_time}{by_messages}{beyond_limits}"
            ),
            "by_more_tubes": "convert with `--policy tube` and a higher limit (`--max-tubes`)",
            "by_tube": "convert with `--policy tube`",
            "by_matching": ("match messages that both machines recorded (`--orders flows`)"),
            "apart_fix": (
                "Read events of one machine alone, or {by_tube}{by_more_tubes}{by_matching}."
            ),
        },
    ),
    Row(
        "machine-sync-unusable",
        {"warning": "", "error": "where nothing else bounds the clocks of events"},
        "Readings that machines exchanged contradict the order in which they were taken.",
        title="machine {machine}: {unused:,} of {bounds} on its clocks are contradictory",
        why=(
            "In each round of a RemoteClockSync, the client and the host read their clocks in "
            "turn. Here a clock went backwards or stood still from one round to the next, so the "
            "readings between are not bounded. Perfetto uses their mean nevertheless; error bars "
            "ignore these rounds{no_others}."
        ),
        fix="Check the program that writes RemoteClockSync: it has to read every clock each round.",
        parts={"no_others": ", and there are no others"},
    ),
    Row(
        "round-trip-limits",
        {"info": "", "warning": "beyond the tolerance"},
        "The round-trip time of messages limits how well another machine's clocks are known.",
        title=(
            "machine {machine}: the round trip of messages, not drift, limits how well its clocks "
            "are known: {theirs} to {worst} either way"
        ),
        why=(
            "A message shows that one clock was read between two readings of the other. How long "
            "each way took is unknown: half the round trip is an estimate, off by up to half of it."
        ),
        fix=(
            "Exchange more messages: the fastest ones decide. For a better result, keep the link "
            "quiet meanwhile, or synchronise both clocks by PTP."
        ),
    ),
    Row(
        "trace-clock-moved",
        {
            "warning": "",
            "error": (
                "where events are known to be misplaced by more than the tolerance, or are lost "
                "because of it"
            ),
        },
        "The trace clock changed to another machine's clock.",
        title=("the trace clock changed{often} from {first} to {now}{in_the_end}{unknown}{known}"),
        why=(
            "The snapshots of a machine make its own clock the trace clock until the machine has "
            "an event. Events converted before that keep their time on the earlier trace clock."
            "{stray}"
        ),
        fix=_EVENT_FIRST,
        parts={
            "often": " {times:,} times,",
            "in_the_end": " in the end",
            "unknown": ": {events} converted to an earlier trace clock",
            "known": ": {events} from before off by up to {worst}",
            "stray": (
                " Perfetto takes {readings} of the host for those of machine {machine}: one sent "
                "by that machine relates a clock to itself, one sent by another machine is off by "
                "the difference of the two clocks."
            ),
        },
    ),
)
