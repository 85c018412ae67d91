"""`tracetime sql`: its arguments, what it writes, its prompt, and how it stops."""

import contextlib
import csv
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from building import event, trace
from hypothesis import given
from hypothesis import strategies as st
from samples import BOOTTIME, CLOCK_SYNC, EMPTY, UNRESOLVED

from tracetime.commands.prompt import is_whole
from tracetime.commands.show import _fitted, _table, _width
from tracetime.formats.perfetto.read.reader import PerfettoTrace

pytest_plugins = ["cli", "terminals"]

FOREVER = "select count(*) from range(1000000000000) t(x) where x % 7 = 3"
HOSTILE = "x'); drop view events; --\n\x1b[2J.pftrace"


# Arguments


def test_a_query_and_its_table(tracetime, write):
    code, text, err = tracetime(
        "sql", write(UNRESOLVED), "select kind, count(*) as n from events group by 1"
    )
    assert (code, err) == (0, "")
    assert text == "kind    n\n------  -\npacket  4\n"


def test_several_traces_and_a_query(tracetime, write):
    paths = [write(CLOCK_SYNC, "a.pftrace"), write(EMPTY, "b c.pftrace")]
    sql = "select trace, count(*) as n from snapshots group by all order by all"
    code, text, _ = tracetime("sql", *paths, sql, "--json")
    assert code == 0
    assert json.loads(text) == [{"trace": paths[0], "n": 20}, {"trace": paths[1], "n": 2}]


def test_of_several_traces_the_bad_one_is_named(tracetime, write):
    words = ("sql", write(CLOCK_SYNC, "a.pftrace"), write(b"", "b.pftrace"), "from clocks")
    code, _, err = tracetime(*words)
    assert code == 3
    assert "b.pftrace: the file is empty" in err


def test_the_last_of_several_statements_is_written(tracetime, write):
    sql = "create table t as select 6 * 7 as answer; from t"
    assert tracetime("sql", write(EMPTY), sql, "--format", "csv")[1] == '"answer"\n42\n'


def test_a_trace_with_a_hostile_name_is_data(tracetime, write):
    paths = [write(CLOCK_SYNC, HOSTILE), write(EMPTY)]
    code, text, err = tracetime(
        "sql", *paths, "select distinct trace from snapshots order by 1 desc"
    )
    assert (code, err) == (0, "")
    assert r"drop view events; --\n\x1b[2J.pftrace" in text
    assert "\x1b" not in text
    args = ("sql", *paths, "select count(*) as n, max(trace) as t from events", "--json")
    assert json.loads(tracetime(*args)[1]) == [{"n": 2, "t": paths[0]}]


