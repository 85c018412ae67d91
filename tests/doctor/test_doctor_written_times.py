"""Times that a file writes as decimal numbers: rounded by Perfetto, or unreadable."""

import json
from importlib import import_module

import pytest

from tracetime import diagnose, open_trace


@pytest.fixture
def found(tmp_path):
    """The findings, by code, of a file of Chrome's JSON with events of these times."""

    def of(*times, **more):
        path = tmp_path / "t.json"
        events = [{"ph": "i"} | ({} if ts is None else {"ts": ts}) for ts in times]
        text = json.dumps([*events, more] if more else events)
        path.write_text(text.replace("1712195495541301.0", "1712195495541300.987"))
        with open_trace(path) as trace:
            return {one.code: one for one in diagnose(trace)}

    return of


def test_events_that_perfetto_rounds_are_counted(found):
    one = found(1712195495541301.0, 1712195495541301, 3.5)["times-rounded"]
    # Doubles have steps of 250 ns near ...300.987 us, which Python cannot write either.
    assert (one.events, one.worst_ns, one.severity) == (1, 13, "info")
    assert one.title == "floor places 1 event up to 13 ns off: Perfetto rounds their times"


def test_times_that_a_double_holds_are_no_finding(found):
    assert set(found(0.5, 1712195495541301, 12345678.125)) == {"no-snapshots"}


def test_events_without_a_time_are_counted(found):
    assert found(1, None, "x", "1.5", None)["events-without-time"].events == 3
    assert "events-without-time" in found(1, ts=7)
    assert "events-without-time" not in found(1, ph="M")


def test_of_very_many_events_the_slices_are_not_compared(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    # 300.9 + 2.2 = 303.1: one follows the other. By floor they are at 301.0 and 303.0.
    texts = (("1712195495541300.9", "2.2"), ("1712195495541303.1", "5"))
    events = [f'{{"ph":"X","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}' for ts, dur in texts]
    path.write_text(f"[{','.join(events)}]")
    for most, severity in ((2, "warning"), (1, "info")):
        monkeypatch.setattr(
            import_module("tracetime.formats.chrome_json.reader"), "MOST_NESTED", most
        )
        with open_trace(path) as trace:
            (one,) = (one for one in diagnose(trace) if one.code == "times-rounded")
        assert one.severity == severity
