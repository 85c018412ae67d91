"""The resources of spans: processes on hosts, numbered as they appear in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.formats.spans.batch import SpanLists

# Attributes of OTLP as plain values, and as JSON.

_DIGITS: Final = 20
_DEEPEST: Final = 16
"""Values within values; deeper ones are left out."""


def attributes_of(given: object) -> dict[str, object]:
    """A list of KeyValue messages as a dictionary; what is none of them is left out."""
    return _pairs(given, _DEEPEST)


def encode(attributes: dict[str, object]) -> bytes:
    """Attributes as a JSON object; empty where there are none."""
    return msgspec.json.encode(attributes) if attributes else b""


def _pairs(given: object, depth: int) -> dict[str, object]:
    if not isinstance(given, list):
        return {}
    return {
        pair["key"]: _plain(pair.get("value"), depth)
        for pair in given
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _plain(value: object, depth: int) -> object:
    """An AnyValue message as a value: of the one field that it has."""
    if not isinstance(value, dict) or not value or not depth:
        return None
    kind, held = next(iter(value.items()))
    match kind:
        case "intValue" | "int_value":
            return _whole(held)
        case "arrayValue" | "array_value":
            values = held.get("values") if isinstance(held, dict) else None
            items = values if isinstance(values, list) else []
            return [_plain(item, depth - 1) for item in items]
        case "kvlistValue" | "kvlist_value":
            return _pairs(held.get("values") if isinstance(held, dict) else None, depth - 1)
    return held if isinstance(held, str | int | float) else None


def _whole(held: object) -> object:
    """A whole number, of JSON or of text; as text where it does not fit in int64."""
    text = str(held)
    if not text.removeprefix("-").isdecimal() or len(text) > _DIGITS:
        return text
    number = int(text)
    return number if INT64_MIN <= number <= INT64_MAX else text


Numbers = npt.NDArray[np.int32]

_HOST: Final = (
    "host.id",
    "host.name",
    "hostname",
    "k8s.node.name",
    "k8s.pod.uid",
    "k8s.pod.name",
    "container.id",
    "service.instance.id",
    "service.name",
)
"""What tells hosts apart, the best first: the first of these that a resource has."""

_SHARED: Final = ("", "service.name")

_MOST_RECENT: Final = 1000
"""Texts of resources that are kept: files repeat those of the processes that run."""

_NOBODY: Final = ("", "localhost", "unknown")
"""Values that many hosts share."""


class Host(NamedTuple):
    """A machine, as far as resources tell machines apart; each has a clock.

    by: the attribute that tells it; empty where a resource has none.
    """

    by: str
    name: str


class Resource(NamedTuple):
    """A process with spans.

    Attributes:
        host: its number.
        service: its name; None without one.
        pid: None where it is not known.
    """

    host: int
    service: str | None
    pid: int | None


class Resources:
    """Hosts and resources by number, in order of appearance.

    most_hosts: how many there may be.
    """

    def __init__(self, most_hosts: int) -> None:
        self.hosts: list[Host] = []
        self.resources: list[Resource] = []
        self._most_hosts = most_hosts
        self._host_numbers: dict[Host, int] = {}
        self._numbers: dict[Resource, int] = {}
        self._recent: dict[bytes, int] = {}

    def number_of(self, text: bytes, attributes_of: Callable[[bytes], Mapping[str, object]]) -> int:
        """The number of a resource, by its text, of which the same is not decoded again.

        Raises:
            ValueError: as `number`.
        """
        known = self._recent.get(text)
        if known is None:
            if len(self._recent) == _MOST_RECENT:
                self._recent.clear()
            known = self._recent[text] = self.number(attributes_of(text))
        return known

    def number(self, attributes: Mapping[str, object]) -> int:
        """The number of a resource, by its attributes.

        Raises:
            ValueError: it is of one host too many.
        """
        host = self._host(attributes)
        service, pid = attributes.get("service.name"), attributes.get("process.pid")
        resource = Resource(
            host,
            None if service is None else str(service),
            pid if isinstance(pid, int) and 0 <= pid < 1 << 31 else None,
        )
        number = self._numbers.setdefault(resource, len(self.resources))
        if number == len(self.resources):
            self.resources.append(resource)
        return number

    def hosts_of(self, resource: Numbers) -> Numbers:
        """The number of the host of each resource, by number; int32."""
        return np.array([one.host for one in self.resources], np.int32)[resource]

    def shared_hosts(self) -> list[int]:
        """The numbers of hosts that may be several: no attribute is of one machine alone."""
        return [number for number, host in enumerate(self.hosts) if host.by in _SHARED]

    def host_names(self) -> pa.Array:
        """The name of the host of each resource."""
        return texts_of(self.hosts[one.host].name for one in self.resources)

    def services(self) -> pa.Array:
        """The service of each resource, null without one."""
        return texts_of(one.service for one in self.resources)

    def pids(self) -> pa.Array:
        """The pid of each resource, null without one; int32."""
        pids = [-1 if one.pid is None else one.pid for one in self.resources]
        numbers = np.array(pids, np.int32)
        return arrow_of(numbers, numbers < 0)

    def _host(self, attributes: Mapping[str, object]) -> int:
        host = Host("", "")
        for by in _HOST:
            name = attributes.get(by)
            if name is not None and str(name) not in _NOBODY:
                host = Host(by, str(name))
                break
        number = self._host_numbers.setdefault(host, len(self.hosts))
        if number == len(self.hosts):
            if number == self._most_hosts:
                raise ValueError(
                    f"spans name more than {number} hosts, each with a clock: if they really are "
                    "that many, raise the limit (max_clocks, --max-clocks)"
                )
            self.hosts.append(host)
        return number


# The facts on a format of spans that the reader is given.


class Wanted(IntEnum):
    """The texts of spans that are read."""

    NOTHING = 0
    NAMES = 1
    NAMES_AND_ARGS = 2
    EVENTS = 3
    """Also what the events within spans are."""


Decode: TypeAlias = Callable[[bytes, int, Resources, SpanLists, Wanted], Iterator[None]]
"""Adds the spans of a JSON object to lists: of its text and its first byte in the file; what it
finds of resources goes to these; the last says what to take of texts.

It yields where a batch may end. It raises ValueError, OverflowError or RecursionError for what is
not of the format.
"""


class SpanSource(NamedTuple):
    """A format of spans.

    Attributes:
        unit_ns: of the file's times.
        tick_ns: how far later a clock may have read than its times say, for they are cut off.
        decode: see `Decode`.
    """

    unit_ns: int
    tick_ns: int
    decode: Decode

    @property
    def adds_up(self) -> bool:
        """Whether an end is the sum of what the file has, a begin and a duration."""
        return self.tick_ns > self.unit_ns

    @property
    def begin_cut_ns(self) -> int:
        """The time in ns, at most, by which a begin, or an event, was later than the file says."""
        return self.unit_ns - 1

    @property
    def end_cut_ns(self) -> int:
        """The time by which an end was later: a tick has as many units as make up an end."""
        return self.tick_ns // self.unit_ns * self.begin_cut_ns