def test_a_hostile_name_is_a_file_as_the_last_argument_too(write):
    paths = [write(EMPTY), write(CLOCK_SYNC, HOSTILE)]
    done = subprocess.run(
        [sys.executable, "-m", "tracetime", "sql", *paths, "--json"],
        input=b"select count(*) as n from events;",
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == [{"n": 2}]


def test_a_file_whose_name_is_a_statement_is_a_trace(tracetime, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(CLOCK_SYNC, "select 1")
    assert "2" in tracetime("sql", "select 1", "select count(*) as n from events")[1]


def test_options_are_those_of_convert(tracetime, write):
    path = write(CLOCK_SYNC)
    sql = "select latest(1500, 'MONOTONIC', '6') - earliest(1500, 'MONOTONIC', '6') as bar"
    bars = [
        json.loads(tracetime("sql", path, sql, "--json", "--policy", "tube", *more)[1])[0]["bar"]
        for more in ((), ("--assume-half-width", "MONOTONIC=100us"))
    ]
    assert bars[1] > bars[0]
    sql = "select to_clock(1104, 'cpu', 'BOOTTIME') as t, count(*) as n from clocks where name = 'cpu'"
    rows = json.loads(tracetime("sql", path, sql, "--json", "--clock-name", "MONOTONIC=cpu")[1])
    assert rows == [{"t": 2104, "n": 1}]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["select 1"], "give a trace before the query"),
        (["{trace}", "selec 1"], "LINE 1"),
        (["{trace}", "from nope"], "The tables are events"),
        (["{trace}", "--with-names", "select nme from events"], "The tables are events"),
        (["{trace}", "from nowhere.pftrace"], "nowhere"),
        (["{trace}", "none.pftrace", "select 1"], "No such file"),
        (["none.pftrace"], "No such file"),
        (["{trace}", "selec"], "'selec' is neither an existing file nor a query"),
        (["{trace}", "from", "events"], '"from events"'),
        (["{trace}", "{trace}", "select 1"], "each once"),
        (["{trace}", " ; "], "no statement"),
        (["{trace}", "select 1", "-o", "x.xls"], ".parquet"),
        (["{trace}", "select 1", "--format", "parquet"], "-o"),
        (["{trace}", "select 1", "-o", "-"], "give --format csv, json or parquet"),
        (["{trace}", "select 1", "--format", "csv", "--json"], "exclude each other"),
        (["{trace}", "select 1", "-o", "x", "--format", "table"], "for the terminal"),
        (["{trace}", "select 1", "-o", "nowhere/x.csv"], "nowhere/x.csv"),
        (["{trace}", "select 1", "-o", "{trace}", "--format", "csv"], "what is read"),
        (["{trace}", "select 1", "--bars", "guaranteed"], "--policy tube"),
        (["{trace}", "from read_csv('{trace}')"], "--allow-files"),
        (["-"], "give the query as an argument"),
    ],
)
def test_wrong_usage_is_code_2(tracetime, write, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    path = write(CLOCK_SYNC)
    code, text, err = tracetime("sql", *(arg.format(trace=path) for arg in args))
    assert (code, text) == (2, "")
    if "--json" in args:
        assert message in json.loads(err)["error"]["message"]
    else:
        assert err.startswith("tracetime: error: ")
        assert message in err
    assert [p.name for p in tmp_path.iterdir()] == ["t.pftrace"]


def test_a_bad_trace_is_code_3(tracetime, write, tmp_path):
    code, text, err = tracetime("sql", write(CLOCK_SYNC[:-3]), "from events")
    assert (code, text) == (3, "")
    assert err.endswith("\nGive --partial to keep what comes before that.\n")
    code, text, err = tracetime(
        "sql", write(CLOCK_SYNC[:-3]), "select 5 as x from events", "--partial"
    )
    assert (code, text) == (0, "x\n-\n5\n")
    assert "reading stopped early" in err
    args = ("sql", write(CLOCK_SYNC[:-3]), "from events", "-o", tmp_path / "o.csv")
    assert tracetime(*args)[0] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["t.pftrace"]


# What it writes


VALUES = """
    select 9007199254740993::bigint as big, sum(9223372036854775807::hugeint) as huge, null as nothing,
    'a "b", c' as s, '' as empty, [1, 2] as l, {'k': 'v'} as st, 'nan'::double as nan, 1.5 as dec,
    '\\xAA'::blob as raw, date '2026-08-22' as day, interval 3 days as iv, true as yes
"""


def test_json_keeps_values(tracetime, write):
    (row,) = json.loads(tracetime("sql", write(EMPTY), VALUES, "--format", "json")[1])
    assert row == {
        "big": 9007199254740993, "huge": 9223372036854775807, "nothing": None, "s": 'a "b", c',
        "empty": "", "l": [1, 2], "st": {"k": "v"}, "nan": None, "dec": 1.5, "raw": "aa",
        "day": "2026-08-22", "iv": "3 days", "yes": True,
    }  # fmt: skip
    assert json.loads(tracetime("sql", write(EMPTY), "from events", "--json")[1]) == []


def test_csv_can_be_read_again(tracetime, write, tmp_path):
    out = tmp_path / "o.csv"
    assert tracetime("sql", write(EMPTY), VALUES, "-o", out) == (0, "", "")
    with out.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["big"], row["s"], row["l"], row["nothing"]) == (
        "9007199254740993",
        'a "b", c',
        "[1, 2]",
        "",
    )
    text = tracetime("sql", write(EMPTY), "from events", "--format", "csv")[1]
    assert next(csv.reader(io.StringIO(text)))[:2] == ["packet", "kind"]


