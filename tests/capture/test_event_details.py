"""Categories, flows and arguments of events, and spans that were measured elsewhere."""

from __future__ import annotations

import enum
import json
import math
import threading
from collections import Counter, OrderedDict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live import Live
from recorded import packets_of

import tracetime as tt
from tracetime import ClockDomain, UsageError, open_trace

S = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def rows(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return trace.read_all(names=True).to_pylist()


def args_of(path: Path) -> list[Any]:
    return [None if row["args"] is None else json.loads(row["args"]) for row in rows(path)]


def events_of(path: Path) -> list[Any]:
    """The track events, as Perfetto's classes read them."""
    packets = packets_of(path.read_bytes())
    return [packet.track_event for packet in packets if packet.HasField("track_event")]


def test_every_kind_of_event_takes_a_category_and_arguments(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.begin("load", category="io", rows=3)
        rec.end(read=12)
        rec.instant("sent", category=("net", "slow"), to="host")
        rec.counter("level", 5, category="memory", why="start")
        rec.complete("frame", S, 100, category="gpu", pass_=1)
    found = [(row["name"], row["category"], row["args"]) for row in rows(path)]
    assert found == [
        ("load", "io", '{"rows":3}'),
        (None, None, '{"read":12}'),
        ("sent", "net,slow", '{"to":"host"}'),
        (None, "memory", '{"why":"start"}'),
        ("frame", "gpu", '{"pass_":1}'),
        (None, None, None),
    ]


def test_args_are_for_names_that_are_parameters(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("open", name="a.txt", args={"clock": "wall", "track": 7, "two words": True})
        rec.instant("open", args=OrderedDict(mode="r"), mode="w")
    assert args_of(path) == [
        {"clock": "wall", "track": 7, "two words": True, "name": "a.txt"},
        {"mode": "w"},
    ]


def test_numbers_keep_their_types(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant(
            "e", low=-(1 << 63), high=(1 << 64) - 1, real=0.5, yes=True, no=False, none=None, s=""
        )
    (event,) = events_of(path)
    kinds = [
        [field.name for field, _ in one.ListFields() if field.name != "name_iid"]
        for one in event.debug_annotations
    ]
    assert kinds == [
        ["int_value"],
        ["uint_value"],
        ["double_value"],
        ["bool_value"],
        ["bool_value"],
        [],
        ["string_value_iid"],
    ]
    assert event.debug_annotations[0].int_value == -(1 << 63)
    assert event.debug_annotations[1].uint_value == (1 << 64) - 1


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=9), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9),
            VALUES,
            min_size=1,
            max_size=5,
        ),
        max_size=6,
    )
)
def test_arguments_are_read_as_they_were_written(tmp_path_factory, events):
    path = tmp_path_factory.mktemp("args") / "t.pftrace"
    with tt.record(path, interval=None, sampler=Live()) as rec:
        for args in events:
            rec.instant("e", args=args)
    assert args_of(path) == events


class Colour(enum.Enum):
    RED = 1


class Speaking(str):
    def __str__(self) -> str:
        return "other"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        ({1: {2: 3}}, {"1": {"2": 3}}),
        (frozenset({4}), [4]),
        (Colour.RED, "Colour.RED"),
        (np.int32(-4), -4),
        (np.uint64(1 << 63), 1 << 63),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([2.5]), 2.5),
        (np.array([1, 2]), "[1 2]"),
        (Fraction(1, 4), 0.25),
        (1 << 64, str(1 << 64)),
        (Speaking("own"), "own"),
        ("half \ud800", "half ?"),
        (b"raw", "b'raw'"),
        ("long " * 1_000, "long " * 1_000),
    ],
    ids=repr,
)
def test_other_values_become_what_is_nearest(path, value, expected):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("e", value=value, after=1)
    assert args_of(path) == [{"value": expected, "after": 1}]


