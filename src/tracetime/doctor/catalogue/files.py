"""Findings about the file: the recordings in it, and what it lacks.

The checks are in `recordings.py`, `exchanges.py`, `structure.py` and the room's `__init__.py`;
notes make the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import NOTED, Kind, Row
from tracetime.doctor.finding import Severity

_BY_EVENTS: Final[Mapping[Severity, str]] = {
    "warning": "",
    "error": "where events are lost or misplaced because of it",
}

_FLOOR: Final = ("floor", "why_floor", "fix_floor")

ROWS: Final = (
    Row(
        "boottime-below-monotonic",
        {"warning": "", "error": "where events or a suspend show that the two are exchanged"},
        "BOOTTIME is below MONOTONIC by more than reading one after the other explains.",
        title="{boottime} is below {monotonic} by {worst}{exchanged}",
        why=(
            "BOOTTIME is MONOTONIC plus the time spent in suspend, so it is never less. {by_events}"
            "{by_both}{by_sleep}{unknown}"
        ),
        fix=(
            "Write each reading under the number of its clock. If the trace was recorded in a time "
            "namespace, record outside of it, or treat its clocks as those of another machine."
        ),
        parts={
            "exchanged": ": they are exchanged",
            "by_events": (
                "The two are exchanged: the events of each match the readings of the other."
            ),
            "by_both": (
                "The two are exchanged: the events of each match the readings of the other, and "
                "MONOTONIC advanced while BOOTTIME stood still."
            ),
            "by_sleep": ("The two are exchanged: MONOTONIC advanced while BOOTTIME stood still."),
            "unknown": (
                "Either the two are exchanged, or the trace was recorded in a time namespace (a "
                "container), which shifts both clocks by any amount."
            ),
        },
    ),
    Row(
        "clocks-exchanged",
        _BY_EVENTS,
        "Two clocks are written under each other's numbers, in some snapshots or in all.",
        title="{clock} and {other} are exchanged in {where}: {worst} apart",
        why="Each of the two has the other one's readings: {in_some}{in_all}",
        fix="Write each reading under the number of its clock.",
        parts={
            "in_some": "their difference changes its sign there, and keeps its size.",
            "in_all": "the events of each match the snapshots' readings of the other.",
        },
    ),
    Row(
        "clocks-not-examined",
        {"warning": ""},
        "The trace has so many clocks that drift or jump that some were not examined.",
        title="{unseen}{order}{also}{loops}",
        why=(
            "Examining a pair of clocks takes about 1 ms, so only those with the most events were "
            "examined. For the others, the doctor does not check what happened between two "
            "snapshots, whether events are in their true order, or whether snapshots contradict "
            "each other."
        ),
        fix="Examine a part of the trace with fewer clocks{allow_more}.",
        parts={
            "unseen": (
                "{left} not checked for steps, resets, suspends and changes of rate: too many "
                "clocks drift or jump"
            ),
            "order": "the order of events was not checked: too many clocks",
            "also": "; ",
            "loops": "not all paths between clocks were compared: too many clocks form rings",
            "allow_more": (
                ", or raise `--max-tubes`: it allows {allowed:,} pairs, and at most {most:,} are "
                "examined"
            ),
        },
    ),
    Row(
        "events-dropped",
        {"error": ""},
        "The recorder says that it dropped events.",
        title="the recorder dropped {events}: they are not in the trace",
        why=(
            "Events came faster than they could be written, the disk was full, or the file reached "
            "its max_size. The recorder dropped and counted those that did not fit."
        ),
        fix=(
            "Record fewer events, to a faster disk, or into a larger file (--max-size, max_size); "
            "with LTTng, into larger buffers (--subbuf-size); with ftrace, too (buffer_size_kb)."
        ),
        kinds=NOTED,
    ),
    Row(
        "recorder-lost-data",
        {
            "info": "where a ring holds the latest events only, as it is meant to",
            "warning": "where producers lost packets",
        },
        "Perfetto's own counters say that data were lost or overwritten.",
        title="{writer}{ftrace}{buffer}",
        why="{writer_why}{ring_why}",
        fix="{writer_fix}{ftrace_fix}{buffer_fix}",
        parts={
            "writer": "producers lost {lost}: they are not in the trace",
            "writer_why": (
                "Their shared memory was full (TraceStats.trace_writer_packet_loss). Slices whose "
                "end was lost stay open, and flows lack an end."
            ),
            "writer_fix": (
                "Record fewer events, or give the producers more shared memory "
                "(shmem_size_hint_kb of the producer)."
            ),
            "ftrace": "the kernel's rings overwrote {events} of ftrace before they were read",
            "ftrace_fix": (
                "Where gaps matter, give ftrace a larger ring (buffer_size_kb of ftrace_config) or "
                "read it more often (drain_period_ms)."
            ),
            "buffer": "a ring buffer overwrote {chunks}: the trace holds the latest data",
            "ring_why": (
                "A ring keeps what came last. What came before is not in the trace, and different "
                "producers begin at different times."
            ),
            "buffer_fix": (
                "Where the earlier events matter, give the buffer more room (buffers.size_kb), or "
                "stream into a file (write_into_file)."
            ),
        },
        kinds={
            "writer": Kind("warning", parts=("writer", "writer_why", "writer_fix")),
            "ftrace": Kind("info", parts=("ftrace", "ring_why", "ftrace_fix")),
            "buffer": Kind("info", parts=("buffer", "ring_why", "buffer_fix")),
        },
    ),
    Row(
        "ends-before-begins",
        {"warning": ""},
        "Events have an end that is before their begin.",
        title="{events} that end before they begin: they are no slices",
        why=(
            "Begin and end are times of one clock, and nothing lasts for less than no time. The "
            "clock was set back in between, or one of the two columns is wrong or has another unit."
        ),
        fix=(
            "Read both times from a clock that is never set (MONOTONIC, BOOTTIME), in one unit. "
            "Both are events of the trace all the same."
        ),
        kinds=NOTED,
    ),
    Row(
        "events-without-time",
        {"warning": ""},
        "Events have no time, or one that cannot be read.",
        title="no time can be read of {events}: they are no rows",
        why="{json_why}{null_why}",
        fix="Mend the program that wrote them: {json_fix}{null_fix}",
        parts={
            "json_why": (
                "In Chrome's JSON an event that is no metadata has a time `ts`, a number of "
                "microseconds, and a phase `ph`. These lack one of the two, or `ts` is no number, "
                "so nobody can say when they were."
            ),
            "json_fix": "each event needs `ph`, and `ts` as a number.",
            "null_why": (
                "Their times are null (empty, in CSV), so nobody can say when they were. Of rows "
                "with a begin and an end that is the begin: without an end alone they are open."
            ),
            "null_fix": "each row needs a time, or does not belong into the table.",
        },
        kinds={
            "json": Kind(parts=("json_why", "json_fix")),
            "null": Kind(parts=("null_why", "null_fix")),
        },
    ),
    Row(
        "file-out-of-order",
        _BY_EVENTS,
        "Clocks go backwards together: the file has later parts of a recording before earlier "
        "ones.",
        title="the file is out of order: clocks go backwards together {often}, by {up_to}{worst}",
        why=(
            "Sorted by time, the snapshots are those of one recording, but the file has some of "
            "them after later ones. Perfetto reads the file in order: it rejects a snapshot in "
            "which trace time goes backwards, and does not convert from a clock that did."
        ),
        fix=(
            "Write packets in the order of their snapshots: join the parts of a recording in the "
            "order in which they were recorded, and check that no ring buffer or merge reorders "
            "them."
        ),
        parts={"up_to": "up to "},
    ),
    Row(
        "machines-mixed",
        _BY_EVENTS,
        "Packets of two machines are read as those of one: the first packet names a machine, and "
        "later ones name none.",
        title=(
            "two machines are read as one: packets that name no machine count as machine_id "
            "{machine}'s"
        ),
        why=(
            "The first packet of the file names a machine, and Perfetto takes that machine for the "
            "host. Packets that name no machine are the host's, so the clocks of both count as one "
            "machine's, and jump between the readings of the two."
        ),
        fix=(
            "Begin the file with a packet of the host, which names no machine (a synchronization "
            "marker does not count), or give every packet the machine_id of its machine."
        ),
    ),
    Row(
        "no-events",
        {"warning": ""},
        "The trace has neither events nor clock snapshots.",
        title="the trace is empty: no events, and no clock snapshots",
        why="There is nothing whose times could be examined.",
        fix="Check that the recorder was on, and that this is the file that it wrote.",
    ),
    Row(
        "parts-passed-over",
        {"warning": "", "info": "where slices lack their begin or their end"},
        "The file holds something that is not read, or not as it may be meant.",
        title="{what}",
        why=(
            "The file is read as Perfetto reads it where that has a rule. What is named here is in "
            "no event or slice, or is taken for something else than it says."
        ),
        fix="Mend the program that wrote the file, or keep in mind what is missing.",
        kinds={"": Kind(), "halves": Kind("info")},
    ),
    Row(
        "recordings-joined",
        _BY_EVENTS,
        "The file is several recordings, one after the other.",
        title="{recordings} joined at {places}",
        why=(
            "Each recording has clocks, sequences and snapshots of its own under the same numbers. "
            "Read as one file, the clocks jump where the next recording begins, and the snapshots "
            "of the first one place the events of the others."
        ),
        fix="Split the file{at_byte} (`tracetime split`), and convert each recording alone.",
        parts={"at_byte": " at byte {offsets} of the uncompressed file"},
    ),
    Row(
        "sequence-clock-without-sequence",
        {"error": ""},
        "A clock from 64 to 127 is used in a packet that belongs to no sequence.",
        title="the trace cannot be imported: {error}",
        why=(
            "Clocks 64 to 127 are private to a packet sequence. This packet has no "
            "trusted_packet_sequence_id, and Perfetto stops reading here."
        ),
        fix=(
            "Write trusted_packet_sequence_id into the packets and into the snapshot of the clock, "
            "or use a clock of 128 or above, which all sequences share."
        ),
    ),
    Row(
        "stream-backwards",
        {"error": ""},
        "In a stream, events are earlier than what comes before them.",
        title="time runs backwards in {stream}: {events}{by} earlier than what comes before",
        why=(
            "A CTF tracer writes the events of a stream in the order of their times, a capture has "
            "the packets of an interface in that order but for some ms (more than 1 s is told), "
            "LSL the samples of a stream, and a boot of a journal begins after the one before it "
            "ended. The clock was set back or reset (a machine without a battery for its clock "
            "starts in the past), or parts were joined in the wrong order, so times may be of "
            "different runs of the clock. babeltrace2 refuses such a trace of CTF."
        ),
        fix=(
            "Trace with a clock that only goes forward, record anew after the clock is reset, and "
            "join packets in the order in which they were written."
        ),
        kinds=NOTED,
    ),
    Row(
        "times-rounded",
        {"info": "", "warning": "where slices cross others only for that"},
        "Perfetto's trace processor rounds times that the file writes with fractions; or times are "
        "coarser than the file could write them.",
        title="{floor}{kept}",
        why="{why_floor}{why_kept}",
        fix="{fix_floor}{fix_kept}",
        parts={
            "apart": ", and makes {slices} cross others",
            "floor": "floor places {events} up to {worst} off{apart}: Perfetto rounds their times",
            "kept": "times stand on steps of up to {worst}, which the file could tell apart",
            "why_floor": (
                "The file writes microseconds with fractions. Perfetto's trace processor reads "
                "those through a double, which near 1.7e15 us (today, in REALTIME) has steps of "
                "250 ns, and floor follows it. Events may swap their order, and slices that follow "
                "one another may overlap: Perfetto then nests them, or moves them to another track."
            ),
            "why_kept": (
                "Clearly more times than by chance are multiples of so much: the program that "
                "wrote them, or its clock, keeps no more, and cut the rest off or rounded it. "
                "Their order within a step says nothing. Bars of the tube hold a step; floor has "
                "none."
            ),
            "fix_floor": "Use the exact times: `timestamp`, or trace time by `--policy tube`.",
            "fix_kept": (
                "Where the order of near events counts, write times as the clock reads them; else "
                "convert with `--policy tube`, whose bars say what is left open."
            ),
        },
        kinds={
            "kept": Kind(parts=("kept", "why_kept", "fix_kept")),
            "floor": Kind(parts=_FLOOR),
            "apart": Kind("warning", parts=("apart", *_FLOOR)),
        },
    ),
    Row(
        "trace-truncated",
        {"error": ""},
        "The file ends within a packet, or is corrupt.",
        title="{corrupt}{error}",
        why="Nothing after this position can be read.",
        fix="Let the recorder flush before it ends, or copy the file again.",
        parts={"corrupt": "the trace cannot be read on: "},
    ),
)
