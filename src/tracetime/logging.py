"""Log messages in a recording: `logging.getLogger().addHandler(tracetime.logging.Handler(rec))`."""

from __future__ import annotations

import logging
from typing import Final

from tracetime._kernels.perfetto.writer import type_name
from tracetime.capture.recorder import Recorder

_LONGEST_NAME: Final = 1_000
"""Characters of a message in the name of its event; its arguments have all of it."""


class Handler(logging.Handler):
    """Records log messages as instants, on the track of the thread or task that logs.

    An event's name is the message before its values are filled in, so that messages of one kind
    have one name; its category is the logger's name. Its arguments are the `message`, the `level`,
    where it was logged (`file`, `line`) and the `exception`, if it has one, by its type. After the
    end of the recording messages are left out.

    Args:
        recording: which gets them.
        level: of the least important message.
    """

    def __init__(self, recording: Recorder, level: int | str = logging.NOTSET) -> None:
        super().__init__(level)
        self._recording = recording

    def emit(self, record: logging.LogRecord) -> None:
        """Record a message; what goes wrong is reported as `logging` does it."""
        if self._recording.closed:
            return
        try:
            args: dict[str, object] = {
                "message": record.getMessage(),
                "level": record.levelname,
                "file": record.pathname,
                "line": record.lineno,
            }
            if record.exc_info and record.exc_info[0] is not None:
                args["exception"] = type_name(record.exc_info[0])
            name = str(record.msg)[:_LONGEST_NAME].encode("utf-8", "replace").decode()
            self._recording.instant(name, category=record.name, args=args)
        except Exception:
            self.handleError(record)
