"""A data set of many traces: its parts, its readers, and what a second run does."""

import codecs
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock
from zipfile import ZipFile

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from building import BOOTTIME, snapshot, trace
from fleets import FAST, alone, assert_complete, parts, records, rows, small_trace, write_fleet
from samples import SLICES

import tracetime as tt
from tracetime import fleet
from tracetime.fleet.options import Options
from tracetime.fleet.part import convert_one


@pytest.fixture
def traces(tmp_path):
    return write_fleet(tmp_path / "traces", 6)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "fleet"


@pytest.fixture(autouse=True)
def pool(monkeypatch):
    """Traces are done in this process, which starts at once; gives the pool itself."""
    pool = fleet.run_in_pool
    monkeypatch.setattr(fleet, "run_in_pool", lambda function, uris, *_, **__: map(function, uris))
    return pool


def test_every_trace_has_a_part_with_the_rows_that_it_has_alone(traces, out, pool, monkeypatch):
    monkeypatch.setattr(fleet, "run_in_pool", pool)
    summary = fleet.convert(traces, out, workers=2)
    assert (summary.traces, summary.converted, summary.unchanged, summary.rejected) == (6, 6, 0, 0)
    assert summary.rows == sum(table.num_rows for table in rows(out).values())
    assert summary.bytes_read == sum(path.stat().st_size for path in traces.iterdir())
    assert_complete(out, traces)


def test_the_record_of_a_trace_says_where_its_rows_are(traces, out):
    fleet.convert(traces, out, **FAST)
    for record in records(out):
        path = Path(record["uri"])
        assert record["size"] == path.stat().st_size
        assert record["rows"] == alone(path).num_rows
        assert record["facts"]["trace_clock"] == "BOOTTIME"
        assert record["facts"]["unresolved"] == 0
        assert record["part"] in {part.name for part in parts(out)}


def test_all_parts_have_one_schema_that_four_readers_read(tmp_path, traces, out):
    corpus = Path(__file__).parent.parent / "data" / "traces"
    for name in ("chromium_small", "random_0100", "random_0101"):
        shutil.copy(corpus / f"{name}.pftrace", traces)
    (traces / "no_events.pftrace").write_bytes(trace(snapshot({BOOTTIME: 1000})))
    summary = fleet.convert(traces, out, policy="tube", names=True, to="BOOTTIME", workers=2)
    assert summary.rejected == 0
    expected = {name: table.num_rows for name, table in rows(out).items() if table.num_rows}
    assert len(expected) >= 8
    schemas = [ds.dataset(part).schema.remove_metadata() for part in parts(out)]
    assert all(schema == schemas[0] for schema in schemas)
    assert schemas[0].names[0] == "trace"
    place = f"{out}/events"
    found = duckdb.sql(f"select trace, count(*) from '{place}/*.parquet' group by trace").fetchall()
    assert dict(found) == expected
    lazy = pl.scan_parquet(place).group_by("trace").len().collect()
    assert dict(lazy.cast({"trace": pl.String}).iter_rows()) == expected
    frame = pd.read_parquet(place)
    assert frame.groupby("trace", observed=True).size().to_dict() == expected
    assert str(frame["trace_time"].dtype) == "Int64"
    counts = ds.dataset(place).to_table(columns=["trace"])["trace"].value_counts()
    assert {one["values"]: one["counts"] for one in counts.to_pylist()} == expected


def test_a_filter_on_the_trace_skips_the_other_parts(traces, out):
    fleet.convert(traces, out, **FAST)
    for part in parts(out):
        group = pq.ParquetFile(part).metadata.row_group(0)
        columns = [group.column(k) for k in range(group.num_columns)]
        (name,) = (one.statistics for one in columns if one.path_in_schema == "trace")
        (expected,) = set(pq.read_table(part)["trace"].to_pylist())
        assert (name.min, name.max) == (expected, expected)


def test_a_second_run_does_nothing(traces, out):
    fleet.convert(traces, out, **FAST)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    summary = fleet.convert(traces, out, **FAST)
    assert (summary.converted, summary.unchanged, summary.bytes_read) == (0, 6, 0)
    assert summary.rows == sum(table.num_rows for table in rows(out).values())
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_a_trace_that_was_changed_has_its_new_rows_alone(traces, out):
    fleet.convert(traces, out, **FAST)
    (traces / "002.pftrace").write_bytes(small_trace(13))
    summary = fleet.convert(traces, out, **FAST)
    assert (summary.converted, summary.unchanged) == (1, 5)
    assert_complete(out, traces)


