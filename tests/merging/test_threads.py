"""What threads make ahead of its turn, and what becomes of it where something fails."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest
from building import BOOTTIME, REALTIME, event, snapshot, trace
from merged_traces import merged

from tracetime.merging.perfetto_output import _Writer
from tracetime.merging.placing import FilePlacing
from tracetime.merging.threads import MOST_WAITING, Threads, each

S = 1_000_000_000


def numbered(name, put):
    for number in range(3):
        put(f"{name}{number}".encode())
    return name


def test_pieces_come_in_order_and_then_the_result():
    with Threads() as ahead:
        made = [ahead.start(partial(numbered, name)) for name in "abc"]
        assert [list(one.pieces()) for one in made] == [
            [b"a0", b"a1", b"a2"],
            [b"b0", b"b1", b"b2"],
            [b"c0", b"c1", b"c2"],
        ]
        assert [one.result() for one in made] == ["a", "b", "c"]


def test_two_are_made_at_once():
    meeting = threading.Barrier(2, timeout=600)

    def meet(put):
        put(b"%d" % meeting.wait())

    with Threads() as ahead:
        made = [ahead.start(meet) for _ in range(2)]
        assert sorted(piece for one in made for piece in one.pieces()) == [b"0", b"1"]


def test_what_a_thread_raises_is_raised_where_its_result_is_taken():
    def fail(put):
        put(b"first")
        raise ValueError("later")

    with Threads() as ahead:
        made = ahead.start(fail)
        assert list(made.pieces()) == [b"first"]
        with pytest.raises(ValueError, match="later"):
            made.result()


def test_pieces_wait_in_a_bounded_number():
    piece, put_so_far = bytes(MOST_WAITING // 4), []

    def many(put):
        for number in range(20):
            put(piece)
            put_so_far.append(number)

    with Threads() as ahead:
        made = ahead.start(many)
        deadline = time.monotonic() + 600
        while len(put_so_far) < 5 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.05)
        assert len(put_so_far) == 5
        assert len(list(made.pieces())) == 20


def test_the_threads_end_where_nobody_takes_their_pieces():
    def endless(put):
        while True:
            put(bytes(1 << 20))

    with Threads() as ahead:
        made = [ahead.start(endless) for _ in range(3)]
        assert len(next(made[0].pieces())) == 1 << 20


def test_each_returns_in_order_and_ends_the_others_where_one_fails():
    assert each(lambda item, check: item * 2, range(5)) == [0, 2, 4, 6, 8]

    def fail_or_go_on(item, check):
        if item == 0:
            raise ValueError("the first")
        while True:
            check()

    with pytest.raises(ValueError, match="the first"):
        each(fail_or_go_on, range(10))


def test_a_file_is_baked_alike_whichever_is_done_first(tmp_path, monkeypatch):
    content = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}), event(S + 10, BOOTTIME, 1))
    files, sync = {"a": content, "b": content}, ["a:BOOTTIME=b:BOOTTIME+250ms+-1us"]
    with monkeypatch.context() as changed:
        changed.setattr(_Writer, "_at_once", lambda writer, file: [file])
        in_turn = merged(tmp_path, files, sync=sync).data
    is_done, bake, error_bars = threading.Event(), _Writer._bake, FilePlacing.error_bars

    def bake_and_tell(writer, file, put):
        written = bake(writer, file, put)
        if file.number == 1:
            is_done.set()
        return written

    def late_in_the_first(placing, *given):
        assert placing._number == 1 or is_done.wait(600)
        return error_bars(placing, *given)

    monkeypatch.setattr(_Writer, "_bake", bake_and_tell)
    monkeypatch.setattr(FilePlacing, "error_bars", late_in_the_first)
    assert merged(tmp_path, files, sync=sync).data == in_turn
