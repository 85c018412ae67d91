"""Events far from every snapshot of their clock and from the trace are found, with their cause."""

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event
from faults import GPU, NIC, SEQUENCE, START, Model, S
from reading import opened

from tracetime import diagnose
from tracetime.analysis.event_distances import Stray

CODE = "events-far-from-trace"


def findings(model):
    with opened(model.build()) as trace:
        return diagnose(trace)


def events_of(model, clock, write):
    """Write the model's events of one clock in another way: `write` makes of a reading a value."""
    model.event_clocks.remove(clock)
    unit = model.units.get(clock, 1)
    for k in range(model.n):
        at = model.time(k) + S // 2
        model.extra.setdefault(min(k + 1, model.n - 1), []).append(
            event(write(model.reads[clock](at), unit), clock, SEQUENCE)
        )


CLOCKS = [BOOTTIME, MONOTONIC, REALTIME, GPU, NIC, 64]


def model_of(snapshots, clock):
    model = Model()
    model.without = set(range(snapshots, model.n))
    if clock not in model.event_clocks:
        model.event_clocks.append(clock)
    # Far from its zero, as the clocks of a machine that has been up for a while.
    model.reads[64] = lambda t: (t - START) // 1000 + 3000 * 10**6
    return model


@pytest.mark.parametrize("snapshots", [1, 2, 60])
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("factor", [1_000, 1_000_000])
def test_events_in_another_unit_than_the_snapshots(clock, factor, snapshots):
    model = model_of(snapshots, clock)
    events_of(model, clock, lambda value, unit: value // factor)
    found = findings(model)[0]
    assert (found.code, found.severity) == (CODE, "error")
    assert [c.clock for c in found.clocks] == [clock]
    assert found.events == model.n
    coarser = {
        (1, 1000): "in us",
        (1, 10**6): "in ms",
        (1000, 1000): "in ms",
        (1000, 10**6): "in s",
    }[model.units.get(clock, 1), factor]
    assert coarser in found.title


@pytest.mark.parametrize("snapshots", [1, 2, 60])
@pytest.mark.parametrize("clock", [MONOTONIC, GPU, 64])
def test_events_in_a_finer_unit_than_the_snapshots(clock, snapshots):
    model = model_of(snapshots, clock)
    events_of(model, clock, lambda value, unit: value * 1_000)
    found = findings(model)[0]
    assert (found.code, found.severity, found.events) == (CODE, "error", model.n)
    expected = "they are in ns, its snapshots in us" if clock == 64 else "1,000 times too large"
    assert expected in found.title


@pytest.mark.parametrize("snapshots", [1, 2, 60])
@pytest.mark.parametrize("uptime", [20 * S, 5000 * S, 551_457 * S])
def test_is_incremental_is_missing(uptime, snapshots):
    model = model_of(snapshots, 64)
    model.reads[64] = lambda t: (t - START + uptime) // 1000
    last = [model.reads[64](START)]

    def delta(value, unit):
        step, last[0] = value - last[0], value
        return step + value % 7

    events_of(model, 64, delta)
    found = findings(model)[0]
    assert (found.code, found.severity) == (CODE, "error")
    assert "deltas, taken for absolute" in found.title
    assert "is_incremental" in found.fix


@pytest.mark.parametrize("snapshots", [1, 2, 60])
@pytest.mark.parametrize("uptime", [20 * S, 5000 * S, 551_457 * S])
def test_is_incremental_is_set_where_events_are_absolute(uptime, snapshots):
    model = model_of(snapshots, 64)
    model.units = {}
    model.reads[64] = lambda t: ((t - START + uptime) // 1000, 1000, True)
    events_of(model, 64, lambda value, unit: value[0])
    found = findings(model)[0]
    assert (found.code, found.severity) == (CODE, "error")
    assert "absolute values, taken for deltas" in found.title
    assert "is_incremental" in found.fix


@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, REALTIME, GPU, 64])
@pytest.mark.parametrize("hours", [2, -1, 26])
def test_events_hours_off(clock, hours):
    model = model_of(60, clock)
    model.event_clocks.remove(clock)
    if hours < 0:
        # The model has been up for less.
        for c, read in list(model.reads.items()):
            more = 10**13 // (1000 if c == 64 else 1)
            model.reads[c] = lambda t, read=read, more=more: read(t) + more
    for k in range(5):
        at = model.time(30 + k) + hours * 3600 * S
        model.extra[30 + k] = [event(model.reads[clock](at), clock, SEQUENCE)]
    found = findings(model)[0]
    assert (found.code, found.severity, found.events) == (CODE, "error", 5)
    assert ("before" if hours < 0 else "after") in found.title
    assert found.worst_ns > (abs(hours) - 0.1) * 3600 * S


