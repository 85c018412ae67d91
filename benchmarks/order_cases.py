"""Parts of the table of orders: faults, changes of rate, several clocks, machines, speed."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from benchmarks.order_soundness import SHORT, with_wrong
from benchmarks.order_worlds import (
    A,
    B,
    Clocks,
    Delays,
    Floats,
    Model,
    S,
    Values,
    World,
    answers,
    domain,
    graph_of,
    inner,
    readings,
)
from benchmarks.table import Table
from tracetime import ClockGraph, PairDiscontinuity, Snapshot, clock_id, open_trace
from tracetime.graph.tube.results import Bars

US: Final = 1_000
HOST_NS: Final = 10**12
FAR_NS: Final = 5 * 10**12
MACHINE: Final = 7
MACHINES: Final = ("BOOTTIME", "BOOTTIME@machine1")


def _signed(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.choice([-1, 1]) * rng.uniform(low, high))


def _on_a(found: PairDiscontinuity, world: World) -> tuple[float, float]:
    """The zone of a discontinuity on A, ns."""
    zone = np.array([found.a_from, found.a_to], dtype=np.float64)
    if found.src.clock != clock_id(A):
        zone -= world.offset(zone)
    return float(zone[0]), float(zone[1])


def knees(table: Table, n_seeds: int) -> None:
    """One change of rate, of 2 to 50 ppm: found, and the estimate begins anew there."""
    q = inner(120, 600, 1)
    for declared in (0.5, None):
        errors, found, invented, out, wide = [], 0, 0, 0, []
        for seed in range(1, n_seeds + 1):
            rng = np.random.default_rng([seed, 100])
            at, size = rng.uniform(20, 100) * S, _signed(rng, 2e-6, 50e-6)
            world = Model(50, replace(SHORT, walk=1e-9, knees=[(at, size)])).world(rng)
            graph = graph_of(world, wander_ppm=declared)
            a, b = readings(world, q)
            got = answers(graph, A, B, a, b)
            sure = answers(graph, A, B, a, b, "guaranteed")
            wide.append(got.median_half)
            errors.append(got.worst)
            out += int((got.outside > 0).sum()) + int((sure.outside > 0).sum())
            zones = [_on_a(one, world) for one in graph.discontinuities()]
            right = [first - US <= at <= last + US for first, last in zones]
            found += any(right)
            invented += len(right) - sum(right)
        table.row(
            f"a change of rate of 2 to 50 ppm, {n_seeds} seeds, W "
            + ("undeclared" if declared is None else "1 ppm"),
            "worst instant <= 1 us, 0 outside",
            f"{max(errors):,.0f} ns, median {np.median(errors):,.0f}; {out} outside; "
            f"bars +-{np.median(wide) / 1e3:.1f} us",
            max(errors) <= 1_000 and not out,
        )
        table.row(
            "the same",
            "found, none invented",
            f"{found} of {n_seeds}, {invented} invented",
            found == n_seeds and not invented,
        )


def faults(table: Table, n_seeds: int) -> None:
    """A step and four wrong matches in each world."""
    steps = hits = invented = resized = n_wrong = 0
    for seed in range(1, n_seeds + 1):
        rng = np.random.default_rng([seed, 200])
        at, size = rng.uniform(30, 90) * S, _signed(rng, 2e5, 5e6)
        clean = Model(50, replace(SHORT, steps=[(at, size)])).world(rng)
        world, wrong = with_wrong(rng, clean, at)
        n_wrong += len(wrong)
        stepped = 0
        for one in graph_of(world).discontinuities():
            if one.kind == "wrong_order":
                hits += len(wrong & set(one.orders))
                invented += not wrong & set(one.orders)
                continue
            first, last = _on_a(one, clean)
            on_a = one.src.clock == clock_id(A)
            # The zone on B is only as exact as the step is long.
            room = 0 if on_a else abs(size)
            right = one.kind == "step" and first - room <= at <= last + room
            low, high = one.size_ns or (1, -1)
            resized += right and not low <= (size if on_a else -size) <= high
            stepped += right
            invented += not right
        steps += stepped > 0
    n = n_seeds
    table.row(
        f"a step of 0.2 to 5 ms and {n_wrong} wrong matches, {n} seeds",
        "all found, none invented",
        f"{steps} of {n} steps ({resized} of another size), {hits} of {n_wrong} wrong matches, "
        f"{invented} invented",
        steps == n and hits == n_wrong and not invented and not resized,
    )


class Mesh:
    """Clocks that all exchange messages; true time is none of theirs.

    links: the pairs that do. asymmetry: standard deviation of what a pair's least delay is longer
    one way, and shorter the other.
    """

    def __init__(
        self, rng: np.random.Generator, n: int, asymmetry: float, links: list[tuple[int, int]]
    ) -> None:
        self.offsets = [
            Clocks(seconds=60, ppm=float(rng.uniform(-30, 30))).draw(rng) for _ in range(n)
        ]
        self.names = [f"com.example.m{k}" for k in range(n)]
        self.messages = {}
        for i, j in links:
            z = float(rng.normal(0, asymmetry))
            one, other = (
                self._sent(rng, src, dst, Delays(20_000 + side))
                for src, dst, side in ((i, j, z), (j, i, -z))
            )
            self.messages[i, j] = one, other

    def _sent(
        self, rng: np.random.Generator, src: int, dst: int, delays: Delays
    ) -> tuple[Values, Values]:
        t = np.sort(rng.uniform(0, 60, rng.poisson(50 * 60))) * S
        return self.read(src, t), self.read(dst, t + delays.draw(rng, len(t)))

    def read(self, clock: int, t: Floats) -> Values:
        return np.floor(t + self.offsets[clock](t)).astype(np.int64)

    def graph(self, links: list[tuple[int, int]]) -> ClockGraph:
        clocks = sorted({clock for link in links for clock in link})
        graph = ClockGraph(domains=[domain(self.names[k]) for k in clocks])
        for i, j in links:
            (sent, got), (replied, returned) = self.messages[i, j]
            graph.add_order(before=(sent, self.names[i]), after=(got, self.names[j]))
            graph.add_order(before=(replied, self.names[j]), after=(returned, self.names[i]))
        return graph


def mesh(table: Table, n_seeds: int) -> None:
    """A full mesh: its estimates against those of each pair alone."""
    q = np.linspace(2, 58, 57) * S
    for n, asymmetry, bar in (
        (20, 0.0, 0.75),
        (20, 2_500.0, 0.40),
        (8, 0.0, 1.0),
        (8, 2500.0, 1.0),
    ):
        alone, together, out = [], [], 0
        for seed in range(1, 1 + max(1, min(n_seeds, 24) // n)):
            rng = np.random.default_rng([seed, n, 300])
            links = list(combinations(range(n), 2))
            world = Mesh(rng, n, asymmetry, links)
            graph = world.graph(links)
            picked = rng.choice(len(links), min(len(links), 30), replace=False)
            for i, j in (links[k] for k in picked):
                one, other = world.names[i], world.names[j]
                a, b = world.read(i, q), world.read(j, q)
                for asked, errors in ((world.graph([(i, j)]), alone), (graph, together)):
                    got = answers(asked, one, other, a, b)
                    sure = answers(asked, one, other, a, b, "guaranteed")
                    errors.append(got.error)
                    out += int((got.outside > 0).sum()) + int((sure.outside > 0).sum())
        each, all_ = (float(np.sqrt(np.mean(np.square(e)))) for e in (alone, together))
        table.row(
            f"full mesh of {n} clocks, asymmetry {asymmetry / 1e3:g} us",
            f"rms <= {bar:.2f}x the pair's own, 0 outside",
            f"{all_ / each:.2f}x ({each:,.0f} and {all_:,.0f} ns; sqrt(2/n) {np.sqrt(2 / n):.2f}); "
            f"{out} outside",
            all_ / each <= bar and not out,
        )


def machines(table: Table, n_seeds: int) -> None:
    """Two machines of a Perfetto trace, by RemoteClockSync alone: a message every 10 s."""
    ratios, rms, means, against = [], [], [], np.zeros(2, np.int64)
    for seed in range(1, n_seeds + 1):
        rng = np.random.default_rng([seed, 400])
        offset = Clocks().draw(rng)
        graph, at, mean = _synchronised(rng, offset)
        q = np.linspace(at[0], at[-1], 2_000).astype(np.int64)
        truth = q + FAR_NS - HOST_NS + np.floor(offset((q - HOST_NS).astype(float))).astype(int)
        got = answers(graph, *MACHINES, q, truth)
        sure = graph.convert(q, *MACHINES, policy="tube", bars="guaranteed", bounds=True)
        line = q + FAR_NS - HOST_NS + np.rint(np.interp(q, at, mean)).astype(np.int64)
        for k, times in enumerate((truth + got.error.astype(np.int64), line)):
            against[k] += int(((times < sure.earliest) | (times > sure.latest)).sum())
        means.append(float(np.sqrt(np.mean((line - truth).astype(np.float64) ** 2))))
        rms.append(got.rms)
        ratios.append(rms[-1] / means[-1])
    table.row(
        f"RemoteClockSync every 10 s, {n_seeds} seeds",
        "rms <= 1/10 of Perfetto's means read linearly, 0 instants against an order",
        f"{np.median(rms) / 1e3:.1f} us, {np.median(means) / 1e3:.0f} us by means; ratio "
        f"{np.median(ratios):.3f}, {max(ratios):.3f} at worst; {against[0]} and {against[1]} "
        "instants against an order",
        float(np.median(ratios)) <= 0.1 and not against[0],
    )


def _synchronised(
    rng: np.random.Generator, offset: Callable[[Floats], Floats]
) -> tuple[ClockGraph, list[int], list[float]]:
    """A graph of two machines, and when each message ended on the host, with Perfetto's mean."""
    delays = iter((20_000 + rng.exponential(200_000, 1_000)).tolist())
    trace, at, mean = pb.Trace(), [], []
    _snapshot(trace, HOST_NS, 0)
    for begin in range(2, 600, 10):
        now, rounds = begin * float(S), []
        for _ in range(2):
            far = FAR_NS + int(now + float(offset(np.array([now]))[0]))
            now += next(delays)
            rounds.append((far, HOST_NS + int(now)))
            now += next(delays)
        message = trace.packet.add(machine_id=MACHINE, trusted_packet_sequence_id=3)
        for far, host in rounds:
            synced = message.remote_clock_sync.synced_clocks.add()
            synced.client_clocks.clocks.add(clock_id=6, timestamp=far)
            synced.host_clocks.clocks.add(clock_id=6, timestamp=host)
        at.append(rounds[-1][1])
        mean.append(_perfettos(rounds))
    _snapshot(trace, rounds[-1][0], MACHINE)
    return _clocks(trace), at, mean


