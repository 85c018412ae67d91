"""`record`: begin a recording, its options checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from numbers import Real
from typing import Any, Final

from tracetime.capture.protocol import Sampler
from tracetime.capture.recorder import Recorder
from tracetime.capture.schedule import LONGEST_NS, SHORTEST_NS, Schedule
from tracetime.clocks.ids import ClockLike
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.writer import BUFFER_BYTES, FLUSH_BYTES, TraceWriter
from tracetime.sources.names import HOST

INTERVAL_S: Final = 1.0
FLUSH_S: Final = 1.0
ALWAYS_SAMPLED: Final = ("BOOTTIME",)
"""Where it is available, because Perfetto's trace processor counts an error of a trace that does
not tie it to trace time."""

_S: Final = 1_000_000_000


# long: a third of it says what its options are
def record(  # noqa: PLR0913  every option of a recording, by name
    path: str | os.PathLike[str],
    clocks: ClockLike | Iterable[ClockLike] | None = None,
    interval: float | None = INTERVAL_S,
    *,
    target_error_ns: int | None = None,
    shortest_interval: float = SHORTEST_NS / _S,
    longest_interval: float = LONGEST_NS / _S,
    reference: ClockLike | None = None,
    max_size: int | None = None,
    flush_interval: float = FLUSH_S,
    buffer_bytes: int = BUFFER_BYTES,
    flush_bytes: int = FLUSH_BYTES,
    overwrite: bool = True,
    sync: bool = False,
    sampler: Sampler | None = None,
    before_writing: Callable[[], None] | None = None,
) -> Recorder:
    """Begin to record a trace; use it in a `with`, or close it.

    Args:
        path: of the trace. An existing file is replaced, unless another recording writes it.
        clocks: what to sample: names (`MONOTONIC`, `TSC`, `vulkan:0`), numbers, ClockIds, `host`
            and `vulkan` for all of a kind; None for `host`. A device's driver takes memory and
            time, so devices are opened only on request. BOOTTIME is always sampled too.
        interval: seconds from the start of one snapshot to the next one's, 0.001 or more; None for
            no thread at all: then `Recorder.snapshot` samples, and flushes.
        target_error_ns: how far bars between snapshots may reach to either side: the interval
            adapts to it, from `interval` on, within the two limits. Floor, which interpolates
            nothing, may be off by more: see `Recorder.floor_error_ns`.
        shortest_interval, longest_interval: seconds.
        reference: the clock that the others are bracketed by.
        max_size: bytes that the file may have; events beyond it are dropped, and tracks with them.
        flush_interval: seconds after which an event is in the file at the latest, unless the disk
            is slower. What is in the file survives the end of this process, whatever the cause. It
            survives a crash of the system or a power cut once the system has written it to the
            disk, by default within half a minute.
        buffer_bytes: bytes that may wait for the disk before events are dropped.
        flush_bytes: waiting bytes at which the file is written at once.
        overwrite: False to keep a file that is not empty, with a UsageError.
        sync: wait for the disk with each flush, so that what is in the file survives a power cut.
        sampler: samples the clocks instead of this machine's own; it stays open. Perfetto needs
            BOOTTIME among them.
        before_writing: called when the first snapshot is taken; if it raises, the file at `path`
            stays as it was.

    Raises:
        UsageError: the file cannot be made, belongs to another recording or is to be kept; an
            argument is out of range, a name is no clock.
        SourceError: a requested clock is not available here.
    """
    for what, seconds in (
        ("interval", interval),
        ("flush_interval", flush_interval),
        ("shortest_interval", shortest_interval),
        ("longest_interval", longest_interval),
    ):
        if seconds is not None or what != "interval":
            _check_seconds(what, seconds)
    _check_target(target_error_ns, interval)
    owned = sampler is None
    if sampler is None:
        sampling: Any = import_module("tracetime.capture.sampling")
        wanted = (HOST,) if clocks is None else clocks
        made: Sampler = sampling.Sampler(wanted, reference=reference, besides=ALWAYS_SAMPLED)
        sampler = made
    elif clocks is not None or reference is not None:
        raise UsageError("a sampler has its clocks: give either it, or clocks and reference")
    try:
        schedule = None
        if interval is not None:
            schedule = Schedule(
                sampler.domains,
                interval_ns=round(interval * _S),
                target_error_ns=target_error_ns,
                shortest_ns=round(shortest_interval * _S),
                longest_ns=round(longest_interval * _S),
            )
        writer = TraceWriter(
            path,
            overwrite=overwrite,
            sync=sync,
            max_size=max_size,
            buffer_bytes=buffer_bytes,
            flush_bytes=flush_bytes,
        )
        try:
            return Recorder(
                writer, sampler, schedule, flush_interval, owned, before_writing=before_writing
            )
        except BaseException:
            writer.discard()
            raise
    except BaseException:
        if owned:
            sampler.close()
        raise


def _check_seconds(what: str, value: object) -> None:
    if not isinstance(value, (int, float)) or not 0.001 <= value <= 86_400:
        raise UsageError(f"{what} is {value!r}: use 0.001 to 86400 seconds")


def _check_target(target_error_ns: int | None, interval: float | None) -> None:
    if target_error_ns is None:
        return
    if not (isinstance(target_error_ns, Real) and 1 <= target_error_ns <= INT64_MAX):
        raise UsageError(f"target_error_ns is {target_error_ns!r}: use 1 or more, ns within int64")
    if interval is None:
        raise UsageError("a target for the error needs an interval to adapt: give one")