def test_parquet_has_the_columns(tracetime, write, tmp_path):
    out = tmp_path / "o.parquet"
    assert tracetime("sql", write(CLOCK_SYNC), "from events", "-o", out) == (0, "", "")
    table = pq.read_table(out)
    assert table["trace_time"].to_pylist() == [2104, 7000]
    assert table.column_names[0] == "packet"
    assert tracetime("sql", write(CLOCK_SYNC), "select 1 as x, 2 as x", "-o", out)[0] == 0
    assert pq.read_table(out).to_pylist() == [{"x": 1, "x_1": 2}]


def test_a_file_may_be_standard_output(spawn, write):
    sql = "select packet from events order by all"
    for kind, read in (("parquet", pq.read_table), ("csv", pa.csv.read_csv)):
        child = spawn(
            "sql", write(CLOCK_SYNC), sql, "-o", "-", "--format", kind, stdout=subprocess.PIPE
        )
        assert read(io.BytesIO(child.communicate()[0]))["packet"].to_pylist() == [7, 8]


def test_a_table_shows_the_first_rows(tracetime, write):
    code, text, _ = tracetime("sql", write(EMPTY), "from range(1000)", "--rows", "2")
    assert code == 0
    assert text.splitlines()[-3:] == [
        "    0",
        "    1",
        "(2 rows are printed, and there are more: give --rows, or -o FILE for all)",
    ]
    assert tracetime("sql", write(EMPTY), "from range(2)", "--rows", "2")[1].endswith("(2 rows)\n")
    assert tracetime("sql", write(EMPTY), "select 'x' as a where false")[1] == "a\n-\n(0 rows)\n"


def test_nothing_in_a_cell_moves_the_cursor(tracetime, write):
    sql = "select 'a' || chr(27) || '[31m' || chr(10) || chr(8238) || 'é漢' as s, 1 as \"x\x1b[0m\", repeat('y', 1000) as y"
    text = tracetime("sql", write(EMPTY), sql)[1]
    head, rule, row = text.splitlines()
    assert row.startswith("a\\x1b[31m\\n\\u202eé漢")
    assert row.endswith("y…")
    assert "\x1b" not in text
    assert len(row) < 260


def test_a_broken_pipe_is_quiet(spawn, write):
    args = ("sql", write(EMPTY), "from range(10000000)", "--format", "csv")
    with spawn(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.readline()
        child.stdout.close()
        err = child.stderr.read()
    assert (child.returncode, err) == (141, b"")


def test_standard_input_may_be_the_trace(write):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tracetime",
            "sql",
            "-",
            "select count(*) as n from events",
            "--json",
        ],
        input=CLOCK_SYNC,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == [{"n": 2}]


# The prompt


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("select 1;", True),
        ("select 1; ", True),
        ("select 1; -- done;", True),
        ("select 1; /* done */", True),
        ("select 1", False),
        ("select 1 --;", False),
        ("select 1 /* ;", False),
        ("select ';", False),
        ("select ';'", False),
        ("select '';", True),
        ("select 'it''s';", True),
        ('select 1 as ";"', False),
        ("select $$ ; ' $$;", True),
        ("select 1; select 2", False),
        ("select 1\n;", True),
        ("", False),
        ("-- only", False),
        (";", True),
    ],
)
def test_where_a_statement_ends(text, whole):
    assert is_whole(text) == whole


@pytest.fixture
def piped(tracetime, monkeypatch):
    """Run statements that come by standard input."""

    def run(path, text, *more):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return tracetime("sql", path, *more)

    return run


def test_statements_come_by_standard_input(write):
    script = (
        "select 1\n  as a;\n\n.format csv\nselect count(*) as n\nfrom events;\nselect 3 as last"
    )
    command = [sys.executable, "-m", "tracetime", "sql", write(CLOCK_SYNC)]
    done = subprocess.run(command, input=script, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, 'a\n-\n1\n"n"\n2\n"last"\n3\n')
    assert done.stderr == ""


