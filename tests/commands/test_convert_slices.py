"""`tracetime convert --slices`: what it writes, what it says, and with which exit code."""

import csv
import json

import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from building import packet, pb, trace
from samples import BOOTTIME, EMPTY, SLICES

from tracetime import UsageError, open_trace
from tracetime.verbs.convert import convert_slices

pytest_plugins = ["cli"]


def test_it_writes_slices_and_says_how_many(tracetime, write, tmp_path):
    out = tmp_path / "slices.parquet"
    code, text, err = tracetime("convert", write(SLICES), "-o", out, "--slices")
    assert (code, err) == (0, "")
    assert text.startswith("2 slices on trace time BOOTTIME in")
    assert "did not end" not in text
    table = pq.read_table(out)
    assert table["name"].to_pylist() == ["outer", "inner"]
    assert table["dur"].to_pylist() == [10, 3]


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_every_kind_of_file_has_the_same(write, tmp_path, ending):
    out = tmp_path / f"slices{ending}"
    path = write(SLICES)
    with open_trace(path) as opened:
        summary = convert_slices(opened, out)
        expected = opened.slices().read_all().to_pylist()
    assert summary.rows == len(expected) == 2
    if ending == ".csv":
        with out.open() as file:
            rows = list(csv.DictReader(file))
        assert [(row["name"], row["ts"], row["parent"]) for row in rows] == [
            (one["name"], str(one["ts"]), "" if one["parent"] is None else str(one["parent"]))
            for one in expected
        ]
        return
    with out.open("rb") as file:
        table = pq.read_table(file) if ending == ".parquet" else ipc.open_file(file).read_all()
    assert table.to_pylist() == expected
    assert table.schema.metadata[b"tracetime.trace_clock"] == b"BOOTTIME"
    assert table.schema.metadata[b"tracetime.policy"] == b"floor"


def test_by_the_tube_there_are_bars(tracetime, write, tmp_path):
    out = tmp_path / "slices.parquet"
    code, _, err = tracetime("convert", write(SLICES), "-o", out, "--slices", "--policy", "tube")
    assert (code, err) == (0, "")
    table = pq.read_table(out)
    assert table["dur_error_ns"].to_pylist() == [0, 0]
    assert table.schema.metadata[b"tracetime.bars"] == b"estimated"


def test_json_is_the_summary(tracetime, write, tmp_path):
    path, out = write(SLICES), str(tmp_path / "o.csv")
    code, text, err = tracetime("convert", path, "-o", out, "--slices", "--json")
    assert (code, err) == (0, "")
    assert json.loads(text) == {
        "trace": path,
        "out": out,
        "trace_clock": "BOOTTIME",
        "policy": "floor",
        "bars": None,
        "rows": 2,
        "open": 0,
        "unresolved": 0,
        "left_out": 0,
        "names_left_out": 0,
        "not_nested": 0,
        "reversed": 0,
        "unmatched": 0,
        "warnings": [],
        "n_warnings": 0,
        "events_dropped": 0,
        "truncated": None,
    }


def test_slices_that_did_not_end_are_counted(tracetime, write, tmp_path):
    # Without its last packet the outer one stays open.
    cut = SLICES[: SLICES.rindex(b"\x0a")]
    path, out = write(cut), tmp_path / "o.csv"
    code, text, _ = tracetime("convert", path, "-o", out, "--slices", "--partial")
    assert code == 0
    assert "1 slice did not end: dur is -1" in text


def test_a_trace_without_slices_makes_an_empty_table(tracetime, write, tmp_path):
    out = tmp_path / "o.parquet"
    code, text, err = tracetime("convert", write(EMPTY), "-o", out, "--slices")
    assert (code, err) == (0, "")
    assert text.startswith("0 slices")
    assert pq.read_table(out).num_rows == 0


def test_a_cut_off_trace_leaves_no_file(tracetime, write, tmp_path):
    out = tmp_path / "o.parquet"
    code, text, err = tracetime("convert", write(SLICES[:-3]), "-o", out, "--slices")
    assert (code, text) == (3, "")
    assert "cut off" in err
    assert not out.exists()
    options = ("--slices", "--partial", "--strict")
    code, text, _ = tracetime("convert", write(SLICES[:-3]), "-o", out, *options)
    assert code == 1
    assert "cut off" in text
    assert out.exists()


