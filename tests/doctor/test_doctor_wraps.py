"""Counters that wrap: those that were declared, those that were not, those with too few snapshots."""

from fractions import Fraction

from building import (
    BOOTTIME,
    REALTIME,
    event,
    snapshot,
    trace,
)
from diagnosed import every
from faults import GPU, START, S
from reading import opened

from tracetime import (
    ClockDomain,
    Finding,
    diagnose,
)


def counting(ticks_per_s: int, bits: int, gap_s: int, n: int) -> bytes:
    """A counter read with BOOTTIME every `gap_s`, with an event halfway."""
    packets = []
    for k in range(n):
        t = START + k * gap_s * S
        now, later = ((t + d) * ticks_per_s // S % 2**bits for d in (0, gap_s * S // 2))
        packets += [snapshot({BOOTTIME: t, GPU: now, REALTIME: 9 * START + t}), event(later, GPU)]
    return trace(*packets)


def by_code(data: bytes, *domains: ClockDomain) -> dict[str, Finding]:
    with opened(data, domains=list(domains)) as read:
        return {finding.code: finding for finding in every(diagnose(read))}


def gpu(ticks_per_s: int, bits: int) -> ClockDomain:
    return ClockDomain(GPU, ns_per_tick=Fraction(S, ticks_per_s), valid_bits=bits)


def test_wraps_that_were_declared_are_a_note():
    data = counting(19_200_000, 36, 600, 30)
    wraps = by_code(data, gpu(19_200_000, 36))["counter-wraps"]
    assert (wraps.severity, wraps.title) == ("info", "0x8a01b2c3 wraps: it restarted 5 times")
    assert by_code(counting(S, 32, 1, 30), gpu(S, 32)).keys() == {"counter-wraps"}


def test_wraps_of_a_counter_of_ticks_are_distinguished_from_resets():
    found = by_code(counting(19_200_000, 36, 600, 30))
    assert found.keys() == {"rate-not-nominal", "counter-wraps"}
    assert "--valid-bits 0x8a01b2c3=36" in found["counter-wraps"].fix


def test_a_counter_whose_wraps_are_open_says_how_often_a_snapshot_is_needed():
    found = by_code(counting(S, 32, 7300, 6), gpu(S, 32))
    assert found.keys() == {"counter-wraps"}
    wraps = found["counter-wraps"]
    assert (wraps.severity, wraps.events, len(wraps.packets)) == ("error", 6, 2)
    assert "at least every 2142.41 s" in wraps.why
