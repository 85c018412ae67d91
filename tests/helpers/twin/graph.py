"""The clock graph, step by step as clock_synchronizer.cc has it."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .wire import INT64_MAX, INT64_MIN, U64, fits, signed

REALTIME, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME, TRACE_FILE = 1, 3, 4, 5, 6, 11

RESOLVED = "resolved"
AS_IS = "as_is"
UNKNOWN_SOURCE = "unknown_source_clock"
UNKNOWN_TARGET = "unknown_target_clock"
NO_PATH = "no_path"
NON_MONOTONIC = "non_monotonic_source"
OVERFLOW = "overflow"
SKIPPED = "skipped_incremental_state"

MAX_HOPS = 4
CACHE_SIZE = 8


class Key(NamedTuple):
    """One clock; keys sort as Perfetto sorts them."""

    clock: int
    sequence: int = 0
    file: int = 0
    machine: int = 0


class Reading(NamedTuple):
    key: Key
    value: int
    unit: int = 1
    incremental: bool = False


class Result(NamedTuple):
    value: int | None
    status: str


def is_sequence_clock(clock: int) -> bool:
    return 64 <= clock < 128


def series_hash(keys: Iterable[Key]) -> int:
    h = 0xE17A1465
    for key in keys:
        for part in key:
            h ^= (mix(part) + 0x9E3779B9 + (h << 6) + (h >> 2)) & (U64 - 1)
    return h & 0xFFFFFFFF


def mix(h: int) -> int:
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & (U64 - 1)
    h ^= h >> 33
    h = h * 0xC4CEB9FE1A85EC53 & (U64 - 1)
    return h ^ h >> 33


@dataclass
class Series:
    """One clock's readings in the snapshots of one hash."""

    ids: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)


@dataclass
class Domain:
    unit: int = 1
    incremental: bool = False
    last: int = 0
    series: dict[int, Series] = field(default_factory=dict)

    def to_ns(self, value: int) -> tuple[int, bool]:
        """(ns, whether it is exact); an incremental clock moves on, wrapping as int64 does."""
        ns = value * self.unit
        exact = fits(ns)
        if self.incremental:
            ns = self.last + signed(ns)
            exact = exact and fits(ns)
            self.last = signed(ns)
        return signed(ns), exact


class Cached(NamedTuple):
    src: Key
    dst: Key
    lowest: int
    end: int
    translation: int


