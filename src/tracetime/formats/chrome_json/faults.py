"""What can be wrong in a file of JSON, by the number that the scanner gives."""

from __future__ import annotations

from typing import Final

from tracetime._kernels.chrome_json.reader import Scanner
from tracetime.errors import TraceError

_MEND: Final = "mend the file there, or read what comes before (--partial)"

FAULTS: Final[tuple[str, ...]] = (
    "",
    "JSON that is a trace begins with an object or an array: is this a trace?",
    f"a key in quotes is expected here: {_MEND}",
    f"a colon is expected here, behind a key: {_MEND}",
    f"a value is expected here: {_MEND}",
    f"a comma or a closing brace is expected here: {_MEND}",
    f"an event, an object in braces, is expected here: {_MEND}",
    f"values nest deeper than 256 levels: {_MEND}",
    f"an event or value is longer than 64 MiB, or a quote is missing: {_MEND}",
    f"something follows the end of the trace: {_MEND}",
    "the file is cut off: get a whole copy, or read what there is (--partial)",
    'there is no key "traceEvents" with an array: this is JSON, but no trace',
    "another trace follows in the file: split it here, or read the first one (--partial)",
    "another object follows: a file with an object a line is no trace; make an array of them "
    "(jq -s . FILE)",
    f"JSON has no comments: {_MEND}",
)


_CUT_OFF: Final = 10


def is_usual(scanner: Scanner) -> bool:
    """Whether the file is an array that ends within an event, as of a browser that was killed."""
    return scanner.is_array and scanner.fault == _CUT_OFF


def fault_of(scanner: Scanner) -> TraceError | None:
    """What the scanner found to be wrong; None for nothing."""
    if not scanner.fault:
        return None
    return TraceError(FAULTS[scanner.fault], scanner.fault_offset, scanner.n_events)
