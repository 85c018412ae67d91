"""Sampling: several clocks at nearly one instant, with a bound on how far apart they were read.

Each clock is read between two readings of a reference, and the narrowest bracket of some tries is
kept; a kernel does that if it can read the clock. Devices are read together with a host clock. The
parts of a half-width: docs/error-bars.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.capture import Brackets
from tracetime.capture.choice import ROUNDING_NS, Counters, SampledClock, choose
from tracetime.capture.sample import Count, Finding, Sample, WallBounds
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId, ClockLike
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN, Snapshot
from tracetime.errors import SourceError, UsageError
from tracetime.graph.simultaneity import Aligned, Aligner
from tracetime.graph.values import Values
from tracetime.sources.local import LocalClocks
from tracetime.sources.posix import read_adjtimex
from tracetime.sources.source import ClockSource, OneAtATime, Unavailable
from tracetime.sources.time_service.service import TimeService

TRIES: Final = 10
"""Brackets of which the narrowest is kept. Bounded: on a busy machine the result is wide."""

MOST_TRIES: Final = 1_000
"""A snapshot of ten clocks then takes some 1 ms: a longer one is no instant."""

_DEVICE_NS: Final = 1_000_000
"""After this time a device is not tried again: some take long to answer."""


class BracketedReading(NamedTuple):
    """A raw reading, and its time and half-width, in ns of the reference after its reading."""

    value: int
    centre_ns: int
    half_ns: int


class Sampler:
    """A sampler of a set of clocks. Threads may share it; they wait for each other.

    The constructor measures the ticks of the clocks and the rates of counters: up to 0.3 s.

    Args:
        clocks: which: names (`MONOTONIC`, `TAI`, `TSC`; `vulkan:0`, `opencl:0`, `cuda:0`, `ptp:0`,
            or `vulkan` for all of a kind; `host` for all else), numbers, ClockIds; None for all of
            this machine.
        reference: the clock that brackets the others; None for MONOTONIC_RAW. It is sampled too,
            and so is the host clock that a device needs.
        tries: brackets per clock of which the narrowest is kept, 1 to 1000.
        sources: where clocks come from, instead of this machine's own sources.
        besides: clocks that are sampled too if they are available, whatever `clocks` says.
        time_service: bounds REALTIME in each sample, where MONOTONIC_RAW is sampled, too; None for
            no bounds.

    Raises:
        UsageError: a name that is none, tries out of range, or a reference that is no clock of ns.
        SourceError: a requested clock is not available here; says why.
    """

    def __init__(
        self,
        clocks: ClockLike | Iterable[ClockLike] | None = None,
        *,
        reference: ClockLike | None = None,
        tries: int = TRIES,
        sources: Sequence[ClockSource] | None = None,
        besides: Iterable[str] = (),
        time_service: TimeService | None = None,
    ) -> None:
        if not 1 <= tries <= MOST_TRIES:
            raise UsageError(f"tries is {tries}: use 1 to {MOST_TRIES}")
        self._local = LocalClocks(sources)
        self._tries = tries
        self._one = OneAtATime("reading the clocks")
        choice = choose(self._local, clocks, reference, besides)
        self._unavailable = choice.unavailable
        self._chosen = {one.clock: one for one in choice.clocks}
        self._domains = MappingProxyType({c: one.domain for c, one in self._chosen.items()})
        self._short_names = {
            clock: self._local.short_name(one.name) for clock, one in self._chosen.items()
        }
        self._first = choice.clocks[0]
        others = choice.clocks[1:]
        fast = self._first.source.native_code(self._first.clock) is not None
        self._native = [
            one
            for one in others
            if fast and one.partner is None and one.source.native_code(one.clock) is not None
        ]
        self._devices = [one for one in others if one.partner is not None]
        self._slow = [one for one in others if one.partner is None and one not in self._native]
        self._counters = [one for one in others if one.partner is None and one.counts]
        self._fast = fast
        self._kernels: dict[tuple[ClockId, ...], Brackets] = {}
        self._aligner = Aligner()
        self._counts = Counters(one for one in choice.clocks if one.counts)
        self._wall_bounds = WallBounds(time_service, self._domains)

    @property
    def reference(self) -> ClockId:
        """The clock that the others are bracketed by."""
        return self._first.clock

    @property
    def domains(self) -> Mapping[ClockId, ClockDomain]:
        """The clocks that are sampled, in the order of the snapshots, and their properties.

        A counter has its raw form here, in ticks that wrap; a graph takes `snapshot_domains`.
        """
        return self._domains

    @property
    def snapshot_domains(self) -> tuple[ClockDomain, ...]:
        """The domains as the snapshots have them, for a ClockGraph: ns that do not wrap.

        Their ticks are 1 ns: the half-widths include the real ones, which a graph would add again.
        """
        return tuple(
            replace(domain, tick_ns=1, ns_per_tick=Fraction(1), valid_bits=64)
            for domain in self._domains.values()
        )

    @property
    def names(self) -> Mapping[ClockId, str]:
        """The name of each clock."""
        return {clock: one.name for clock, one in self._chosen.items()}

    @property
    def short_names(self) -> Mapping[ClockId, str]:
        """The short name of each clock: `TSC`, `vulkan:0`; its name if that is short."""
        return self._short_names

    @property
    def notes(self) -> Mapping[ClockId, str]:
        """The notes for users on some of the clocks."""
        notes = {clock: one.source.note(clock) for clock, one in self._chosen.items()}
        return {clock: note for clock, note in notes.items() if note is not None}

    @property
    def unavailable(self) -> tuple[Unavailable, ...]:
        """Clocks that are not available here, if all were requested."""
        return self._unavailable

    def source(self, clock: ClockId) -> ClockSource:
        """The source of a clock: a device, for example, that can stamp work."""
        return self._chosen[clock].source

    def watch(self) -> Callable[[], None]:
        """Watch how far the COARSE clocks lag behind the fine ones; returns what ends that.

        A thread reads them every few ms. Without it the lag is seen only when they are sampled.
        Half-widths include the largest lag that was seen so far.
        """
        sources: dict[ClockSource, list[ClockId]] = {}
        for clock, one in self._chosen.items():
            sources.setdefault(one.source, []).append(clock)
        ends = [source.watch(clocks) for source, clocks in sources.items()]

        def end() -> None:
            for each in ends:
                each()

        return end

    def close(self) -> None:
        """Close the sources that were opened for this sampler; it samples no more."""
        with self._one.turn():
            self._local.close()

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sample(self) -> Sample:
        """Read all clocks once.

        A clock that fails is left out of this snapshot, and the others go on.

        Raises:
            SourceError: the reference cannot be read.
        """
        with self._one.turn():
            failed: dict[ClockId, str] = {}
            findings: list[Finding] = []
            reads = self._read_native(failed)
            self._read_slow(reads, failed)
            reference_ns = reads[self.reference].value
            counts: dict[ClockId, Count] = {}
            for one in self._counters:
                if one.clock in reads:
                    read = reads[one.clock]
                    host_ns = reference_ns + read.centre_ns
                    counts[one.clock] = self._counts.follow(one, read.value, host_ns, findings)
            for one in self._devices:
                self._read_device(one, reads, counts, failed, findings)
            state = read_adjtimex()
        taken: dict[ClockId, Aligned] = {}
        for clock, one in self._chosen.items():
            if clock in reads:
                value, centre_ns, half_ns = reads[clock]
                if clock in counts:
                    value = counts[clock].ns(one.domain)
                if INT64_MIN <= value <= INT64_MAX:
                    as_read = Aligned(value, centre_ns, half_ns + one.source.lag_ns(clock))
                    taken[clock] = self._aligner.align(
                        as_read, one.domain, self._first.domain, main=True
                    )
                else:
                    failed[clock] = f"{one.name} reads {value} ns, which does not fit in int64"
        others = [clock for clock in taken if clock != self.reference]
        snapshot = Snapshot(
            {clock: aligned.value_ns for clock, aligned in taken.items()},
            reference=self.reference,
            half_width_ns={clock: taken[clock].half_ns for clock in others},
            centre_ns={clock: taken[clock].centre_ns for clock in others},
        )
        return Sample(
            snapshot,
            counts,
            self._domains,
            state,
            failed,
            tuple(findings),
            self._wall_bounds.of(snapshot),
        )

    def sample_group(self) -> tuple[Snapshot, int]:
        """Read all clocks but devices together: the reference, each other once, the reference.

        The group form of VK_KHR_calibrated_timestamps. The shortest of some tries is kept. `sample`
        has narrower brackets, one a clock; here one bound holds for all, and between any two.

        Returns:
            The snapshot, and the maximal deviation: how far apart the moments of any two readings
            can be, ns of the reference. A clock shows a moment up to a tick before it is read, as
            with the extension: the deviation includes the largest tick.

        Raises:
            SourceError: a clock cannot be read, or the reference went back in all tries.
        """
        with self._one.turn():
            group = [one for one in self._chosen.values() if one.partner is None]
            readings = np.empty((1, len(group)), dtype=np.int64)
            deviation = np.empty(1, dtype=np.int64)
            taken = None
            if not self._fast or self._slow:
                order = [*group, self._first]
                reads = [one.source.read(one.clock) for _ in range(self._tries) for one in order]
                taken = np.array([reads], dtype=np.int64)
            bad = self._kernel(group).group(readings, deviation, taken)
            if bad >= 0:
                raise SourceError(f"the system no longer reads {group[bad].name}: leave it out")
            width_ns = int(deviation[0])
            if width_ns < 0:
                raise SourceError(f"{self._first.name} went back in all tries: try again")
            values = dict(zip((one.clock for one in group), readings[0].tolist(), strict=True))
            for one in self._counters:
                count = self._counts.follow(one, values[one.clock], values[self.reference], [])
                values[one.clock] = count.ns(one.domain)
            late_ns = max(
                math.ceil(one.domain.tick_ns or 0) + one.source.lag_ns(one.clock) for one in group
            )
        others = [one for one in group if one is not self._first]
        return Snapshot(
            values,
            reference=self.reference,
            half_width_ns={
                one.clock: width_ns
                - width_ns // 2
                + math.ceil(width_ns * (one.drift / 2))
                + one.ticks_ns
                + ROUNDING_NS
                + one.source.lag_ns(one.clock)
                for one in others
            },
            centre_ns={one.clock: width_ns // 2 for one in others},
        ), width_ns + late_ns

    def _read_native(self, failed: dict[ClockId, str]) -> dict[ClockId, BracketedReading]:
        """Read the reference, and all clocks that the kernel reads."""
        if not self._fast:
            return {}
        group = [self._first, *self._native]
        while True:
            kernel = self._kernel(group)
            readings, centre, half = (np.empty((1, len(group)), dtype=np.int64) for _ in range(3))
            bad = kernel.fill(readings, centre, half)
            if bad < 0:
                return self._select(group, readings, centre, half, failed)
            if bad == 0:
                raise SourceError(f"the reference, {self._first.name}, can no longer be read")
            failed[group.pop(bad).clock] = "the system no longer reads it"

    def _read_slow(
        self, reads: dict[ClockId, BracketedReading], failed: dict[ClockId, str]
    ) -> None:
        """Read the clocks that only Python reads; the kernel selects their brackets."""
        group = [self._first, *self._slow]
        if len(group) == 1 and reads:
            return
        taken = self._take_sweeps(group, failed)
        kernel = self._kernel(group)
        readings, centre, half = (np.empty((1, len(group)), dtype=np.int64) for _ in range(3))
        kernel.fill_from(taken, readings, centre, half)
        selected = self._select(group, readings, centre, half, failed)
        own = selected.pop(self.reference)
        shift_ns = own.value - reads.setdefault(self.reference, own).value
        for clock, read in selected.items():
            reads[clock] = read._replace(centre_ns=read.centre_ns + shift_ns)

    def _take_sweeps(self, group: list[SampledClock], failed: dict[ClockId, str]) -> Values:
        """Readings in the order of the sweeps; a clock that fails is removed from the group."""
        failing = first = self._first
        while True:
            taken: list[int] = []
            try:
                for _ in range(self._tries):
                    failing = first
                    taken.append(first.source.read(first.clock))
                    for one in group[1:]:
                        failing = one
                        taken.append(one.source.read(one.clock))
                        failing = first
                        taken.append(first.source.read(first.clock))
                return np.array([taken], dtype=np.int64)
            except SourceError as error:
                # The group is smaller each time: this ends.
                if failing is first:
                    raise SourceError(f"the reference, {first.name}: {error}") from error
                failed[failing.clock] = str(error)
                group.remove(failing)

    def _kernel(self, group: list[SampledClock]) -> Brackets:
        key = tuple(one.clock for one in group)
        made = self._kernels.get(key)
        if made is None:
            made = self._kernels[key] = Brackets(
                # 0 for the clocks that Python reads: the kernel ignores it.
                [one.source.native_code(one.clock) or 0 for one in group],
                [one.drift for one in group],
                [one.ticks_ns + ROUNDING_NS for one in group],
                self._tries,
            )
        return made

    def _select(
        self,
        group: list[SampledClock],
        readings: Values,
        centre: Values,
        half: Values,
        failed: dict[ClockId, str],
    ) -> dict[ClockId, BracketedReading]:
        selected = {}
        for one, *values in zip(
            group, readings[0].tolist(), centre[0].tolist(), half[0].tolist(), strict=True
        ):
            read = BracketedReading(*values)
            if read.half_ns < 0:
                failed[one.clock] = f"{self._first.name} went back in all of its brackets"
            else:
                selected[one.clock] = read
        return selected

    def _read_device(
        self,
        one: SampledClock,
        reads: dict[ClockId, BracketedReading],
        counts: dict[ClockId, Count],
        failed: dict[ClockId, str],
        findings: list[Finding],
    ) -> None:
        """Read a device with its host clock, whose own reading ties it to the reference."""
        assert one.partner is not None
        partner = self._chosen[one.partner]
        if one.partner not in reads:
            failed[one.clock] = f"{partner.name}, which it is calibrated with, was not read"
            return
        host, reference_ns = reads[one.partner], reads[self.reference].value
        best: tuple[tuple[int, int], int, Count] | None = None
        start_ns = time.perf_counter_ns()
        try:
            for _ in range(self._tries):
                before = partner.source.read(partner.clock)
                raw, host_value, deviation_ns = one.source.read_together(one.clock, partner.clock)
                after = partner.source.read(partner.clock)
                if not before - partner.ticks_ns <= host_value <= after + partner.ticks_ns:
                    message = (
                        f"{one.name} says that {partner.name} read {host_value}, which went from "
                        f"{before} to {after}: its driver reads another clock; it is left out"
                    )
                    findings.append(Finding("host_clock_differs", one.name, message))
                    failed[one.clock] = message
                    return
                centre_ns = host.centre_ns + host_value - host.value
                # Follow every try: a clock may go back between any two.
                raw = self._counts.cut_off(one, raw, findings)
                count = self._counts.follow(one, raw, reference_ns + centre_ns, findings)
                # Some drivers always claim the same deviation: then the shortest call is best.
                width_ns = deviation_ns, after - before
                if best is None or width_ns < best[0]:
                    best = width_ns, centre_ns, count
                if time.perf_counter_ns() - start_ns > _DEVICE_NS:
                    break
        except SourceError as error:
            # A device that fails in a later try fails in the next snapshot's first.
            if best is None:
                failed[one.clock] = str(error)
                return
        assert best is not None
        (deviation_ns, _), centre_ns, counts[one.clock] = best
        ticks_ns = math.ceil((one.domain.tick_ns or 0) + (partner.domain.tick_ns or 0))
        half_ns = deviation_ns + math.ceil(deviation_ns * one.drift) + ticks_ns
        if partner is not self._first:
            # From the partner's own reading to this one the two host clocks may drift apart.
            half_ns += host.half_ns + math.ceil(abs(centre_ns - host.centre_ns) * partner.drift)
        if half_ns > INT64_MAX:
            failed[one.clock] = f"{one.name} claims a deviation of {deviation_ns} ns"
            return
        reads[one.clock] = BracketedReading(counts[one.clock].raw, centre_ns, half_ns)
