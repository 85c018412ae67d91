"""Advice for events without trace time is written once, and the documentation repeats it."""

import pytest
from places import ROOT

from tracetime.doctor.catalogue import CATALOGUE
from tracetime.errors import ADVICE, REASONS


def test_there_is_advice_for_every_status_without_trace_time():
    assert set(ADVICE) == set(REASONS) - {"resolved", "as_is"}


@pytest.mark.parametrize("status", ADVICE)
def test_the_documentation_of_statuses_gives_the_advice_and_may_say_more(status):
    lines = (ROOT / "docs" / "semantics.md").read_text().splitlines()
    (row,) = (line for line in lines if line.startswith(f"| `{status}` | "))
    _, _, meaning, what_to_do, _ = (cell.strip() for cell in row.split("|"))
    assert meaning.startswith(ADVICE[status].why)
    assert what_to_do.startswith(ADVICE[status].fix)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("clock-without-snapshot", "unknown_source_clock"),
        ("sequence-clock-of-another-sequence", "unknown_source_clock"),
        ("trace-clock-without-snapshot", "unknown_target_clock"),
        ("clock-not-tied", "no_path"),
        ("clock-ran-backwards", "non_monotonic_source"),
        ("realtime-set-back", "ambiguous_source"),
        ("timestamp-overflow", "overflow"),
        ("lost-incremental-state", "skipped_incremental_state"),
    ],
)
def test_a_finding_about_events_without_trace_time_gives_the_advice_of_their_status(code, status):
    fix = ADVICE[status].fix
    assert CATALOGUE[code].fix.startswith(fix)
    page = (ROOT / "docs" / "findings" / f"{code}.md").read_text()
    assert f"\n## What to do\n\n{fix}" in page
