"""A row of the catalogue: all that is constant about one kind of finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracetime.doctor.finding import Severity


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of finding, with its texts.

    In `title`, `why`, `fix` and the parts, `{name}` stands for a value: one that the check gives,
    or of the finding itself `{clock}` (the first), `{clocks}`, `{events}` and `{worst}`. A part's
    name stands for its text where the check says that it applies, and for nothing where it does
    not; a part may hold those before it.

    Attributes:
        code: stable name; its page is docs/findings/CODE.md.
        severity: where the check does not say another one.
        seen: what was seen in the trace, in a sentence, for the documentation.
        title, why, fix: as of a `Finding`.
        otherwise: which other severities there are, and where, for the documentation.
        parts: texts within the others that only some findings have, by name.
    """

    code: str
    severity: Severity
    seen: str
    title: str
    why: str
    fix: str
    otherwise: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
