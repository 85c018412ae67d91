"""What crosses others only as trace_processor rounds times of JSON, and what the doctor says."""

from __future__ import annotations

import pytest
from diagnosed import findings
from json_slicing import Raw, document, event, slices
from reading import opened

BASE = "1712195495406752"
"""Microseconds of which doubles are 0.25 us apart."""


def spans(*pairs):
    return document(*(event("X", Raw(ts), dur=Raw(dur)) for ts, dur in pairs))


CROSSING = spans((f"{BASE}.001", "0.900"), (f"{BASE}.200", "0.700"))
"""Rounded, to 0 and 256 ns, the inner one ends later."""


@pytest.mark.parametrize(
    ("text", "crossing"),
    [
        (CROSSING, 1),
        # Only the duration of the outer one is rounded, to whole us.
        (spans(("0", f"{BASE}.120"), ("1712195495406000", "752.110")), 1),
        # They cross in truth.
        (spans((f"{BASE}.001", "0.900"), (f"{BASE}.200", "0.900")), 0),
        (spans((f"{BASE}.001", "0.900")), 0),
        (spans(("1.5", "9.125"), ("2.25", "9.001")), 0),
    ],
)
def test_what_crosses_only_by_rounding_is_counted(text, crossing):
    with opened(text.encode()) as trace:
        assert trace.overlaps_by_rounding() == crossing


def rounded(text):
    return [found for found in findings(text.encode()) if found.code == "times-rounded"]


def test_the_doctor_says_what_crosses():
    (found,) = rounded(CROSSING)
    assert found.severity == "warning"
    assert (found.events, found.worst_ns) == (2, 56)
    assert found.title == (
        "floor places 2 events up to 56 ns off, and makes 1 slice cross others: "
        "Perfetto rounds their times"
    )
    assert len({row["track"] for row in slices(CROSSING)}) == 2


def test_without_slices_that_cross_it_is_worth_knowing():
    (found,) = rounded(spans((f"{BASE}.001", "0.900")))
    assert found.severity == "info"
    assert found.title == "floor places 1 event up to 1 ns off: Perfetto rounds their times"


def test_of_whole_times_the_doctor_says_nothing():
    assert rounded(spans((BASE, "3"))) == []
