"""The options of reading a trace: the arguments of `open_trace` besides its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from tracetime.clocks.domain import ClockDomain

MAX_EXPANSION: Final = 4 << 30
"""Bytes that decompression may yield; real traces are smaller."""

MAX_CLOCKS: Final = 1 << 14
"""Clocks that snapshots may name; the largest real traces known have some hundreds.

Each costs every command some 0.1 ms. Of lists of clocks there may be as many.
"""
MAX_TUBES: Final = 3000
"""Pairs of clocks whose error bars may be worked out, which takes about a millisecond each."""

OrderSource = Literal["flows"]
"""What a trace may show to have happened before what: flows of events between machines."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """The options of reading a trace; `open_trace` says what each field means."""

    partial: bool = False
    max_expansion: int = MAX_EXPANSION
    max_clocks: int = MAX_CLOCKS
    max_tubes: int = MAX_TUBES
    domains: tuple[ClockDomain, ...] = ()
    orders: OrderSource | None = None
