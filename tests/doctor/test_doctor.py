"""The doctor: a healthy trace is left in peace, each fault put into it is the one it names."""

import time
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    event,
    packet,
    remote_sync,
    snapshot,
    trace,
)
from corpus import NO_DATA, files
from faults import FAULTS, GPU, NIC, SEQUENCE, START, Model, S, drifting, misread
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from reading import opened
from simulated import Clock, Machine, usual_clocks

from tracetime import (
    ClockDomain,
    ClockId,
    Finding,
    TraceError,
    UsageError,
    diagnose,
    open_trace,
    record,
)

PAGES = ROOT / "docs" / "findings"


def findings(data, **options):
    with opened(data, partial=True) as trace:
        return diagnose(trace, **options)


def every(found):
    for finding in found:
        yield finding
        yield from every(finding.consequences)


def test_a_healthy_trace_has_no_findings():
    assert findings(Model().build()) == []


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_the_one_primary_finding(name):
    @settings(max_examples=6, deadline=None)
    @given(st.integers(0, 2**32))
    def check(seed):
        model = Model()
        expected = FAULTS[name](model, Random(seed))
        found = findings(model.build())
        assert [finding.code for finding in found] == [expected.code], [
            (f.severity, f.code, f.title) for f in found
        ]
        if expected.packets is not None:
            assert set(found[0].packets) & set(expected.packets), (found[0], expected)

    check()


def codes_of_source():
    import tracetime.doctor

    package = Path(tracetime.doctor.__file__).parent
    texts = "\n".join(path.read_text() for path in package.glob("*.py"))
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    return pages, texts


def test_every_code_has_a_page_and_every_page_a_code():
    pages, texts = codes_of_source()
    assert {code for code in pages if f'"{code}"' not in texts} == set()
    seen = set()
    for name, fault in FAULTS.items():
        model = Model()
        seen.add(fault(model, Random(1)).code)
        for finding in every(findings(model.build())):
            assert finding.code in pages, name
            assert finding.title
            assert finding.why.endswith(".")
            assert finding.fix.endswith(".")
    # A trace clock that changes its unit has changed its properties: that is said first.
    # What only a recorded trace can say has a test of its own.
    assert pages - seen == {
        "trace-clock-unit", "realtime-unsynchronised", "events-reordered", "events-dropped",
        "clocks-not-examined",
    }  # fmt: skip
    index = (PAGES / "README.md").read_text()
    assert all(f"[{code}]({code}.md)" in index for code in pages)


