"""SQL over traces: what tables say, what functions convert, and what statements may not touch."""

import os
from random import Random
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from building import event, packet, pb, snapshot, trace
from faults import FAULTS, Model
from samples import BOOTTIME, CLOCK_SYNC, EMPTY, MANY, MONOTONIC, SLICES, UNRESOLVED, WALL
from xdf_files import two_streams

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot, TraceError, UsageError, open_trace
from tracetime.doctor import diagnose
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.sql import tables
from tracetime.sql.session import Session
from tracetime.sql.streams import Faults, Stream, View

pytest_plugins = ["cli"]

GPU = 0x8A01B2C3


@pytest.fixture
def ask(write):
    """ask(data..., sql) -> rows as tuples; keywords go to View and Session."""
    opened = []

    def ask(*given, partial=False, **more):
        *data, sql = given
        traces = [
            open_trace(write(one, f"t{number}.pftrace"), partial=partial)
            for number, one in enumerate(data)
        ]
        opened.extend(traces)
        settings = {key: more.pop(key) for key in ("allow_files", "memory") if key in more}
        with Session(traces, View(**more), **settings) as session:
            rows = []
            for statement in session.statements(sql):
                result = session.run(statement)
                rows = [
                    row
                    for batch in result.batches
                    for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)
                ]
        return rows

    yield ask
    for one in opened:
        one.close()


def test_came_before_is_the_order_of_the_graph(ask, write):
    times = [1000, 1104, 1150, 2000, 10**6]
    pairs = ", ".join(f"({a}, {b})" for a in times for b in times)
    answers = ask(
        CLOCK_SYNC,
        "select a, b, came_before(a, 'MONOTONIC', b, 'BOOTTIME') "
        f"from (values {pairs}) t(a, b) order by a, b",
    )
    with open_trace(write(CLOCK_SYNC)) as opened:
        for a, b, found in answers:
            wanted = opened.clocks.order((a, "MONOTONIC"), (b, "BOOTTIME"), margin=True)
            name = {-1: "yes", 0: "undecided", 1: "no"}[wanted.order]
            assert list(found.values()) == [name, wanted.least_ns, wanted.most_ns]
    assert len({found["answer"] for *_, found in answers}) > 1


def test_functions_take_the_clocks_of_events(ask):
    rows = ask(
        two_streams().content,
        """
        select came_before(a.timestamp, a.clock, b.timestamp, b.clock).answer,
            to_clock(a.timestamp, a.clock, 'MONOTONIC') = a.trace_time
        from events a join events b on b.timestamp = a.timestamp + 100000000 limit 3""",
    )
    assert rows == [("yes", True)] * 3
    several = trace(*(snapshot({BOOTTIME: 1, 64: 2}, seq=seq) for seq in (1, 2)))
    with pytest.raises(
        UsageError, match="clock 64 is one of several: give a name, 64@seq1, 64@seq2"
    ):
        ask(several, "select to_clock(1, 64, 'BOOTTIME')")


def test_came_before_is_null_of_nothing_and_refuses_unknown_clocks(ask):
    sql = (
        "select came_before(null, 'MONOTONIC', 1, 'BOOTTIME'), came_before(1, null, 1, 'BOOTTIME')"
    )
    assert ask(CLOCK_SYNC, sql) == [(None, None)]
    sql = "select came_before(1, 'MONOTONIC', 1, 'BOOTTIME')"
    with pytest.raises(UsageError, match=r"came_before\(.*trace\)"):
        ask(CLOCK_SYNC, CLOCK_SYNC, sql)


# The tables


def test_events_are_those_of_the_trace(ask, write):
    rows = ask(UNRESOLVED, "from events")
    with open_trace(write(UNRESOLVED)) as opened:
        columns = opened.read_all().to_pydict().values()
    assert rows == list(zip(*columns, strict=True))


def test_events_by_the_tube_have_bounds(ask, write):
    rows = ask(CLOCK_SYNC, "select trace_time, earliest, latest from events", policy="tube")
    with open_trace(write(CLOCK_SYNC)) as opened:
        table = opened.read_all("tube").select(["trace_time", "earliest", "latest"])
    assert rows == list(zip(*table.to_pydict().values(), strict=True))


