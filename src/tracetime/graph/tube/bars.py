"""The two kinds of error bars that a tube gives."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tracetime.errors import UsageError

Bars: TypeAlias = Literal["estimated", "guaranteed"]
"""What bars are to hold: as far as snapshots show, or as long as the declared limits do."""


def check_bars(bars: str) -> None:
    """Raise UsageError for an unknown kind of bars."""
    if bars not in ("estimated", "guaranteed"):
        raise UsageError(f"bars are 'estimated' or 'guaranteed', not {bars!r}")
