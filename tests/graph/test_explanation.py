"""One conversion explained; arguments that are refused."""

from __future__ import annotations

import pytest
from graphs import graph_of, refused
from hypothesis import given
from hypothesis import strategies as st

from tracetime import (
    ClockDomain,
    ClockId,
    ConversionError,
    Reading,
    UsageError,
)

LOW, HIGH = -(2**63), 2**63 - 1
S = 10**9


# One conversion explained


def test_explain_says_which_snapshot_was_taken(suspended):
    explained = suspended.explain(1104, "MONOTONIC", "BOOTTIME")
    assert explained.result == 2104
    (step,) = explained.steps
    assert (step.src, step.dst) == (ClockId(3), ClockId(6))
    assert (step.snapshot_index, step.snapshots, step.extrapolated) == (1, 6, "")
    assert (step.snapshot_src_ns, step.snapshot_dst_ns) == (1100, 2100)
    assert (step.value_ns_before, step.value_ns_after) == (1104, 2104)
    assert str(explained) == (
        "MONOTONIC 1104 -> BOOTTIME 2104 ns\n"
        "  1. MONOTONIC 1104 ns -> BOOTTIME 2104 ns: +1000 ns, from snapshot 2 of 6 "
        "(MONOTONIC 1100, BOOTTIME 2100)"
    )


@pytest.mark.parametrize(
    ("ts", "side", "expected"),
    [
        (999, "before first", "\n  1 ns before the first snapshot of MONOTONIC and BOOTTIME"),
        (1000, "", ""),
        (2099, "", ""),
        (2100, "", ""),
        (2107, "after last", "\n  7 ns after the last snapshot of MONOTONIC and BOOTTIME"),
    ],
)
def test_explain_says_where_there_is_no_snapshot_on_one_side(suspended, ts, side, expected):
    explained = suspended.explain(ts, "MONOTONIC", "BOOTTIME")
    assert explained.steps[0].extrapolated == side
    said = ": nothing says what was there" if expected else ""
    assert str(explained).endswith(f"){expected}{said}")


def test_explain_over_two_hops_and_with_a_unit(indirect):
    indirect.add_snapshot({"64@seq1": Reading(4, 1000), 200: 3503})
    explained = indirect.explain(4, "64@seq1", "BOOTTIME")
    assert [step.value_ns_after for step in explained.steps] == [3503, 3703, 7703]
    assert explained.unit_ns == 1000
    assert "  4 x 1000 ns = 4000 ns\n" in str(explained)
    assert explained.result == indirect.convert(4, "64@seq1", "BOOTTIME") == 7703


def test_explain_a_clock_to_itself(suspended):
    explained = suspended.explain(5, "MONOTONIC", "MONOTONIC")
    assert (explained.result, explained.steps) == (5, [])
    assert "the value stays as it is" in str(explained)


def test_clocks_of_a_hash_go_by_their_names():
    gpu, nic = "com.example.gpu", "com.example.nic"
    graph = graph_of(*({gpu: S * k + 10, "BOOTTIME": S * k} for k in (1, 2, 3)))
    graph.declare(ClockDomain(gpu))
    assert repr(graph) == "<ClockGraph of 2 clocks: BOOTTIME, com.example.gpu>"
    for policy in ("floor", "tube"):
        expected = str(graph.explain(11, gpu, "BOOTTIME", policy=policy))
        assert expected.startswith("com.example.gpu 11 -> BOOTTIME") and "0x" not in expected
    assert "0x" not in str(graph.explain(11, gpu, gpu, policy="tube"))
    expected = refused("overflow", graph, LOW, gpu, "BOOTTIME")
    assert expected.startswith(f"com.example.gpu {LOW} converted to BOOTTIME does not fit")
    for clock in (nic, ClockId.parse(nic)):
        assert refused("unknown_target_clock", graph, 5, gpu, clock).endswith(
            " the graph has BOOTTIME, com.example.gpu"
        )
    for policy in ("floor", "tube"):
        with pytest.raises(ConversionError, match="no snapshot has com.example.nic"):
            graph.declare(ClockDomain(nic))
            graph.path(nic, "BOOTTIME", policy)


def test_explain_fails_as_convert_does(suspended, daylight_saving):
    with pytest.raises(ConversionError) as info:
        daylight_saving.explain(5, "REALTIME", "BOOTTIME")
    assert info.value.reason == "non_monotonic_source"
    with pytest.raises(UsageError, match="one timestamp"):
        suspended.explain([1104], "MONOTONIC", "BOOTTIME")


values = st.one_of(
    st.integers(0, 40),
    st.integers(-(10**6), 10**6),
    st.sampled_from([LOW, LOW + 1, HIGH - 1, HIGH]),
)


@given(st.integers(LOW, HIGH), st.lists(st.tuples(values, values), min_size=1, max_size=6))
def test_explain_comes_to_what_convert_gives(ts, snapshots):
    graph = graph_of(
        {"MONOTONIC": sorted(s[0] for s in snapshots), "BOOTTIME": [s[1] for s in snapshots]}
    )
    expected = graph.convert(ts, 3, 6, errors="mask")
    if expected is not None:
        explained = graph.explain(ts, 3, 6)
        assert explained.result == explained.steps[-1].value_ns_after == expected


@pytest.mark.parametrize("call", ["convert", "explain", "path"])
def test_another_policy(suspended, call):
    arguments = ("MONOTONIC", "BOOTTIME") if call == "path" else (5, "MONOTONIC", "BOOTTIME")
    with pytest.raises(UsageError, match="no policy 'nearest'"):
        getattr(suspended, call)(*arguments, policy="nearest")


def test_another_way_with_errors(suspended):
    with pytest.raises(UsageError, match="'raise' or 'mask'"):
        suspended.convert(5, 3, 6, errors="ignore")
