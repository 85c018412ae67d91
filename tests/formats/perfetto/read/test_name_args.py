"""Arguments of events, and text of any kind.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI) and
importers/common/process_tracker.cc (PT), where those are named.
"""

from __future__ import annotations

import json
import math
import struct

import pytest
from building import (
    pb,
    trace,
    varint,
)
from hypothesis import given
from hypothesis import strategies as st
from naming import (
    BEGIN,
    CLOCKS,
    annotation,
    args,
    column,
    interned,
    rows,
    thread,
    track_event,
)

# Arguments


def test_an_event_without_annotations_has_no_args():
    assert args() is None


@pytest.mark.parametrize(
    "value",
    [True, False, 0, -1, 2**63 - 1, -(2**63), 0.1, -0.0, 1e300, 5e-324, 1e22, 3.0, 123456789.125,
     "", "text", 'quo"te', "back\\slash", "new\nline\ttab\x00\x1f\x7f", "日本 €  😀",
     {}, [], {"a": 1, "b": [1, "x", {"c": None}]}, [[0.5], [[1]]], None],
)  # fmt: skip
def test_values(value):
    # On the wire, an empty dictionary or list is nothing.
    expected = None if isinstance(value, dict | list) and not value else value
    found = args(annotation(value, name="x"))["x"]
    assert found == expected
    assert type(found) is type(expected)


def test_values_of_other_kinds():
    assert args(
        pb.DebugAnnotation(name="u", uint_value=2**64 - 1),
        pb.DebugAnnotation(name="p", pointer_value=0xDEADBEEF),
        pb.DebugAnnotation(name="nan", double_value=math.nan),
        pb.DebugAnnotation(name="inf", double_value=math.inf),
        pb.DebugAnnotation(name="low", double_value=-math.inf),
        pb.DebugAnnotation(name="json", legacy_json_value='{"a": [1, true, null]}'),
        pb.DebugAnnotation(name="proto", proto_value=b"xyz"),
    ) == {
        "u": 2**64 - 1,
        "p": "0xdeadbeef",
        "nan": "NaN",
        "inf": "Infinity",
        "low": "-Infinity",
        "json": {"a": [1, True, None]},
        "proto": None,
    }


def test_interned_args():
    defined = interned(
        None, None, {1: "key", 2: "other"}, {5: b"value", 6: b"bad \xff\xe2\x82 end"}
    )
    assert args(
        pb.DebugAnnotation(name_iid=1, string_value_iid=5),
        pb.DebugAnnotation(name_iid=2, string_value_iid=6),
        pb.DebugAnnotation(name_iid=3, int_value=1),
        pb.DebugAnnotation(int_value=1),
        pb.DebugAnnotation(name="gone", string_value_iid=9),
        defined=defined,
    ) == {"key": "value", "other": "bad �� end", "gone": None}


def test_nested_values():
    value = pb.DebugAnnotation.NestedValue
    made = value(
        nested_type=1,
        dict_keys=["a", "b", "c", "d", "missing"],
        dict_values=[
            value(int_value=-1),
            value(nested_type=2, array_values=[value(bool_value=True), value(double_value=0.5)]),
            value(string_value='"'),
            value(),
        ],
    )
    assert args(pb.DebugAnnotation(name="x", nested_value=made)) == {
        "x": {"a": -1, "b": [True, 0.5], "c": '"', "d": None, "missing": None}
    }


@pytest.mark.parametrize(
    "text",
    ["{", "[1,]", '{"a":1,}', "{'a':1}", "01", "1.", "NaN", "tru", "", '"\\ud800"', '"\\x"',
     '"a\nb"', "[" * 65 + "]" * 65, "1 2", '{"a" 1}', "-", '{1:2}', "nul", "[}", "{]"],
)  # fmt: skip
def test_json_that_is_none_is_a_string(text):
    assert args(pb.DebugAnnotation(name="x", legacy_json_value=text)) == {"x": text}


@pytest.mark.parametrize(
    "text",
    [" {} ", "[]", '{"a":[],"b":{"c":[[{}]]}}', "-0.5e+10", "1E5", '"\\ud83d\\ude00\\n\\/"',
     "true", "false", "null", "[" * 64 + "]" * 64, '[1, 2,\t{"x"\n:3}]'],
)  # fmt: skip
def test_json_stays_json(text):
    assert args(pb.DebugAnnotation(name="x", legacy_json_value=text)) == {"x": json.loads(text)}


def test_args_too_deep_are_cut():
    members = elements = 1
    value = pb.DebugAnnotation.NestedValue
    nested = value(int_value=1)
    for _ in range(40):
        members, elements = {"k": members}, [elements]
        nested = value(nested_type=2, array_values=[nested])
    text = json.dumps(args(annotation(members, name="x")))
    assert "(too deep)" in text and text.count('"k"') == 32
    text = json.dumps(args(annotation(elements, name="x")))
    assert "(too deep)" in text and text.count("[") == 32
    text = json.dumps(args(pb.DebugAnnotation(name="x", nested_value=nested)))
    assert "(too deep)" in text and text.count("[") == 32


def test_args_too_long_are_cut():
    big = annotation("x" * 70_000, name="big")
    assert args(annotation(1, name="a"), big) == {"a": 1, "(cut)": True}
    assert args(big) == {"(cut)": True}
    many = [annotation("y" * 1000, name=f"k{i}") for i in range(100)]
    found = args(*many)
    assert found.pop("(cut)") is True
    assert 50 < len(found) < 70
    inside = annotation({"deep": ["z" * 70_000]}, name="big")
    assert args(annotation(1, name="a"), inside) == {"a": 1, "(cut)": True}


# Text of any kind


def raw(number, content):
    """A track event whose field `number` holds these bytes."""
    body = b"\x48\x03" + varint(number << 3 | 2) + varint(len(content)) + content
    return b"\x40\xb4\x10\x50\x01\x5a" + varint(len(body)) + body


@given(content=st.binary(max_size=40))
def test_bytes_that_are_no_utf8(content):
    """As Python's own decoder replaces them."""
    expected = content.decode(errors="replace")
    data = trace(CLOCKS, raw(23, content), raw(22, content), raw(22, content + b"\xff"))
    found = rows(data)
    assert found[0]["name"] == expected
    assert found[1]["category"] == expected
    assert found[2]["category"] == (content + b"\xff").decode(errors="replace")


@given(content=st.binary(max_size=40))
def test_bytes_that_are_no_utf8_in_args(content):
    inner = b"\x52\x01k\x32" + varint(len(content)) + content
    (row,) = rows(trace(CLOCKS, raw(4, inner)))
    assert json.loads(row["args"]) == {"k": content.decode(errors="replace")}


def test_names_too_long_are_cut():
    name = "é" * 10_000
    packets = [interned({1: name}), track_event(type=BEGIN, name_iid=1)]
    found = column(
        "name",
        *packets,
        track_event(type=BEGIN, name=name),
        thread(1, 1, 1, name),
        track_event(type=BEGIN, track_uuid=1, name="x"),
    )
    assert found == ["é" * 4096 + "…"] * 2 + ["x"]


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_the_same(value):
    content = b"\x52\x01k\x29" + struct.pack("<d", value)
    (row,) = rows(trace(CLOCKS, raw(4, content)))
    assert struct.pack("<d", json.loads(row["args"])["k"]) == struct.pack("<d", value)
