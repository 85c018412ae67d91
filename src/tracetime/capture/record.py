"""`record`: begin a recording, its options checked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, Final

from tracetime.capture.children import imports_program, is_child
from tracetime.capture.parts import Parts
from tracetime.capture.peers import Peer, Peers
from tracetime.capture.protocol import Sampler
from tracetime.capture.recorder import Recorder, join_recording
from tracetime.capture.schedule import LONGEST_NS, SHORTEST_NS, Schedule
from tracetime.clocks.ids import ClockLike
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.errors import UsageError
from tracetime.formats.perfetto.write.output import BeingWritten
from tracetime.formats.perfetto.write.writer import BUFFER_BYTES, FLUSH_BYTES, TraceWriter
from tracetime.sources.names import HOST
from tracetime.sources.posix import boot_id
from tracetime.sources.time_service.service import TimeService

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
    peers: Iterable[Peer] = (),
) -> Recorder:
    """Begin to record a trace; use it in a `with`, or close it.

    In a process of multiprocessing, of a file that is recorded already: join that recording, with
    a part of its own (the other arguments count for nothing then). A process that imports the
    program does so even if the program has closed the file: `join_parts` joins that part.

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
        overwrite: False to keep a file that is not empty, and parts that other processes have left
            beside it, with a UsageError.
        sync: wait for the disk with each flush, so that what is in the file survives a power cut.
        sampler: samples the clocks instead of this machine's own; it stays open. Perfetto needs
            BOOTTIME among them.
        before_writing: called when the first snapshot is taken; if it raises, the file at `path`
            stays as it was.
        peers: other machines, each a `tracetime.Peer`, whose BOOTTIME is tied to this machine's by
            an exchange at each `interval`, or as `target_error_ns` demands. Each is a machine of
            the trace. It needs an interval.

    Raises:
        UsageError: the file cannot be made, belongs to another recording or is to be kept; an
            argument is out of range, a name is no clock.
        SourceError: a requested clock is not available here.
    """
    _check_seconds(
        interval=INTERVAL_S if interval is None else interval,
        flush_interval=flush_interval,
        shortest_interval=shortest_interval,
        longest_interval=longest_interval,
    )
    _check_target(target_error_ns, interval)
    others = Peers(peers, interval, target_error_ns)
    if not (overwrite or is_child()):
        _refuse_parts(path)
    owned = sampler is None
    if sampler is None:
        sampling: Any = import_module("tracetime.capture.sampling")
        wanted = (HOST,) if clocks is None else clocks
        made: Sampler = sampling.Sampler(
            wanted, reference=reference, besides=ALWAYS_SAMPLED, time_service=TimeService()
        )
        sampler = made
    elif clocks is not None or reference is not None:
        raise UsageError("a sampler has its clocks: give either it, or clocks and reference")
    if imports_program() and _has_content(path, owned):
        made.close()
        return join_recording(path, made, flush_interval, sync=sync)
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
        try:
            writer = TraceWriter(
                path,
                overwrite=overwrite,
                sync=sync,
                max_size=max_size,
                buffer_bytes=buffer_bytes,
                flush_bytes=flush_bytes,
            )
            if owned:
                writer.note_boot(boot_id())
        except BeingWritten as error:
            if not (owned and is_child()):
                raise UsageError(str(error)) from None
            # The program records when it is imported, and this process imports it, too.
            made.close()
            return join_recording(path, made, flush_interval, sync=sync)
        try:
            return Recorder(
                writer,
                sampler,
                schedule,
                flush_interval,
                owned,
                before_writing=before_writing,
                peers=others,
            )
        except BaseException:
            writer.discard()
            raise
    except BaseException:
        if owned:
            sampler.close()
        raise


def _refuse_parts(path: str | os.PathLike[str]) -> None:
    """Refuse a path beside which an earlier recording has left parts: they may be all of it."""
    # A path that cannot be read is refused as the recording's own.
    with contextlib.suppress(OSError, TypeError, ValueError):
        for part in Parts(os.fsdecode(path)).ended():
            raise UsageError(
                f"cannot write {os.fsdecode(path)!r}: {part!r} is a part of an earlier recording "
                "of that name; join it (tracetime.join_parts), move it, or replace it with --force"
            )


def _has_content(path: str | os.PathLike[str], can_join: bool) -> bool:
    """Whether a recording is there: the program that records it may have closed it.

    Raises:
        UsageError: it is, and cannot be joined.
    """
    try:
        has_content = Path(os.fsdecode(path)).stat().st_size > 0
    except (OSError, TypeError, ValueError):
        return False
    if has_content and not can_join:
        raise UsageError(
            f"cannot write {os.fsdecode(path)!r}: the program that this process imports has "
            "recorded it; record where `__name__ == '__main__'`"
        )
    return has_content


def _check_seconds(**given: object) -> None:
    for what, value in given.items():
        if not isinstance(value, (int, float)) or not 0.001 <= value <= 86_400:
            raise UsageError(f"{what} is {value!r}: use 0.001 to 86400 seconds")


def _check_target(target_error_ns: int | None, interval: float | None) -> None:
    if target_error_ns is None:
        return
    if not (isinstance(target_error_ns, Real) and 1 <= target_error_ns <= INT64_MAX):
        raise UsageError(f"target_error_ns is {target_error_ns!r}: use 1 or more, ns within int64")
    if interval is None:
        raise UsageError("a target for the error needs an interval to adapt: give one")
