"""What CTF events are: columns of a batch from `worker`, as columns of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.formats.ctf.process import Frame
from tracetime.trace.events_table import TYPES

_INSTANT: Final = TYPES.index("instant")
_HAS: Final = {"tid": 1, "pid": 2, "cpu": 4}
"""The bits of the worker's column "known"."""


class Surroundings(NamedTuple):
    """What a trace says of all of its events.

    Attributes:
        domain: of the tracer, such as `kernel` or `ust`.
        process, pid: where it is of one process.
    """

    domain: str | None
    process: str | None
    pid: int | None

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> Surroundings:
        """What a trace of this environment says."""
        domain, process, pid = (environment.get(name) for name in ("domain", "procname", "vpid"))
        fits = isinstance(pid, int) and -(1 << 31) <= pid < 1 << 31
        return cls(
            domain if isinstance(domain, str) else None,
            process if isinstance(process, str) else None,
            pid if fits else None,
        )


def names_of(frame: Frame, traces: list[Surroundings]) -> dict[str, pa.Array]:
    """Return columns as `name_columns` takes them.

    frame: of events with names. traces: by number.
    """
    facts, columns = frame
    which, n = columns["traces"], len(columns["traces"])
    names: list[str | None] = facts["classes"]
    found = {
        "name": _coded(columns["events"], names),
        "category": _categories(columns["events"], names, which, traces),
        "process_name": _coded(which, [trace.process for trace in traces]),
        "thread_name": _coded(columns["threads"], facts["procnames"]),
        "type": arrow_of(np.full(n, _INSTANT, np.int8)),
        "args": _texts(columns["lengths"], columns["args"]),
    }
    for name, bit in _HAS.items():
        missing = columns["known"] & bit == 0
        values = columns[f"{name}s"]
        if name == "pid":
            own = [trace.pid for trace in traces]
            values = np.where(missing, np.array([pid or 0 for pid in own], np.int32)[which], values)
            missing &= np.array([pid is None for pid in own], bool)[which]
        found[name] = arrow_of(np.ascontiguousarray(values), missing)
    return found


def _categories(
    events: npt.NDArray[np.int32],
    names: list[str | None],
    which: npt.NDArray[np.uint32],
    traces: list[Surroundings],
) -> pa.Array:
    """The provider in a name `provider:event`, else the domain of its trace."""
    providers = [name.split(":")[0] if name and ":" in name else None for name in names]
    domains = [trace.domain for trace in traces]
    named = np.array([provider is not None for provider in providers], bool)[events]
    codes = np.where(named, events, which.astype(np.int32) + np.int32(len(names)))
    return _coded(codes, [*providers, *domains])


def _coded(codes: npt.NDArray[Any], texts: Iterable[str | None]) -> pa.Array:
    """Texts by their codes; null for None, and for a negative code."""
    known = list(texts)
    missing = codes < 0
    nothing = np.array([text is None for text in known], bool)
    if nothing.any():
        missing |= nothing[codes]
    indices = arrow_of(np.where(missing, 0, codes).astype(np.int32), missing)
    return pa.DictionaryArray.from_arrays(indices, texts_of([text or "" for text in known]))


def _texts(lengths: npt.NDArray[np.uint32], data: npt.NDArray[np.uint8]) -> pa.Array:
    """Texts one after another; null for one of no length."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    missing = np.packbits(lengths != 0, bitorder="little")
    buffers = [pa.py_buffer(missing), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)
