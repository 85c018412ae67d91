"""The records of a data set: a file for each trace, of a finished or of a rejected one.

    TABLE/KEY-CONTENT.parquet    the rows of one trace; clocks/ has one beside each of findings/
    log/TABLE/KEY.json           a `Record` of one whose part is complete
    rejected/TABLE/KEY.json      a `Record` of one that could not be read, with the error
    log/TABLE.json               the options, which are those of all parts

KEY is a hash of the URI and the options, CONTENT one of the bytes of the trace: whoever makes a
part again, at whatever time, writes the same one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tracetime._version import __version__
from tracetime.errors import UsageError
from tracetime.fleet.options import DIGITS, Options, Table

if TYPE_CHECKING:
    from tracetime.fleet.store import Store

_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome for one trace.

    Attributes:
        uri, stamp, size: the trace, as of `Source`, when it was read.
        content: SHA-256 of its bytes; empty where they could not be read.
        part: the file with its rows, without its directory; empty if it was rejected.
        rows: of the part.
        seconds: that it took.
        facts: what the verb tells of the trace: its trace clock, how many events have no time.
        error: why it was rejected, as `TracetimeError.to_dict`; else None.
        final: whether the error is in the trace, so that the same trace is rejected again.
        unchanged: whether the part was there already, of the same bytes.
    """

    uri: str
    stamp: str
    size: int
    content: str = ""
    part: str = ""
    rows: int = 0
    seconds: float = 0.0
    facts: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    final: bool = False
    unchanged: bool = False

    def to_json(self) -> bytes:
        """The record as JSON."""
        return _json({"schema": _SCHEMA, "version": __version__, **asdict(self)})

    @classmethod
    def from_json(cls, content: bytes) -> Self | None:
        """Return the record that `to_json` wrote; None of other bytes: the trace is done again."""
        try:
            found = json.loads(content)
            return cls(**{one.name: found[one.name] for one in fields(cls)})
        except (ValueError, KeyError, TypeError):
            return None


def part_name(key: str, content: str) -> str:
    """The file of the rows of a trace."""
    return f"{key}-{content[:DIGITS]}.parquet"


def key_of(part: str) -> str:
    """The key in the name of a part."""
    return part.partition("-")[0]


def log_of(table: Table) -> str:
    """The folder of the records of finished traces."""
    return f"log/{table}"


def header_of(table: Table) -> str:
    """The file of the options of a table."""
    return f"log/{table}.json"


def rejected_of(table: Table) -> str:
    """The folder of the records of rejected traces."""
    return f"rejected/{table}"


def put_json(store: Store, folder: Path, name: str, content: bytes) -> None:
    """Put a small file to its name; folder: a `workspace`."""
    path = folder / "record.json"
    path.write_bytes(content)
    store.put(path, name)


def check_options(store: Store, options: Options) -> None:
    """Let all parts of a table have been made with these options, so that they have one schema.

    Raises:
        UsageError: there are parts of other options, or other files; the file of the options is
            damaged.
    """
    header = header_of(options.table)
    mine = {"schema": _SCHEMA, **json.loads(_json(options.to_dict()))}
    for _, content in store.read([header]):
        try:
            found = dict(json.loads(content))
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"{header} of the data set is damaged, so that nobody knows the options of its "
                "parts; choose another directory (-o)"
            ) from error
        if found != mine:
            raise UsageError(f"{_difference(found, mine)}; choose another directory (-o)")
        return
    for table in options.tables:
        if store.names(table):
            raise UsageError(
                f"there are files in {table}/ that are no parts of a data set of tracetime; "
                "choose another directory (-o)"
            )
    with store.workspace() as folder:
        put_json(store, folder, header, _json(mine))


def _difference(found: dict[str, Any], mine: dict[str, Any]) -> str:
    flat = [{**one, **one.get("reading", {})} for one in (found, mine)]
    names = [name for name in flat[1] if flat[0].get(name) != flat[1][name] and name != "reading"]
    listed = ", ".join(f"{name} {flat[0].get(name)!r}" for name in names)
    return f"this data set has parts that were made with other options: {listed}"


def _json(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, sort_keys=True, indent=1).encode()
