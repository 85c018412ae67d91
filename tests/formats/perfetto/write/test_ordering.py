"""Orders of a snapshot's clocks: by Perfetto's rules, later events go by the latest snapshots."""

from __future__ import annotations

from random import Random

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, event, snapshot, trace
from reading import placed
from seeds import seeds

from tracetime import ClockId
from tracetime._kernels.graph import series_hash
from tracetime.formats.perfetto.write.snapshots import SnapshotOrders

CLOCKS = [ClockId(number) for number in (BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME)]


def test_the_hash_is_perfettos():
    """MurmurHash3's finaliser, combined as base/murmur_hash.h does; worked out by hand."""
    mask = (1 << 64) - 1

    def mix(h: int) -> int:
        h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & mask
        h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & mask
        return h ^ h >> 33

    h = 0xE17A1465
    for part in (6, 0, 0, 0, 64, 7, 1, 0):
        h ^= (mix(part) + 0x9E3779B9 + (h << 6) + (h >> 2)) & mask
    assert series_hash([(6, 0, 0, 0), (64, 7, 1, 0)]) == h & 0xFFFFFFFF


def test_clocks_that_only_go_on_keep_their_order():
    orders = SnapshotOrders()
    first = orders.next(dict.fromkeys(CLOCKS, 5), main=True)
    assert set(first.clocks) == set(CLOCKS)
    for ns in range(6, 20):
        assert orders.next(dict.fromkeys(CLOCKS, ns), main=True) == first


@pytest.mark.sweep
@pytest.mark.parametrize(("n", "steps"), [(2, 200), (3, 60), (4, 60)])
def test_each_step_back_has_a_smaller_hash(n, steps):
    """However often: two clocks have two orders only, then a clock is added that means nothing."""
    orders = SnapshotOrders()
    last = 1 << 32
    for ns in range(steps, 0, -1):
        order = orders.next(dict.fromkeys(CLOCKS[:n], ns), main=True)
        assert {*order.clocks} - {order.filler} == set(CLOCKS[:n])
        assert order.hashes[0] < last
        last = order.hashes[0]
    assert order.filler


def test_a_clock_that_vanishes_and_one_that_comes_back_have_smaller_hashes():
    orders = SnapshotOrders()
    last = 1 << 32
    for ns in range(20):
        clocks = CLOCKS[: 3 + ns % 2]
        order = orders.next(dict.fromkeys(clocks, ns), main=True)
        assert order.hashes[0] < last
        last = order.hashes[0]


def test_what_the_user_ties_in_never_comes_before_the_sampled_clocks():
    orders = SnapshotOrders()
    own = ClockId(64, 1)
    for ns in range(40):
        # REALTIME goes back now and then, and so does the user's clock.
        real = 1000 - 100 * (ns // 10) + ns
        main = orders.next({**dict.fromkeys(CLOCKS, ns), ClockId(REALTIME): real}, main=True)
        tied = orders.next(
            {own: ns % 7, ClockId(REALTIME): real, ClockId(BOOTTIME): ns}, main=False
        )
        assert main.hashes < tied.hashes


@pytest.mark.parametrize("number", range(70, 90))
def test_a_snapshot_that_shares_one_clock_with_the_sampled_ones_may_come_before_them(number):
    """It ties none of their pairs: of its two orders one will do, without a clock to fill it up."""
    orders = SnapshotOrders()
    orders.next(dict.fromkeys(CLOCKS, 5), main=True)
    own = ClockId(number, 1)
    tied = orders.next({own: 5, ClockId(REALTIME): 5}, main=False)
    assert tied.filler is None


def test_a_copy_in_a_compressed_file_is_ordered_too():
    """There the trace is file 1, which the hash of a sequence-scoped clock shows."""
    orders = SnapshotOrders()
    clocks = [ClockId(64, 1), *CLOCKS]
    last = [1 << 32, 1 << 32]
    for ns in range(20, 0, -1):
        order = orders.next(dict.fromkeys(clocks, ns), main=True)
        for file in (0, 1):
            keys = [(c.clock, c.sequence, file * c.is_sequence_scoped, 0) for c in order.clocks]
            assert series_hash(keys) < last[file]
            last[file] = series_hash(keys)


def stepped(seed: int, *, reorder: bool) -> tuple[list[int], list[int | str]]:
    """True trace times of REALTIME events while it is set back thrice, and where they land."""
    random = Random(seed)
    orders = SnapshotOrders()
    packets = []
    truth = []
    set_back = 0
    for second in range(12):
        now = second * 10**9
        if second % 3 == 2:
            set_back += random.randrange(2, 100) * 10**9
        readings = dict.fromkeys(CLOCKS, now + 10**15)
        readings[ClockId(REALTIME)] = now + 17 * 10**17 - set_back
        order = orders.next(readings, main=True).clocks if reorder else CLOCKS
        packets.append(snapshot([(clock.clock, readings[clock]) for clock in order]))
        for _ in range(3):
            later = random.randrange(10**9)
            packets.append(event(readings[ClockId(REALTIME)] + later, REALTIME))
            truth.append(now + 10**15 + later)
    return truth, list(placed(trace(*packets)).values())


@pytest.mark.parametrize("seed", seeds(10))
def test_events_after_a_step_back_resolve_and_rightly(seed):
    truth, found = stepped(seed, reorder=True)
    assert found == truth


def test_without_a_new_order_they_would_not():
    truth, found = stepped(0, reorder=False)
    assert "non_monotonic_source" in found or "no_path" in found
