"""Empty names, categories and arguments are in trace_processor what they are here."""

from __future__ import annotations

import json
from itertools import product

import trace_engine
from building import trace
from naming import annotation, descriptor, interned, track_event
from platforms import WITH_ENGINE

import tracetime

pytestmark = WITH_ENGINE

INSTANT = 3
EMPTY, NO_TEXT, UNKNOWN = 1, 3, 9
INTERNED = {EMPTY: "", 2: "y", NO_TEXT: None}

_ARGS = """
    (SELECT json_group_array(json_array(key, string_value, int_value)) FROM args
     WHERE args.arg_set_id = slice.arg_set_id AND NOT key GLOB 'legacy_event*')
"""


def judged(path):
    """Names and categories in the order of time: of the engine, and ours."""
    theirs = trace_engine.query(path, "SELECT category, name FROM slice ORDER BY ts, id")
    with tracetime.open_trace(path) as opened:
        table = opened.slices().read_all().sort_by([("ts", "ascending"), ("id", "ascending")])
    return theirs, [(row["category"], row["name"]) for row in table.to_pylist()]


def test_track_events_with_every_mix_of_empty_categories_and_names(tmp_path):
    inline = ([], [""], ["", ""], ["", "x"], ["x", ""], ["", "x", ""])
    iids = ([], [EMPTY], [NO_TEXT], [UNKNOWN], [EMPTY, EMPTY], [EMPTY, 2], [2, EMPTY], [NO_TEXT, 2])
    names = ({}, {"name": ""}, {"name": "a"}, *({"name_iid": iid} for iid in (1, 2, 3, 9)))
    kinds = product(inline, iids, names)
    data = trace(
        interned(names=INTERNED, categories=INTERNED),
        descriptor(7, name=""),
        *(
            track_event(at, type=INSTANT, track_uuid=7, categories=some, category_iids=more, **name)
            for at, (some, more, name) in enumerate(kinds, 100)
        ),
    )
    (path := tmp_path / "t.pftrace").write_bytes(data)
    theirs, ours = judged(path)
    assert len(theirs) == len(inline) * len(iids) * len(names)
    assert ours == theirs


def test_empty_names_and_values_of_debug_annotations(tmp_path):
    told = [
        {"name": "", "string_value": "v"},
        {"name": "a", "string_value": ""},
        {"name": "", "string_value": ""},
        {"name": "", "int_value": 3},
        {"name_iid": EMPTY, "string_value": "v"},
        {"name_iid": NO_TEXT, "string_value": "v"},
        {"name_iid": 2, "string_value_iid": EMPTY},
        {"name_iid": 2, "string_value_iid": NO_TEXT},
    ]
    data = trace(
        interned(arg_names=INTERNED, strings={EMPTY: b"", NO_TEXT: None}),
        descriptor(7, name="track"),
        *(
            track_event(at, type=INSTANT, track_uuid=7, debug_annotations=[annotation(**one)])
            for at, one in enumerate(told, 100)
        ),
    )
    (path := tmp_path / "t.pftrace").write_bytes(data)
    assert args_of(path, "debug.") == ours_of(path)


PARTS = (
    {}, {"cat": ""}, {"cat": "c"}, {"cat": ","}, {"cat": "a,"}, {"cat": ",a"}, {"cat": None},
)  # fmt: skip
ARGS = ({}, {"": "v"}, {"a": ""}, {"": ""}, {"": 1, "b": 2}, {"a": ""})


def chrome(events):
    return json.dumps({"traceEvents": events}).encode()


def test_chrome_json_with_every_mix_of_empty_categories_and_names(tmp_path):
    events = []
    for category, name in product(PARTS, ({}, {"name": ""}, {"name": "n"}, {"name": None})):
        for phase in ("X", "B", "i", "b"):
            at = 10 * len(events) + 1
            one = {"pid": 1, "tid": 1, "ts": at, **category, **name}
            more = {"X": {"dur": 1}, "i": {"s": "t"}, "b": {"id": at}}.get(phase, {})
            events.append(one | more | {"ph": phase})
            if phase in "Bb":
                events.append(one | more | {"ph": {"B": "E", "b": "e"}[phase], "ts": at + 1})
    (path := tmp_path / "t.json").write_bytes(chrome(events))
    theirs, ours = judged(path)
    assert len(theirs) == len(PARTS) * 4 * 4
    assert ours == theirs


def test_chrome_json_with_empty_names_and_values_of_arguments(tmp_path):
    events = [
        {"ph": "X", "ts": at, "dur": 0, "pid": 1, "tid": 1, "name": "n", "args": args}
        for at, args in enumerate(ARGS, 1)
    ]
    (path := tmp_path / "t.json").write_bytes(chrome(events))
    assert args_of(path, "args.") == ours_of(path)


def args_of(path, lead):
    """The arguments of each slice, as the engine says."""
    rows = trace_engine.query(path, f"SELECT {_ARGS} FROM slice ORDER BY ts, id")
    return [
        {key.removeprefix(lead): text if number is None else number for key, text, number in args}
        for (args,) in ((json.loads(found),) for (found,) in rows)
    ]


def ours_of(path):
    with tracetime.open_trace(path) as opened:
        table = opened.read_all(names=True)
    return [
        json.loads(args or "{}")
        for args, kind in zip(table["args"].to_pylist(), table["type"].to_pylist(), strict=True)
        if kind is not None
    ]
