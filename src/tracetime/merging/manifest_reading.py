"""The reader of a perfetto_manifest, version 1: machines of the files of an archive, and offsets.

Validated whole before a trace is read, in trace_processor's words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.clocks.json_facts import as_json
from tracetime.errors import TraceError
from tracetime.text import printable

TIES: Final = "tracetime_merge"
"""The attribute that has the options of `merge`, as JSON."""
_LISTS: Final = ("sync", "match", "together", "same", "different")
_TEXTS: Final = ("collective_ends", "assume_wall_clock", "at", "orders")

VERSION: Final = 1
MOST_BYTES: Final = 16 << 20
MOST_ENTRIES: Final = 10_000
MOST_MACHINES: Final = 1_000
CLOCK_NAMES: Final = (
    "REALTIME",
    "REALTIME_COARSE",
    "MONOTONIC",
    "MONOTONIC_COARSE",
    "MONOTONIC_RAW",
    "BOOTTIME",
)

_MOST_ID: Final = (1 << 32) - 1
_MOST_INT64: Final = (1 << 63) - 1
_SHOWN: Final = 100
"""Characters of a text of the file that an error repeats."""


@dataclass(frozen=True, slots=True)
class ManifestMachine:
    """A machine's name, and its id in the packets of the file; None: the whole file is of it."""

    name: str
    id: int | None


@dataclass(frozen=True, slots=True)
class ClockOverride:
    """One clock of a file reads T when the reference reads T + `offset_ns`.

    Attributes:
        clock: number of the file's clock; None pins a file that has no clocks of its own.
        machine: whose clock it is; None where the file is of one machine.
        file: path of the reference.
        reference_clock: None: the timeline of a reference without clocks.
        reference_machine: see machine.
        offset_ns: how far the reference is ahead.
    """

    clock: int | None
    machine: str | None
    file: str
    reference_clock: int | None
    reference_machine: str | None
    offset_ns: int


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The entry of a manifest on one member of the archive."""

    path: str
    machines: tuple[ManifestMachine, ...]
    clocks: ClockOverride | None

    @property
    def is_multi_machine(self) -> bool:
        """Whether packets name their machines."""
        return any(machine.id is not None for machine in self.machines)


@dataclass(frozen=True, slots=True)
class TraceTime:
    """The clock of the merged timeline, and the file that has it; None: the first file."""

    clock: int
    file: str | None
    machine: str | None


@as_json("name _str_value _int_value")
class Attribute(NamedTuple):
    """An attribute that a manifest gives its archive.

    Attributes:
        name: what it is called.
    """

    name: str
    value: str | int

    @property
    def _str_value(self) -> str | None:
        """The value, where it is text; null where it is a number."""
        return self.value if isinstance(self.value, str) else None

    @property
    def _int_value(self) -> int | None:
        """The value, where it is a number; null where it is text."""
        return self.value if isinstance(self.value, int) else None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole manifest.

    Attributes:
        files: one for each entry, in order; paths are unique.
        trace_time: None where the first file's clock is taken.
        attributes: of the archive; keys are unique.
    """

    files: tuple[ManifestFile, ...]
    trace_time: TraceTime | None
    attributes: tuple[Attribute, ...]

    @property
    def ties(self) -> dict[str, Any] | None:
        """The options of `merge` by which this library made its offsets; None of any other.

        The offsets are what they and the files led to, without the drift.
        """
        text = next((one.value for one in self.attributes if one.name == TIES), None)
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or not found.keys() <= {*_LISTS, *_TEXTS}:
            return None
        lists = (found.get(name, []) for name in _LISTS)
        if not all(isinstance(one, list) and all(isinstance(t, str) for t in one) for one in lists):
            return None
        if found.get("orders", "flows") != "flows":
            return None
        return found if all(isinstance(found.get(name, ""), str) for name in _TEXTS) else None

    def entry(self, path: str) -> ManifestFile | None:
        """The entry of the manifest on a member; None without one."""
        return next((file for file in self.files if file.path == path), None)


