"""What the doctor finds just at its limits, and just beyond them, stays what it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, event, packet, snapshot, trace
from faults import GPU, NIC, SEQUENCE, START, TSC, Model, S, misread
from kept import check_kept
from test_kept_doctor import reported as told_by

from tracetime.formats.perfetto.schema import PAYLOAD_NAMES

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

# The tolerance, twice it; what is near, and what is not; apart; a pause that no recorder makes.
SIZES = [1_000_000, 2_000_000, 1_000_000_000, 60_000_000_000, 600_000_000_000]
CLOCKS = {"MONOTONIC": MONOTONIC, "REALTIME": REALTIME, "NIC": NIC, "64": 64, "BOOTTIME": BOOTTIME}
PPM = [100, 500, 600, 1_000, 10_000, 200_000, 1_000_000]


def reported(data: bytes) -> list[str]:
    return told_by(data, tolerances=False)


def small(n: int = 12) -> Model:
    model = Model()
    model.n = n
    model.event_clocks = [MONOTONIC, NIC, 64]
    return model


def around(size: int) -> Iterator[int]:
    for by in (size, size + 1):
        yield by
        yield -by


def stepped(model: Model, clock: int, by: int) -> None:
    read, unit = model.reads[clock], model.units.get(clock, 1)
    model.reads[clock] = lambda t: read(t) + (by // unit if t >= model.time(6) - S // 3 else 0)


def off_once(model: Model, clock: int, by: int) -> None:
    misread(model, clock, 5, by)


def off_at_first(model: Model, clock: int, by: int) -> None:
    misread(model, clock, 0, by)


def events_after(model: Model, clock: int, by: int) -> None:
    """Three events beyond the last snapshot, or before the first one."""
    unit, read = model.units.get(clock, 1), model.reads[clock]
    end = model.time(model.n - 1) if by > 0 else model.time(0)
    model.extra[model.n - 1] = [
        event(read(end) + by // unit + k, clock, SEQUENCE) for k in range(3)
    ]


CHANGES = {one.__name__: one for one in (stepped, off_once, off_at_first, events_after)}


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_by_about_a_limit(change, clock):
    found = {}
    for size in SIZES:
        for by in around(size):
            model = small()
            CHANGES[change](model, CLOCKS[clock], by)
            found[str(by)] = reported(model.build())
    check_kept("doctor_limits", f"{change} {clock}", found)


@pytest.mark.parametrize(
    "clock", ["MONOTONIC", "REALTIME", "NIC", "GPU", "MONOTONIC_RAW", "BOOTTIME"]
)
def test_a_rate_of_about_a_limit(clock):
    number = CLOCKS.get(clock) or {"GPU": GPU, "MONOTONIC_RAW": MONOTONIC_RAW}[clock]
    found = {}
    for limit in PPM:
        for ppb in (limit * 1_000 - 2_000, limit * 1_000 + 2_000):
            for sign in (-1, 1):
                model = small()
                read = Model().reads[number]
                model.reads[number] = lambda t, read=read, ppb=sign * ppb: (
                    read(START) + (t - START) * (10**9 + ppb) // 10**9
                )
                found[str(sign * ppb)] = reported(model.build())
    check_kept("doctor_limits", f"rate {clock}", found)


def ticking(clock: int, n: int, gap_ns: int, rate_ppm: int, used: bool) -> bytes:
    """Snapshots of a clock and BOOTTIME, gap_ns apart."""
    times = [START + k * gap_ns for k in range(n)]
    packets = [
        snapshot({BOOTTIME: t, clock: 7 * S + (t - START) * rate_ppm // 10**6}) for t in times
    ]
    return trace(*packets, *([event(7 * S + 5, clock)] if used else []))


@pytest.mark.parametrize("clock", [TSC, NIC])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_snapshots_that_are_close(clock, n):
    """How far and how long a clock has to go for its rate to be measured."""
    found = {}
    for gap_ns in (99_000, 499_000, 501_000, 4_990_000, 5_010_000, S // 3, S // 2, S):
        for rate_ppm in (0, 780_000, 810_000, 979_000, 1_021_000, 1_190_000, 1_210_000, 3_000_000):
            data = ticking(clock, n, gap_ns, rate_ppm, used=rate_ppm % 3 == 0)
            found[f"{gap_ns} {rate_ppm}"] = reported(data)
    check_kept("doctor_limits", f"few {clock} {n}", found)


def uneven(off: int, n: int, by_ns: int) -> bytes:
    """NIC at 1.05 of its rate, off by so much in some of n gaps."""
    nic, packets = 7 * S, []
    for k in range(n + 1):
        packets.append(snapshot({BOOTTIME: START + k * S, NIC: nic}))
        nic += S + S // 20 + (by_ns if k < off else 0)
    return trace(*packets, event(nic, NIC))


@pytest.mark.parametrize("n", [5, 10])
def test_how_many_gaps_have_to_agree(n):
    found = {
        f"{off} {by_ns}": reported(uneven(off, n, by_ns))
        for off in range(n)
        for by_ns in (4_900_000, 5_100_000, -9_000_000)
    }
    check_kept("doctor_limits", f"uneven {n}", found)


def recording(clocks: dict[int, int], n: int, signs: tuple[int, ...] = ()) -> list[Any]:
    """A recording of n snapshots of clocks that begin at these readings; what the recorder says."""
    says = [packet(**{PAYLOAD_NAMES[field]: {}}) for field in signs]
    for k in range(n):
        says.append(snapshot({clock: at + k * S for clock, at in clocks.items()}))
        says.append(event(clocks[BOOTTIME] + k * S + 5))
    return says


SETS = {
    "two": [BOOTTIME, MONOTONIC],
    "three": [BOOTTIME, MONOTONIC, REALTIME],
    "four": [BOOTTIME, MONOTONIC, REALTIME, MONOTONIC_RAW],
    "mixed": [BOOTTIME, REALTIME, NIC, GPU],
    "five": [BOOTTIME, MONOTONIC, REALTIME, NIC, MONOTONIC_RAW],
}


@pytest.mark.parametrize("which", SETS)
def test_where_another_recording_begins(which):
    """Its clocks are ahead or behind by as much, or each by a time of its own."""
    found = {}
    clocks = SETS[which]
    first = {clock: (50 + 1_000 * k) * S for k, clock in enumerate(clocks)}
    for n in (1, 2, 6):
        for name, apart in {
            "same": [0] * 5,
            "back 1 ms": [-n * S - 1_000_000] * 5,
            "back beyond 1 ms": [-n * S - 1_000_001] * 5,
            "back 10 s": [-10 * S] * 5,
            "ahead": [10 * S] * 5,
            "some back": [-10 * S, 5 * S, -10 * S, 5 * S, 5 * S],
            "most back": [-10 * S, -10 * S, -10 * S, 5 * S, 5 * S],
            "apart": [0, 60 * S, 130 * S, 200 * S, 300 * S],
            "apart by more": [0, 61 * S, 130 * S, 200 * S, 300 * S],
            "apart, few": [0, 0, 130 * S, 200 * S, 200 * S],
        }.items():
            second = {
                clock: first[clock] + (n * S) + by for clock, by in zip(clocks, apart, strict=False)
            }
            data = trace(*recording(first, n), *recording(second, 6))
            found[f"{name} {n}"] = reported(data)
    check_kept("doctor_limits", f"recordings {which}", found)


@pytest.mark.parametrize("parts", [2, 3, 6])
def test_parts_of_one_recording_in_another_order(parts):
    found = {}
    for k in range(parts):
        for pause_s in (1, 2, 3, 4, 10):
            pieces = []
            for part in range(parts):
                begin = (100 + part * (5 + pause_s)) * S
                pieces.append(
                    recording({BOOTTIME: begin, MONOTONIC: begin - S, REALTIME: begin + 9 * S}, 5)
                )
            as_reversed = [pieces[(part + k) % parts] for part in range(parts)]
            found[f"{k} {pause_s}"] = reported(
                trace(*[one for piece in as_reversed for one in piece])
            )
    check_kept("doctor_limits", f"parts {parts}", found)


@pytest.mark.parametrize("numbers", [5, 18])
def test_many_events_behind_and_ahead_in_other_units(numbers):
    """Written in us or ms, in deltas, or as another clock reads."""
    found = {}
    for name, values in {
        "us": [(START + k * S) // 1_000 for k in range(numbers)],
        "ms": [(START + k * S) // 1_000_000 for k in range(numbers)],
        "ns too large": [(START + k * S) * 1_000 for k in range(numbers)],
        "deltas": [1_000_000 + k % 3 for k in range(numbers)],
        "rising": [1_000_000 + k for k in range(numbers)],
        "realtime": [START + 1_700_000_000 * S + k * S for k in range(numbers)],
        "few": [(START + k * S) // 1_000 for k in range(2)],
    }.items():
        for clock in (MONOTONIC, NIC, 64):
            model = small(16)
            if clock == NIC:
                model.reads[NIC] = lambda t: t + 5
            model.extra[9] = [event(value, clock, SEQUENCE) for value in values]
            found[f"{name} {clock}"] = reported(model.build())
    check_kept("doctor_limits", f"units {numbers}", found)


@pytest.mark.parametrize("clock", ["BOOTTIME", "MONOTONIC"])
def test_boottime_below_monotonic_by_about_a_limit(clock):
    found = {}
    for by in (1_000, 999_999, 1_000_000, 1_000_001, 2_000_000, 5_000_000, S, 10**6 * S):
        for n in (1, 2, 12):
            model = small(n)
            model.primary = dict.fromkeys(range(n), CLOCKS[clock])
            model.reads[MONOTONIC] = lambda t, by=by: t + by
            found[f"{by} {n}"] = reported(model.build())
    check_kept("doctor_limits", f"below {clock}", found)
