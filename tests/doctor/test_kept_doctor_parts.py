"""How the doctor distinguishes recordings, over many small files just within limits and beyond."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME
from kept import check_kept
from written_rows import as_written

from tracetime import ClockId
from tracetime.analysis import snapshots
from tracetime.analysis.snapshots import Written
from tracetime.doctor.recordings import _one_recording

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

S = 1_000_000_000
MS = 1_000_000
OTHERS = [7, 64, 200, 201]
# A fall of 1 ms, minutes apart, and times that are alike to 1 % and a minute.
JUMPS = [
    -MS + 1,
    -MS,
    -MS - 1,
    -10 * S,
    -700 * S,
    MS,
    60 * S,
    60 * S + 1,
    60_606_060_606,
    60_606_060_607,
    122_000_000_000,
    130 * S,
    190 * S,
    400 * S,
    5_000 * S,
]


def written(snapshots: list[dict[int, int]]) -> Written:
    return Written(
        as_written(
            [
                (3 * k + 1, clock, 0, 0, value, 1, 0)
                for k, one in enumerate(snapshots)
                for clock, value in one.items()
            ]
        )
    )


def starts(signs):
    return [one.packet for one in snapshots.starts(Written(as_written([], signs)).signs)]


def jumping(chance: Random) -> list[dict[int, int]]:
    """Clocks a second apart; once or twice some of them jump, all by one time or each by another."""
    kernel = chance.sample([BOOTTIME, MONOTONIC, REALTIME, MONOTONIC_RAW, 4], chance.randint(1, 5))
    clocks = kernel + chance.sample(OTHERS, chance.randint(0, 3))
    at = {clock: (1_000 + 100 * k) * S for k, clock in enumerate(clocks)}
    jumps = set(chance.sample(range(1, 6), chance.randint(1, 2)))
    first, results = dict(at), []
    for k in range(6):
        if k in jumps:
            share, one = chance.choice([0.4, 0.6, 1]), chance.choice(JUMPS)
            is_alike, is_anew = chance.random() < 0.4, chance.random() < 0.2
            for clock in clocks:
                if is_anew:
                    at[clock] = first[clock] - S - (chance.random() < 0.1)
                elif chance.random() < share:
                    at[clock] += -S + (one if is_alike else chance.choice(JUMPS))
        at = {clock: value + S for clock, value in at.items()}
        results.append(
            {clock: value for clock, value in at.items() if k == 0 or chance.random() < 0.95}
        )
    return results


@pytest.mark.parametrize("group", range(8))
def test_where_clocks_fall_together_or_apart(group):
    results = []
    for seed in range(60):
        made = jumping(Random(f"jumping {group} {seed}"))
        results.append([list(one) for one in snapshots.breaks(written(made))])
    check_kept("doctor_parts", f"breaks {group}", results)


def in_parts(chance: Random) -> tuple[list[dict[int, int]], list[int]]:
    """A recording in parts in another order, with pauses, some twice, clocks off."""
    clocks = chance.choice(
        [
            [BOOTTIME],
            [BOOTTIME, REALTIME],
            [REALTIME, BOOTTIME, 200],
            [MONOTONIC, REALTIME, 200, 64],
        ]
    )
    size, gap = chance.choice([1, 1, 2, 4]), chance.choice([S, 100_000])
    pause = chance.choice([gap, 2 * gap, 3 * gap - 1, 3 * gap, 3 * gap + 1, 3 * MS, 3 * MS + 1])
    off = chance.choice([0, 0.05, 0.1, 0.2])
    slack = MS + pause // 1_000
    at, parts = 1_000 * S, []
    for _ in range(chance.choice([2, 3, 11, 21])):
        part, drift = [], {}
        for clock in clocks:
            drift[clock] = chance.choice([0, slack, slack + 1, -slack, -slack - 1, S])
        for _ in range(size):
            part.append(
                {
                    clock: at + k * 7 * S + (chance.random() < off) * drift[clock]
                    for k, clock in enumerate(clocks)
                }
            )
            at += gap
        at += pause - gap
        parts += [part] * (2 if chance.random() < chance.choice([0, 0.2, 1]) else 1)
    kind = chance.choice(["turned", "shuffled", "reversed"])
    if kind == "turned":
        parts = parts[len(parts) // 2 :] + parts[: len(parts) // 2]
    elif kind == "shuffled":
        chance.shuffle(parts)
    else:
        parts.reverse()
    snapshots = [one for part in parts for one in part]
    return snapshots, [3 * size * k + 1 for k in range(1, len(parts))]


@pytest.mark.parametrize("group", range(8))
def test_whether_parts_are_of_one_recording(group):
    results = []
    for seed in range(60):
        chance = Random(f"parts {group} {seed}")
        snapshots, breaks = in_parts(chance)
        read: Any = SimpleNamespace(trace_clock=ClockId([BOOTTIME, REALTIME, 9][seed % 3]))
        results.append(_one_recording(written(snapshots).series(), breaks, read))
    assert 0.15 < sum(results) / len(results) < 0.85
    check_kept("doctor_parts", f"one recording {group}", results)


SIGNS = {"s": 6, "c": 33, "t": 35, "m": 36, "i": 45, "u": 89}


@pytest.mark.parametrize(
    ("layout", "begin"),
    [
        ("", []),
        ("e", []),
        ("uc", []),
        ("smtse", []),
        ("ueu", [2]),
        ("uceiceu", [4]),
        ("cueecue", [4]),
        ("cueeuce", [4]),
        ("cuecue cue", [3, 7]),
        ("sueesue", [4]),
        ("suee sue", [5]),
        ("muemsuese", [3]),
        ("suesmsue", [3]),
        ("suetue", [4]),
        ("suestue", [3]),
        ("suemtue", [3]),
        ("suettue", [5]),
        ("suesttue", [6]),
        ("suetsue", [4]),
        ("suestsue", [3]),
        ("sueestsmue", [4]),
        ("suecue", [4]),
        ("cueue", [3]),
        ("cuecuec", [3, 6]),
        ("usutsu", [1, 4]),
        ("uuu", [1, 2]),
        ("ieieies", [2, 4]),
        ("ueicueic", [4]),
    ],
)
def test_a_recording_begins_with_the_snapshots_that_come_before_what_its_recorder_says(
    layout, begin
):
    """Statistics and a snapshot before them end the recording before, if no event is in between."""
    signs = [(k, 10 * k, SIGNS[one], 0) for k, one in enumerate(layout) if one in SIGNS]
    assert starts(signs) == begin
    elsewhere = [(k + 1, 10 * k, 89, 1) for k in range(len(layout) + 3)]
    assert starts(signs + elsewhere) == begin
