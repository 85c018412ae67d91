"""Slices of other sources: atrace, drivers in its manner, frames, binder, fences.

Rules follow Perfetto's src/trace_processor/importers/systrace/systrace_parser.cc (SP), proto/
frame_timeline_event_parser.cc (FT), ftrace/binder_tracker.cc (BT), drm_tracker.cc (DT) and
ftrace_parser.cc (FP).
"""

from __future__ import annotations

import pytest
from building import packet, pb, service_event, varint
from slicing import kernel, mark, shape, slices, where

# atrace


def test_lines_of_a_thread():
    packets = [
        mark(5, 11, "B|10|outer"),
        mark(6, 11, "B|10|a|b with bars\n"),
        mark(7, 11, "E|10"),
        mark(8, 11, "I|10|now"),
        mark(9, 11, "E"),
    ]
    assert shape(*packets) == [("outer", 5, 4, 0), ("a|b with bars", 6, 1, 1), ("now", 8, 0, 1)]
    assert where(*packets) == [(0, None, 10, 11)] * 3


def test_a_slice_without_a_name():
    assert shape(mark(5, 11, "B|10|")) == [("[empty slice name]", 5, -1, 0)]


def test_an_end_on_a_thread_that_nobody_saw():
    assert slices(mark(5, 11, "E|")) == []


def test_asynchronous_lines_are_matched_by_name_and_cookie():
    packets = [
        mark(5, 11, "S|10|job|1"),
        mark(6, 12, "S|10|job|2"),
        mark(7, 13, "F|10|job|1"),
        mark(8, 13, "F|10|job|2"),
    ]
    assert shape(*packets) == [("job", 5, 2, 0), ("job", 6, 2, 0)]
    assert where(*packets) == [(0, "job", 10, None), (1, "job", 10, None)]


def test_of_several_begins_of_a_cookie_the_first_one_counts():
    # SP, ParseSystracePoint: wakelocks do that.
    packets = [mark(5, 11, "S|10|job|1"), mark(6, 11, "S|10|job|1"), mark(9, 11, "F|10|job|1")]
    assert shape(*packets) == [("job", 5, 4, 0)]


def test_lines_of_a_named_track():
    packets = [
        mark(5, 11, "G|10|track|slice|7"),
        mark(6, 11, "N|10|track|now"),
        mark(8, 11, "H|10|track|7"),
        mark(9, 11, "G|10|track|again|7"),
        mark(10, 11, "H|10|track|again|7"),
    ]
    assert shape(*packets) == [("slice", 5, 3, 0), ("now", 6, 0, 0), ("again", 9, 1, 0)]
    assert where(*packets) == [
        (0, "track", 10, None),
        (1, "track", 10, None),
        (0, "track", 10, None),
    ]


def test_the_state_of_the_device_has_a_track_of_its_own():
    packets = [mark(5, 11, "N|10|DeviceStateChanged|folded"), mark(6, 11, "N|10|other|x")]
    assert where(*packets) == [(0, "DeviceStateChanged", None, None), (1, "other", 10, None)]


@pytest.mark.parametrize("line", ["C|10|kill_one_process|20", "B|10|lmk,20,reason,900,more"])
def test_who_is_killed_for_want_of_memory(line):
    rows = slices(mark(5, 11, line))
    killed = [row for row in rows if row["name"] == "mem.lmk"]
    assert [(row["track_name"], row["pid"], row["dur"]) for row in killed] == [("LMK", 20, 0)]


def test_counters_are_no_slices():
    assert slices(mark(5, 11, "C|10|n|5"), mark(6, 11, "C|10|kill_one_process|0")) == []


@pytest.mark.parametrize(
    "line",
    [
        *("", "|", "\n\0", "B", "B|x|a", "B|-1|a", "B|99999999999|a", "Q|10|a", "I|10|", "I|10"),
        *("S|10|a", "S|10||1", "S|10|a|", "S|10|a|1x", "S|x|a|1", "S|10|a|9999999999999999999"),
        *("N|10|t", "N|10||n", "G|10|t|n", "G|10|t|n|", "G|10||n|1", "H|10|t", "H|10||1"),
        "trace_event_clock_sync: parent_ts=5",
    ],
)
def test_text_that_is_no_line_of_atrace(line):
    assert slices(mark(5, 11, line)) == []


def test_an_event_without_a_pid_is_none():
    bundle = pb.FtraceEventBundle(cpu=0)
    bundle.event.append(pb.FtraceEvent(timestamp=5, print=pb.PrintFtraceEvent(buf="B|10|a")))
    assert slices(packet(ftrace_events=bundle)) == []


def test_what_ftrace_held_before_tracing_started_is_not_shown():
    # FP, MaybeOnFirstFtraceEvent.
    started = packet(100, 6, service_event=service_event())
    packets = [mark(90, 11, "B|10|before"), mark(110, 11, "B|10|after")]
    assert shape(started, *packets) == [("after", 110, -1, 0)]
    config = pb.TraceConfig()
    config.data_sources.add().config.ftrace_config.preserve_ftrace_buffer = True
    kept = packet(trace_config=config)
    assert len(shape(kept, started, *packets)) == 2


