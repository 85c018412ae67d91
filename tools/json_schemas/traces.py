"""What the commands print that read a trace."""

from __future__ import annotations

from typing import Final

from tools.json_schemas.notation import (
    Schema,
    by_name,
    constant,
    count,
    either,
    flag,
    int64,
    listed,
    number,
    one_of,
    or_null,
    record,
    shared,
    text,
)
from tools.json_schemas.shared import (
    LEFT_OUT_BY,
    READING,
    bars,
    clock,
    policy,
    scope,
    side,
    unit,
)
from tracetime.analysis.placement_errors import BEFORE_ZERO
from tracetime.commands import SCHEMA
from tracetime.errors import REASONS

_TRACE: Final = text("The trace, as it was named.")
_VERSION: Final = constant("The version of this shape.", SCHEMA)
_INFO: Final[dict[str, Schema]] = {
    "unit_ns": count("How many ns its unit is."),
    "incremental": flag("Whether its timestamps are differences."),
    "monotonic": flag("Whether it never ran backwards."),
    "snapshots": count("How many snapshots have it."),
    "first_ns": or_null(int64("Its first reading in a snapshot, ns; null without any.")),
    "last_ns": or_null(int64("Its last reading in a snapshot, ns; null without any.")),
}
_WRITTEN: Final[dict[str, Schema]] = {
    "trace": _TRACE,
    "out": text("The file that was written."),
    "trace_clock": clock("The clock that trace time counts in."),
    "policy": policy(),
    "bars": or_null(bars("The error bars of the tube policy; null with floor, which has none.")),
}

_FLOOR_COST: Final = record(
    "How far the trace time of the floor policy is from the tube's.",
    {
        "clock": or_null(clock("The clock of the events that are farthest; null without any.")),
        "at_most_ns": count("How far that is, ns."),
        "events_reordered": or_null(
            count(
                "How many events floor puts in an order that is wrong by their bars; null: unknown."
            )
        ),
        "clocks_left_out": count("How many clocks were not compared: there are too many."),
        "clocks_untied": count("Of how many clocks nothing says how far off they are."),
        "is_limit": flag("Whether no event is farther off than at_most_ns."),
    },
)

_EVENTS: Final = record(
    "What came of writing the events.",
    {
        **_WRITTEN,
        "floor_cost": _FLOOR_COST,
        "rows": count("How many events there are."),
        "unresolved": count("How many of them have no trace time."),
        "kinds": listed(
            "Events by kind, the most frequent first.",
            record(
                "Events of one kind.",
                {
                    "kind": text("The kind."),
                    "events": count("How many there are."),
                    "statuses": by_name(
                        "How many there are with each status.", count("How many."), REASONS
                    ),
                },
            ),
        ),
        "clocks": listed(
            "The clocks of the trace.",
            record(
                "A clock, and the events that were read in it.",
                {
                    "clock": clock("The clock; 0 stands for events that name none."),
                    "scope": scope(),
                    **_INFO,
                    "events": count("How many events were read in it."),
                    "unresolved": count("How many of these have no trace time."),
                },
            ),
        ),
        "reasons": listed(
            "Why events have no trace time.",
            record(
                "One reason.",
                {
                    "reason": one_of("The status of these events.", REASONS[2:]),
                    "events": count("How many there are."),
                    "clocks": listed(
                        "The clocks that they were read in.",
                        record(
                            "One of them.",
                            {"clock": clock("The clock."), "events": count("How many there are.")},
                        ),
                    ),
                    "advice": text("What to do."),
                },
            ),
        ),
        "to": or_null(clock("The clock of --to; null without it.")),
        "to_unresolved": count("How many events have a trace time, and no time on that clock."),
        "to_floor_cost": or_null(
            record(
                "How far to_time of the floor policy is from where the tube puts that trace time; "
                "null: not compared.",
                {
                    "at_most_ns": count("How far, ns."),
                    "is_limit": flag("Whether no event is farther off than at_most_ns."),
                },
            )
        ),
        **{name: READING[name] for name in ("warnings", "n_warnings", "events_dropped")},
        "names_left_out": or_null(
            count("How many names there was no room for; null without --with-names.")
        ),
        "truncated": READING["truncated"],
    },
)

_SLICES: Final = record(
    "What came of writing the slices.",
    {
        **_WRITTEN,
        "rows": count("How many slices there are."),
        "open": count("How many of them do not end."),
        "unresolved": count(
            "Events without a trace time, of Perfetto's traces by floor whatever the policy: they "
            "begin and end no slice."
        ),
        "left_out": count("Slices that there was no room for."),
        "names_left_out": count("Names and arguments that there was no room for."),
        "not_nested": count(
            "Slices left out, as in Perfetto: they cross others of their track, or lie too deep."
        ),
        "reversed": count("Slices left out because they end before they begin."),
        "unmatched": count("Events that end a slice that has not begun."),
        **READING,
    },
)

