"""Which of two readings of one clock came first, where it was reset, set back, or wrapped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, ConversionError, Snapshot, UsageError

S = 10**9
GPU = "com.example.gpu"
HALF_NS = 1_000


def read(readings, clock, at, beside="BOOTTIME", **limits):
    """A graph of a clock beside another one, read together at some times."""
    graph = ClockGraph(domains=[ClockDomain(clock, **limits)])
    half_width_ns = {clock: np.full(len(at), HALF_NS)}
    graph.add_snapshot(
        Snapshot({beside: at, clock: readings}, reference=beside, half_width_ns=half_width_ns)
    )
    return graph


AT = np.arange(0, 200, 5) * S


def set_back(by_ns, at=AT):
    """REALTIME, set back at 100 s."""
    return np.where(at < 100 * S, at, at - by_ns) + 10**18


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_what_a_clock_that_was_set_back_may_have_read_twice_is_undecided(bars):
    graph = read(set_back(30 * S), "REALTIME", AT)

    def order(one_s, other_s):
        one, other = (10**18 + s * S for s in (one_s, other_s))
        return graph.order((one, "REALTIME"), (other, "REALTIME"), bars=bars)

    # Read at 85 or 115 s, and at 90 or 120 s.
    assert [order(85, 90), order(90, 85)] == [0, 0]
    # What it read once: at 10, 20, 50, 140 and 150 s.
    assert [order(10, 20), order(20, 10), order(110, 120), order(50, 120)] == [-1, 1, -1, -1]
    # Of one that it read once, and one that it may have read twice.
    assert [order(50, 85), order(85, 120)] == [-1, -1]
    assert order(85, 85) == 0


def test_a_reset_puts_no_reading_before_one_that_was_earlier():
    graph = read(np.where(AT < 100 * S, 900 * S + AT, AT - 100 * S), GPU, AT)
    # Read at 50 s, and at 120 s: each is of one stretch.
    assert graph.order((950 * S, GPU), (20 * S, GPU)) == -1
    assert graph.order((20 * S, GPU), (950 * S, GPU), bars="guaranteed") == 1
    assert graph.order((2_000 * S, GPU), (-5_000 * S, GPU)) == 1


def test_by_many_set_backs_readings_far_apart_are_in_order():
    """Set back by 8 s every 10 s: what it read twice has no gaps, but lasts."""
    at = np.arange(0, 400) * S
    raw = at - at // (10 * S) * 8 * S + 10**18
    graph = read(raw, "REALTIME", at)
    order = graph.order((raw, "REALTIME"), (int(raw[200]), "REALTIME"))
    assert (order[:110] == -1).all() and (order[290:] == 1).all()
    assert not order[195:205].any()


def test_readings_of_a_counter_that_wraps_compare_unwrapped():
    at = np.arange(0, 20) * S
    wrap = 1 << 36
    graph = read((at + wrap - 3 * S) % wrap, GPU, at, valid_bits=36)
    # At 2 s, then at 3.5 s; it wrapped at 3 s.
    assert graph.order((wrap - S, GPU), (S // 2, GPU)) == -1
    assert graph.order((S // 2, GPU), (wrap - S, GPU)) == 1
    assert graph.order(([S, 2 * S], GPU), (S, GPU)).tolist() == [0, 1]


def test_which_of_several_wraps_is_meant_is_undecided():
    at = np.arange(0, 20) * S
    graph = read((at + 2**32 - 3 * S) % 2**32, GPU, at, valid_bits=32)
    assert graph.order((2**32 - S, GPU), (S // 2, GPU)) == 0


SPARSE = np.arange(0, 5) * 10**6 * S
"""So far apart that a clock of 32 bits wraps any number of times in between."""


@pytest.mark.parametrize(
    ("at", "limits", "beside"),
    [
        (SPARSE, {}, "BOOTTIME"),
        (AT, {"ns_per_tick": None}, "BOOTTIME"),
        (AT, {}, None),
        ([], {}, None),
    ],
    ids=["too far apart", "of unknown rate", "beside no clock", "none"],
)
def test_of_a_counter_whose_snapshots_do_not_say_how_often_it_wrapped_nothing_is_decided(
    at, limits, beside
):
    graph = ClockGraph(domains=[ClockDomain(GPU, valid_bits=32, **limits)])
    if len(at):
        graph.add_snapshot({GPU: at % 2**32} | ({beside: at} if beside else {}))
    assert graph.order((1, GPU), (2, GPU)) == 0
    assert graph.order(([1, 2, 3], GPU), (2, GPU)).tolist() == [0, 0, 0]
    assert graph.order(([], GPU), (2, GPU)).tolist() == []
    if beside:
        assert graph.order((1, beside), (2, beside)) == -1
        with pytest.raises(ConversionError, match="wrap"):
            graph.order((1, GPU), (2, beside))


def test_of_two_devices_of_which_one_was_set_back_neither_orders_the_other():
    at = np.arange(0, 60) * S
    raw = np.where(at < 30 * S, at, at - 5 * S) + 10**12
    graph = read(raw, GPU, at, beside="com.example.dsp")
    for clock in (GPU, "com.example.dsp"):
        assert graph.order((10**12 + 27 * S, GPU), (10**12 + 28 * S, GPU)) == 0, clock
    assert graph.order((29 * S, "com.example.dsp"), (31 * S, "com.example.dsp")) == 0
    assert graph.order((10 * S, "com.example.dsp"), (50 * S, "com.example.dsp")) == -1


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("bits", [32, 34, 36])
@pytest.mark.parametrize("by_s", [3, 5, 20])
def test_a_counter_whose_wraps_are_counted_along_a_clock_that_was_set_back_orders_nothing(
    by_s, bits, bars
):
    wall = set_back(by_s * S, at := np.arange(0, 200) * S)
    graph = ClockGraph(domains=[ClockDomain(GPU, valid_bits=bits)])
    graph.add_snapshot({"BOOTTIME": at, "REALTIME": wall})
    graph.add_snapshot({GPU: at % 2**bits, "REALTIME": wall})
    last = np.arange(0, 200) * S + S // 2
    raw = set_back(by_s * S, last)
    one, other = np.repeat(np.arange(200), 200), np.tile(np.arange(200), 200)
    said = graph.order((raw[one], "REALTIME"), (raw[other], "REALTIME"), bars=bars)
    assert (said * np.sign(last[one] - last[other]) >= 0).all()
    assert not said[(one == 98) & (other == 98 + by_s)].any()


def test_a_clock_that_stood_still_while_the_machine_slept_was_not_set_back():
    graph = ClockGraph()
    boottime = AT + np.where(AT >= 100 * S, 40 * S, 0)
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": AT, GPU: AT + 7 * S})
    assert graph.order((106 * S, GPU), (107 * S, GPU)) == -1


def test_clocks_are_compared_on_one_that_was_set_back_as_on_one_alone():
    """No clock of the two is one that nobody sets."""
    at = np.arange(0, 60) * S
    raw = np.where(at < 30 * S, at, at - 5 * S)
    graph = read(raw + 10**18, "REALTIME", at, beside=GPU)
    graph.add_snapshot({"REALTIME": raw + 10**18, "REALTIME_COARSE": raw + 10**18})
    for one, other in (("REALTIME", "REALTIME_COARSE"), ("REALTIME_COARSE", "REALTIME")):
        assert graph.order((10**18 + 27 * S, one), (10**18 + 28 * S, other)) == 0


def test_guaranteed_bars_decide_less_than_estimated_ones():
    graph = read(AT + AT // 50_000, GPU, AT, max_drift_ppm=100)
    at = 102_500_000_000
    raw = at + at // 50_000 + 20_000
    assert graph.order((raw, GPU), (at, "BOOTTIME")) == 1
    assert graph.order((raw, GPU), (at, "BOOTTIME"), bars="guaranteed") == 0
    with pytest.raises(UsageError, match="bars"):
        graph.order((1, GPU), (2, GPU), bars="both")


def simulated(seed):
    """(graph, clock, true instants, what it read then): jumps at any time, of any size."""
    rng = np.random.default_rng(seed)
    limit_ppm, apart = rng.uniform(1, 200), int(10 ** rng.uniform(7, 10))
    at = np.cumsum(rng.integers(apart // 2, apart, int(rng.integers(5, 60))))
    instants = np.sort(rng.integers(at[0] - apart, at[-1] + apart, 120))
    # Each between other snapshots: what happens twice in one gap nobody sees.
    gaps = np.arange(4, len(at) - 4, int(rng.integers(4, 20)))
    jumps = rng.integers(at[gaps - 1], at[gaps])
    ppm = rng.uniform(-limit_ppm, limit_ppm)
    clock = str(rng.choice([GPU, "REALTIME", "64@seq1"]))
    bits = int(rng.choice([64, 64, 44])) if clock == GPU else 64
    start = int(rng.integers(0, 1 << 43))
    # What drift may hide is no jump that snapshots show: those are larger.
    least = 4 * apart * (limit_ppm + 500) * 1e-6 + 20 * HALF_NS
    sizes = [int(rng.choice([-1, -1, 1]) * least * 10 ** rng.uniform(0, 4)) for _ in jumps]

    def reading(t):
        value = start + t + np.rint(t * ppm * 1e-6).astype(np.int64)
        for begin, size in zip(jumps, sizes, strict=True):
            value = value + np.where(t >= begin, size, 0)
        return value % (1 << bits) if bits < 64 else value

    off = rng.integers(-HALF_NS // 2, HALF_NS // 2 + 1, len(at))
    graph = ClockGraph(domains=[ClockDomain(clock, max_drift_ppm=limit_ppm, valid_bits=bits)])
    half_width_ns = {clock: np.full(len(at), HALF_NS)}
    graph.add_snapshot(
        Snapshot(
            {"MONOTONIC": at + off, clock: reading(at)},
            reference="MONOTONIC",
            half_width_ns=half_width_ns,
        )
    )
    return graph, clock, instants, reading(instants)


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_what_is_decided_of_one_clock_is_the_truth(seed):
    graph, clock, instants, raw = simulated(seed)
    one, other = np.repeat(np.arange(len(raw)), len(raw)), np.tile(np.arange(len(raw)), len(raw))
    said = graph.order((raw[one], clock), (raw[other], clock), bars="guaranteed")
    wrong = said * np.sign(instants[one] - instants[other]) < 0
    assert not wrong.any()
    assert (said == -graph.order((raw[other], clock), (raw[one], clock), bars="guaranteed")).all()
