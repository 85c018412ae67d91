"""The sources of traces: paths, patterns, directories, lists, and URLs that fsspec opens."""

from __future__ import annotations

import codecs
import contextlib
import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tracetime.atomic_file import open_to_read
from tracetime.errors import UsageError
from tracetime.formats import split_member

_LIST: Final = "@"
_FILE: Final = "file://"
_OF_DATA_SET: Final = re.compile(
    r"(events|slices|findings|clocks)/[^/]*\.parquet"
    r"|(log|rejected)/(events|slices|findings)(/[^/]*)?\.json|\.work/.*",
    re.DOTALL,
)
"""The files of a data set, by their names in it: no traces."""

_VERSIONS: Final = ("ETag", "etag", "md5Hash", "md5", "generation", "content_md5")
_TIMES: Final = ("LastModified", "last_modified", "mtime", "updated", "created")
"""By which file systems of fsspec tell versions of a file apart."""


class Source(NamedTuple):
    """A file with a trace.

    Attributes:
        uri: its absolute path, or its URL.
        stamp: changes where the file does: its size and time of change, or its ETag. Empty where
            the file system tells neither: then it is read again, to see.
        size: of the file, bytes.
    """

    uri: str
    stamp: str = ""
    size: int = 0


def path_or_url(name: str) -> str:
    """A URL of this machine's files as a path: what is at a path is renamed, not copied."""
    return name.removeprefix(_FILE)


def is_remote(uri: str) -> bool:
    """Whether this is a URL for fsspec, not a path."""
    return "://" in uri


