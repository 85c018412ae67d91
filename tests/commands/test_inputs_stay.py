"""No command destroys what it reads: every command, kind of input, spelling and way to write."""

import gzip
import os
import subprocess
import sys
import zipfile
from itertools import cycle
from pathlib import Path

import pytest
from ctf_files import simple
from samples import CLOCK_SYNC, SLICES

import tracetime as tt
from tracetime.commands import run

pytest_plugins = ["cli"]

TABLE = b"t,n\n2000,1\n2100,2\n"
COPY = "copy (select 1 as n) to {} (format csv)"

WRITERS = {
    "convert": lambda trace, out: ("convert", trace, "-o", out, "--format", "csv"),
    "convert --slices": lambda trace, out: (
        "convert", trace, "--slices", "-o", out, "--format", "csv"
    ),
    "report": lambda trace, out: ("report", trace, "-o", out),
    "bake": lambda trace, out: ("bake", trace, "-o", out),
    "clocks": lambda trace, out: ("clocks", trace, "-o", out),
    "at": lambda trace, out: ("at", trace, 2050, "-o", out),
    "doctor": lambda trace, out: ("doctor", trace, "-o", out),
    "sql -o": lambda trace, out: ("sql", trace, "select 1 as n", "-o", out, "--format", "csv"),
    "sql copy": lambda trace, out: ("sql", trace, "--allow-files", COPY.format(f"'{out}'")),
    "sql read": lambda trace, out: (
        "sql", trace, "--allow-files", f"select content from read_text('{out}')",
        "-o", out, "--format", "csv",
    ),
}  # fmt: skip


def plain(folder):
    path = folder / "t.pftrace"
    path.write_bytes(SLICES)
    return path, path


def packed(folder):
    path = folder / "t.gz"
    path.write_bytes(gzip.compress(CLOCK_SYNC))
    return path, path


def archive(folder):
    path = folder / "z.zip"
    with zipfile.ZipFile(path, "w") as members:
        members.writestr("a.pftrace", CLOCK_SYNC)
    return path, path


def member(folder):
    path, _ = archive(folder)
    return f"{path}:a.pftrace", path


def ctf(folder):
    path = simple(5).write(folder / "ctf")
    return path, next(file for file in sorted(path.iterdir()) if file.name != "metadata")


def ctf_metadata(folder):
    path = simple(5).write(folder / "ctf")
    return path, path / "metadata"


def new_in_ctf(folder):
    path = simple(5).write(folder / "ctf")
    return path, path / "new.pftrace"


KINDS = [plain, packed, archive, member, ctf, ctf_metadata, new_in_ctf]


def same(path):
    return path


def relative(path):
    return Path(os.path.relpath(path))


def dotted(path):
    return path.parent / ".." / path.parent.name / path.name


def symlink(path):
    link = path.parent.parent / f"link{path.suffix}"
    link.symlink_to(path)
    return link


def hard_link(path):
    link = path.parent.parent / f"hard{path.suffix}"
    if not path.exists():
        return path
    os.link(path, link)
    return link


SPELLINGS = [same, relative, dotted, symlink, hard_link]


def all_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def spelled_differently():
    """Every command and kind of input, each with another spelling than the one before."""
    spellings, found = cycle(SPELLINGS), []
    for command in WRITERS:
        for kind in KINDS:
            found.append((command, kind, next(spellings)))
            if kind is member:
                found.append((command, kind, next(spellings)))
    return found


@pytest.mark.parametrize(("command", "kind", "spelling"), spelled_differently())
def test_no_command_writes_over_what_it_reads(
    tmp_path, tracetime, monkeypatch, command, kind, spelling
):
    folder = tmp_path / "in"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    trace, path = kind(folder)
    out = spelling(path)
    before = all_of(folder)
    code, _, _ = tracetime(*WRITERS[command](trace, out))
    assert all_of(folder) == before
    assert code == 2 or (command == "convert --slices" and code)


