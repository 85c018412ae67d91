"""The clocks of a file's times, and their ties to REALTIME.

metadata.clock-domain is LINUX_CLOCK_MONOTONIC     MONOTONIC
metadata.clock-domain is anything else             a named clock, org.chromium. and that
PyTorch's profiler, without baseTimeNanoseconds    REALTIME
PyTorch's profiler, with it                        org.pytorch.kineto: REALTIME less the base
VizTracer, and compilers with beginningOfTime      org.chromium.trace: REALTIME less that, at first
systrace's text                                    org.kernel.ftrace
and lines within a file of MONOTONIC, if they say what that reads
anything else                                      org.chromium.trace
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import posix_oscillator
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.clocks.known_offsets import UNIX_NS
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.formats.chrome_json.odd_times import Resolutions
from tracetime.graph.clock_graph import ClockGraph
from tracetime.text import count
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import KnownNames, Scanner

# The parts of a file that are not read, or not as they may be meant: notes on each of them.

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_ABSOLUTE_NS: Final = 10**18
"""Times from here on (September 2001) count from 1970."""
_KINETO_KEYS: Final = ("baseTimeNanoseconds", "deviceProperties", "distributedInfo")


class FileValues:
    """The values beside the events, by key; each is decoded once it is asked for.

    What is no JSON, or longer than 1 MiB, is left out.

    Args:
        raw: (key, text, offset), as the scanner has them; of a key twice, the last one counts.
        launched: whether events are calls, and work of GPUs that they launched.
        first_ns: the earliest event.
    """

    def __init__(
        self, raw: Sequence[tuple[bytes, bytes, int]], launched: bool, first_ns: int
    ) -> None:
        self._texts = {key.decode(errors="replace"): text for key, text, _ in raw}
        self._launched = launched
        self._first_ns = first_ns

    @cached_property
    def values(self) -> Mapping[str, Json]:
        """The values beside the events, by key."""
        return {key: found[0] for key in self._texts if (found := self._found(key))}

    def _found(self, key: str) -> tuple[Json] | tuple[()]:
        """A value at the top; nothing where there is none."""
        if key not in self._texts:
            return ()
        try:
            return (json.loads(self._texts[key].decode(errors="replace")),)
        except (ValueError, RecursionError):
            return ()

    def _get(self, key: str) -> Json:
        return next(iter(self._found(key)), None)

    def text(self, key: str, within: str) -> str | None:
        """A text in an object."""
        outer = self._get(within)
        value = outer.get(key) if isinstance(outer, dict) else None
        return value if isinstance(value, str) else None

    def number(self, key: str, within: str | None = None) -> int | None:
        """An integer, at the top or in an object."""
        outer = {key: self._get(key)} if within is None else self._get(within)
        value = outer.get(key) if isinstance(outer, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def is_kineto(self) -> bool:
        """Whether PyTorch's profiler wrote the file: by what stands beside the events, or by
        them."""
        return self._has_header or self._launched

    @property
    def _has_header(self) -> bool:
        return any(self._found(key) for key in _KINETO_KEYS)

    @property
    def is_wall_time(self) -> bool:
        """Whether the times of a file of PyTorch's profiler count from 1970 as they stand."""
        counted = self._has_header or self._first_ns >= _ABSOLUTE_NS
        return self.base_ns == 0 and counted

    @property
    def base_ns(self) -> int | None:
        """The base that PyTorch's profiler took off each time, ns; None where it cannot be read.

        A program that writes the file anew may have made a text of it, which counts as well, or
        a float, which has lost digits.
        """
        value = next(iter(self._found("baseTimeNanoseconds")), 0)
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > INT64_MAX:
            return None
        return value

    @property
    def began_ns(self) -> int | None:
        """How far VizTracer, or a compiler, says that REALTIME is ahead of the times, ns."""
        base = self.number("baseTimeNanoseconds", "viztracer_metadata")
        began_us = self.number("beginningOfTime")
        base = base if began_us is None else began_us * 1000
        return base if base is not None and base + max(self._first_ns, 0) in UNIX_NS else None

    @property
    def about(self) -> str:
        """The rank and the devices of a job of PyTorch: rank 0 of 128 (nccl), 8 x NVIDIA A100."""
        parts = []
        rank, ranks = (self.number(key, "distributedInfo") for key in ("rank", "world_size"))
        if rank is not None:
            backend = self.text("backend", "distributedInfo")
            of = "" if ranks is None else f" of {ranks}"
            parts.append(f"rank {rank}{of}" + (f" ({backend})" if backend else ""))
        devices = self._get("deviceProperties")
        if isinstance(devices, list):
            names = Counter(
                one["name"]
                for one in devices
                if isinstance(one, dict) and isinstance(one.get("name"), str)
            )
            parts += [f"{count} x {name}" for name, count in names.items()]
        return ", ".join(parts)