def test_a_trace_that_was_only_touched_keeps_its_part(traces, out):
    fleet.convert(traces, out, **FAST)
    before = {path: path.stat().st_mtime_ns for path in parts(out)}
    os.utime(traces / "002.pftrace", ns=(5, 5))
    summary = fleet.convert(traces, out, **FAST)
    assert (summary.converted, summary.unchanged) == (0, 6)
    assert {path: path.stat().st_mtime_ns for path in parts(out)} == before
    assert fleet.convert(traces, out, **FAST).bytes_read == 0


def test_a_part_that_is_gone_is_made_again(traces, out):
    fleet.convert(traces, out, **FAST)
    parts(out)[3].unlink()
    assert fleet.convert(traces, out, **FAST).converted == 1
    assert_complete(out, traces)


def test_a_part_without_its_record_is_made_again_with_the_same_bytes(traces, out):
    fleet.convert(traces, out, **FAST)
    before = {path.name: path.read_bytes() for path in parts(out)}
    for path in (out / "log" / "events").iterdir():
        path.unlink()
    assert fleet.convert(traces, out, **FAST).converted == 6
    assert {path.name: path.read_bytes() for path in parts(out)} == before


def test_a_part_of_older_bytes_that_a_killed_run_left_is_removed(traces, out):
    old = small_trace(17)
    (traces / "001.pftrace").write_bytes(old)
    fleet.convert(traces, out, **FAST)
    stale = next(p for p, r in zip(parts(out), records(out), strict=True) if "001" in r["uri"])
    content = stale.read_bytes()
    (traces / "001.pftrace").write_bytes(small_trace(1))
    fleet.convert(traces, out, **FAST)
    assert not stale.exists()
    stale.write_bytes(content)
    assert fleet.convert(traces, out, **FAST).unchanged == 6
    assert_complete(out, traces)


def test_equal_traces_at_two_places_are_two_traces(traces, out):
    (traces / "copy.pftrace").write_bytes(small_trace(0))
    assert fleet.convert(traces, out, **FAST).converted == 7
    assert_complete(out, traces)


def test_traces_that_are_added_later_join_the_others(traces, out):
    fleet.convert(traces / "00[0-2].pftrace", out, **FAST)
    assert len(parts(out)) == 3
    assert fleet.convert([traces / "003.pftrace"], out, **FAST).converted == 1
    assert fleet.convert(traces, out, **FAST).unchanged == 4
    assert_complete(out, traces)


def test_parts_of_other_options_are_not_mixed_in(traces, out):
    fleet.convert(traces, out, **FAST)
    with pytest.raises(tt.UsageError, match=r"other options: policy 'floor'; choose another"):
        fleet.convert(traces, out, policy="tube", **FAST)
    assert_complete(out, traces)


def test_a_directory_that_is_no_data_set_is_left_alone(traces, tmp_path):
    (tmp_path / "mine" / "events").mkdir(parents=True)
    (tmp_path / "mine" / "events" / "photo.jpg").touch()
    with pytest.raises(tt.UsageError, match="no parts of a data set"):
        fleet.convert(traces, tmp_path / "mine", **FAST)
    with pytest.raises(tt.UsageError, match="cannot write"):
        fleet.convert(traces, traces / "000.pftrace", **FAST)


def test_tables_of_one_data_set_stand_side_by_side(tmp_path, traces, out):
    (traces / "slices.pftrace").write_bytes(SLICES)
    fleet.convert(traces, out, **FAST)
    fleet.slices(traces, out, policy="tube", **FAST)
    summary = fleet.doctor(traces, out, **FAST)
    assert_complete(out, traces)
    found = rows(out, "slices")[str(traces / "slices.pftrace")]
    with tt.open_trace(traces / "slices.pftrace") as opened:
        assert found.to_pylist() == opened.slices("tube").read_all().to_pylist()
        findings = tt.diagnose(opened)
    codes = rows(out, "findings")[str(traces / "slices.pftrace")]["code"].to_pylist()
    assert codes[0] == findings[0].code
    assert summary.rows == sum(record["rows"] for record in records(out, "log/findings"))
    (facts,) = [r["facts"] for r in records(out, "log/findings") if "slices" in r["uri"]]
    assert sum(facts["codes"].values()) == len(codes)