def filesystem(uri: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path there.

    Raises:
        UsageError: fsspec, or what it needs for this URL, is not installed.
    """
    try:
        import fsspec.core

        return fsspec.core.url_to_fs(uri)  # type: ignore[no-any-return]
    except ImportError as error:
        raise UsageError(
            f"{uri!r} needs a package: pip install tracetime[fleet] ({error})"
        ) from None
    except ValueError as error:
        raise UsageError(f"cannot read {uri!r}: {error}") from error


def find_sources(uris: Iterable[str], leave_out: str = "") -> Iterator[Source]:
    """Yield the traces that are named, each once.

    Of a directory these are all files below it that do not begin with a dot; a file or a directory
    that cannot be read is yielded, too.

    Args:
        uris: paths, patterns of paths, directories, URLs of these, or `@` and the path of a file
            with one of these on each line; empty lines and those that begin with # are passed over.
        leave_out: a data set, as `path_or_url` names it, whose tables and records are none.

    Raises:
        UsageError: a pattern, a directory or a list without files; a list that cannot be read.
    """
    known = set()
    for uri in uris:
        for listed in _list(uri) if uri.startswith(_LIST) else (uri,):
            named = path_or_url(listed)
            find = _remote if is_remote(named) else _local
            for source in find(named, leave_out):
                if source.uri not in known:
                    known.add(source.uri)
                    yield source


def _list(uri: str) -> list[str]:
    with open_to_read(uri.removeprefix(_LIST)) as file:
        lines = file.read().removeprefix(codecs.BOM_UTF8).splitlines()
    texts = [os.fsdecode(line).strip() for line in lines]
    found = [text for text in texts if text and not text.startswith("#")]
    if not found:
        raise UsageError(f"{uri.removeprefix(_LIST)!r} lists no trace: write one on each line")
    return found


def _local(path: str, leave_out: str) -> Iterator[Source]:
    if Path(path).is_dir():
        found = list(_files_below(path))
    elif not Path(path).exists() and glob.has_magic(path):
        every = glob.iglob(path, recursive=True)  # noqa: PTH207  that of Path takes no absolute one
        found = sorted(name for name in every if Path(name).is_file())
    else:
        found = [path]
    if leave_out and not is_remote(leave_out):
        found = [name for name in found if not _is_of(os.path.realpath(name), leave_out)]
    if not found:
        raise UsageError(f"there is no file in {path!r}: name traces, or a directory of traces")
    yield from map(source_of, found)


def _is_of(uri: str, data_set: str) -> bool:
    """Whether a file is a part or a record of a data set."""
    root = f"{data_set.rstrip('/')}/"
    return uri.startswith(root) and bool(_OF_DATA_SET.fullmatch(uri.removeprefix(root)))


def _files_below(path: str) -> Iterator[str]:
    shut: list[str] = []
    for folder, folders, files in os.walk(path, onerror=lambda error: shut.append(error.filename)):
        folders[:] = sorted(name for name in folders if name[0] != ".")
        yield from (str(Path(folder, name)) for name in sorted(files) if name[0] != ".")
    yield from shut


def _remote(uri: str, leave_out: str) -> Iterator[Source]:
    fs, path = filesystem(uri)
    with usage_errors(uri, "read"):
        if glob.has_magic(path) and not fs.isfile(path):
            found = fs.glob(path, detail=True)
        elif fs.isdir(path):
            below = fs.find(path, detail=True)
            found = {name: below[name] for name in below if not _is_hidden(name, path)}
        else:
            found = None
    if found is None:
        yield source_of(uri)
        return
    files = {
        fs.unstrip_protocol(name): info for name, info in found.items() if info["type"] == "file"
    }
    if is_remote(leave_out):
        other, root = filesystem(leave_out)
        data_set = other.unstrip_protocol(root)
        files = {name: files[name] for name in files if not _is_of(name, data_set)}
    if not files:
        raise UsageError(f"there is no file in {uri!r}: name traces, or a directory of traces")
    for name in sorted(files):
        yield Source(name, *_of_info(files[name]))


def _is_hidden(name: str, folder: str) -> bool:
    """Whether a file, or a directory in which it is, begins with a dot."""
    return "/." in name.removeprefix(folder.rstrip("/"))


@contextlib.contextmanager
def usage_errors(uri: str, verb: Literal["read", "write"]) -> Iterator[None]:
    """A context in which errors of a file system become a `UsageError`."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:  # Each file system has errors of its own.
        raise UsageError(f"cannot {verb} {uri!r}: {error or type(error).__name__}") from error


def file_of(path: str) -> str:
    """The file in which a trace is: of ARCHIVE:MEMBER the archive."""
    named = split_member(path)
    return path if named is None else named[0]


def source_of(uri: str) -> Source:
    """Return a file as it is now; without a stamp where it cannot be reached."""
    if not is_remote(uri):
        path = os.path.abspath(uri)  # noqa: PTH100  a link keeps its name
        try:
            facts = Path(file_of(path)).stat()
        except (OSError, ValueError):
            return Source(path)
        return Source(path, f"{facts.st_size}-{facts.st_mtime_ns}", facts.st_size)
    fs, path = filesystem(uri)
    try:
        fs.invalidate_cache()
        info = fs.info(path)
    except Exception:  # Reading it says why.
        return Source(fs.unstrip_protocol(path))
    return Source(fs.unstrip_protocol(path), *_of_info(info))


def _of_info(info: dict[str, Any]) -> tuple[str, int]:
    """The stamp and the size in the info of fsspec on a file."""
    size = int(info.get("size") or 0)
    versions = [info[name] for name in (*_VERSIONS, *_TIMES) if info.get(name)]
    return (f"{size}-{versions[0]}" if versions else ""), size


@contextlib.contextmanager
def fetch(uri: str, folder: Path) -> Iterator[Path]:
    """Give the path of a file; one that is remote is copied into `folder` first.

    Raises:
        UsageError: it cannot be read.
    """
    if not is_remote(uri):
        yield Path(uri)
        return
    fs, path = filesystem(uri)
    copy = folder / "trace"
    with usage_errors(uri, "read"):
        fs.get_file(path, str(copy))
    yield copy
