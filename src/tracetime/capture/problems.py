"""Problems during a recording: each kept with its count, and warned of once a subject."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import FromOne

THE_FILE: Final = "the file"
FULL: Final = "max_size is reached: events and snapshots are left out but for the last one"

_MOST_MESSAGES: Final = 100
"""Different ones of a subject: they hold readings, and a broken clock could make them without
end."""


class Problem(NamedTuple):
    """A problem during a recording.

    Attributes:
        what: a clock, a peer, or the file.
        message: what happened.
        times: how often.
    """

    what: str
    message: str
    times: FromOne


class Problems:
    """The problems of one recording.

    Args:
        path: of the recording, for the warnings.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._times: dict[tuple[str, str], int] = {}
        self._messages: Counter[str] = Counter()

    def all(self) -> list[Problem]:
        """All problems, once each, in the order in which they came."""
        return [Problem(*key, times) for key, times in self._times.items()]

    def note(self, what: str, message: str) -> None:
        """Keep a problem; the first of each subject is also a warning."""
        key = what, message
        if key not in self._times:
            if self._messages[what] >= _MOST_MESSAGES:
                return
            self._messages[what] += 1
            if self._messages[what] == 1:
                # Where warnings are errors the recording, and its threads, go on all the same.
                with contextlib.suppress(Warning):
                    text = f"recording {self._path}: {what}: {message}"
                    warnings.warn(printable(text), stacklevel=3)
        self._times[key] = self._times.get(key, 0) + 1
