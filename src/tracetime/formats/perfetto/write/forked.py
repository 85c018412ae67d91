"""A recording in a forked child: the file is the parent's."""

from __future__ import annotations

import contextlib
import warnings


class ForkedEvents:
    """Drops events; the first one is a warning.

    Args:
        path: of the recording.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._warned = False

    def _drop(self, *_: object) -> bool:
        if not self._warned:
            self._warned = True
            # Where warnings are errors the child goes on all the same.
            with contextlib.suppress(Warning):
                warnings.warn(
                    f"recording {self._path}: it is another process's, and what this one records "
                    "goes nowhere: begin a recording here, in another file",
                    stacklevel=4,
                )
        return False

    instant = begin = end = counter = _drop
