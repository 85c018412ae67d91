"""The findings of a trace in one sentence: a clock that jumped is not in order."""

import re

import pytest
from building import BOOTTIME, REALTIME, event, snapshot, trace
from reading import opened

import tracetime as tt
from tracetime.doctor.catalogue import CATALOGUE
from tracetime.doctor.finding import FAULTS, verdict

pytest_plugins = ["cli"]

S = 1_000_000_000


def stepping(*steps, events=()):
    """Snapshots a second apart, with REALTIME `steps` ns off from the second 20, 40, ... on."""
    readings = [
        snapshot({BOOTTIME: k * S, REALTIME: 900 * S + k * S + sum(steps[: k // 20])})
        for k in range(1, 60)
    ]
    return trace(*readings, *events)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((), "the clocks are in order"),
        ((5 * S,), "no errors or warnings, but REALTIME was stepped once, by 5 s"),
        ((-5 * S,), "no errors or warnings, but REALTIME was set back once, by 5 s"),
        (
            (-9 * S, 5 * S),
            "no errors or warnings, but REALTIME was set back once, by 9 s, and 1 more",
        ),
    ],
)
def test_a_clock_that_no_event_uses_is_not_in_order_where_it_jumped(
    tracetime, tmp_path, steps, said
):
    content = stepping(*steps, events=[event(30 * S, BOOTTIME)])
    with opened(content) as trace:
        assert verdict(tt.diagnose(trace)) == said
    path = tmp_path / "a.pftrace"
    path.write_bytes(content)
    good = not steps
    _, text, _ = tracetime("doctor", path)
    infos = f"no errors or warnings, {len(steps)} info"
    assert text.splitlines()[0] == f"{path}: {'the clocks are in order.' if good else infos}"
    page = tmp_path / "a.html"
    _, text, _ = tracetime("report", path, "-o", page)
    assert f"{said}." in " ".join(text.split())
    kind, sentence = re.search(r'class="verdict (\w+)">(.*?)<', page.read_text()).groups()
    assert kind == ("good" if good else "fair")
    assert sentence == f"{said[0].upper()}{said[1:]}."


def test_errors_and_warnings_are_counted():
    content = stepping(-5 * S, events=[event(900 * S + k * S, REALTIME) for k in range(1, 60)])
    with opened(content) as trace:
        assert verdict(tt.diagnose(trace)) == "1 error"


def test_what_is_a_fault_can_also_be_worse_or_in_no_event():
    for code in FAULTS:
        assert "info" in CATALOGUE[code].severities, code
        assert len(CATALOGUE[code].severities) > 1, code
