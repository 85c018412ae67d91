"""What to do about readings that are missing or bad, in the words of each format.

The rows' own texts speak of snapshots, as those who record with Perfetto know them. Here are those
of programs whose users choose no snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_OF_SNAPSHOTS: Final = frozenset(
    {
        "clock-not-tied",
        "clock-without-snapshot",
        "no-realtime",
        "no-snapshots",
        "snapshot-outlier",
        "snapshots-too-sparse",
        "used-after-last-snapshot",
        "used-before-first-snapshot",
    }
)
"""Codes of findings whose remedy is to take other snapshots."""

_TUBE: Final = "`--policy tube` uses all that the file has, and gives error bars."

_JSON: Final = (
    "A file in this format says at one instant at most how its clock is to others "
    "(baseTimeNanoseconds of PyTorch's profiler). To compare it with other traces, record shorter "
    f"parts, each with a time of its own, or merge them by what both recorded. {_TUBE}"
)

_FIXES: Final[Mapping[str, str]] = {
    "PyTorch profile": _JSON,
    "trace in Chrome's JSON": _JSON,
    "XDF recording": (
        "LabRecorder measures the clock of each stream's machine every 5 s, over the network: let "
        "it record until the stream ends, by cable where it can, and tick the stream before it "
        f"begins. {_TUBE}"
    ),
    "CTF trace": (
        "The tracer writes how its clock is to UTC once, where it begins: trace shorter parts, or "
        f"with a clock that all tracers of the machine share (MONOTONIC). {_TUBE}"
    ),
    "table": (
        "Add rows with both readings, taken together, where they are missing: before the first "
        f"event, after the last, and in between. {_TUBE}"
    ),
    "journal of systemd": (
        "Each line of a journal has both times: export more of it, by `journalctl -o export`, from "
        f"before the first to after the last event. {_TUBE}"
    ),
}

_SET: Final = (
    "The wall time of entries before it is that of the clock as it was then: wrong, where a time "
    "service set it. `timestamp` of an entry is MONOTONIC, which is never set: add to it what "
    "REALTIME is ahead of MONOTONIC after the last setting, and all of a boot is on one wall time "
    "(`tracetime clocks` shows both)."
)

_FIXES_OF_CODE: Final[Mapping[tuple[str, str], str]] = {
    ("journal of systemd", "clock-stepped"): _SET,
    ("journal of systemd", "realtime-set-back"): _SET,
    ("XDF recording", "machine-not-synchronised"): (
        "The stream has no clock offsets: record it with LabRecorder, which measures them every "
        "5 s. Without them, compare samples of this stream with each other alone."
    ),
    ("XDF recording", "clock-reset"): (
        "The clock of a stream counts from the boot of its machine: that was restarted while "
        "LabRecorder ran. Keep it up, or begin a new recording after a restart. `--policy tube` "
        "takes the clock offsets before it and after it apart."
    ),
    ("XDF recording", "no-realtime"): (
        "LSL's clocks count from the boot of a machine, and nothing in XDF relates them to UTC. To "
        "compare the recording with another trace, have both record one event, and merge them by "
        "it (`tracetime merge --at EVENT`)."
    ),
}


def fix_in(code: str, format_name: str) -> str | None:
    """Return what to do about a finding in a trace of a format; None where the row's text fits."""
    of_snapshots = _FIXES.get(format_name) if code in _OF_SNAPSHOTS else None
    return _FIXES_OF_CODE.get((format_name, code), of_snapshots)