class TwinGraph:
    def __init__(self, trace_clock: Key = Key(TRACE_FILE)) -> None:  # noqa: B008
        self.trace_clock = trace_clock
        self.domains: dict[Key, Domain] = {}
        self.edges: dict[Key, list[tuple[Key, int]]] = {}
        self.non_monotonic: set[Key] = set()
        self.cache: list[Cached | None] = [None] * CACHE_SIZE
        self.random = 1
        self.next_id = 0

    def add_snapshot(self, readings: list[Reading]) -> bool:
        """False where an error dropped the rest of the snapshot."""
        snapshot_id = self.next_id
        self.next_id += 1
        self.cache = [None] * CACHE_SIZE
        hashed = series_hash(reading.key for reading in readings)
        for reading in readings:
            if not self._add_reading(reading, snapshot_id, hashed):
                return False
        for i, one in enumerate(readings):
            for other in readings[i + 1 :]:
                self._add_edge(one.key, other.key, hashed)
                self._add_edge(other.key, one.key, hashed)
        return True

    def _add_reading(self, reading: Reading, snapshot_id: int, hashed: int) -> bool:
        key = reading.key
        domain = self.domains.setdefault(key, Domain())
        if not domain.series:
            if reading.incremental and key.sequence == 0:
                return False
            domain.unit = reading.unit
            domain.incremental = reading.incremental
        elif (domain.unit, domain.incremental) != (reading.unit, reading.incremental):
            return False
        is_trace_clock = key == self.trace_clock
        if is_trace_clock and domain.unit != 1:
            return False
        ns = reading.value * domain.unit
        if not fits(ns):  # where Perfetto's number would wrap
            return False
        domain.last = ns
        series = domain.series.setdefault(hashed, Series())
        if series.ids and series.ids[-1] == snapshot_id:
            return False
        if series.values and ns < series.values[-1]:
            if is_trace_clock:
                return False
            self.non_monotonic.add(key)
            self.edges.pop(key, None)
        series.ids.append(snapshot_id)
        series.values.append(ns)
        return True

    def _add_edge(self, src: Key, dst: Key, hashed: int) -> None:
        if src in self.non_monotonic:
            return
        edges = self.edges.setdefault(src, [])
        at = bisect.bisect_left(edges, (dst, hashed))
        if at == len(edges) or edges[at] != (dst, hashed):
            edges.insert(at, (dst, hashed))

    def convert(self, src: Key, ts: int, dst: Key) -> Result:
        if src == dst:
            return Result(ts, RESOLVED)
        ns: int | None = None
        for entry in self.cache:
            if entry is None or (entry.src, entry.dst) != (src, dst):
                continue
            if ns is None:
                ns, exact = self.domains[src].to_ns(ts)
                if not exact:
                    return Result(None, OVERFLOW)
            if entry.lowest <= ns < entry.end:
                return in_range(ns + entry.translation)
        return self._convert_slowly(src, ts, ns, dst)

    def _convert_slowly(self, src: Key, ts: int, ns: int | None, dst: Key) -> Result:
        if src not in self.domains:
            return Result(None, UNKNOWN_SOURCE)
        if dst not in self.domains:
            return Result(None, UNKNOWN_TARGET)
        path = self.find_path(src, dst)
        if path is None:
            return Result(None, NON_MONOTONIC if src in self.non_monotonic else NO_PATH)
        if ns is None:
            ns, exact = self.domains[src].to_ns(ts)
            if not exact:
                return Result(None, OVERFLOW)
        translation, lowest, end = 0, INT64_MIN, INT64_MAX
        for one, other, hashed in path:
            here, there = self.domains[one].series[hashed], self.domains[other].series[hashed]
            at = max(bisect.bisect_right(here.values, ns) - 1, 0)
            match = bisect.bisect_left(there.ids, here.ids[at])
            if match == len(there.ids) or there.ids[match] != here.ids[at]:
                continue  # a reading without partner: adds 0, and bounds nothing
            hop = there.values[match] - here.values[at]
            ns += hop
            if not (fits(hop) and fits(ns)):
                return Result(None, OVERFLOW)
            if at > 0:
                lowest = max(lowest, here.values[at] - translation)
            if at + 1 < len(here.values):
                end = min(end, here.values[at + 1] - translation)
            translation += hop
        self.random = self.random * 48271 % 2147483647
        made = Cached(src, dst, lowest, end, translation)
        # A sum of hops beyond int64 cannot be kept, though each value on the way fits.
        self.cache[self.random % CACHE_SIZE] = made if fits(translation) else None
        return Result(ns, RESOLVED)

    def find_path(self, src: Key, dst: Key) -> list[tuple[Key, Key, int]] | None:
        """The shortest path of at most four hops; the first in (source, target, hash) order."""
        seen = {src}
        queue: deque[tuple[Key, list[tuple[Key, Key, int]]]] = deque([(src, [])])
        while queue:
            here, path = queue.popleft()
            if len(path) >= MAX_HOPS:
                continue
            for there, hashed in self.edges.get(here, []):
                longer = [*path, (here, there, hashed)]
                if there == dst:
                    return longer
                if there not in seen:
                    seen.add(there)
                    queue.append((there, longer))
        return None


def in_range(value: int) -> Result:
    return Result(value, RESOLVED) if fits(value) else Result(None, OVERFLOW)


class Tracker:
    """One machine's view of the graph (clock_tracker.cc, for the first file of a machine)."""

    def __init__(self, graph: TwinGraph, machine: int) -> None:
        self.graph = graph
        self.machine = machine
        self.default_clock: Key | None = None
        self.queried = False
        self.bridged = False

    def own(self, key: Key) -> Key:
        return key._replace(machine=self.machine)

    def set_global_clock(self, key: Key) -> None:
        if not self.queried:
            self.graph.trace_clock = self.own(key)

    def add_snapshot(self, readings: list[Reading]) -> None:
        self.add_qualified([r._replace(key=self.own(r.key)) for r in readings])

    def add_qualified(self, readings: list[Reading]) -> None:
        graph = self.graph
        if not graph.add_snapshot(readings):
            return
        for reading in readings:  # the importer's table of snapshots; it goes through the cache
            value = 0 if reading.incremental else reading.value
            graph.convert(reading.key, value, graph.trace_clock)

    def to_trace_time(self, key: Key, ts: int) -> Result:
        if not self.bridged:
            self.bridged = True
            self._bridge()
        self.queried = True
        return self.graph.convert(self.own(key), ts, self.graph.trace_clock)

    def _reaches(self, src: Key, dst: Key) -> bool:
        # A conversion that overflows has a path: it is one that the importer makes.
        return self.graph.convert(src, 0, dst).status in (RESOLVED, OVERFLOW)

    def _bridge(self) -> None:
        trace_clock = self.graph.trace_clock
        boottime = self.own(Key(BOOTTIME))
        if boottime == trace_clock or self._reaches(boottime, trace_clock):
            return
        realtime = self.own(Key(REALTIME))
        meeting = Key(REALTIME, machine=trace_clock.machine)
        if (
            realtime != meeting
            and self._reaches(boottime, realtime)
            and self._reaches(meeting, trace_clock)
        ):
            if not self._reaches(realtime, meeting):
                self.add_qualified([Reading(realtime, 0), Reading(meeting, 0)])
        elif trace_clock.clock in (TRACE_FILE, BOOTTIME):
            self.add_qualified([Reading(boottime, 0), Reading(trace_clock, 0)])