def test_a_trace_clock_that_never_counted_nanoseconds():
    model = Model()
    for k in range(model.n):
        model.edit(k, lambda readings: readings.update({6: (readings[6] // 1000, 1000)}))
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("trace-clock-unit", "error")


def test_what_follows_from_a_finding_stands_below_it():
    model = Model()
    FAULTS["incremental_global"](model, Random(1))
    (found,) = findings(model.build())
    assert {c.code for c in found.consequences} == {"clock-not-tied", "clock-without-snapshot"} & {
        c.code for c in found.consequences
    }
    assert found.consequences
    assert found.severity == "error"


def test_the_tolerance_decides_what_is_an_error():
    model = Model()
    model.reads[0x9B02C3D4] = lambda t: t + (t - 5000 * 10**9) // 20_000
    (found,) = findings(model.build(), tolerance_ns=20_000)
    assert (found.code, found.severity) == ("snapshots-too-sparse", "error")
    assert "every" in found.fix
    assert findings(model.build()) == []
    with pytest.raises(UsageError, match="tolerance_ns"):
        findings(model.build(), tolerance_ns=-1)


@pytest.mark.parametrize("behind", [0x8A00_0001, 0xFA00_0001])
@pytest.mark.parametrize("beyond", [0, 3])
def test_where_a_clock_drifts_only_events_that_go_by_it_then_count(beyond, behind):
    """Its own one event stands just after a snapshot; those of a clock behind it may be anywhere."""
    times = [5000 * S + k * S + (10 * S if k > 20 else 0) for k in range(40)]
    nics = [t + (t - times[0]) // 20_000 for t in times]
    packets = [snapshot({BOOTTIME: t, NIC: nic}) for t, nic in zip(times, nics, strict=True)]
    packets += [snapshot({NIC: nic, behind: nic}) for nic in nics]
    packets += [event(nics[30] + k, behind, SEQUENCE) for k in range(beyond)]
    packets.append(event(nics[30] + 10, NIC, SEQUENCE))
    found = {one.code: one for one in findings(trace(*packets), tolerance_ns=100_000)}
    sparse = found["snapshots-too-sparse"]
    assert (sparse.severity, sparse.events) == ("error" if beyond else "info", beyond)


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
def test_a_path_is_long_from_three_hops_on(hops):
    chain = [BOOTTIME, *range(0x8A00_0001, 0x8A00_0001 + hops)]
    packets = [
        snapshot({one: START + k * S, other: START + k * S})
        for k in range(20)
        for one, other in zip(chain, chain[1:], strict=False)
    ]
    packets.append(event(START + 10 * S, chain[-1], SEQUENCE))
    told = [one for one in every(findings(trace(*packets))) if one.code == "long-path"]
    assert [f" in {hops} hops: " in one.title for one in told] == [True] * (hops >= 3)


def test_events_that_floor_reorders_are_told_with_why_it_is_off():
    model = Model()
    FAULTS["sparse"](model, Random(1))
    # Just before the next snapshot: NIC, then a BOOTTIME event 100 us later.
    at = model.time(11) + 900_000_000
    nic = model.reads[NIC]
    drift = nic(at) - nic(model.time(0)) - (at - model.time(0))
    first, second = (at, at + 100_000) if drift > 0 else (at + 100_000, at)
    model.extra[12] = [
        event(nic(first), NIC, SEQUENCE), event(second, BOOTTIME, SEQUENCE)
    ]  # fmt: skip
    (found,) = findings(model.build())
    assert found.code == "snapshots-too-sparse"
    # The last snapshot is as far from the end as it is from the one before.
    assert {c.code for c in found.consequences} == {"events-reordered", "used-after-last-snapshot"}
    assert {c.code: c.events for c in found.consequences}["events-reordered"] == 1


def test_findings_in_json_have_the_fields_of_the_interface():
    model = Model()
    FAULTS["set_back"](model, Random(3))
    (found,) = findings(model.build())
    assert isinstance(found, Finding)
    told = found.to_dict()
    assert list(told)[:9] == [
        "code", "severity", "title", "clocks", "packets", "events", "worst_ns", "why", "fix",
    ]  # fmt: skip
    assert told["clocks"] == ["REALTIME"]
    # Those before the clock was set back have a trace time.
    assert 0 < told["events"] < 60


def test_what_is_no_trace_at_all_is_an_error():
    with pytest.raises(TraceError):
        findings(b"PK\x03\x04 an archive, say")


@pytest.mark.parametrize(
    "name",
    ["chromium_small.pftrace", "mcprs_page_loads.pftrace", "api32_startup_warm.perfetto-trace",
     "nowinandroid_trace.perfetto-trace", "mspt_chrome.pftrace", "chromium_medium.pftrace"],
)  # fmt: skip
def test_healthy_traces_have_nothing_above_a_note(name):
    found = files(f"traces/{name}")
    if not found:
        pytest.skip(NO_DATA)
    with open_trace(found[0]) as trace:
        assert [f for f in diagnose(trace) if f.severity != "info"] == []


def test_every_trace_can_be_examined():
    for path in files("traces/*trace"):
        with open_trace(path, partial=True) as trace:
            for finding in diagnose(trace):
                assert finding.code


def test_a_reading_off_in_the_second_snapshot_is_no_second_clock():
    model = Model()
    model.edit(1, lambda readings: readings.update({NIC: readings[NIC] + 400_000_000}))
    (finding,) = findings(model.build())
    assert finding.code == "snapshot-outlier"
    assert finding.packets[0] in model.at_snapshot(1)


SIZES = st.integers(S // 200, 100 * S).flatmap(lambda size: st.sampled_from([size, -size]))


@pytest.mark.parametrize("clock", Model().reads)
@settings(max_examples=8, deadline=None)
@given(k=st.integers(0, Model().n - 1), size=SIZES)
def test_one_wrong_reading_is_one_finding_about_its_clock(clock, k, size):
    model = Model()
    # Far enough from 0 to be read too low.
    model.reads[64] = lambda t: (t - START) // 1000 + 10**9
    misread(model, clock, k, size)
    (found,) = findings(model.build())
    assert [c.clock for c in found.clocks] == [clock]
    # What rises too far falls in the next snapshot.
    after = model.at_snapshot(min(k + 1, model.n - 1))
    assert set(found.packets) & {*model.at_snapshot(k), *after}
    if 0 < k < model.n - 1:
        # At either end a step looks the same.
        refused = clock == BOOTTIME and found.code == "trace-clock-ran-backwards"
        assert refused or found.code == "snapshot-outlier"


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, REALTIME])
def test_of_three_clocks_two_say_which_one_was_misread(clock, primary):
    model = Model()
    kept = BOOTTIME, MONOTONIC, REALTIME
    model.reads = {c: read for c, read in model.reads.items() if c in kept}
    model.event_clocks = [BOOTTIME, MONOTONIC]
    model.primary = dict.fromkeys(range(model.n), primary)
    misread(model, clock, 20, 20_000_000)
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("snapshot-outlier", [clock])


@pytest.mark.parametrize(("clock", "events"), [(NIC, 1), (MONOTONIC, 1), (REALTIME, 0)])
def test_what_a_misread_clock_puts_elsewhere_is_told_with_it(clock, events):
    """One event of each clock but REALTIME follows each snapshot: the drift there is no drift."""
    model = Model()
    misread(model, clock, 20, 20_000_000)
    (found,) = findings(model.build())
    assert (found.code, found.events, found.consequences) == ("snapshot-outlier", events, ())
    assert found.severity == ("error" if events else "warning")


def test_of_two_clocks_the_less_steady_one_is_named():
    for clock in (BOOTTIME, NIC):
        model = Model()
        model.reads = {c: model.reads[c] for c in (BOOTTIME, NIC)}
        model.event_clocks = [BOOTTIME, NIC]
        misread(model, clock, 20, 20_000_000)
        found = {f.code: f for f in findings(model.build())}
        assert [c.clock for c in found["snapshot-outlier"].clocks] == [NIC]


def test_a_suspend_of_the_clocks_that_stop_is_no_jump_of_one():
    """MONOTONIC alone loses time: the machine did not sleep, MONOTONIC_RAW says."""
    model = Model()
    read, begin = model.reads[MONOTONIC], model.time(20) - S // 3
    model.reads[MONOTONIC] = lambda t: read(t) - (t > begin) * 50_000_000
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("clock-stepped", [MONOTONIC])


@pytest.mark.parametrize(
    ("clock", "cause"), [(REALTIME, "realtime-set-back"), (NIC, "clock-ran-backwards")]
)
def test_how_often_a_clock_was_set_back_does_not_count_its_other_jumps(clock, cause):
    """Forward by 50 s, a wrong reading, and back by 3 s, in this order."""
    model = Model()
    model.event_clocks.append(clock)
    read, forward, back = model.reads[clock], model.time(20) - S // 3, model.time(40) - S // 3
    model.reads[clock] = lambda t: read(t) + (t > forward) * 50 * S - (t > back) * 3 * S
    misread(model, clock, 30, 100_000_000)
    found = {finding.code: finding for finding in findings(model.build())}
    assert set(found) == {cause, "clock-stepped", "snapshot-outlier"}
    assert "once, by 3 s" in found[cause].title
    assert found[cause].packets[0] in model.at_snapshot(40)
    assert (found[cause].severity, found["clock-stepped"].severity) == ("error", "warning")
    assert "once, by 50 s" in found["clock-stepped"].title
    assert found["clock-stepped"].packets[0] in model.at_snapshot(20)
    assert found["snapshot-outlier"].packets[0] in model.at_snapshot(30)


def counting(ticks_per_s: int, bits: int, gap_s: int, n: int) -> bytes:
    """A counter read beside BOOTTIME every `gap_s`, with an event halfway."""
    packets = []
    for k in range(n):
        t = START + k * gap_s * S
        now, later = ((t + d) * ticks_per_s // S % 2**bits for d in (0, gap_s * S // 2))
        packets += [snapshot({BOOTTIME: t, GPU: now, REALTIME: 9 * START + t}), event(later, GPU)]
    return trace(*packets)


def diagnosed(data: bytes, *domains: ClockDomain) -> dict[str, Finding]:
    with opened(data, domains=list(domains)) as read:
        return {finding.code: finding for finding in every(diagnose(read))}


def gpu(ticks_per_s: int, bits: int) -> ClockDomain:
    return ClockDomain(GPU, ns_per_tick=Fraction(S, ticks_per_s), valid_bits=bits)


def test_wraps_that_were_declared_are_a_note():
    data = counting(19_200_000, 36, 600, 30)
    wraps = diagnosed(data, gpu(19_200_000, 36))["counter-wraps"]
    assert (wraps.severity, wraps.title) == ("info", "0x8a01b2c3 wraps: it restarted 5 times")
    assert diagnosed(counting(S, 32, 1, 30), gpu(S, 32)).keys() == {"counter-wraps"}


def test_wraps_of_a_counter_of_ticks_are_told_from_resets():
    found = diagnosed(counting(19_200_000, 36, 600, 30))
    assert found.keys() == {"rate-not-nominal", "counter-wraps"}
    assert "--valid-bits 0x8a01b2c3=36" in found["counter-wraps"].fix


def test_a_counter_whose_wraps_are_open_says_how_often_a_snapshot_is_needed():
    found = diagnosed(counting(S, 32, 7300, 6), gpu(S, 32))
    assert found.keys() == {"counter-wraps"}
    wraps = found["counter-wraps"]
    assert (wraps.severity, wraps.events, len(wraps.packets)) == ("error", 6, 2)
    assert "at least every 1428.27 s" in wraps.why


def test_a_clock_that_counts_seldom_does_not_stand_still():
    model = Model()
    model.reads[NIC] = lambda t: t // S
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("rate-not-nominal", "error")


def test_thousands_of_clocks_do_not_take_hours():
    numbers = [0x8000_0001 + n for n in range(1500)]
    packets = [
        snapshot({BOOTTIME: (1000 + k) * S, **dict.fromkeys(numbers, k * S)}, 1) for k in range(3)
    ]
    packets += [
        packet
        for n in range(2, 1500)
        for packet in (snapshot({BOOTTIME: 1002 * S + n, 64: n}, n), event(n, 64, n))
    ]
    begin = time.process_time()
    findings(trace(*packets))
    # Where triangles of clocks are gone through one by one, it takes more than ten minutes.
    assert time.process_time() - begin < 60


@pytest.mark.parametrize(("snapshots", "a_second"), [(2, 1), (8, 10), (3, 1000)])
def test_the_tsc_counts_ticks_however_few_snapshots_say_so(snapshots, a_second):
    model = Model()
    model.n = snapshots
    model.time = lambda k: START + k * S // a_second
    expected = FAULTS["tsc"](model, Random(1))
    assert [finding.code for finding in findings(model.build())] == [expected.code]


def test_the_time_of_the_file_does_not_drift_from_boottime():
    model = Model()
    # An event before the first snapshot: trace time is TRACE_FILE, which BOOTTIME equals by rule.
    model.extra[0] = [event(model.time(0), MONOTONIC, 3, machine=5)]
    model.event_clocks = [BOOTTIME]
    assert [f for f in findings(model.build()) if f.severity != "info"] == []


def test_events_of_no_machine_are_counted_beside_a_first_one_that_has_a_name():
    model = Model()
    model.extra[0] = [event(model.time(0), BOOTTIME, 3, machine=5)]
    model.without = set(range(1, model.n))
    model.event_clocks = [NIC]
    found = {finding.code: finding for finding in findings(model.build())}
    assert found["used-after-last-snapshot"].events > 50


def test_two_snapshots_cannot_tell_a_step_from_a_count_of_something_else():
    """A counter at 2.445 GHz in two snapshots: its rate, once said, is no step."""
    said = {"why": [], "codes": []}
    for rate in (Fraction(1), Fraction(1000, 2445)):
        data = trace(
            snapshot({BOOTTIME: 1000 * S, NIC: 5000 * S}),
            snapshot({BOOTTIME: 1010 * S, NIC: 5000 * S + 24_450_000_000}),
        )
        with opened(data, domains=[ClockDomain(NIC, ns_per_tick=rate)]) as read:
            found = diagnose(read)
        said["codes"].append([finding.code for finding in found])
        said["why"].append(" ".join(finding.why for finding in found))
    assert said["codes"] == [["clock-stepped", "no-realtime"], ["no-realtime"]]
    assert "--clock-rate" in said["why"][0]


def two_machines(synchronised: bool) -> bytes:
    """The other machine's clocks are 77 s ahead, its REALTIME is 5 minutes ahead."""
    rounds = [
        ({BOOTTIME: START + k + 77 * S, REALTIME: 7 * START + k + 300 * S},
         {BOOTTIME: START + k, REALTIME: 7 * START + k})
        for k in (S, 2 * S)
    ]  # fmt: skip
    packets = []
    for k in range(5):
        t = START + k * S
        here = {BOOTTIME: t, MONOTONIC: t - 5 * S, REALTIME: 7 * START + k * S}
        there = {BOOTTIME: t + 77 * S, MONOTONIC: t, REALTIME: 7 * START + (300 + k) * S}
        packets.append(snapshot(here))
        if synchronised and not k:
            # Ahead of the machine's own snapshot, which moves trace time to its own clock.
            packets.append(packet(machine=555, remote_clock_sync=remote_sync(rounds)))
            packets.append(event(there[BOOTTIME], BOOTTIME, machine=555))
        packets += [
            snapshot(there, machine=555),
            event(t - 4 * S, MONOTONIC),
            event(t + S, MONOTONIC, machine=555),
        ]
    return trace(*packets)


def test_machines_that_only_a_rule_ties_are_told_of_though_each_has_snapshots():
    found = findings(two_machines(False))
    assert found[0].code == "machine-not-synchronised"
    assert found[0].severity == "warning"
    codes = [finding.code for finding in every(findings(two_machines(True)))]
    assert "machine-not-synchronised" not in codes


@pytest.mark.parametrize("has_realtime", [False, True])
def test_a_recording_tells_that_realtime_was_not_synchronised_where_it_has_it(
    tmp_path, has_realtime
):
    clocks = [c for c in usual_clocks() if has_realtime or str(c.domain.id) != "REALTIME"]
    path = tmp_path / "recorded.pftrace"
    with record(path, interval=None, sampler=Machine(clocks)) as rec:
        rec.snapshot()
    with open_trace(path) as trace:
        found = {finding.code: finding for finding in diagnose(trace)}
    assert ("realtime-unsynchronised" in found, "no-realtime" in found) == (
        has_realtime,
        not has_realtime,
    )
    (told,) = (one for code, one in found.items() if "realtime" in code)
    assert (told.severity, told.events, told.packets, told.worst_ns) == ("info", 0, (), None)
    assert told.clocks == ((ClockId(REALTIME),) if has_realtime else ())


@pytest.mark.parametrize(("ppm", "severity"), [(-12, "error"), (0, None)])
def test_beyond_the_last_snapshot_floor_is_off_by_the_drift_and_not_by_the_bar(ppm, severity):
    """The tube knows the rate after a minute; Perfetto's rule leaves it out."""
    model = Model()
    model.reads = {BOOTTIME: model.reads[BOOTTIME], NIC: drifting(ppm, 77 * S)}
    model.event_clocks = [BOOTTIME]
    last, after = model.time(model.n - 1), 400 * S
    model.extra[model.n - 1] = [event(model.reads[NIC](last + after), NIC, SEQUENCE)]
    found = [f for f in findings(model.build()) if f.code != "no-realtime"]
    assert [f.severity for f in found] == ([severity] if severity else [])
    if severity:
        assert found[0].code == "used-after-last-snapshot"
        assert found[0].worst_ns == pytest.approx(after * abs(ppm) / 1e6, rel=0.2)


def test_a_bar_at_the_time_of_the_file_does_not_grow_from_its_zero():
    """An event before the first snapshot: trace time is TRACE_FILE, and BOOTTIME at 0."""
    model = Model()
    model.reads = {BOOTTIME: model.reads[BOOTTIME], NIC: model.reads[NIC]}
    model.event_clocks = [BOOTTIME, NIC]
    model.extra[0] = [event(model.time(0), BOOTTIME, SEQUENCE)]
    model.without = {model.n - 1, model.n - 2}
    assert [f.code for f in findings(model.build()) if f.severity != "info"] == []


def test_that_boottime_is_the_time_of_the_file_is_no_snapshot():
    model = Model()
    model.without, model.event_clocks = set(range(model.n)), [BOOTTIME, NIC]
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("no-snapshots", "error")
    assert [f.code for f in found.consequences] == ["clock-without-snapshot"]


@pytest.mark.parametrize("size", [5_000_000, -5_000_000])
def test_the_title_tells_a_jump_by_what_was_read(size):
    """The bounds of a jump leave all drift open that the clocks are allowed: 1.5 ms a second."""
    model = Model()
    model.n, read, begin = 20, model.reads[REALTIME], model.time(10) - S // 3
    model.reads[REALTIME] = lambda t: read(t) + (t > begin) * size
    (found,) = findings(model.build())
    assert (found.code, "by 5 ms" in found.title) == ("clock-stepped", True)
    assert found.worst_ns >= abs(size)


def test_the_title_tells_a_change_of_rate_by_the_middle_of_its_bounds():
    model = Model()
    model.n = 20
    model.reads[NIC] = lambda t: t + 77 * S + max(t - model.time(10), 0) * 80 // 1_000_000
    (found,) = findings(model.build())
    assert found.code == "rate-changed"
    assert float(found.title.split()[-2]) == pytest.approx(80, rel=0.1)


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
    (found,) = findings(model.build())
    assert (found.code, found.title) == ("suspend", "the machine slept once, for 1 h 0 min")
    assert set(found.packets) <= set(model.at_snapshot(woke))


@pytest.mark.parametrize(("ppm", "codes"), [(700, ["drift-beyond-healthy"]), (400, [])])
def test_what_ntp_slews_together_drifts_apart_by_no_more_than_one_slew(ppm, codes):
    model = Model()
    model.reads[REALTIME] = drifting(ppm, 1_700_000_000 * S)
    assert [f.code for f in findings(model.build())] == codes


@pytest.mark.parametrize(
    ("clocks", "told"), [([NIC], "140 snapshots"), ([NIC, GPU], "at least 50 snapshots")]
)
def test_lost_snapshots_are_counted_beyond_the_warnings_that_are_kept(clocks, told):
    model = Model()
    model.n = 150
    for k in range(10, model.n):
        clock = clocks[k % len(clocks)]
        model.edit(k, lambda readings, clock=clock: readings.update({clock: (readings[clock], 7)}))
    found = [f for f in findings(model.build()) if f.code == "clock-properties-changed"]
    assert [f.title.endswith(f": {told} rejected") for f in found] == [True] * len(clocks)


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC])
@pytest.mark.parametrize("ppm", [-900, 900])
def test_a_trace_clock_that_drifts_is_one_finding_and_not_one_a_clock_beside_it(primary, ppm):
    model = Model()
    del model.reads[64]
    model.event_clocks.remove(64)
    model.primary = dict.fromkeys(range(model.n), primary)
    read = model.reads[primary]
    model.reads[primary] = lambda t: read(t) + (t - START) * ppm // 1_000_000
    (found,) = findings(model.build())
    assert (found.code, found.clocks[0].clock) == ("drift-beyond-healthy", primary)
    assert float(found.title.split()[2]) == pytest.approx(ppm, abs=40)


@settings(max_examples=10, deadline=None)
@given(
    who=st.lists(st.booleans(), min_size=20, max_size=60),
    apart=st.sampled_from([20_000_000, -20_000_000, 50 * S, -4000 * S]),
)
def test_two_clocks_under_one_number_are_told_in_whatever_order_they_write(who, apart):
    who = [True, True, False, False, True, False, *who]
    model = Model()
    model.n = len(who)
    for k in range(model.n):
        model.edit(k, lambda readings, k=k: readings.update({NIC: readings[NIC] + who[k] * apart}))
    (found,) = findings(model.build())
    assert (found.code, [c.clock for c in found.clocks]) == ("clock-id-collision", [NIC])
    # Nothing says which of the two an event was read in.
    assert found.events == model.n


def test_paths_that_disagree_are_told_with_a_place_and_the_events_they_place():
    model = Model()
    FAULTS["disagree"](model, Random(1))
    model.event_clocks = [BOOTTIME, MONOTONIC, NIC]
    found = [f for f in every(findings(model.build())) if f.code == "paths-disagree"]
    assert found
    for finding in found:
        ends = {clock.clock for clock in finding.clocks} & {MONOTONIC, NIC}
        assert len(finding.packets) == 1
        # Those of the trace clock are not converted.
        assert finding.events <= model.n * len(ends)


def test_a_long_path_is_told_with_the_first_event_that_takes_it():
    model = Model()
    FAULTS["long_path"](model, Random(1))
    (found,) = findings(model.build())
    assert found.packets[0] in range(3, 3 + 1 + len(model.event_clocks))


def test_the_tick_of_a_coarse_clock_is_no_drift():
    """It lags by 0 to 4 ms, another time in each snapshot."""
    model = Model()
    model.reads[4] = lambda t: (t - 100 * S + t // S * 700_000) // 4_000_000 * 4_000_000
    model.event_clocks.append(4)
    (found,) = findings(model.build())
    assert (found.code, found.severity) == ("coarse-clock", "info")


def test_a_recording_says_by_what_its_coarse_clocks_step(tmp_path):
    path = tmp_path / "recorded.pftrace"
    coarse = Clock(ClockDomain("MONOTONIC_COARSE", tick_ns=4_000_000), 77, 12_000)
    with record(path, interval=None, sampler=Machine([*usual_clocks(), coarse])) as rec:
        rec.instant("here", timestamp=10**9, clock="MONOTONIC_COARSE")
    with open_trace(path) as read:
        (found,) = [f for f in diagnose(read) if f.code == "coarse-clock"]
    assert found.worst_ns == 4_000_000


def test_a_clock_of_long_units_neither_drifts_nor_steps_by_them():
    """10 ms a unit, read at any moment: its offset strays by as much."""
    model = Model()
    model.time = lambda k: START + k * S + (k * 7_300_000) % 10_000_000
    read = model.reads[NIC]
    model.reads[NIC], model.units[NIC] = (lambda t: read(t) // 10_000_000), 10_000_000
    assert findings(model.build()) == []


def test_a_cut_is_told_once():
    model = Model()
    FAULTS["truncated"](model, Random(1))
    (found,) = findings(model.build())
    assert found.title.count("cut off") == 1


@pytest.mark.parametrize("last", [40, 59])
def test_events_placed_by_snapshots_from_before_the_trace_clock_fell_are_told(last):
    model = Model()
    for k in range(30, last + 1):
        model.edit(k, lambda readings: readings.update({BOOTTIME: readings[BOOTTIME] - 100 * S}))
    found = findings(model.build())[0]
    assert (found.code, found.severity) == ("trace-clock-ran-backwards", "error")
    assert found.title.endswith(
        f"went backwards by up to 1 min 39 s: {last - 29} snapshots rejected"
    )
    assert found.worst_ns == 99 * S
    each = len(model.event_clocks)
    beyond = last - 30 + (last == 59)
    # Those of the trace clock stay where they are.
    assert found.events == beyond * (each - 1)


def test_one_snapshot_that_the_trace_clock_fell_in_misplaces_nothing():
    model = Model()
    model.edit(30, lambda readings: readings.update({BOOTTIME: readings[BOOTTIME] - 100 * S}))
    (found,) = findings(model.build())
    assert (found.code, found.severity, found.events) == ("trace-clock-ran-backwards", "warning", 0)
    assert found.title.endswith("went backwards by 1 min 39 s: 1 snapshot rejected")


def test_snapshots_that_come_late_misplace_nothing_where_good_ones_stand_between():
    model = Model()
    for k in (10, 50):
        readings = {clock: read(model.time(k - 1)) for clock, read in model.reads.items()}
        readings[64] = (readings[64], 1000)
        model.extra.setdefault(k + 1, []).append(snapshot(readings, SEQUENCE))
    (root,) = findings(model.build())
    assert (root.code, root.severity) == ("file-out-of-order", "warning")
    found = next(f for f in every([root]) if f.code == "trace-clock-ran-backwards")
    assert (found.severity, found.events) == ("warning", 0)
    assert "by up to 1 s: 2 snapshots rejected" in found.title


@pytest.mark.parametrize("ppm", [-1500, 1500])
def test_clocks_that_drift_together_are_named_where_others_keep_time(ppm):
    model = Model()
    model.reads = {
        BOOTTIME: model.reads[BOOTTIME],
        MONOTONIC: model.reads[MONOTONIC],
        5: drifting(1, -90 * S),
        GPU: drifting(ppm, -4000 * S),
        NIC: drifting(ppm, 77 * S),
    }
    model.event_clocks = [BOOTTIME, GPU, NIC]
    found = [f for f in findings(model.build()) if f.code == "drift-beyond-healthy"]
    assert sorted(f.clocks[0].clock for f in found) == [GPU, NIC]