class _Object(dict[str, object]):
    """An object of JSON, and a key that it has twice."""

    def __init__(self, pairs: Sequence[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self.twice: str | None = None
        if len(self) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self.twice = key
                seen.add(key)


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest; fields that are not known are passed over.

    Raises:
        TraceError: it is no JSON, is too large, or breaks a rule of the format.
    """
    if len(data) > MOST_BYTES:
        _refuse(f"it is larger than {MOST_BYTES >> 20} MiB")
    try:
        top = json.loads(data.decode(), object_pairs_hook=_Object, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise TraceError(f"perfetto_manifest: it is no JSON: {printable(reason, 200)}") from None
    root = _object(_object(top, "the file").get("perfetto_manifest"), "perfetto_manifest")
    if "version" not in root:
        _refuse("missing required field: version")
    version = root["version"]
    if type(version) is not int or version != VERSION:
        shown = version if isinstance(version, str) else json.dumps(version)
        _refuse(f"unsupported version: {_shown(shown)}. Only version 1 is supported")
    files = tuple(_files(root))
    by_path = {file.path: file for file in files}
    if len(by_path) < len(files):
        paths = Counter(file.path for file in files)
        _refuse(f"files: {_quoted(paths.most_common(1)[0][0])} is there twice: keep one entry")
    for file in files:
        if file.clocks is not None:
            _check_override(file, file.clocks, by_path)
    return Manifest(files, _trace_time(root, by_path), tuple(_attributes(root)))


def _files(root: _Object) -> Iterator[ManifestFile]:
    for entry in _array(root.get("files"), "files", MOST_ENTRIES):
        file = _object(entry, "files: an entry")
        path = _required(file, "path", "files")
        yield ManifestFile(path, tuple(_machines(file)), _override(file))


def _machines(file: _Object) -> Iterator[ManifestMachine]:
    if "machine" in file and "machines" in file:
        _refuse("machine and machines are mutually exclusive")
    if "machine" in file:
        machine = _object(file["machine"], "machine")
        yield ManifestMachine(_machine_name(machine, "machine"), None)
    ids: set[int] = set()
    for entry in _array(file.get("machines"), "machines", MOST_MACHINES):
        machine = _object(entry, "machines: an entry")
        number = machine.get("id")
        if type(number) is not int or not 0 <= number <= _MOST_ID:
            _refuse(f"machines: id must be in [0, {_MOST_ID}]")
        if number in ids:
            _refuse(f"machines: id {number} is there twice")
        ids.add(number)
        yield ManifestMachine(_machine_name(machine, "machines"), number)


def _machine_name(machine: _Object, where: str) -> str:
    name = machine.get("name")
    if not isinstance(name, str) or not name:
        _refuse(f"{where}: name must be non-empty")
    return name


def _override(file: _Object) -> ClockOverride | None:
    if file.get("clocks") is None:
        return None
    clocks = _object(file["clocks"], "clocks")
    if clocks.get("sync_to") is None:
        _refuse("clocks: a sync_to block is required")
    to = _object(clocks["sync_to"], "clocks: sync_to")
    if to.get("file") is None and to.get("machine") is not None:
        _refuse("clocks: sync_to.machine alone is ambiguous; name the file too with sync_to.file")
    if to.get("file") is None:
        _refuse("clocks: sync_to.file is required")
    offset = clocks.get("offset_ns", 0)
    if type(offset) is not int:
        _refuse("clocks: offset_ns must be an integer")
    if abs(offset) > _MOST_INT64:
        _refuse("clocks: offset_ns is out of range")
    return ClockOverride(
        _clock(clocks),
        _text(clocks, "machine", "clocks"),
        _required(to, "file", "clocks: sync_to"),
        _clock(to),
        _text(to, "machine", "clocks: sync_to"),
        offset,
    )


def _check_override(
    file: ManifestFile, override: ClockOverride, by_path: dict[str, ManifestFile]
) -> None:
    """Raise TraceError where the override names a machine or file that is not declared."""
    reference = by_path.get(override.file)
    if reference is None:
        _refuse(
            f"clocks: sync_to.file names unknown file {_quoted(override.file)}. "
            "It must match the path of an entry in the files array"
        )
    if file.is_multi_machine and override.machine is None:
        _refuse(
            f"clocks: file {_quoted(file.path)} is a multi-machine trace; name which machine the "
            "clock is on with clocks: machine."
        )
    if reference.is_multi_machine and override.reference_machine is None:
        _refuse(
            f"clocks: sync_to.file {_quoted(reference.path)} is a multi-machine trace; also name "
            "the machine with clocks: sync_to.machine"
        )
    _check_declared(override.machine, file, "clocks")
    _check_declared(override.reference_machine, reference, "clocks")


def _check_declared(machine: str | None, file: ManifestFile, where: str) -> None:
    if machine is not None and machine not in (one.name for one in file.machines):
        _refuse(
            f"{where}: machine {_quoted(machine)} is not a machine declared by file "
            f"{_quoted(file.path)}."
        )


def _trace_time(root: _Object, by_path: dict[str, ManifestFile]) -> TraceTime | None:
    if root.get("trace_time") is None:
        return None
    time = _object(root["trace_time"], "trace_time")
    clock = _clock(time)
    if clock is None:
        _refuse("trace_time: clock is required")
    path, machine = (_text(time, key, "trace_time") for key in ("file", "machine"))
    if path is None:
        if machine is not None:
            _refuse("trace_time: machine requires file: name the file too")
        return TraceTime(clock, None, None)
    if path not in by_path:
        _refuse(
            f"trace_time: file names unknown file {_quoted(path)}. "
            "It must match the path of an entry in the files array"
        )
    if by_path[path].is_multi_machine and machine is None:
        _refuse(f"trace_time: {_quoted(path)} is a multi-machine trace; also name the machine")
    _check_declared(machine, by_path[path], "trace_time")
    return TraceTime(clock, path, machine)


def _attributes(root: _Object) -> Iterator[Attribute]:
    attributes = root.get("attributes")
    if attributes is None:
        return
    if not isinstance(attributes, _Object):
        _refuse("attributes must be an object of string or integer values")
    for key, value in attributes.items():
        if not key:
            _refuse("attributes: keys must be non-empty")
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            _refuse(f"attributes: {_quoted(key)} must be a string or an integer")
        if isinstance(value, int) and not -_MOST_INT64 - 1 <= value <= _MOST_INT64:
            _refuse(f"attributes: {_quoted(key)} is out of the range of int64")
        yield Attribute(key, value)


def _clock(where: _Object) -> int | None:
    name = where.get("clock")
    if name is None:
        return None
    if not isinstance(name, str) or name not in CLOCK_NAMES:
        shown = name if isinstance(name, str) else json.dumps(name)
        _refuse(f"unknown clock name: {_shown(shown)}. Use one of {', '.join(CLOCK_NAMES)}")
    return BUILTIN_IDS[name]


def _object(value: object, what: str) -> _Object:
    if not isinstance(value, _Object):
        _refuse(f"{what} must be an object")
    if value.twice is not None:
        _refuse(f"{what} has the key {_quoted(value.twice)} twice")
    return value


def _array(value: object, what: str, most: int) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        _refuse(f"{what} must be an array")
    if len(value) > most:
        _refuse(f"{what} has more than {most} entries")
    return value


def _required(where: _Object, key: str, what: str) -> str:
    text = _text(where, key, what)
    if not text:
        _refuse(f"{what}: {key} must be a string that is not empty")
    return text


def _text(where: _Object, key: str, what: str) -> str | None:
    value = where.get(key)
    if value is not None and not isinstance(value, str):
        _refuse(f"{what}: {key} must be a string")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _quoted(text: str) -> str:
    return f"'{_shown(text)}'"


def _shown(text: str) -> str:
    return printable(text, _SHOWN)


def _refuse(message: str) -> NoReturn:
    raise TraceError(f"perfetto_manifest: {message}")
