"""What `merge` and `split` print."""

from __future__ import annotations

from typing import Final

from tools.json_schemas.notation import (
    Schema,
    count,
    flag,
    int64,
    listed,
    number,
    one_of,
    or_null,
    record,
    text,
)
from tools.json_schemas.shared import LEFT_OUT_BY, clock

_KIND: Final = one_of(
    "What it is: one boot, a known offset, wall clocks, messages or collectives.",
    ("clocks", "sync", "wall_clocks", "messages", "together"),
)
_SAID: Final = text("What it is, in words.")

_TIE: Final = record(
    "One tie.",
    {
        "one": count("The number of a file, from 0."),
        "other": count("The number of the other."),
        "kind": _KIND,
        "ties": count("How many there are."),
        "said": _SAID,
    },
)

_FILE: Final = record(
    "One file.",
    {
        "name": text("The end of its path that tells it from the others."),
        "clock": clock("Its trace clock, among the clocks of all files."),
        "ties": listed("What ties it to other files.", _TIE),
        "offset_ns": or_null(
            int64("The timeline's clock less its trace clock, in its middle; null: not tied.")
        ),
        "drift_ppm": or_null(
            number(
                "How much faster the timeline's clock runs over it, where neither jumped; null "
                "where nothing says."
            )
        ),
        "constant_error_ns": or_null(
            count("How far the estimate strays from that offset at most, ns.")
        ),
        "half_width_ns": or_null(count("Half the bar, the median over it; null: open.")),
        "worst_half_width_ns": or_null(count("Half the bar at worst; null: open.")),
        "read_twice": count(
            "How many of 257 instants its clock, which was set back, may have read twice."
        ),
        "why_not": or_null(text("Why it has no place; null where it has one.")),
        "looked_for": listed("What could have tied it, and why it did not.", text("One of these.")),
        "advice": or_null(text("Which options would tie it; null where it is tied.")),
        "empty": flag("Whether it has no event on its trace clock: nothing of it is written."),
        "truncated": or_null(text("Why the rest of it was not read; null where all of it was.")),
    },
)

_LINK: Final = record(
    "One tie.",
    {
        "one": text("The name of a file."),
        "other": text("The name of the other."),
        "kind": _KIND,
        "said": _SAID,
        "ties": count("How many there are."),
        "orders": count("How many orders they are: messages one each, collectives two."),
        "live": count("How many of these orders bars rest on: they say what the others say."),
    },
)


def _side(says: str) -> Schema:
    return or_null(
        record(
            f"{says} null: snapshots do, or nothing.",
            {
                "said": text("What it is one of: a tie, or the orders of a file itself."),
                "number": count("Which order of that it is, from 0."),
                "orders": count("How many there are."),
                "before": clock("The clock that was read first."),
                "before_ts": int64("What it read."),
                "after": clock("The clock that was read after it."),
                "after_ts": int64("What it read."),
                "away_ns": int64("How much later the instant is than this order, ns."),
            },
        )
    )


_STEP: Final = record(
    "One step of the conversion.",
    {
        "src": clock("The clock before the step."),
        "dst": clock("The clock after the step."),
        "snapshots": count("How many snapshots have both clocks."),
        "half_width_ns": or_null(
            number("The median half-width of these, ns; null without any.", minimum=0)
        ),
        "assumed": flag("Whether the half-width is assumed."),
        "orders": count("How many orders the two clocks have."),
        "live": count("How many of these bars rest on."),
        "sources": listed("The files and ties that all these are of.", text("One of them.")),
        "earliest_by": _side("The order that sets the lower side of the step's bar;"),
        "latest_by": _side("The order that sets the upper side of the step's bar;"),
    },
)

_INSTANT: Final = record(
    "One instant.",
    {
        "where": one_of(
            "Which instant of the second file, or of its bars.",
            ("start", "middle", "end", "narrowest", "worst"),
        ),
        "time_ns": int64("When, on the trace clock of the second file."),
        "offset_ns": int64("The first file's trace clock less the second's: the estimate."),
        "least_ns": or_null(int64("The lower end of its bar; null: open.")),
        "most_ns": or_null(int64("The upper end of its bar; null: open.")),
        "steps": listed("From the second file's clock to the first's.", _STEP),
        "over": listed(
            "Where orders close the bar over several clocks: the clocks that bound its lower side, "
            "and those that bound its upper side.",
            listed("The clocks of one side.", clock("One of them.")),
        ),
    },
)

_WRITTEN_FILE: Final = record(
    "What came of one file.",
    {
        "name": text("Its name."),
        "machine": count("The machine_id of its host; 0 is that of the timeline."),
        "unresolved": count("Events without a trace time."),
        "early": count("Events before time 0, of the output or of the file."),
        "left_out": count("What else of a file of another format is not in the output."),
        "left_out_by": LEFT_OUT_BY,
        "carried": count("Events where the file itself has them, moved with its trace clock."),
        "kept": count("Events moved to the one before them, within their bars."),
        "forced": count("Ends of slices moved so beyond their bars."),
        "reversed": count("Events whose bars exclude the order of their file."),
        "moved": count("Items that have the timestamp of their packet now."),
        "stamped": count("Packets that have a time of their own now."),
        "rounded": count("Timestamps whose field cannot hold the time exactly."),
        "set_aside": count("Items in a field that Perfetto does not read."),
    },
)

