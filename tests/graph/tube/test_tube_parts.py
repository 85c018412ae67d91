"""Parts of a tube at their limits: kinds of breaks, overlaps, pieces, rates, and recorded corrections."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from kept import check_kept
from seeds import seeds

from tracetime import ConversionError, UsageError
from tracetime.graph.ticks import learn_rate, nominal_ns, saturated_ns
from tracetime.graph.tube.corrections import correction_of, find_pieces
from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.segments import find_segments
from tracetime.graph.tube.stretches import _ambiguous, _parts
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
INT64 = np.iinfo(np.int64)


@pytest.mark.parametrize(
    ("before", "after", "gap", "drift", "kind"),
    [
        # It read a hundredth of what it had read, or as much as the gap is long.
        (1_000_000, 10_000, 1_000, 0.0, "reset"),
        (1_000_000, 10_001, 1_000, 0.0, "step"),
        (1_000_000, 0, 1_000, 0.0, "reset"),
        (1_000_000, -1, 1_000, 0.0, "step"),
        (5_000, 1_001, 1_000, 0.0, "reset"),
        (5_000, 1_002, 1_000, 0.0, "step"),
        # And no more than it had read: one that stood still was not reset.
        (500, 500, 1_000, 0.0, "reset"),
        (500, 501, 1_000, 0.0, "step"),
        # A drift of 1/1024 adds 1 ns to a gap of 1,024 ns.
        (5_000, 1_026, 1_024, 2.0**-10, "reset"),
        (5_000, 1_027, 1_024, 2.0**-10, "step"),
    ],
)
def test_a_clock_that_fell_near_zero_was_reset(
    before: int, after: int, gap: int, drift: float, kind: str
) -> None:
    a = np.array([0, gap, 2 * gap, 3 * gap])
    r, later = before - gap, after - 2 * gap
    made = Tube(Evidence.of(a, np.array([r, r, later, later]), 0), Limits(drift, 0.0))
    (found,) = made.discontinuities
    assert (found.kind, found.a_from, found.a_to) == (kind, gap, 2 * gap)
    assert found.snapshots == (1, 2)
    spread = 1 if drift else 0
    assert found.size_ns is not None
    assert found.size_ns[0] <= later - r - spread <= later - r + spread <= found.size_ns[1]
    assert found.size_ns[1] - found.size_ns[0] <= 4 + 4 * spread
    assert made.has_set_back


@pytest.mark.parametrize("seed", seeds(40))
def test_where_two_of_some_intervals_overlap(seed: int) -> None:
    chance = Random(seed)
    intervals = []
    for _ in range(2 + seed % 5):
        low = int(chance.random() * 20)
        intervals.append((low, low + int(chance.random() * 9)))
    twice = _ambiguous(_parts([(float(low), float(high)) for low, high in intervals]))
    lows, highs = twice.lows.tolist(), twice.highs.tolist()
    assert lows == sorted(lows)
    assert all(low <= high for low, high in zip(lows, highs, strict=True))
    assert all(high <= low for high, low in zip(highs, lows[1:], strict=False))
    inside = {x for low, high in zip(lows, highs, strict=True) for x in range(low, high + 1)}
    assert inside == {x for x in range(40) if sum(p <= x <= q for p, q in intervals) > 1}


def test_overlaps_end_at_int64() -> None:
    def overlaps(*stretches: tuple[float, float]) -> list[list[int]]:
        twice = _ambiguous(_parts(list(stretches)))
        return [twice.lows.tolist(), twice.highs.tolist()]

    least, most = int(INT64.min), int(INT64.max)
    every = (-np.inf, np.inf)
    assert overlaps(every, every) == [[least], [most]]
    assert overlaps(every, (most, most + 5)) == [[most], [most]]
    assert overlaps(every, (most + 1, most + 5)) == [[], []]
    assert overlaps(every, (least - 9, least)) == [[least], [least]]
    assert overlaps(every, (least - 9, least - 1)) == [[], []]
    assert overlaps(every, (3, 5), (8, 9)) == [[3, 8], [5, 9]]
    assert overlaps((0, 3), (3, 4)) == [[3], [3]]
    assert overlaps((0, 3), (4, 5)) == [[], []]


@pytest.mark.parametrize("group", range(8))
def test_pieces_between_recorded_changes(group: int) -> None:
    """Together they are all of each segment; short ones stay together where changes are small."""
    results = []
    for seed in range(12):
        chance = Random(1_000 * group + seed)
        n = [1, 2, 3, 5, 9, 14][int(chance.random() * 6)]
        gap, change, half = [S, 1 << 20][seed % 2], 1 << 32, [0, 1, 2, 900][seed // 2 % 4]
        a = np.arange(n, dtype=np.int64) * gap
        corrections, here = [], 0
        for _ in range(n):
            if chance.random() < [0.2, 0.6, 1.0][seed % 3]:
                here = int(chance.random() * 3) * change + int(chance.random() * 2)
            corrections.append(
                NOT_RECORDED if chance.random() < [0.0, 0.15][seed // 4 % 2] else here
            )
        r = np.where(np.arange(n) < n // 2, 0, [0, 50 * S][seed // 3 % 2])
        evidence = Evidence.of(a, r, half, correction=None if seed == 11 else np.array(corrections))
        segments = find_segments(evidence, Limits(2e-4, 1e-9))
        pieces = find_pieces(segments)
        for k, (first, last) in enumerate(zip(segments.first, segments.last, strict=True)):
            mine = pieces.segment == k
            assert pieces.first[mine][0] == first
            assert pieces.last[mine][-1] == last
            assert (pieces.first[mine][1:] == pieces.last[mine][:-1] + 1).all()
        results.append([pieces.segment, pieces.first, pieces.last, pieces.slack, pieces.correction])
    check_kept("parts", f"pieces {group}", results)


@pytest.mark.parametrize(("half", "together"), [(1, False), (2, True), (3, True)])
def test_short_pieces_stay_together_where_a_change_moves_less_than_is_known(
    half: int, together: bool
) -> None:
    """By 2^-20 over 2^21 ns: 2 ns."""
    corrections = [k << 32 for k in range(6)]
    evidence = Evidence.of(
        np.arange(6) << 21, np.zeros(6, int), half, correction=np.array(corrections)
    )
    pieces = find_pieces(find_segments(evidence, Limits(1e-3, 1e-9)))
    assert pieces.first.tolist() == ([0] if together else [0, 1, 2, 3, 4, 5])
    assert pieces.slack.tolist() == ([5 << 31] if together else [0] * 6)
    assert pieces.correction.tolist() == ([NOT_RECORDED] if together else corrections)


@pytest.mark.parametrize("n", [2, 3])
def test_so_many_snapshots_between_two_changes_prove_a_rate(n: int) -> None:
    corrections = np.repeat([0, 1, 2, 3], n) << 32
    evidence = Evidence.of(
        np.arange(4 * n) * S, np.zeros(4 * n, int), 10**6, correction=corrections
    )
    pieces = find_pieces(find_segments(evidence, Limits(1e-3, 1e-9)))
    assert len(pieces.first) == (1 if n == 2 else 4)


def test_corrections_that_differ_count_whichever_is_first() -> None:
    zero = np.zeros(3, dtype=np.int64)
    for corrections in (
        [0, 0, 65_536],
        [65_536, 0, 0],
        [0, 65_536, 0],
        [-65_536, 0, 0],
        [0, 0, -65_536],
    ):
        got = correction_of(zero, np.array(corrections))
        assert got is not None
        assert got.tolist() == [round(x / 65_536 * 1e-6 * ONE) for x in corrections]
    assert correction_of(zero, zero) is None
    assert correction_of(zero, zero + 65_536) is None


@pytest.mark.parametrize(("more", "shared"), [(0, True), (1 << 21, False)])
def test_rates_are_shared_while_floats_hold_what_was_recorded(more: int, shared: bool) -> None:
    """Corrections about 2^-5 that change at each of five snapshots, 2^53 ns apart: 2^50 ns."""
    # In a float of 53 bits, products up to 2^50 have an eighth of a ns.
    swing, middle = 1 << 44, 1 << 47
    corrections = np.array([middle + swing * (-1) ** k for k in range(5)])
    a = np.arange(5, dtype=np.int64) << 53
    a[4] += more
    made = Tube(Evidence.of(a, a >> 5, 100, correction=corrections), Limits(0.1, 1e-9))
    runs = made.runs
    assert (runs.slope != 0).all() == shared
    check_kept("parts", f"shared, {shared}", [runs.first, runs.slope, runs.width, runs.lone])


@pytest.mark.parametrize("seed", range(40))
def test_rates_of_clocks_that_are_steered_at_every_snapshot_stay(seed: int) -> None:
    """Some corrections unknown, some jumps, several lines: which runs get their rate from them."""
    chance = Random(seed)
    n = [1, 2, 3, 4, 8, 15][seed % 6]
    base, half = (chance.random() - 0.5) * 60e-6, [3, 40, 2_000][seed % 3]
    a, r, corrections, at, drifted = [], [], [], 5 * S, 0.0
    for k in range(n):
        steer = (chance.random() - 0.5) * [1e-8, 3e-6, 60e-6][seed // 3 % 3]
        if seed % 4 == 1 and k % 5 < 3 and k:
            steer = corrections[-1] / ONE
        a.append(at)
        r.append(round(drifted) + int((chance.random() - 0.5) * 2 * half))
        corrections.append(round(steer * ONE))
        at += S
        drifted += (base + steer) * S
    if seed % 5 == 2 and n > 6:
        r = [x + (0 if k < n - 3 else 10**8) for k, x in enumerate(r)]
    if seed % 5 == 3 and n > 6:
        r = [x + (0 if k < n // 2 else 3 * half) for k, x in enumerate(r)]
    corrections = [
        NOT_RECORDED if chance.random() < [0.0, 0.1][seed // 5 % 2] else x for x in corrections
    ]
    evidence = Evidence.of(np.array(a), np.array(r), half, correction=np.array(corrections))
    made = Tube(evidence, Limits.of(100, 500, [(0.01, 0.01), (None, None)][seed // 7 % 2]))
    runs = made.runs
    columns = (runs.first, runs.last, runs.slope, runs.width, runs.lone, runs.correction)
    results = [list(row) for row in zip(*columns, strict=True)]
    check_kept("steered", f"always {seed}", [results, made.wander])


def test_a_rate_is_learnt_of_the_first_and_last_tick() -> None:
    def rate(ticks: list[int], ns: list[int]) -> Fraction | None:
        try:
            return learn_rate(np.array(ticks, dtype=np.int64), np.array(ns, dtype=np.int64))
        except ConversionError as error:
            assert error.reason == "no_path"
            return None

    assert rate([5, 3], [10, 7]) == Fraction(3, 2)
    assert rate([3, 9, 5], [7, 25, 0]) == 3
    assert rate([3, 4], [7, 8]) == 1
    assert rate([], []) is rate([3], [7]) is rate([3, 3], [7, 9]) is None
    assert rate([3, 9], [7, 7]) is rate([3, 9], [7, 6]) is None
    # A denominator of up to 2^40 is exact.
    assert rate([0, 1 << 40], [0, 10**12 + 1]) == Fraction(10**12 + 1, 1 << 40)
    near = rate([0, (1 << 40) + 1], [0, 10**12 + 1])
    assert near is not None
    assert near != Fraction(10**12 + 1, (1 << 40) + 1)
    assert near.denominator <= 1 << 40
    assert rate([0, INT64.max], [0, 1]) == Fraction(1, 1 << 40)


@pytest.mark.parametrize("bits", [61, 62, 63])
def test_ns_of_ticks_are_exact_wherever_products_end(bits: int) -> None:
    for numerator, denominator in ((7, 1), (3, 1 << 40), ((1 << 31) - 1, 1 << 31), (1 << 30, 3)):
        rate = Fraction(numerator, denominator)
        most = (1 << bits) * denominator // numerator
        ticks = [t for x in (most, -most) for t in range(x - 3, x + 4) if abs(t) <= INT64.max]
        ticks = ticks or [int(INT64.min), -1, int(INT64.max)]
        exact = [t * numerator // denominator for t in ticks]
        fits = [INT64.min <= x <= INT64.max for x in exact]
        got, beyond = saturated_ns(np.array(ticks), rate)
        assert got.tolist() == [min(max(x, int(INT64.min)), int(INT64.max)) for x in exact]
        assert beyond.tolist() == [not fit for fit in fits]
        some = [t for t, fit in zip(ticks, fits, strict=True) if fit]
        assert nominal_ns(np.array(some, dtype=np.int64), rate).tolist() == [
            x for x, fit in zip(exact, fits, strict=True) if fit
        ]


@pytest.mark.parametrize(
    ("drift", "wander", "message"),
    [
        (0.1234564, 0.0, "a drift of 123456 ppm is outside 0 to 100000 ppm: say the clock's rate"),
        (0.1234566, 0.0, "a drift of 123457 ppm is outside 0 to 100000 ppm: say the clock's rate"),
        (-0.5, 0.0, "a drift of -500000 ppm is outside"),
        (0.0, 0.1234564, "a wander of 123456 ppm is outside 0 to 10000 ppm"),
        (0.0, 0.1234566, "a wander of 123457 ppm is outside 0 to 10000 ppm"),
    ],
)
def test_errors_of_limits_are_in_ppm(drift: float, wander: float, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        Limits(drift, wander)
