"""Traces of the command line: a file is one, an archive has several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from tracetime.commands.terminal import echo
from tracetime.errors import TracetimeError
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.trace.trace import Trace


def traces_in(
    paths: Iterable[str], options: dict[str, Any], *, with_damage: bool = False
) -> Iterator[tuple[str, Callable[[], Trace]]]:
    """Yield the path of each trace, and what opens it until the next is asked for.

    An archive that cannot be read is yielded, too: what opens it raises why.

    Args:
        paths: of traces and archives.
        options: of `open_trace`.
        with_damage: yield an archive of which a part can be read, too, after its members: what
            opens it raises why the others cannot. Without, a warning says so.
    """
    from tracetime.formats import open_archive

    for path in paths:
        try:
            archive, opens = open_archive(path, **options)
        except TracetimeError as error:
            yield path, partial(_raise, error)
            continue
        if archive is None:
            yield path, opens
            continue
        with archive:
            try:
                archive.check_traces()
                archive.check_sizes()
            except TracetimeError as error:
                yield path, partial(_raise, error)
                continue
            for name, why in archive.left_out.items():
                echo(f"note: {printable(path)}: {printable(name)} is left out: {why}", err=True)
            if archive.damage is not None and not with_damage:
                echo(f"warning: {printable(path)}: {archive.damage}", err=True)
            for name in archive.members:
                yield f"{path}:{name}", partial(archive.open, name)
            if archive.damage is not None and with_damage:
                yield path, partial(_raise, archive.damage)


def _raise(error: TracetimeError) -> NoReturn:
    raise error
