"""A suspend is the one primary finding, whichever clocks stand still and however many there are."""

from itertools import combinations

import pytest
from building import BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME, event, snapshot
from faults import GPU, NIC, Model, S
from reading import opened

from tracetime import ClockId, diagnose
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.doctor.attribution import _Jumps, _Sleeps
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.tube.results import PairDiscontinuity

DEVICES = (GPU, NIC, 64)
STOP = (MONOTONIC, MONOTONIC_RAW)
MONOTONIC_COARSE = BUILTIN_IDS["MONOTONIC_COARSE"]
TICK_NS = 4_000_000


def findings(model):
    with opened(model.build()) as trace:
        return [finding for finding in diagnose(trace) if finding.code != "no-realtime"]


def asleep(clocks, still, *, slept=3600 * S, snapshots=60, woke=(20,), primary=BOOTTIME):
    """A model of some clocks, of which some stand still while the machine sleeps."""
    model = Model()
    model.n = snapshots
    monotonic = model.reads[MONOTONIC]
    model.reads[MONOTONIC_COARSE] = lambda t: monotonic(t) // TICK_NS * TICK_NS
    times = [model.time(k) - S // 3 for k in woke]
    for clock, read in list(model.reads.items()):
        if clock not in still:
            model.reads[clock] = lambda t, read=read: read(t + slept * sum(t >= w for w in times))
    gone = set(model.reads) - set(clocks)
    for k in range(model.n):
        model.edit(k, lambda readings: [readings.pop(clock) for clock in gone])
    model.event_clocks = [clock for clock in model.event_clocks if clock in clocks]
    model.primary = dict.fromkeys(range(model.n), primary)
    return model


def subsets(clocks):
    return [c for n in range(len(clocks) + 1) for c in combinations(clocks, n)]


@pytest.mark.parametrize("snapshots", [3, 6, 60])
@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("still", subsets(DEVICES))
def test_whichever_devices_stand_still_next_to_the_kernels_clocks(still, primary, snapshots):
    clocks = (BOOTTIME, REALTIME, *STOP, *DEVICES)
    model = asleep(
        clocks, (*STOP, *still), snapshots=snapshots, woke=(snapshots // 2,), primary=primary
    )
    (found,) = findings(model)
    assert (found.code, found.title) == ("suspend", "the machine slept once, for 1 h 0 min")


@pytest.mark.parametrize("slept", [50_000, 500_000])
@pytest.mark.parametrize("stop", [(MONOTONIC,), STOP])
@pytest.mark.parametrize("woke", [3, 20, 57])
def test_a_sleep_that_drift_would_explain_is_one(woke, stop, slept):
    """MONOTONIC and BOOTTIME tick alike: whatever one is ahead, the machine slept."""
    clocks = (BOOTTIME, REALTIME, *stop)
    model = asleep(clocks, stop, slept=slept, woke=(woke,))
    (found,) = findings(model)
    assert found.code == "suspend"
    assert found.title.startswith("the machine slept once")


@pytest.mark.parametrize("snapshots", [3, 60])
@pytest.mark.parametrize("slept", [S // 2, 3600 * S])
@pytest.mark.parametrize("still", [(GPU,), (64,), (GPU, 64)])
def test_devices_alone_show_it_next_to_boottime(still, slept, snapshots):
    clocks = (BOOTTIME, REALTIME, GPU, 64)
    (found,) = findings(
        asleep(clocks, still, slept=slept, snapshots=snapshots, woke=(snapshots // 2,))
    )
    assert found.code == "suspend"
    assert set(found.clocks) >= {c for c in found.clocks if c.clock in still}


@pytest.mark.parametrize(
    ("clocks", "still", "code"),
    [
        ((MONOTONIC, REALTIME, 64), (MONOTONIC,), "suspend"),
        ((MONOTONIC_COARSE, GPU, NIC), (MONOTONIC_COARSE,), "suspend"),
        ((MONOTONIC, REALTIME, 64, GPU), (MONOTONIC, GPU), "suspend"),
        ((MONOTONIC, GPU, NIC), (MONOTONIC,), "suspend"),
        ((MONOTONIC, REALTIME, 64), (MONOTONIC, 64), "clock-stepped"),
    ],
)
def test_without_boottime_those_that_are_not_set_say_so(clocks, still, code):
    (found,) = findings(asleep(clocks, still, primary=clocks[0]))
    assert found.code == code


@pytest.mark.parametrize("size", [-S // 2, S // 2, 20 * S])
def test_a_device_that_is_set_while_time_goes_on_as_usual_is_no_suspend(size):
    model = asleep((BOOTTIME, REALTIME, GPU, 64), (), woke=())
    read = model.reads[GPU]
    model.reads[GPU] = lambda t: read(t) + (t > model.time(20) - S // 3) * size
    (found,) = findings(model)
    assert (found.code, [c.clock for c in found.clocks]) == ("clock-stepped", [GPU])


@pytest.mark.parametrize("sequences", [1, 40])
@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("tied_to", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("woke", [(20,), (20, 40)])
def test_clocks_of_many_sequences_sleep_with_the_machine(sequences, primary, tied_to, still, woke):
    """Each has snapshots of its own, at other times than the rest."""
    stopped = (*STOP, GPU, NIC, *([64] if still else []))
    clocks = (BOOTTIME, REALTIME, *STOP, *DEVICES)
    model = asleep(clocks, stopped, woke=woke, primary=primary)
    for sequence in range(100, 100 + sequences):
        for k in range(1, model.n):
            packets = model.extra.setdefault(k, [])
            t = model.time(k) - S // 7 - sequence * 1000
            if (k + sequence) % 7 == 0:
                read = {64: (model.reads[64](t), 1000), tied_to: model.reads[tied_to](t)}
                packets.append(snapshot(read, sequence))
            packets.append(event(model.reads[64](t + S // 20), 64, sequence))
    (found,) = findings(model)
    often = "once, for" if len(woke) == 1 else "2 times, for up to"
    assert (found.code, found.title) == ("suspend", f"the machine slept {often} 1 h 0 min")


def test_a_coarse_trace_clock_that_fell_was_not_set_back_by_the_kernel():
    model = asleep((MONOTONIC_COARSE, GPU, NIC), (), woke=(), primary=MONOTONIC_COARSE)
    model.edit(30, lambda readings: readings.update({MONOTONIC_COARSE: TICK_NS}))
    found = next(f for f in findings(model) if f.code == "trace-clock-ran-backwards")
    assert found.fix.startswith("The kernel never sets this clock back")


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
def test_boottime_is_no_remedy_where_it_is_the_trace_clock(primary):
    clocks = (BOOTTIME, REALTIME, *STOP)
    model = asleep(clocks, STOP, primary=primary)
    (found,) = findings(model)
    assert ("With BOOTTIME as the trace clock" in found.fix) == (primary == MONOTONIC)
    model = asleep(clocks, STOP, woke=(), primary=primary)
    model.edit(30, lambda readings: readings.update({primary: readings[primary] - 9 * S}))
    (found,) = findings(model)
    assert found.code == "trace-clock-ran-backwards"
    assert "BOOTTIME" not in found.fix
    model = asleep(clocks, STOP, woke=(), primary=primary)
    model.extra[5] = [event(-9000 * S, REALTIME)]
    (found,) = findings(model)
    assert found.code == "negative-trace-time"
    assert ("BOOTTIME" in found.fix) == (primary == MONOTONIC)


def test_an_outlier_as_large_as_a_sleep_around_it_is_none():
    """One snapshot that is off is not what the clocks did from then on."""
    sleep = PairDiscontinuity(
        ClockId(BOOTTIME), ClockId(MONOTONIC), "suspend", 0, S, (-S, -S), None, (4, 6)
    )
    known = _Sleeps(PairDiscontinuities.of([sleep]))
    off = sleep._replace(dst=ClockId(GPU), kind="outlier", snapshots=(5,))
    stepped = off._replace(kind="step", snapshots=(4, 6))

    def explained(*found):
        jumps = _Jumps((found[0].src, found[0].dst), PairDiscontinuities.of(found))
        return known.explain(jumps).tolist()

    assert explained(stepped, off, stepped) == [True, False, True]
    assert explained(stepped._replace(dst=ClockId(GPU, machine=1))) == [False]


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC, REALTIME])
@pytest.mark.parametrize("stops", [False, True])
def test_sleep_is_one_finding_whatever_the_trace_clock_is_and_whichever_clocks_stop(stops, primary):
    model, woke, slept = Model(), 20, 3600 * S
    going = [BOOTTIME, REALTIME, 64] if stops else [BOOTTIME, REALTIME, 64, GPU, NIC]
    for clock, read in list(model.reads.items()):
        if clock in going:
            model.reads[clock] = lambda t, read=read: read(t + (t >= model.time(woke)) * slept)
    model.primary = dict.fromkeys(range(model.n), primary)
    model.event_clocks.append(REALTIME)
    (found,) = findings(model)
    assert (found.code, found.title) == ("suspend", "the machine slept once, for 1 h 0 min")
    assert set(found.packets) <= set(model.at_snapshot(woke))