_TABLE: Final = record(
    "What came of converting a table.",
    {
        "table": text("The table, as it was named."),
        "out": _WRITTEN["out"],
        "to": clock("The clock that the new columns count in."),
        "policy": policy("How times came to that clock."),
        "bars": _WRITTEN["bars"],
        "rows": count("How many rows there are."),
        "columns": listed(
            "The columns of --map.",
            record(
                "One of them.",
                {
                    "column": text("Its name in the table."),
                    "name": text("The name of the new column."),
                    "clock": text("The clock it was read in, or @ and the column that names it."),
                    "statuses": by_name(
                        "How many times there are with each status.", count("How many."), REASONS
                    ),
                    "nulls": count("How many rows have no time."),
                    "warning": or_null(text("What is odd about its times, if anything is.")),
                },
            ),
            minItems=1,
        ),
        "truncated": READING["truncated"],
    },
)

CONVERT: Final = either(
    "What came of writing the file.",
    **{"convert": _EVENTS, "convert --slices": _SLICES, "convert --map": _TABLE},
)

CLOCKS: Final = record(
    "The clock graph of a trace.",
    {
        "trace": _TRACE,
        "trace_clock": clock("The clock that trace time counts in."),
        "clocks": listed(
            "The clocks of the snapshots.",
            record(
                "A clock, and its readings.",
                {
                    "clock": clock("The clock."),
                    **_INFO,
                    "name": or_null(text("The name that the trace or --clock-name declares.")),
                    "scope": scope(),
                },
            ),
        ),
        "edges": or_null(
            listed(
                "The edges of the graph; null where there are more than 65,536: series has them.",
                record(
                    "Timestamps of one clock convert to the other.",
                    {
                        "src": clock("The one."),
                        "dst": clock("The other."),
                        "snapshots": count("How many snapshots have both."),
                    },
                ),
            )
        ),
        "series": listed(
            "The lists of clocks that snapshots have.",
            record(
                "Clocks that were read together.",
                {
                    "clocks": listed("The clocks, in order.", clock("One of them.")),
                    "snapshots": count("How many snapshots have this list."),
                },
            ),
        ),
        "wall_clock_bounds": listed(
            "What time services said of the wall clocks while they were recorded.",
            record(
                "How far from UTC a wall clock was at most.",
                {
                    "clock": clock("The wall clock."),
                    "source": text(
                        "The service: `clockbound`, `chrony`, `ptp4l`, `adjtimex`, or "
                        "`another service`."
                    ),
                    "snapshots": count("At how many snapshots it bounded the clock."),
                    "within_ns": count("How far from UTC the clock was at most at these, ns."),
                },
            ),
        ),
        "orders": listed(
            "The readings of one clock that happened before those of another, which bound both.",
            record(
                "Orders of two clocks, one way.",
                {
                    "before": clock("The clock that was read first."),
                    "after": clock("The clock that was read after it."),
                    "orders": count("How many there are."),
                },
            ),
        ),
        **READING,
    },
)

_CONVERTED: Final[dict[str, Schema]] = {
    "trace": _TRACE,
    "from": clock("The clock of the value."),
    "to": clock("The clock of the result."),
    "value": int64("The reading that was converted, in units of its clock."),
    "value_unit": unit("Whether the value counts ns (or the clock's units of them) or ticks."),
}
_RESULT: Final[dict[str, Schema]] = {
    "result": int64("The reading of the other clock at that instant: with tube, the estimate."),
    "unit": unit("What the result counts."),
}
_OUTSIDE: Final[dict[str, Schema]] = {
    "extrapolated": side(),
    "outside_ns": count("How far outside it is, ns."),
}
_OUTSIDE_OR_TICKS: Final = _OUTSIDE | {
    "outside_ns": or_null(count("How far outside it is, ns; null: in ticks of unknown length.")),
}
_ISO: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$"
_UTC: Final[dict[str, Schema]] = {
    "value_utc": text("The value as a date and time; only of a wall clock.", pattern=_ISO),
    "result_utc": text("The result as a date and time; only of a wall clock.", pattern=_ISO),
}
_ENDS: Final[dict[str, Schema]] = {
    "src": clock("The clock before the step."),
    "dst": clock("The clock after the step."),
}

