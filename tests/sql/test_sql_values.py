"""Any value that DuckDB has comes out of SQL, in every format, as DuckDB itself writes it."""

import csv
import io
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from samples import EMPTY

import tracetime as tt
from tracetime.sql.results import text
from tracetime.sql.session import Session

pytest_plugins = ["cli"]

EVERY = "from test_all_types()"
COLUMNS = duckdb.sql(EVERY).columns
NESTED = ("list", "array", "struct", "map")
SCALARS = [
    name
    for name, kind in zip(COLUMNS, duckdb.sql(EVERY).types, strict=True)
    if kind.id not in (*NESTED, "blob")
]

FAR = """
    select 'infinity'::date d, '-infinity'::timestamp t, 'infinity'::timestamptz z,
        '290309-12-22 (BC) 00:00:00'::timestamp bc, '294247-01-10 04:00:54'::timestamp_s s,
        '12:34:56.123456789'::time_ns ns, '24:00:00'::time e, interval '1 month -2 days 3 us' i,
        '2026-01-01 00:00:00.123456789'::timestamp_ns tns, 123456789012345678901234567890::bignum b,
        340282366920938463463374607431768211455::uhugeint u, '12:00:00+15:59:59'::timetz tz,
        ['infinity'::date] ds, {'a b"c': 'infinity'::timestamp} st, map {'k': interval 1 day} m,
        'inf'::double x, ['nan'::double] xs, 0.1::decimal(38, 10) dec, '101'::bit bits,
        1234567890123456789.123456789::decimal(38, 9) many, '2026-08-22'::date dy, 1::variant v
"""


def table_of(tracetime, path, sql, kind):
    code, out, err = tracetime("sql", path, sql, "--format", kind)
    assert (code, err) == (0, "")
    return out


def csv_rows(text):
    return list(csv.DictReader(io.StringIO(text.replace("\0", "\\0"))))


@pytest.mark.parametrize("kind", ["table", "csv", "json"])
@pytest.mark.parametrize("sql", [EVERY, FAR, f"{EVERY} limit 0"])
def test_every_value_is_printed(tracetime, write, kind, sql):
    table_of(tracetime, write(EMPTY), sql, kind)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_is_printed_and_written_by_itself(tracetime, write, tmp_path, name):
    path = write(EMPTY)
    sql = f'select "{name}" from test_all_types()'
    for kind in ("csv", "json", "parquet"):
        assert tracetime("sql", path, sql, "-o", tmp_path / f"o.{kind}") == (0, "", "")
    assert len(json.loads((tmp_path / "o.json").read_text())) == 3
    assert pq.read_table(tmp_path / "o.parquet").num_rows == 3


def test_scalars_are_as_duckdb_writes_them(tracetime, write):
    columns = ", ".join(f'"{name}"::varchar as "{name}"' for name in SCALARS)
    wanted = duckdb.sql(f"select {columns} from test_all_types()").fetchall()
    rows = json.loads(table_of(tracetime, write(EMPTY), EVERY, "json"))
    for row, strings in zip(rows, wanted, strict=True):
        for name, string in zip(SCALARS, strings, strict=True):
            value = row[name]
            if name in ("float", "double"):
                assert value is None or value == pytest.approx(float(string))
            elif isinstance(value, float):
                assert Decimal(repr(value)) == Decimal(string)
            elif isinstance(value, bool):
                assert str(value).lower() == string
            else:
                assert (None if value is None else str(value)) == string


def test_dates_far_away_and_times_with_ns(tracetime, write):
    (row,) = json.loads(table_of(tracetime, write(EMPTY), FAR, "json"))
    assert row == {
        "d": "infinity", "t": "-infinity", "z": "infinity", "bc": "290309-12-22 (BC) 00:00:00",
        "s": "294247-01-10 04:00:54", "ns": "12:34:56.123456789", "e": "24:00:00",
        "i": "1 month -2 days 00:00:00.000003", "tns": "2026-01-01 00:00:00.123456789",
        "b": "123456789012345678901234567890", "u": "340282366920938463463374607431768211455",
        "tz": "12:00:00+15:59:59", "ds": ["infinity"], "st": {'a b"c': "infinity"},
        "m": [["k", "1 day"]], "x": None, "xs": [None], "dec": 0.1, "bits": "101",
        "many": "1234567890123456789.123456789", "dy": "2026-08-22", "v": "1",
    }  # fmt: skip
    (row,) = csv_rows(table_of(tracetime, write(EMPTY), FAR, "csv"))
    assert (row["d"], row["tns"], row["x"]) == ("infinity", "2026-01-01 00:00:00.123456789", "inf")
    assert (row["xs"], row["many"]) == ("[NaN]", "1234567890123456789.123456789")


def test_files_of_parquet_keep_types(tracetime, write, tmp_path):
    out = tmp_path / "o.parquet"
    assert tracetime("sql", write(EMPTY), FAR, "-o", out)[0] == 0
    schema = pq.read_schema(out)
    assert schema.field("d").type == pa.date32()
    assert schema.field("tns").type == pa.timestamp("ns")
    assert schema.field("ns").type == pa.time64("ns")
    assert schema.field("u").type == schema.field("i").type == pa.string()
    back = duckdb.sql(f"select d, t, tns, u, ds, st from '{out}'").fetchall()
    again = duckdb.sql(f"select d, t, tns, u::varchar, ds, st from ({FAR})").fetchall()
    assert back == again


def test_arrow_gets_no_wrong_number(write):
    with tt.open_trace(write(EMPTY)) as opened, Session([opened]) as session:
        result = session.run("select 340282366920938463463374607431768211455::uhugeint as u")
        assert pa.Table.from_batches(result.batches).to_pydict() == {
            "u": ["340282366920938463463374607431768211455"]
        }


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (Decimal("1.50"), "1.50"),
        (Decimal(10**30), "1" + "0" * 30),
        ([float("inf"), None], "[Infinity, null]"),
        (b"\xaa", "aa"),
    ],
)
def test_values_as_text(value, wanted):
    assert text(value) == wanted


def test_order_and_names_stay(tracetime, write):
    sql = "select interval (x) day as i, x, interval 1 day as i from range(3) t(x) order by x desc"
    rows = json.loads(table_of(tracetime, write(EMPTY), sql, "json"))
    assert rows == [
        {"i": day, "x": x, "i_1": "1 day"}
        for day, x in (("2 days", 2), ("1 day", 1), ("00:00:00", 0))
    ]


def test_a_statement_that_changes_something_runs_once(tracetime, write):
    sql = "create table t(i interval); insert into t values (interval 1 day) returning i"
    assert json.loads(table_of(tracetime, write(EMPTY), sql, "json")) == [{"i": "1 day"}]
    sql += "; select count(*) as n from t"
    assert json.loads(table_of(tracetime, write(EMPTY), sql, "json")) == [{"n": 1}]