def test_slices_begin_where_all_cpus_hold_their_events():
    first = mark(90, 11, "B|10|before")
    second = kernel(110, 12, cpu=1, print={"buf": "B|10|after"})
    second.ftrace_events.previous_bundle_end_timestamp = 100
    assert shape(first, second) == [("after", 110, -1, 0)]


def test_cpus_are_in_order_of_time():
    packets = [mark(9, 11, "E|10"), kernel(5, 11, cpu=1, print={"buf": "B|10|a"})]
    assert shape(*packets) == [("a", 5, 4, 0)]


# Drivers


@pytest.mark.parametrize(
    ("event", "tgid"),
    [
        ({"zero": {"flag": 1, "name": "n", "pid": 10}}, 10),
        ({"tracing_mark_write": {"trace_begin": 1, "trace_name": "n", "pid": 10}}, 10),
        ({"sde_tracing_mark_write": {"trace_begin": 1, "trace_name": "n", "pid": 10}}, 10),
        ({"sde_tracing_mark_write": {"trace_type": ord("B"), "trace_name": "n", "pid": 10}}, 10),
        # FP, ParseDpuTracingMarkWrite: the process that it names is not believed.
        ({"dpu_tracing_mark_write": {"type": ord("B"), "name": "n", "pid": 10}}, None),
        ({"g2d_tracing_mark_write": {"type": ord("B"), "name": "n", "pid": 10}}, 10),
        ({"mali_tracing_mark_write": {"type": ord("B"), "name": "n", "pid": 10}}, 10),
        ({"lwis_tracing_mark_write": {"type": ord("B"), "func_name": "n", "pid": 10}}, 10),
        (
            {"samsung_tracing_mark_write": {"trace_type": ord("B"), "trace_name": "n", "pid": 10}},
            10,
        ),
    ],
)
def test_drivers_write_as_atrace_does(event, tgid):
    assert shape(kernel(5, 11, **event)) == [("n", 5, -1, 0)]
    assert where(kernel(5, 11, **event)) == [(0, None, tgid, 11)]


def test_what_a_driver_ends():
    begin = kernel(5, 11, zero={"flag": 1, "name": "n", "pid": 10})
    assert shape(begin, kernel(9, 11, zero={"flag": 2, "pid": 10})) == [("n", 5, 4, 0)]
    end = kernel(9, 11, tracing_mark_write={"trace_begin": 0, "pid": 10})
    assert shape(begin, end) == [("n", 5, 4, 0)]


@pytest.mark.parametrize(
    "event",
    [
        {"zero": {"flag": 0, "name": "n", "pid": 10}},
        {"zero": {"flag": 4, "name": "n", "pid": 10, "value": 1}},
        {"tracing_mark_write": {"trace_name": "n", "pid": 10}},
        {"sde_tracing_mark_write": {"trace_name": "n", "pid": 10}},
        {"dpu_tracing_mark_write": {"name": "n", "pid": 10}},
        {"dpu_tracing_mark_write": {"type": ord("Q"), "name": "n", "pid": 10}},
        {"mali_tracing_mark_write": {"name": "n", "pid": 10}},
    ],
)
def test_what_of_a_driver_is_no_slice(event):
    assert slices(kernel(5, 11, **event)) == []


# Frames


EXPECTED_DISPLAY, ACTUAL_DISPLAY, EXPECTED_SURFACE, ACTUAL_SURFACE, FRAME_END = range(1, 6)


def numbers(*values):
    """A message of these fields, numbered from 1; None is not there."""
    parts = [varint(i << 3) + varint(v) for i, v in enumerate(values, 1) if v is not None]
    return b"".join(parts)


def frame(ts, kind, *values):
    """A FrameTimelineEvent; the classes do not know it."""
    inner = numbers(*values)
    message = varint(kind << 3 | 2) + varint(len(inner)) + inner
    head = packet(ts, seq=1).SerializeToString()
    return head + varint(76 << 3 | 2) + varint(len(message)) + message


def test_frames_as_expected_and_as_they_were():
    packets = [
        frame(5, EXPECTED_DISPLAY, 1, 100, 10),
        frame(6, ACTUAL_DISPLAY, 2, 100, 10),
        frame(8, FRAME_END, 1),
        frame(9, FRAME_END, 2),
    ]
    assert shape(*packets) == [("100", 5, 3, 0), ("100", 6, 3, 0)]
    assert where(*packets) == [(0, "Expected Timeline", 10, None), (1, "Actual Timeline", 10, None)]


def test_frames_that_overlap_are_on_tracks_of_their_own():
    packets = [frame(5, ACTUAL_SURFACE, 1, 7, 100, 10), frame(6, ACTUAL_SURFACE, 2, 8, 100, 10)]
    packets += [frame(9, FRAME_END, 1), frame(10, FRAME_END, 2)]
    assert shape(*packets) == [("7", 5, 4, 0), ("8", 6, 4, 0)]
    assert [row[0] for row in where(*packets)] == [0, 1]


