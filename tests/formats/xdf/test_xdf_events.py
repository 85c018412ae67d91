"""Samples of XDF files as events: what each row says, in the order of the file."""

import gzip
import json
from fractions import Fraction

import numpy as np
import pytest
from xdf_files import XdfFile, two_streams

from tracetime import ClockId, UsageError, diagnose, open_trace
from tracetime.sql.session import Session, View

pytest_plugins = ["cli"]

HOST = ClockId.parse("lsl.lab-pc@machine1")


@pytest.fixture
def opened(tmp_path):
    """Opens the trace of an XDF file."""

    def write(file, **options):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.xdf"
        path.write_bytes(file if isinstance(file, bytes) else file.content)
        return open_trace(path, **options)

    return write


def test_each_sample_is_a_row_in_file_order(opened):
    file = two_streams()
    with opened(file) as trace:
        assert trace.trace_clock == ClockId.parse("MONOTONIC")
        rows = trace.read_all().to_pylist()
    assert len(rows) == 20 * 10 + 5
    assert rows[0] == {
        "packet": 3,
        "kind": "sample",
        "item": 0,
        "payload": None,
        "packet_sequence": 0,
        "sequence": 0,
        "machine": 1,
        "clock": HOST.clock,
        "timestamp": 50_000_000_000,
        "trace_time": 1_050_000_000_000,
        "status": "resolved",
        "offset": rows[0]["offset"],
    }
    assert [row["item"] for row in rows[:11]] == [*range(10), 0]
    offsets = [row["offset"] for row in rows]
    assert offsets == sorted(offsets) and len(set(offsets)) == 25


def test_the_offset_is_the_first_byte_of_the_chunk(opened):
    file = XdfFile()
    file.stream(1)
    at = file.samples(1, [1.0], [1.0])
    with opened(file) as trace:
        assert trace.read_all()["offset"].to_pylist() == [at]


def test_a_timestamp_that_is_left_out_is_the_one_before_and_a_period(opened):
    """In double arithmetic, as LabRecorder leaves it out: where this sum is the timestamp."""
    file = XdfFile()
    file.stream(1, srate=30)
    file.samples(1, [653153.2121885, None, None], [0, 0, 0])
    file.samples(1, [None, 653154.0], [0, 0])
    stamps = [653153.2121885]
    for _ in range(3):
        stamps.append(stamps[-1] + 1 / 30)
    with opened(file) as trace:
        got = trace.read_all()["timestamp"].to_pylist()
    assert got == [round(Fraction(stamp) * 10**9) for stamp in [*stamps, 653154.0]]


def test_a_timestamp_goes_on_from_the_batch_before(opened, monkeypatch):
    monkeypatch.setattr("tracetime.formats.xdf.chunks._AT_ONCE", 16)
    file = XdfFile()
    file.stream(1, srate=4)
    file.stream(2, channels=2, channel_format="string", srate=4)
    for stream, value in ((1, 0), (2, ["a", "b"])):
        file.samples(stream, [10.0, None], [value] * 2)
        file.samples(stream, [None], [value])
        file.samples(stream, [None, None], [value] * 2)
    with opened(file) as trace:
        got = trace.read_all(names=True)
    assert got["timestamp"].to_pylist() == [10_000_000_000 + k * 250_000_000 for k in range(5)] * 2
    assert got["name"].to_pylist() == ["EEG"] * 5 + ["a"] * 5


@pytest.mark.parametrize("seconds", [0.1, -0.1, 653153.2121885, 1.7e9 + 1 / 3, 3.9e9, 1e-310])
def test_timestamps_are_the_nearest_ns_of_the_double(opened, seconds):
    file = XdfFile()
    file.stream(1)
    file.samples(1, [seconds], [0])
    with opened(file) as trace:
        (got,) = trace.read_all()["timestamp"].to_pylist()
    assert abs(got - Fraction(seconds) * 10**9) <= Fraction(1, 2) + Fraction(1, 10**6)


@pytest.mark.sweep
def test_a_large_chunk_comes_in_several_batches(opened):
    n = 150_000
    file = XdfFile()
    file.stream(1, channel_format="int32", srate=1000)
    file.samples(1, [5.0, *[None] * (n - 1)], range(n))
    with opened(file) as trace:
        batches = list(trace.events(names=True))
    assert [batch.num_rows for batch in batches] == [65_536, 65_536, 18_928]
    values = np.concatenate([batch["value"].to_numpy() for batch in batches])
    items = np.concatenate([batch["item"].to_numpy() for batch in batches])
    assert (values == np.arange(n)).all() and (items == np.arange(n)).all()


def test_names_say_the_stream_the_marker_and_the_channels(opened):
    with opened(two_streams()) as trace:
        rows = trace.read_all(names=True).to_pylist()
    names = ("name", "category", "type", "value", "track", "track_name", "process_name", "args")
    number, marker = rows[1], rows[10]
    assert [number[name] for name in names] == [
        "EEG",
        "EEG",
        "counter",
        pytest.approx(0.1),
        1,
        "EEG",
        "lab-pc",
        '{"channels":[0.1,0]}',
    ]
    assert [marker[name] for name in names] == [
        "stimulus 0",
        "Markers",
        "instant",
        None,
        2,
        "Stimuli",
        "lab-pc",
        None,
    ]


