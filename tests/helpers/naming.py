"""Traces of track events and their names, and what the reader says of them."""

from __future__ import annotations

import json

from building import (
    BOOTTIME,
    MONOTONIC,
    packet,
    pb,
    snapshot,
    trace,
)
from reading import opened

from tracetime.trace.events_table import NAMES_SCHEMA

CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000})
CLEARED = {"seq": 1, "cleared": True}
BEGIN, END, INSTANT, COUNTER, STATE = 1, 2, 3, 4, 5
COLUMNS = NAMES_SCHEMA.names


def interned(names=None, categories=None, arg_names=None, strings=None, **fields):
    """A packet of interned data, each {iid: text}; it clears the state by default."""
    data = pb.InternedData()
    for field, entries in (
        (data.event_names, names),
        (data.event_categories, categories),
        (data.debug_annotation_names, arg_names),
    ):
        for iid, text in (entries or {}).items():
            field.add(iid=iid, name=text)
    for iid, text in (strings or {}).items():
        data.debug_annotation_string_values.add(iid=iid, str=text)
    return packet(**{**CLEARED, **fields}, interned_data=data)


def track_event(ts=2100, seq=1, legacy=None, more=None, **fields):
    """A packet with a TrackEvent of these fields."""
    made = pb.TrackEvent(**fields)
    if legacy is not None:
        made.legacy_event.CopyFrom(pb.TrackEvent.LegacyEvent(**legacy))
    return packet(ts, seq=seq, track_event=made, **(more or {}))


def descriptor(uuid, **fields):
    return packet(seq=1, track_descriptor=pb.TrackDescriptor(uuid=uuid, **fields))


def thread(uuid, pid, tid, name=None, **fields):
    return descriptor(
        uuid, thread=pb.ThreadDescriptor(pid=pid, tid=tid, thread_name=name), **fields
    )


def process(uuid, pid, name=None, **fields):
    return descriptor(uuid, process=pb.ProcessDescriptor(pid=pid, process_name=name), **fields)


def rows(data, **options):
    """The rows of a trace as dictionaries, with names; every batch is checked for being sound."""
    with opened(data, **options) as opened_trace:
        batches = list(opened_trace.events(names=True))
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def column(name, *packets, kind=None):
    """One column of all rows of a trace (or those of one kind)."""
    return [row[name] for row in rows(trace(CLOCKS, *packets)) if kind in (None, row["kind"])]


def one(*packets):
    """What the last row of a trace is."""
    row = rows(trace(CLOCKS, *packets))[-1]
    return {name: row[name] for name in COLUMNS if row[name] is not None}


def tree(processes=(), threads=()):
    made = pb.ProcessTree()
    for pid, name in processes:
        made.processes.add(pid=pid, cmdline=[name])
    for tid, tgid, name in threads:
        made.threads.add(tid=tid, tgid=tgid, name=name)
    return packet(process_tree=made)


def args(*annotations, defined=None):
    made = track_event(type=BEGIN, debug_annotations=annotations)
    (text,) = column("args", *([defined] if defined else []), made, kind="packet")
    return None if text is None else json.loads(text)


def annotation(value=None, **fields):
    """A DebugAnnotation: a dictionary, a list, or of these fields."""
    if isinstance(value, dict):
        entries = [annotation(one, name=key) for key, one in value.items()]
        return pb.DebugAnnotation(dict_entries=entries, **fields)
    if isinstance(value, list):
        return pb.DebugAnnotation(array_values=[annotation(one) for one in value], **fields)
    kinds = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}
    if value is not None:
        fields[kinds[type(value)]] = value
    return pb.DebugAnnotation(**fields)