_FLOOR: Final = record(
    "A conversion by the floor policy.",
    {
        **_CONVERTED,
        "policy": constant("The policy.", "floor"),
        "unit_ns": count("How many ns a unit of the value is."),
        **_RESULT,
        **_OUTSIDE_OR_TICKS,
        "steps": listed(
            "The steps; none where both are one clock.",
            record(
                "One step: the offset of one snapshot is added. Values are ns, or ticks as "
                "src_unit and dst_unit say.",
                {
                    **_ENDS,
                    "snapshot_src_ns": int64("What src reads in the snapshot."),
                    "snapshot_dst_ns": int64("What dst reads in the snapshot."),
                    "value_ns_before": int64("The value before the step."),
                    "value_ns_after": int64("The value after the step."),
                    "snapshot_index": count("Which snapshot it is, from 0."),
                    "snapshots": count("How many snapshots have both clocks."),
                    **_OUTSIDE_OR_TICKS,
                    "src_unit": unit("What src counts."),
                    "dst_unit": unit("What dst counts."),
                },
            ),
        ),
        **_UTC,
    },
    optional=_UTC,
)

_BINDING: Final = record(
    "An order: a reading of one clock happened before one of another.",
    {
        "number": count("Its number, from 0, in the order in which they were added."),
        "before": clock("The clock that was read first."),
        "before_ts": int64("What it read, in its own units."),
        "after": clock("The other clock."),
        "after_ts": int64("What it read."),
        "away_ns": int64("How much later the value is, ns of the steadier clock."),
    },
)

_RATES: Final = record(
    "The rates of dst against src that the orders around the value allow, drift_ppm set aside; "
    "null without orders.",
    {
        "low_ppm": or_null(number("The least; null where nothing bounds it.")),
        "high_ppm": or_null(number("The greatest; null where nothing bounds it.")),
        "wander_ppm": number("How far the rate strays from it; 0: one rate fits all.", minimum=0),
    },
)

_TUBE: Final = record(
    "A conversion by the tube policy, with its error bar.",
    {
        **_CONVERTED,
        "policy": constant("The policy.", "tube"),
        "bars": bars("The bars that --bars asks for."),
        "basis": bars("The bars that there are: estimated where any part is not measured."),
        **_RESULT,
        "earliest": or_null(int64("The lower end of the bar, in the result's unit; null: open.")),
        "latest": or_null(int64("The upper end of the bar, in the result's unit; null: open.")),
        **_OUTSIDE,
        "steps": listed(
            "The steps; none where both are one clock.",
            record(
                "One step: from one clock to the next.",
                {
                    **_ENDS,
                    "estimate": int64("The value after the step, in its unit."),
                    "earliest": or_null(int64("The lower end of its bar; null where it is open.")),
                    "latest": or_null(int64("The upper end of its bar; null where it is open.")),
                    "snapshots": count("How many snapshots have both clocks."),
                    "half_width_ns": or_null(
                        number("The median half-width of these, ns; null without any.", minimum=0)
                    ),
                    "assumed": flag("Whether the half-width is assumed: the trace has none."),
                    "drift_ppm": number("The drift limit of the two clocks together.", minimum=0),
                    "wander_ppm": number("The wander limit of the two together.", minimum=0),
                    "learnt": flag("Whether a clock's rate was learnt from the snapshots."),
                    "unit": unit("What dst counts."),
                    **_OUTSIDE,
                    "src_tick_ns": or_null(
                        number("The tick of src, where its readings show a longer one; else null.")
                    ),
                    "dst_tick_ns": or_null(
                        number("The tick of dst, where its readings show a longer one; else null.")
                    ),
                    "orders": count("How many orders the two clocks have."),
                    "earliest_by": or_null(
                        _BINDING | {"description": "The order that sets the lower end; else null."}
                    ),
                    "latest_by": or_null(
                        _BINDING | {"description": "The order that sets the upper end; else null."}
                    ),
                    "rates": or_null(_RATES),
                },
            ),
        ),
        **_UTC,
    },
    optional=_UTC,
)

AT: Final = either(
    "One conversion, and how it was made.",
    **{"at": _FLOOR, "at --policy tube": _TUBE},
)

_FINDINGS: Final = listed("What is wrong, the worst first.", shared("finding", "One finding."))

_FINDING_EVENTS: Final = listed(
    "With --events, the events of the findings with that code.",
    record(
        "One event.",
        {
            "finding": count("The number of its finding, as in the report of all findings."),
            "code": shared("finding_code", "The code of its finding."),
            "packet": count("The index of its packet."),
            "kind": text("What it is."),
            "item": count("Its index in the packet, of its kind."),
            "name": or_null(text("Its name; null without any.")),
            "timestamp": int64("Its timestamp, in its own clock."),
            "trace_time": or_null(int64("When it was, ns of trace time; null: unknown.")),
            "status": one_of("Whether it has a trace time, or why not.", REASONS),
            "off_ns": or_null(
                int64("How much later floor places it than the tube, ns; null: not compared.")
            ),
        },
    ),
)

