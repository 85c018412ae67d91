"""Why a clock jumped: each limit from both sides."""

from __future__ import annotations

import numpy as np
import pytest
from surveyed import BOOT, COARSE, MONO, REAL, S, Survey, X, Y, Z, jump

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.doctor.catalogue import finding, told
from tracetime.doctor.jumps import _alternates as alternates
from tracetime.doctor.jumps import (
    _back,
    _bits,
    _cause,
    _collides,
    _contain_falls,
    _Fall,
    _falls,
    _JumpingClock,
    _of_two,
    _often,
    _on_two_lines,
    _set_at,
    _size_parts,
    _ticks_per_ns,
    _unpaired_falls,
)
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.text import count, duration

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
MS = 1_000_000


def fell(by: int, advance: int, after: int = 0, snapshot: int = 4, off: int | None = None) -> _Fall:
    return _Fall(snapshot, by, advance, after, off)


@pytest.mark.parametrize(
    ("unit", "falls", "bits"),
    [
        (1, [], None),
        (1, [fell(2**32 - 100 * MS, 100 * MS)], 32),
        # By as much as it was going to count, to a hundredth of that and 1 ms.
        (1, [fell(2**32 - 98 * MS, 100 * MS)], 32),
        (1, [fell(2**32 - 98 * MS + 1, 100 * MS)], None),
        (1, [fell(2**32 - 102 * MS, 100 * MS)], 32),
        (1, [fell(2**32 - 102 * MS - 1, 100 * MS)], None),
        # To 0 or as far as it counted since, a tenth and 1 ms more.
        (1, [fell(2**32 - 100 * MS, 100 * MS, -1)], None),
        (1, [fell(2**32 - 100 * MS, 100 * MS, 111 * MS)], 32),
        (1, [fell(2**32 - 100 * MS, 100 * MS, 111 * MS + 1)], None),
        # By less than all of its bits.
        (1, [fell(2**32 - 1, 0)], 32),
        (1, [fell(2**32, 0)], None),
        (1, [fell(2**32 + 1, -1)], None),
        # All of its falls.
        (1, [fell(2**32 - 100 * MS, 100 * MS), fell(2**32 - 5, 5)], 32),
        (1, [fell(2**32 - 100 * MS, 100 * MS), fell(2**31, 5)], None),
        # In what it counts by.
        (1000, [fell(1000 * 2**16 - 5 * MS, 5 * MS)], 16),
        (1024, [fell(2**26 - 5 * MS, 5 * MS)], 16),
        (2048, [fell(2**26 - 5 * MS, 5 * MS)], None),
        (1, [fell(2**63 - 5 * MS, 5 * MS)], 63),
        (1, [fell(2**64 - 5 * MS, 5 * MS)], None),
        # Where the slack is a twentieth of it, any size would do.
        (381, [fell(381 * 2**16 - 24_846_075, 24_846_075)], 16),
        (381, [fell(381 * 2**16 - 24_846_080, 24_846_080)], None),
    ],
)
def test_the_bits_of_a_counter_that_wrapped(unit, falls, bits):
    survey = Survey(3, {BOOT: {}, X: {}}, units={X: unit})
    assert _bits(survey, X, falls) == bits


@pytest.mark.parametrize("name", BUILTIN_IDS)
def test_of_the_kernels_clocks_only_the_tsc_is_a_counter_that_may_wrap(name):
    clock = ClockId(BUILTIN_IDS[name])
    survey = Survey(3, {clock: {}})
    assert _bits(survey, clock, [fell(2**32 - 5, 5)]) == (32 if name == "TSC" else None)


def _alternates(found):
    return alternates(PairDiscontinuities.of(found))


def cause(clock, *falls, found=()):
    survey, found = Survey(3, {BOOT: {}, clock: {}}), PairDiscontinuities.of(found)
    jumper = _JumpingClock(clock, found=found, distinct=found, falls=list(falls))
    return _cause(survey, jumper, found)


OFF = jump(BOOT, X, 5, 4, kind="outlier")


