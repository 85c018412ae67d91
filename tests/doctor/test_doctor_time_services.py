"""What the doctor says of a time service that bounds a recording's wall clock."""

import pytest
from wall_bounds import bounded_recording

from tracetime import ClockId, diagnose, open_trace
from tracetime.clocks.kernel_clock import WallBound

MS = 1_000_000
REALTIME = ClockId(1)


def found_in(tmp_path, *bounds):
    path = bounded_recording(
        tmp_path / "t.pftrace", *(one and WallBound(*one, "chrony") for one in bounds)
    )
    with open_trace(path) as trace:
        return [one for one in diagnose(trace) if one.code == "time-service-contradicts"]


def test_bounds_that_no_course_of_the_clock_fits_are_told(tmp_path):
    """A snapshot a second: 125 ms are what may be steered in between."""
    (found,) = found_in(tmp_path, (-MS, MS), None, (299 * MS, 301 * MS), (-MS, MS))
    # At least 299 ms, and at most 1 + 250.
    assert (found.severity, found.clocks, found.worst_ns) == ("warning", (REALTIME,), 48 * MS)
    assert found.packets == (3,)
    assert found.title == "the time service of REALTIME contradicts itself, by 48 ms"


@pytest.mark.parametrize(
    "bounds",
    [
        [],
        [(-MS, MS)],
        [(-MS, MS), (125 * MS, 126 * MS)],
        [(-MS, MS), (-(10**15), 10**15), (-MS, MS)],
    ],
)
def test_a_clock_that_may_have_been_steered_is_no_contradiction(tmp_path, bounds):
    assert found_in(tmp_path, *bounds, None) == []
