"""Findings about times that cannot be meant as the file has them, though each can be read.

Notes make them: `odd_times.py` of the formats finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import Kind, Row

_KINDS: Final[Mapping[str, Kind]] = {
    "zero": Kind(
        "warning",
        "They were written without a time, or by a clock that was not running yet. All the others "
        "are far from there, so nobody can say when they were.",
        "Leave them out (`where timestamp > 0`), and mend the program that wrote them.",
    ),
    "units": Kind(
        "warning",
        "Both are far from 0, and a power of 1,000 apart: two programs, or two parts of one, write "
        "their times in different units into one file. Which of the two is right the file does not "
        "say; Chrome's JSON counts microseconds.",
        "Write all times in microseconds. Until then read the two apart, by `timestamp`.",
    ),
    "apart": Kind(
        "warning",
        "The packets of both are read as those of one clock, UTC. A network card stamps by a clock "
        "of its own, which may be set to TAI, or not at all; another machine has another clock. "
        "Bars do not hold that.",
        "Set the clock of the card by that of the system (phc2sys), or move the times of one "
        "interface: `editcap -t SECONDS`.",
    ),
    "joined": Kind(
        "warning",
        "Two captures were joined into one file, though they were recorded at the same time or in "
        "the other order. Where two machines recorded them, their clocks differ, and the packets "
        "of both are read as those of one; where one did, packets may be there twice.",
        "Read each capture alone, and put them side by side by `tracetime merge`.",
    ),
}

ROWS: Final = (
    Row(
        "odd-times",
        {"warning": ""},
        "Times in the file can be read, but cannot be meant as they stand.",
        title="{what}",
        why="{kind_why}",
        fix="{kind_fix}",
        kinds=_KINDS,
    ),
)
