"""CTF 1.8 traces, as LTTng and barectf write them: directories, read by babeltrace2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from tracetime.errors import UsageError

if TYPE_CHECKING:
    from tracetime.formats.trace_file import TraceFile
    from tracetime.formats.trace_folder import TraceFolder
    from tracetime.trace.open_options import OpenOptions
    from tracetime.trace.trace import Trace

METADATA: Final = "metadata"
"""The file that a directory with a CTF trace has."""

CTF_2: Final = b"\x1e{"
"""What metadata of CTF 2 begin with, a sequence of JSON texts."""

_BEGINNINGS: Final = (
    b"\x57\x1d\xd1\x75",  # of packets of metadata
    b"\x75\xd1\x1d\x57",
    b"\xc1\x1f\xfc\xc1",  # of packets of a stream
    b"\xc1\xfc\x1f\xc1",
    b"/* CTF ",  # of metadata as text
    CTF_2,
)


def probe_folder(folder: TraceFolder) -> bool:
    """Whether a directory, or one below it, has a CTF trace."""
    return any(path.name == METADATA for path in folder.files)


def open_folder(folder: TraceFolder, options: OpenOptions) -> Trace:
    """Return the trace; see `register_folder_format`."""
    from tracetime.formats.ctf.reader import CtfTrace

    return CtfTrace(folder, options)


def probe(beginning: bytes) -> bool:
    """Whether a file is a part of a CTF trace."""
    return beginning.startswith(_BEGINNINGS)


def open(file: TraceFile, options: OpenOptions) -> NoReturn:
    """Refuse a part of a trace.

    Raises:
        UsageError: always.
    """
    file.close()
    raise UsageError(
        f"{file.path!r} is one file of a CTF trace, which is a directory: give "
        f"{str(Path(file.path).parent)!r}"
    )