def is_added_twice(values: FileValues, first_ns: int) -> bool:
    """Whether times that count from 1970 have a base that does so, too."""
    base = values.base_ns
    return base is not None and min(base, first_ns) >= _ABSOLUTE_NS


def _note(what: str, offset: int = 0, packet: int = 0) -> Note:
    return Note("parts-passed-over", offset=offset, values={"what": what, "first": packet})


def passed_over(names: KnownNames, scanner: Scanner, values: FileValues) -> list[Note]:
    """Notes on parts that are not read, or not as they stand, each with its first byte if known."""
    found = [_note(text) for text in _of_events(names)]
    found += [_note(text) for text in _of_base(names, values)]
    if scanner.n_kernel_events:
        events = count(scanner.n_kernel_events, "event")
        text = f"{events} of Fuchsia's kernel (systemTraceEvents as an object) not read"
        found.append(_note(text))
    if scanner.n_strange_lines:
        lines = count(scanner.n_strange_lines, "line")
        text = f"{lines} of another shape than ftrace's: no event"
        found.append(_note(text, scanner.strange_offset, scanner.n_events))
    return found


def passed_over_syncs(values: FileValues, is_text: bool, syncs: Sequence[LineSync]) -> list[Note]:
    """Notes on lines beside events that give readings of other clocks."""
    if is_text or not syncs:
        return []
    if values.text("clock-domain", "metadata") == "LINUX_CLOCK_MONOTONIC":
        text = (
            "lines of systrace say that their clock is not the events' (trace_event_clock_sync): "
            "Perfetto, and so floor, takes both for one; --policy tube does not"
        )
    else:
        text = (
            "lines of systrace say what other clocks read (trace_event_clock_sync), but the file "
            "does not say which clock its events have: taken for the lines', as in Perfetto"
        )
    return [_note(text)]


def _of_events(names: KnownNames) -> Iterator[str]:
    if names.n_long_phases:
        yield (
            f'{count(names.n_long_phases, "event")} with a "ph" of several letters: only the first '
            "counts, as in Perfetto"
        )
    if names.n_endless:
        yield (
            f"{count(names.n_endless, 'complete event')} without a duration that can be read: no "
            "slice, as in Perfetto"
        )
    if names.n_negative:
        events = count(names.n_negative, "complete event")
        yield f"{events} of a duration below 0: no slice, as in Perfetto"
    # A single pid of that kind joins nothing: PyTorch gives the overhead of its profiler to -1.
    if names.n_wide_owners > names.n_wide_alone:
        yield (
            f"{count(names.n_wide_owners, 'event')} with a pid or tid below 0 or beyond 32 bits: "
            "in slices it counts as none, as in Perfetto, so that threads become one; write it as "
            "a text"
        )
    if names.n_wider:
        yield f"{count(names.n_wider, 'event')} with a pid, tid or id beyond 64 bits: it is cut"


def _of_base(names: KnownNames, values: FileValues) -> Iterator[str]:
    base = values.base_ns
    if base is None:
        yield (
            "baseTimeNanoseconds is no whole number within 64 bits: nothing ties the times to "
            "REALTIME"
        )
    elif base and values.text("clock-domain", "metadata") is not None:
        yield "the file has a clock-domain and baseTimeNanoseconds: the base is not added"
    elif base and names.first_ns <= names.last_ns:
        if is_added_twice(values, names.first_ns):
            yield (
                "times count from 1970, and so does baseTimeNanoseconds: it is not added; remove "
                "it, or the part of the times that it repeats"
            )
        elif abs(base) > INT64_MAX - max(-names.first_ns, names.last_ns):
            yield "baseTimeNanoseconds and the times are beyond int64 together: it is not added"


BETWEEN_NS: Final = 1_000_000
"""How long atrace is assumed to take from its reading to the line, at most."""

_SYNC: Final = re.compile(rb"trace_event_clock_sync: (parent|realtime)_ts=(\d{1,13}(?:\.\d{1,9})?)")
_MONOTONIC: Final = ClockId(BUILTIN_IDS["MONOTONIC"])
_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_MS: Final = 1_000_000


class LineSync(NamedTuple):
    """One reading of another clock.

    Attributes:
        ns: of the line.
        clock: that was read.
        reading_ns: what it read.
        half_width_ns: how far off that can be.
    """

    ns: int
    clock: ClockId
    reading_ns: int
    half_width_ns: int


def line_syncs(lines: Sequence[tuple[int, bytes]]) -> list[LineSync]:
    """The readings of (ns, text of the line), in file order.

    Passed over are others, lines before the last one, and readings beyond int64.
    """
    found: list[LineSync] = []
    for ns, text in lines:
        match = _SYNC.fullmatch(text)
        if match is None:
            continue
        value = match[2].decode()
        if match[1] == b"realtime":
            # Whole ms, cut.
            reading, half = int(Decimal(value)) * _MS + _MS // 2, _MS // 2
            clock = _REALTIME
        else:
            reading, half = int(Decimal(value) * 10**9), _float_half_ns(value)
            clock = _MONOTONIC
        if reading > INT64_MAX or (found and ns < found[-1].ns):
            continue
        found.append(LineSync(ns, clock, reading, half + BETWEEN_NS))
    return found


