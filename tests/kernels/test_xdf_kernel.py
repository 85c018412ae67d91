"""The kernel of XDF beside what is slow: pyxdf, and medians one by one."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdf_files import CODES, XdfFile

from tracetime import open_trace
from tracetime._kernels import xdf
from tracetime.formats.xdf import chunks

pyxdf = pytest.importorskip("pyxdf")

STAMPS = st.none() | st.floats(0, 3e9)
FORMATS = [*CODES, "string"]
STREAMS = st.lists(
    st.tuples(st.sampled_from(FORMATS), st.integers(1, 3), st.sampled_from([0, 3, 100.5])),
    min_size=1,
    max_size=3,
)


def content_of(streams, turns):
    file = XdfFile()
    for number, (form, channels, srate) in enumerate(streams):
        file.stream(number, channels=channels, channel_format=form, srate=srate)
    for which, stamps, value in turns:
        number = which % len(streams)
        values = [[value] * streams[number][1]] * len(stamps)
        file.samples(number, stamps, values)
        file.boundary()
    return file.content


@given(
    STREAMS,
    st.lists(st.tuples(st.integers(0, 2), st.lists(STAMPS, max_size=4), st.integers(-9, 127))),
    st.integers(16, 200),
)
def test_samples_are_those_of_pyxdf(tmp_path_factory, streams, turns, at_once):
    content = content_of(streams, turns)
    path = tmp_path_factory.mktemp("xdf") / "t.xdf"
    path.write_bytes(content)
    # It divides by how long streams last.
    with np.errstate(all="ignore"):
        loaded, _ = pyxdf.load_xdf(
            io.BytesIO(content), synchronize_clocks=False, dejitter_timestamps=False
        )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chunks, "_AT_ONCE", at_once)
        with open_trace(path) as trace:
            table = trace.read_all(names=True)
    for number, (stream, (form, channels, _)) in enumerate(zip(loaded, streams, strict=True)):
        rows = table.filter(np.array(table["track"]) == number)
        stamps = np.array(stream["time_stamps"])
        assert np.abs(rows["timestamp"].to_numpy() / 1e9 - stamps).max(initial=0) < 1e-6
        first = [row[0] for row in stream["time_series"]]
        assert rows["name" if form == "string" else "value"].to_pylist() == first
        assert all((args is not None) == (channels > 1) for args in rows["args"].to_pylist())


@given(st.binary(max_size=80), st.integers(0, 200), st.integers(1, 3), st.integers(0, 8))
def test_any_bytes_are_chunks_and_samples_or_none(data, beyond, channels, channel_bytes):
    found, after, fault, n_bytes = xdf.chunks(data, len(data) + beyond)
    assert (found[:, 0] < found[:, 3]).all() and (found[:, 3] <= found[:, 4]).all()
    assert fault in (0, 1, 2) and after <= len(data) + beyond and (fault == 2) == (n_bytes > 0)
    reader = xdf.SampleReader(4e9)
    reader.add_stream(channels, channel_bytes, 0.5)
    whole = np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([len(data)])
    counts, seconds, places, fault = reader.read(data, *whole)
    assert counts.sum() == len(seconds) == len(places) and (fault == 0) == (len(counts) == 1)
    assert (np.abs(seconds) < 4e9).all()
    if not channel_bytes:
        texts = xdf.text_places(data, places, channels)
        assert (texts[..., 0] <= texts[..., 1]).all() and texts.max(initial=0) <= len(data)


@given(
    st.lists(st.integers(-5, 5), max_size=30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20),
)
def test_medians_of_windows_are_those_of_each(values, bounds):
    numbers = np.array(values, np.float64)
    begins, ends = (
        np.sort(np.minimum(b, len(values))) for b in np.array(bounds, int).reshape(-1, 2).T
    )
    begins = np.minimum(begins, ends)
    found = xdf.window_medians(numbers, begins, ends)
    each = [np.median(numbers[b:e]) if e > b else np.nan for b, e in zip(begins, ends, strict=True)]
    assert np.array_equal(found, each, equal_nan=True)


def test_what_is_outside_the_data_is_refused():
    reader = xdf.SampleReader(4e9)
    one = np.zeros(1, np.int64)
    with pytest.raises(IndexError):
        reader.read(b"\1\0", one, one, np.array([2]))
    reader.add_stream(1, 4, 1.0)
    with pytest.raises(IndexError):
        reader.read(b"\1\0", one, one, np.array([3]))
    with pytest.raises(IndexError):
        xdf.text_places(b"\1\5a", one, 1)
    with pytest.raises(ValueError, match="no samples"):
        reader.add_stream(0, 4, 1.0)
    with pytest.raises(ValueError, match="windows ascend"):
        xdf.window_medians(np.zeros(2), np.array([1, 0]), np.array([2, 2]))
