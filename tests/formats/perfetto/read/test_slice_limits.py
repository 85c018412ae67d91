"""Slices of hostile traces: what there is no room for, bytes that are no text, Ctrl-C."""

from __future__ import annotations

import signal

import pytest
from building import packet, pb, trace
from naming import interned, thread
from reading import opened
from slicing import START, begin, end, instant

from tracetime._kernels.slices import in_order
from tracetime.formats.perfetto.read import slices as module
from tracetime.formats.replayed_slices import ReplayedSlices

MAIN = thread(7, 10, 11)


def test_names_beyond_the_limit_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(module, "NAMES_LIMIT", 16_000)
    packets = [MAIN, *(instant(i, f"{i:0100}", 7) for i in range(100))]
    with opened(trace(START, *packets)) as opened_trace:
        made = opened_trace.slices()
        names = made.read_all()["name"].to_pylist()
    assert len(names) == 100
    assert 0 < made.names_left_out == names.count(None) < 100


def test_slices_beyond_the_limit_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    packets = [MAIN, *(instant(i, "n", 7) for i in range(30))]
    with opened(trace(START, *packets)) as opened_trace:
        made = opened_trace.slices()
        # One entry is the descriptor's.
        assert made.read_all().num_rows == 9
    assert made.left_out == 21


def test_bytes_that_are_no_text():
    raw = instant(5, "abc", 7).SerializeToString().replace(b"abc", b"a\xffc")
    with opened(trace(START, MAIN, raw)) as opened_trace:
        table = opened_trace.slices().read_all()
    table.validate(full=True)
    assert table["name"].to_pylist() == ["a\ufffdc"]


def test_arguments_beyond_the_limit_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(module, "ARGS_LIMIT", 20_000)
    made = pb.TrackEvent(type=3, name="n", track_uuid=7)
    made.debug_annotations.add(name_iid=1, string_value_iid=1)
    # A few bytes of an event refer to many.
    state = interned(arg_names={1: "k"}, strings={1: b"x" * 1000})
    events = [packet(i, seq=1, track_event=made) for i in range(100)]
    with opened(trace(START, state, MAIN, *events)) as opened_trace:
        slices = opened_trace.slices()
        args = slices.read_all()["args"].to_pylist()
    assert len(args) == 100
    assert 0 < slices.names_left_out == args.count(None) == 80


def test_ctrl_c_ends_the_replay(monkeypatch):
    logs = []

    def interrupted(log, order, n_machines):
        logs.append(log)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        replay(log, order, n_machines)

    def stop(number, frame):
        raise KeyboardInterrupt

    replay = module.replay
    monkeypatch.setattr(module, "replay", interrupted)
    events = trace(begin(5, "n", 7)) * 500 + trace(begin(5, "n", 7), end(5, 7)) * 200_000
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with (
            opened(trace(START, MAIN) + events) as opened_trace,
            pytest.raises(KeyboardInterrupt),
        ):
            opened_trace.slices().read_all()
    finally:
        signal.signal(signal.SIGALRM, before)
    (log,) = logs
    assert len(in_order(*log.order())) == 400_501
    assert len(log.slices) < 150_000


@pytest.mark.parametrize(
    ("where", "step"),
    [(module, "in_order"), (module, "replay"), (ReplayedSlices, "ends")],
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
    with opened(trace(START, MAIN, begin(5, "n", 7), end(9, 7))) as opened_trace:
        opened_trace.on_read.append(watch)
        with pytest.raises(KeyboardInterrupt):
            next(opened_trace.slices("tube"))