def _float_half_ns(seconds: str) -> int:
    """Half the resolution of a number: of a float of 32 bits, if it was one, else of its text."""
    nearest = np.float32(seconds)
    digits = len(seconds.partition(".")[2])
    if f"{nearest:.{digits}f}" == seconds:
        return int(float(np.spacing(nearest)) * 5e8) + 1
    return int(10 ** (9 - digits) // 2) + 1


REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
MONOTONIC: Final = ClockId(BUILTIN_IDS["MONOTONIC"])
_KINETO: Final = "org.pytorch.kineto"
_FTRACE: Final = "org.kernel.ftrace"
_UNKNOWN: Final = "org.chromium.trace"
_LONGEST: Final = 64
TIES: Final = 16
"""Readings by which a constant offset is told to the graph, over the time of the events."""


def clock_of(values: FileValues, is_text: bool) -> tuple[ClockId, str | None]:
    """The clock of a file, and its name where it is no builtin one."""
    domain = values.text("clock-domain", "metadata")
    if domain == "LINUX_CLOCK_MONOTONIC":
        return MONOTONIC, None
    if domain is not None:
        plain = re.sub(r"[^a-z0-9_]", "_", domain.lower()[:_LONGEST])
        name = f"org.chromium.{plain or 'unnamed'}"
    elif values.is_kineto:
        if values.is_wall_time:
            return REALTIME, None
        name = _KINETO
    else:
        name = _FTRACE if is_text else _UNKNOWN
    return ClockId(clock_id(name)), name


def line_clock_of(values: FileValues, is_text: bool, syncs: Sequence[LineSync]) -> ClockId:
    """The clock of lines of systrace: of its own beside events of MONOTONIC, where lines tie it."""
    clock, _ = clock_of(values, is_text)
    if clock == MONOTONIC and any(one.clock == MONOTONIC for one in syncs):
        return ClockId(clock_id(_FTRACE))
    return clock


def graph_of(
    values: FileValues,
    is_text: bool,
    span: tuple[int, int],
    syncs: Sequence[LineSync],
    resolutions: Resolutions,
) -> ClockGraph:
    """The graph of a file's clocks.

    Args:
        span: the earliest and latest event, ns; the first after the last where there is none.
        syncs: what lines of text say of other clocks.
        resolutions: of the times of the file.
    """
    clock, name = clock_of(values, is_text)
    graph = ClockGraph(clock)
    tick_ns = resolutions.resolution_ns
    if name is None:
        if tick_ns > 1:
            graph.declare(ClockDomain(clock, tick_ns=tick_ns))
        lines = line_clock_of(values, is_text, syncs)
        if lines != clock:
            _tie_lines(graph, lines, syncs, resolutions)
        return graph
    if name == _FTRACE:
        _tie_lines(graph, clock, syncs, resolutions)
        return graph
    # REALTIME less a base is the kernel's.
    half, oscillator = (0, posix_oscillator(0)) if name == _KINETO else (None, None)
    graph.declare(
        ClockDomain(
            clock, name=name, tick_ns=tick_ns, oscillator=oscillator, assumed_half_width_ns=half
        )
    )
    first_ns, last_ns = span
    base = values.base_ns
    if (
        name == _KINETO
        and base is not None
        and first_ns <= last_ns
        and not is_added_twice(values, first_ns)
        and abs(base) <= INT64_MAX - max(-first_ns, last_ns)
    ):
        at = np.unique(np.linspace(0, last_ns - first_ns, TIES).astype(np.int64)) + first_ns
        graph.add_snapshot({clock: at, REALTIME: at + base})
    began_ns = values.began_ns
    if name == _UNKNOWN and began_ns is not None and first_ns <= last_ns:
        graph.add_snapshot({clock: first_ns, REALTIME: first_ns + began_ns})
    return graph


def _tie_lines(
    graph: ClockGraph, clock: ClockId, syncs: Sequence[LineSync], resolutions: Resolutions
) -> None:
    """Declare the clock of ftrace, which is the kernel's, and tie it to the readings in lines."""
    half = max((one.half_width_ns + resolutions.line_late for one in syncs), default=None)
    graph.declare(
        ClockDomain(
            clock,
            name=_FTRACE,
            tick_ns=1 + resolutions.line_late,
            oscillator=None if half is None else posix_oscillator(0),
            assumed_half_width_ns=half,
        )
    )
    for one in syncs:
        graph.add_snapshot({clock: one.ns, one.clock: one.reading_ns})
