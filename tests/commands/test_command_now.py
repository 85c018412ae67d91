"""`tracetime now`: with a ClockBound that a test plays, and without any time service."""

import json

import pytest
from clockbound_bytes import memory, old_memory

from tracetime.clocks.wall_time import parse_wall_time
from tracetime.sources.time_service import service
from tracetime.sources.time_service.clockbound import ClockBound

pytest_plugins = ["cli"]


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The file in place of ClockBound's."""
    path = tmp_path / "shm0"
    monkeypatch.setitem(service.SOURCES, "clockbound", lambda: ClockBound(str(path)))
    return path


def test_now_prints_the_bounds_and_where_they_are_from(tracetime, shared):
    shared.write_bytes(memory(bound_ns=20_000, drift_ppb=0))
    code, text, err = tracetime("now")
    assert (code, err) == (0, "")
    *times, said = text.splitlines()
    names, texts = zip(*(line.split() for line in times), strict=True)
    assert names == ("earliest", "estimate", "latest")
    earliest, estimate, latest = map(parse_wall_time, texts)
    assert latest - estimate == estimate - earliest >= 20_000
    assert said.startswith("The estimate is within 2")
    assert " us of UTC, as clockbound said " in said


def test_now_as_json_has_both_forms(tracetime, shared):
    shared.write_bytes(memory())
    found = json.loads(tracetime("now", "--json", "--source", "clockbound")[1])
    assert parse_wall_time(found["earliest"]) == found["earliest_ns"]
    assert found["half_width_ns"] == found["latest_ns"] - found["estimate_ns"]
    assert (found["clock"], found["source"], found["not_used"]) == ("REALTIME", "clockbound", [])


def test_without_a_bound_the_exit_code_is_1_and_each_source_says_why(tracetime, shared):
    shared.write_bytes(old_memory())
    code, text, err = tracetime("now", "--source", "clockbound")
    assert (code, text) == (1, "")
    assert err.startswith("tracetime: error: nothing bounds how far this machine's clock is off\n")
    assert "  clockbound: " in err
    assert "update ClockBound to 2.0" in err
    code, text, err = tracetime("now", "--source", "clockbound", "--json")
    assert (code, text) == (1, "")
    assert json.loads(err)["error"]["code"] == "source"


def test_tai_says_so(tracetime, shared, monkeypatch):
    shared.write_bytes(memory())
    code, text, err = tracetime("now", "--clock", "TAI")
    if code:
        assert (code, text) == (1, "")
        assert "leapsectz right/UTC" in err
    else:
        assert text.count(" TAI\n") == 3


@pytest.mark.parametrize("option", ["--source", "--clock"])
def test_other_names_are_wrong_usage(tracetime, option):
    code, _, err = tracetime("now", option, "GPS")
    assert code == 2
    assert "is not one of" in err
