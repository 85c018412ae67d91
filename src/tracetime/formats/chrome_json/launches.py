"""Kernels of a GPU that begin before the call of the CPU that launched them.

PyTorch's profiler writes one number (`correlation`) into a call of the runtime and into what that
launched. The GPU stamps kernels by a clock of its own, which the profiler has put on the CPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracetime.clocks.ids import ClockId
from tracetime.graph.values import difference
from tracetime.text import count
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime.trace.trace import Trace

Values = npt.NDArray[np.int64]

_CALLS: Final = ("cuda_runtime", "cuda_driver", "xpu_runtime", "privateuse1_runtime")
_KERNELS: Final = ("kernel", "gpu_memcpy", "gpu_memset")
"""Categories of events."""
_CORRELATION: Final = r'"correlation"\s*:\s*(?P<id>[0-9]{1,18})[^0-9]'


def early_kernels(trace: Trace, resolution_ns: int) -> Iterator[Note]:
    """Yield the note about kernels that begin before their call, by more than times are rounded.

    A call whose number another one has is not looked at. Reads the file.

    Args:
        step_ns: how far apart two readings can be that the file writes alike.
    """
    every = np.concatenate([np.empty((4, 0), np.int64), *_correlations(trace)], axis=1)
    calls, kernels = every[1:, every[0] == 0], every[1:, every[0] == 1]
    numbers, first, times = np.unique(calls[0], return_index=True, return_counts=True)
    calls = calls[:, first[times == 1]]
    numbers = numbers[times == 1]
    if not len(numbers):
        return
    at = np.minimum(np.searchsorted(numbers, kernels[0]), len(numbers) - 1)
    rows = np.flatnonzero(numbers[at] == kernels[0])
    kernels, calls = kernels[:, rows], calls[:, at[rows]]
    early = np.flatnonzero(difference(calls[2], kernels[2]) > 2 * resolution_ns)
    if len(early):
        yield _note(trace.trace_clock, len(rows), kernels[1:, early], calls[1:, early])


def _note(clock: ClockId, launched: int, kernels: Values, calls: Values) -> Note:
    """Return the note about early kernels; kernels, calls: packet and timestamp of each."""
    by = difference(calls[1], kernels[1])
    k = int(np.argmax(by))
    return Note(
        "effect-before-cause",
        "launched",
        (int(kernels[0, k]), int(calls[0, k])),
        events=2 * len(by),
        size_ns=int(by[k]),
        clocks=(clock,),
        values={
            "kernels": f"{len(by):,}",
            "all_kernels": count(launched, "kernel"),
            "packet": kernels[0, k],
            "ns": kernels[1, k],
            "call_packet": calls[0, k],
            "call_ns": calls[1, k],
            "launched": launched,
            "early": (kernels, calls),
        },
        places=(np.append(kernels[1], calls[1]), np.append(kernels[0], calls[0])),
    )


def _correlations(trace: Trace) -> Iterator[Values]:
    """Yield of calls and kernels: which of the two it is, the number, the packet, and the time."""
    for batch in trace.events(names=True):
        category = batch.column("category")
        names = category.dictionary.to_pylist()
        kinds = [0 if name in _CALLS else 1 if name in _KERNELS else -1 for name in names]
        kind = np.array([*kinds, -1], np.int64)[category.indices.fill_null(len(names)).to_numpy()]
        rows = np.flatnonzero(kind >= 0)
        if not len(rows):
            continue
        texts = batch.column("args").take(pa.array(rows))
        found = pc.struct_field(pc.extract_regex(texts, _CORRELATION), 0)
        known = found.is_valid().to_numpy(zero_copy_only=False)
        rows = rows[known]
        yield np.array(
            [
                kind[rows],
                found.drop_null().cast(pa.int64()).to_numpy(),
                batch.column("packet").to_numpy()[rows].astype(np.int64),
                batch.column("timestamp").to_numpy()[rows],
            ]
        )
