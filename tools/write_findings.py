"""Write the texts of the doctor's catalogue into docs/findings: the list, and each page.

A test compares them.

Usage: write_findings.py
"""

from __future__ import annotations

from pathlib import Path

from tracetime.doctor.catalogue import CATALOGUE, Row

PAGES = Path(__file__).parent.parent / "docs" / "findings"
LIST = PAGES / "README.md"

_COLUMNS = "| code | severity | what was seen |\n|---|---|---|\n"
_WHY = "\n## Why\n\n"
_FIX = "\n## What to do\n\n"


def severities(row: Row) -> str:
    """The severities that a kind of finding can have, and when."""
    return "; ".join(f"{severity} {when}".rstrip() for severity, when in row.severities.items())


def listed(text: str) -> str:
    """The page of the list as it should be, from its present text."""
    head, _, _ = text.partition(_COLUMNS)
    rows = sorted(CATALOGUE.values(), key=lambda row: row.code)
    lines = [f"| [{r.code}]({r.code}.md) | {severities(r)} | {r.seen} |\n" for r in rows]
    return head + _COLUMNS + "".join(lines)


def page(row: Row, text: str) -> str:
    """A finding's page as it should be, from its present text."""
    why, _, fix = text.partition(_WHY)[2].partition(_FIX)
    head = f"# {row.code}\n\n{row.seen}\n\n**Severity:** {severities(row)}.\n"
    return f"{head}{_WHY}{section(row.why, why)}\n{_FIX}{section(row.fix, fix)}\n"


def section(own: str, present: str) -> str:
    """A section of a page: the row's text, then the further paragraphs of the present page.

    A text that names values is for findings alone: the page has a paragraph of its own.
    """
    first, _, further = present.strip().partition("\n\n")
    if "{" not in own:
        first = own
    return f"{first}\n\n{further}" if further else first


def main() -> None:
    LIST.write_text(listed(LIST.read_text()))
    for row in CATALOGUE.values():
        path = PAGES / f"{row.code}.md"
        path.write_text(page(row, path.read_text() if path.exists() else ""))


if __name__ == "__main__":
    main()