@pytest.mark.parametrize(
    ("falls", "found", "expected"),
    [
        ([fell(2**32 - 5, 5)], [], ("counter-wraps", 32)),
        ([fell(7 * S, S, 0)], [], ("clock-reset", None)),
        ([fell(7 * S, S, 1_101 * MS)], [], ("clock-reset", None)),
        ([fell(7 * S, S, 1_101 * MS + 1)], [], ("clock-ran-backwards", None)),
        ([fell(7 * S, S, -1)], [], ("clock-ran-backwards", None)),
        ([fell(7 * S, S, 0), fell(7 * S, S, 5 * S)], [], ("clock-ran-backwards", None)),
        ([], [], ("clock-ran-backwards", None)),
        ([fell(7 * S, S, 5 * S, off=3)], [], ("snapshot-outlier", None)),
        (
            [fell(7 * S, S, 5 * S, off=3), fell(7 * S, S, 5 * S)],
            [],
            ("clock-ran-backwards", None),
        ),
        ([fell(7 * S, S, 5 * S)], [OFF], ("snapshot-outlier", None)),
        ([], [OFF], ("snapshot-outlier", None)),
        ([fell(7 * S, S, 5 * S)], [OFF, jump(BOOT, X, 9)], ("clock-ran-backwards", None)),
    ],
)
def test_why_a_clock_ran_backwards(falls, found, expected):
    assert cause(X, *falls, found=found) == expected


@pytest.mark.parametrize("clock", [REAL, COARSE])
def test_the_wall_clock_is_set(clock):
    assert cause(clock, fell(7 * S, S, 0)) == ("realtime-set-back", None)
    assert cause(clock, fell(7 * S, S, 0, off=2)) == ("snapshot-outlier", None)


def test_two_clocks_of_one_number_are_no_reason_of_a_clock():
    to_and_fro = [jump(BOOT, X, by, k, k + 1) for k, by in ((1, 5), (4, -5), (6, 5))]
    assert cause(X, fell(7 * S, S, 5 * S), found=to_and_fro) == ("clock-id-collision", None)
    assert cause(MONO, fell(7 * S, S, 5 * S), found=to_and_fro) == ("clock-ran-backwards", None)