def test_a_script_ends_at_its_first_error(piped, write):
    code, out, err = piped(write(CLOCK_SYNC), "select 1 as a;\nselec;\nselect 2 as b;")
    assert (code, out) == (2, "a\n-\n1\n")
    assert "Parser Error" in err
    assert piped(write(CLOCK_SYNC), ".nope\n")[0] == 2
    assert piped(write(CLOCK_SYNC[:-3]), "from events;")[0] == 3


def test_a_script_may_go_to_a_file(piped, write, tmp_path):
    out = tmp_path / "o.json"
    assert piped(write(CLOCK_SYNC), "create table t as select 5 as x; from t;", "-o", str(out)) == (
        0,
        "",
        "",
    )
    assert json.loads(out.read_text()) == [{"x": 5}]


def test_dot_commands(piped, write):
    code, out, _ = piped(write(CLOCK_SYNC), ".help\n.tables\n.schema clocks\n.quit\nselec;")
    assert code == 0
    assert "Ctrl-D leaves" in out
    assert "\nevents\nslices\nclocks\nsnapshots\ndiscontinuities\nfindings\n" in out
    assert "column_name" in out and "first_ns" in out
    schema = piped(write(CLOCK_SYNC), ".schema events")[1]
    assert "\nthread_name" in schema and "\nwall_time" in schema
    assert piped(write(CLOCK_SYNC), '.schema x"; drop view events; --')[0] == 2


def test_the_prompt_keeps_what_it_has_read(tracetime, write, monkeypatch):
    reads, columns = [], PerfettoTrace.columns

    def counted(trace, *args, **more):
        reads.append(trace)
        return columns(trace, *args, **more)

    monkeypatch.setattr(PerfettoTrace, "columns", counted)
    path = write(CLOCK_SYNC)
    monkeypatch.setattr(sys, "stdin", io.StringIO("select count(*) from events;\n" * 3))
    assert tracetime("sql", path)[0] == 0
    assert len(reads) == 1


class Terminal:
    """A child at a terminal of its own."""

    def __init__(self, child, master):
        self.child, self.master, self.seen = child, master, ""

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, until, seconds=600):
        """Read until a text is there; whether it came."""
        end = time.monotonic() + seconds
        while until not in self.seen:
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                return False
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            self.seen += data.decode(errors="replace")
        self.seen = self.seen.partition(until)[2]
        return True


@pytest.fixture
def terminal(spawn, tmp_path):
    with contextlib.ExitStack() as stack:

        def terminal(*args):
            master, slave = pty.openpty()
            stack.callback(os.close, master)
            env = {
                **os.environ,
                "TERM": "dumb",
                "COLUMNS": "80",
                "XDG_STATE_HOME": str(tmp_path / "state"),
            }
            child = spawn(
                *args, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
            )
            os.close(slave)
            return Terminal(child, master)

        yield terminal


def test_the_prompt(terminal, write, tmp_path):
    there = terminal("sql", write(CLOCK_SYNC))
    assert there.read("tracetime> ")
    there.type("select 6 *\n")
    assert there.read("...> ")
    there.type("7 as answer;\n")
    assert there.read("------\r\n    42\r\n")
    there.type("from nope;\n")
    assert there.read("error: Catalog Error")
    assert there.read("tracetime> ")
    there.type("from events;\n")
    assert there.read("columns are printed; name those that you want)")
    assert there.read("tracetime> ")
    there.type("\x04")
    assert there.child.wait(600) == 0
    history = (tmp_path / "state/tracetime/sql_history").read_text()
    assert "7 as answer;" in history


@pytest.mark.parametrize("word", ["exit", "quit;", "EXIT", ".exit"])
def test_a_word_leaves_the_prompt(piped, write, word):
    assert piped(write(CLOCK_SYNC), f"select 1 as a;\n{word}\nselec;")[0] == 0