@pytest.mark.parametrize(
    ("where", "n"),
    [
        ("kind = 'packet'", 4),
        ("kind in ('packet', 'x') and status != 'resolved'", 3),
        ("trace_time is null", 3),
        ("status like '%clock%' and clock = 777", 1),
        ('"timestamp" between 2 and 3', 2),
        ("payload = 'track_event' and packet > 3", 2),
    ],
)
def test_filters_on_every_kind_of_column(ask, where, n):
    assert ask(UNRESOLVED, f"select count(*) from events where {where}") == [(n,)]


def test_a_table_is_scanned_as_often_as_a_query_says(ask):
    sql = "select count(*) from events a join events b using (packet) join clocks c on true"
    assert ask(CLOCK_SYNC, sql) == [(2 * 4,)]


def test_names_of_events_are_values_whatever_they_say(ask):
    name = "'); drop view events; --"
    named = trace(packet(1, seq=1, track_event=pb.TrackEvent(type=3, name=name)))
    sql = "select packet, name from events where name like '%drop%'"
    assert ask(named, EMPTY, sql, names=True) == [(0, name)]
    assert ask(EMPTY, "select name, track_name from events", names=True) == []


def test_clocks(ask):
    rows = ask(
        CLOCK_SYNC,
        "select name, clock, sequence, scope, unit_ns, incremental, snapshots, first_ns, "
        "trace_clock from clocks where name != 'REALTIME' order by clock",
    )
    assert rows == [
        ("MONOTONIC", 3, 0, "builtin", 1, False, 6, 1000, False),
        ("BOOTTIME", 6, 0, "builtin", 1, False, 7, 2000, True),
        ("64@seq7", 64, 7, "sequence", 1000, True, 1, 5000, False),
    ]


def test_clocks_join_with_events(ask):
    sql = "select name, count(*) from events join clocks using (clock, sequence, machine) group by all order by all"
    assert ask(CLOCK_SYNC, sql) == [("64@seq7", 1), ("MONOTONIC", 1)]


def test_snapshots_are_a_row_a_reading(ask):
    rows = ask(
        CLOCK_SYNC,
        "select snapshot, name, reading, unit_ns, reading_ns, half_width_ns, centre_ns "
        "from snapshots where snapshot in (0, 6) order by snapshot, name",
    )
    assert rows == [
        (0, "BOOTTIME", 2000, 1, 2000, None, None),
        (0, "MONOTONIC", 1000, 1, 1000, None, None),
        (0, "REALTIME", WALL + 2000, 1, WALL + 2000, None, None),
        (6, "64@seq7", 5, 1000, 5000, None, None),
        (6, "BOOTTIME", 5000, 1, 5000, None, None),
    ]


def test_readings_of_a_graph_have_widths_where_they_were_measured():
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC": 1, "BOOTTIME": 2})
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": [10, 20], "MONOTONIC": [9, 19]},
            reference="BOOTTIME",
            half_width_ns={"MONOTONIC": [3, 4]},
            centre_ns={"MONOTONIC": [-1, 1]},
        )
    )
    read = {
        (str(read.clock), int(n)): (int(value), int(centre), int(half))
        for read in graph.readings()
        for n, value, centre, half in zip(*read[1:], strict=True)
    }
    assert read == {
        ("MONOTONIC", 0): (1, 0, -1),
        ("BOOTTIME", 0): (2, 0, -1),
        ("MONOTONIC", 1): (9, -1, 3),
        ("BOOTTIME", 1): (10, 0, 0),
        ("MONOTONIC", 2): (19, 1, 4),
        ("BOOTTIME", 2): (20, 0, 0),
    }


def test_snapshots_of_many_clocks_keep_their_names_across_batches(ask, monkeypatch):
    # DuckDB must not take the dictionary of one batch for that of the next.
    monkeypatch.setattr(tables, "BATCH_ROWS", 4)
    rows = ask(MANY, "select name, sequence, reading_ns from snapshots where clock = 64")
    assert sorted(rows) == sorted((f"64@seq{n}", n, 1000 * n) for n in range(1, 40))
    assert ask(CLOCK_SYNC, "select count(*), count(distinct snapshot) from snapshots") == [(20, 7)]