def test_a_token_is_expected_once_for_a_process():
    # FT, ParseExpectedSurfaceFrameStart.
    packets = [frame(5 + i, EXPECTED_SURFACE, i, 7, 100, 10) for i in range(3)]
    assert [name for name, *_ in shape(*packets)] == ["7"]
    assert len(shape(*packets, frame(9, EXPECTED_SURFACE, 9, 7, 100, 11))) == 2


def test_frames_without_what_they_need():
    packets = [
        frame(5, EXPECTED_DISPLAY, None, 100, 10),
        frame(5, ACTUAL_DISPLAY, 1, None, 10),
        frame(5, ACTUAL_SURFACE, 1, 7, 100, None),
        frame(5, ACTUAL_SURFACE, 1, 7, None, 10),
        frame(6, FRAME_END, 99),
        frame(6, FRAME_END, None),
        frame((1 << 63) - 2, EXPECTED_DISPLAY, 1, 100, 10),
    ]
    assert slices(*packets) == []


# Binder


def sent(ts, pid, id, **more):
    return kernel(ts, pid, binder_transaction={"debug_id": id, **more})


def received(ts, pid, id):
    return kernel(ts, pid, binder_transaction_received={"debug_id": id})


def test_a_call_is_a_slice_of_both_threads():
    # BT: "Thread Snd" and "Thread Rcv".
    packets = [sent(5, 11, 1), received(6, 21, 1), sent(8, 21, 2, reply=1), received(9, 11, 2)]
    assert shape(*packets) == [("binder transaction", 5, 4, 0), ("binder reply", 6, 2, 0)]
    assert [row["category"] for row in slices(*packets)] == ["binder", "binder"]
    assert [row[3] for row in where(*packets)] == [11, 21]


def test_a_call_of_one_way_is_an_instant_of_both():
    packets = [sent(5, 11, 1, flags=1), received(6, 21, 1)]
    assert shape(*packets) == [("binder transaction async", 5, 0, 0), ("binder async rcv", 6, 0, 0)]


def test_what_nobody_sent_is_not_received():
    assert slices(received(6, 21, 1)) == []
    assert len(shape(sent(5, 11, 1), received(6, 21, 1), received(7, 22, 1))) == 2


def test_calls_nest():
    packets = [sent(5, 11, 1), received(6, 21, 1), sent(7, 21, 2), received(8, 31, 2)]
    packets += [sent(9, 31, 3, reply=1), received(10, 21, 3), sent(11, 21, 4, reply=1)]
    assert shape(*packets, received(12, 11, 4)) == [
        ("binder transaction", 5, 7, 0),
        ("binder reply", 6, 5, 0),
        ("binder transaction", 7, 3, 1),
        ("binder reply", 8, 1, 0),
    ]


# Fences


def fence(ts, what, seqno, context=3, timeline="gpu", pid=11):
    return kernel(
        ts, pid, **{f"dma_fence_{what}": {"context": context, "seqno": seqno, "timeline": timeline}}
    )


def test_fences_of_a_timeline_follow_each_other():
    # DT, DmaFenceInit and DmaFenceSignaled.
    packets = [fence(5, "init", 1), fence(6, "init", 2), fence(8, "signaled", 1)]
    packets.append(fence(9, "signaled", 2))
    assert shape(*packets) == [("fence", 5, 3, 0), ("fence", 8, 1, 0)]
    assert where(*packets) == [(0, "fence-gpu-3", None, None)] * 2


def test_a_fence_that_was_not_seen_to_begin_ends_nothing():
    packets = [fence(4, "signaled", 1), fence(5, "init", 5), fence(6, "signaled", 4)]
    assert shape(*packets) == [("fence", 5, -1, 0)]


def test_fences_that_are_emitted_begin_then():
    packets = [
        fence(5, "init", 1),
        fence(7, "emit", 1),
        fence(8, "init", 2),
        fence(9, "signaled", 1),
    ]
    assert shape(*packets) == [("fence", 5, 2, 0), ("fence", 7, 2, 0)]


def test_fences_made_of_fences_are_left_out():
    assert slices(fence(5, "init", 1, timeline="unbound")) == []


def test_contexts_are_apart_and_keep_their_first_name():
    packets = [
        fence(5, "init", 1),
        fence(6, "init", 1, context=4),
        fence(7, "init", 2, timeline="x"),
    ]
    packets.append(fence(8, "signaled", 1))
    assert [row[1] for row in where(*packets)] == ["fence-gpu-3", "fence-gpu-4", "fence-gpu-3"]


def test_a_wait_for_a_fence_is_a_slice_of_the_thread():
    packets = [fence(5, "wait_start", 1), fence(9, "wait_end", 1)]
    assert shape(*packets) == [("dma_fence_wait", 5, 4, 0)]
    assert where(*packets) == [(0, None, None, 11)]


def test_a_timeline_of_a_long_name():
    (row,) = slices(fence(5, "init", 1, timeline="x" * 5000))
    assert row["track_name"] == "fence-" + "x" * 249
