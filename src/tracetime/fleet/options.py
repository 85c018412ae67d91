"""The options by which traces of a data set are read and written: the same for all of them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from tracetime.clocks.domain import domain_facts
from tracetime.trace.open_options import OpenOptions

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.results import Bars

Table = Literal["events", "slices", "findings"]
"""The tables that runs are about, each in a directory of this name."""

CLOCKS: Final = "clocks"
"""The table of how clocks run, which is made with that of findings."""

DIGITS: Final = 20
"""Hexadecimal digits in the names of parts: 80 bits, which a million traces do not share."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run: the table, and the reading of each trace.

    Attributes:
        table: the table that its rows go to.
        policy, bars, to, names: as of `tracetime.verbs.convert.convert`; of slices the first two.
        tolerance_ns: of findings, as of `diagnose`.
        reading: how traces are opened.
    """

    table: Table
    policy: PolicyName = "floor"
    bars: Bars = "estimated"
    to: str | None = None
    names: bool = False
    tolerance_ns: int = 0
    reading: OpenOptions = field(default_factory=OpenOptions)

    @property
    def tables(self) -> tuple[str, ...]:
        """Every table that a trace has a part in, of one name; `table` is the first."""
        return (self.table, CLOCKS) if self.table == "findings" else (self.table,)

    def to_dict(self) -> dict[str, Any]:
        """The options in the types of JSON."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        reading = {one.name: getattr(self.reading, one.name) for one in fields(self.reading)}
        reading["domains"] = [domain_facts(one, str(one.id)) for one in self.reading.domains]
        return found | {"reading": reading}

    def key(self, uri: str) -> str:
        """The key of a trace with these options in the names of files."""
        return digest(json.dumps([uri, self.to_dict()], sort_keys=True))


def digest(text: str) -> str:
    """A hash of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]