def refused(tracetime, words, *paths):
    """Run a command that is refused, and check that files are as they were."""
    before = [path.read_bytes() for path in paths]
    code, _, err = tracetime(*words)
    assert [path.read_bytes() for path in paths] == before
    assert code == 2
    assert "what is read" in err


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TABLE)
    return path


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(CLOCK_SYNC)
    return path


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_nor_over_the_graph_of_a_table(tracetime, tmp_path, trace, table, spelling):
    (tmp_path / "in").mkdir()
    graph = tmp_path / "in" / "g.ttg"
    with tt.open_trace(trace) as opened:
        opened.clocks.save(graph)
    words = ["convert", table, "--map", "t:MONOTONIC", "--format", "csv", "-o"]
    refused(tracetime, [*words, spelling(graph), "--graph", graph], graph)
    refused(tracetime, [*words, trace, "--graph", trace], trace)
    refused(tracetime, [*words, table, "--graph", graph], table, graph)


@pytest.mark.parametrize(
    "query",
    [
        "from '{}'", "from read_csv('{}')", "from read_csv(['{}', '{}'])", "from '{}/../*.csv'",
        "from read_csv('{}' || '')", "from query('from ''{}''')", "FROM (from/* */'{}')",
    ],
)  # fmt: skip
def test_nor_over_what_a_query_reads(tracetime, trace, table, query):
    text = query.replace("{}/..", str(table.parent)).replace("{}", str(table))
    words = ["convert", f"duckdb:{text}", "--map", "t:MONOTONIC", "--graph", trace]
    refused(tracetime, [*words, "--format", "csv", "-o", table], table)
    words = ["sql", trace, "--allow-files", text]
    refused(tracetime, [*words, "--format", "csv", "-o", table], table)
    copied = f"copy ({text}) to '{table}'"
    refused(tracetime, ["sql", trace, "--allow-files", copied], table)


def test_a_query_of_a_table_writes_nothing(tracetime, trace, table, tmp_path):
    out = tmp_path / "o.csv"
    query = f"duckdb:with a as (copy (select 7) to '{table}') from a"
    code, *_ = tracetime(
        "convert", query, "--map", "Count:MONOTONIC", "--graph", trace, "-o", out
    )  # fmt: skip
    assert code == 2
    assert table.read_bytes() == TABLE


