"""Messages matched by keys: what matches, what is refused, what is said of the others."""

import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import UsageError, match_messages


def test_packets_match_by_their_sequence_number():
    matched = match_messages([101, 102, 103], [103, 101, 999])
    assert matched.sent.tolist() == [0, 2]
    assert matched.received.tolist() == [1, 0]
    assert (matched.unmatched_sent, matched.unmatched_received) == (1, 1)


def test_a_key_that_occurs_twice_on_a_side_is_refused():
    # 7 was sent again: which of the two arrived, nobody knows.
    matched = match_messages([7, 8, 7, 9], [7, 8, 9, 9])
    assert matched.sent.tolist() == [1]
    assert matched.received.tolist() == [1]
    assert (matched.repeated_sent, matched.repeated_received) == (3, 3)
    assert (matched.unmatched_sent, matched.unmatched_received) == (0, 0)


def test_a_key_of_several_columns_is_equal_where_all_are():
    sent = (np.array([1, 1, 2]), ["syn", "ack", "syn"])
    received = (pa.array([1, 2, 1], pa.int32()), pa.array(["ack", "ack", "syn"]))
    matched = match_messages(sent, received)
    assert matched.sent.tolist() == [0, 1]
    assert matched.received.tolist() == [2, 0]


def test_a_key_with_a_null_matches_nothing():
    matched = match_messages(pa.array([None, 2, 3]), pa.array([None, None, 3]))
    assert matched.sent.tolist() == [2]
    assert (matched.unmatched_sent, matched.unmatched_received) == (2, 2)
    assert (matched.repeated_sent, matched.repeated_received) == (0, 0)
    assert len(match_messages((["a"], [None]), (["a"], [None])).sent) == 0
    assert len(match_messages([None], ["a"]).sent) == 0


NUMBERS = [3, 1, 2]
TEXTS = ["c", "a", "b"]


@pytest.mark.parametrize(
    ("keys", "others"),
    [
        (keys, others)
        for kinds in (
            [
                NUMBERS,
                np.array(NUMBERS),
                np.array(NUMBERS, np.uint8),
                np.array(NUMBERS, ">i4"),
                np.array(NUMBERS, np.uint64),
                pa.array(NUMBERS).dictionary_encode(),
                pa.chunked_array([NUMBERS[:1], NUMBERS[1:]]),
                pd.Series(NUMBERS),
                pl.Series(NUMBERS),
            ],
            [
                TEXTS,
                np.array(TEXTS),
                np.array(TEXTS, object),
                pa.array(TEXTS).dictionary_encode(),
                pa.array(TEXTS, pa.string_view()),
                pd.Series(TEXTS),
                pl.Series(TEXTS),
            ],
        )
        for keys in kinds
        for others in kinds
    ],
)
def test_columns_of_any_library_match(keys, others):
    matched = match_messages(keys, others)
    assert matched.sent.tolist() == matched.received.tolist() == [0, 1, 2]


def test_whole_numbers_beyond_int64_are_keys():
    large = np.array([2**64 - 1, 5], np.uint64)
    assert match_messages(large, large[::-1]).received.tolist() == [1, 0]
    assert match_messages(large, [5]).sent.tolist() == [1]


@pytest.mark.parametrize(
    ("sent", "received", "says"),
    [
        ([1.5], [1.5], "not double"),
        ([True], [True], "not bool"),
        (np.zeros((2, 2), int), [1], "cannot read"),
        (["a", 1], ["a"], "cannot read"),
        ([2**64], [1], "cannot read"),
        (5, [5], "cannot read"),
        ("abc", ["abc"], "not a single text"),
        ([1], ["1"], "numbers on one side"),
        ([-1], np.array([2**63], np.uint64), "negative on one side"),
        ((), (), "0 columns"),
        ([1], ([1], [2]), "1 columns where sent and 2 where received"),
        (([1], [1, 2]), ([1], [2]), r"one length, not \[1, 2\]"),
    ],
)
def test_what_is_no_key_is_a_usage_error(sent, received, says):
    with pytest.raises(UsageError, match=says):
        match_messages(sent, received)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), max_size=20),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), max_size=20),
)
def test_matches_are_those_that_counting_finds(sent, received):
    matched = match_messages(
        tuple(np.array([key[i] for key in sent], np.int64) for i in (0, 1)),
        tuple(np.array([key[i] for key in received], np.int64) for i in (0, 1)),
    )
    there, back = Counter(sent), Counter(received)
    once = [key for key in sent if there[key] == back[key] == 1]
    assert matched.sent.tolist() == [sent.index(key) for key in once]
    assert matched.received.tolist() == [received.index(key) for key in once]
    twice = {key for key in {*sent, *received} if there[key] > 1 or back[key] > 1}
    assert matched.repeated_sent == sum(key in twice for key in sent)
    assert matched.repeated_received == sum(key in twice for key in received)
    assert matched.unmatched_sent == len(sent) - len(once) - matched.repeated_sent
    assert matched.unmatched_received == len(received) - len(once) - matched.repeated_received


def test_a_million_keys_take_no_loop_of_python():
    keys = np.random.default_rng(1).permutation(1_000_000)
    lines = 0

    def count(frame, event, argument):
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        matched = match_messages((keys, keys % 7), (keys[::-1], keys[::-1] % 7))
    finally:
        sys.settrace(before)
    assert 0 < lines < 10_000
    assert (matched.received == len(keys) - 1 - matched.sent).all()