def test_discontinuities(ask, write):
    suspended = trace(
        *(
            snapshot({BOOTTIME: 10**9 * k + 10**12 * (k > 5), MONOTONIC: 10**9 * k})
            for k in range(12)
        )
    )
    rows = ask(
        suspended, "select src, dst, kind, size_min_ns, size_max_ns, snapshots from discontinuities"
    )
    with open_trace(write(suspended)) as opened:
        (found,) = opened.clocks.discontinuities()
    assert rows == [
        (str(found.src), str(found.dst), "suspend", *found.size_ns, list(found.snapshots))
    ]


def test_a_side_of_a_size_beyond_int64_is_not_known():
    """Readings at both ends of int64 differ by more than it holds."""
    one, other = ClockId(MONOTONIC), ClockId(BOOTTIME)
    found = PairDiscontinuity(one, other, "outlier", 5, 5, (-(2**63) - 5, -7), None, (3,))
    view = SimpleNamespace(name=lambda clock, _: str(clock))
    opened = SimpleNamespace(clocks=SimpleNamespace(discontinuities=lambda: [found]))
    ((row,),) = (batch.to_pylist() for batch in tables._discontinuities(opened, view))
    assert (row["size_min_ns"], row["size_max_ns"]) == (None, -7)


def test_a_change_of_rate_has_bounds(ask):
    """BOOTTIME from -20 to -60 ppm of MONOTONIC: by -40, whatever the rates were."""
    second = 10**9
    changed = trace(
        *(
            snapshot(
                {BOOTTIME: k * second, MONOTONIC: k * second + 20_000 * k + 40_000 * max(k - 60, 0)}
            )
            for k in range(120)
        )
    )
    (found,) = ask(changed, "select kind, rate_min_ppm, rate_max_ppm from discontinuities")
    assert found[0] == "rate_change"
    assert -45 < found[1] <= -40 <= found[2] < -35


def test_findings_come_from_the_doctor_those_that_follow_from_one_with_its_code(ask, write):
    sql = "select code, severity, follows_from from findings"
    model = Model()
    FAULTS["incremental_global"](model, Random(3))
    with open_trace(write(model.build())) as trace:
        (found,) = diagnose(trace)
    assert found.consequences
    assert ask(model.build(), sql) == [
        (found.code, found.severity, None),
        *((one.code, one.severity, found.code) for one in found.consequences),
    ]


def test_events_of_findings_join_with_findings_and_events(ask):
    model = Model()
    FAULTS["clock_without_snapshot"](model, Random(3))
    sql = """select f.code, f.events, count(*), count(distinct e.packet)
        from findings f join finding_events using (finding) join events e using (packet, kind, item)
        where f.code = 'clock-without-snapshot' group by all"""
    ((code, events, rows, packets),) = ask(model.build(), sql)
    assert (code, rows, packets) == ("clock-without-snapshot", events, events)


def test_several_traces_are_distinguished(ask, tmp_path):
    sql = "select trace, count(*) from events group by trace order by trace"
    assert ask(CLOCK_SYNC, UNRESOLVED, sql) == [
        (str(tmp_path / "t0.pftrace"), 2),
        (str(tmp_path / "t1.pftrace"), 4),
    ]
    sql = f"select count(*) from events where trace = '{tmp_path}/t1.pftrace' and kind = 'packet'"
    assert ask(CLOCK_SYNC, UNRESOLVED, sql) == [(4,)]
    sql = "select count(distinct trace), count(*) from snapshots"
    assert ask(CLOCK_SYNC, MANY, EMPTY, sql) == [(3, 20 + 78 + 2)]


