"""A row of the catalogue: all that is constant about one kind of finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from tracetime.doctor.finding import Severity


class Kind(NamedTuple):
    """What is constant about the findings that notes of one kind make.

    Attributes:
        severity: None: the first of the row's.
        why, fix: what `{kind_why}` and `{kind_fix}` stand for in the row's texts.
        parts: the names of the row's parts that apply.
        beyond: the severity where its size is beyond the tolerance; None: as any other.
    """

    severity: Severity | None = None
    why: str = ""
    fix: str = ""
    parts: tuple[str, ...] = ()
    beyond: Severity | None = None


NOTED: Final[Mapping[str, Kind]] = MappingProxyType({"": Kind()})
"""Of a finding that a note makes, where there is one kind of them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of finding, with its texts.

    In `title`, `why`, `fix` and the parts, `{name}` stands for a value: one that the check gives,
    or of the finding itself `{clock}` (the first), `{clocks}`, `{events}` and `{worst}`. A part's
    name stands for its text in the findings to which the check says it applies, and for nothing in
    others; a part may use those before it.

    Attributes:
        code: stable name; its page is docs/findings/CODE.md.
        severities: every severity the finding can have and when, for the documentation. The first
            is that of a finding whose check gives none.
        seen: what was seen in the trace, in a sentence, for the documentation.
        title, why, fix: as of a `Finding`.
        parts: texts within the others that only some findings have, by name.
        kinds: of notes of the trace that make the finding as they are; none where a check makes it.
    """

    code: str
    severities: Mapping[Severity, str]
    seen: str
    title: str
    why: str
    fix: str
    parts: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """The severity of a finding whose check gives none."""
        return next(iter(self.severities))
