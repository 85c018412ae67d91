"""Wall clocks tie machines as far as their kernels, or the caller, say how far off they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_worlds import trace_of
from simulated import Clock, Machine
from wall_bounds import bounded_recording

import tracetime as tt
from fuzz.costly import BOOTTIME, event
from tracetime import ClockDomain
from tracetime.clocks.kernel_clock import STA_UNSYNC, TIME_ERROR, KernelClock
from tracetime.merging.merged_traces import MergedTraces

UTC = 1_755_000_000_000_000_000
"""Of the true time 0."""


class Steered(Machine):
    """A machine whose REALTIME is off by `off_ns`, and drifts by `rate_ppb`."""

    def __init__(self, boot_ns, off_ns, rate_ppb, state):
        super().__init__(
            [
                Clock(ClockDomain("MONOTONIC"), boot_ns, rate_ppb),
                Clock(ClockDomain("BOOTTIME"), boot_ns, rate_ppb),
                Clock(ClockDomain("REALTIME"), UTC + off_ns, rate_ppb),
            ]
        )
        self.state = state
        self.bound = None
        self.first_ns = self.now_ns

    def sample(self):
        sample = super().sample()
        return replace(sample, adjtimex=self.state, wall_bound=self.wall_bound(sample))

    def wall_bound(self, sample):
        """As its time service has it: `bound` is how far UTC is outside of the truth, each way."""
        if self.bound is None:
            return None
        clock = tt.ClockId(1)
        read_ns = sample.snapshot.readings[clock].value
        off_ns = self.off_ns(self.now_ns)
        assert abs(read_ns - self.clocks[clock].ns(self.now_ns)) < 1_000
        low, high, source = self.bound
        return tt.WallBound(-off_ns - low, -off_ns + high, source)

    def off_ns(self, true_ns):
        """REALTIME less UTC."""
        return self.clocks[tt.ClockId(1)].ns(true_ns) - UTC - true_ns

    def boottime(self, true_ns):
        return self.clocks[tt.ClockId(6)].ns(true_ns)


def kernel(maxerror_us, *, esterror_us=40, status=1, state=0):
    return KernelClock(0, 10_000, 0, maxerror_us, esterror_us, status, state, 37)


def recorded(path, boot_ns, off_ns, *, rate_ppb=0, later_ns=0, state, bound=None):
    machine = Steered(boot_ns, off_ns, rate_ppb, state)
    machine.bound = bound
    machine.now_ns += later_ns
    machine.first_ns = machine.now_ns
    with tt.record(path, interval=None, sampler=machine) as rec:
        for _ in range(10):
            machine.now_ns += 1_000_000_000
            rec.snapshot()
            rec.instant("event", timestamp=machine.boottime(machine.now_ns), clock="BOOTTIME")
    return machine


def pair(folder, *, off_us=(300, -700), errors_us=(1_000, 2_000), **options):
    """Two machines, each as far off as its kernel allows."""
    made = []
    for name, off, error, boot in zip("ab", off_us, errors_us, (5, 900), strict=True):
        path = folder / f"{name}.pftrace"
        bound = options.get(f"bound_{name}")
        state = options.get(f"state_{name}", kernel(error))
        more = {key: options[key] for key in ("later_ns", "rate_ppb") if key in options}
        more = more if name == "b" else {}
        made.append(
            (path, recorded(path, boot * 10**9, off * 1_000, state=state, bound=bound, **more))
        )
    return [path for path, _ in made], [machine for _, machine in made]


def check_truth(paths, machines, bars="estimated", **options):
    """The bars of b on a, which hold the truth; the widest half of them."""
    with MergedTraces(paths, different=["a.pftrace,b.pftrace"], **options) as joined:
        other = machines[1]
        true = np.linspace(other.first_ns, other.now_ns, 50).astype(np.int64).tolist()
        times = np.array([other.boottime(t) for t in true])
        clocks = [joined.boots.clock(number, tt.ClockId(6)) for number in (1, 0)]
        found = joined.clocks.convert(times, *clocks, policy="tube", bounds=True, bars=bars)
        truth = np.array([machines[0].boottime(t) for t in true])
        assert ((found.earliest <= truth) & (truth <= found.latest)).all()
        return int((found.latest - found.earliest).max()) / 2


def test_two_machines_whose_kernels_say_how_far_off_they_are(tmp_path):
    paths, machines = pair(tmp_path)
    half = check_truth(paths, machines)
    # Each kernel may lack 500 us of what its maxerror has grown by.
    assert 4_000_000 <= half < 4_600_000
    report = tt.merge(paths, None, different=["a.pftrace,b.pftrace"])
    (tie,) = report.files[1].ties
    assert tie.kind == "wall_clocks"
    assert "REALTIME of a.pftrace is within 1.5 ms of UTC, as its kernel says" in tie.said
    assert "REALTIME of b.pftrace is within 2.5 ms of UTC, as its kernel says" in tie.said


def test_a_second_of_growth_that_the_kernel_has_not_added_is_held(tmp_path):
    check_truth(*pair(tmp_path, off_us=(1_499, -2_499)))


def test_what_a_time_service_bounded_goes_before_what_the_kernel_says(tmp_path):
    """Also where the kernel says that nothing steers the clock, as beside `chronyd -x`."""
    paths, machines = pair(
        tmp_path,
        off_us=(300, -70_000),
        bound_a=(20_000, 40_000, "clockbound"),
        bound_b=(100_000, 0, "chrony"),
        state_b=kernel(16_000_000, status=STA_UNSYNC, state=TIME_ERROR),
    )
    half = check_truth(paths, machines)
    # Bars of 60 and 100 us, what the clocks may drift in half a second each, and half-widths.
    assert 80_000 <= half < 80_000 + 600_000
    report = tt.merge(paths, None, different=["a.pftrace,b.pftrace"])
    (tie,) = report.files[1].ties
    assert "REALTIME of a.pftrace is within 320 us of UTC, as clockbound said" in tie.said
    assert "REALTIME of b.pftrace is within 70 ms of UTC, as chrony said" in tie.said


@pytest.mark.parametrize(("moved_ns", "fine"), [(120_000_000, True), (130_000_000, False)])
def test_a_time_service_that_contradicts_itself_ties_nothing(tmp_path, moved_ns, fine):
    """In the second from one snapshot to the next chronyd steers by 83 ms at most."""
    made = tmp_path / "b.pftrace"
    bounds = [tt.WallBound(k * moved_ns, k * moved_ns, "chrony") for k in (0, 1, 0)]
    bounded_recording(made, *bounds)
    made.write_bytes(made.read_bytes() + event(2 * 10**9, BOOTTIME))
    one = tmp_path / "a.pftrace"
    recorded(one, 10**12, 0, state=kernel(5_000))
    file = tt.merge([one, made], None).files[1]
    assert bool(file.ties) == fine
    why = "wall clocks: b.pftrace: its time service contradicts itself, by 5 ms"
    assert (why in file.looked_for) != fine


@settings(max_examples=15)
@given(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), st.sampled_from([0, 1]))
def test_bars_hold_however_lopsided_a_bound_is(tmp_path_factory, bound, side):
    bounds = [(5_000, 5_000, "adjtimex")] * 2
    bounds[side] = (*bound, "ptp")
    paths, machines = pair(
        tmp_path_factory.mktemp("lopsided"), bound_a=bounds[0], bound_b=bounds[1]
    )
    check_truth(paths, machines)


@settings(max_examples=15)
@given(
    errors_us=st.tuples(st.integers(50, 20_000), st.integers(50, 20_000)),
    sides=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    later_s=st.integers(0, 600),
    rate_ppb=st.integers(-100_000, 100_000),
)
def test_bars_hold_wherever_the_truth_is_within_what_kernels_say(
    tmp_path_factory, errors_us, sides, later_s, rate_ppb
):
    # What b drifts until the last snapshot is within its error, too.
    errors_us = errors_us[0], errors_us[1] + 100 * (later_s + 1_200)
    drifts = 10**-9 * rate_ppb * (later_s + 1_200) * 10**6
    off_us = [round(error * side) for error, side in zip(errors_us, sides, strict=True)]
    off_us[1] = max(-errors_us[1], min(errors_us[1], off_us[1] - round(drifts)))
    paths, machines = pair(
        tmp_path_factory.mktemp("wall"),
        off_us=off_us,
        errors_us=errors_us,
        later_ns=later_s * 10**9,
        rate_ppb=rate_ppb,
    )
    ends = [
        machines[1].clocks[tt.ClockId(1)].ns(t) - UTC - t
        for t in (machines[1].first_ns, machines[1].now_ns)
    ]
    if max(map(abs, ends)) <= errors_us[1] * 1_000:
        check_truth(paths, machines)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (kernel(1_000, status=STA_UNSYNC), "nothing keeps its wall clock"),
        (kernel(1_000, state=TIME_ERROR), "nothing keeps its wall clock"),
        (kernel(0), "gives no bound"),
        (kernel(1_000, esterror_us=0), "gives no bound"),
    ],
)
def test_a_wall_clock_without_a_bound_ties_nothing(tmp_path, state, why):
    paths, _ = pair(tmp_path, state_b=state)
    found = tt.merge(paths, None, different=["a.pftrace,b.pftrace"]).files[1]
    assert not found.ties
    assert any(
        text.startswith("wall clocks: b.pftrace") and why in text for text in found.looked_for
    )


@pytest.mark.parametrize("options", [{}, {"assume_wall_clock": "10ms"}])
@pytest.mark.parametrize("set_ns", [12_000_000, -50_000_000, 7_200_000_000_000])
def test_a_wall_clock_that_is_set_ties_nothing(tmp_path, set_ns, options):
    one = tmp_path / "a.pftrace"
    recorded(one, 10**12, 0, state=kernel(5_000))
    other = trace_of(tmp_path / "b.pftrace", set_ns=set_ns)
    file = tt.merge([one, other], None, **options).files[1]
    assert file.offset_ns is None
    assert any("its wall clock was set by" in what for what in file.looked_for)


def test_what_a_wall_clock_moves_by_is_in_its_half_width(tmp_path):
    one, other = (
        trace_of(tmp_path / "a.pftrace"),
        trace_of(tmp_path / "b.pftrace", set_ns=5_000_000),
    )
    file = tt.merge([one, other], None, assume_wall_clock="10ms").files[1]
    assert file.half_width_ns >= 25_000_000


def test_nothing_assumes_a_wall_clock_that_nothing_keeps(tmp_path):
    paths, _ = pair(tmp_path, state_b=kernel(1_000, status=STA_UNSYNC))
    options = {"different": ["a.pftrace,b.pftrace"], "assume_wall_clock": "20ms"}
    assert not tt.merge(paths, None, **options).files[1].ties


def test_an_assumption_is_printed_as_one(tmp_path):
    paths, machines = pair(tmp_path, off_us=(300, -15_000), state_b=kernel(0))
    half = check_truth(paths, machines, assume_wall_clock="20ms")
    assert 21_500_000 <= half < 22_600_000
    report = tt.merge(paths, None, different=["a.pftrace,b.pftrace"], assume_wall_clock="20ms")
    (tie,) = report.files[1].ties
    assert "REALTIME of b.pftrace is within 20 ms of UTC, which is an assumption" in tie.said


def test_files_of_any_format_with_a_wall_clock_may_be_assumed(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", booted_ns=10**9)
    assert not tt.merge([one, other], None).files[1].ties
    found = tt.merge([one, other], None, assume_wall_clock="5ms").files[1]
    assert found.offset_ns == 10**9
    assert 10_000_000 <= found.worst_half_width_ns < 11_100_000
    with pytest.raises(tt.UsageError, match="is no half-width"):
        tt.merge([one, other], None, assume_wall_clock="much")


def test_the_evidence_names_utc(tmp_path):
    paths, _ = pair(tmp_path)
    found = tt.merge(
        paths, None, different=["a.pftrace,b.pftrace"], explain=("a.pftrace", "b.pftrace")
    ).explained
    assert "REALTIME of b.pftrace -> UTC -> REALTIME of a.pftrace" in str(found)


@pytest.mark.parametrize("service", [False, True])
@pytest.mark.parametrize("off_ns", [4_000_000, 700_000_000, -900_000_000])
def test_what_is_said_after_a_suspend_may_be_from_before(tmp_path, service, off_ns):
    """REALTIME counts it wrongly, and kernel and service say what they said before."""
    ours = recorded(tmp_path / "a.pftrace", 1 << 40, 300_000, state=kernel(1_000), later_ns=0)
    slept = Steered(1 << 30, -400_000, 0, kernel(2_000))
    if service:
        slept.wall_bound = lambda sample: tt.WallBound(-1_000_000, 1_000_000, "chrony")
    slept.first_ns = slept.now_ns
    with tt.record(tmp_path / "b.pftrace", interval=None, sampler=slept) as rec:
        for k in range(10):
            slept.now_ns += 1_000_000_000
            if k == 5:
                for number, size in ((3, -2_000_000_000), (6, off_ns), (1, off_ns)):
                    slept.clocks[tt.ClockId(number)].steps.append((slept.now_ns, size))
                slept.now_ns += 2_000_000_000
            rec.snapshot()
            rec.instant("event", timestamp=slept.boottime(slept.now_ns), clock="BOOTTIME")
    check_truth([tmp_path / "a.pftrace", tmp_path / "b.pftrace"], [ours, slept], bars="guaranteed")
