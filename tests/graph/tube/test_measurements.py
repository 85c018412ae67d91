"""How snapshots were read, kept as they come: single ones, arrays, those of a file."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockId, Snapshot
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.graph.tube.measurements import Column, Measured, Read

RAW, TSC, NIC = ClockId(5), ClockId(9), ClockId(0x8A01B2C3)

ONE = st.tuples(
    st.integers(1, 4),
    st.sets(st.sampled_from(["half", "centre", "frequency"])),
    st.sampled_from([NIC, TSC]),
    st.integers(0, 4),
)


def taken(length, says, clock, seed):
    some = np.arange(length) + 10 * seed + 1
    return Snapshot(
        {RAW: some, clock: some},
        reference=RAW if says - {"frequency"} else None,
        half_width_ns={clock: some} if "half" in says else None,
        centre_ns={clock: -some} if "centre" in says else None,
        frequency_scaled_ppm={clock: 7 * some} if "frequency" in says else None,
    )


@given(st.lists(ONE, max_size=12), st.booleans())
def test_each_snapshot_keeps_its_measurements(parts, of_a_file):
    centre, half, frequency = (
        {RAW: {}, TSC: {}, NIC: {}},
        {RAW: {}, TSC: {}, NIC: {}},
        {RAW: {}, TSC: {}, NIC: {}},
    )
    measured, at = Measured(), 0
    if of_a_file:
        measured = Measured(
            {NIC: Column(np.array([0, 2]), Read(np.array([3, 4]), np.array([5, 6])))}
        )
        centre[NIC], half[NIC], at = {0: 3, 2: 4}, {0: 5, 2: 6}, 3
    for length, says, clock, refused in parts:
        snapshot = taken(length, says, clock, at)
        end = at + max(0, length - refused)
        measured.add(at, end, snapshot)
        for row, number in enumerate(range(at, end)):
            value = row + 10 * at + 1
            if says - {"frequency"}:
                half[RAW][number] = 0
            if "half" in says:
                half[clock][number] = value
            if "centre" in says:
                centre[clock][number] = -value
            if "frequency" in says:
                frequency[clock][number] = 7 * value
        at = end + 1
    every = np.arange(at + 2)
    for clock in (RAW, TSC, NIC):
        read = measured.reads(clock, every)
        assert read.centre.tolist() == [centre[clock].get(n, 0) for n in every]
        assert read.half.tolist() == [half[clock].get(n, -1) for n in every]
        found = measured.frequency(clock, every).tolist()
        assert found == [frequency[clock].get(n, NOT_RECORDED) for n in every]
        assert measured.reads(clock, every[1::2]).half.tolist() == read.half[1::2].tolist()