@pytest.mark.parametrize("case", ["copy", "COPY", "/* to 'x' */ CoPy"])
@pytest.mark.parametrize(
    "name",
    [
        "'{}'", "'file://{}'", "'FILE:{}'", "'file://localhost{}'", '"{}"', "$${}$$", "$a${}$a$",
        "/* ( */ '{}'", "'~/{name}'", "'{name}'", "'./{name}'", "'{link}'", "'{hard}'",
        "-- to 'y'\n'{}'",
    ],
)  # fmt: skip
def test_nor_by_any_spelling_of_a_copy(tracetime, trace, tmp_path, monkeypatch, case, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(trace)
    os.link(trace, tmp_path / "hard")
    name = name.replace("{name}", trace.name).replace("{link}", "link").replace("{hard}", "hard")
    statement = f"{case} (select 1) to {name.replace('{}', str(trace))} (format csv)"
    code, *_ = tracetime("sql", trace, "--allow-files", statement)
    assert trace.read_bytes() == CLOCK_SYNC
    # DuckDB knows `file:` in small letters alone: else it is a directory of that name.
    assert code == 2 or "FILE" in name


@pytest.mark.parametrize(
    "statement",
    [
        "explain analyze copy (select 1) to '{}'", "with a as (copy (select 1) to '{}') from a",
        "prepare p as copy (select 1) to '{}'; execute p", "copy (select 1) to ('{}' || '')",
        "copy (select 1) to '{}' '' ", "from query('with a as (copy (select 1) to ''{}'') from a')",
        "copy (select 1 as a) to '{}' (format csv, partition_by (a), overwrite)",
        "copy (select 1 as a) to '{folder}' (format csv, partition_by (a), overwrite)",
        "copy (select 1 as a) to '{folder}' (format csv, per_thread_output, overwrite)",
        "export database '{folder}'", "export database ('{folder}' || '')", "attach '{}' as a",
        "attach '{empty}' as a; create table a.t as select 1; checkpoint a",
        "attach ('{empty}' || '') as a; create table a.t as select 1; checkpoint a",
        "set profile_output = '{}'; pragma enable_profiling = 'json'; select 1",
        "pragma enable_profiling = 'json'; pragma profile_output = '{}'; select 1",
        "call enable_profiling(save_location := '{}'); select 1", "set log_query_path = '{}'; select 1",
        "call enable_logging(storage := 'file', storage_config := {'path': '{folder}'}); select 1",
        "copy (from '{other}') to '{other}'", "from '{other}'; copy (select 1) to '{other}'",
        "create view v as from '{other}'; copy (from v) to '{other}'",
        "create table t as from '{other}'; copy t to '{other}'",
        "set variable f = '{other}'; create table t as from read_csv(getvariable('f'));"
        " copy t to '{other}'",
    ],
)  # fmt: skip
def test_nor_by_another_statement(tracetime, tmp_path, statement):
    folder = tmp_path / "in"
    folder.mkdir()
    trace, empty, other = (folder / name for name in ("t.pftrace", "e.csv", "o.csv"))
    trace.write_bytes(CLOCK_SYNC)
    empty.write_bytes(b"")
    other.write_bytes(TABLE)
    text = statement.replace("{folder}", str(folder)).replace("{empty}", str(empty))
    text = text.replace("{other}", str(other)).replace("{}", str(trace))
    before = all_of(folder)
    read = f"select content from read_text('{empty}'); " if "{empty}" in statement else ""
    code, *_ = tracetime("sql", trace, "--allow-files", read + text)
    assert all_of(folder) == before
    assert code


def test_statements_write_what_nobody_reads(tracetime, trace, tmp_path):
    out, parts, packed = tmp_path / "o'ö.csv", tmp_path / "parts", tmp_path / "p.csv.gz"
    name = str(out).replace("'", "''")
    for statement in (
        f"copy (select 'é' as n) to '{name}'; copy (select 7 as n) to '{name}' (header false)",
        f"copy (select 1 as a, 2 as b) to '{parts}' (format csv, partition_by (a))",
        f"copy (select 1 as n) to '{packed}'",
        "copy (select 1 as n) to '/dev/null'",
        f"attach '{tmp_path / 'd.db'}' as d; create table d.t as select 1; detach d;"
        f" attach '{tmp_path / 'd.db'}' as d; from d.t",
        f"set threads = 1; export database '{tmp_path / 'new'}'",
    ):
        code, _, err = tracetime("sql", trace, "--allow-files", statement)
        assert (code, err) == (0, "")
    assert out.read_text() == "7\n"
    assert [path.read_text() for path in parts.rglob("*.csv")] == ["b\n2\n"]
    assert gzip.decompress(packed.read_bytes()) == b"n\n1\n"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_copy_that_fails_leaves_the_old_file(tracetime, trace, tmp_path):
    out = tmp_path / "o.csv"
    out.write_bytes(b"old")
    statement = f"copy (select error('no') from range(9)) to '{out}'"
    assert tracetime("sql", trace, "--allow-files", statement)[0] == 2
    assert out.read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"o.csv", "t.pftrace"}


def test_nor_over_the_statements_on_standard_input(tmp_path, spawn, trace):
    query = tmp_path / "q.csv"
    query.write_text("select 1 as n;")
    with query.open("rb") as stream:
        child = spawn("sql", trace, "-o", query, stdin=stream)
        assert child.wait() == 2
    assert query.read_text() == "select 1 as n;"


