"""Slices of random Chrome JSON: the kernels beside their plain twin."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st
from json_slicing import Raw, document, logged, put, replayed, rows
from twin import chrome_json as twin

numbers = st.sampled_from(
    ["0", "1", "2", "3", "5", "9", "1.5", "2.0", "2.9999", "3.0005", "1e1", "25e-1", "-1"]
).map(Raw)
precise = st.integers(0, 40).map(lambda tick: Raw(f"1700000000000000.{tick:03}"))
times = numbers | precise | numbers.map(str) | st.none()
names = st.sampled_from(["a", "b", "a", "", "é\n", None])
owners = st.sampled_from([1, 1, 1, 2, 2, "p", "q", 0, -1, Raw("1.5"), None, True])
ids = st.sampled_from([1, 2, "x", "1", Raw("1.5"), None])
KEYS = {
    "ts": times,
    "dur": numbers | precise | st.none(),
    "pid": owners,
    "tid": owners,
    "name": names | st.sampled_from(["thread_name", "process_name"]),
    "cat": names,
    "id": ids,
    "bind_id": ids,
    "id2": st.fixed_dictionaries({}, optional={"local": ids, "global": ids}) | st.none(),
    "s": st.sampled_from(["g", "p", "t", "x", None]),
    "args": st.sampled_from([{"name": "n"}, {"name": ""}, {"name": 1}, {}, None, 5]),
}
phases = st.sampled_from([*"XXXXXBBEEbbeenniIRMMsCP", "", "Xy"])


def written(pairs):
    """A value as JSON, where None stands for a key that is left out."""
    if isinstance(pairs, dict):
        inside = ((key, written(value)) for key, value in pairs.items() if value is not None)
        return Raw(
            "{" + ", ".join(f"{json.dumps(key)}: {put(value)}" for key, value in inside) + "}"
        )
    return Raw(put(pairs))


@st.composite
def events(draw):
    """An event whose keys come in any order."""
    keys = draw(st.lists(st.sampled_from(sorted(KEYS)), unique=True))
    pairs = {"ph": draw(phases)} | {key: draw(KEYS[key]) for key in keys}
    usual = {"ts": draw(numbers), "dur": draw(numbers), "pid": 1, "tid": 1, "id": 1}
    return written(usual | pairs if draw(st.integers(0, 9)) else pairs)


crossing = st.builds(
    lambda phase, ts, dur, tid: written({"ph": phase, "ts": ts, "dur": dur, "pid": 1, "tid": tid}),
    st.sampled_from("XXXXXBEi"),
    times,
    numbers | precise,
    st.sampled_from([1, 1, 1, 2]),
)
asynchronous = st.builds(
    lambda phase, ts, name, key, id: written(
        {"ph": phase, "ts": ts, "name": name, "pid": 1, "cat": "c", key: id}
    ),
    st.sampled_from("bbben"),
    numbers,
    names,
    st.just("id"),
    st.sampled_from([1, 2, 3, "x"]),
) | st.builds(
    lambda phase, ts, pid, id: written({"ph": phase, "ts": ts, "pid": pid, "id2": {"local": id}}),
    st.sampled_from("bben"),
    numbers,
    st.sampled_from([1, 2, "p"]),
    st.sampled_from([1, 2]),
)
traces = st.one_of(
    st.lists(kind, max_size=30) for kind in (events(), crossing, asynchronous, events() | crossing)
).map(lambda many: document(*many))


@given(traces)
@example(document('{"ph": "X", "ts": 0, "dur": 1}', '{"ph": "X", "ts": 0, "dur": 2}'))
def test_the_kernels_make_the_slices_of_the_twin(text):
    assert rows(text) == twin.slices(text)


@given(traces)
def test_the_kernels_count_what_crosses_as_the_twin(text):
    log = logged(text)
    for exact in (False, True):
        assert replayed(log, exact)[1] == len(twin.replayed(text, exact).spilled)