# What cannot be read


def test_bad_traces_are_rejected_with_their_errors_and_the_others_converted(tmp_path, out):
    traces = write_fleet(tmp_path / "traces", 8, corrupt=(2, 5))
    summary = fleet.convert(traces, out, **FAST)
    bad = [str(traces / "002.pftrace"), str(traces / "005.pftrace")]
    assert (summary.converted, summary.rejected) == (6, 2)
    assert [uri for uri, _ in summary.errors] == bad
    assert_complete(out, traces, bad)
    for record in records(out, "rejected/events"):
        assert record["error"]["code"] == "trace"
        assert record["error"]["packet"] is not None
        assert record["final"]


def test_what_is_wrong_with_a_trace_is_not_looked_for_again(tmp_path, out):
    traces = write_fleet(tmp_path / "traces", 4, corrupt=(2,))
    first = fleet.convert(traces, out, **FAST)
    again = fleet.convert(traces, out, **FAST)
    assert (again.unchanged, again.rejected, again.bytes_read) == (3, 1, 0)
    assert again.errors == first.errors


def test_a_trace_that_was_mended_is_converted(tmp_path, out):
    traces = write_fleet(tmp_path / "traces", 4, corrupt=(2,))
    fleet.convert(traces, out, **FAST)
    write_fleet(tmp_path / "traces", 4)
    assert fleet.convert(traces, out, **FAST).rejected == 0
    assert_complete(out, traces)


def test_a_trace_that_became_bad_has_no_rows_any_more(tmp_path, out):
    traces = write_fleet(tmp_path / "traces", 4)
    fleet.convert(traces, out, **FAST)
    write_fleet(tmp_path / "traces", 4, corrupt=(2,))
    assert fleet.convert(traces, out, **FAST).rejected == 1
    assert_complete(out, traces, [str(traces / "002.pftrace")])


def test_a_trace_that_is_not_there_is_rejected_and_tried_again(tmp_path, out):
    traces = write_fleet(tmp_path / "traces", 2)
    late = traces / "late.pftrace"
    summary = fleet.convert([traces, late], out, **FAST)
    assert summary.errors == [(str(late), f"cannot read {str(late)!r}: No such file or directory")]
    late.write_bytes(small_trace(3))
    assert fleet.convert([traces, late], out, **FAST).converted == 1
    assert_complete(out, traces)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (MemoryError(), "memory"),
        (OSError(5, "Input/output error"), "system"),
        (ValueError("oops"), "fault"),
    ],
)
def test_whatever_is_wrong_with_one_trace_is_written_down(traces, out, monkeypatch, fault, code):
    def fail(*args, **options):
        raise fault

    monkeypatch.setattr("tracetime.fleet.part.open_trace", fail)
    record = convert_one(str(traces / "000.pftrace"), str(out), Options("events"))
    assert record.error["code"] == code
    assert not record.final
    assert not list(out.glob("events/*"))


def test_a_trace_that_there_was_no_room_for_is_tried_again(traces, out, monkeypatch):
    from tracetime.tables.writers import ParquetTable

    with monkeypatch.context() as full:
        full.setattr(ParquetTable, "write", Mock(side_effect=OSError(errno.ENOSPC, "full")))
        summary = fleet.convert(traces, out, **FAST)
    assert (summary.converted, summary.rejected) == (0, 6)
    assert {r["error"]["code"] for r in records(out, "rejected/events")} == {"no_room"}
    assert "tries it again" in summary.errors[0][1]
    assert fleet.convert(traces, out, **FAST).converted == 6
    assert_complete(out, traces)


def test_where_there_is_no_room_for_an_error_the_run_ends(traces, out, monkeypatch):
    with monkeypatch.context() as full:
        fault = Mock(side_effect=OSError(errno.EDQUOT, "quota"))
        full.setattr("tracetime.fleet.part.put_json", fault)
        with pytest.raises(tt.UsageError, match="no room left in .*; what is finished stays"):
            fleet.convert(traces, out, **FAST)
    assert fleet.convert(traces, out, **FAST).converted == 6
    assert_complete(out, traces)


