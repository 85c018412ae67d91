"""What calibrated timestamps promise: each injected fault is found by the check meant for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from promised import check_promises

from tracetime import Sampler, SourceError
from tracetime.capture import deviation_bounds, promise_checks
from tracetime.sources.fake import DeviceFaults, FakeClock, FakeDevice, FakeSource, FakeTime

MS = 1_000_000


def device(faults=None, **options):
    """A sound host and a device of 36 bits with these faults."""
    time = FakeTime(10**12)
    hosts = [
        FakeClock("MONOTONIC_RAW", 0, 20_000, step_ticks=10),
        FakeClock("MONOTONIC", 5_000, step_ticks=10),
    ]
    gpu = FakeClock("dev.tracetime.vulkan.fake", 12_345, -30_000, Fraction(625, 12), valid_bits=36)
    kept = options.pop("hosts", hosts)
    return FakeDevice(time, gpu, kept, faults, **options), FakeSource(time, hosts), time


def codes(faults=None, check=None, **options):
    made, hosts, time = device(faults, **options)
    if check is None:
        found = check_promises(made, hosts, wait=time.pass_ns)
    else:
        found = check(made, hosts, time)
    return {(finding.code, finding.severity) for finding in found}


def test_a_device_without_fault_keeps_them():
    assert codes() == set()


def test_domains_it_knows_and_we_do_not_are_no_fault():
    assert codes(unknown_domains=(1_000_208_000, 1_000_208_001)) == set()


FAULTS = [
    (DeviceFaults(deviation_ns=101 * MS), {("deviation_long", "error")}),
    (DeviceFaults(deviation_ns=51 * MS), {("deviation_long", "warning")}),
    # Read one after the other, the two cannot be 0 apart: both checks see it.
    (DeviceFaults(deviation_ns=0), {("deviation_zero", "warning")}),
    # Its tick is 52.083 ns.
    (DeviceFaults(deviation_ns=52), {("deviation_below_tick", "warning")}),
    (DeviceFaults(garbage_bits=40), {("bits_above", "error")}),
    (DeviceFaults(stamp_back_ns=300), {("stamps_fall", "error")}),
    (DeviceFaults(stamp_shift_ns=-11_850 * MS), {("stamps_differ", "error"), ("work_outside", "error")}),
    (DeviceFaults(stamp_shift_ns=11_850 * MS), {("stamps_differ", "error"), ("work_outside", "error")}),
    (DeviceFaults(host_shift_ns=50_000), {("host_clock_differs", "error"), ("work_outside", "error")}),
    (DeviceFaults(shift_ns=20_000, shift_every=3), {("deviation_across", "error")}),
    (DeviceFaults(deviation_ns=10, shift_ns=3_000, shift_every=2), {("deviation_across", "error")}),
    (DeviceFaults(rate_ppb=-600_000_000), {("device_rate", "error"), ("deviation_across", "error")}),
    (DeviceFaults(rate_ppb=2_000_000), {("deviation_across", "error")}),
]  # fmt: skip


@pytest.mark.parametrize(("faults", "expected"), FAULTS, ids=[str(faults) for faults, _ in FAULTS])
def test_each_fault_is_found(faults, expected):
    assert expected <= codes(faults)


def test_a_deviation_too_small_between_host_clocks_is_found():
    # The host's own clock reads 2 us late for the device; its claim hides that.
    made, hosts, time = device()
    calibrate = made.calibrate

    def lying(clocks):
        values, deviation_ns = calibrate(clocks)
        return [value + 2_000 * (k == 1) for k, value in enumerate(values)], deviation_ns

    made.calibrate = lying
    found = deviation_bounds.check_across(made, hosts, wait=time.pass_ns)
    assert "deviation_across_hosts" in {finding.code for finding in found}


def test_a_clock_that_goes_back_contradicts_its_calibrations():
    faults = DeviceFaults(back_at=10, back_ticks=1_000)
    found = codes(
        faults,
        lambda made, hosts, time: deviation_bounds.check_across(made, hosts, wait=time.pass_ns),
    )
    assert ("deviation_across", "error") in found


def test_a_deviation_of_a_tick_is_none_too_small():
    assert not any(
        code == "deviation_below_tick" for code, _ in codes(DeviceFaults(deviation_ns=53))
    )


def test_the_hosts_tick_counts_too():
    time = FakeTime(10**12)
    host = FakeClock("MONOTONIC", 5_000, step_ticks=4_000)
    gpu = FakeClock("dev.tracetime.vulkan.fake", 12_345)

    class Coarse(FakeSource):
        def domain(self, clock):
            return replace(super().domain(clock), tick_ns=4_000.0)

    made = FakeDevice(time, gpu, [host], DeviceFaults(deviation_ns=3_999))
    (finding,) = promise_checks.check_tick(made, Coarse(time, [host]))
    assert finding.code == "deviation_below_tick"
    assert "3999 ns" in finding.message and "4000 ns" in finding.message


def group(shift_ns=0, step=4_000_000):
    """A fine clock and its coarse form, one after the other in no time."""
    time = FakeTime(10**12, usual_ns=0)
    clocks = [
        FakeClock("MONOTONIC_RAW", 77),
        FakeClock("MONOTONIC", 5_000),
        FakeClock("MONOTONIC_COARSE", 5_000 - shift_ns, step_ticks=step),
    ]
    return Sampler(sources=[FakeSource(time, clocks)])


def test_a_groups_deviation_holds_the_tick_of_coarse_clocks():
    sampler = group()
    assert sampler.sample_group()[1] == 4_000_000
    assert promise_checks.check_group(sampler) == []
    taken = sampler.sample_group
    sampler.sample_group = lambda: (taken()[0], 0)
    (finding,) = promise_checks.check_group(sampler)
    assert (finding.code, finding.clock) == ("deviation_below_tick", "MONOTONIC_COARSE")
    (finding,) = promise_checks.check_group(group(shift_ns=9_000_000))
    assert (finding.code, finding.clock) == ("deviation_across_coarse", "MONOTONIC_COARSE")
    assert promise_checks.check_group(group(shift_ns=0, step=1)) == []


def test_a_groups_deviation_holds_the_lag_that_was_seen_since(monkeypatch):
    """A machine's tick that came late: by so much more the coarse clock's reading is old."""
    sampler = group(shift_ns=9_000_000)
    monkeypatch.setattr(FakeSource, "lag_ns", lambda self, clock: 9_000_000 * (clock.clock == 4))
    assert sampler.sample_group()[1] == 13_000_000
    assert promise_checks.check_group(sampler) == []


def test_every_promise_is_checked_by_its_own_name():
    names = [promise.name for promise in promise_checks.PROMISES]
    assert len(set(names)) == len(names)
    made, hosts, time = device()
    for promise in promise_checks.PROMISES:
        assert promise.check(made, hosts, time.pass_ns, 8) == []


@pytest.mark.parametrize(
    ("options", "code"),
    [({"has_device_domain": False}, "no_device_domain"), ({"hosts": []}, "no_host_domain")],
)
def test_the_domains_must_be_there(options, code):
    assert codes(**options) == {(code, "error")}


def test_a_lost_device_is_an_error_of_the_machine():
    with pytest.raises(SourceError, match="lost"):
        codes(DeviceFaults(lost_at=3))


def test_messages_name_the_device_and_numbers():
    made, hosts, time = device(DeviceFaults(deviation_ns=101 * MS))
    (finding,) = promise_checks.check_claims(made)
    assert finding.message.startswith("fake device dev.tracetime.vulkan.fake: ")
    assert "101000000 ns" in finding.message
