"""The table that a benchmark prints: what was measured, its bar, and the result."""

from __future__ import annotations


class Table:
    """Rows, printed one by one; counts those that miss their bar."""

    def __init__(self) -> None:
        self.missed = 0
        print("     | what | bar | got |")

    def row(self, what: str, bar: str, got: str, ok: bool) -> None:
        self.missed += not ok
        print(f"{'ok  ' if ok else 'MISS'} | {what} | {bar} | {got} |", flush=True)

    def note(self, what: str, got: str) -> None:
        """A figure for comparison, or why there is none; it has no bar."""
        print(f"     | {what} | (for comparison) | {got} |", flush=True)
