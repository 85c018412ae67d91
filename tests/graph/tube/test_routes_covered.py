"""Paths of the tube go by how well a pair is known while a clock was read, not by its best moment."""

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, snapshot, trace
from reading import opened
from relay import MS, S, ours, running, sleeping

from tracetime import ClockId

BURST = 0x8A01B2C3
SPREAD = [0, 50_000, 12_000, 60_000, 3_000, 44_000, 20_000, 58_000, 1_000, 30_000]


def recording(step_ns):
    """REALTIME is set at 130 s; another clock is read with it, closely, in the first seconds."""
    boot, wall = running(3, 1000 * S), running(3, 1_700_000_000 * S, [(130 * S, step_ns)])
    burst = running(7, 5 * S)
    readings = [
        (60 * S * k, {BOOTTIME: boot(60 * S * k) + late, REALTIME: wall(60 * S * k)})
        for k, late in enumerate(SPREAD)
    ]
    for t in range(5, 2 * S, 200 * MS):
        readings.append((t, {BURST: burst(t), REALTIME: wall(t)}))
        readings.append((t + 1, {BURST: burst(t + 1), BOOTTIME: boot(t + 1)}))
    readings.sort(key=lambda one: one[0])
    return trace(*(snapshot(read) for _, read in readings)), boot, wall, burst


@pytest.mark.parametrize("step_ns", [5 * S, 0, -5 * S])
def test_a_pair_that_was_read_at_the_start_alone_is_no_path_for_the_rest(step_ns):
    data, boot, wall, burst = recording(step_ns)
    times = np.arange(S, 540 * S, 1_234_567_891).tolist()
    truth = {
        ours(): np.array([boot(t) for t in times]),
        ours(REALTIME): np.array([wall(t) for t in times]),
    }
    with opened(data) as read:
        graph = read.clocks
        for source, target in ((ours(), ours(REALTIME)), (ours(REALTIME), ours())):
            assert graph.path(source, target, "tube") == [source, target]
            found = graph.convert(
                truth[source], source, target, policy="tube", bounds=True, errors="mask"
            )
            low, high = (np.asarray(side) for side in found[1:])
            # How wide bars are assumed to be where readings come late is not what is looked at here.
            late = max(SPREAD)
            assert ((low - late <= truth[target]) & (truth[target] <= high + late)).all()
            if not step_ns:
                assert np.median(high - low) <= 200_000
        # For the other clock, its own pairs are best.
        reading = burst(S)
        assert graph.path(ClockId(BURST), ours(REALTIME), "tube") == [
            ClockId(BURST),
            ours(REALTIME),
        ]
        bar = graph.convert(reading, ClockId(BURST), ours(), policy="tube", bounds=True)
        assert bar.earliest <= boot(S) <= bar.latest


def test_a_device_that_sleeps_with_the_machine_is_placed_by_what_slept_too():
    """By BOOTTIME its clock fell, and readings before the suspend look like two instants."""
    boot, device = running(3, 1000 * S), ClockId(BURST)
    mono, ticks = (
        sleeping(running(ppm, start), 90 * S + 100 * MS, 100 * S)
        for ppm, start in ((3, 900 * S), (40, 5 * S))
    )
    data = trace(
        *(
            snapshot({BOOTTIME: boot(t), MONOTONIC: mono(t), BURST: ticks(t)})
            for t in range(0, 240 * S, 30 * S)
        )
    )
    times = [t for t in range(-20 * S, 230 * S, 1_234_567_891) if not 90 * S <= t <= 100 * S]
    truth = np.array([boot(t) for t in times])
    with opened(data) as read:
        graph = read.clocks
        assert graph.path(device, ours(), "tube") == [device, ours(MONOTONIC), ours()]
        for bars in ("estimated", "guaranteed"):
            found = graph.convert(
                [ticks(t) for t in times], device, ours(), policy="tube", bounds=True, bars=bars
            )
            assert ((found.earliest <= truth) & (truth <= found.latest)).all()
        # On the way there nothing is ambiguous.
        assert graph.path(ours(), device, "tube") == [ours(), device]
