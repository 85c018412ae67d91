"""The table of how clocks run: a row for each pair of each trace, beside the findings."""

import json

import pytest
from building import REALTIME, event, trace
from faults import NIC, Model, drifting
from fleets import FAST, machine, parts, rows, small_trace, write_fleet
from text_format import MAGIC, TextTrace, is_text

import tracetime as tt
from tracetime import fleet, formats

S = 10**9


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Traces are done in this process, which starts at once."""
    monkeypatch.setattr(fleet, "run_in_pool", lambda function, uris, *_, **__: map(function, uris))


def clocks_of(tmp_path, data):
    path = tmp_path / "t.pftrace"
    path.write_bytes(data)
    fleet.doctor(path, tmp_path / "out", **FAST)
    (table,) = rows(tmp_path / "out", "clocks").values()
    return {(row["clock"], row["reference"]): row for row in table.to_pylist()}


def test_a_row_has_the_measures_of_a_pair(tmp_path):
    model = Model()
    model.reads[NIC] = drifting(37, 77 * S)
    data = machine("google/oriole", "5.10", "lab-3") + model.build()
    found = clocks_of(tmp_path, data)
    nic = found[str(tt.ClockId(NIC)), "BOOTTIME"]
    assert (nic["model"], nic["kernel"], nic["host"]) == ("google/oriole", "5.10", "lab-3")
    assert (nic["snapshots"], nic["jumps"]) == (60, 0)
    assert nic["drift_ppm"] == pytest.approx(37, abs=0.01)
    assert (nic["events"], nic["lost"]) == (60, 0)
    with tt.open_trace(tmp_path / "t.pftrace") as opened:
        curves = opened.clocks.curves("BOOTTIME", NIC)
        hop = opened.clocks.explain(5000 * S, "BOOTTIME", NIC, policy="tube").steps[0]
    assert nic["median_bar_ns"] == curves.median_bar_ns
    assert nic["worst_bar_ns"] == curves.most_bar_ns >= nic["median_bar_ns"]
    assert nic["wander_ppm"] == pytest.approx(hop.wander_ppm)
    assert ("64@seq*", "BOOTTIME") in found


def test_jumps_are_counted(tmp_path):
    model = Model()
    plain = model.reads[REALTIME]
    model.reads[REALTIME] = lambda t: plain(t) + (t > model.time(20)) * 3600 * S
    found = clocks_of(tmp_path, model.build())
    assert found["REALTIME", "BOOTTIME"]["jumps"] == 1
    # The steadier clock is the reference, whatever the trace clock is.
    assert found["BOOTTIME", "MONOTONIC"]["jumps"] == 0


def test_a_trace_without_pairs_has_one_row_that_names_its_machine(tmp_path):
    found = clocks_of(tmp_path, machine("A78") + trace(event(5)))
    assert list(found) == [(None, None)]
    assert found[None, None]["model"] == "A78"


def test_pairs_that_are_too_many_are_left_out_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("tracetime.reporting.measure.MOST_MEASURED", 2)
    assert len(clocks_of(tmp_path, Model().build())) == 2
    (record,) = (tmp_path / "out" / "log" / "findings").iterdir()
    assert json.loads(record.read_bytes())["facts"]["pairs_left_out"] == 4


def test_both_tables_have_a_part_of_each_trace_or_it_is_made_again(tmp_path):
    traces, out = write_fleet(tmp_path / "traces", 3), tmp_path / "out"
    fleet.doctor(traces, out, **FAST)
    names = [[part.name for part in parts(out, table)] for table in ("findings", "clocks")]
    assert names[0] == names[1]
    assert len(names[0]) == 3
    assert fleet.doctor(traces, out, **FAST).unchanged == 3
    parts(out, "clocks")[1].unlink()
    assert fleet.doctor(traces, out, **FAST).converted == 1
    (traces / "001.pftrace").write_bytes(small_trace(9))
    assert fleet.doctor(traces, out, **FAST).converted == 1
    assert [len(parts(out, table)) for table in ("findings", "clocks")] == [3, 3]


def test_a_directory_with_other_clocks_is_left_alone(tmp_path):
    (tmp_path / "out" / "clocks").mkdir(parents=True)
    (tmp_path / "out" / "clocks" / "wall.jpg").touch()
    with pytest.raises(tt.UsageError, match="in clocks/ that are no parts"):
        fleet.doctor(write_fleet(tmp_path / "traces", 1), tmp_path / "out", **FAST)


def test_clocks_that_messages_alone_tie_are_a_pair(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS])
    formats.register_format(is_text, TextTrace)
    one_way = [
        "snapshot,0,BOOTTIME,1000",
        "order,MONOTONIC,1000,BOOTTIME,1500",
        "event,MONOTONIC,7",
    ]
    found = clocks_of(tmp_path, MAGIC + "\n".join([*one_way, ""]).encode())
    (row,) = found.values()
    assert {row["clock"], row["reference"]} == {"BOOTTIME", "MONOTONIC"}
    assert row["snapshots"] == 0
    # Nothing bounds the other side.
    assert row["drift_ppm"] is row["worst_bar_ns"] is row["median_bar_ns"] is None
