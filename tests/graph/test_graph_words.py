"""What a graph says where it refuses: whole sentences, with their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, Snapshot, UsageError
from tracetime.graph.clock_names import named
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.graph_data import too_many_tubes
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.wraps import Counter, open_wraps

S = 1_000_000_000
AT = np.arange(1, 6, dtype=np.int64) * S


def words(call: Any, *args: Any, **named: Any) -> str:
    with pytest.raises((UsageError, ConversionError)) as info:
        call(*args, **named)
    return str(info.value)


def graph_of(n: int) -> ClockGraph:
    graph = ClockGraph("BOOTTIME")
    for k in range(n - 1):
        graph.add_snapshot({"BOOTTIME": AT, ClockId(200 + k): AT})
    return graph


def test_limits_outside_their_ranges() -> None:
    assert words(Limits, 0.25, 0.0) == (
        "a drift of 250000 ppm is outside 0 to 100000 ppm: say the clock's rate (ns_per_tick), and "
        "how far off that it may be"
    )
    assert words(Limits, 0.05, 0.02) == "a wander of 20000 ppm is outside 0 to 10000 ppm"
    assert words(Limits.of, -5, 7) == "drifts of -5 and 7 ppm: use 0 or more"


def test_evidence_that_is_none() -> None:
    two = np.array([1, 2])
    assert words(Evidence.of, two, two[:1], 5) == "2 readings, 1 offsets and 2 half-widths"
    assert words(Evidence.of, two, two, np.array([3, -4])) == "half-width -4 ns: use 0 or more"
    assert words(Evidence.of, two, two, 5, correction=two[:1]) == (
        "2 readings, and 1 corrections of their rate"
    )
    most = 1 << 61
    for offset, half, extreme in (
        (most + 5, 1, most + 5),
        (-most - 7, 1, most + 7),
        (0, most // 2 + 3, most + 6),
    ):
        assert words(Evidence.of, two, np.array([offset, 0]), half) == (
            f"an offset of {extreme} ns (or half-width of half as much) between two clocks: more "
            f"than {most} ns cannot be bounded; check the snapshots' units"
        )


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2, "BOOTTIME, 200"),
        (12, "BOOTTIME, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210"),
        (13, "BOOTTIME, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210 and 1 more"),
        (15, "BOOTTIME, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209, 210 and 3 more"),
    ],
)
def test_a_clock_that_is_not_there(n: int, expected: str) -> None:
    graph = graph_of(n)
    assert words(graph.convert, 5, "TSC", "BOOTTIME") == (
        f"no snapshot has TSC: the graph has {expected}"
    )
    assert words(graph.convert, 5, "BOOTTIME", "TSC") == (
        f"no snapshot has TSC: the graph has {expected}"
    )
    assert words(graph.convert, 5, "TSC", "BOOTTIME", policy="tube") == (
        "no snapshot or order has TSC with another clock"
    )
    assert words(ClockGraph().convert, 5, 3, 6).endswith("the graph has no clocks")


def test_a_way_that_is_too_long_or_is_none() -> None:
    graph = ClockGraph()
    for k in range(5):
        graph.add_snapshot({ClockId(200 + k): AT, ClockId(201 + k): AT})
    graph.add_snapshot({"TSC": AT, "PERF": AT})
    for src, dst in ((200, 205), (200, 9)):
        assert words(graph.convert, 5, src, dst) == (
            f"the snapshots do not lead from {ClockId(src)} to {ClockId(dst)} in 4 hops: take one "
            "that has both, or a clock that each is tied to"
        )
    assert graph.convert(5 * S, 200, 204) == 5 * S
    assert graph.convert(5 * S, 200, 205, policy="tube") == 5 * S
    assert words(graph.convert, 5, 200, 9, policy="tube") == (
        "the snapshots do not lead from 200 to TSC"
    )
    assert graph.path(200, 204) == [ClockId(200 + k) for k in range(5)]
    assert graph.path(200, 200) == graph.path(200, 200, policy="tube") == [ClockId(200)]


def test_what_was_not_converted_and_where_it_stood() -> None:
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": 5, "REALTIME": 2**60})
    most = 2**63 - 1
    text = "converted to REALTIME does not fit in int64"
    assert words(graph.convert, most, "BOOTTIME", "REALTIME") == f"BOOTTIME {most} {text}"
    for policy in ("floor", "tube"):
        assert words(graph.convert, [7, most, most], "BOOTTIME", "REALTIME", policy=policy) == (
            f"BOOTTIME {most} (index 1) {text}"
        )
        masked = graph.convert(
            [7, most, 8], "BOOTTIME", "REALTIME", policy=policy, errors="mask"
        ).to_pylist()
        assert masked == [2**60 + 2, None, 2**60 + 3]
        assert graph.convert(most, 6, 1, policy=policy, errors="mask") is None


def test_a_reading_that_is_two_instants() -> None:
    graph = ClockGraph()
    back = np.where(AT >= 3 * S, S, 0)
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": AT, "REALTIME": AT - back},
            reference="BOOTTIME",
            half_width_ns={"REALTIME": 10},
        )
    )
    bar = graph.convert(2 * S, "REALTIME", "BOOTTIME", policy="tube", bounds=True, errors="mask")
    assert bar.estimate is None
    assert words(graph.convert, [S // 2, 2 * S], "REALTIME", "BOOTTIME", policy="tube") == (
        f"REALTIME {2 * S} (index 1) can mean two instants of BOOTTIME, between {bar.earliest} and "
        f"{bar.latest}: REALTIME was set back"
    )
    assert bar.earliest <= 2 * S < 3 * S <= bar.latest


def test_policies_and_errors_that_there_are_not() -> None:
    graph = graph_of(2)
    assert words(graph.convert, 5, 6, 200, policy="near") == (
        "there is no policy 'near': use 'floor' or 'tube'"
    )
    assert (
        words(graph.convert, 5, 6, 200, errors="null") == "errors is 'raise' or 'mask', not 'null'"
    )
    for more, what in (({"bounds": True}, "bounds"), ({"near": (5, 6)}, "near")):
        assert words(graph.convert, 5, 6, 200, **more) == (
            f"only the tube has {what}: convert with policy='tube'"
        )
    for near in (5, (5,), (5, 6, 7), "ab c"):
        assert "near is (timestamps, clock), not" in words(
            graph.convert, 5, 6, 200, policy="tube", near=near
        )
    assert words(graph.convert, [5, 6], 6, 200, policy="tube", near=([1, 2, 3], 6)) == (
        "near is one timestamp, or 2 of them without nulls"
    )
    assert words(graph.order, (5, 6), (7,)) == (
        "order compares (timestamps, clock) with as many, not (7,)"
    )
    assert words(graph.order, ([5, 6], 6), ([7, 8, 9], 200)) == (
        "order compares as many timestamps with as many: 2 with 3"
    )
    assert words(graph.explain, [5, 6], 6, 200) == "explain takes one timestamp, an int"
    assert words(graph.curves, 6, 6) == "BOOTTIME is compared with itself: name two clocks"
    assert words(graph.declare, "TSC").startswith("a domain is a ClockDomain")


def test_several_snapshots_say_which_was_refused() -> None:
    graph = ClockGraph("BOOTTIME")
    assert words(graph.add_snapshot, {"BOOTTIME": [5, 6, 4, 3]}) == (
        "snapshot 2 of 4: BOOTTIME is the trace clock, and went backwards"
    )
    assert len(graph.clocks()) == 1
    assert graph.clocks()[0].snapshots == 2
    assert (
        words(graph.add_snapshot, {"BOOTTIME": 1})
        == "BOOTTIME is the trace clock, and went backwards"
    )


@pytest.mark.parametrize(
    ("gap", "expected"),
    [(999, None), (1_000, "1.0"), (2_549, "2.5"), (1_234_567, "1,234.6")],
)
def test_wraps_that_are_open(gap: int, expected: str | None) -> None:
    counter = Counter(1_000, np.array([1, 2]), np.array([5, 5 + gap]))
    text = None
    if expected is not None:
        text = (
            f"TSC wraps, up to {expected} times between two of its snapshots, and which of these wraps "
            "a reading belongs to is open: take a snapshot of it more often than it wraps"
        )
    assert open_wraps(ClockId(9), counter, None) == text


def test_numbers_in_other_words() -> None:
    assert str(too_many_tubes(7)).startswith("error bars are requested of more than 7 pairs")
    graph = ClockGraph(domains=[ClockDomain("com.example.gpu", name="GPU 1")])
    graph.add_snapshot({"BOOTTIME": AT, "com.example.gpu": AT})
    assert repr(graph) == "<ClockGraph of 2 clocks: BOOTTIME, GPU 1>"
    assert repr(graph_of(9)) == "<ClockGraph of 9 clocks: BOOTTIME, 200, 201, 202, 203, 204>"
    assert words(graph.convert, 5, "com.example.gpu", "TSC").startswith("no snapshot has TSC")


def test_names_that_a_caller_gives_are_the_names_of_clocks() -> None:
    """Readings and orders say them; a declared name comes first."""
    a, b, far = "com.example.a", "com.example.b", "com.example.c@machine2"
    graph = ClockGraph(domains=[ClockDomain(b, name="the b")])
    graph.add_snapshot({a: [1_000, 2_000], b: [1_010, 2_010]})
    graph.add_order((1_000, a), (5_250, far))
    graph.add_order((5_300, far), (1_090, a))
    said = str(graph.explain(1_050, b, far, policy="tube"))
    assert "0x" not in said
    assert said.startswith(f"the b 1050 -> {far} ")
    assert f"{a} 1000 before {far} 5250" in said
    assert graph.names == {ClockId.parse(a): a, ClockId.parse(b): "the b", ClockId.parse(far): far}
    with pytest.raises(ConversionError, match=f"the graph has {a}, the b") as refused:
        graph.convert(1, "com.example.d", a)
    assert "0x" not in refused.value.message


def test_pings_and_collectives_name_their_clocks() -> None:
    graph = ClockGraph()
    graph.add_pings("x.one", "x.two", sent=1, received=20, replied=30, returned=40)
    graph.add_together(starts=[(1, "x.three"), (9, "x.one")], ends=[(50, "x.three"), (60, "x.one")])
    assert sorted(graph.names.values()) == ["x.one", "x.three", "x.two"]


def test_a_named_clock_is_called_by_its_name_wherever_a_text_has_its_number():
    gpu, here = ClockId.parse("com.example.gpu"), ClockId.parse("com.example.gpu@machine2")
    names = {gpu: "com.example.gpu", ClockId(200): "two hundred"}
    text = f"{gpu}, {here}, {gpu}@file1: 200, 0x8a01b2c3, {gpu}."
    assert named(text, names) == (
        "com.example.gpu, com.example.gpu@machine2, com.example.gpu@file1: 200, 0x8a01b2c3, "
        "com.example.gpu."
    )
    assert named(str(here), names | {here: "the client's"}) == "the client's"
    assert named(f"{gpu}@machine99999999999", names) == "com.example.gpu@machine99999999999"
