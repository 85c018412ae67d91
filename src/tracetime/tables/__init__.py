"""Tables of other programs: opened, converted to another clock, written."""

from typing import Final

QUERY: Final = "duckdb:"
"""What a query begins with, where a file can be given."""
