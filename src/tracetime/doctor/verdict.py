"""All findings of a trace in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tracetime.doctor.finding import Finding
from tracetime.text import count

FAULTS: Final = frozenset(
    {
        "clock-ran-backwards",
        "clock-reset",
        "clock-stands-still",
        "clock-stepped",
        "counter-wraps",
        "drift-beyond-healthy",
        "paths-disagree",
        "rate-not-nominal",
        "realtime-set-back",
        "snapshot-outlier",
    }
)
"""Codes of findings that a clock is wrong, of severity info where no event is the worse for it."""


def faults(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings of severity info that say that a clock is wrong."""
    return [f for f in findings if f.severity == "info" and f.code in FAULTS]


def verdict(findings: Sequence[Finding]) -> str:
    """Return the findings in a sentence, without its full stop: "1 error and 2 warnings"."""
    counts = Counter[str](finding.severity for finding in findings)
    bad = [count(n, severity) for severity in ("error", "warning") if (n := counts[severity])]
    if bad:
        return " and ".join(bad)
    if wrong := faults(findings):
        more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        return f"no errors or warnings, but {wrong[0].title}{more}"
    return "the clocks are in order"
