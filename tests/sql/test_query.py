"""`Trace.sql`: a query to an open trace, as a table of Arrow."""

import pyarrow as pa
import pytest
from samples import CLOCK_SYNC, UNRESOLVED

from tracetime import TraceError, UsageError, open_trace

pytest_plugins = ["cli"]


@pytest.fixture
def opened(write):
    with open_trace(write(CLOCK_SYNC)) as opened:
        yield opened


def test_a_query_is_a_table(opened):
    table = opened.sql("select packet, trace_time from events order by packet")
    assert table.schema.types == [pa.uint64(), pa.int64()]
    assert table.to_pydict() == {"packet": [7, 8], "trace_time": [2104, 7000]}


def test_the_last_of_several_statements_is_the_result(opened):
    sql = "create temp table t as select 1 as a union all select 2; select max(a) as a from t"
    assert opened.sql(sql).to_pylist() == [{"a": 2}]


def test_parameters_are_of_the_last_statement(opened):
    """By place or by name; the columns of names are there for them, too."""
    sql = "select packet from events where trace_time > ? and kind = ?"
    assert opened.sql(sql, [2104, "packet"]).to_pydict() == {"packet": [8]}
    named = "create temp table t as select 1; select packet from events where packet = $packet"
    assert opened.sql(named, {"packet": 7}).to_pydict() == {"packet": [7]}
    assert opened.sql("select name from events where packet = ?", [7]).num_rows == 1
    with pytest.raises(UsageError):
        opened.sql(sql, [2104])


def test_policy_and_bars(opened):
    assert "earliest" not in opened.sql("from events").schema.names
    table = opened.sql(
        "select earliest, latest from events limit 1", policy="tube", bars="guaranteed"
    )
    wanted = opened.read_all("tube", bars="guaranteed").select(["earliest", "latest"])
    assert table.to_pylist() == wanted.to_pylist()[:1]


def test_errors(write):
    with open_trace(write(UNRESOLVED)) as opened:
        for sql, message in (("from nope", "The tables are events"), (" ; ", "no statement")):
            with pytest.raises(UsageError, match=message):
                opened.sql(sql)
        with pytest.raises(UsageError, match="--allow-files"):
            opened.sql("from read_csv('x.csv')")
        with pytest.raises(UsageError, match="policy"):
            opened.sql("select 1", policy="other")
        with pytest.raises(UsageError, match="bars"):
            opened.sql("select 1", bars="other")
    with pytest.raises(UsageError, match="closed"):
        opened.sql("select 1")
    with open_trace(write(CLOCK_SYNC[:-1], "cut.pftrace")) as cut, pytest.raises(TraceError):
        cut.sql("from events")
