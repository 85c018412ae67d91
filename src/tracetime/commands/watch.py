"""`tracetime watch`: a live table of this machine's clocks, until Ctrl-C."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypedDict

import click

from tracetime.commands import terminal
from tracetime.commands.help import Command
from tracetime.commands.options import Seconds, clocks_option, json_option, reference_option
from tracetime.commands.show import console, print_json, table_of
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError
from tracetime.text import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tracetime.capture.sample import Finding, Sample
    from tracetime.capture.sampling import Sampler
    from tracetime.clocks.ids import ClockId
    from tracetime.clocks.json_types import Count
    from tracetime.sources.source import Unavailable

_KEPT: Final = 600
"""Readings of a clock that drift and wander are computed from: ten minutes at 1 s."""

_BARS: Final = "▁▂▃▄▅▆▇█"
_ASCII_BARS: Final = "_.-~=+*#"
_SPARKS: Final = 10
"""Readings that a sparkline has: the table fits in 80 columns."""


@dataclass(slots=True)
class _Line:
    """The last readings of a clock: when (ns of the reference), its offset, its half-width."""

    at_ns: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))
    offset_ns: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))
    half_ns: int = 0

    def add(self, at_ns: int, offset_ns: int, half_ns: int) -> None:
        self.at_ns.append(at_ns)
        self.offset_ns.append(offset_ns)
        self.half_ns = half_ns

    def drift_ppm(self) -> float | None:
        """Return the drift over the readings kept; None if the half-widths hide it."""
        span_ns = self.at_ns[-1] - self.at_ns[0]
        if span_ns <= 0 or 2 * self.half_ns > span_ns * 1e-3:
            return None
        return (self.offset_ns[-1] - self.offset_ns[0]) / span_ns * 1e6

    def wander_ns(self) -> list[int]:
        """Return how far each offset is from the line between the first and the last, ns."""
        first, last = self.offset_ns[0], self.offset_ns[-1]
        span_ns = max(self.at_ns[-1] - self.at_ns[0], 1)
        return [
            offset - first - (last - first) * (at - self.at_ns[0]) // span_ns
            for at, offset in zip(self.at_ns, self.offset_ns, strict=True)
        ]


@click.command("watch", cls=Command)
@clocks_option("watch")
@click.option(
    "--interval",
    type=Seconds(0.01, 3600),
    default=1.0,
    show_default=True,
    help="The time from one snapshot to the next: 100ms, or seconds.",
)
@click.option("-n", "--snapshots", type=click.IntRange(1), help="Stop after this many snapshots.")
@reference_option
@json_option
def command(
    clocks: tuple[str, ...],
    interval: float,
    snapshots: int | None,
    reference: str | None,
    as_json: bool,
) -> None:
    """Watch this machine's clocks drift, until Ctrl-C.

    The table has each clock's offset, drift and half-width, and as a sparkline the offset without
    the drift (wander). With --json, or if the output is not a terminal, each snapshot is a line.

    \b
    Examples:
      tracetime watch
      tracetime watch --clock MONOTONIC --clock REALTIME --interval 100ms
      tracetime watch --json -n 10 > clocks.jsonl
    """
    from tracetime.capture.sampling import Sampler

    screen = console()
    with Sampler(clocks or None, reference=reference) as sampler:
        if len(sampler.domains) < 2:
            raise UsageError("one clock alone cannot be compared: give another --clock")
        lines = {clock: _Line() for clock in sampler.domains if clock != sampler.reference}
        samples = _samples(sampler, interval, snapshots)
        # Ctrl-C is the usual end.
        try:
            if as_json or not screen.is_terminal:
                _print_lines(sampler, lines, samples, as_json)
            else:
                _draw(screen, sampler, lines, samples)
        except KeyboardInterrupt:
            terminal.accept()


def _print_lines(
    sampler: Sampler, lines: dict[ClockId, _Line], samples: Iterator[Sample], as_json: bool
) -> None:
    for sample in samples:
        _add(lines, sample)
        if as_json:
            print_json(_facts(sampler, lines, sample), indent=None)
        else:
            echo(_text(sampler, lines))


def _draw(
    screen: Console, sampler: Sampler, lines: dict[ClockId, _Line], samples: Iterator[Sample]
) -> None:
    from rich.live import Live

    ascii_only = screen.options.ascii_only
    with Live(console=screen, auto_refresh=False, transient=False) as live:
        for sample in samples:
            _add(lines, sample)
            live.update(_table(sampler, lines, sample, ascii_only), refresh=True)


def _samples(sampler: Sampler, interval: float, most: int | None) -> Iterator[Sample]:
    taken = 0
    due = time.monotonic()
    while most is None or taken < most:
        yield sampler.sample()
        taken += 1
        due += interval
        if most is None or taken < most:
            time.sleep(max(0.0, due - time.monotonic()))


def _add(lines: dict[ClockId, _Line], sample: Sample) -> None:
    from tracetime.clocks.snapshot import single

    snapshot = sample.snapshot
    assert snapshot.reference is not None
    base = single(snapshot.readings[snapshot.reference].value)
    for clock, line in lines.items():
        if clock in snapshot.readings:
            at = base + int(snapshot.centre_ns[clock][0])
            reading = single(snapshot.readings[clock].value)
            line.add(at, reading - at, int(snapshot.half_width_ns[clock][0]))


class _WatchedClock(TypedDict):
    """A clock against the reference.

    Attributes:
        name: the name of the clock.
        at_ns: what the reference read when it was read, ns.
        offset_ns: by how much it is ahead of the reference, ns.
        half_width_ns: how far the offset can be off, ns.
        drift_ppm: by how much it runs faster than the reference, ppm, over up to 600 snapshots;
            null where half-widths hide it.
    """

    name: str
    at_ns: int
    offset_ns: int
    half_width_ns: Count
    drift_ppm: float | None


class Watch(TypedDict):
    """A snapshot. The output has one such object on each line.

    Attributes:
        reference: the name of the clock that the others are compared with.
        clocks: the others, each as it was read last.
        failed: the clocks that could not be read this time.
        findings: faults of the clocks.
    """

    reference: str
    clocks: list[_WatchedClock]
    failed: list[Unavailable]
    findings: Sequence[Finding]


def _facts(sampler: Sampler, lines: dict[ClockId, _Line], sample: Sample) -> Watch:
    from tracetime.sources.source import Unavailable

    return {
        "reference": sampler.names[sampler.reference],
        "clocks": [
            {
                "name": sampler.names[clock],
                "at_ns": line.at_ns[-1],
                "offset_ns": line.offset_ns[-1],
                "half_width_ns": line.half_ns,
                "drift_ppm": line.drift_ppm(),
            }
            for clock, line in lines.items()
            if line.at_ns
        ],
        "failed": [Unavailable(sampler.names[clock], why) for clock, why in sample.failed.items()],
        "findings": sample.findings,
    }


def _text(sampler: Sampler, lines: dict[ClockId, _Line]) -> str:
    return "  ".join(
        f"{sampler.short_names[clock]} {line.offset_ns[-1]:+d} ns +-{line.half_ns}"
        for clock, line in lines.items()
        if line.at_ns
    )


def _table(
    sampler: Sampler, lines: dict[ClockId, _Line], sample: Sample, ascii_only: bool
) -> Table:
    bars = _ASCII_BARS if ascii_only else _BARS
    rows = []
    for clock, line in lines.items():
        name = sampler.short_names[clock]
        if line.at_ns:
            rows.append((name, *_cells(line, bars)))
        else:
            rows.append((name, sample.failed.get(clock, "not read yet")))
    return table_of(
        f"Against {sampler.names[sampler.reference]}; Ctrl-C ends it",
        ("clock", ">ahead by", ">moved", ">ppm", ">+-", "wander"),
        rows,
        # An ellipsis is one character that not every terminal has, as are the bars.
        overflow="crop" if ascii_only else "ellipsis",
    )


def _cells(line: _Line, bars: str) -> tuple[str, ...]:
    drift = line.drift_ppm()
    wander = line.wander_ns()
    return (
        duration(line.offset_ns[-1], decimals=True),
        duration(line.offset_ns[-1] - line.offset_ns[0], decimals=True),
        "-" if drift is None else f"{drift:+.3f}",
        duration(line.half_ns, decimals=True),
        f"{_sparkline(wander, bars)} {duration(max(wander) - min(wander), decimals=True)}",
    )


def _sparkline(values: list[int], bars: str) -> str:
    last = values[-_SPARKS:]
    low, high = min(last), max(last)
    scale = max(high - low, 1)
    return "".join(bars[(value - low) * (len(bars) - 1) // scale] for value in last)
