"""Clock ids: how they are written, read, scoped and ordered."""

import copy
import dataclasses
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.ids import BUILTIN_CLOCKS, ClockId, clock_id
from tracetime.errors import UsageError

uint32 = st.integers(0, 2**32 - 1)
scopes = st.one_of(st.just(0), uint32)
clock_ids = st.one_of(
    st.builds(ClockId, st.integers(64, 127), scopes, scopes, scopes),
    st.builds(
        lambda clock, machine, file: ClockId(clock, 0, machine, file),
        st.one_of(st.integers(0, 63), st.integers(128, 2**32 - 1)),
        scopes,
        scopes,
    ),
)


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("MONOTONIC", ClockId(3)),
        ("monotonic_raw", ClockId(5)),
        ("6", ClockId(6)),
        (6, ClockId(6)),
        (np.uint32(6), ClockId(6)),
        ("64", ClockId(64)),
        ("64@seq7", ClockId(64, sequence=7)),
        ("64@seq7@machine2", ClockId(64, sequence=7, machine=2)),
        ("64@MACHINE2@SEQ7", ClockId(64, sequence=7, machine=2)),
        ("BOOTTIME@machine2", ClockId(6, machine=2)),
        ("REALTIME@file3", ClockId(1, file=3)),
        ("REALTIME@machine1@file3", ClockId(1, machine=1, file=3)),
        ("0x8a01b2c3", ClockId(0x8A01B2C3)),
        ("777", ClockId(777)),
        ("com.example.gpu", ClockId(clock_id("com.example.gpu"))),
        ("com.example.gpu@machine2", ClockId(clock_id("com.example.gpu"), machine=2)),
        (ClockId(64, 7), ClockId(64, 7)),
        (" TSC ", ClockId(9)),
    ],
)
def test_what_parse_takes(text, clock):
    assert ClockId.parse(text) == clock


@pytest.mark.parametrize(
    ("clock", "text"),
    [
        (ClockId(3), "MONOTONIC"),
        (ClockId(11), "TRACE_FILE"),
        (ClockId(7), "7"),
        (ClockId(64), "64"),
        (ClockId(64, 7), "64@seq7"),
        (ClockId(64, 7, 2), "64@seq7@machine2"),
        (ClockId(6, machine=2), "BOOTTIME@machine2"),
        (ClockId(6, machine=2, file=1), "BOOTTIME@machine2@file1"),
        (ClockId(777), "777"),
        (ClockId(0x7FFFFFFF), "2147483647"),
        (ClockId(0x80000001), "0x80000001"),
        (ClockId(0x8A01B2C3), "0x8a01b2c3"),
    ],
)
def test_how_clocks_are_written(clock, text):
    assert str(clock) == text
    assert ClockId.parse(text) == clock


@given(clock_ids)
def test_every_clock_reads_back_as_it_was_written(clock):
    assert ClockId.parse(str(clock)) == clock
    assert ClockId.parse(str(clock).lower()) == clock


@given(clock_ids, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_a_clock_is_found_by_its_likes(clock, protocol):
    numbers = clock.clock, clock.sequence, clock.machine, clock.file
    likes = (
        ClockId.of_trace(*numbers),
        pickle.loads(pickle.dumps(clock, protocol)),
        copy.deepcopy(clock),
        dataclasses.replace(clock),
    )
    assert hash(clock) == hash(numbers)
    assert [{clock: "found"}[like] for like in likes] == ["found"] * 4


def test_looking_a_clock_up_runs_no_python():
    clock, seen = ClockId(64, sequence=7), []
    table = {clock: 1}
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    try:
        table[clock]
    finally:
        sys.setprofile(before)
    assert "call" not in seen


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@seq7",
        "MONOTONICS",
        "no such clock",
        "6.5",
        "-1",
        "+6",
        "1_000",
        "0x",
        "4294967296",
        "9" * 5000,
        "0x100000000",
        "64@seq",
        "64@seq7@seq8",
        "64@thread7",
        "64@seq7@",
        "64@seq4294967296",
        "6@seq7",
        "MONOTONIC@seq1",
        "777@seq1",
        -1,
        2**32,
        True,
        np.True_,
        6.0,
        None,
        b"MONOTONIC",
    ],
)
def test_what_parse_refuses(text):
    with pytest.raises(UsageError):
        ClockId.parse(text)


def test_an_unknown_name_is_refused_with_the_known_forms():
    with pytest.raises(UsageError) as raised:
        ClockId.parse("MONOTONICS")
    for name in BUILTIN_CLOCKS.values():
        assert name in str(raised.value)
    assert "64@seq7" in str(raised.value)
    assert "com.example.gpu" in str(raised.value)


@given(st.text(max_size=40))
def test_parse_returns_a_clock_or_a_usage_error(text):
    try:
        clock = ClockId.parse(text)
    except UsageError:
        return
    assert isinstance(clock, ClockId)


@pytest.mark.parametrize(
    ("number", "scope"),
    [
        (0, "builtin"),
        (1, "builtin"),
        (63, "builtin"),
        (64, "sequence"),
        (127, "sequence"),
        (128, "global"),
        (2**32 - 1, "global"),
    ],
)
def test_scopes(number, scope):
    assert ClockId(number).scope == scope
    assert ClockId(number).is_sequence_scoped == (scope == "sequence")


@pytest.mark.parametrize(
    "fields",
    [(3, 7), (128, 7), (2**32,), (-1,), (64, -1), (3, 0, 2**32), (3, 0, 0, -1), (3.0,), (True,)],
)
def test_fields_are_checked(fields):
    with pytest.raises(UsageError):
        ClockId(*fields)


# Vectors of draft-eastlake-fnv (32-bit FNV-1a), with the top bit that Perfetto sets.
@pytest.mark.parametrize(
    ("name", "fnv"), [("a", 0xE40C292C), ("b", 0xE70C2DE5), ("foobar", 0xBF9CF968)]
)
def test_named_clocks_hash_as_fnv_1a(name, fnv):
    assert clock_id(name) == fnv | 0x80000000


def test_builtin_names_are_not_special_to_clock_id():
    assert clock_id("MONOTONIC") != 3


@given(st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"])))
def test_named_clocks_are_global(name):
    assert 2**31 <= clock_id(name) < 2**32
    assert ClockId(clock_id(name)).scope == "global"


@pytest.mark.parametrize("name", ["", None, 7, b"x", "\ud800.x"])
def test_clock_id_wants_a_name(name):
    with pytest.raises(UsageError):
        clock_id(name)


@given(clock_ids, clock_ids)
def test_order_is_clock_sequence_file_machine(a, b):
    # perfetto-rules.md, "Ties in the search".
    def key(clock):
        return clock.clock, clock.sequence, clock.file, clock.machine

    assert (a < b) == (key(a) < key(b))
    assert (a <= b) == (key(a) <= key(b))
    assert (a == b) == (key(a) == key(b))
    if a == b:
        assert hash(a) == hash(b)


def test_clocks_do_not_compare_with_other_things():
    assert ClockId(3) != 3
    with pytest.raises(TypeError):
        _ = ClockId(3) < 3
