"""Hosts that keep less than they write: bars and orders hold what begins and ends lack."""

import numpy as np
import pytest
from seeds import seeds
from span_files import BEGIN_NS, as_jaeger, otlp, resource_spans, simulated_world, span

from tracetime import open_trace

TICK = 15_625_000
STEPS = {
    "the first in us": (1000, 1),
    "the first in ms": (10**6, 1),
    "the second in ms": (1, 10**6),
    "both in ms": (10**6, 10**6),
    "us and ticks": (1000, TICK),
}


@pytest.fixture
def opened(tmp_path):
    def open_(content):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        return open_trace(path)

    return open_


def cut_off(ns, step):
    return ns // step * step


def rounded(ns, step):
    return (ns + step // 2) // step * step


def both_ends(begin, end, step, kept):
    return kept(begin, step), kept(end, step)


def begin_and_duration(begin, end, step, kept):
    """A coarse begin, and a duration that was measured to the ns."""
    return kept(begin, step), kept(begin, step) + end - begin


def both_of_them(begin, end, step, kept):
    """A coarse begin, and a coarse duration of its own."""
    return kept(begin, step), kept(begin, step) + kept(end - begin, step)


def coarse_duration(begin, end, step, kept):
    """An exact begin, and a coarse duration."""
    return begin, begin + kept(end - begin, step)


def coarsened(world, steps, ends, kept):
    """The spans of a world as hosts write them that have these steps."""
    for number, group in enumerate(world.groups):
        for one in group["scopeSpans"][0]["spans"]:
            times = int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])
            begin, end = ends(*times, steps[number % 2], kept)
            one["startTimeUnixNano"], one["endTimeUnixNano"] = str(begin), str(end)
    return world.groups


def numbers_of(groups):
    return [int(one["spanId"], 16) for group in groups for one in group["scopeSpans"][0]["spans"]]


def assert_held(world, groups, trace):
    numbers = numbers_of(groups)
    rows = trace.read_all("tube").to_pylist()
    assert len(rows) == 2 * len(numbers)
    closed = 0
    for row in rows:
        true = world.truth[numbers[row["packet"]]][row["item"]]
        earliest, latest = row["earliest"], row["latest"]
        assert earliest is None or earliest <= true
        assert latest is None or true <= latest
        closed += None not in (earliest, latest)
    assert closed > len(numbers)


@pytest.mark.parametrize("kept", [cut_off, rounded])
@pytest.mark.parametrize("ends", [both_ends, begin_and_duration, coarse_duration])
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("form", ["otlp", "jaeger"])
def test_bars_hold_what_hosts_do_not_keep(opened, form, steps, ends, kept):
    if form == "jaeger" and 1000 in steps:
        # Its unit is cut off.
        kept = cut_off
    if ends is coarse_duration:
        # Of calls of some ms hardly any lasts a tick of Windows.
        steps = tuple(min(step, 10**6) for step in steps)
    world = simulated_world(3, hosts=2, calls=60)
    groups = coarsened(world, steps, ends, kept)
    with opened(otlp(*groups) if form == "otlp" else as_jaeger(groups)) as trace:
        assert_held(world, groups, trace)


@pytest.mark.parametrize("kept", [cut_off, rounded])
def test_an_end_in_jaegers_json_is_a_coarse_begin_and_a_coarse_duration(opened, kept):
    world = simulated_world(4, hosts=2, calls=60)
    groups = coarsened(world, (10**6, 10**6), both_of_them, kept)
    with opened(as_jaeger(groups)) as trace:
        assert_held(world, groups, trace)


def test_exact_hosts_stay_exact_beside_coarse_ones(opened):
    world = simulated_world(3, hosts=2, calls=60)
    with opened(otlp(*coarsened(world, (1, 10**6), both_ends, cut_off))) as trace:
        table = trace.read_all("tube").to_pandas()
    first = table[table["machine"] == 0]
    assert (first["earliest"] == first["latest"]).all()


@pytest.mark.parametrize("seed", seeds(5))
def test_hosts_to_the_ns_are_on_no_step(opened, seed):
    world = simulated_world(seed, hosts=3, calls=60)
    with opened(otlp(*world.groups)) as trace:
        table = trace.read_all("tube").to_pandas()
    first = table[table["machine"] == 0]
    assert (first["earliest"] == first["latest"]).all()


def one_host(ends):
    """A host of whole ms with these ends, and an event within each span, by ns after its begin."""
    random = np.random.default_rng(1)
    truth = BEGIN_NS + np.sort(random.integers(0, 10**11, 100))
    spans = []
    for k, begin in enumerate((truth // 10**6 * 10**6).tolist(), 1):
        end = begin + ends(int(random.integers(2_000, 10**7)))
        events = [{"timeUnixNano": str(begin + 1_234), "name": "hit"}]
        spans.append(span(k, begin, end, trace=k, events=events))
    return truth, otlp(resource_spans(spans, host_id="a"))


def test_an_event_that_is_counted_from_a_coarse_begin_lacks_as_much(opened):
    truth, content = one_host(lambda lasted: lasted)
    with opened(content) as trace:
        rows = [row for row in trace.read_all("tube").to_pylist() if row["kind"] == "span_event"]
    for row, begin in zip(rows, truth.tolist(), strict=True):
        assert row["earliest"] <= begin + 1_234 <= row["latest"]
        assert 1_499_999 <= row["latest"] - row["earliest"] < 1_502_000


def test_slices_have_the_same_bars(opened):
    truth, content = one_host(lambda lasted: lasted // 10**6 * 10**6)
    with opened(content) as trace:
        rows = trace.slices("tube").read_all().to_pylist()
    assert len(rows) == 100
    for row, begin in zip(rows, truth.tolist(), strict=True):
        assert row["earliest"] <= begin <= row["latest"]
        assert 1_499_999 <= row["latest"] - row["earliest"] < 1_502_000
        assert row["dur_error_ns"] >= 10**6 - 1


def test_a_few_round_times_are_taken_as_they_stand(opened):
    spans = [span(k, BEGIN_NS + k * 10**9, BEGIN_NS + k * 10**9, trace=k) for k in range(1, 8)]
    with opened(otlp(resource_spans(spans, host_id="a"))) as trace:
        table = trace.read_all("tube").to_pandas()
    assert (table["earliest"] == table["latest"]).all()


def test_times_at_the_end_of_int64_stay_there(opened):
    most = 2**63 - 1
    clients = [span(k, BEGIN_NS + k * 10**6, most // 10**6 * 10**6, trace=k) for k in range(1, 40)]
    servers = [
        span(k + 99, most // 10**6 * 10**6, most, trace=k, parent=k, kind="SERVER")
        for k in range(1, 40)
    ]
    groups = resource_spans(clients, host_id="a"), resource_spans(servers, host_id="b")
    with opened(otlp(*groups)) as trace:
        sent = [info.orders for info in trace.clocks.orders()]
        trace.read_all("tube")
    assert sent