def test_a_result_higher_than_the_terminal_goes_to_the_pager(piped, prompt, write, tmp_path):
    """And one that fits does not; nor does what no terminal shows."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\n")
    pager.chmod(0o755)
    more = {"PAGER": str(pager), "LINES": "24"}
    trace = write(CLOCK_SYNC)
    for rows, paged in ((10, False), (40, True)):
        query = f"select unnest(range({rows})) as n"
        text = prompt("sql", trace, query, typed=b"", code=0, more=more)
        assert ("paged" in text) == paged
        assert f"({rows} rows)" in text
    assert "paged" not in piped(trace, "select unnest(range(40)) as n;")[1]


texts = st.text("aü語", max_size=40)


@given(
    rows=st.lists(st.tuples(texts, st.integers(0, 10**15), texts, texts), min_size=1, max_size=4),
    width=st.integers(50, 160),
)
def test_a_table_fits_the_terminal_and_its_numbers_stay_whole(rows, width):
    cells = [[text, str(n), *more] for text, n, *more in rows]
    names, right, shown = _fitted(["a", "n", "b", "c"], [False, True, False, False], cells, width)
    lines = _table(names, right, shown)
    assert max(map(_width, lines)) <= width
    if "n" in names:
        assert [row[names.index("n")] for row in shown] == [row[1] for row in cells]
    if max(map(_width, _table(["a", "n", "b", "c"], [False, True, False, False], cells))) <= width:
        assert shown == cells


def test_of_columns_that_are_left_out_a_name_is_the_last_and_those_without_values_the_first():
    names = ["id", "parent", "ts", "name", "category", "flow", "pid"]
    cells = [["1", "NULL", "18723433332034", "tiles", "map", "NULL", "4201"]]
    left = [False] * len(names)
    for width, shown in (
        (52, ["id", "parent", "ts", "name", "category", "…", "pid"]),
        (45, ["id", "…", "ts", "name", "category", "pid"]),
        (25, ["id", "…", "name", "pid"]),
        (8, ["…", "name"]),
    ):
        assert _fitted(names, left, cells, width)[0] == shown
    assert "name" not in _fitted(names, left, [["1", "2", "3", "NULL", "5", "6", "7"]], 20)[0]


def test_control_c_at_the_prompt(terminal, write):
    there = terminal("sql", write(CLOCK_SYNC))
    assert there.read("tracetime> ")
    there.type("select 'half\n")
    assert there.read("...> ")
    # Again where it came before the line was waited for.
    for _ in range(20):
        there.child.send_signal(signal.SIGINT)
        if there.read("tracetime> ", seconds=3):
            break
    # Where the signal comes before the statement runs, there is nothing to interrupt: once more.
    for _ in range(20):
        there.type(f"{FOREVER};\n")
        assert there.read("x % 7")
        time.sleep(0.3)
        there.child.send_signal(signal.SIGINT)
        if there.read("interrupted", seconds=5):
            break
    else:
        pytest.fail("the query was not interrupted")
    there.type("select 40 + 2 as answer;\n")
    assert there.read("    42\r\n")
    there.type(".quit\n")
    assert there.child.wait(600) == 0


@pytest.mark.parametrize(
    ("number", "code", "says"),
    [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")],
)
@pytest.mark.parametrize(
    "query", [FOREVER, "select sum(a.packet + b.packet) from events a, events b, events c"]
)
def test_a_signal_stops_a_query_and_leaves_nothing(
    spawn, write, tmp_path, number, code, says, query
):
    made = tmp_path / "temporary"
    made.mkdir()
    path = write(trace(*(event(n, BOOTTIME) for n in range(20_000))))
    args = ("sql", path, query, "-o", tmp_path / "o.csv")
    env = {**os.environ, "TMPDIR": str(made)}
    with spawn(*args, stderr=subprocess.PIPE, env=env) as child:
        end = time.monotonic() + 600
        while not list(made.iterdir()) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.2)
        child.send_signal(number)
        err = child.stderr.read()
    assert (child.returncode, err) == (code, b"tracetime: " + says + b"\n")
    assert list(made.iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"t.pftrace", "temporary"}
