"""Which clock the times of a file are of, and how it is tied to REALTIME.

metadata.clock-domain is LINUX_CLOCK_MONOTONIC     MONOTONIC
metadata.clock-domain is anything else             a named clock, org.chromium. and that
PyTorch's profiler, without baseTimeNanoseconds    REALTIME
PyTorch's profiler, with it                        org.pytorch.kineto: REALTIME less the base
systrace's text                                    org.kernel.ftrace
and lines within a file of MONOTONIC, if they say what that reads
anything else                                      org.chromium.trace
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.families import posix_oscillator
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, clock_id
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.formats.chrome_json.coarseness import Coarseness
from tracetime.formats.chrome_json.file_values import FileValues
from tracetime.formats.chrome_json.line_syncs import LineSync
from tracetime.formats.chrome_json.passed_over import is_added_twice
from tracetime.graph.clock_graph import ClockGraph

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
        if values.base_ns == 0:
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
    coarseness: Coarseness,
) -> ClockGraph:
    """The graph of a file's clocks.

    Args:
        span: the earliest and latest event, ns; the first after the last where there is none.
        syncs: what lines of text say of other clocks.
        coarseness: of the times of the file.
    """
    clock, name = clock_of(values, is_text)
    graph = ClockGraph(clock)
    tick_ns = coarseness.step_ns
    if name is None:
        if tick_ns > 1:
            graph.declare(ClockDomain(clock, tick_ns=tick_ns))
        lines = line_clock_of(values, is_text, syncs)
        if lines != clock:
            _tie_lines(graph, lines, syncs, coarseness)
        return graph
    if name == _FTRACE:
        _tie_lines(graph, clock, syncs, coarseness)
        return graph
    # REALTIME less a base is the kernel's.
    half, oscillator = (0, posix_oscillator(0)) if name == _KINETO else (None, None)
    graph.declare(
        ClockDomain(
            clock,
            name=name,
            tick_ns=tick_ns,
            oscillator=oscillator,
            assumed_half_width_ns=half,
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
    return graph


def _tie_lines(
    graph: ClockGraph, clock: ClockId, syncs: Sequence[LineSync], coarseness: Coarseness
) -> None:
    """Declare the clock of ftrace, which is the kernel's, and tie it to what lines say."""
    half = max((one.half_width_ns + coarseness.line_late for one in syncs), default=None)
    graph.declare(
        ClockDomain(
            clock,
            name=_FTRACE,
            tick_ns=1 + coarseness.line_late,
            oscillator=None if half is None else posix_oscillator(0),
            assumed_half_width_ns=half,
        )
    )
    for one in syncs:
        graph.add_snapshot({clock: one.ns, one.clock: one.reading_ns})
