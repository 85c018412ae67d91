"""Which findings follow from others."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.clocks.families import NEVER_SET, STOPS_IN_SUSPEND, WALL
from tracetime.clocks.ids import ClockId
from tracetime.doctor.catalogue import kind_of
from tracetime.doctor.exchanges import BELOW, EXCHANGED
from tracetime.doctor.finding import Finding
from tracetime.doctor.machines import MOVED
from tracetime.doctor.recordings import DISORDERED, JOINED, MIXED

_SHIFTED: Final = "offsets-shifted"
_GO_ON: Final = WALL | NEVER_SET - STOPS_IN_SUSPEND
_WRONG_RATE: Final = (
    "tsc-without-rate",
    "rate-not-nominal",
    "clock-stands-still",
    "drift-beyond-healthy",
)
_JUMPED: Final = (
    "counter-wraps",
    "clock-id-collision",
    "clock-reset",
    "realtime-set-back",
    "clock-ran-backwards",
    "snapshot-outlier",
    "suspend",
    "clock-stepped",
)
_NOT_TAKEN: Final = (
    "incremental-clock-not-of-a-sequence",
    "clock-properties-changed",
    "trace-clock-unit",
    "clock-twice-in-snapshot",
    "trace-clock-ran-backwards",
    "reading-overflow",
)
_LOST: Final = ("clock-without-snapshot", "clock-not-tied", "trace-clock-without-snapshot")
_NOT_THERE: Final = (*_LOST, "no-realtime")
_ONE_LINE: Final = tuple(code for code in _JUMPED if code not in ("suspend", "clock-stepped"))
"""Where readings jump between several offsets, events may be far from some of them."""
_FAR: Final = "events-far-from-trace"
_ODD: Final = "odd-times"
_TOO_LARGE: Final = f"{_ODD}: too large"
"""Those of them that are beyond int64 ns: other events that are odd do not overflow."""
_BEYOND: Final = ("wrapped", "as_us", "late")
_REUSED: Final = "sequence-reused"
_OTHER: Final = "events-of-another-clock"
_MISPLACED: Final = (
    "events-reordered",
    "snapshots-late",
    "snapshots-too-sparse",
    "used-before-first-snapshot",
    "used-after-last-snapshot",
    "negative-trace-time",
    "paths-disagree",
    "rate-changed",
    "rate-unproven",
    "ticks-apart",
)

_MIXED_UP: Final = (
    *_JUMPED,
    *_WRONG_RATE,
    *_NOT_TAKEN,
    *_LOST,
    *_MISPLACED,
    _FAR,
    _OTHER,
    "timestamp-overflow",
    "lost-incremental-state",
    "sequence-clock-of-another-sequence",
    "trace-clock-changed-late",
    "effect-before-cause",
    "messages-reversed",
    "step-between-machines",
    "wrong-order",
)
"""What follows from reading several recordings as one, or one out of order."""
_UNTIL_LATER: Final = ("used-after-last-snapshot", "snapshots-too-sparse", "events-reordered")

_LEADS_TO: Final = (
    (("trace-clock-ran-backwards",), _UNTIL_LATER),
    ((JOINED, DISORDERED, MIXED), (*_MIXED_UP, EXCHANGED, BELOW, _REUSED)),
    ((_REUSED,), _MIXED_UP),
    ((MOVED,), ("machine-not-synchronised",)),
    ((EXCHANGED, *_WRONG_RATE), (BELOW,)),
    (
        (EXCHANGED, BELOW),
        (
            *_JUMPED,
            "trace-clock-ran-backwards",
            *_WRONG_RATE,
            _FAR,
            _OTHER,
            *_MISPLACED,
            "timestamp-overflow",
        ),
    ),
    (_WRONG_RATE, (*_JUMPED, *_MISPLACED, "timestamp-overflow", _FAR, _OTHER)),
    (_NOT_TAKEN, (*_JUMPED, *_WRONG_RATE, *_MISPLACED, _FAR, _OTHER)),
    (("clock-ran-backwards",), ("suspend",)),
    (_ONE_LINE, (_FAR,)),
    ((*_ONE_LINE, "clock-stepped", "trace-clock-ran-backwards"), (_OTHER,)),
    ((_ODD, _OTHER), (_FAR, *_MISPLACED)),
    ((_TOO_LARGE, _OTHER), ("timestamp-overflow",)),
    ((_OTHER,), ("threads-off-cpu",)),
    ((_FAR,), (*_MISPLACED, "timestamp-overflow")),
    (_NOT_TAKEN, _NOT_THERE),
    (("no-snapshots",), _LOST),
    (("trace-truncated",), ("lost-incremental-state",)),
    (("clock-without-snapshot", "sequence-clock-of-another-sequence"), ("ad-hoc-clock-id",)),
    (("ad-hoc-clock-id",), ("clock-id-collision",)),
    ((_SHIFTED,), ("clock-stepped", "clock-id-collision", "snapshot-outlier")),
    ((_SHIFTED, *_JUMPED), _MISPLACED),
    (("drift-beyond-healthy",), ("snapshots-too-sparse",)),
    (
        ("snapshots-too-sparse", "offsets-scatter"),
        ("used-before-first-snapshot", "used-after-last-snapshot", "events-reordered"),
    ),
    (("snapshots-too-sparse", "snapshots-late"), ("events-reordered",)),
    (("trace-clock-changed-late",), _LOST),
    (
        ("machine-not-synchronised",),
        ("messages-reversed", "used-before-first-snapshot", "used-after-last-snapshot"),
    ),
)
"""Causes and their consequences, if they share a clock; the first that fits counts."""

_ANYWHERE: Final = (
    JOINED,
    DISORDERED,
    MIXED,
    MOVED,
    "trace-truncated",
    "no-snapshots",
    "trace-clock-changed-late",
)
"""Causes that need no common clock; rejected snapshots need none for what is lost."""


def nested(findings: list[Finding], survey: Survey) -> list[Finding]:
    """Return the findings that follow from no other, each with its consequences."""
    parent: dict[int, int] = {}
    by_code = _by_code(findings)
    for causes, effects in _LEADS_TO:
        found = _of_codes(by_code, causes)
        if not found:
            continue
        open_ones = _of_codes(by_code, effects)
        if JOINED in causes:
            # A snapshot that was never written is missing in any order of the file.
            open_ones = [
                j
                for j in open_ones
                if findings[j].code not in _LOST or survey.was_written(findings[j].clocks)
            ]
        by_clock: dict[ClockId, list[int]] = defaultdict(list)
        for j in open_ones:
            for clock in findings[j].clocks:
                by_clock[clock].append(j)
        for i in found:
            cause = findings[i]
            if i in parent:
                continue
            of_file = cause.code == _ODD and not cause.clocks
            if of_file or cause.code in _ANYWHERE or effects in (_NOT_THERE, _UNTIL_LATER):
                open_ones = [j for j in open_ones if j not in parent]
                reached = open_ones
            else:
                reached = [j for clock in cause.clocks for j in by_clock[clock]]
                if cause.code == "suspend":
                    reached = [j for j in reached if _may_follow_from_sleep(findings[j])]
            parent.update({j: i for j in reached if j not in parent and j != i})
    consequences: dict[int, list[Finding]] = defaultdict(list)
    for j in sorted(parent):
        consequences[_root(parent, j)].append(findings[j])
    return [
        finding.leading_to(*consequences[i]) if i in consequences else finding
        for i, finding in enumerate(findings)
        if i not in parent
    ]


def _by_code(findings: list[Finding]) -> dict[str, list[int]]:
    """The positions of findings by code; some odd times have one of their own, too."""
    found: dict[str, list[int]] = defaultdict(list)
    for i, finding in enumerate(findings):
        found[finding.code].append(i)
        if finding.code == _ODD and kind_of(finding) in _BEYOND:
            found[_TOO_LARGE].append(i)
    return found


def _may_follow_from_sleep(effect: Finding) -> bool:
    """Not a new rate of clocks that go on while the machine sleeps, such as REALTIME."""
    return effect.code != "rate-changed" or any(c.clock not in _GO_ON for c in effect.clocks)


def _of_codes(by_code: dict[str, list[int]], codes: tuple[str, ...]) -> list[int]:
    """Return the positions of the findings of some codes, in order."""
    return sorted(chain.from_iterable(by_code.get(code, ()) for code in codes))


def _root(parent: dict[int, int], i: int) -> int:
    while i in parent:
        i = parent[i]
    return i
