"""Write what the doctor's catalogue says into docs/findings: the list of README.md, and the head of
each page. A test compares them.

Usage: write_findings.py
"""

from __future__ import annotations

from pathlib import Path

from tracetime.doctor.catalogue import CATALOGUE, Row

PAGES = Path(__file__).parent.parent / "docs" / "findings"
LIST = PAGES / "README.md"

_COLUMNS = "| code | severity | what was seen |\n|---|---|---|\n"
_WHY = "\n## Why\n"


def severities(row: Row) -> str:
    """Which severities a kind of finding has, and where."""
    return row.severity + (f"; {row.otherwise}" if row.otherwise else "")


def listed(text: str) -> str:
    """The page of the list as it should be, from its present text."""
    head, _, _ = text.partition(_COLUMNS)
    rows = sorted(CATALOGUE.values(), key=lambda row: row.code)
    lines = [f"| [{r.code}]({r.code}.md) | {severities(r)} | {r.seen} |\n" for r in rows]
    return head + _COLUMNS + "".join(lines)


def page(row: Row, text: str) -> str:
    """A finding's page as it should be, from its present text; all after its head stays."""
    rest = text.partition(_WHY)[2] or "\n\n## What to do\n\n"
    return f"# {row.code}\n\n{row.seen}\n\n**Severity:** {severities(row)}.\n{_WHY}{rest}"


def main() -> None:
    LIST.write_text(listed(LIST.read_text()))
    for row in CATALOGUE.values():
        path = PAGES / f"{row.code}.md"
        path.write_text(page(row, path.read_text() if path.exists() else ""))


if __name__ == "__main__":
    main()