@pytest.fixture
def tiny(tmp_path):
    """A disk of 256 KiB."""
    place = tmp_path / "tiny"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("no privilege to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_full_costs_no_trace_for_good(tmp_path, tiny):
    traces = write_fleet(tmp_path / "traces", 8)
    filler = tiny / "filler"
    filler.write_bytes(bytes(200 << 10))
    try:
        summary = fleet.convert(traces, tiny / "fleet", **FAST)
        assert summary.rejected
        assert all("no room left on the disk" in message for _, message in summary.errors)
    except tt.UsageError as error:
        assert "no room left in" in str(error)
    filler.unlink()
    assert fleet.convert(traces, tiny / "fleet", **FAST).rejected == 0
    assert_complete(tiny / "fleet", traces)


def test_a_trace_in_an_archive_of_several_is_named_by_its_member(tmp_path, out):
    traces = write_fleet(tmp_path / "traces", 2)
    place = tmp_path / "both.zip"
    with ZipFile(place, "w") as archive:
        for path in sorted(traces.iterdir()):
            archive.write(path, path.name)
    summary = fleet.convert(place, out, **FAST)
    assert "has 2 traces: name one" in summary.errors[0][1]
    named = f"{place}:001.pftrace"
    assert fleet.convert(named, out, **FAST).converted == 1
    assert rows(out)[named].to_pylist() == alone(traces / "001.pftrace").to_pylist()
    again = fleet.convert(named, out, **FAST)
    assert (again.unchanged, again.bytes_read) == (1, 0)
    place.write_bytes(place.read_bytes() + b" ")
    assert fleet.convert(named, out, **FAST).bytes_read == place.stat().st_size


def test_a_trace_that_grows_while_it_is_read_is_rejected_for_now(traces, out, monkeypatch):
    path = traces / "000.pftrace"

    def grow(*args, **options):
        path.write_bytes(small_trace(3))
        return tt.open_trace(*args, **options)

    monkeypatch.setattr("tracetime.fleet.part.open_trace", grow)
    record = convert_one(str(path), str(out), Options("events"))
    assert "was changed while it was read" in record.error["message"]
    assert not record.final
    assert not list(out.glob("events/*"))


# Which files are meant


def found(*uris, leave_out=""):
    from tracetime.fleet.sources import find_sources

    return [Path(source.uri).name for source in find_sources(map(str, uris), str(leave_out))]


def test_paths_patterns_directories_and_lists_name_traces_each_once(tmp_path, monkeypatch):
    traces = write_fleet(tmp_path / "traces", 3)
    (traces / "sub").mkdir()
    (traces / "sub" / "deep.pftrace").touch()
    (traces / ".hidden").touch()
    (traces / "[x].pftrace").touch()
    every = ["000.pftrace", "001.pftrace", "002.pftrace", "[x].pftrace", "deep.pftrace"]
    assert found(traces) == every
    assert found(traces / "**" / "*.pftrace") == every
    assert found(traces / "00*", traces / "001.pftrace") == every[:3]
    assert found(traces / "[x].pftrace") == ["[x].pftrace"]
    (tmp_path / "list.txt").write_text(f"# mine\n\n{traces}/002.pftrace\n{traces}/sub\n")
    assert found(f"@{tmp_path}/list.txt", traces / "002.pftrace") == ["002.pftrace", "deep.pftrace"]
    (traces / "events").mkdir()
    (traces / "events" / "part.parquet").touch()
    (traces / "events" / "mine.pftrace").touch()
    assert found(traces, leave_out=traces) == [*every[:4], "mine.pftrace", "deep.pftrace"]
    monkeypatch.chdir(traces)
    assert found("000.pftrace", traces / "000.pftrace") == ["000.pftrace"]


def test_what_names_no_file_is_an_error(tmp_path):
    (tmp_path / "nothing").mkdir()
    for uri in (tmp_path / "nothing", tmp_path / "*.pftrace", f"@{tmp_path}/none.txt"):
        with pytest.raises(tt.UsageError, match="there is no file in|cannot read"):
            found(uri)


def test_a_list_may_come_from_elsewhere(tmp_path, monkeypatch):
    """With the byte order mark and the line ends of Windows; without a trace it is an error."""
    traces = write_fleet(tmp_path / "traces", 2)
    place = tmp_path / "list.txt"
    place.write_bytes(
        codecs.BOM_UTF8 + b"000.pftrace\r\n# more\r\n\r\n./000.pftrace\r\n001.pftrace"
    )
    monkeypatch.chdir(traces)
    assert found(f"@{place}") == ["000.pftrace", "001.pftrace"]
    place.write_bytes(b"# none yet\n\n")
    with pytest.raises(tt.UsageError, match=r"list.txt' lists no trace"):
        found(f"@{place}")


def test_a_directory_that_cannot_be_listed_is_not_passed_over(tmp_path, out, monkeypatch):
    traces = write_fleet(tmp_path / "traces", 1)
    shut = traces / "shut"
    shut.mkdir()
    scandir = os.scandir

    def refuse(path):
        if path == str(shut):
            raise PermissionError(errno.EACCES, "Permission denied", str(shut))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert found(traces) == ["000.pftrace", "shut"]
    summary = fleet.convert(traces, out, **FAST)
    assert (summary.converted, [uri for uri, _ in summary.errors]) == (1, [str(shut)])


def test_the_data_set_is_no_trace_of_its_own(traces, monkeypatch):
    monkeypatch.chdir(traces)
    for out in ("fleet", "."):
        fleet.convert(".", out, **FAST)
        summary = fleet.convert(".", out, **FAST)
        assert (summary.traces, summary.unchanged) == (6, 6)
        shutil.rmtree("fleet", ignore_errors=True)


def test_a_url_of_files_is_a_path(traces, out):
    """So that parts are renamed, and a trace is one, however it is named."""
    assert fleet.convert(f"file://{traces}", f"file://{out}", **FAST).converted == 6
    assert fleet.convert(traces, out, **FAST).unchanged == 6
    assert_complete(out, traces)


def test_a_damaged_record_is_made_again(traces, out):
    fleet.convert(traces, out, **FAST)
    for place, junk in zip(sorted(out.glob("log/events/*")), (b"", b"[]", b"{"), strict=False):
        place.write_bytes(junk)
    summary = fleet.convert(traces, out, **FAST)
    assert (summary.converted, summary.unchanged) == (3, 3)
    assert_complete(out, traces)


@pytest.mark.parametrize("junk", [b"", b"[1]", b'{"a'])
def test_damaged_options_of_a_data_set_are_an_error(traces, out, junk):
    fleet.convert(traces, out, **FAST)
    (out / "log" / "events.json").write_bytes(junk)
    with pytest.raises(tt.UsageError, match=r"log/events.json of the data set is damaged"):
        fleet.convert(traces, out, **FAST)


def test_a_name_that_is_no_utf8_is_a_name(tmp_path, out):
    path = os.fsencode(tmp_path) + b"/\xff.pftrace"
    Path(os.fsdecode(path)).write_bytes(small_trace(1))
    assert fleet.convert(os.fsdecode(path), out, **FAST).converted == 1
    assert fleet.convert(os.fsdecode(path), out, **FAST).unchanged == 1
    (name,) = rows(out)
    assert name.endswith("\\udcff.pftrace")


def test_progress_ends_where_everything_is_done(traces, out):
    seen = []
    fleet.convert(traces, out, progress=lambda at: seen.append((at.done, at.total)), **FAST)
    assert seen == [(n, 6) for n in range(7)]


def test_a_number_of_workers_below_one_is_an_error(traces, out):
    with pytest.raises(tt.UsageError, match="use 1 or more"):
        fleet.convert(traces, out, workers=0)


def test_a_worker_that_has_another_directory_of_the_name_ends_the_run(traces, out):
    from tracetime.fleet.run import _call

    uri = str(traces / "000.pftrace")
    with pytest.raises(tt.UsageError, match=r"a worker on .* has no data set in .*or a URL"):
        _call(convert_one, str(out), Options("events"), uri)
    assert not list(out.glob("*"))


def test_an_address_without_ray_names_the_extra(traces, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(tt.UsageError, match=r"needs Ray: pip install tracetime\[ray\]"):
        fleet.convert(traces, out, address="local")
