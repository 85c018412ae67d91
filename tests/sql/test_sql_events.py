"""The columns that events have for statements that use them, and rows kept for the next statement."""

from collections import Counter

import pyarrow as pa
import pytest
from building import event, packet, pb, snapshot, trace
from samples import BOOTTIME, CLOCK_SYNC, MONOTONIC, REALTIME, SLICES, UNRESOLVED, WALL

from tracetime import UsageError, open_trace
from tracetime.sql.events import KeptRows
from tracetime.sql.session import Session
from tracetime.sql.streams import View

pytest_plugins = ["cli"]

NAMED = trace(
    snapshot({BOOTTIME: 1000, REALTIME: WALL + 1000}),
    snapshot({BOOTTIME: 2000, REALTIME: WALL + 2000}),
    *(
        packet(1000 + n, clock=BOOTTIME, seq=1, track_event=pb.TrackEvent(type=3, name=f"n{n}"))
        for n in range(3)
    ),
)


def rows(session, sql):
    result = session.run_all(sql)
    return [tuple(row.values()) for batch in result.batches for row in batch.to_pylist()]


@pytest.fixture
def counted(write):
    """A trace, and how often its events are read: with names (True) and without (False)."""
    with open_trace(write(NAMED)) as opened:
        reads, read = Counter(), opened.events

        def events(*args, names=False, **more):
            reads[names] += 1
            return read(*args, names=names, **more)

        opened.events = events
        yield opened, reads


def test_names_are_read_for_statements_that_use_them(counted):
    opened, reads = counted
    with Session([opened]) as session:
        assert rows(session, "select count(*) from events") == [(3,)]
        assert reads == {False: 1}
        assert rows(session, "select NAME from events order by all") == [("n0",), ("n1",), ("n2",)]
        assert reads == {False: 1, True: 1}
        assert rows(session, "select count(*) from events where packet > 0") == [(3,)]
        assert reads == {False: 2, True: 1}


@pytest.mark.parametrize(
    "sql",
    [
        "select e.name from events e where e.packet = 4",
        "with x as (select * from events where name = 'n2') select name from x",
        "select name from events where packet = 4 and thread_name is null",
        "create view v as select packet, name, wall_time from events; "
        "select name from v where packet = 4",
        "create temp table t as select name from events where packet = 4; from t",
        "select (select name from events where packet = 4)",
    ],
    ids=str,
)
def test_names_wherever_a_statement_uses_them(write, sql):
    with open_trace(write(NAMED)) as opened, Session([opened]) as session:
        if sql.startswith("with"):
            sql = sql.replace("select *", "select packet, name")
        assert rows(session, sql) == [("n2",)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select (select count(*) from events where name = c.name) from clocks c", {0}),
        ("select name from clocks where exists (from events where name = 'REALTIME')", set()),
        (
            "create view v as select (select count(*) from events where name = c.name) as n "
            "from clocks c; select n from v",
            {0},
        ),
        (
            "create table v as select (select count(*) from events where name = c.name) as n "
            "from clocks c; from v",
            {0},
        ),
        ("select 'x' as name from events where name = 'n1'", {"x"}),
        ("select name from clocks join events using (clock) group by all", {"BOOTTIME"}),
    ],
    ids=str,
)
def test_a_name_is_the_one_that_events_has(write, sql, expected):
    with open_trace(write(NAMED)) as opened, Session([opened]) as session:
        assert {row[0] for row in rows(session, sql)} == expected


def test_all_columns_are_those_without_names_and_wall_time(write):
    with open_trace(write(NAMED)) as opened:
        with Session([opened]) as session:
            assert session.run("from events").schema.names == opened.read_all().schema.names
        with Session([opened], View(names=True)) as session:
            names = session.run("from events").schema.names
            assert names == opened.read_all(names=True).schema.names
            assert rows(session, "select wall_time is null from events limit 1") == [(False,)]


def test_name_of_a_join_with_clocks_is_that_of_clocks(write):
    sql = (
        "select name, count(*) from events join clocks using (clock, sequence, machine) group by 1"
    )
    with open_trace(write(NAMED)) as opened, Session([opened]) as session:
        assert rows(session, sql) == [("BOOTTIME", 3)]
        with pytest.raises(UsageError, match="Ambiguous"):
            rows(session, sql.replace("name,", "name, thread_name,"))


