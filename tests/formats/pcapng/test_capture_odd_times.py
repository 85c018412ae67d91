"""Times of captures that cannot be meant: at 0, of interfaces whose clocks differ, of joins."""

from itertools import pairwise

import numpy as np
import pytest
from captures import Capture, pcap
from hypothesis import given
from hypothesis import strategies as st

from tracetime import diagnose, open_trace
from tracetime.formats.pcapng.odd_times import CaptureTimes

C = Capture()
US = 1_790_000_000 * 10**6
S = 10**6


@pytest.fixture
def told(tmp_path):
    def read(*blocks):
        path = tmp_path / "c.pcapng"
        path.write_bytes(b"".join(blocks))
        with open_trace(path) as trace:
            return [one for one in diagnose(trace) if one.severity != "info"]

    return read


def two_interfaces(ahead, n=20, gap=S // 10, begin=US):
    """Packets of two interfaces in turn; the clock of the second is ahead by so many us."""
    head = [C.section(), C.interface(name="eth0"), C.interface(name="tap0")]
    return head + [C.packet(begin + k * gap + (ahead if k % 2 else 0), on=k % 2) for k in range(n)]


@pytest.mark.parametrize(
    ("ahead_s", "title"),
    [
        (37, "interface 1 (tap0) is 36.9 s ahead of interface 0 (eth0), as TAI and UTC are"),
        (-37, "interface 0 (eth0) is 36.9 s ahead of interface 1 (tap0), as TAI and UTC are"),
        (4, "interface 1 (tap0) is 3.9 s ahead of interface 0 (eth0)"),
        (-1_700_000_000, "interface 0 (eth0) is 19675 d 22 h ahead of interface 1 (tap0)"),
    ],
)
def test_interfaces_whose_clocks_differ_are_told(told, ahead_s, title):
    (found,) = told(*two_interfaces(ahead_s * S))
    assert (found.code, found.severity, found.title) == ("odd-times", "warning", title)
    assert found.events == 10
    assert found.packets[0] in (1, 2)
    assert abs(found.worst_ns - abs(ahead_s) * 10**9) <= 10**8


@pytest.mark.parametrize("ahead_us", [0, 900_000, -900_000])
def test_interfaces_of_one_clock_are_not(told, ahead_us):
    assert told(*two_interfaces(ahead_us)) == []


def test_an_interface_that_was_written_after_another_one_is_not_told(told):
    packets = [C.packet(US + k * S, on=on) for on in (0, 1) for k in range(30)]
    assert told(C.section(), C.interface(), C.interface(), *packets) == []


def test_interfaces_a_year_apart_are_told_in_any_order(told):
    old = [C.packet(946_684_800 * S + k, on=1) for k in range(5)]
    new = [C.packet(US + k) for k in range(20)]
    head = [C.section(), C.interface(), C.interface()]
    (found,) = told(*head, *old, *new)
    assert found.title == "interface 0 is 9760 d 14 h ahead of interface 1"
    assert (found.events, found.packets) == (5, (0,))
    (found,) = told(*head, *new, *old)
    assert (found.events, found.packets) == (5, (20,))


def test_packets_at_0_are_told_and_are_no_step_back(told):
    packets = [C.packet(0 if k in (3, 8) else US + k) for k in range(20)]
    (found,) = told(C.section(), C.interface(), *packets)
    assert (found.code, found.events, found.packets) == ("odd-times", 2, (3,))
    assert found.title == "2 packets without a stamp: at 0, in 1970"
    assert told(pcap([(k, 0, b"data") for k in range(5)])) == []
    (found,) = told(pcap([(0, 0, b"data"), *((1_790_000_000 + k, 0, b"") for k in range(5))]))
    assert (found.code, found.events) == ("odd-times", 1)


def test_packets_that_all_have_one_time_are_told(told):
    for at in (0, US):
        (found,) = told(C.section(), C.interface(), *[C.packet(at)] * 20)
        assert found.title == "no packet has a time of its own: all 20 have the same"
        assert (found.code, found.severity, found.events) == ("odd-times", "warning", 20)
    assert told(C.section(), C.interface(), *[C.packet(US)] * 9) == []


@pytest.mark.parametrize("ahead_s", [37, 4, 10**8])
@pytest.mark.parametrize("first", [0, 1])
def test_packets_of_two_clocks_in_one_interface_are_told(told, ahead_s, first):
    """Of 30 packets every third is stamped by the card, which is ahead."""
    card = [k % 3 == first for k in range(30)]
    times = [US + k * S // 10 + ahead_s * S * is_card for k, is_card in enumerate(card)]
    (found,) = told(C.section(), C.interface(name="eth0"), *map(C.packet, times))
    assert (found.code, found.severity, found.events) == ("odd-times", "error", 10)
    assert found.packets == (first or 3,)
    assert found.title.startswith("interface 0 (eth0) has packets of two clocks: 10 of 30 are ")
    assert found.title.endswith(", as TAI and UTC are") == (ahead_s == 37)


def test_a_clock_that_is_set_back_again_and_again_is_no_second_clock(told):
    times = [US + (k % 10) * 60 * S + (k // 10) * S for k in range(50)]
    found = told(C.section(), C.interface(), *map(C.packet, times))
    assert [one.code for one in found] == ["stream-backwards"]


@pytest.mark.parametrize(("by_s", "is_told"), [(56 * 86_400, True), (3500, False), (7200, True)])
def test_one_jump_forward_that_no_pause_explains_is_an_info(tmp_path, by_s, is_told):
    times = [US + k * S + (by_s * S if k > 10 else 0) for k in range(30)]
    path = tmp_path / "c.pcapng"
    path.write_bytes(b"".join([C.section(), C.interface(), *map(C.packet, times)]))
    with open_trace(path) as trace:
        found = [one for one in diagnose(trace) if one.code == "odd-times"]
    assert [(one.severity, one.events, one.packets) for one in found] == [
        ("info", 11, (11,))
    ] * is_told


def test_a_capture_of_rare_packets_has_pauses(tmp_path):
    """One longer pause among long ones."""
    times = [US + k * 600 * S + (86_400 * S if k > 10 else 0) for k in range(30)]
    path = tmp_path / "c.pcapng"
    path.write_bytes(b"".join([C.section(), C.interface(), *map(C.packet, times)]))
    with open_trace(path) as trace:
        assert "odd-times" not in [one.code for one in diagnose(trace)]


def section(begin, n=20):
    return [C.section(), C.interface(), *(C.packet(begin + k * S) for k in range(n))]


def test_sections_that_overlap_are_told(told):
    (found,) = told(*section(US), *section(US + 8 * S))
    assert found.title == "captures are joined: one begins 11 s before another one ends"
    assert (found.code, found.events, found.packets) == ("odd-times", 20, (20,))
    # The first of them was recorded last.
    (found,) = told(*section(US + 100 * S), *section(US))
    assert found.worst_ns == 119 * 10**9
    found = told(*section(US), *section(US + 30 * S), *section(US + 10 * S))
    assert [one.packets for one in found] == [(40,)]


def test_times_at_both_ends_of_int64_are_compared(told):
    """A difference of two does not fit."""
    far = (9_200_000_000, -9_200_000_000)
    for begins in (far, far[::-1]):
        head = [C.section(), *(C.interface(offset_s=begin) for begin in begins)]
        found = told(*head, *(C.packet(k, on=k % 2) for k in range(20)))
        (odd,) = (one for one in found if one.code == "odd-times")
        assert "is 212962 d 23 h ahead of" in odd.title


def test_sections_one_after_the_other_are_not(told):
    assert told(*section(US), *section(US + 19 * S), *section(US + 10**6 * S)) == []
    assert told(C.section(), C.section(), *section(US)) == []


def by_itself(packets, sections):
    """What `CaptureTimes.odd` says of packets, (interface, ns), one after the other."""
    stamped = [(on, ns, number) for number, (on, ns) in enumerate(packets) if ns]
    times, turns = {}, {}
    for on, ns, number in stamped:
        times.setdefault(on, []).append((ns, number))
    for (one, was, _), (other, ns, number) in pairwise(stamped):
        if one != other:
            turns.setdefault((one, other), []).append((was - ns, number))
    found, told = [], set()
    for (one, other), by in sorted(turns.items()):
        back = [(ns, number) for ns, number in by if ns > 10**9]
        if len(back) >= max(3, 0.9 * len(by)):
            told |= {one, other}
            found.append(("apart", len(times[other]), back[0][1], max(back)[0]))
    rest = sorted(set(times) - told, key=lambda on: (min(times[on])[0], on))
    for one, other in pairwise(rest):
        by_ns = min(times[other])[0] - max(times[one])[0]
        if by_ns > 31_557_600 * 10**9:
            few = min(one, other, key=lambda on: len(times[on]))
            found.append(("apart", len(times[few]), times[few][0][1], by_ns))
    latest = None
    for k, begin in enumerate(sections):
        end = [*sections, 10**9][k + 1]
        here = [one for on in times if begin <= on < end for one in times[on]]
        if here and latest is not None and min(here)[0] < latest - 10**9:
            by_ns = latest - min(here)[0]
            found.append(("joined", len(here), min(number for _, number in here), by_ns))
        latest = max([latest] * (latest is not None) + [ns for ns, _ in here], default=None)
    return found


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0, 5, 6, 8, 12, 10**9])), max_size=60),
    st.lists(st.integers(0, 60), max_size=3),
    st.sets(st.integers(1, 5), max_size=3),
)
def test_all_interfaces_at_once_are_as_one_packet_after_the_other(packets, cuts, sections):
    packets = [(on, ns * 10**9) for on, ns in packets]
    sections = [0, *sorted(sections)]
    times = CaptureTimes()
    for begin, end in pairwise(sorted({0, len(packets), *(min(c, len(packets)) for c in cuts)})):
        on, ns = np.array(packets[begin:end], np.int64).T
        times.add(on, ns, np.arange(begin, end))
    odd = times.odd(sections, [f"interface {k}" for k in range(6)])
    found = [(one.kind, one.events, one.packet, one.size_ns) for one in odd]
    assert [one for one in found if one[0] not in ("zero", "early")] == by_itself(packets, sections)