def test_events_of_another_clock_are_named_after_it():
    model = model_of(60, REALTIME)
    read = model.reads[BOOTTIME]
    model.reads[BOOTTIME] = lambda t: read(t)
    events_of(model, REALTIME, lambda value, unit: value - 1_700_000_000 * S)
    found = findings(model)[0]
    assert (found.code, found.severity, found.events) == (CODE, "error", model.n)
    assert "they were read in BOOTTIME" in found.title
    assert [c.clock for c in found.clocks] == [REALTIME]


def test_a_clock_in_a_thousand_sequences_is_one_finding():
    model = Model()
    for seq in range(100, 140):
        model.extra.setdefault(1, []).append(
            snapshot_of(seq, 64, (model.time(1) // 1000, 1000), model.time(1))
        )
        for k in range(5, 50):
            model.extra.setdefault(k, []).append(event(1000 + k % 5, 64, seq))
    found = findings(model)[0]
    assert (found.code, len(found.clocks), found.events) == (CODE, 40, 40 * 45)
    assert "deltas" in found.title


def snapshot_of(seq, clock, reading, boottime):
    from building import snapshot

    return snapshot({clock: reading, BOOTTIME: boottime}, seq)


@pytest.mark.parametrize("idle", [5, 300, 550])
def test_a_pause_is_not_far(idle):
    """One snapshot, and events again after some minutes of nothing."""
    model = model_of(1, NIC)
    model.event_clocks = [BOOTTIME, MONOTONIC, 64]
    for clock in model.event_clocks:
        value = model.reads[clock](model.time(59) + idle * S)
        model.extra.setdefault(model.n - 1, []).append(event(value, clock, SEQUENCE))
    assert CODE not in {finding.code for finding in findings(model)}


def test_a_long_trace_with_one_snapshot_is_not_far():
    model = Model()
    model.time = lambda k: START + k * 300 * S
    model.without = set(range(1, model.n))
    model.event_clocks = [BOOTTIME, MONOTONIC, 64]
    assert CODE not in {finding.code for finding in findings(model)}


@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, 64])
def test_events_near_the_ends_of_a_short_uptime_are_not_far(clock):
    """A machine that has just booted: anything small is near its zero."""
    model = Model()
    for c, read in list(model.reads.items()):
        unit = 1000 if c == 64 else 1
        model.reads[c] = lambda t, read=read, unit=unit: read(t) - (START - 3 * S) // unit
    model.reads[MONOTONIC] = model.reads[BOOTTIME]
    model.reads[64] = lambda t: (t - START + 3 * S) // 1000
    for value in (0, 2_000, 2_000_000, 2_000_000_000):
        at = value // (1000 if clock == 64 else 1)
        model.extra.setdefault(2, []).append(event(at, clock, SEQUENCE))
    assert CODE not in {finding.code for finding in findings(model)}


def test_events_of_several_batches_are_counted_together_wherever_they_are():
    """Readings below 0 and beyond int64 are not the trace's, and reported as they are."""
    one = Stray(2, 7, 90, -(1 << 63), -500, -3, -9, 1, 12)
    other = Stray(3, 5, 80, -400, -300, -4, -10, 2, 11)
    expected = Stray()
    expected.add(one)
    assert expected == one
    expected.add(other)
    assert expected == Stray(5, 5, 90, -(1 << 63), -300, -4, -19, 3, 11)
