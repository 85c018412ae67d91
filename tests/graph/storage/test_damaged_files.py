"""Files that are none, cut off, damaged: an error, or another graph."""

from __future__ import annotations

import copy
import io
import zipfile

import pytest
from graph_files import array, facts_of, members_of, refused, remade, survives, zipped
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

from tracetime import (
    TraceError,
)
from tracetime.graph.clock_graph import from_bytes, to_bytes
from tracetime.graph.storage.save import FACTS, FORMAT

DEMO = ROOT / "demo" / "demo.pftrace"


def test_the_example_itself_is_whole(example):
    assert to_bytes(from_bytes(example)) == example
    assert to_bytes(from_bytes(remade(example))) == example


def test_what_is_no_graph(tmp_path, example):
    path = tmp_path / "graph.npz"
    refused(path, b"", "ClockGraph.save did not write it; open_trace opens traces")
    refused(path, DEMO.read_bytes(), "did not write it; open_trace opens traces")
    refused(path, b"PK\3\4", "it is cut off or damaged: File is not a zip file; get a whole copy")
    facts = FACTS, members_of(example)[FACTS]
    for members in ([("a.npy", array([1]))], [facts]):
        refused(path, zipped(members), "a zip file, but ClockGraph.save did not write it")
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped([*members_of(example).items(), facts])
    refused(path, twice, "a zip file, but ClockGraph.save did not write it")
    refused(path, remade(example, reading_ns=None), "but ClockGraph.save did not write it")
    refused(path, remade(example, more=array([1] * 12)), "but ClockGraph.save did not write it")


def test_columns_that_are_none(tmp_path, example):
    path, whole = tmp_path / "graph.npz", array([0] * 12)
    for column, match in (
        (array([0] * 12, "<u8"), "half_width_ns in it is not an array of int64"),
        (array([0] * 12, ">i8"), "half_width_ns in it is not an array of int64"),
        (array([0] * 12, "<f8"), "half_width_ns in it is not an array of int64"),
        (array([[0] * 12]), "half_width_ns in it is not an array of int64"),
        (array(5), "half_width_ns in it is not an array of int64"),
        (b"", "half_width_ns in it is not an array of int64"),
        (whole[:100], "half_width_ns in it is not an array of int64"),
        (whole[:-1], "half_width_ns in it is not an array of 12 values"),
        (whole + b"0", "half_width_ns in it is not an array of 12 values"),
        (whole.replace(b"(12,)", b"(99,)"), "half_width_ns in it is not an array of 99 values"),
        (
            whole.replace(b"(12,), }" + b" " * 17, b"(1" + b"0" * 17 + b",), } "),
            "not an array of 10{17} v",
        ),
        (array([0] * 13), "its columns are not equally long"),
    ):
        refused(path, remade(example, half_width_ns=column), match)


def test_of_a_later_version(tmp_path, example):
    path = tmp_path / "graph.npz"
    later = facts_of(example) | {"format": FORMAT + 1}
    refused(
        path, remade(example, later), f"it has format {FORMAT + 1}, of tracetime '.*', .*: upgrade"
    )


def test_compressed_columns_are_not_expanded(tmp_path, example):
    """A few kB would become as much memory as somebody likes."""
    members = list(members_of(example).items())
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(tmp_path / "graph.npz", zipped(members, compression), "is compressed")


def test_members_that_overlap_are_not_read(tmp_path, example):
    """One stretch of a file under several names would become several times as much."""
    members = list(members_of(example).items())
    large = zipped([(name, content * 1000) for name, content in members])
    with zipfile.ZipFile(io.BytesIO(large)) as archive:
        first = archive.infolist()[0]
        sink = io.BytesIO(large[: first.file_size + 100])
    with zipfile.ZipFile(sink, "a") as archive:
        for name, _ in members:
            twin = copy.copy(first)
            twin.filename = name
            archive.filelist.append(twin)
            archive.NameToInfo[name] = twin
        archive._didModify = True
    refused(tmp_path / "graph.npz", sink.getvalue(), "compressed|damaged")


def test_every_cut_is_an_error(example):
    for n in range(len(example)):
        with pytest.raises(TraceError):
            from_bytes(example[:n])


def test_no_flipped_byte_does_more_than_damage(example):
    changed = 0
    for n in range(len(example)):
        damaged = bytearray(example)
        damaged[n] ^= 1 << n % 8
        try:
            changed += to_bytes(from_bytes(bytes(damaged))) != example
        except TraceError:
            changed += 1
    assert changed > len(example) // 2


@settings(max_examples=300)
@given(st.data())
def test_any_damage_is_an_error_or_another_graph(example, data):
    damaged = bytearray(example)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(example) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(damaged))


@pytest.fixture(scope="module")
def in_order(example):
    """A file with orders of three clocks."""
    graph = from_bytes(example)
    graph.add_order(([1, 2], "BOOTTIME"), ([11, 12], "REALTIME"), max_delay_ns=[8, 9])
    graph.add_order((3, "a.host"), (13, "REALTIME"), min_delay_ns=4)
    return to_bytes(graph)


def test_orders_that_are_none(tmp_path, in_order):
    path, facts = tmp_path / "graph.npz", facts_of(in_order)
    one, other = facts["orders"]
    for orders, match in (
        ([one, one], "it has orders of .*, or has them twice"),
        ([one, one[::-1]], "it has orders of .*, or has them twice"),
        ([one, [other[0], other[0]]], "it has orders of .*, or has them twice"),
        ([one, other[:1]], "orders of something other than two clocks"),
        ([one, 5], "orders of something other than two clocks"),
        ([one], "it has orders of clocks that it does not have"),
        ([one, other, [one[0], other[0]]], "names two clocks as in order, and has no orders"),
        ([], "it has orders, and does not say of which clocks"),
        ({}, "its 'orders' is not of type list"),
    ):
        refused(path, remade(in_order, facts | {"orders": orders}), match)
    for name, values, match in (
        ("pair", array([0, 0, 2], "<u4"), "it has orders of clocks that it does not have"),
        ("pair", array([0, 1], "<u4"), "the columns of its orders are not equally long"),
        ("one_first", array([0, 1, 2], "<u4"), "an order in it has no direction"),
        ("min_delay_ns", array([0, 0, -1]), "a delay out of range"),
        ("min_delay_ns", array([0, 10, 0]), "a greatest delay below its least"),
        ("max_delay_ns", array([8, 9, -2]), "a greatest delay below its least"),
        ("max_delay_ns", array([8, 9, 1 << 56]), "a delay out of range"),
        ("one_ts", None, "lacks columns of their orders"),
    ):
        refused(path, remade(in_order, **{f"order_{name}": values}), match)


def test_files_without_orders(in_order, example):
    """Earlier formats had none."""
    for version in (1, 2):
        facts = {k: v for k, v in facts_of(example).items() if k != "orders"} | {"format": version}
        assert from_bytes(remade(example, facts)).orders() == []
    assert len(from_bytes(in_order).orders()) == 2


@settings(max_examples=100)
@given(data=st.data())
def test_flipped_bytes_of_orders(in_order, data):
    at = data.draw(st.integers(0, len(in_order) - 1))
    changed = bytearray(in_order)
    changed[at] ^= data.draw(st.integers(1, 255))
    survives(bytes(changed))