DOCTOR: Final = record(
    "What is wrong with the clocks of traces.",
    {
        "schema": _VERSION,
        "traces": listed(
            "The traces, in the order of the arguments.",
            either(
                "A trace.",
                read=record(
                    "A trace that was read.",
                    {"trace": _TRACE, "findings": _FINDINGS, "events": _FINDING_EVENTS},
                    optional=("events",),
                ),
                unread=record(
                    "A trace that cannot be read.",
                    {"trace": _TRACE, "error": shared("error", "Why it cannot be read.")},
                ),
            ),
            minItems=1,
        ),
    },
)

REPORT: Final = record(
    "What came of writing the page.",
    {
        "trace": _TRACE,
        "report": text("The page that was written."),
        "bytes": count("Its size."),
        "findings": _FINDINGS,
        "pairs": listed(
            "The pairs of clocks that have a picture.",
            record(
                "One pair.",
                {
                    "hub": text("The display name of the clock that the other is compared with."),
                    "clock": text("The display name of the clock."),
                },
            ),
        ),
        "left_out": listed(
            "The clocks without a picture: there are too many, or they matter less.",
            text("Its display name."),
        ),
    },
)

BAKE: Final = record(
    "What came of baking a trace.",
    {
        "trace": _TRACE,
        "out": text("The trace that was written."),
        "trace_clock": clock("The clock that all its timestamps are in."),
        "policy": policy(),
        "bytes": count("Its size."),
        "moved": count("Items with a timestamp of their own that have their packet's now."),
        "stamped": count("Packets that have a time of their own now: that of their items."),
        "kept_in_order": count("Track events moved, within their bars, to the one before them."),
        "reversed": count("Track events whose bars exclude the order of the file."),
        "as_floor": count("Events that only floor places, of a trace baked by the tube."),
        "rounded": count("Timestamps whose field cannot hold the time."),
        "worst_rounding_ns": count("How far off the worst of them is, ns."),
        "unresolved": count("Events without a trace time: Perfetto leaves them out."),
        "set_aside": count("Items without one, moved to where Perfetto does not read."),
        "forced": count("Begins and ends of slices, moved beyond their bars so that they nest."),
        "early": count("Events of other formats before time 0."),
        "left_out": count("What else of other formats is not in the output."),
        "left_out_by": LEFT_OUT_BY,
        "truncated": READING["truncated"],
    },
)

_NAMED: Final[dict[str, Schema]] = {
    "clock": clock("The clock of the events."),
    "name": text("Its display name."),
}
_ERRORS: Final = record(
    "How far off events are drawn; null without --tube.",
    {
        "truncated": READING["truncated"],
        "clocks": listed(
            "The clocks of events with error bars, the worst first; the trace clock has no error.",
            record(
                "One clock.",
                {
                    **_NAMED,
                    "events": count("How many events it has."),
                    "error_ns": count("How far off an event can be at most, ns."),
                    "shift_ns": record(
                        "How much later than the tube's estimate they are drawn, ns.",
                        {"least": int64("The least."), "greatest": int64("The greatest.")},
                    ),
                    "track": flag("Whether it has a track: the worst ones have."),
                },
            ),
        ),
        "without_error": listed(
            "Events without an error bar, and those that are not drawn.",
            record(
                "Those of one clock.",
                {
                    **_NAMED,
                    "events": count("How many there are."),
                    "drawn": flag("Whether they are."),
                    "reason": one_of(
                        "Why they have no error bar, or are not drawn.", (*REASONS, BEFORE_ZERO)
                    ),
                },
            ),
        ),
    },
)

OPEN: Final = record(
    "Where the trace is served, and the link that opens it.",
    {
        "trace": _TRACE,
        "url": text("Where the UI fetches the trace."),
        "link": text("The link that opens the UI with the trace."),
        "errors": or_null(_ERRORS),
    },
)

SQL: Final = listed(
    "The rows of the result.",
    {
        "description": "A row: its values by the names of the columns, which the query decides. "
        "Timestamps, dates and intervals are strings, as are decimals that no number holds exactly "
        "and the hex digits of blobs; maps are lists of [key, value]; nan and infinity are null.",
        "type": "object",
    },
)

ERROR: Final = record(
    "Why a command failed, on standard error.",
    {"schema": _VERSION, "error": shared("error", "The error.")},
)
