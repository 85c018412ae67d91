"""What a file holds that is not read, or not as it may be meant: told, so that nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tracetime.clocks.snapshot import INT64_MAX
from tracetime.text import count
from tracetime.trace.notes import Note

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import KnownNames, Scanner
    from tracetime.formats.chrome_json.file_values import FileValues
    from tracetime.formats.chrome_json.line_syncs import LineSync

_ABSOLUTE_NS: Final = 10**18
"""Times from here on (September 2001) count from 1970."""


def is_added_twice(values: FileValues, first_ns: int) -> bool:
    """Whether times that count from 1970 have a base that does so, too."""
    base = values.base_ns
    return base is not None and min(base, first_ns) >= _ABSOLUTE_NS


def _note(what: str, offset: int = 0, packet: int = 0) -> Note:
    return Note("parts-passed-over", offset=offset, values={"what": what, "first": packet})


def passed_over(names: KnownNames, scanner: Scanner, values: FileValues) -> list[Note]:
    """What is not read, or not as it stands, each with its first byte where that is known."""
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
    """What becomes of lines beside events that say what other clocks read."""
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
