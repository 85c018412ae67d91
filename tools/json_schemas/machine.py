"""What the commands print that read the clocks of this machine."""

from __future__ import annotations

from typing import Final

from tools.json_schemas.notation import (
    Schema,
    by_name,
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
from tracetime.capture.promises import PROMISES
from tracetime.sources.time_service.service import SOURCES
from tracetime.sources.time_service.true_time import WALL_CLOCKS

_NAME: Final = text("The name of the clock.")
_REFERENCE: Final = text("The name of the clock that the others are compared with.")
_OFFSET: Final = "By how much it is ahead of the reference, ns"
_DRIFT: Final = "By how much it runs faster than the reference, ppm"
_UNAVAILABLE: Final = listed(
    "The clocks that are not available here.", shared("unavailable", "One of them.")
)


def _faults(says: str, **more: object) -> Schema:
    return listed(says, shared("fault", "One of them."), **more)


RECORD: Final = record(
    "What was recorded.",
    {
        "trace": text("The trace that was written."),
        "bytes": count("Its size."),
        "snapshots": count("How many snapshots it has."),
        "clocks": listed("The names of the clocks that were read.", _NAME),
        "events_dropped": count("How many events did not fit into the file."),
        "out_of_reach": listed(
            "The names of the clocks whose half-width alone is above --target-error.", _NAME
        ),
        "floor_error_ns": by_name(
            "By how much the floor policy was off at most between two snapshots, by clock.",
            count("By how much, ns."),
        ),
        "peers": listed(
            "The other machines of --peer, in the order given.",
            record(
                "One of them.",
                {
                    "name": text("As it was given, without udp://."),
                    "machines": listed(
                        "Its machine_id in the trace; another one after each suspend or restart.",
                        {**count("A machine_id."), "minimum": 1},
                    ),
                    "exchanges": count("How many exchanges with it the trace has."),
                },
            ),
        ),
        "problems": listed(
            "What went wrong while recording went on.",
            record(
                "One problem.",
                {
                    "what": text("A clock, a peer, or the file."),
                    "message": text("What happened."),
                    "times": {**count("How often."), "minimum": 1},
                },
            ),
        ),
    },
)

_CALIBRATED: Final = record(
    "The clocks of this machine.",
    {
        "reference": _REFERENCE,
        "clocks": listed(
            "The reference, and the others.",
            record(
                "A clock against the reference.",
                {
                    "name": _NAME,
                    "id": count("Its number, as in traces."),
                    "tick_ns": number("What it steps by, ns, as measured.", minimum=0),
                    "read_ns": count("How long one reading takes, ns."),
                    "offset_ns": int64(f"{_OFFSET}: the median over the snapshots."),
                    "drift_ppm": or_null(
                        number(f"{_DRIFT}; null where the time was too short to measure it.")
                    ),
                    "half_width_ns": record(
                        "How far the offset can be off, ns; all 0 of the reference.",
                        {
                            "min": count("The smallest."),
                            "median": count("The median."),
                            "p99": count("The 99th percentile."),
                            "max": count("The largest."),
                        },
                    ),
                    "note": text("What a user should know about it; absent for nothing."),
                    "time_domains": listed(
                        "What the device can be calibrated with; absent of other clocks.",
                        record(
                            "A time domain of Vulkan.",
                            {
                                "number": count("Its number, as the device lists it."),
                                "name": or_null(
                                    text("Its name in Vulkan; null: it is unknown, and not used.")
                                ),
                            },
                        ),
                        minItems=1,
                    ),
                },
                optional=("note", "time_domains"),
            ),
            minItems=1,
        ),
        "unavailable": _UNAVAILABLE,
        "findings": _faults(
            "Faults of the clocks, each kind once; absent without any.", minItems=1
        ),
    },
    optional=("findings",),
)

_CHECKED: Final = record(
    "Whether devices keep their promises.",
    {
        "checked": listed(
            "The host, and each device.",
            record(
                "A device, or the host.",
                {
                    "name": text("The name of its clock; `host` for the host."),
                    "short_name": text("What --clock may call it, too: `vulkan:0`."),
                    "label": text("What its maker calls it."),
                    "promises": listed(
                        "What it promises.",
                        record(
                            "One promise.",
                            {
                                "promise": one_of(
                                    "Its name.", ("group", *(one.name for one in PROMISES))
                                ),
                                "says": text("The promise in words."),
                                "holds": or_null(
                                    flag("Whether it is kept; null: that was not checked.")
                                ),
                                "findings": _faults("How it is broken."),
                                "error": or_null(
                                    text("Why it was not checked; null where it was.")
                                ),
                            },
                        ),
                        minItems=1,
                    ),
                },
            ),
            minItems=1,
        ),
        "unavailable": _UNAVAILABLE,
    },
)

CALIBRATE: Final = either(
    "How exactly the clocks of this machine can be read.",
    **{"calibrate": _CALIBRATED, "calibrate --check": _CHECKED},
)

WATCH: Final = record(
    "A snapshot. The output has one such object on each line.",
    {
        "reference": _REFERENCE,
        "clocks": listed(
            "The others, each as it was read last.",
            record(
                "A clock against the reference.",
                {
                    "name": _NAME,
                    "at_ns": int64("What the reference read when it was read, ns."),
                    "offset_ns": int64(f"{_OFFSET}."),
                    "half_width_ns": count("How far the offset can be off, ns."),
                    "drift_ppm": or_null(
                        number(
                            f"{_DRIFT}, over up to 600 snapshots; null where half-widths hide it."
                        )
                    ),
                },
            ),
        ),
        "failed": listed(
            "The clocks that could not be read this time.", shared("unavailable", "One of them.")
        ),
        "findings": _faults("Faults of the clocks."),
    },
)

NOW: Final = record(
    "Between which times true time was.",
    {
        "earliest_ns": int64("True time was not before that, ns since 1970."),
        "estimate_ns": int64("The middle."),
        "latest_ns": int64("True time was not after that, ns since 1970."),
        "clock": one_of("What these are of: UTC as POSIX counts it, or TAI.", WALL_CLOCKS),
        "source": one_of("The time service that bounds it.", tuple(SOURCES)),
        "age_ns": count("How old what the service said was, ns; the bounds have grown since."),
        "half_width_ns": count("How far the estimate is off at most, ns."),
        "earliest": text("The same as `earliest_ns`, in ISO 8601; TAI ends in TAI."),
        "estimate": text("The same as `estimate_ns`."),
        "latest": text("The same as `latest_ns`."),
        "not_used": listed(
            "Better sources that state no bound.", shared("unavailable", "One of them.")
        ),
    },
)

PING: Final = record(
    "How far the BOOTTIME of another machine is ahead of this one's.",
    {
        "host": text("The machine that was asked."),
        "at_ns": int64("When that was, BOOTTIME of this machine: at the end of a round."),
        "offset_ns": int64("The estimate."),
        "earliest_ns": int64("The offset is not less than that."),
        "latest_ns": int64("The offset is not more than that."),
        "delay_ns": int64("Of the fastest round, there and back."),
        "rounds": count("Rounds that the bar rests on: the fastest of each burst."),
        "sent": count("Requests."),
        "lost": count("Requests without a reply in time."),
        "ignored": count("What came in and was no reply to the request that waited."),
        "void": count("Rounds whose readings cannot be, or that a suspend came between."),
        "restarts": count("How often earlier rounds were dropped: a machine was suspended."),
        "half_width_ns": count("How far the estimate is off at most, ns."),
    },
)
