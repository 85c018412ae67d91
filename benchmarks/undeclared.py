"""Is the truth inside the bars where no half-width is declared? Simulated readings, from a seed.

    python -m benchmarks.undeclared [--worlds 40] [--seed 1] [family ...]

One late snapshot of several, thread switches between two reads, steps and slews that a single
snapshot shows, tables with jitter, and the clocks of a Linux machine. These bars are estimates.
Exits with 1 where a family misses its bar.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.table import Table
from tracetime import ClockGraph, Snapshot
from tracetime.graph.tube.results import Bars

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
BOTH: Final[tuple[Bars, ...]] = ("estimated", "guaranteed")

S: Final = 1_000_000_000
FAR_NS: Final = 1_700_000_000 * S
_QUERIES: Final = 300
_STEPS: Final = ("step", "possible_step", "suspend", "reset")


class Got(NamedTuple):
    """What bars hold: how many truths were asked for, how many are outside, half the median
    width, ns, and how many steps are said."""

    asked: int
    outside: int
    half_ns: float
    steps: int


def asked(
    graph: ClockGraph, src: str, dst: str, read: Values, truth: Values, bars: Bars = "estimated"
) -> Got:
    """How the bars of `read`, on clock `src`, hold the truth on `dst`; an open bar holds all."""
    bar = graph.convert(read, src, dst, policy="tube", bars=bars, bounds=True, errors="mask")
    told = np.array(bar[1].is_valid()) & np.array(bar[2].is_valid())
    early, late = (side.fill_null(0).to_numpy() for side in bar[1:])
    outside = told & ((early > truth) | (late < truth))
    half = float(np.median((late - early)[told])) / 2 if told.any() else 0.0
    steps = sum(one.kind in _STEPS for one in graph.discontinuities())
    return Got(len(read), int(outside.sum()), half, steps)


# ---- one late snapshot (`late`), thread switches (`interrupted`)
class Pair(NamedTuple):
    """Two clocks and how the one goes on the other."""

    src: str
    dst: str
    ppm: float

    def truth(self, t: Values) -> Values:
        return t + 7 * S + np.floor(t * self.ppm * 1e-6).astype(np.int64)

    def graph(self, t: Values, late: Values) -> ClockGraph:
        graph = ClockGraph()
        graph.add_snapshot({self.dst: self.truth(t + late), self.src: t})
        return graph


PAIRS: Final = (
    Pair("MONOTONIC", "BOOTTIME", 0.0),
    Pair("MONOTONIC_RAW", "BOOTTIME", 20.0),
    Pair("com.example.gpu", "BOOTTIME", 20.0),
)
_SPACED: Final = (
    (3, 10), (4, 10), (5, 10), (6, 10), (8, 10), (9, 10), (10, 10), (12, 10), (15, 10), (16, 10),
    (20, 10), (40, 1), (80, 1), (200, 10),
)  # fmt: skip


def log_uniform(rng: Rng, low: float, high: float, n: int) -> Values:
    return np.exp(rng.uniform(np.log(low), np.log(high), n)).astype(np.int64)


def _tidy(rng: Rng, n: int, gap_s: float) -> tuple[Values, Values]:
    """When snapshots are taken, and how late the second read is."""
    gap = int(gap_s * S)
    return np.arange(n) * gap + rng.integers(0, gap // 20, n), rng.integers(20, 70, n)


def late(table: Table, worlds: int, seed: int) -> None:
    """One snapshot of n is late by 5 us to 5 ms; the others agree within 50 ns."""
    for pair in PAIRS:
        missed, wider, ends = 0, [], 0
        for n, gap_s in _SPACED:
            for world in range(worlds):
                rng = np.random.default_rng([seed, n, world])
                t, after = _tidy(rng, n, gap_s)
                k = int(rng.integers(0, n))
                plain = pair.graph(t, after)
                after[k] += log_uniform(rng, 5e3, 5e6, 1)[0]
                read = rng.integers(t[0], t[-1], _QUERIES)
                got = asked(pair.graph(t, after), pair.src, pair.dst, read, pair.truth(read))
                missed += got.outside > 0
                ends += got.outside > 0 and k in (0, n - 1)
                if n >= 15:
                    other = asked(plain, pair.src, pair.dst, read, pair.truth(read))
                    wider.append(got.half_ns / other.half_ns)
        n_worlds = worlds * len(_SPACED)
        table.row(
            f"{pair.src}: one late snapshot of 3 to 200, {n_worlds} worlds",
            "<= 0.1 % of worlds miss; n >= 15: median width <= 1.05 of that without it",
            f"{missed} miss ({ends} at an end), {np.median(wider):.3f} (worst {max(wider):.2f})",
            missed <= n_worlds / 1000 and float(np.median(wider)) <= 1.05,
        )


def interrupted(table: Table, worlds: int, seed: int) -> None:
    """The thread is interrupted between two reads now and then, for 5 to 100 us."""
    for pair in PAIRS:
        for share in (0.01, 0.03, 0.1, 0.2):
            missed, n_worlds, halves = 0, 0, []
            for n, gap_s in ((4, 10), (12, 10), (60, 1), (360, 10)):
                for world in range(worlds):
                    rng = np.random.default_rng([seed, n, int(share * 100), world])
                    t, after = _tidy(rng, n, gap_s)
                    after += np.where(rng.random(n) < share, log_uniform(rng, 5e3, 1e5, n), 0)
                    read = rng.integers(t[0], t[-1], _QUERIES)
                    graph = pair.graph(t, after * int(rng.choice([-1, 1])))
                    got = asked(graph, pair.src, pair.dst, read, pair.truth(read))
                    missed += got.outside > 0
                    halves.append(got.half_ns)
                    n_worlds += 1
            table.row(
                f"{pair.src}: {share:.0%} of snapshots interrupted, {n_worlds} worlds",
                "<= 1 % of worlds miss",
                f"{missed} miss, median half-width {np.median(halves):,.0f} ns",
                missed <= n_worlds / 100,
            )


# ---- steps (`step`) and slews (`slew`) that few readings show
Moved = Callable[[Values], Values]
Draw = Callable[[Rng, Values], Moved]
"""How far the offset has moved at each reading."""


def jumps(at: Sequence[int], sizes: Sequence[int]) -> Moved:
    """The offset jumps by so much at each of some instants."""

    def moved(t: Values) -> Values:
        steps = [np.where(t >= begin, size, 0) for begin, size in zip(at, sizes, strict=True)]
        return np.sum(steps, axis=0, dtype=np.int64)

    return moved


def ramp(begin: int, end: int, ppm: float) -> Moved:
    return lambda t: np.rint((np.clip(t, begin, end) - begin) * ppm * 1e-6).astype(np.int64)


def moved_graph(pair: Pair, t: Values, after: Values, moved: Moved) -> ClockGraph:
    """Snapshots of a pair whose offset moves; each is read a little late."""
    graph = ClockGraph()
    late = t + after
    graph.add_snapshot({pair.dst: pair.truth(late) + moved(late), pair.src: t})
    return graph


def _signed(rng: Rng, low: float, high: float) -> int:
    return int(rng.choice([-1, 1]) * log_uniform(rng, low, high, 1)[0])


def _at_end(rng: Rng, t: Values) -> Moved:
    """A step in the last gap, or in the first one."""
    k = int(rng.choice([0, len(t) - 2]))
    return jumps([int(rng.integers(t[k] + 100, t[k + 1]))], [_signed(rng, 1e3, 99e6)])


def _in_neighbours(rng: Rng, t: Values) -> Moved:
    """Two steps, with one reading between them; back to where it was, it would be a late one."""
    k = int(rng.integers(0, len(t) - 2))
    at = [int(rng.integers(t[i] + 100, t[i + 1])) for i in (k, k + 1)]
    one, other = (_signed(rng, 1e3, 99e6) for _ in at)
    if abs(one + other) < max(abs(one), abs(other)) / 2:
        other = -other
    return jumps(at, [one, other])


def _slew_at_end(rng: Rng, t: Values) -> Moved:
    """A slew of up to 0.7 ms within the last gap, or the first one."""
    k, ppm = int(rng.choice([0, len(t) - 2])), rng.uniform(50, 500)
    lasts = int(min(rng.uniform(1e4, 7e5) / ppm * 1e6, t[k + 1] - t[k]))
    begin = int(rng.integers(t[k], t[k + 1] - lasts + 1))
    return ramp(begin, begin + lasts, ppm * int(rng.choice([-1, 1])))


def _moving(
    table: Table, name: str, draw: Draw, pairs: Sequence[Pair], worlds: int, seed: int
) -> None:
    """Instants of 6 snapshots or more outside either kind of bars."""
    for pair in pairs:
        outside = dict.fromkeys(BOTH, 0)
        total, missed, worst = 0, 0, ""
        for n, gap_s in _SPACED[3:]:
            for world in range(worlds):
                rng = np.random.default_rng([seed, n, world])
                t, after = _tidy(rng, n, gap_s)
                moved = draw(rng, t)
                graph = moved_graph(pair, t, after, moved)
                read = rng.integers(t[0], t[-1], _QUERIES)
                truth = pair.truth(read) + moved(read)
                out = 0
                for bars in BOTH:
                    got = asked(graph, pair.src, pair.dst, read, truth, bars)
                    outside[bars] += got.outside
                    out += got.outside
                total, missed = total + _QUERIES, missed + (out > 0)
                worst = f"; the first world: {n} snapshots, {world}" if out and not worst else worst
        table.row(
            f"{pair.src}: {name}, {total // _QUERIES} worlds",
            "0 outside, both kinds of bars",
            f"{outside['estimated']} and {outside['guaranteed']} of {total:,} outside in {missed} "
            f"worlds{worst}",
            not missed,
        )


def step(table: Table, worlds: int, seed: int) -> None:
    """A step of 1 us to 99 ms with one reading beyond it, or with another step in the next gap."""
    _moving(table, "a step at an end", _at_end, PAIRS, worlds, seed)
    _moving(table, "steps in neighbouring gaps", _in_neighbours, PAIRS, worlds, seed)


def slew(table: Table, worlds: int, seed: int) -> None:
    """A slew of 50 to 500 ppm in the first or the last gap."""
    _moving(table, "a slew at an end", _slew_at_end, PAIRS[1:], worlds, seed)


# ---- tables with jitter
NOISES: Final[dict[str, Callable[[Rng, int], Floats]]] = {
    "Gaussian": lambda rng, n: rng.normal(0, 1, n),
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, n),
    "one-sided": lambda rng, n: rng.exponential(1, n),
}


def jitter(table: Table, worlds: int, seed: int) -> None:
    """Readings 1 to 100 times a second, with a jitter of 10 us to 5 ms."""
    for name, noise in NOISES.items():
        total = outside = steps = 0
        halves = []
        for world in range(worlds):
            rng = np.random.default_rng([seed, world])
            rate, sigma = 10 ** rng.uniform(0, 2), 10 ** rng.uniform(4, 6.7)
            n = int(rng.choice([20, 60, 200, 600]))
            device = S + (np.arange(n) * S / rate).astype(np.int64)
            ppm = rng.choice([0.0, rng.uniform(-50, 50)]) * 1e-6

            def truth(t: Values, ppm: float = ppm) -> Values:
                return t + FAR_NS + np.rint(t * ppm).astype(np.int64)

            read_ns = truth(device) + (sigma * noise(rng, n)).astype(np.int64)
            if rng.random() < 0.5:
                read_ns = np.maximum.accumulate(read_ns) + np.arange(n)
            graph = ClockGraph()
            graph.add_snapshot({"REALTIME": read_ns, "com.device": device})
            read = rng.integers(device[0], device[-1], _QUERIES)
            got = asked(graph, "com.device", "REALTIME", read, truth(read))
            total, outside, steps = total + 1, outside + got.outside, steps + got.steps
            halves.append(got.half_ns / (sigma + 1_000))
        least = 0.98 if name == "one-sided" else 0.999
        inside = 1 - outside / (total * _QUERIES)
        table.row(
            f"{name} jitter, {total} tables",
            f">= {least:.1%} inside, no step, half-width <= 4.5 sigma",
            f"{inside:.2%} inside, {steps} steps, {np.median(halves):.2f} sigma "
            f"(most {max(halves):.2f})",
            inside >= least and not steps and float(np.median(halves)) <= 4.5,
        )


# ---- a Linux machine
KINDS: Final = ("calm", "laptop", "thermal", "pll", "slew", "chrony", "suspend", "step")
CLOCKS: Final = ("MONOTONIC", "REALTIME", "MONOTONIC_RAW", "MONOTONIC_COARSE", "com.example.gpu")
_GRID_S: Final = 0.1
_KERNEL_TICK_NS: Final = 4_000_000
_GPU_LATE_NS: Final = 1_500


class Machine:
    """The clocks of a Linux machine over some minutes of true time.

    MONOTONIC is RAW, steered; BOOTTIME and REALTIME are ahead of it by what jumps at times.
    """

    def __init__(self, rng: Rng, kind: str, span_s: float) -> None:
        self.rng, self.n = rng, int(span_s / _GRID_S) + 2
        t_s = np.arange(self.n) * _GRID_S
        raw = np.full(self.n, rng.uniform(-30, 30))
        gpu = np.full(self.n, rng.uniform(-30, 30))
        if kind == "laptop":
            raw += 0.3 * np.sin(2 * np.pi * t_s / rng.uniform(600, 1800) + rng.uniform(0, 6))
            gpu += 0.4 * np.sin(2 * np.pi * t_s / rng.uniform(600, 1800) + rng.uniform(0, 6))
        if kind == "thermal":
            gpu += rng.uniform(-4, 4) * (1 - np.exp(-t_s / rng.uniform(60, 300)))
            raw += rng.uniform(-1, 1) * (1 - np.exp(-t_s / rng.uniform(60, 300)))
        steered = rng.uniform(-20, 20) + self._steering(kind, t_s)
        self.times = (t_s * S).astype(np.int64)
        self.offsets = {
            "MONOTONIC_RAW": self._sum(raw),
            "MONOTONIC": self._sum(raw + steered),
            "com.example.gpu": self._sum(gpu),
        }
        self.jumps: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for _ in range(int(rng.integers(1, 4)) if kind in ("suspend", "step") else 0):
            at = int(rng.uniform(0.1, 0.9) * span_s * S)
            if kind == "suspend":
                size = int(10 ** rng.uniform(8.5, 12.5))
                self.jumps["BOOTTIME"].append((at, size))
                self.jumps["REALTIME"].append((at, size))
            else:
                size = int(rng.choice([-1, 1]) * 10 ** rng.uniform(8, 12))
                self.jumps["REALTIME"].append((at, size))

    def _steering(self, kind: str, t_s: Floats) -> Floats:
        """What steers MONOTONIC, ppm, over time."""
        rng, steered = self.rng, np.zeros(self.n)
        if kind == "pll":
            every = rng.uniform(16, 256)
            for at in np.arange(rng.uniform(0, every), t_s[-1], every):
                past = t_s - at
                decay = np.exp(-np.maximum(past, 0) / rng.uniform(30, 120))
                steered += np.where(past >= 0, rng.normal(0, 3) * decay, 0)
        elif kind == "slew":
            for at in rng.uniform(0, t_s[-1], int(rng.integers(1, 5))):
                inside = (t_s >= at) & (t_s < at + rng.uniform(1, 60))
                steered[inside] = rng.choice([-1, 1]) * 500
        elif kind == "chrony":
            every = rng.uniform(16, 64)
            for at in np.arange(rng.uniform(0, every), t_s[-1], every):
                steered += np.where(t_s >= at, rng.normal(0, 0.1), 0)
                inside = (t_s >= at) & (t_s < at + rng.uniform(1, 20))
                steered += np.where(inside, rng.normal(0, 10), 0)
        return steered

    @staticmethod
    def _sum(ppm: Floats) -> Floats:
        return np.append(0.0, np.cumsum(ppm[:-1] * _GRID_S * 1e3))

    def read(self, clock: str, t: Values) -> Values:
        """What a clock reads at true times."""
        if clock.endswith("_COARSE"):
            fine = self.read(clock.removesuffix("_COARSE"), t)
            return fine // _KERNEL_TICK_NS * _KERNEL_TICK_NS
        base = clock if clock in self.offsets else "MONOTONIC"
        gained = np.rint(np.interp(t, self.times, self.offsets[base])).astype(np.int64)
        begins = {"REALTIME": FAR_NS, "BOOTTIME": 5 * S, "com.example.gpu": 77 * S}
        ahead = np.full(len(t), begins.get(clock, 3 * S))
        for at, size in self.jumps.get(clock, ()):
            ahead += np.where(t >= at, size, 0)
        read: Values = t + gained + ahead
        return read


def machine_graph(rng: Rng, machine: Machine, taken: Values, busy: bool) -> ClockGraph:
    """Snapshots of all clocks, read in turn; a busy machine interrupts the thread at times."""
    n, t = len(taken), taken.copy()
    readings = {}
    for clock in ("BOOTTIME", *CLOCKS):
        t = t + rng.integers(20, 70, n)
        if busy:
            share = 0.02
            t = t + np.where(rng.random(n) < share, log_uniform(rng, 5e3, 5e6, n), 0)
        late = _GPU_LATE_NS + rng.integers(-200, 200, n) if clock.startswith("com.") else 0
        readings[clock] = machine.read(clock, t + late)
        t = t + late
    graph = ClockGraph()
    graph.add_snapshot(Snapshot(readings))
    return graph


MACHINE_BARS: Final = {
    "MONOTONIC": 0.001, "REALTIME": 0.001, "MONOTONIC_RAW": 0.005, "MONOTONIC_COARSE": 0.01,
    "com.example.gpu": 0.016,
}  # fmt: skip


def machine(table: Table, worlds: int, seed: int) -> None:
    """Each clock of a simulated Linux machine to BOOTTIME, its reads tidy or busy."""
    for busy in (False, True):
        found: dict[str, list[tuple[str, Got]]] = defaultdict(list)
        invented: dict[str, int] = defaultdict(int)
        for kind in KINDS:
            for world in range(worlds):
                rng = np.random.default_rng([seed, KINDS.index(kind), world, busy])
                gap_s, n = float(rng.choice([1, 10, 10])), int(rng.choice([12, 30, 60, 120]))
                one = Machine(rng, kind, gap_s * (n + 2))
                taken = (np.arange(1, n + 1) * gap_s * S).astype(np.int64)
                taken += rng.integers(0, int(gap_s * S) // 20, n)
                graph = machine_graph(rng, one, taken, busy)
                t = rng.integers(taken[0], taken[-1], _QUERIES)
                truth = one.read("BOOTTIME", t)
                for clock in CLOCKS:
                    got = asked(graph, clock, "BOOTTIME", one.read(clock, t), truth)
                    found[clock].append((kind, got))
                if kind in ("calm", "laptop", "thermal"):
                    invented[kind] += got.steps
        for clock, most in MACHINE_BARS.items():
            every = [got for _, got in found[clock]]
            share = sum(got.outside for got in every) / sum(got.asked for got in every)
            worst = {
                kind: sum(got.outside for of, got in found[clock] if of == kind)
                / (worlds * _QUERIES)
                for kind in KINDS
            }
            kinds = ", ".join(f"{kind} {x:.2%}" for kind, x in worst.items() if x)
            halves = np.median([got.half_ns for got in every])
            table.row(
                f"a {'busy' if busy else 'tidy'} machine: {clock}",
                f"<= {most:.1%} outside",
                f"{share:.2%} outside ({kinds}); median half-width {halves:,.0f} ns",
                share <= most,
            )
        table.row(
            f"a {'busy' if busy else 'tidy'} machine that is calm, {3 * worlds} worlds",
            "no step said",
            f"{dict(invented)}",
            not sum(invented.values()),
        )


FAMILIES: Final[dict[str, Callable[[Table, int, int], None]]] = {
    "late": late,
    "interrupted": interrupted,
    "step": step,
    "slew": slew,
    "jitter": jitter,
    "machine": machine,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*", choices=[*FAMILIES, []])
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = Table()
    for name in options.families or FAMILIES:
        FAMILIES[name](table, options.worlds, options.seed)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