def test_nor_over_a_key(tracetime, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    words = ["record", "-o", key, "--force", "--peer", "127.0.0.1:1", "--key-file", key]
    refused(tracetime, [*words, "--", sys.executable, "-c", ""], key)
    words = ["ping", "127.0.0.1:1", "--key-file", key, "--timeout", "1ms", "--bursts", 1]
    assert tracetime(*words, "-o", key)[0]
    assert key.read_bytes() == b"k" * 32


def test_nor_over_members_that_are_merged(tracetime, tmp_path):
    one, other = tmp_path / "a.zip", tmp_path / "b.zip"
    for path in (one, other):
        with zipfile.ZipFile(path, "w") as members:
            members.writestr(f"{path.stem}.pftrace", CLOCK_SYNC)
    for out in (one, other):
        words = ["merge", one, other, "-o", out, "--assume-wall-clock", "1ms"]
        before = [path.read_bytes() for path in (one, other)]
        assert tracetime(*words)[0]
        assert [path.read_bytes() for path in (one, other)] == before


def test_nor_over_the_tables_that_are_summed_up(tracetime, tmp_path, trace):
    fleet = tmp_path / "fleet"
    assert tracetime("fleet", "doctor", trace, "-o", fleet, "--workers", 1)[0] == 0
    part = next((fleet / "findings").iterdir())
    refused(tracetime, ["fleet", "summary", fleet, "-o", part], part)


def test_what_one_command_reads_another_may_write(trace, tmp_path):
    out = tmp_path / "o.csv"
    for _ in range(2):
        assert run(["convert", str(trace), "-o", str(out)]) == 0
        assert run(["convert", str(out), "--map", "timestamp:MONOTONIC", "--graph", str(trace),
                    "-o", str(tmp_path / "p.csv")]) == 0  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_the_memory_limit_holds_for_strings(spawn, trace):
    sql = "select length(repeat('x', 3500000000))"
    child = spawn("sql", trace, sql, "--memory-limit", "100M", stderr=subprocess.PIPE)
    _, err = child.communicate(timeout=300)
    assert child.returncode == 2
    assert b"--memory-limit" in err


TO_STANDARD_OUTPUT = [
    ("convert", "{}", "-o", "-", "--format", "csv"),
    ("clocks", "{}", "--json"),
    ("doctor", "{}", "--json"),
    ("sql", "{}", "select 1 as n"),
]


@pytest.mark.parametrize(
    ("source", "words", "mode"),
    list(
        zip(
            [plain, packed, archive, member, ctf, ctf_metadata],
            cycle(TO_STANDARD_OUTPUT),
            cycle(["r+b", "ab"]),
            strict=False,
        )
    ),
)
def test_standard_output_that_goes_to_an_input_is_refused(tmp_path, source, words, mode):
    """As a shell opens it for `>>` and `1<>`."""
    path, kept = source(tmp_path)
    before = kept.read_bytes()
    with kept.open(mode) as out:
        done = tracetime_to(out, [word.format(path) for word in words])
    assert kept.read_bytes() == before
    assert done.returncode == 2
    assert b"output goes to a file that is read" in done.stderr


def test_standard_output_and_input_may_not_be_one_file(tmp_path):
    path, _ = plain(tmp_path)
    with path.open("rb") as trace, path.open("ab") as out:
        done = tracetime_to(out, ["convert", "-", "-o", "-", "--format", "csv"], stdin=trace)
    assert (path.read_bytes(), done.returncode) == (SLICES, 2)


def test_standard_error_that_goes_to_an_input_is_refused_without_a_word(tmp_path):
    """There is no place for one."""
    path, _ = plain(tmp_path)
    with path.open("ab") as errors:
        done = tracetime_to(subprocess.PIPE, ["clocks", str(path)], stderr=errors)
    assert (path.read_bytes(), done.returncode, done.stdout) == (SLICES, 2, b"")


def tracetime_to(out, words, stderr=subprocess.PIPE, **more):
    return subprocess.run(
        [sys.executable, "-m", "tracetime", *words],
        stdout=out,
        stderr=stderr,
        check=False,
        **more,
    )
