"""Notes: facts of a trace beside its events and clocks, as data, from its format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tracetime.clocks.ids import ClockId
from tracetime.graph.values import Values


class Note(NamedTuple):
    """A fact of a trace.

    Attributes:
        code: of the doctor's catalogue: the kind of finding that the fact makes, or is a part of.
        kind: which of the kinds that the catalogue's row has; empty where it has one.
        packets: where, the first or the worst; empty where it is about the file.
        offset: of the first byte of that; 0 where it is not known.
        events: how many it is about; None: all that its clocks have.
        size_ns: by how much at most; None where there is no such figure.
        clocks: concerned, in order.
        values: what the texts of the row name, and what else is known.
        places: of the events, int64[n] each: readings of the first clock in ns, and the packets
            that hold them; None where they are only counted.
    """

    code: str
    kind: str = ""
    packets: tuple[int, ...] = ()
    offset: int = 0
    events: int | None = 0
    size_ns: int | None = None
    clocks: tuple[ClockId, ...] = ()
    values: Mapping[str, Any] = MappingProxyType({})
    places: tuple[Values, Values] | None = None

    @property
    def packet(self) -> int | None:
        """The first of the packets; None where there is none."""
        return self.packets[0] if self.packets else None
