"""Arrows of random Chrome JSON: the kernels beside their plain twin."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st
from json_slicing import document, event
from reading import opened
from twin import flows as twin

ts = st.integers(0, 6)
tids = st.sampled_from([1, 1, 2])
names = st.sampled_from(["a", "b", None])
flows = st.builds(
    lambda phase, ts, name, tid, **more: event(phase, ts, name, tid=tid, **more),
    st.sampled_from("sstfff"),
    ts,
    names,
    tids,
    cat=names,
    id=st.sampled_from([0, 1, 1, 2, None]),
    bp=st.sampled_from(["e", None, "x"]),
)
slices = st.builds(
    lambda phase, ts, name, tid, **more: event(phase, ts, name, tid=tid, **more),
    st.sampled_from("XXXBBEbe"),
    ts,
    names,
    tids,
    dur=st.sampled_from([0, 1, 3, 3, None]),
    id=st.sampled_from([1, 2]),
    bind_id=st.sampled_from([None, 0, 1, 2]),
    flow_in=st.sampled_from([None, True, False]),
    flow_out=st.sampled_from([None, True]),
)


@given(st.lists(flows | slices, max_size=25).map(lambda events: document(*events)))
@example(document(event("X", 0, dur=9), event("s", 1, id=1), event("f", 2, id=1, bp="e")))
@example(document(event("f", 1, id=1), event("X", 2, dur=1), event("f", 3, id=1), event("B", 4)))
def test_the_kernels_make_the_arrows_of_the_twin(text):
    with opened(text.encode()) as trace:
        _, arrows = trace.slices("floor")._read_with_arrows()
    columns = (arrows.columns[name].to_pylist() for name in twin.Arrow._fields)
    wanted, lost = twin.arrows(text)
    assert [*zip(*columns, strict=True)] == wanted
    assert +Counter(arrows.lost) == lost