def test_wall_time_is_realtime_to_the_nanosecond(write):
    sql = "select epoch_ns(wall_time), typeof(wall_time), wall_time::varchar from events limit 1"
    wanted = [(WALL + 1000, "TIMESTAMP_NS", "2026-08-22 14:48:40.123457789")]
    with open_trace(write(NAMED)) as opened:
        for view in (View(), View("tube"), View(names=True)):
            with Session([opened], view) as session:
                assert rows(session, sql) == wanted
        with Session([opened]) as session:
            later = "where wall_time > '2026-08-22 14:48:40.123457790'"
            assert rows(session, f"select packet from events {later}") == [(4,)]


def test_wall_time_is_null_where_it_is_not_known(write):
    without = trace(snapshot({BOOTTIME: 1, MONOTONIC: 2}), event(5, BOOTTIME))
    for data in (without, UNRESOLVED):
        with open_trace(write(data)) as opened, Session([opened]) as session:
            assert set(rows(session, "select wall_time from events")) == {(None,)}


def test_columns_of_several_traces(write):
    with (
        open_trace(write(NAMED)) as one,
        open_trace(write(CLOCK_SYNC, "other.pftrace")) as other,
        Session([one, other], keep=True) as session,
    ):
        sql = "select trace, count(name), count(wall_time) from events group by 1 order by 2 desc"
        for _ in range(2):
            assert rows(session, sql) == [(one.path, 3, 3), (other.path, 0, 2)]


def test_rows_are_kept_for_the_next_statements(counted):
    opened, reads = counted
    with Session([opened], keep=True) as session:
        for _ in range(3):
            assert rows(session, "select sum(packet) from events") == [(9,)]
        assert reads == {False: 1}
        assert rows(session, "select count(wall_time) from events") == [(3,)]
        assert rows(session, "select max(name) from events") == [("n2",)]
        assert reads == {False: 2, True: 1}
        for sql in ("count(wall_time)", "sum(packet)", "count(name)") * 2:
            rows(session, f"select {sql} from events")
        assert reads == {False: 2, True: 1}


def test_rows_are_kept_only_once_all_have_been_read():
    batch = pa.record_batch({"a": [1]})
    reads = []

    def read(extras):
        reads.append(extras)
        yield from (batch, batch)

    kept = KeptRows(read, room=1000)
    left = kept.batches(frozenset(), batch.schema)
    next(left)
    left.close()
    for _ in range(2):
        assert list(kept.batches(frozenset(), batch.schema)) == [batch, batch]
    assert len(reads) == 2


def test_rows_without_room_are_read_by_each_statement(counted):
    opened, reads = counted
    with Session([opened], keep=True, memory=16 << 20) as session:
        session._tables._rows["events"]._room = 100
        for _ in range(2):
            assert rows(session, "select count(*) from events") == [(3,)]
    assert reads == {False: 2}


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_slices_have_wall_time_where_a_statement_uses_it(write, policy):
    data = trace(snapshot({BOOTTIME: 1, REALTIME: WALL + 1})) + SLICES
    with open_trace(write(data)) as opened, Session([opened], View(policy)) as session:
        assert "wall_time" not in session.run("from slices").schema.names
        found = rows(
            session, "select s.name, s.ts, epoch_ns(s.wall_time) from slices s order by id"
        )
        assert found == [("outer", 5, WALL + 5), ("inner", 7, WALL + 7)]


def test_wall_time_of_slices_is_kept_whatever_events_have(write):
    data = trace(snapshot({BOOTTIME: 1, REALTIME: WALL + 1})) + SLICES
    with open_trace(write(data)) as opened, Session([opened], keep=True) as session:
        assert rows(session, "select count(wall_time) from slices") == [(2,)]
        opened.slices = None
        assert rows(session, "select count(name) from events") == [(2,)]
        assert rows(session, "select count(name) from slices") == [(2,)]
        assert rows(session, "select count(wall_time), count(name) from slices") == [(2, 2)]


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("select nme from events", "name"),
        ("select wal_time from events", "wall_time"),
        ("select e.catgory from events e", "category"),
        ("select thread_nam from slices", "thread_name or"),
        ("select first_n from clocks", "first_ns"),
        ("with w as (select name as called from events) select caled from w", "called"),
    ],
)
def test_a_column_that_is_not_there_is_answered_with_those_that_are_like_it(write, sql, near):
    with open_trace(write(NAMED)) as opened, Session([opened]) as session:
        with pytest.raises(UsageError, match=f"Did you mean {near}") as raised:
            session.run(sql)
        assert "Candidate" not in str(raised.value)
        with pytest.raises(UsageError, match='"xyzzy" not found in FROM'):
            session.run("select xyzzy from events")