@pytest.mark.parametrize("table", ["events", "slices", "clocks", "snapshots", "findings"])
def test_names_of_traces_need_not_be_utf8(tmp_path, table):
    odd, plain = tmp_path / os.fsdecode(b"caf\xe9.pftrace"), tmp_path / "plain.pftrace"
    for path in (odd, plain):
        path.write_bytes(SLICES)
    with open_trace(odd) as one, open_trace(plain) as two, Session([one, two]) as session:
        read = [batch.column(0) for batch in session.run(f"select trace from {table}").batches]
    names = {name for column in read for name in column.to_pylist()}
    assert names == {f"{tmp_path}/caf\\xe9.pftrace", str(plain)}


def test_the_same_trace_twice_is_refused(write):
    with open_trace(write(EMPTY)) as one, open_trace(one.path) as two:
        with pytest.raises(UsageError, match="once"):
            Session([one, two])


def test_a_trace_is_read_only_for_the_tables_of_a_query(ask):
    assert ask(b"\x0athis is no trace\xff", "select 1 + 1") == [(2,)]
    assert ask(b"\x0athis is no trace\xff", "describe events")[0][:2] == ("packet", "UBIGINT")
    for table in ("events", "clocks", "snapshots", "discontinuities"):
        with pytest.raises(TraceError):
            ask(b"\x0athis is no trace\xff", f"from {table}")


def test_a_cut_trace(ask):
    with pytest.raises(TraceError) as raised:
        ask(CLOCK_SYNC[:-3], "from events")
    assert raised.value.packet == 8
    assert ask(CLOCK_SYNC[:-3], "select count(*) from events", partial=True) == [(1,)]


# The functions


def test_to_clock_is_convert(ask):
    sql = "select to_clock(x, 'MONOTONIC', 'BOOTTIME') from (values (1104), (2050), (null)) t(x)"
    assert ask(CLOCK_SYNC, sql) == [(2104,), (3550,), (None,)]
    assert ask(CLOCK_SYNC, "select to_clock(5, '64@seq7', 'realtime')") == [(WALL + 5000,)]


def test_functions_of_the_tube(ask, write):
    sql = "select to_clock(x, s, d), earliest(x, s, d), latest(x, s, d) from (values (1104, 'MONOTONIC', 'BOOTTIME')) t(x, s, d)"
    with open_trace(write(CLOCK_SYNC)) as opened:
        bar = opened.clocks.convert(1104, 3, 6, policy="tube", bounds=True)
    assert ask(CLOCK_SYNC, sql, policy="tube") == [tuple(bar)]
    assert ask(CLOCK_SYNC, sql) == [(2104, bar.earliest, bar.latest)]


def test_what_does_not_convert_is_null(ask):
    sql = "select to_clock(1, 'MONOTONIC', 'BOOTTIME'), to_clock(1, 'TSC', '6'), to_clock(1, null, '6')"
    assert ask(UNRESOLVED, sql) == [(None, None, None)]
    assert ask(CLOCK_SYNC, "select to_clock(9223372036854775807, 'MONOTONIC', 'BOOTTIME')") == [
        (None,)
    ]


def test_clocks_may_come_from_columns(ask):
    # Many combinations, and far more rows than DuckDB hands over at once.
    sql = """
        select clock, count(*), count(distinct r - x)
        from (select x, clock, to_clock(x, clock, 'BOOTTIME') r
              from range(1000, 30000) t(x), (values ('MONOTONIC'), ('BOOTTIME'), ('TSC')) c(clock)
              where x < 1100 or x >= 2100)
        group by clock order by clock"""
    assert ask(CLOCK_SYNC, sql) == [
        ("BOOTTIME", 28000, 1),
        ("MONOTONIC", 28000, 2),
        ("TSC", 28000, 0),
    ]


def test_with_several_traces_a_function_needs_to_know_which(ask):
    with pytest.raises(UsageError, match="several traces"):
        ask(CLOCK_SYNC, EMPTY, "select to_clock(1, 'MONOTONIC', 'BOOTTIME')")
    sql = "select to_clock(1, 'MONOTONIC', 'BOOTTIME', trace) from (select distinct trace from events)"
    assert ask(CLOCK_SYNC, EMPTY, sql) == [(1001,)]
    with pytest.raises(UsageError, match="no trace"):
        ask(CLOCK_SYNC, EMPTY, "select to_clock(1, 'MONOTONIC', 'BOOTTIME', 'x')")


