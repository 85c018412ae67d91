"""The jumps that the doctor finds in small random traces, and its findings, stay the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, event, snapshot, trace
from faults import GPU, NIC, START, S
from kept import check_kept
from reading import opened
from test_kept_doctor import lines

from tracetime.analysis.survey import Survey
from tracetime.doctor import TOLERANCE_NS, findings_of
from tracetime.doctor.attribution import attributed_jumps

COARSE, CUSTOM, SEQUENCE = 2, 0x8888_0001, 7
POOL = (BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, COARSE, GPU, NIC, CUSTOM, 64)
STOPPED = {MONOTONIC, MONOTONIC_RAW}
SIZES = (5_000_000, S // 2, 7 * S, 3600 * S)


class Scene:
    """Some clocks read together, to which up to three things happen.

    Attributes:
        n: snapshots.
        at: by clock and snapshot, what it reads.
    """

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.n = chance.choice((2, 3, 4, 5, 6, 8, 12))
        self.gap = chance.choice((S, S, 30 * S))
        self.clocks = chance.sample(POOL, chance.choice((2, 3, 3, 4, 5, 6, 7)))
        self.at: dict[int, list[int]] = {}
        for clock in self.clocks:
            begin = START + chance.choice((0, -100, 50, 4000)) * S
            ppm = chance.choice((0, 0, 12, -30))
            gap = self.gap + self.gap * ppm // 1_000_000
            self.at[clock] = [begin + k * gap for k in range(self.n)]

    def sleep(self, k: int, size: int) -> None:
        still = {*STOPPED, *self.chance.sample(self.clocks, self.chance.randrange(3))}
        for clock in self.clocks:
            if clock not in still:
                self._add(clock, range(k, self.n), size)

    def step(self, k: int, size: int) -> None:
        for clock in self.chance.sample(self.clocks, self.chance.choice((1, 1, 1, 2))):
            self._add(clock, range(k, self.n), self.chance.choice((size, -size)))

    def misread(self, k: int, size: int) -> None:
        for clock in self.chance.sample(self.clocks, self.chance.choice((1, 1, 2))):
            self._add(clock, range(k, k + 1), self.chance.choice((size, -size)))

    def to_and_fro(self, k: int, size: int) -> None:
        self._add(self.chance.choice(self.clocks), range(k % 2, self.n, 2), size)

    def reset(self, k: int, size: int) -> None:
        clock = self.chance.choice(self.clocks)
        near = self.chance.choice((0, self.gap // 2, size))
        self._add(clock, range(k, self.n), near - self.at[clock][k])

    def wrap(self, k: int, size: int) -> None:
        clock, bits = self.chance.choice(self.clocks), self.chance.choice((31, 32, 34))
        self.at[clock] = [value % 2**bits for value in self.at[clock]]

    def _add(self, clock: int, snapshots: range, size: int) -> None:
        for k in snapshots:
            self.at[clock][k] += size

    def build(self) -> bytes:
        primary = self.chance.choice((None, None, *self.clocks))
        packets = []
        for k in range(self.n):
            read: dict[int, Any] = {}
            for clock in self.clocks:
                if self.chance.random() < 0.92:
                    value = max(self.at[clock][k], 0)
                    read[clock] = (value // 1000, 1000) if clock == 64 else value
            packets.append(snapshot(read, SEQUENCE, primary=primary))
            for clock in self.clocks:
                if self.chance.random() < 0.6:
                    later = max(self.at[clock][k], 0) + self.gap // 3
                    packets.append(event(later // (1000 if clock == 64 else 1), clock, SEQUENCE))
        return trace(*packets)


HAPPENINGS: dict[str, Callable[[Scene, int, int], None]] = {
    one.__name__: one
    for one in (Scene.sleep, Scene.step, Scene.misread, Scene.to_and_fro, Scene.reset, Scene.wrap)
}


def reported(data: bytes) -> list[str]:
    """Each jump with the clock that jumped, then the findings."""
    with opened(data) as read:
        survey = Survey(read, TOLERANCE_NS)
        attributed = [
            f"{d.dst} beside {d.src}: {d.kind} by {d.size_ns} in {d.snapshots}"
            for d in attributed_jumps(survey)
        ]
        return [*attributed, *lines(findings_of(survey), "")]


@pytest.mark.parametrize("first", HAPPENINGS)
def test_jumps_by_chance(first):
    found = {}
    for seed in range(30):
        chance = Random(f"{first} {seed}")
        scene = Scene(chance)
        for name in (first, *chance.sample(sorted(HAPPENINGS), chance.choice((0, 0, 1, 2)))):
            HAPPENINGS[name](scene, chance.randrange(1, scene.n), chance.choice(SIZES))
        found[str(seed)] = reported(scene.build())
    check_kept("jumps", first, found)