_WRITTEN: Final = record(
    "The Perfetto trace that was written; null without one.",
    {
        "out": text("Its path."),
        "bytes": count("How long it is."),
        "clock": clock("Which clock of the files its BOOTTIME is."),
        "files": listed("What came of each file, in order.", _WRITTEN_FILE),
        "machines": listed(
            "What its machines are called.",
            record(
                "One of them.",
                {
                    "machine": count("Its machine_id in the output; 0 is the host."),
                    "name": text("As a manifest calls it, else the files that it is in."),
                },
            ),
        ),
    },
)

_EXPLAINED: Final = record(
    "With --explain, the evidence between two files; else null.",
    {
        "one": text("The name of the first file."),
        "other": text("The name of the second."),
        "links": listed("What ties the two at once.", _LINK),
        "over": listed(
            "The files over which other ties lead from the one to the other.", text("Its name.")
        ),
        "over_links": listed("What ties these, each to the next.", _LINK),
        "path": listed(
            "The clocks of the conversion, from the second file's; empty without.",
            clock("One of them."),
        ),
        "drift_ppm": or_null(
            number("How much faster the first file's clock runs; null: not tied, or no event.")
        ),
        "instants": listed("What the bar rests on, where.", _INSTANT),
        "why_not": or_null(text("Why there are no instants; null where there are.")),
        "contradictions": listed("What disagrees among these clocks.", text("One of these.")),
    },
)

MERGE: Final = record(
    "Where files lie on one timeline, and what ties them. It is printed before an "
    "error about files that nothing ties, too.",
    {
        "out": or_null(text("The file to write; null without -o.")),
        "clock": clock(
            "That of the timeline, which offsets are to: the trace clock of the first file, unless "
            "a manifest chooses another."
        ),
        "files": listed("The files, in the order of the arguments.", _FILE),
        "boots": listed(
            "What ties the files of each boot of one machine, and why the first is not of others.",
            record(
                "One pair.",
                {
                    "one": count("The number of a file, from 0."),
                    "other": count("The number of the other."),
                    "same": flag("Whether their clocks are the same."),
                    "reason": text("Why, or why not."),
                },
            ),
        ),
        "contradictions": listed(
            "Loops of clocks whose evidence disagrees.",
            record(
                "Two paths between two clocks whose bars miss each other.",
                {
                    "src": clock("The one end."),
                    "dst": clock("The other end."),
                    "via": listed("The clocks that one path leads over.", clock("One of them.")),
                    "at_ns": int64("When, on src."),
                    "gap_ns": count("By how much they miss each other."),
                },
            ),
        ),
        "wrong_orders": listed(
            "Messages and collectives that end before they begin, beyond the bars.",
            record(
                "One of them.",
                {
                    "src": clock("The one clock."),
                    "dst": clock("The other clock."),
                    "at_ns": int64("When, on src."),
                    "size_ns": or_null(
                        count("By how much too early, at least; null where the bar is open.")
                    ),
                },
            ),
        ),
        "without_ties": listed(
            "The rules of --match and --together that tie no files.",
            text("One of them, and why."),
        ),
        "shared_pids": listed(
            "Of files that are said to be of one boot: numbers that are two processes.",
            record(
                "One of them.",
                {
                    "one": count("The number of a file, from 0."),
                    "other": count("The number of the other."),
                    "pid": int64("The number of both processes."),
                    "one_name": text("What the one file calls it."),
                    "other_name": text("What the other file calls it."),
                },
            ),
        ),
        "steps": listed(
            "Clocks that were set while they were recorded.",
            record(
                "One of them.",
                {
                    "file": count("The number of its file, from 0."),
                    "against": listed("The files that show it.", count("The number of one.")),
                    "least_ns": or_null(int64("How far it jumped, at least; null: unknown.")),
                    "most_ns": or_null(int64("How far it jumped, at most; null: unknown.")),
                    "at_file": count("The number of the file whose trace clock tells when."),
                    "from_ns": int64("It happened after this reading of that clock."),
                    "to_ns": int64("It happened before this reading of that clock."),
                },
            ),
        ),
        "suspends": listed(
            "Machines that slept while they were recorded: bars to others end there.",
            record(
                "One suspend.",
                {
                    "file": count("The number of the first file of that machine, from 0."),
                    "from_ns": int64("It was after this reading of the file's trace clock."),
                    "to_ns": int64("It was before this reading of that clock."),
                },
            ),
        ),
        "explained": or_null(_EXPLAINED),
        "written": or_null(_WRITTEN),
        "reference": count("The number of the file that the timeline's clock is of."),
        "trace_time": or_null(
            text("What a manifest chooses for the timeline, in words; null where none does.")
        ),
        "attributes": listed(
            "What manifests say of their archives.",
            record(
                "One attribute.",
                {
                    "name": text("What it is called."),
                    "str_value": or_null(text("What it is; null where that is a number.")),
                    "int_value": or_null(int64("What it is; null where that is words.")),
                },
            ),
        ),
        "left_out": listed("What archives have that is no trace.", text("What, and why.")),
    },
)

SPLIT: Final = record(
    "What came of splitting a trace.",
    {
        "trace": text("The trace, as it was named."),
        "directory": text("Where the parts are."),
        "parts": listed(
            "The recordings, in the order of the file.",
            record(
                "One recording.",
                {
                    "path": text("The file that was written."),
                    "packet": count("The index of its first packet in the joined file."),
                    "offset": count("The first of its bytes there."),
                    "bytes": count("How many it has."),
                },
            ),
        ),
    },
)