def test_trace_time_is_that_of_an_instant(ask):
    sql = "select trace_time('100ns'), trace_time('14:48:40.123458889'), trace_time('7'), trace_time(null)"
    assert ask(CLOCK_SYNC, sql) == [(2100, 2100, 7, None)]
    sql = "select packet from events where trace_time < trace_time('104.0ns') + 1"
    assert ask(CLOCK_SYNC, sql) == [(7,)]
    texts = "select trace_time(t) from (values ('1ns'), ('2ns'), (null)) v(t)"
    assert ask(CLOCK_SYNC, texts) == [(2001,), (2002,), (None,)]


def test_an_error_of_one_of_several_traces_says_of_which(ask, write):
    cut = MANY[:-1]
    with pytest.raises(TraceError, match=r"t1\.pftrace: the trace is cut off") as raised:
        ask(MANY, cut, "select count(*) from events")
    assert raised.value.offset is not None
    with pytest.raises(TraceError, match=r"^the trace is cut off"):
        ask(cut, "select count(*) from events")


def test_trace_time_of_several_traces_needs_to_know_which(ask):
    with pytest.raises(UsageError, match=r"several traces: give the trace, as in trace_time\("):
        ask(CLOCK_SYNC, EMPTY, "select trace_time('1ns')")
    sql = "select trace_time('1ns', trace) from (select distinct trace from snapshots) order by 1"
    assert ask(CLOCK_SYNC, EMPTY, sql) == [(2,), (2001,)]


@pytest.mark.parametrize(
    ("text", "error"), [("soon", "12.5s"), ("0.5ns", "whole number"), ("25:00", "hours go to 23")]
)
def test_what_is_no_instant_is_refused(ask, text, error):
    with pytest.raises(UsageError, match=error):
        ask(CLOCK_SYNC, f"select trace_time('{text}')")


@pytest.mark.parametrize("clock", ["NOPE", "65", "", "'; drop view events; --"])
def test_what_is_no_clock_is_refused_by_its_name(ask, clock):
    quoted = clock.replace("'", "''")
    with pytest.raises(UsageError, match="clock") as raised:
        ask(CLOCK_SYNC, f"select to_clock(1, '{quoted}', 'BOOTTIME')")
    assert "Traceback" not in str(raised.value)


def test_labels_are_names_in_tables_and_functions(ask):
    data = trace(snapshot({BOOTTIME: 100, GPU: 1}), event(5, BOOTTIME))
    hostile = "gpu'); drop view events; --"
    labels = {ClockId(GPU): hostile}
    assert ask(data, "select name from clocks where clock > 6", labels=labels) == [(hostile,)]
    sql = "select to_clock(1, name, 'BOOTTIME') from clocks where clock > 6"
    assert ask(data, sql, labels=labels) == [(100,)]


# What statements may not do


@pytest.mark.parametrize(
    "sql",
    [
        "from read_csv('{here}/t.csv')",
        "from '{here}/t.csv'",
        "from read_text('{here}/t.csv')",
        "from glob('{here}/*')",
        "copy (select 1) to '{here}/new.csv'",
        "attach '{here}/new.db'",
        "export database '{here}/new'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset enable_external_access",
        "set temp_directory = '{here}'",
        "set allowed_directories = ['{here}']",
        "set profiling_output = '{here}/new'",
        "call enable_logging(storage = 'file', storage_config = {{'path': '{here}/new'}})",
        "create persistent secret s (type http)",
        "from sniff_csv('{here}/t.csv')",
        "from parquet_metadata('{here}/t.csv')",
        "from read_blob('{here}/t.csv')",
        "from session",
        "from np",
    ],
)
def test_files_settings_and_variables_are_out_of_reach(ask, tmp_path, sql):
    (tmp_path / "t.csv").write_text("a\ntreasure\n")
    with pytest.raises(UsageError) as raised:
        ask(CLOCK_SYNC, sql.format(here=tmp_path))
    assert "treasure" not in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "t0.pftrace"}