def test_an_object_that_cannot_be_shown_breaks_nothing(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("e", value=Broken())
    (args,) = args_of(path)
    assert "Broken object" in args["value"]


class BrokenDict(dict[str, int]):
    """As a dictionary that another thread changes at the same time."""

    def items(self) -> Any:
        raise RuntimeError("dictionary changed size during iteration")


class BrokenList(list[int]):
    def __iter__(self) -> Any:
        raise RuntimeError("no")


def test_a_container_that_cannot_be_read_breaks_nothing(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        with rec.span("e") as span:
            span.set(value=BrokenDict(a=1), inner=[1, BrokenList([5])], after=2)
    (args,) = args_of(path)[1:]
    assert args == {"value": "{'a': 1}", "inner": [1, "[5]"], "after": 2}


def test_arguments_without_an_end_are_cut(path):
    circle: list[Any] = []
    circle.append(circle)
    wide: list[Any] = [[]]
    for _ in range(20):
        wide = [wide, wide]
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("e", circle=circle)
        rec.instant("e", wide=wide)
        rec.instant("e", many=list(range(20_000)))
    deep, wide_args, many = args_of(path)
    assert "(cut)" in json.dumps(deep)
    assert "(cut)" in json.dumps(wide_args)
    assert many["many"][:3] == [0, 1, 2] and many["many"][-1] == "(cut)"


def test_an_object_whose_text_records_an_event(path):
    """`str` of an argument may call the recording before the event's own packet begins."""
    with tt.record(path, interval=None, sampler=Live()) as rec:

        class Recording:
            def __str__(self) -> str:
                rec.instant("inner", category="in", text="of inner")
                return "text"

        rec.instant("outer", category="out", first="of outer", value=Recording())
    assert [(row["name"], row["category"], row["args"]) for row in rows(path)] == [
        ("inner", "in", '{"text":"of inner"}'),
        ("outer", "out", '{"first":"of outer","value":"text"}'),
    ]


def test_each_text_is_written_once(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        for _ in range(100):
            rec.instant("the name", category="the category", the_argument="the value")
    data = path.read_bytes()
    for text in (b"the name", b"the category", b"the_argument", b"the value"):
        assert data.count(text) == 1


def test_texts_that_no_longer_fit_begin_anew(path):
    """More different values than a sequence keeps: the incremental state is cleared."""
    n = 70_000
    with tt.record(path, interval=None, sampler=Live()) as rec:
        for i in range(n):
            rec.instant("e", category="c", value=f"v{i}")
    found = rows(path)
    assert {row["category"] for row in found} == {"c"}
    assert [row["args"] for row in found] == [f'{{"value":"v{i}"}}' for i in range(n)]


def test_what_was_dropped_loses_no_text_of_what_follows(path):
    """Texts of an event that did not fit are written again with the next one."""
    with tt.record(path, interval=None, sampler=Live(), buffer_bytes=1 << 13) as rec:
        rec.instant("kept", category="c", value="before")
        for _ in range(3):
            rec.instant("lost", category="big", value="x" * (1 << 14))
        rec.instant("kept", category="big", value="after")
        assert rec.events_dropped == 3
    assert [(row["category"], row["args"]) for row in rows(path)] == [
        ("c", '{"value":"before"}'),
        ("big", '{"value":"after"}'),
    ]


def test_flows_lead_from_event_to_event(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("request", flow=7)
        rec.begin("handle", flow=(7, (1 << 64) - 1))
        rec.end()
        rec.instant("reply", end_flow=7)
    found = [(list(one.flow_ids), list(one.terminating_flow_ids)) for one in events_of(path)]
    assert found == [([7], []), ([7, (1 << 64) - 1], []), ([], []), ([], [7])]


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"category": 5}, "a category is a string"),
        ({"category": ("a", 1)}, "a category is a string"),
        ({"flow": -1}, "a flow is an int of 0"),
        ({"flow": 1 << 64}, "a flow is an int of 0"),
        ({"flow": True}, "a flow is an int of 0"),
        ({"end_flow": "a"}, "a flow is an int of 0"),
        ({"args": 5}, "args is a dict"),
        ({"args": [("a", 1)]}, "args is a dict"),
    ],
)
def test_wrong_details_are_usage_errors_and_leave_the_trace_whole(path, details, message):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("before", category="c")
        with pytest.raises(UsageError, match=message):
            rec.instant("wrong", **details)
        rec.instant("after", category="c")
    assert [row["name"] for row in rows(path)] == ["before", "after"]


def test_complete_spans_have_both_ends(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.complete("ns", 5 * S, 250, clock="MONOTONIC", track="t")
        for wrong in (-1, 1 << 63):
            with pytest.raises(UsageError):
                rec.complete("wrong", 5, wrong)
        with pytest.raises(UsageError, match="below 0"):
            rec.complete("wrong", -5, 1)
        with pytest.raises(UsageError, match="fit in int64"):
            rec.complete("wrong", (1 << 63) - 1, 1)
        with pytest.raises(UsageError, match="whole number"):
            rec.complete("wrong", 0.5, 1)  # type: ignore[arg-type]
    assert [(row["type"], row["timestamp"]) for row in rows(path)] == [
        ("slice_begin", 5 * S),
        ("slice_end", 5 * S + 250),
    ]


@pytest.mark.parametrize("duration", [1.5, None, True, "5", 1 << 63])
def test_a_duration_that_is_none_is_named(path, duration):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        with pytest.raises(UsageError, match=f"a duration is a whole number .*, not {duration!r}"):
            rec.complete("c", 5, duration)
        rec.complete("c", 5, np.int64(3))
    assert len(rows(path)) == 2


def test_complete_spans_in_ticks_may_wrap(path):
    """20 bits of 10 ns: it began before the counter wrapped, and ended after."""
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.declare(ClockDomain("com.example.gpu", ns_per_tick=10, valid_bits=20))
        wrap = 1 << 20
        rec.snapshot({"com.example.gpu": wrap - 50, "MONOTONIC": 10 * S})
        rec.complete("draw", wrap - 10, 30, clock="com.example.gpu")
        with pytest.raises(UsageError, match="more than the 20 bits"):
            rec.complete("draw", wrap, 30, clock="com.example.gpu")
    assert [row["timestamp"] for row in rows(path)] == [10 * (wrap - 10), 10 * (wrap + 20)]


def test_complete_spans_are_written_whole_or_not_at_all(path):
    with tt.record(path, interval=None, sampler=Live(), buffer_bytes=1 << 12) as rec:
        for i in range(100):
            rec.complete("span", S + 10 * i, 5, category="c", value=i)
        assert rec.events_dropped > 0
    types = Counter(row["type"] for row in rows(path))
    assert 0 < types["slice_begin"] == types["slice_end"] < 100


def test_threads_share_texts(path):
    def work(name: str) -> None:
        for i in range(2_000):
            rec.instant(name, category=name, value=f"{name} {i % 50}", i=i)

    with tt.record(path, interval=None, sampler=Live()) as rec:
        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = rows(path)
    assert Counter(row["name"] for row in found) == {f"t{n}": 2_000 for n in range(4)}
    for row in found:
        args = json.loads(row["args"])
        assert row["category"] == row["name"]
        assert args["value"] == f"{row['name']} {args['i'] % 50}"


def test_numbers_that_are_none_are_read_back(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("e", nan=math.nan, inf=-math.inf)
    nan, inf = (one.double_value for one in events_of(path)[0].debug_annotations)
    assert math.isnan(nan) and inf == -math.inf