@pytest.mark.parametrize(("number", "may"), [(9, False), (127, False), (128, True), (200, True)])
def test_numbers_of_their_own_sequence_and_of_the_kernel_are_of_one_clock(number, may):
    clock = ClockId(number)
    found = PairDiscontinuities.of(jump(BOOT, clock, by, k, k + 1) for k, by in ((1, 5), (4, -5)))
    survey = Survey(3, {BOOT: {}, clock: {}})
    assert _collides(survey, _JumpingClock(clock, found=found)) == may
    assert not _collides(survey, _JumpingClock(clock, found=found[:1]))
    lines = Survey(8, {BOOT: {}, clock: {k: (-1) ** k * S // 2 for k in range(1, 8)}})
    assert _collides(lines, _JumpingClock(clock, found=found[:1])) == may


@pytest.mark.parametrize(
    ("jumps", "does"),
    [
        ([], False),
        ([(1, 1000)], False),
        ([(1, 1000), (4, -1000)], True),
        ([(1, -1000), (4, 1000)], True),
        ([(1, 1000), (4, 1000)], False),
        ([(1, 1000), (4, -900)], True),
        ([(1, 1000), (4, -899)], False),
        ([(1, 900), (4, -1000)], True),
        ([(1, 1000), (4, -1111)], True),
        ([(1, 1000), (4, -1112)], False),
        ([(1, 1000), (4, -1000), (7, 1000)], True),
        ([(1, 1000), (4, -1000), (7, -1000)], False),
        ([(1, 1000), (4, 1000), (7, -1000)], False),
        # In the order of time, whatever that of the list is.
        ([(7, 1000), (1, 1000), (4, -1000)], True),
        ([(1, 1000), (4, None)], False),
        ([(1, 1000), (4, None), (7, -1000)], True),
        # Away in one snapshot and back in the next.
        ([(1, 1000), (2, -1000)], False),
        ([(1, 1000), (2, -1000), (3, 1000)], True),
    ],
)
def test_offsets_that_go_to_and_fro(jumps, does):
    found = [jump(BOOT, X, by, k, k + 1)._replace(a_from=k * S) for k, by in jumps]
    assert _alternates(found) == does
    # Beside another clock nothing tells that it is the same.
    if found:
        assert not _alternates([*found[:-1], found[-1]._replace(src=MONO)])


@pytest.mark.parametrize(
    ("sizes", "does"),
    [
        ((1000, 1000), True),
        ((-1000, -1000, -950), True),
        ((1000, -1000), False),
        ((1000, 1000, -1000), False),
        ((-1000, 1000, 1000), False),
        ((1000, 500), False),
        ((1000,), False),
    ],
)
def test_readings_off_by_one_size_are_of_another_clock(sizes, does):
    found = [
        jump(BOOT, X, by, 2 * k, kind="outlier")._replace(a_from=2 * k)
        for k, by in enumerate(sizes)
    ]
    assert _alternates(found) == does
    assert not _alternates([*found[:-1], found[-1]._replace(kind="step", snapshots=(20, 21))]) or (
        sizes[-2] * sizes[-1] < 0
    )


def test_the_middle_of_what_a_jump_may_be_counts():
    found = [jump(BOOT, X, size, k, k + 1) for k, size in ((1, (0, 2000)), (4, (-1100, -700)))]
    assert _alternates(found)
    assert not _alternates([found[0], found[1]._replace(size_ns=(-1100, -698))])


def lines(*by: int, partner=BOOT, **options) -> Survey:
    return Survey(len(by) + 1, {partner: {}, X: dict(enumerate(by, 1))}, **options)


BIG = 10 * MS


@pytest.mark.parametrize(
    ("by", "does"),
    [
        ((BIG, -BIG, BIG, -BIG), True),
        ((-BIG, BIG, -BIG, BIG), True),
        ((BIG, -BIG, BIG), False),
        ((BIG, 0, -BIG, 0, 0, BIG, -BIG), True),
        ((BIG, -BIG, BIG, BIG), False),
        ((BIG, BIG, -BIG, BIG), False),
        ((BIG, -BIG, BIG, -BIG * 9 // 10), True),
        ((BIG, -BIG, BIG, -BIG * 9 // 10 + 1), False),
        # What drift and the tolerance leave open is no jump: 1000 ppm of a second, and 1 ms.
        ((2_000_001, -2_000_001, 2_000_001, -2_000_001), True),
        ((2_000_001, -2_000_001, 2_000_001, -2_000_000), False),
        ((BIG, -BIG, BIG, -BIG, 2_000_000, -2_000_000), True),
        ((BIG, -BIG, BIG, -BIG, 2_000_001), False),
        ((BIG, -BIG, BIG, -BIG, 0, -2_000_001), False),
    ],
)
def test_readings_on_two_lines(by, does):
    assert _on_two_lines(lines(*by), X) == does


def test_readings_on_two_lines_are_seen_next_to_a_reference():
    assert not _on_two_lines(Survey(8, {X: {k: (-1) ** k * BIG for k in range(1, 8)}}), X)
    # Of two that are steered less.
    for off, does in ((1_300_000, False), (1_300_001, True)):
        crystals = lines(*[off, -off] * 2, partner=Y, trace_clock=Y)
        crystals.domains = {
            X: ClockDomain(X, max_drift_ppm=100),
            Y: ClockDomain(Y, max_drift_ppm=200),
        }
        assert _on_two_lines(crystals, X) == does
    # Where the other clock runs back its steps count as long.
    other = Survey(6, {BOOT: {1: -3 * S}, X: dict(enumerate((-3 * S, BIG, -BIG, BIG, -BIG), 1))})
    assert _on_two_lines(other, X)


def test_falls_are_reported_with_what_was_read():
    """In the third snapshot it is 5 s behind, and stays so."""
    survey = Survey(6, {BOOT: {}, X: {2: -5 * S}})
    assert _falls(survey, X, survey.together) == [_Fall(2, 4 * S, S, 47 * S, None)]
    assert _back(_Fall(2, 4 * S, S, 47 * S, None)) == 5 * S
    assert _back(_Fall(2, 4 * S, -S, 47 * S, None)) == 4 * S
    assert _back(_Fall(2, 4 * S, 1, 47 * S, None)) == 4 * S + 1
    stands = Survey(6, {BOOT: {}, X: {2: -S}})
    assert _falls(stands, X, stands.together) == []
    one_more = Survey(6, {BOOT: {}, X: {2: -S - 1}})
    assert _falls(one_more, X, one_more.together) == [_Fall(2, 1, S, 51 * S - 1, None)]


@pytest.mark.parametrize(
    ("x", "falls"),
    [
        # One reading that is too high, or too low, and then as before to three parts in a hundred.
        ({2: 5 * S, 3: -5 * S}, [(3, 2)]),
        ({2: -5 * S, 3: 5 * S}, [(2, 2)]),
        ({1: -5 * S, 2: 5 * S}, [(1, 1)]),
        ({5: -5 * S}, [(5, 5)]),
        ({2: 5 * S + 150 * MS, 3: -5 * S}, [(3, 2)]),
        ({2: 5 * S - 150 * MS, 3: -5 * S}, [(3, 2)]),
        ({2: 5 * S - 150 * MS - 1, 3: -5 * S}, [(3, None)]),
        ({2: -5 * S, 3: 5 * S + 150 * MS}, [(2, 2)]),
        ({2: -5 * S, 3: 5 * S + 150 * MS + 1}, [(2, None)]),
        ({2: -5 * S, 3: 5 * S - 150 * MS}, [(2, 2)]),
        ({2: -5 * S, 3: 5 * S - 150 * MS - 1}, [(2, None)]),
        ({1: 5 * S, 2: -5 * S}, [(2, 1)]),
        ({2: -5 * S, 4: -7 * S}, [(2, None), (4, None)]),
        ({1: -5 * S}, [(1, None)]),
        ({4: -5 * S}, [(4, None)]),
    ],
)
def test_a_fall_about_one_snapshot_that_is_off(x, falls):
    survey = Survey(6, {BOOT: {}, X: x})
    expected = [(fall.snapshot, fall.off) for fall in _falls(survey, X, survey.together)]
    if x == {5: -5 * S}:
        # Nothing after it says so.
        falls = [(5, None)]
    assert expected == falls


def test_falls_are_seen_next_to_the_reference_else_next_to_any():
    lacking = {BOOT: {2}, Y: {0}}
    survey = Survey(5, {BOOT: {}, Y: {}, X: {2: -5 * S, 3: 5 * S}}, lacking=lacking)
    assert survey.reference(X) == BOOT
    assert [fall.snapshot for fall in _falls(survey, X, survey.together)] == [2]
    assert _falls(Survey(5, {X: {2: -5 * S}}), X, survey.together) == []
    both = Survey(5, {BOOT: {}, Y: {1: 9 * S}, X: {1: -5 * S}}, trace_clock=Y)
    (fall,) = _falls(both, X, both.together)
    assert fall.advance == 10 * S


def test_falls_of_a_clock_that_is_alone():
    survey = Survey(5, {BOOT: {}, X: {2: -5 * S, 4: -S - 1}}, lacking={BOOT: {0, 1, 2, 3, 4}})
    assert _unpaired_falls(survey, X) == [
        _Fall(2, 4 * S, 0, 47 * S, None),
        _Fall(4, 1, 0, 48 * S - 1, None),
    ]
    assert _unpaired_falls(survey, BOOT) == []
    assert _unpaired_falls(Survey(2, {BOOT: {}, X: {1: -5 * S}}), X) == [
        _Fall(1, 4 * S, 0, 46 * S, None)
    ]
    assert _unpaired_falls(Survey(1, {BOOT: {}, X: {}}), X) == []


def test_where_a_clock_was_set_is_not_where_one_reading_was_off():
    off, other = fell(5, 1, off=3), fell(9, 1)
    assert _set_at([off, other]) == [other]
    assert _set_at([off]) == [off]
    assert _set_at([]) == []


@pytest.mark.parametrize(
    ("steps", "gaps", "rate"),
    [
        ([2, 2, 2], [1, 1, 1], 2.0),
        ([2, 2], [1, 1], 1.0),
        ([2, 2, -2], [1, 1, 1], 1.0),
        ([2, 2, 0], [1, 1, 1], 1.0),
        ([2, 2, 2], [1, 1, 0], 1.0),
        ([2, 2, 2], [1, 1, -1], 1.0),
        ([2, 2, 2, -900], [1, 1, 1, 1], 2.0),
        ([2, 3, 9], [1, 1, 1], 3.0),
        ([101, 101, 101], [100, 100, 100], 1.01),
        ([1009, 1009, 1009], [1000] * 3, 1.0),
        ([98, 98, 98], [100, 100, 100], 0.98),
        ([991, 991, 991], [1000] * 3, 1.0),
        ([1, 1, 1], [1, 1, 1], 1.0),
        ([10_200, 10_200, 10_200, -5], [10_000] * 4, 1.02),
    ],
)
def test_how_fast_a_clock_counts_where_it_rises(steps, gaps, rate):
    readings, theirs = (np.cumsum([0, *column]) for column in (steps, gaps))
    assert _ticks_per_ns(readings, theirs) == rate


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ([], [False, False, False]),
        ([3], [False, False, False]),
        ([4], [True, False, False]),
        ([5], [False, False, True]),
        ([6], [False, False, True]),
        ([9, 2], [False, True, False]),
        ([6, 4, 9], [True, True, True]),
    ],
)
def test_between_the_snapshots_of_which_jumps_a_clock_fell(at, expected):
    places = ((3, 4), (8, 9), (4, 6))
    found = PairDiscontinuities.of(jump(BOOT, X, 5, *on) for on in places)
    falls = [fell(1, 1, snapshot=k) for k in at]
    assert _contain_falls(found, falls).tolist() == expected


def test_how_far_a_discontinuity_jumped_at_most():
    sizes = [(3, 8), (-8, 3), (-8, -3), (0, 0), None]
    found = PairDiscontinuities.of(jump(BOOT, X, size) for size in sizes)
    assert found.most_ns.tolist() == [8, 8, 8, 0, 0]


def test_that_two_readings_are_all_there_is():
    two, three = Survey(2, {BOOT: {}, X: {}}), Survey(3, {BOOT: {}, X: {}, Y: {}}, lacking={Y: {1}})
    assert _of_two(two, PairDiscontinuities.of([jump(BOOT, X, 5)]))
    assert not _of_two(three, PairDiscontinuities.of([jump(BOOT, X, 5)]))
    assert _of_two(three, PairDiscontinuities.of([jump(BOOT, Y, 5)]))
    assert not _of_two(three, PairDiscontinuities.of([jump(BOOT, Y, 5), jump(BOOT, X, 5)]))
    assert not _of_two(Survey(1, {BOOT: {}, X: {}}), PairDiscontinuities.of([jump(BOOT, X, 5)]))


def _title(code, clock, times, size):
    texts = {"which": "the machine", "snapshots": count(times, "snapshot"), "bits": 32}
    parts = ("fell", *_size_parts(times, size))
    found = finding(
        code, clocks=(clock,), parts=parts, often=_often(times), size=duration(size), **texts
    )
    return told(found).title


@pytest.mark.parametrize(
    ("code", "once", "often"),
    [
        ("counter-wraps", "200 wraps: it restarted once", "200 wraps: it restarted 1,200 times"),
        ("clock-id-collision", "200 is written by two clocks, 7 s apart", None),
        ("clock-reset", "200 was reset once", "200 was reset 1,200 times"),
        (
            "realtime-set-back",
            "200 was set back once, by 7 s",
            "200 was set back 1,200 times, by up to 7 s",
        ),
        (
            "clock-ran-backwards",
            "200 ran backwards once, by 7 s",
            "200 ran backwards 1,200 times, by up to 7 s",
        ),
        (
            "snapshot-outlier",
            "200: 1 snapshot off by 7 s, against the others",
            "200: 1,200 snapshots off by up to 7 s, against the others",
        ),
        (
            "suspend",
            "the machine slept once, for 7 s",
            "the machine slept 1,200 times, for up to 7 s",
        ),
        (
            "clock-stepped",
            "200 was stepped once, by 7 s",
            "200 was stepped 1,200 times, by up to 7 s",
        ),
    ],
)
def test_titles(code, once, often):
    assert _title(code, X, 1, 7 * S) == once
    assert _title(code, X, 1200, 7 * S) == (often or once)
    assert _title("clock-stepped", X, 1, 0) == "200 was stepped once"
    assert _title("clock-stepped", X, 2, 1) == "200 was stepped 2 times, by up to 1 ns"
    assert _title("clock-stepped", Z, 1, 1) == "202 was stepped once, by 1 ns"
