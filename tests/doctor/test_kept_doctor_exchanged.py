"""Which clocks the doctor takes for exchanged stays what it was: at each limit and next to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, event, snapshot, trace
from faults import GPU, NIC, SEQUENCE, START, S
from kept import check_kept
from reading import opened
from test_kept_doctor import lines

from tracetime import diagnose

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

CODES = ("clocks-exchanged", "boottime-below-monotonic")


def reported(data: bytes, tolerance_ns: int = 1_000_000) -> list[str]:
    """What is said of exchanged clocks, and the codes of all else."""
    with opened(data) as read:
        every = [one.lstrip() for one in lines(diagnose(read, tolerance_ns), "")]
    found = [one for one in every if any(code in one for code in CODES)]
    return found + [one.partition(":")[0] for one in every if one not in found]


def around(value: int) -> list[int]:
    return [value - 1, value, value + 1]


def exchanging(
    apart: Sequence[int], gap_ns: int = 1_000_000, others: Sequence[Sequence[int]] = ()
) -> bytes:
    """GPU is ahead of NIC by so much in each snapshot; others' readings are with them."""
    packets = []
    for k, ahead in enumerate(apart):
        # Their middle goes on evenly: what one gains, the other loses.
        middle = 50 * S + k * gap_ns
        low = middle - ahead // 2
        readings = {NIC: low, GPU: low + ahead}
        readings |= {0xC100_0000 + i: read[k] for i, read in enumerate(others)}
        packets.append(snapshot(readings))
    return trace(*packets)


def flipped(n: int, which: Iterable[int], size: int) -> list[int]:
    return [-size if k in which else size for k in range(n)]


@pytest.mark.parametrize(
    ("gap_ns", "size"),
    # A millisecond; three times the slack, which is a fiftieth, 10 us and a thousandth of the gap.
    [(1_000_000, 1_000_000), (S, 3_223_404), (10 * S, 31_946_808), (2 * S, 6_414_893)],
)
def test_how_far_apart_exchanged_clocks_are(gap_ns, size):
    found = {}
    for by in [*around(size), size * 10]:
        for sign in (1, -1):
            found[str(sign * by)] = reported(exchanging(flipped(6, [3], sign * by), gap_ns))
    check_kept("doctor_exchanged", f"apart {gap_ns} {size}", found)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [100_000_000, 5 * S])