def test_files_are_allowed_with_allow_files(ask, tmp_path):
    sql = f"copy (select 7 as a) to '{tmp_path}/new.csv'; from '{tmp_path}/new.csv'"
    assert ask(CLOCK_SYNC, sql, allow_files=True) == [(7,)]


def test_no_variable_of_python_is_a_table_even_where_files_are_allowed(ask):
    frame = pa.table({"a": np.arange(3)})  # noqa: F841
    with pytest.raises(UsageError, match="frame"):
        ask(CLOCK_SYNC, "from frame", allow_files=True)


@pytest.mark.parametrize("sql", ["selec 1", "from nope", "select nope from events", "select 1; )"])
def test_the_error_of_bad_sql_names_the_tables(ask, sql):
    with pytest.raises(UsageError, match="The tables are events, slices, clocks, snapshots"):
        ask(CLOCK_SYNC, sql)


@pytest.mark.sweep
def test_what_does_not_fit_in_memory_goes_on_in_files_that_are_removed(ask, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sql = (
        "select count(*) from (select x, hash(x)::varchar y from range(3000000) t(x) order by y, x)"
    )
    assert ask(CLOCK_SYNC, sql, memory=64 << 20) == [(3_000_000,)]
    assert [path.name for path in tmp_path.iterdir()] == ["t0.pftrace"]


# The session


def test_a_statement_that_failed_leaves_the_next_alone(write):
    with open_trace(write(b"\x0ano trace\xff")) as opened, Session([opened]) as session:
        for _ in range(2):
            with pytest.raises(TraceError):
                session.run("select count(*) from events")
            assert next(session.run("select 5").batches).to_pylist() == [{"5": 5}]
            with pytest.raises(UsageError, match="Catalog Error"):
                session.run("from nope")


def test_a_result_that_is_not_read_to_its_end_can_be_left(write):
    with open_trace(write(CLOCK_SYNC)) as opened, Session([opened]) as session:
        batches = session.run("select a.x from range(1000000) a(x), range(1000000) b").batches
        assert next(batches).num_rows
        batches.close()
        assert next(session.run("select 5 as x").batches).to_pylist() == [{"x": 5}]


def test_the_next_statement_ends_the_result_before(write):
    with open_trace(write(CLOCK_SYNC)) as opened, Session([opened]) as session:
        held = session.run("select a.x from range(1000000) a(x), range(1000000) b").batches
        assert next(held).num_rows
        assert next(session.run("select 5 as x").batches).to_pylist() == [{"x": 5}]
        assert list(held) == []
        held = session.run("from range(1000000)").batches
        assert next(held).num_rows
    assert list(held) == []


def test_columns_of_one_name_get_numbers(write):
    with open_trace(write(CLOCK_SYNC)) as opened, Session([opened]) as session:
        result = session.run("select 1 a, 2 a, 3 a_1, 4 a")
        assert result.schema.names == ["a", "a_1", "a_1_1", "a_2"]
        assert next(result.batches).to_pylist() == [{"a": 1, "a_1": 2, "a_1_1": 3, "a_2": 4}]


def test_a_stream_begins_anew_and_keeps_its_error():
    schema = pa.schema([("a", pa.int64())])
    began = []

    def begin():
        began.append(len(began))
        yield pa.record_batch([pa.array([began[-1]])], schema=schema)
        if len(began) == 3:
            raise UsageError("the third")

    faults = Faults()
    with duckdb.connect() as con:
        con.register("t", Stream(schema, begin, faults))
        assert began == []
        assert [con.execute("select sum(a) from t").fetchall() for _ in range(2)] == [
            [(0,)],
            [(1,)],
        ]
        with pytest.raises(duckdb.Error):
            con.execute("select sum(a) from t").fetchall()
    assert str(faults.take()) == "the third"
    assert faults.take() is None


def test_domains_count(ask, write):
    with open_trace(
        write(CLOCK_SYNC), domains=[ClockDomain(ClockId(MONOTONIC), max_drift_ppm=1000)]
    ) as opened:
        with Session([opened]) as session:
            sql = "select latest(1150, 'MONOTONIC', 'BOOTTIME') - earliest(1150, 'MONOTONIC', 'BOOTTIME')"
            (row,) = next(session.run(sql).batches).to_pylist()
        bar = opened.clocks.convert(1150, MONOTONIC, BOOTTIME, policy="tube", bounds=True)
    assert list(row.values()) == [bar.latest - bar.earliest]


# Slices


def test_slices_are_those_of_the_trace(ask, write):
    rows = ask(SLICES, "select name, ts, dur, depth, parent, tid, args from slices order by id")
    assert rows == [("outer", 5, 10, 0, None, 11, None), ("inner", 7, 3, 1, 0, 11, None)]
    with open_trace(write(SLICES)) as opened:
        columns = opened.slices().read_all().to_pydict().values()
    assert ask(SLICES, "from slices") == list(zip(*columns, strict=True))


def test_slices_by_the_tube_have_bars(ask):
    sql = "select name, earliest, end_latest, dur_error_ns from slices order by id"
    assert ask(SLICES, sql, policy="tube") == [
        ("outer", 5, 15, 0),
        ("inner", 7, 10, 0),
    ]


def test_slices_of_several_traces_are_one_table(ask):
    sql = "select count(*), count(distinct trace) from slices"
    assert ask(SLICES, EMPTY, SLICES, sql) == [(4, 2)]


@pytest.mark.parametrize("table", ["events", "slices", "clocks", "snapshots", "findings"])
def test_a_statement_that_is_to_stop_ends_the_reading_of_a_trace(write, table):
    with open_trace(write(SLICES)) as opened:
        with Session([opened]) as session:
            session._faults.stopping = True
            with pytest.raises(KeyboardInterrupt):
                list(session.run(f"from {table}").batches)
            session._faults.stopping = False
            (row,) = next(session.run(f"select count(*) n from {table}").batches).to_pylist()
            assert row["n"] >= 0
        assert opened.on_read == []


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{}/a.csv'", "explain analyze copy (select 1) to '{}/a.csv'",
        "prepare p as copy (select 1) to '{}/a.csv'; execute p", "attach '{}/a.db' as a",
        "with a as (copy (select 1) to '{}/a.csv') from a", "export database '{}/e'",
        "from read_text('{}/*')", "from read_text(current_setting('temp_directory') || '/*')",
        "from query('from read_blob(''{}/*'')')", "create table t as from glob('{}/*')",
        "prepare p as from read_text('{}/*'); execute p", "create view v as from glob('{}/*'); from v",
        "create macro m(f) as table from read_text(f); from m('{}/*')", "from sniff_csv('{}/x')",
        "from json_execute_serialized_sql(json_serialize_sql('from glob(''{}/*'')'))",
        "explain analyze from read_text('{}/*')", "call read_text('{}/*')",
        "select (select count(*) from glob('{}/*'))", "from range(3) where range in (select 1 from glob('{}/*'))",
    ],
)  # fmt: skip
def test_the_temporary_directory_is_not_for_statements(ask, statement, tmp_path, monkeypatch):
    home = tmp_path / "work"
    home.mkdir()
    (home / "x").write_bytes(b"1")
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(home))
    monkeypatch.setattr("shutil.rmtree", lambda path, ignore_errors: None)
    with pytest.raises(UsageError):
        ask(CLOCK_SYNC, statement.replace("{}", str(home)))
    assert [path.name for path in home.iterdir()] == ["x"]


def test_what_opens_no_file_is_allowed_without_files(ask):
    assert ask(CLOCK_SYNC, "select value from json_each('[7]')") == [("7",)]
    assert ask(CLOCK_SYNC, "select name from pragma_table_info('events') limit 1") == [("packet",)]
    assert ask(CLOCK_SYNC, "from query('select 7')") == [(7,)]
    assert ask(CLOCK_SYNC, "select unnest([7])") == [(7,)]
    assert ask(CLOCK_SYNC, "prepare p as select 7; execute p") == [(7,)]
    assert len(ask(CLOCK_SYNC, "explain select 7")) == 1
    assert ask(CLOCK_SYNC, "create table t as from range(7, 8); from t") == [(7,)]
