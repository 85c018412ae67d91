"""Damaged and hostile XDF files: an error that says where, or what comes before the damage."""

import gzip
import struct
from random import Random

import pytest
from seeds import seeds
from xdf_files import XdfFile, two_streams, varlen

from tracetime import TraceError, UsageError, diagnose, open_trace


@pytest.fixture
def opened(tmp_path):
    def write(file, **options):
        path = tmp_path / "t.xdf"
        path.write_bytes(file if isinstance(file, bytes) else file.content)
        return open_trace(path, **options)

    return write


def read_all(trace):
    return trace.read_all("tube", names=True)


def error_of(opened, file):
    with opened(file) as trace, pytest.raises(TraceError) as raised:
        read_all(trace)
    return raised.value


def test_every_cut_is_an_error_at_the_chunk_that_is_cut(opened):
    content = two_streams().content
    starts, at = {len(content)}, 4
    while at < len(content):
        starts.add(at)
        width = content[at]
        at += 1 + width + int.from_bytes(content[at + 1 : at + 1 + width], "little")
    for cut in range(5, len(content), 37):
        if cut in starts:
            continue
        error = error_of(opened, content[:cut])
        assert error.offset == max(start for start in starts if start < cut)


def test_what_comes_before_a_cut_is_kept_with_partial(opened):
    content = two_streams().content
    whole = content[: len(content) * 2 // 3]
    for data in (whole, gzip.compress(content)[: -len(gzip.compress(content)) // 3]):
        with opened(data, partial=True) as trace:
            assert trace.truncated is None
            table = read_all(trace)
            assert 100 < table.num_rows < 205
            assert set(table["status"].to_pylist()) == {"resolved"}
            assert trace.truncated is not None
            assert "trace-truncated" in {finding.code for finding in diagnose(trace)}


def test_samples_before_one_that_is_damaged_are_kept_with_partial(opened):
    file = XdfFile()
    file.stream(1)
    file.samples(1, [1.0, 2.0], [1, 2])
    at = file.chunk(3, 1, varlen(1) + b"\x08" + struct.pack("<d", 3.0) + b"12")
    file.samples(1, [4.0], [4])
    with opened(file, partial=True) as trace:
        assert read_all(trace)["value"].to_pylist() == [1, 2]
        assert trace.truncated.offset == at
    assert error_of(opened, file).offset == at


SAMPLE = b"\x08" + struct.pack("<d", 3.0) + struct.pack("<f", 1.5)
OFFSET_OF_ANOTHER = b"\x01\x16\x04\x00" + struct.pack("<Idd", 77, 1.0, 0.0)
CONTENTS = {
    "more samples than bytes": varlen(1 << 31) + SAMPLE,
    "as many as no int64 holds": varlen((1 << 64) - 1) + SAMPLE,
    "a sample less": varlen(1) + SAMPLE + SAMPLE,
    "a sample more": varlen(3) + SAMPLE + SAMPLE,
    "bytes left over": varlen(1) + SAMPLE + b"x",
    "an offset of no stream left over": varlen(1) + SAMPLE + OFFSET_OF_ANOTHER,
    "a value that is short": varlen(1) + SAMPLE[:-1],
    "no number": b"\x03" + SAMPLE,
    "nothing": b"",
    "no time": varlen(1) + b"\x08" + struct.pack("<d", float("nan")) + b"1234",
    "a time beyond int64": varlen(1) + b"\x08" + struct.pack("<d", 1e10) + b"1234",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_samples_that_cannot_be_are_an_error_at_their_chunk(opened, content):
    file = XdfFile()
    file.stream(1)
    file.samples(1, [1.0], [1])
    at = file.chunk(3, 1, content)
    error = error_of(opened, file)
    assert (error.offset, error.packet) == (at, 3)
    # In the middle of a file it is the same.
    file.samples(1, [9.0], [1])
    file.boundary()
    assert error_of(opened, file).offset == at


TEXTS = {
    "longer than the file": varlen(1) + b"\x00" + b"\x08" + struct.pack("<Q", 1 << 62) + b"x",
    "longer than the chunk": varlen(1) + b"\x00" + varlen(40) + b"x",
    "no length": varlen(1) + b"\x00" + b"\x07abc",
    "fewer than said": varlen(2) + b"\x00" + varlen(1) + b"x",
}


@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)
def test_markers_that_cannot_be_are_an_error_at_their_chunk(opened, content):
    file = XdfFile()
    file.stream(1, channel_format="string")
    at = file.chunk(3, 1, content)
    for _ in range(3):
        file.samples(1, [9.0], ["y" * 30])
    assert error_of(opened, file).offset == at


def test_text_that_is_no_utf_8_is_read(opened):
    file = XdfFile()
    file.stream(1, channel_format="string")
    file.chunk(3, 1, varlen(1) + b"\x00" + varlen(2) + b"\xff\x00")
    with opened(file) as trace:
        assert read_all(trace)["name"].to_pylist() == ["�\0"]


HEADERS = {
    "no XML": b"<info><name>",
    "nothing": b"",
    "no channels": b"<info><channel_format>int8</channel_format></info>",
    "many channels": b"<info><channel_count>99999999999</channel_count></info>",
    "channels below 0": b"<info><channel_count>-1</channel_count></info>",
    "another format": b"<info><channel_count>1</channel_count><channel_format>int9</channel_format></info>",
    "no rate": b"<info><channel_count>1</channel_count><channel_format>int8</channel_format></info>",
    "entities": b"<!DOCTYPE a [<!ENTITY b 'cc'><!ENTITY d '&b;&b;'>]><info>&d;</info>",
    "a rate that is none": b"<info><channel_count>1</channel_count><channel_format>int8</channel_format>"
    b"<nominal_srate>nan</nominal_srate></info>",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_headers_that_cannot_be_are_an_error(opened, header):
    file = XdfFile()
    at = file.chunk(2, 1, header)
    error = error_of(opened, file)
    assert (error.offset, error.packet) == (at, 1)
    assert "stream 1" in str(error)


def test_entities_are_refused_before_they_grow(opened):
    file = XdfFile()
    file.chunk(2, 1, HEADERS["entities"])
    assert "declares entities" in str(error_of(opened, file))


def test_the_first_field_of_a_name_counts(opened):
    file = XdfFile()
    file.stream(1, hostname="a</hostname><name>b</name><hostname>c")
    file.samples(1, [1.0], [1])
    with opened(file) as trace:
        (row,) = trace.read_all(names=True).to_pylist()
    assert (row["name"], row["process_name"]) == ("EEG", "a")


def test_a_header_may_be_deep_and_long(opened):
    file = XdfFile()
    file.stream(1, desc="<a>" * 50_000 + "</a>" * 50_000 + "<name>another</name>")
    file.samples(1, [1.0], [1])
    with opened(file) as trace:
        assert trace.read_all(names=True)["name"].to_pylist() == ["EEG"]


def test_a_huge_header_is_refused_unread(opened):
    file = XdfFile()
    at = file.chunk(2, 1, b"<info>" + b" " * (9 << 20))
    assert error_of(opened, file).offset == at


@pytest.mark.parametrize("tag", [3, 4, 6])
def test_a_chunk_before_the_header_of_its_stream_is_an_error(opened, tag):
    file = XdfFile()
    at = file.chunk(tag, 5, bytes(16))
    file.stream(5)
    error = error_of(opened, file)
    assert error.offset == at and "no header" in str(error)


def test_a_second_header_of_a_stream_is_an_error(opened):
    file = XdfFile()
    file.stream(5)
    at = file.stream(5)
    assert error_of(opened, file).offset == at


def test_an_offset_of_another_size_is_an_error_in_every_reading(opened):
    file = XdfFile()
    file.stream(5)
    file.samples(5, [1.0], [1])
    at = file.chunk(4, 5, bytes(15))
    file.stream(6)
    file.samples(6, [1.0], [1])
    assert error_of(opened, file).offset == at
    with opened(file, partial=True) as trace:
        assert read_all(trace).num_rows == 1
        assert trace.truncated.offset == at


@pytest.mark.parametrize("tag", [0, 7, 65535])
def test_an_unknown_tag_is_an_error(opened, tag):
    file = XdfFile()
    at = file.chunk(tag, None, b"abcd")
    assert error_of(opened, file).offset == at


def test_more_streams_than_a_recording_has_are_an_error(opened, monkeypatch):
    monkeypatch.setattr("tracetime.formats.xdf.stream_header._MOST_STREAMS", 3)
    file = XdfFile()
    for number in range(4):
        at = file.stream(number)
    assert error_of(opened, file).offset == at


def test_a_chunk_of_samples_has_a_greatest_size(opened, monkeypatch):
    monkeypatch.setattr("tracetime.formats.xdf.samples.MOST_TEXT_BYTES", 100)
    file = XdfFile()
    file.stream(1, channel_format="string")
    at = file.samples(1, [1.0], ["x" * 200])
    assert error_of(opened, file).offset == at


@pytest.mark.parametrize("seed", seeds(8))
def test_bytes_that_are_changed_are_read_or_an_error(opened, seed):
    random = Random(seed)
    content = bytearray(two_streams().content)
    for _ in range(random.randrange(1, 30)):
        content[random.randrange(4, len(content))] = random.randrange(256)
    with opened(bytes(content), partial=bool(seed % 2)) as trace:
        try:
            read_all(trace)
            diagnose(trace)
        except (TraceError, UsageError):
            pass


def test_a_closed_trace_is_not_read(opened):
    trace = opened(two_streams())
    trace.close()
    with pytest.raises(UsageError, match="closed"):
        read_all(trace)
    with pytest.raises(UsageError, match="closed"):
        trace.clocks.clocks()


def test_events_of_a_trace_that_is_closed_meanwhile_are_an_error(opened):
    trace = opened(gzip.compress(two_streams().content))
    assert trace.clocks.clocks()
    events = trace.events()
    trace.close()
    with pytest.raises(UsageError, match="closed"):
        list(events)