def _snapshot(trace: pb.Trace, boottime_ns: int, machine: int) -> None:
    packet = trace.packet.add(trusted_packet_sequence_id=1)
    if machine:
        packet.machine_id = machine
    packet.clock_snapshot.clocks.add(clock_id=6, timestamp=boottime_ns)


def _perfettos(rounds: list[tuple[int, int]]) -> float:
    """Perfetto's mean of two rounds: far less host, less what their readings begin at."""
    (c1, h1), (c2, h2) = ((far - FAR_NS, host - HOST_NS) for far, host in rounds)
    return (((c1 + c2) / 2 - h1) + (c2 - (h1 + h2) / 2)) / 2


def _clocks(trace: pb.Trace) -> ClockGraph:
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as file:
        file.write(trace.SerializeToString())
        file.flush()
        with open_trace(file.name) as opened:
            return opened.clocks


def speed(table: Table, n_seeds: int) -> None:
    """10^6 orders: how long their bars and estimate take, how much memory, and a conversion."""
    del n_seeds
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        built, megabytes, each = pool.apply(_of_orders)
    with context.Pool(1) as pool:
        sure, sure_megabytes, _ = pool.apply(_of_orders, ("guaranteed",))
    with context.Pool(1) as pool:
        snapshots = pool.apply(_of_snapshots)
    table.row(
        "10^6 orders: guaranteed bars; estimated ones and their estimate",
        "<= 1 s, 200 MB; 4 s",
        f"{sure:.2f} s, {sure_megabytes:.0f} MB; {built:.2f} s, {megabytes:.0f} MB",
        sure <= 1 and sure_megabytes <= 200 and built <= 4,
    )
    table.row(
        "the same, 10^6 random values converted with bars",
        "as over as many snapshots",
        f"{each:.0f} ns a value; snapshots {snapshots:.0f} ns",
        each <= 1.1 * snapshots,
    )