@pytest.mark.parametrize("options", [["--with-names"], ["--to", "BOOTTIME"]])
def test_options_of_events_do_not_go_with_slices(tracetime, write, tmp_path, options):
    out = tmp_path / "o.parquet"
    code, text, err = tracetime("convert", write(SLICES), "-o", out, "--slices", *options)
    assert (code, text) == (2, "")
    assert "--slices" in err
    assert not out.exists()


def test_the_ending_is_checked(write, tmp_path):
    with open_trace(write(SLICES)) as opened, pytest.raises(UsageError, match="format"):
        convert_slices(opened, tmp_path / "o.xyz")


def test_events_without_a_time_are_counted_and_strict_refuses_them(tracetime, write, tmp_path):
    lost = trace(packet(5, 99, 1, track_event=pb.TrackEvent(type=1, name="lost", track_uuid=7)))
    path, out = write(SLICES + lost), tmp_path / "o.csv"
    code, text, _ = tracetime("convert", path, "-o", out, "--slices")
    assert code == 0
    assert text.startswith("2 slices")
    assert text.endswith(
        "1 event without a trace time, in no slice: convert without --slices says why\n"
    )
    assert tracetime("convert", path, "-o", out, "--slices", "--strict")[0] == 1
    assert tracetime("convert", write(SLICES), "-o", out, "--slices", "--strict")[0] == 0


def test_lines_of_a_log_without_a_time_are_none_that_slices_lack(tracetime, write, tmp_path):
    lines = pb.AndroidLogPacket()
    for k in range(3):
        lines.events.add(timestamp=10**9 + k, message="m")
    logged = trace(packet(None, None, 1, android_log=lines))
    path = write(SLICES + logged)
    code, text, _ = tracetime("convert", path, "-o", tmp_path / "o.csv")
    assert code == 0 and "3 events without a trace time" in text
    assert "no slice" not in tracetime("convert", path, "-o", tmp_path / "s.csv", "--slices")[1]
    assert "no slice" not in "".join(tracetime("sql", path, "select count(*) from slices")[1:])


def test_by_the_tube_it_says_that_bake_writes_slices_which_floor_does_not_place(
    tracetime, write, tmp_path
):
    lost = trace(packet(5, 99, 1, track_event=pb.TrackEvent(type=1, name="lost", track_uuid=7)))
    given = ("--slices", "--policy", "tube")
    _, text, _ = tracetime("convert", write(SLICES + lost), "-o", tmp_path / "o.csv", *given)
    assert text.endswith(
        "1 event without a trace time by floor or the tube, in no slice: convert without --slices "
        "says why, by each; bake writes what the tube places\n"
    )


@pytest.mark.parametrize(
    ("start", "until", "names"),
    [
        (None, 7, ["outer"]),
        (None, 8, ["outer", "inner"]),
        (10, None, ["outer", "mark", "open"]),
        (9, 12, ["outer", "inner"]),
        (15, None, ["mark", "open"]),
        (20, 21, ["mark", "open"]),
        (21, None, ["open"]),
        (None, 5, []),
    ],
)
def test_a_part_has_what_lasts_within_it(tracetime, write, tmp_path, start, until, names):
    more = trace(
        packet(20, BOOTTIME, 1, track_event=pb.TrackEvent(type=3, name="mark", track_uuid=8)),
        packet(18, BOOTTIME, 1, track_event=pb.TrackEvent(type=1, name="open", track_uuid=7)),
    )
    ends = (("--from", start), ("--until", until))
    given = [str(word) for option in ends if option[1] is not None for word in option]
    out = tmp_path / "part.parquet"
    code, _, err = tracetime("convert", write(SLICES + more), "-o", out, "--slices", *given)
    assert (code, "nothing is between" in err) == (0, not names)
    assert sorted(pq.read_table(out)["name"].to_pylist()) == sorted(names)


def test_slices_go_to_standard_output(tracetime, write):
    path = write(SLICES)
    code, text, err = tracetime("convert", path, "-o", "-", "--format", "csv", "--slices")
    assert (code, err) == (0, "")
    assert [row["name"] for row in csv.DictReader(text.splitlines())] == ["outer", "inner"]


def test_ends_without_a_begin_are_counted(tracetime, tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"ph":"E","pid":1,"tid":1,"ts":1},{"ph":"X","pid":1,"tid":1,"ts":2,"dur":1}]')
    code, text, _ = tracetime("convert", path, "-o", tmp_path / "o.csv", "--slices")
    assert code == 0
    assert "1 slice end without a begin: in no slice" in text
