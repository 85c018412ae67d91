"""Slices of hostile JSON: what there is no room for, bytes that are no text, Ctrl-C."""

from __future__ import annotations

import json
import time

import pytest
from json_slicing import Raw, document, event, logged, replayed, rows, slices
from reading import opened

from tracetime import TraceError
from tracetime.formats.chrome_json import slices as module
from tracetime.formats.replayed_slices import ReplayedSlices


def test_names_beyond_the_limit_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(module, "NAMES_LIMIT", 5_000)
    text = document(*(event("i", i, f"{i:0100}") for i in range(100)))
    with opened(text.encode()) as trace:
        made = trace.slices()
        names = made.read_all()["name"].to_pylist()
    assert len(names) == 100
    assert 0 < made.names_left_out == names.count(None) < 100


def test_ids_beyond_the_limit_still_match():
    ids = [f"{i:0100}" for i in range(100)]
    text = document(
        *(event("b", i, "n", id=id) for i, id in enumerate(ids)),
        *(event("e", 1000 - i, "n", id=id) for i, id in enumerate(ids)),
    )
    made = rows(text, names=5_000)
    assert [row["dur"] for row in made] == [1000 * (1000 - 2 * i) for i in range(100)]


def test_slices_beyond_the_limit_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    with opened(document(*(event("i", i, "n") for i in range(30))).encode()) as trace:
        made = trace.slices()
        assert made.read_all().num_rows == 10
    assert made.left_out == 20


def test_arguments_beyond_the_limit_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(module, "ARGS_LIMIT", 1000)
    events = [event("i", i, "n", args={"a": "x" * 90}) for i in range(30)]
    with opened(document(*events).encode()) as trace:
        made = trace.slices()
        args = made.read_all()["args"].to_pylist()
    assert made.names_left_out == args.count(None) == 20


def test_long_arguments_of_one_event_are_left_out():
    lengths = (1 << 20) - 9, (1 << 20) - 8
    args = [Raw(json.dumps({"a": "x" * length})) for length in lengths]
    made = slices(document(*(event("i", i, "n", args=text) for i, text in enumerate(args))))
    assert [len(args[0]), None] == [row["args"] and len(row["args"]) for row in made]


def test_bytes_that_are_no_text():
    raw = document(event("i", 1, "a?c", args={"k": "a?c"})).encode().replace(b"?", b"\xff")
    with opened(raw) as trace:
        table = trace.slices().read_all()
    table.validate(full=True)
    assert table["name"].to_pylist() == ["a\ufffdc"]
    assert table["args"].to_pylist() == ['{"k": "a\ufffdc"}']


def test_halves_of_pairs_are_no_text():
    made = slices(document(event("i", 1, Raw('"\\ud800x\\udc00"'))))
    assert [row["name"] for row in made] == ["\ufffdx\ufffd"]


def test_times_at_the_end_of_int64():
    most = (1 << 63) // 1000
    made = rows(
        document(
            event("X", most, "a", dur=most),
            event("X", 1, "b", dur=most),
            event("B", most, "c"),
            event("E", 0),
        )
    )
    assert [(row["ts"], row["dur"]) for row in made] == [
        (1000, 1000 * most),
        (1000 * most, 1000 * most),
        (1000 * most, -1),
    ]


def test_a_slice_that_ends_beyond_int64_has_no_end_by_the_tube():
    most = (1 << 63) // 1000
    (row,) = slices(document(event("X", most, "a", dur=most)), "tube")
    # The bar of the begin, which is cut off to us, ends with int64, too.
    assert (row["latest"], row["end_latest"], row["dur_error_ns"]) == (None, None, None)


def test_no_slice_is_deeper_than_512():
    made = rows(document(*(event("X", i, dur=5000 - 2 * i) for i in range(600))))
    assert max(row["depth"] for row in made) == 511
    assert len(made) == 512


# Far above what it takes, and far below what it takes where it goes by the square of the number.
MANY, MOST_S = 200_000, 30


@pytest.mark.sweep
def test_many_slices_that_cross_each_other_are_read_in_time():
    text = document(*(event("X", i, dur=10_000_000) for i in range(MANY)))
    log = logged(text, args=0)
    began = time.process_time()
    tables, spilled = replayed(log)
    assert spilled == MANY - 1
    assert len(tables.slices) == 1025
    assert time.process_time() - began < MOST_S


@pytest.mark.sweep
def test_many_events_of_one_time_are_sorted_in_time():
    log = logged(document(*(event("X", 5, dur=i % 7) for i in range(MANY))), args=0)
    began = time.process_time()
    log.order(False)
    assert time.process_time() - began < MOST_S


def test_entries_of_others_are_refused():
    import numpy as np

    from tracetime._kernels.chrome_json.slices import replay
    from tracetime._kernels.slices import SliceTables

    log = logged(document(event("i", 1)))
    tables = SliceTables(log.strings, 1, 10)
    with pytest.raises(IndexError, match="not so many"):
        replay(log, tables, np.array([1], np.int32), False)
    with pytest.raises(IndexError, match="not so many"):
        log.args_of(np.array([1], np.int32), np.array([0], np.int32), 10)
    with pytest.raises(IndexError, match="a begin and an end"):
        log.args_of(np.array([0], np.int32), np.zeros(0, np.int32), 10)


CUT = document(event("X", 1, "a", dur=1), event("X", 2, "b", dur=1)).removesuffix("]}")[:-5]


def test_a_cut_file_is_an_error():
    with opened(CUT.encode()) as trace, pytest.raises(TraceError, match="cut off"):
        trace.slices().read_all()


def test_partial_keeps_the_slices_before_the_cut():
    with opened(CUT.encode(), partial=True) as trace:
        assert trace.slices().read_all()["name"].to_pylist() == ["a"]
        assert trace.truncated is not None


def test_progress_is_told():
    seen = []
    with opened(document(event("i", 1)).encode()) as trace:
        trace.slices(progress=seen.append).read_all()
        assert seen[-1] == trace.size


@pytest.mark.parametrize(
    ("where", "step"),
    [(module, "replay"), (ReplayedSlices, "ends")],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_who_watches_the_reading_can_stop_what_follows(monkeypatch, where, step):
    done = []
    original = getattr(where, step)

    def followed(*args):
        done.append(step)
        return original(*args)

    def watch(at):
        if done:
            raise KeyboardInterrupt

    monkeypatch.setattr(where, step, followed)
    with opened(document(event("B", 1), event("E", 2)).encode()) as trace:
        trace.on_read.append(watch)
        with pytest.raises(KeyboardInterrupt):
            next(trace.slices("tube"))
