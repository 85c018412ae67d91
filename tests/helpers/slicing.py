"""Traces with slices in them, and the slices that the reader makes of them."""

from __future__ import annotations

from building import packet, pb, trace
from naming import CLEARED, track_event
from reading import opened

BEGIN, END, INSTANT = 1, 2, 3
START = packet(**CLEARED)


def slices(*packets, policy="floor", **options):
    """The slices of a trace as dictionaries; every batch is checked for being sound."""
    with opened(trace(START, *packets)) as opened_trace:
        batches = list(opened_trace.slices(policy, **options))
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def shape(*packets):
    """(name, ts, dur, depth) of each slice."""
    return [(row["name"], row["ts"], row["dur"], row["depth"]) for row in slices(*packets)]


def where(*packets):
    """(track, track_name, pid, tid) of each slice; tracks are numbered as they occur."""
    rows = slices(*packets)
    numbers = list(dict.fromkeys(row["track"] for row in rows))
    return [
        (numbers.index(row["track"]), row["track_name"], row["pid"], row["tid"]) for row in rows
    ]


def who(*packets):
    """(process_name, thread_name) of each slice."""
    return [(row["process_name"], row["thread_name"]) for row in slices(*packets)]


def begin(ts, name=None, track=None, **fields):
    return track_event(ts, type=BEGIN, name=name, **_on(track), **fields)


def end(ts, track=None, **fields):
    return track_event(ts, type=END, **_on(track), **fields)


def instant(ts, name=None, track=None, **fields):
    return track_event(ts, type=INSTANT, name=name, **_on(track), **fields)


def _on(track):
    return {} if track is None else {"track_uuid": track}


def phase(letter, ts, name=None, type=None, seq=1, args=(), categories=(), **legacy):
    """A legacy event; `legacy` are the fields of LegacyEvent."""
    event = pb.TrackEvent(name=name, type=type, debug_annotations=args, categories=categories)
    event.legacy_event.CopyFrom(pb.TrackEvent.LegacyEvent(phase=ord(letter), **legacy))
    return packet(ts, seq=seq, track_event=event)


def of_thread(pid, tid, name=None, seq=1):
    """What a sequence is of, as legacy traces say it."""
    thread = pb.ThreadDescriptor(pid=pid, tid=tid, thread_name=name)
    return packet(1, seq=seq, thread_descriptor=thread)


def kernel(ts, pid, cpu=0, **event):
    """A bundle of one ftrace event of this thread: `kernel(5, 10, print={"buf": "B|1|x"})`."""
    made = pb.FtraceEvent(timestamp=ts, pid=pid)
    ((name, fields),) = event.items()
    message = getattr(made, name)
    message.SetInParent()
    for field, value in fields.items():
        setattr(message, field, value)
    bundle = pb.FtraceEventBundle(cpu=cpu)
    bundle.event.append(made)
    return packet(ftrace_events=bundle)


def mark(ts, pid, text):
    """A line of atrace."""
    return kernel(ts, pid, print={"buf": text})
