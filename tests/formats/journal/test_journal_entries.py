"""What the kernel takes for an entry, beside a plain twin; what it refuses, and where."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from journals import BOOT, MACHINE, entry, logged
from twin import journal as twin

from tracetime._kernels.common.columns import texts
from tracetime._kernels.journal import read_entries, write_args

LONGEST = 1 << 20

values = st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode))
own_fields = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,9}", fullmatch=True), values)
written = st.builds(
    lambda times, fields, binary: entry(
        {
            name: value
            for name, value in fields.items()
            if name not in ("__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID")
        }
        | {
            "__REALTIME_TIMESTAMP": times[0],
            "__MONOTONIC_TIMESTAMP": times[1],
            "_BOOT_ID": f"{times[2]:032x}",
            "PRIORITY": times[1] % 8,
            "MESSAGE": fields.get("MESSAGE", b"m"),
        },
        binary=binary,
    ),
    st.tuples(st.integers(0, 10**18 - 1), st.integers(0, 10**18 - 1), st.integers(0, 2**128 - 1)),
    own_fields,
    st.booleans(),
)


def text(data):
    return data.decode(errors="replace")


@given(st.lists(written, max_size=4), st.integers(0, 2))
def test_entries_are_those_of_the_twin(parts, gap):
    data = (b"\n" * gap).join([b"", *parts])
    columns, whole, at, fault = read_entries(data, LONGEST)
    expected = twin.entries(data)
    assert (whole, at, fault, len(columns["start"])) == (len(data), len(data), 0, len(expected))
    by_name = [dict(fields) for fields in expected]
    for column, name in (
        ("realtime_us", b"__REALTIME_TIMESTAMP"),
        ("monotonic_us", b"__MONOTONIC_TIMESTAMP"),
        ("priority", b"PRIORITY"),
    ):
        assert columns[column].tolist() == [int(fields[name]) for fields in by_name]
    ids = zip(columns["boot_high"].tolist(), columns["boot_low"].tolist(), strict=True)
    assert [f"{high % 2**64:016x}{low % 2**64:016x}".encode() for high, low in ids] == [
        fields[b"_BOOT_ID"] for fields in by_name
    ]
    ends, found = texts(data, columns["message"], columns["message_end"], LONGEST)
    messages = np.split(found, ends)[:-1]
    assert [bytes(one).decode() for one in messages] == [text(one[b"MESSAGE"]) for one in by_name]
    ends, args = write_args(data, columns["start"], columns["end"])
    assert [json.loads(bytes(one)) for one in np.split(args, ends)[:-1]] == [
        {
            text(name): text(value)
            for name, value in fields.items()
            if name != b"MESSAGE" and not name.startswith(b"__")
        }
        for fields in by_name
    ]


@given(st.lists(written, min_size=1, max_size=3), st.data())
def test_a_journal_that_is_cut_gives_the_entries_before_the_cut(parts, data):
    content = b"".join(parts)
    cut = data.draw(st.integers(0, len(content)))
    columns, whole, at, fault = read_entries(content[:cut], LONGEST)
    ends = [len(b"".join(parts[:k])) for k in range(len(parts) + 1)]
    n = len(columns["start"])
    assert n == max(k for k, end in enumerate(ends) if end <= cut)
    assert whole == ends[n]
    assert fault == (cut != ends[n])
    assert whole <= at <= cut


GOOD = logged(5)


@pytest.mark.parametrize(
    ("data", "fault", "offset"),
    [
        (GOOD + b"lower=1\n\n", 2, len(GOOD)),
        (GOOD + b"=1\n\n", 2, len(GOOD)),
        (GOOD + b"A" * 300, 2, len(GOOD)),
        (GOOD + b"A" * 300 + b"=1\n", 2, len(GOOD)),
        (GOOD + b"\xff\xfe", 2, len(GOOD)),
        (GOOD + b"A=" + b"x" * 2000, 3, len(GOOD)),
        (GOOD + b"A=" + b"x" * 2000 + b"\n", 3, len(GOOD)),
        (GOOD + b"A\n" + b"\xff" * 8, 3, len(GOOD)),
        (GOOD + b"A\n" + (1001).to_bytes(8, "little"), 3, len(GOOD)),
        (GOOD + b"A\n\x01" + b"\0" * 7 + b"xx", 4, len(GOOD)),
        (GOOD + entry({"__REALTIME_TIMESTAMP": "-1"}), 5, len(GOOD)),
        (GOOD + entry({"__REALTIME_TIMESTAMP": ""}), 5, len(GOOD)),
        (GOOD + entry({"__REALTIME_TIMESTAMP": 10**18}), 5, len(GOOD)),
        (GOOD + entry({"__MONOTONIC_TIMESTAMP": "1.5"}), 5, len(GOOD)),
        (GOOD + entry({"_BOOT_ID": BOOT[:31]}), 5, len(GOOD)),
        (GOOD + entry({"_MACHINE_ID": MACHINE[:31] + "g"}), 5, len(GOOD)),
        (GOOD + entry({"MESSAGE": "no time"}), 6, len(GOOD)),
        (GOOD + b"A", 1, len(GOOD)),
        (GOOD + b"A\n123", 1, len(GOOD)),
        (GOOD + b"A\n\x02" + b"\0" * 7 + b"xx", 1, len(GOOD)),
        (GOOD[:-1], 1, len(GOOD) - 1),
    ],
)
def test_what_is_no_entry_is_told_with_its_place(data, fault, offset):
    columns, _, at, found = read_entries(data, 1000)
    assert (found, at) == (fault, offset)
    assert len(columns["start"]) == (data != GOOD[:-1])


def test_long_arguments_are_cut():
    data = logged(5, A="a" * 40_000, B="b" * 40_000, C="c")
    columns, *_ = read_entries(data, LONGEST)
    _, args = write_args(data, columns["start"], columns["end"])
    found = json.loads(bytes(args))
    assert (found["A"], found["(cut)"]) == ("a" * 40_000, True)
    assert "C" not in found


def test_places_outside_the_data_are_refused():
    one, two = np.array([1]), np.array([2])
    for start, end in ((one, np.array([9])), (two, one), (np.array([-2]), one)):
        with pytest.raises(IndexError):
            texts(b"abcd", start, end, 10)
        with pytest.raises(IndexError):
            write_args(b"abcd", start, end)
    for take in (
        lambda: texts(b"abcd", one, np.array([2, 3]), 10),
        lambda: write_args(b"", one, np.empty(0, int)),
    ):
        with pytest.raises(ValueError, match="start and an end"):
            take()


def test_texts_are_repaired_and_cut():
    ends, found = texts(b"ab\xffcdefgh", np.array([0, -1, 3]), np.array([3, -1, 9]), 4)
    assert (ends.tolist(), bytes(found).decode()) == ([5, 5, 12], "ab\ufffdcdef\u2026")
