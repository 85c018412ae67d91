"""Findings about the file: recordings in it, what it lacks; checks: `recordings.py`, `losses.py`,
`exchanges.py`, `structure.py`, `coverage.py`."""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Row

_WHERE_MISPLACED: Final = "error where events are lost or misplaced by it"

ROWS: Final = (
    Row(
        "boottime-below-monotonic",
        "warning",
        "BOOTTIME is below MONOTONIC, by more than reading them one after the other explains.",
        otherwise="error where events or a suspend say that the two are exchanged",
        title="{boottime} is below {monotonic} by {worst}{exchanged}",
        why=(
            "BOOTTIME is MONOTONIC and the time asleep, so it is never less. {by_events}{by_both}"
            "{by_sleep}{unknown}"
        ),
        fix=(
            "Write each reading under the number of its clock; from a time namespace, record "
            "outside of it, or take its clocks for another machine's."
        ),
        parts={
            "exchanged": ": they are exchanged",
            "by_events": ("The two are exchanged: events of each lie where the other was read."),
            "by_both": (
                "The two are exchanged: events of each lie where the other was read and MONOTONIC "
                "went on where BOOTTIME stood still."
            ),
            "by_sleep": "The two are exchanged: MONOTONIC went on where BOOTTIME stood still.",
            "unknown": (
                "Either the two are exchanged, or this was recorded in a time namespace (a "
                "container), which sets its clocks off by what it likes."
            ),
        },
    ),
    Row(
        "clocks-exchanged",
        "warning",
        "Two clocks stand under each other's numbers, in some snapshots or in all.",
        otherwise=_WHERE_MISPLACED,
        title="{clock} and {other} are exchanged in {where}: {worst} apart",
        why="Each reads what the other does: {in_some}{in_all}",
        fix="Write each reading under the number of its clock.",
        parts={
            "in_some": "before and after, their difference is the same the other way round.",
            "in_all": "events of each lie where the snapshots read the other.",
        },
    ),
    Row(
        "clocks-not-examined",
        "warning",
        "So many clocks move against the ones they were read with that some were not looked at.",
        title="{unseen}{order}{also}{loops}",
        why=(
            "Looking at a pair of clocks takes about 1 ms, so only those with the most events were "
            "looked at. Of the others, nothing that happened between two snapshots is told, nor "
            "whether events stand in another order than they had, nor whether snapshots contradict "
            "each other."
        ),
        fix="Take a part of the trace with fewer clocks{allow_more}.",
        parts={
            "unseen": (
                "{left} not looked at for steps, resets, suspends and changes of rate: too many "
                "clocks move against the one they were read with"
            ),
            "order": (
                "nobody looked whether events stand in the order they had: there are too many "
                "clocks"
            ),
            "also": "; ",
            "loops": (
                "not all ways from clock to clock were compared: too many clocks are tied in rings"
            ),
            "allow_more": (
                ", or raise `--max-tubes`: it allows {allowed:,} pairs, and {most:,} are looked at "
                "at most"
            ),
        },
    ),
    Row(
        "events-dropped",
        "error",
        "The recorder says that it dropped events.",
        title="the recorder dropped {events}: they are not in the trace",
        why=(
            "Events came faster than the disk took them, the disk was full, or the file reached "
            "its max_size: what did not fit was dropped and counted."
        ),
        fix="Record fewer events, to a faster disk, or into a larger file (--max-size, max_size).",
    ),
    Row(
        "file-out-of-order",
        "warning",
        "Clocks fall back together: later parts of a recording stand before earlier ones.",
        otherwise=_WHERE_MISPLACED,
        title="the file is out of order: clocks fall back together {often}, by {up_to}{worst}",
        why=(
            "By time its snapshots are those of one recording; in the file some stand behind later "
            "ones. Perfetto reads the file in order: it takes no snapshot in which trace time "
            "falls, and converts from no clock that fell."
        ),
        fix=(
            "Write packets in the order of their snapshots: concatenate the parts of a recording "
            "as they were written, and let no ring buffer or merge turn them."
        ),
        parts={"up_to": "up to "},
    ),
    Row(
        "machines-mixed",
        "warning",
        "Packets of two machines are read as those of one: the first packet names a machine, later "
        "ones name none.",
        otherwise=_WHERE_MISPLACED,
        title=(
            "two machines are read as one: packets that name no machine count as machine_id "
            "{machine}'s"
        ),
        why=(
            "The first packet of the file names a machine. Perfetto takes that one for the host, "
            "which packets that name none are of: their clocks count as one machine's, and go to "
            "and fro between the readings of the two."
        ),
        fix=(
            "Begin the file with a packet of the host, which names no machine (a synchronization "
            "marker does not count); or give every packet the machine_id of its machine."
        ),
    ),
    Row(
        "recordings-joined",
        "warning",
        "The file is several recordings, one behind the other.",
        otherwise=_WHERE_MISPLACED,
        title="{recordings} joined at {places}",
        why=(
            "Each has clocks, sequences and snapshots of its own under the same numbers. Read as "
            "one file, clocks jump where the next one begins, and the first one's snapshots place "
            "the events of the others."
        ),
        fix="Split the file{at_byte}, and convert each recording alone.",
        parts={"at_byte": " at byte {offsets} of the uncompressed file"},
    ),
    Row(
        "sequence-clock-without-sequence",
        "error",
        "A clock from 64 to 127 is used in a packet that belongs to no sequence.",
        title="the trace cannot be imported: {error}",
        why=(
            "Clocks 64 to 127 belong to the packet sequence they are used on. This packet has no "
            "trusted_packet_sequence_id, and Perfetto reads no further."
        ),
        fix=(
            "Write trusted_packet_sequence_id into the packets and into the snapshot of the clock, "
            "or use a clock of 128 or above, which every sequence sees."
        ),
    ),
    Row(
        "trace-truncated",
        "error",
        "The file ends within a packet, or is corrupt.",
        title="{corrupt}{error}",
        why="What follows that place cannot be read.",
        fix="Let the recorder flush before it ends; copy the file again.",
        parts={"corrupt": "the trace cannot be read on: "},
    ),
)
