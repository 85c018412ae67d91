"""How far floor may be from the tube of a clock with a constant offset, to the nanosecond."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tracetime import ClockDomain, ClockGraph, ClockId, Reading, Snapshot
from tracetime.analysis.floor_cost import ConstantOffsets
from tracetime.graph.clock_graph import inner

S = 1_000_000_000
REFERENCE = ClockId(6)
CLOCKS = [ClockId(200 + k) for k in range(10)]
CLOCK = CLOCKS[0]


def offsets_of(
    *snapshots: Any, domains: Any = (), reference: ClockId = REFERENCE
) -> ConstantOffsets:
    graph = ClockGraph(domains=domains)
    for snapshot in snapshots:
        graph.add_snapshot(snapshot)
    return ConstantOffsets(inner(graph), reference, graph._graph.contents.tied_only_to(reference))


def limit(at: Any, strays: Any, span: Any = None, **more: Any) -> int | None:
    at = np.array(at)
    return offsets_of({REFERENCE: at, CLOCK: at - np.array(strays)}, **more).limit_ns(CLOCK, span)


def drifting(ppm: float) -> list[ClockDomain]:
    return [ClockDomain(c, max_drift_ppm=ppm / 2) for c in (REFERENCE, CLOCK)]


def test_the_limit_is_the_stray_and_a_half_and_4_ns_and_what_a_bend_may_add() -> None:
    at = [0, 4 * S, 8 * S]
    assert limit(at, [0, 0, 0]) == 0
    assert limit(at, [7, 7, 7]) == 0
    # 10 ns in 4 s are 2.5 ppb; twice 10 ns over all 8 s as well, and wander on top.
    assert limit(at, [0, 10, 0]) == 10 + 5 + 4 + math.ceil(2.5e-9 * S)
    assert limit(at, [0, 11, 0]) == 11 + 5 + 4 + 3
    assert limit(at, [0, -10, 0]) == 10 + 5 + 4 + 3
    assert limit(at, [0, 1_000, 0]) == 1_500 + 4 + 250
    # A device's half-width is 2 us at least.
    assert limit(at, [0, 2_000, 0]) == 3_000 + 4 + 500
    assert limit(at, [0, 2_001, 0]) is None


def test_beyond_the_snapshots_the_estimate_may_run_away() -> None:
    at = [S, 5 * S, 9 * S]

    def bent(*span: int) -> int:
        found = limit(at, [0, 1_000, 0], span)
        assert found is not None
        return found - 1_504

    assert bent(S, 9 * S) == 250
    assert bent(2 * S, 3 * S) == 250
    assert bent(0, 9 * S) == 250 + 250
    assert bent(S, 10 * S) == 250 + 250
    assert bent(0, 11 * S) == bent(-S, 10 * S) == 250 + 500
    assert bent(S - 4_000_000, 9 * S) == 251
    assert bent(S, 9 * S + 4_000_001) == 252


def test_an_estimate_is_no_steeper_than_the_limits_nor_than_a_line_and_its_wander() -> None:
    # 1,000 ns in 1 ms are 1,000 ppm; the line over all 8 s is 0.25 ppm at the most.
    at = [0, 1_000_000, 8 * S]
    graph = ClockGraph()
    graph.add_snapshot({REFERENCE: np.array(at), CLOCK: np.array(at)})
    wander = graph._graph.tubes.pairs.limits(CLOCK, REFERENCE).wander
    assert limit(at, [0, 1_000, 0]) == 1_504 + math.ceil(
        (2.5e-7 + 2 * wander) * (8 * S - 1_000_000) / 4
    )
    # Two clocks off by 0.05 ppm each are so by 0.1 ppm.
    for ppm, bent in ((0, 0), (0.1, 200), (0.2, 400)):
        assert limit(at, [0, 1_000, 0], domains=drifting(ppm)) == 1_504 + bent
    # Of two at one instant, nothing is a slope.
    assert limit([S, S], [0, 10]) == 19
    assert limit([S, S], [0, 10], (0, 9 * S)) == 19
    assert limit([S, S, 2 * S], [0, 10, 10], (S, 2 * S)) == 19
    assert limit([S, S, 2 * S], [0, 10, 20], (S, 2 * S)) == 34 + math.ceil(10 / 4)


def test_eight_clocks_of_one_list_are_examined() -> None:
    at = np.arange(1, 4) * S

    def of(n: int) -> int | None:
        return offsets_of({REFERENCE: at, **dict.fromkeys(CLOCKS[: n - 1], at)}).limit_ns(
            CLOCK, None
        )

    assert [of(n) for n in (2, 7, 8, 9)] == [0, 0, 0, None]


@pytest.mark.parametrize(
    "domain",
    [
        {"ns_per_tick": 2},
        {"ns_per_tick": None},
        {"valid_bits": 63},
        {"valid_bits": 40},
        {"assumed_half_width_ns": 0},
        {"assumed_half_width_ns": 5},
    ],
)
@pytest.mark.parametrize("which", [REFERENCE, CLOCK, CLOCKS[1]])
def test_a_clock_of_which_more_is_known_takes_a_tube(domain: Any, which: ClockId) -> None:
    at = np.arange(1, 4) * S
    constant = offsets_of(
        {REFERENCE: at, CLOCK: at, CLOCKS[1]: at}, domains=[ClockDomain(which, **domain)]
    )
    assert constant.limit_ns(CLOCK, None) is None
    plain = offsets_of(
        {REFERENCE: at, CLOCK: at, CLOCKS[1]: at}, domains=[ClockDomain(which, tick_ns=7)]
    )
    assert plain.limit_ns(CLOCK, None) == 0


@pytest.mark.parametrize("which", [CLOCK, CLOCKS[1]])
def test_what_any_two_of_them_strayed_counts(which: ClockId) -> None:
    """A way may lead over each of them."""
    at = np.arange(1, 4) * S

    def of(stray: int) -> int | None:
        reads = {REFERENCE: at, CLOCK: at, CLOCKS[1]: at} | {which: at + np.array([0, stray, 0])}
        return offsets_of(reads).limit_ns(CLOCK, (S, 3 * S))

    assert of(2_000) is not None
    assert of(2_001) is None


def test_a_half_width_is_as_wide_as_both_ticks() -> None:
    at = np.arange(1, 4) * S
    for tick, most in ((499, 2_000), (1_999, 2_000), (2_000, 2_001), (5_000, 5_001)):
        domains = [ClockDomain(CLOCK, tick_ns=tick)]
        assert limit(at, [0, most, 0], domains=domains) is not None
        assert limit(at, [0, most + 1, 0], domains=domains) is None


def test_clocks_that_are_very_far_apart_take_a_tube() -> None:
    at = np.array([0, S])
    for far, expected in (
        ((1 << 61) - 256, 0),
        (1 << 61, None),
        (256 - (1 << 61), 0),
        (-(1 << 61), None),
    ):
        assert limit(at, [far, far]) == expected


def test_what_is_said_of_how_a_clock_was_read_takes_a_tube() -> None:
    at = np.arange(1, 4) * S
    reads: dict[Any, Any] = {REFERENCE: at, CLOCK: at, CLOCKS[1]: at}

    def of(**said: Any) -> int | None:
        return offsets_of(Snapshot(reads, **said)).limit_ns(CLOCK, None)

    assert of() == 0
    assert of(reference=CLOCKS[1], half_width_ns={CLOCK: 0}) is None
    assert of(reference=REFERENCE, half_width_ns={CLOCK: 5}) is None
    assert of(frequency_scaled_ppm={CLOCKS[1]: 0}) is None
    assert of(frequency_scaled_ppm={REFERENCE: 0}) is None


def test_clocks_of_other_lists_and_of_none_take_a_tube() -> None:
    at = np.arange(1, 4) * S
    constant = offsets_of(
        {REFERENCE: at, CLOCK: at}, {REFERENCE: at, CLOCKS[1]: at}, {CLOCKS[2]: at, CLOCKS[3]: at}
    )
    assert constant.limit_ns(CLOCK, None) == 0
    assert constant.limit_ns(CLOCKS[1], None) == 0
    for clock in (CLOCKS[2], CLOCKS[4]):
        assert constant.limit_ns(clock, None) is None
    micro = ClockId(64, 1)
    assert (
        offsets_of({REFERENCE: at, micro: Reading(at // 1_000, 1_000)}).limit_ns(micro, None) == 0
    )
