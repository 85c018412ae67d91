"""Graphs of all kinds of clocks and snapshots: the same conversions, words and findings as before."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from kept import check_kept

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, Reading, Snapshot

S = 1_000_000_000
WALL = 1_700_000_000 * S
SEEDS = range(48)


class Clock:
    """A clock by its kind: what it reads at a true time."""

    def __init__(self, chance: Random, kind: str, machine: int) -> None:
        self.kind = kind
        self.domain: ClockDomain | None = None
        self.unit_ns, self.rate, self.bits = 1, Fraction(1), 64
        self.start, self.jumps = int(chance.random() * 50) * S, []
        self.ppm = [0.0, 3.0, -11.0][int(chance.random() * 3)]
        number: Any = kind
        if kind in ("gpu", "declared gpu", "short", "app", "faulty"):
            number = f"com.example.{kind.replace(' ', '.')}"
        if kind == "declared gpu":
            self.rate = Fraction(625, 12)
            self.domain = ClockDomain(number, ns_per_tick=self.rate, max_drift_ppm=60, tick_ns=60)
        if kind == "short":
            self.rate, self.bits, self.start = Fraction(1000, 3), 24, int(chance.random() * S)
            self.domain = ClockDomain(
                number, ns_per_tick=self.rate, valid_bits=24, max_drift_ppm=90, oscillator="x"
            )
        if kind == "faulty":
            self.domain = ClockDomain(number, name="the <faulty> one", assumed_half_width_ns=4_000)
        if kind == "TSC":
            self.rate = Fraction(10_000, 24_449)
        if kind == "64":
            number, self.unit_ns = ClockId(64, 7), 1_000
            self.rate = Fraction(1_000)
        if kind in ("REALTIME", "REALTIME_COARSE"):
            self.start = WALL
        if kind in ("REALTIME", "faulty"):
            size = int((chance.random() - 0.3) * 60 * S)
            self.jumps.append((int(chance.random() * 200) * S, size))
        if kind == "BOOTTIME":
            self.jumps.append((int(chance.random() * 900) * S, 600 * S))
        parsed = ClockId.parse(number)
        self.id = ClockId(parsed.clock, parsed.sequence, parsed.file, machine)
        self.coarse = 4_000_000 if kind in ("REALTIME_COARSE", "app") else 1
        if self.domain is not None and machine:
            self.domain = None
            self.rate, self.bits = Fraction(1), 64

    def raw(self, t: int) -> int:
        ns = t + int(t * self.ppm * 1e-6) + self.start
        ns += sum(size for when, size in self.jumps if when <= t)
        ticks = int(ns // self.coarse * self.coarse / self.rate)
        return ticks if self.bits == 64 else ticks % (1 << self.bits)


KINDS = ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME", "REALTIME_COARSE", "TSC", "gpu",
         "declared gpu", "short", "app", "faulty", "64")  # fmt: skip


def made(seed: int) -> tuple[ClockGraph, list[Clock], list[int]]:
    """A graph, its clocks, and some true times."""
    chance = Random(seed)
    picked = sorted(KINDS, key=lambda _: chance.random())[: 3 + seed % 3]
    if seed % 4 == 0 and "BOOTTIME" not in picked:
        picked[0] = "BOOTTIME"
    clocks = [
        Clock(chance, kind, 5 if seed % 6 == 5 and k == 2 and kind != "64" else 0)
        for k, kind in enumerate(picked)
    ]
    domains = [clock.domain for clock in clocks if clock.domain is not None]
    graph = ClockGraph(clocks[0].id if clocks[0].kind == "BOOTTIME" else None, domains)
    every = [S, S // 10, 4 * S][seed % 3]
    n = [14, 5, 30, 2][seed // 3 % 4]
    groups: list[list[Clock]] = [clocks]
    if seed % 2:
        groups = [clocks[:2], clocks[1:]]
    if seed % 5 == 3:
        groups.append([clocks[0], clocks[-1]])
    at = 0
    for k in range(n):
        for group in groups:
            at += every // len(groups) + int(chance.random() * every / 7)
            reads, halves, centres = {}, {}, {}
            for clock in group:
                half = 100 + int(chance.random() * 900)
                apart = int((chance.random() - 0.5) * half)
                wrong = 90_000_000 if chance.random() < 0.02 else 0
                value = clock.raw(at + apart) + wrong * (clock.bits == 64)
                reads[clock.id] = Reading(value, clock.unit_ns)
                if clock is not group[0] and clock.kind != "faulty":
                    halves[clock.id], centres[clock.id] = half + clock.coarse, int(half / 3)
            first = group[0].id
            if (seed // 2 + k // 9) % 3 == 0:
                steered = {first: 65_536 * (1 if k < n // 2 else 3)}
                graph.add_snapshot(
                    Snapshot(
                        reads,
                        reference=first,
                        half_width_ns=halves,
                        centre_ns=centres,
                        frequency_scaled_ppm=steered if seed % 4 == 1 else None,
                    )
                )
            else:
                graph.add_snapshot(reads)
    return graph, clocks, [at // 3, at * 7 // 11 + 1, at + 3 * every, -every]


def answer_or_error(call: Any, *args: Any, **named: Any) -> Any:
    """What a call tells, or why it does not."""
    try:
        return call(*args, **named)
    except ConversionError as error:
        return f"{error.reason}: {error.message}"


@pytest.mark.parametrize("seed", SEEDS)
def test_conversions_stay(seed: int) -> None:
    graph, clocks, times = made(seed)
    results: dict[str, Any] = {}
    for src, dst in permutations(clocks, 2):
        given = np.array([src.raw(t) for t in times])
        here: list[Any] = []
        path = answer_or_error(graph.path, src.id, dst.id, policy="tube")
        here.append(path if isinstance(path, str) else " ".join(map(str, path)))
        near = (times[0] + clocks[0].start, clocks[0].id) if src.kind == "short" else None
        for bars in ("estimated", "guaranteed") if seed % 3 == 0 else ("estimated",):
            bar = graph.convert(
                given,
                src.id,
                dst.id,
                policy="tube",
                bars=bars,
                bounds=True,
                errors="mask",
                near=near,
            )
            early, middle, late = (
                side.to_pylist() for side in (bar.earliest, bar.estimate, bar.latest)
            )
            here.append(
                [
                    [
                        b if b is None or a is None else b - a,
                        a,
                        c if c is None or a is None else c - a,
                    ]
                    for a, b, c in zip(early, middle, late, strict=True)
                ]
            )
        results[f"{src.kind} to {dst.kind}"] = here
    check_kept("conversions", str(seed), results)


@pytest.mark.parametrize("seed", SEEDS)
def test_words_stay(seed: int) -> None:
    """Of one way there: explained by both policies, and why it fails."""
    graph, clocks, times = made(seed)
    src, dst = clocks[seed % len(clocks)], clocks[(seed + 1 + seed // 7 % 2) % len(clocks)]
    value = src.raw(times[seed % 4])
    results = []
    for policy in ("floor", "tube"):
        why = answer_or_error(graph.explain, value, src.id, dst.id, policy=policy)
        results.append(str(why).split("\n"))
        if not isinstance(why, str):
            results.append(None if why.outside is None else list(why.outside))
    results.append(answer_or_error(graph.convert, value, src.id, dst.id, policy="tube"))
    results.append(answer_or_error(graph.explain, 5, src.id, src.id, policy="tube"))
    results[-1] = str(results[-1]).split("\n")
    check_kept("words", str(seed), results)


@pytest.mark.parametrize("seed", SEEDS)
def test_findings_stay(seed: int) -> None:
    graph, clocks, _ = made(seed)
    results = {
        "compared": [f"{one} {other}" for one, other in graph.compared()],
        "found": [list(d[:8]) for d in graph.discontinuities()],
        "loops": [[*loop[:2], list(loop.via), *loop[3:]] for loop in graph.inconsistencies()],
        "edges": [f"{one} {other} {n}" for one, other, n in graph.edges()][:8],
    }
    check_kept("findings", str(seed), results)


@pytest.mark.parametrize("seed", SEEDS)
def test_orders_stay(seed: int) -> None:
    graph, clocks, times = made(seed)
    results = []
    apart = [-5 * S, -S, -20_000, -1_000, -10, 0, 10, 1_000, 20_000, S, 5 * S]
    for one, other in permutations(clocks, 2):
        ts = np.array([other.raw(times[0] + a) for a in apart])
        results.append(answer_or_error(graph.order, (one.raw(times[0]), one.id), (ts, other.id)))
    check_kept("orders", str(seed), results)
