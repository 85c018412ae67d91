"""The jumps between segments, all at once, are those that a plain loop finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracetime.graph.tube.discontinuities import Discontinuity
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.findings import NEAR_ZERO, breaks, jumps
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.segments import Segments, find_segments

S = 10**9
MOST = 1 << 61
READINGS = st.one_of(
    st.integers(0, 100 * S), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-5, 5)
)


def plain(segments: Segments, limits: Limits) -> list[Discontinuity]:
    """The same in Python's integers, one by one; of snapshots, which have both sides."""
    found = []
    evidence, jumped = segments.evidence, jumps(segments, limits)
    for k, (low, high, spread) in enumerate(zip(*(c.tolist() for c in jumped), strict=True)):
        before, after = int(segments.last[k]), int(segments.first[k + 1])
        if segments.forced[k] and low <= 0 <= high:
            continue
        (a_from, low_from, high_from), (a_to, low_to, high_to) = (
            (int(evidence.a[i]), int(evidence.low[i]), int(evidence.high[i]))
            for i in (before, after)
        )
        kind = limits.rise
        if low + high < 0:
            most = max(a_to - a_from + spread + 1, (a_from + low_from) // NEAR_ZERO)
            fell = a_to + low_to <= min(most, a_from + high_from)
            kind = "reset" if fell and a_to + high_to >= 0 else "step"
        on = (int(segments.given[before]), int(segments.given[after]))
        found.append(Discontinuity(kind, a_from, a_to, (low, high), None, on))
    return found


@given(
    st.dictionaries(READINGS, READINGS, min_size=2, max_size=30),
    st.integers(0, S),
    st.sampled_from(["step", "suspend"]),
    st.data(),
)
def test_breaks_are_those_of_a_plain_loop(read, half, rise, data):
    pairs = sorted((a, b) for a, b in read.items() if abs(b - a) < MOST)
    if len(pairs) < 2:
        return
    a, b = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    limits = Limits(1e-4, 1e-9, rise=rise)
    segments = find_segments(Evidence.of(a, b - a, half), limits)
    forced = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
    segments = replace(segments, forced=np.array(forced[: len(segments.forced)], dtype=bool))
    assert list(breaks(segments, segments.evidence, limits)) == plain(segments, limits)


def test_a_counter_that_restarts_is_reset_and_one_set_back_is_stepped():
    def kinds(b: list[int]) -> list[str]:
        a = np.arange(1, 1 + len(b), dtype=np.int64) * S
        limits = Limits(1e-4, 1e-9)
        segments = find_segments(Evidence.of(a, np.array(b, dtype=np.int64) - a, 10), limits)
        return [found.kind for found in breaks(segments, segments.evidence, limits)]

    hour = 3600 * S
    up = [1000 * hour + k * S for k in range(3)]
    assert kinds([*up, 0, S, 2 * S]) == ["reset"]
    assert kinds([*up, *(t - 50 * hour for t in up)]) == ["step"]
    assert kinds([*up, *(t + hour for t in up)]) == ["step"]