def test_channels_are_json_whatever_they_hold(opened):
    file = XdfFile()
    file.stream(1, channels=3, channel_format="double64")
    file.samples(1, [1.0, 2.0], [[1e300, float("nan"), -0.5], [float("inf"), 0, 3]])
    file.stream(2, "M", "Markers", channels=2, channel_format="string")
    file.samples(2, [1.0], [['say "ä"', "\x01\n"]])
    file.stream(3, channels=33)
    file.samples(3, [1.0], [[7] * 33])
    with opened(file) as trace:
        rows = trace.read_all(names=True).to_pylist()
    assert json.loads(rows[0]["args"]) == {"channels": [1e300, None, -0.5]}
    assert json.loads(rows[1]["args"]) == {"channels": [None, 0, 3]}
    assert json.loads(rows[2]["args"]) == {"channels": ['say "ä"', "\x01\n"]}
    assert rows[2]["name"] == 'say "ä"'
    assert rows[3]["args"] is None and rows[3]["value"] == 7


def test_every_format_of_channels_is_read(opened):
    file = XdfFile()
    formats = ("float32", "double64", "int8", "int16", "int32", "int64")
    for number, name in enumerate(formats):
        file.stream(number, channels=2, channel_format=name)
        file.samples(number, [1.0, 2.0], [[-7, 1], [100, 1]])
    with opened(file) as trace:
        assert trace.read_all(names=True)["value"].to_pylist() == [-7, 100] * len(formats)


def test_a_compressed_file_is_the_same(opened):
    file = two_streams()
    with opened(file) as trace, opened(gzip.compress(file.content)) as packed:
        assert packed.read_all("tube", names=True) == trace.read_all("tube", names=True)


def test_empty_streams_and_chunks_are_no_rows(opened):
    file = XdfFile()
    file.stream(1, channels=9)
    file.samples(1, [], [])
    with opened(file) as trace:
        assert trace.read_all(names=True).num_rows == 0
        assert trace.machines == [0, 1]
    with opened(b"XDF:") as trace:
        assert trace.read_all("tube").num_rows == 0
        assert [finding.code for finding in diagnose(trace)] == ["no-events"]


def test_the_overview_names_streams_and_those_without_samples(tracetime, tmp_path):
    file = two_streams()
    path = tmp_path / "t.xdf"
    path.write_bytes(file.content)
    assert "It is of EEG (EEG), Stimuli (Markers).\n" in tracetime(path)[1]
    file.stream(3, "Gaze", "", channels=2)
    path.write_bytes(file.content)
    said = "It is of 1 stream without samples: Gaze; EEG (EEG), Stimuli (Markers).\n"
    assert said in tracetime(path)[1]


def test_commands_take_it(tracetime, tmp_path):
    path = tmp_path / "t.xdf"
    path.write_bytes(two_streams().content)
    assert "lsl.lab-pc@machine1" in tracetime("clocks", path)[1]
    at = ("at", path, "50500000000", "--from", "lsl.lab-pc@machine1", "--policy", "tube")
    code, printed, _ = tracetime(*at)
    assert code == 0 and "(assumed)" in printed
    out = tmp_path / "o.parquet"
    code, printed, _ = tracetime("convert", path, "-o", out, "--policy", "tube", "--json")
    assert (code, json.loads(printed)["rows"]) == (0, 205)
    assert json.loads(tracetime("doctor", path, "--json")[1])["traces"][0]["findings"][0][
        "code"
    ] == ("no-realtime")
    assert tracetime("report", path, "-o", tmp_path / "r.html")[0] == 0


def test_streams_are_asked_in_sql(opened):
    with opened(two_streams()) as trace, Session([trace], View(policy="tube")) as session:
        asked = (
            "SELECT name, (SELECT count(*) FROM events AS e WHERE e.category = 'EEG' AND "
            "e.trace_time BETWEEN m.trace_time AND m.trace_time + 1000000000) "
            "FROM events AS m WHERE category = 'Markers' ORDER BY trace_time"
        )
        (batch,) = session.run(asked).batches
        rows = [list(row.values()) for row in batch.to_pylist()]
    assert rows == [[f"stimulus {k}", 10] for k in (0, 4, 8, 12, 16)]


def test_slices_are_none(opened):
    with opened(two_streams()) as trace, pytest.raises(UsageError, match="not in this format"):
        trace.slices()


def test_progress_ends_at_the_size_of_the_file(opened):
    file = two_streams()
    for content in (file.content, gzip.compress(file.content)):
        reached = []
        with opened(content) as trace:
            list(trace.events(progress=reached.append))
            assert 0 < reached[-1] <= len(content)
            assert reached[-1] >= len(content) * 0.8