def _of_orders(bars: Bars = "estimated") -> tuple[float, float, float]:
    world = Model(1000, Clocks(seconds=1000)).world(1)
    graph = graph_of(world)
    begin = _resident_mb("VmRSS")
    # From here on VmHWM is the peak.
    Path("/proc/self/clear_refs").write_text("5")
    start = time.process_time()
    graph.convert(10**11, A, B, policy="tube", bars=bars, bounds=True)
    built = time.process_time() - start
    return built, _resident_mb("VmHWM") - begin, _each(graph)


def _resident_mb(what: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(what))
    return int(line.split()[1]) / 1024


def _of_snapshots() -> float:
    a = np.sort(np.random.default_rng(1).integers(0, 1000 * S, 10**6))
    graph = ClockGraph(domains=[domain(A), domain(B)])
    graph.add_snapshot(Snapshot({A: a, B: a + a // 40_000}, reference=A, half_width_ns={B: 20_000}))
    return _each(graph)


def _each(graph: ClockGraph) -> float:
    """ns a value."""
    values = np.random.default_rng(2).integers(0, 1000 * S, 10**6)
    best = np.inf
    for _ in range(4):
        start = time.perf_counter()
        graph.convert(values, A, B, policy="tube", bounds=True)
        best = min(best, time.perf_counter() - start)
    return float(best) * 1e9 / len(values)