def test_by_how_much_the_difference_may_change_next_to_its_sign(size, sign):
    """At the flip, and at the way back."""
    found = {}
    there = int((size // 50 + 1_010_000) / 1.02)
    back = size // 50 + 1_010_000
    for off in (*around(there), there + 1, *around(back), -there, -there - 1, -back, -back - 1):
        values = [size, size, -(size - off), -(size - off), size, size]
        found[f"{off} twice"] = reported(exchanging([sign * v for v in values], S))
        values = [size, size, -(size - off), size, size, size]
        found[f"{off} once"] = reported(exchanging([sign * v for v in values], S))
        values = [size, size, size, size, size, -size + off]
        found[f"{off} in the end"] = reported(exchanging([sign * v for v in values], S))
    check_kept("doctor_exchanged", f"change {size} {sign}", found)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_the_fewer_snapshots_are_the_wrong_ones(n):
    found = {}
    for begin, end in product(range(n), range(1, n + 1)):
        if begin < end:
            values = flipped(n, range(begin, end), 2_000_000 + 100 * begin)
            found[f"{begin} to {end}"] = reported(exchanging(values))
    check_kept("doctor_exchanged", f"fewer {n}", found)


def test_clocks_that_pass_each_other_by_their_scatter():
    """Ten times what the difference changes by in the middle."""
    found = {}
    for scatter in (0, 199_999, 200_000, 200_001, 400_000):
        sizes = [2_000_000 + k % 2 * scatter for k in range(9)]
        for wrong in ([4], [4, 5, 6], [0], [1, 3, 5, 7]):
            values = [-size if k in wrong else size for k, size in enumerate(sizes)]
            found[f"{scatter} {wrong}"] = reported(exchanging(values, S // 5))
    check_kept("doctor_exchanged", "scatter", found)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_other_clocks_go_on_as_the_two_do_together(count):
    """Within the slack: 20 us and 10 us and a thousandth of the gap."""
    found = {}
    slack = 2_000_000 // 50 + 10_000 + 1_000
    for off in (0, slack - 1, slack, slack + 1, -slack, -slack - 1, 5 * S):
        for moved in range(1, count + 1):
            others = [
                [90 * S + k * 1_000_000 + (off if k >= 3 and i < moved else 0) for k in range(6)]
                for i in range(count)
            ]
            found[f"{off} {moved}"] = reported(
                exchanging(flipped(6, [3], 2_000_000), others=others)
            )
    check_kept("doctor_exchanged", f"others {count}", found)


@pytest.mark.parametrize("gap_ns", [-1_000_000, 0, 1])
def test_together_they_do_not_go_back(gap_ns):
    found = {}
    for back in (1, 3, 5):
        packets, at = [], 0
        for k in range(6):
            at += gap_ns if k == back else 1_000_000
            ahead = -4_000_000 if k == 3 else 4_000_000
            packets.append(snapshot({NIC: 50 * S + at - ahead // 2, GPU: 50 * S + at + ahead // 2}))
        found[str(back)] = reported(trace(*packets))
    check_kept("doctor_exchanged", f"back {gap_ns}", found)


@pytest.mark.parametrize("count", [22, 23])
def test_of_very_many_clocks_in_a_snapshot_nobody_knows(count):
    """24 are looked at."""
    others = [[90 * S + i * S + k * 1_000_000 for k in range(6)] for i in range(count)]
    data = exchanging(flipped(6, [3], 2_000_000), others=others)
    check_kept("doctor_exchanged", f"many {count}", reported(data))


def test_pairs_that_several_lists_of_clocks_show_are_one_finding():
    found = {}
    for first, second in product((2_000_000, 3_000_000), ([2], [1, 2], [0, 3])):
        packets = []
        for k in range(6):
            for i, (size, wrong) in enumerate(((first, [4]), (2_500_000, second))):
                at = 50 * S + k * 1_000_000 + i * 100_000
                ahead = -size if k in wrong else size
                readings = {NIC: at - ahead // 2, GPU: at + ahead // 2}
                packets.append(snapshot(readings | ({REALTIME: 17 * S + at} if i else {})))
        found[f"{first} {second}"] = reported(trace(*packets))
    check_kept("doctor_exchanged", "lists", found)


def elsewhere(
    apart: int,
    off: tuple[int, int],
    *,
    gap_ns: int = S,
    n: int = 4,
    both: bool = True,
    clocks: tuple[int, int] = (NIC, GPU),
    more: int = 0,
    machine: int | None = None,
) -> bytes:
    """Events of two clocks from and to so far off where the other one was read."""
    one, other = clocks
    zero = {one: 20_000 * S, other: 20_000 * S + apart}
    packets = []
    for k in range(n):
        readings = {BOOTTIME: START + k * gap_ns}
        readings |= {0x8100_0000 + i: (i + 1) * 10**7 * S + k * gap_ns for i in range(more)}
        readings |= {clock: at + k * gap_ns for clock, at in zero.items()}
        packets.append(snapshot(readings, SEQUENCE))
    packets += [event((i + 1) * 10**7 * S, 0x8100_0000 + i, SEQUENCE) for i in range(more)]
    length = (n - 1) * gap_ns
    for clock, there in ((one, other), (other, one)):
        if both or clock == one:
            packets += [
                event(zero[there] + off[0], clock, SEQUENCE, machine=machine),
                event(zero[there] + length + off[1], clock, SEQUENCE, machine=machine),
            ]
    return trace(*packets)


@pytest.mark.parametrize(
    ("apart", "gap_ns"),
    [(100 * S, S), (5 * S, S), (6 * S, 2 * S), (10_000 * S, S), (30 * S, 7 * S), (3 * S, S // 2)],
)
def test_events_that_are_each_where_the_other_clock_was_read(apart, gap_ns):
    """Within a margin of a second, the longest gap, or a quarter of how far they are apart."""
    found = {}
    for margin in {S, gap_ns, apart // 4, 600 * S}:
        for off in around(margin):
            for sign in (1, -1):
                data = elsewhere(sign * apart, (-off, 0), gap_ns=gap_ns)
                found[f"{sign} {off} before"] = reported(data)
                found[f"{sign} {off} after"] = reported(
                    elsewhere(sign * apart, (0, off), gap_ns=gap_ns)
                )
    check_kept("doctor_exchanged", f"events {apart} {gap_ns}", dict(sorted(found.items())))


@pytest.mark.parametrize("margin", [S, 3 * S])
def test_events_that_are_beyond_their_own_readings(margin):
    """The two clocks are so near that the margin reaches from one to the other, or just not."""
    found = {}
    for apart in [*around(margin), 3 * margin]:
        for n in (2, 3):
            for off in ((0, 0), (margin, 0), (0, -margin), (-margin, margin)):
                data = elsewhere(apart + (n - 1) * margin, off, gap_ns=margin, n=n)
                found[f"{apart} {n} {off}"] = reported(data)
    # Events that were lost lie nowhere.
    lost = trace(*(event(9 * S + k, GPU, 3, needs_state=True) for k in range(2)))
    found["lost"] = reported(elsewhere(100 * S, (0, 0), both=False) + lost)
    for one_sided in (True, False):
        data = elsewhere(100 * S, (0, 0), both=not one_sided)
        found[f"one sided {one_sided}"] = reported(data)
    check_kept("doctor_exchanged", f"beyond {margin}", found)


@pytest.mark.parametrize("more", [21, 22, 23])
def test_events_of_the_first_24_clocks_are_compared(more):
    check_kept("doctor_exchanged", f"more {more}", reported(elsewhere(100 * S, (0, 0), more=more)))


@pytest.mark.parametrize(
    "clocks", [(MONOTONIC, REALTIME), (MONOTONIC, BOOTTIME), (NIC, 64), (MONOTONIC_RAW, NIC)]
)
def test_which_clocks_are_compared_by_events(clocks):
    found = {}
    for apart in (300 * S, -300 * S):
        for machine in (None, 5):
            data = elsewhere(apart, (0, 0), clocks=clocks, machine=machine)
            found[f"{apart} {machine}"] = reported(data)
    check_kept("doctor_exchanged", f"which {clocks}", found)


def test_clocks_of_two_machines_are_not_compared_and_each_pair_is_reported_once():
    found = {}
    for numbers, machines in product(((NIC, NIC), (NIC, GPU)), ((None, None), (None, 5), (5, 5))):
        zero = 20_000 * S, 20_300 * S
        if numbers[0] == numbers[1] and machines[0] == machines[1]:
            continue
        packets = []
        for turned_at in ((), (3,)):
            for k in range(6):
                for i, (number, machine) in enumerate(zip(numbers, machines, strict=True)):
                    at = zero[i] if k not in turned_at else zero[1 - i]
                    packets.append(
                        snapshot(
                            {
                                BOOTTIME: START + k * S,
                                number: at + k * S,
                                0xC300_0000 + i: 7 * S + k * S,
                            },
                            machine=machine,
                        )
                    )
            for i, (number, machine) in enumerate(zip(numbers, machines, strict=True)):
                packets += [
                    event(zero[1 - i] + k * S, number, SEQUENCE, machine=machine) for k in range(2)
                ]
            found[f"{numbers} {machines} {turned_at}"] = reported(trace(*packets))
    # Both in one snapshot, turned in one of them, and events of each where the other mostly is.
    packets = []
    for k in range(6):
        swap = k == 3
        packets.append(
            snapshot(
                {
                    BOOTTIME: START + k * S,
                    NIC: 20_000 * S + swap * 300 * S + k * S,
                    GPU: 20_300 * S - swap * 300 * S + k * S,
                }
            )
        )
    packets += [event(20_300 * S, NIC), event(20_000 * S, GPU)]
    found["both ways"] = reported(trace(*packets))
    check_kept("doctor_exchanged", "machines", found)


def below(by: Sequence[int], gap_ns: int, events: Sequence[tuple[int, int]] = (), **more) -> bytes:
    """BOOTTIME is below MONOTONIC by so much in each snapshot."""
    packets = [
        snapshot({BOOTTIME: START + k * gap_ns, MONOTONIC: START + k * gap_ns + apart}, **more)
        for k, apart in enumerate(by)
    ]
    return trace(*packets, *(event(at, clock) for clock, at in events))


@pytest.mark.parametrize("n", [2, 5])
def test_how_far_below_follows_from_how_long_it_is_seen(n):
    """A tenth of a second of snapshots shows how they scatter; else a second decides."""
    found = {}
    for length in around(100_000_000):
        gap_ns, rest = divmod(length, n - 1)
        for by in (1_000_000, 1_000_001, S, S + 1):
            times = [k * gap_ns + (rest if k == n - 1 else 0) for k in range(n)]
            packets = [snapshot({BOOTTIME: START + t, MONOTONIC: START + t + by}) for t in times]
            found[f"{length} {by}"] = reported(trace(*packets))
    check_kept("doctor_exchanged", f"seen {n}", found)


@pytest.mark.parametrize("machine", [None, 7])
def test_ten_times_the_scatter_is_more_than_the_order_of_reading(machine):
    found = {}
    for by in (5_000_000, 5_000_001, 5_000_010, 9_000_000):
        for scatter in (400_000, 499_999, 500_000, 500_001, 900_000):
            apart = [by + (scatter if k % 2 else 0) for k in range(7)]
            # Their middle is the lower one: there are four of these.
            found[f"{by} {scatter}"] = reported(below(apart, S, machine=machine))
    for least in around(1_000_000):
        found[f"some {least}"] = reported(below([-S, -S, least, -S], S, machine=machine))
        found[f"most {least}"] = reported(below([-S, least, least, least], S, machine=machine))
    check_kept("doctor_exchanged", f"scatter {machine}", found)


@pytest.mark.parametrize("order", [(None, 5, 8), (8, 5, None), (5, None, 8)])
def test_boottime_is_below_on_some_machines_alone(order):
    """On one of them a little, on one now and then, on one by a minute; in any order."""
    found = {}
    for kinds in (
        ("little", "minute", "turned"),
        ("turned", "little", "minute"),
        ("without", "minute", "minute"),
        ("above", "scatter", "minute"),
    ):
        packets = []
        for k in range(6):
            for machine, kind in zip(order, kinds, strict=True):
                t = START + k * S
                apart = {
                    "little": 900_000,
                    "minute": 60 * S,
                    "turned": -9 * S if k != 3 else 9 * S,
                    "above": -S,
                    "scatter": 2_000_000 + k % 2 * 900_000,
                    "without": None,
                }[kind]
                clocks = {} if apart is None else {MONOTONIC: t + apart}
                packets.append(snapshot({BOOTTIME: t, NIC: t} | clocks, machine=machine))
        found[" ".join(kinds)] = reported(trace(*packets))
    check_kept("doctor_exchanged", f"machines {order}", found)


@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC])
def test_some_events_are_where_the_other_of_the_two_was_read(clock):
    """8 s apart and 4 s long: within 2 s of the other, and further than that from their own."""
    found = {}
    for off in (*around(-2 * S), *around(6 * S), *around(14 * S), 0, 9 * S):
        for more in ([], [0], [8 * S]):
            events = [(clock, START + at) for at in (off, *more)]
            found[f"{off} {more}"] = reported(below([8 * S] * 5, S, events))
    check_kept("doctor_exchanged", f"some {clock}", found)


@pytest.mark.parametrize("tolerance_ns", [1_000_000, 20_000_000])
def test_what_says_that_boottime_and_monotonic_are_exchanged(tolerance_ns):
    """A rise of MONOTONIC as only BOOTTIME rises in sleep; events that match the other."""
    found = {}
    for rise in (0, 900_000, 1_900_000, 2_100_000, 2_500_000, -5_000_000, 30_000_000, 50_000_000):
        for back in (False, True):
            apart = [60 * S + (rise if 4 <= k < (5 if back else 99) else 0) for k in range(9)]
            found[f"{rise} {back}"] = reported(below(apart, S), tolerance_ns)
            found[f"{rise} {back} by MONOTONIC"] = reported(
                below(apart, S, primary=MONOTONIC), tolerance_ns
            )
    for apart_s in (2, 8, 100):
        for clock, off_s in product((BOOTTIME, MONOTONIC), (-30, -1, 0, 3, 40, 100)):
            events = [(clock, START + off_s * S), (clock, START + off_s * S + 5)]
            found[f"{apart_s} {clock} {off_s}"] = reported(
                below([apart_s * S] * 5, S, events), tolerance_ns
            )
        both = [(BOOTTIME, START + apart_s * S), (MONOTONIC, START), (MONOTONIC, START + S)]
        found[f"{apart_s} both"] = reported(below([apart_s * S] * 5, S, both), tolerance_ns)
    check_kept("doctor_exchanged", f"says {tolerance_ns}", found)
