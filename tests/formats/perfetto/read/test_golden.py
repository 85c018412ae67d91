"""The reader against what trace_processor makes of traces (data/README.md)."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from corpus import DATA, NO_DATA, OWN, files, trace_of

from tracetime import open_trace

KEY = ("packet", "kind", "item")
COMPARED = ("clock", "sequence", "timestamp", "trace_time")

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)


def in_order(table: pa.Table) -> pa.Table:
    """The compared columns as plain types, sorted by what names a row."""
    table = table.select([*KEY, *COMPARED])
    columns = {name: table[name] for name in table.column_names}
    columns["kind"] = pc.cast(columns["kind"], pa.string())
    columns |= {n: pc.cast(columns[n], pa.int64()) for n in columns if n != "kind"}
    return pa.table(columns).sort_by([(name, "ascending") for name in KEY])


def differing(ours: pa.Table, golden: pa.Table, name: str) -> list[tuple[object, ...]]:
    """The first rows that differ in a column."""
    same = pc.fill_null(pc.equal(ours[name], golden[name]), False)
    both_null = pc.and_(pc.is_null(ours[name]), pc.is_null(golden[name]))
    where = np.flatnonzero(~np.asarray(pc.or_(same, both_null)))
    return [
        (*(golden[key][int(i)].as_py() for key in KEY), ours[name][int(i)], golden[name][int(i)])
        for i in where[:5]
    ]


@pytest.mark.parametrize("path", files("golden/*.parquet"), ids=lambda path: path.stem)
def test_no_row_differs_from_the_golden_table(path):
    golden = pq.read_table(path)
    kinds = pc.unique(pc.cast(golden["kind"], pa.string()))
    with open_trace(trace_of(path)) as trace:
        table = trace.read_all()
    # Golden tables have kinds that follow from the reference's tables, and no skipped packets.
    skipped = pc.equal(pc.cast(table["status"], pa.string()), "skipped_incremental_state")
    of_golden_kind = pc.is_in(pc.cast(table["kind"], pa.string()), kinds)
    ours, golden = (
        in_order(table.filter(pc.and_(pc.invert(skipped), of_golden_kind))),
        in_order(golden),
    )

    assert ours.num_rows == golden.num_rows
    for name in (*KEY, *COMPARED):
        assert differing(ours, golden, name) == [], name


def test_the_golden_tables_are_there():
    """Parametrisation over nothing would pass in silence."""
    assert len(list(OWN.glob("golden/*.parquet"))) == 41


@needs_data
def test_more_golden_tables_are_there():
    assert len(files("golden/*.parquet")) > 50


def expected(name: str) -> list[dict[str, str]]:
    """What trace_processor prints for NAME.query.sql."""
    text = (DATA / "golden" / f"{name}.expected.txt").read_text()
    return list(csv.DictReader(line.strip() for line in text.splitlines() if line.strip()))


def events(name: str, kind: str = "packet") -> pa.Table:
    with open_trace(DATA / "traces" / f"{name}.pftrace") as trace:
        table = trace.read_all()
    return table.filter(pc.equal(pc.cast(table["kind"], pa.string()), kind))


@needs_data
def test_expected_service_event():
    name = "Parsing__service_event_timestamp_converted_to_trace_time"
    (row,) = expected(name)
    assert row == {"name": "tracing_started_ns", "int_value": "150"}
    assert events(name)["trace_time"].to_pylist() == [150]


@needs_data
def test_expected_gpu_counters():
    """One packet may hold several counters, and one that holds only descriptors is no counter."""
    name = "GraphicsParser__clock_sync"
    times = {int(row["ts"]) for row in expected(name)}
    assert len(times) == 9
    assert set(events(name)["trace_time"].to_pylist()) == times


@needs_data
def test_expected_journal():
    name = "Linux__journald_basic"
    assert events(name)["trace_time"].to_pylist() == [int(row["ts"]) for row in expected(name)]


@needs_data
def test_expected_slices():
    name = "TrackEvent__track_event_monotonic_trace_clock_slices"
    assert events(name)["trace_time"].to_pylist() == [int(row["ts"]) for row in expected(name)]


@needs_data
@pytest.mark.parametrize("case", ["event_power_rails_custom_clock", "multi_device"])
def test_expected_power_rails(case):
    name = f"PowerPowerRails__power_rails_{case}"
    rows = sorted((int(row["ts"]), int(row.get("machine_id", 0))) for row in expected(name))
    table = events(name, "power_rail")
    # The reference numbers machines in order of appearance; the table has their machine_id.
    machines = {raw: n for n, raw in enumerate(dict.fromkeys(table["machine"].to_pylist()))}
    ours = zip(table["trace_time"].to_pylist(), table["machine"].to_pylist(), strict=True)
    assert sorted((ts, machines[machine]) for ts, machine in ours) == rows
