"""What spans come from: processes on hosts, numbered as they appear in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.columns.arrays import arrow_of, texts_of

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
    """A process that spans come from.

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
                    "that many, raise the limit (--max-clocks)"
                )
            self.hosts.append(host)
        return number
