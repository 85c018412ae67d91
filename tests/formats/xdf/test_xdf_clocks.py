"""Clocks of XDF files: which streams share one, when it began anew, and how wide offsets are."""

import pytest
from xdf_files import XdfFile, two_streams

from tracetime import ClockDomain, ClockId, UsageError, diagnose, open_trace


@pytest.fixture
def opened(tmp_path):
    def write(file, **options):
        path = tmp_path / "t.xdf"
        path.write_bytes(file.content)
        return open_trace(path, **options)

    return write


def names(trace):
    return sorted(trace.clocks.name(info.clock) for info in trace.clocks.clocks())


def pings(file, stream, ahead, *, start=50.0, n=10, every=5.0, shift=0.0):
    """Offsets of a stream, some us off."""
    for k in range(n):
        noise = 1e-5 * ((3 * k) % 7 - 3)
        file.offset(stream, start + every * k + shift, ahead + noise)


def test_streams_of_a_host_share_its_clock_where_their_offsets_agree(opened):
    file = XdfFile()
    for number in (1, 2, 3):
        file.stream(number)
    pings(file, 1, 1000.0)
    pings(file, 2, 1000.0005, shift=0.01)
    pings(file, 3, 4000.0, shift=0.02)
    for number in (1, 2, 3):
        file.samples(number, [60.0], [0])
    with opened(file) as trace:
        assert names(trace) == ["MONOTONIC", "lsl.lab-pc@machine1", "lsl.lab-pc@machine2"]
        assert trace.machines == [0, 1, 2]
        rows = trace.read_all("tube").to_pylist()
    assert [row["machine"] for row in rows] == [1, 1, 2]
    assert rows[0]["trace_time"] == rows[1]["trace_time"]
    assert rows[2]["trace_time"] == pytest.approx(4_060_000_000_000, abs=200_000)


def test_streams_of_other_hosts_have_other_clocks(opened):
    file = XdfFile()
    file.stream(1, hostname="a")
    file.stream(2, hostname="b")
    pings(file, 1, 1000.0)
    pings(file, 2, 1000.0)
    with opened(file) as trace:
        assert names(trace) == ["MONOTONIC", "lsl.a@machine1", "lsl.b@machine2"]


def test_streams_without_a_hostname_share_nothing(opened):
    file = XdfFile()
    for number in (1, 9):
        file.stream(number, hostname="")
        pings(file, number, 1000.0)
    with opened(file) as trace:
        assert names(trace) == ["MONOTONIC", "lsl.stream-1@machine1", "lsl.stream-9@machine2"]


@pytest.mark.parametrize("hostname", ["a b@machine3", "x" * 2000, "&lt;script&gt;", "ä", "0.5"])
def test_any_hostname_gives_a_name_that_can_be_typed(opened, hostname):
    file = XdfFile()
    file.stream(1, hostname=hostname)
    pings(file, 1, 1000.0)
    with opened(file) as trace:
        (name,) = (name for name in names(trace) if name != "MONOTONIC")
        assert trace.clocks.convert(60 * 10**9, name, "MONOTONIC") > 0
        assert name.isascii() and name.isprintable() and " " not in name and len(name) < 90


def test_a_stream_without_offsets_takes_the_clock_of_its_host(opened):
    file = XdfFile()
    file.stream(1)
    file.stream(2)
    file.stream(3, hostname="elsewhere")
    pings(file, 2, 1000.0)
    for number in (1, 2, 3):
        file.samples(number, [60.0], [0])
    with opened(file) as trace:
        assert trace.read_all()["status"].to_pylist() == [
            "resolved",
            "resolved",
            "unknown_source_clock",
        ]


def test_a_stream_without_offsets_takes_none_of_several_clocks_of_its_host(opened):
    file = XdfFile()
    for number in (1, 2, 3):
        file.stream(number)
    pings(file, 1, 1000.0)
    pings(file, 2, 4000.0)
    file.samples(3, [60.0], [0])
    with opened(file) as trace:
        assert trace.read_all()["status"].to_pylist() == ["unknown_source_clock"]


def reset_file(samples_between=()):
    """A host that starts anew between 95 s and its next offset, at 5 s of its new clock."""
    file = XdfFile()
    file.stream(1, srate=1)
    pings(file, 1, 1000.0)
    file.samples(1, [94.0], [1])
    for stamp in samples_between:
        file.samples(1, [stamp], [2])
    pings(file, 1, 1200.0, start=5.0)
    file.samples(1, [52.0], [3])
    return file


def test_a_host_that_starts_anew_has_a_clock_for_each_start(opened):
    with opened(reset_file([96.0, 3.0])) as trace:
        assert names(trace) == [
            "MONOTONIC",
            "lsl.lab-pc.boot1@machine1",
            "lsl.lab-pc.boot2@machine1",
            "lsl.lab-pc@machine1",
        ]
        rows = trace.read_all("tube").to_pylist()
        floor = trace.read_all().to_pylist()
    assert [row["status"] for row in rows + floor] == ["resolved"] * 8
    for row, truth in zip(rows, (1094, 1096, 1203, 1252), strict=True):
        assert row["earliest"] <= truth * 10**9 <= row["latest"]
        assert row["latest"] - row["earliest"] < 20_000_000


def test_a_sample_that_may_be_of_two_starts_has_a_bar_of_both(opened):
    """It was written a minute after it was taken."""
    file = reset_file()
    file.samples(1, [94.0], [4])
    pings(file, 1, 1200.0, start=55.0, n=2)
    with opened(file) as trace:
        row = trace.read_all("tube").to_pylist()[-1]
        assert trace.read_all()["status"].to_pylist()[-1] == "non_monotonic_source"
    assert row["status"] == "ambiguous_source" and row["trace_time"] is None
    assert row["earliest"] <= 1_094 * 10**9 <= row["latest"]
    assert row["earliest"] <= 1_294 * 10**9 <= row["latest"]


def test_offsets_out_of_order_leave_two_starts_possible(opened):
    file = XdfFile()
    file.stream(1)
    pings(file, 1, 1000.0, n=3)
    file.samples(1, [65.0], [0])
    pings(file, 1, 1035.0, start=70.0)
    pings(file, 1, 1000.0, start=65.0, n=7)
    with opened(file) as trace:
        assert "lsl.lab-pc.boot2@machine1" in names(trace)
        (row,) = trace.read_all("tube").to_pylist()
    assert row["status"] == "ambiguous_source"
    assert row["earliest"] <= 1_065 * 10**9 <= row["latest"]


def test_a_start_that_one_offset_shows_counts(opened):
    file = XdfFile()
    file.stream(1)
    pings(file, 1, 1000.0)
    file.offset(1, 3.0, 1200.0)
    file.samples(1, [5.0], [0])
    pings(file, 1, 1250.0, start=4.0)
    with opened(file) as trace:
        assert "lsl.lab-pc.boot3@machine1" not in names(trace)
    file = XdfFile()
    file.stream(1)
    pings(file, 1, 1000.0, start=400.0)
    file.offset(1, 300.0, 1200.0)
    file.samples(1, [303.0], [0])
    pings(file, 1, 1500.0, start=40.0)
    with opened(file) as trace:
        assert "lsl.lab-pc.boot3@machine1" in names(trace)
        (row,) = trace.read_all("tube").to_pylist()
    assert row["earliest"] <= 1_503 * 10**9 <= row["latest"] < 1_504 * 10**9


@pytest.mark.parametrize("slept", [5.0, 60.0])
def test_a_host_that_slept_has_one_clock_and_bars_that_hold_both_sides(opened, slept):
    """Its clock stood still: a reading around then may be of before or after."""
    file = XdfFile()
    file.stream(1)
    pings(file, 1, 1000.0)
    pings(file, 1, 1000.0 + slept, start=100.0)
    stamps = [60.0, 90.0, 95.5, 97.0, 99.5, 105.0]
    file.samples(1, stamps, stamps)
    with opened(file) as trace:
        assert names(trace) == ["MONOTONIC", "lsl.lab-pc@machine1"]
        rows = trace.read_all("tube").to_pylist()
    for row, stamp in zip(rows, stamps, strict=True):
        for ahead in (1000.0,) * (stamp < 100) + (1000.0 + slept,) * (stamp > 95):
            assert row["earliest"] <= round((stamp + ahead) * 1e9) <= row["latest"]
    if slept == 5.0:
        assert rows[0]["latest"] - rows[0]["earliest"] < 1_000_000


def test_the_doctor_tells_of_the_start_and_of_nothing_else(opened):
    with opened(reset_file()) as trace:
        findings = {finding.code: finding for finding in diagnose(trace)}
        assert set(findings) == {"clock-reset", "no-realtime"}
        (clock,) = findings["clock-reset"].clocks
        assert trace.clocks.name(clock) == "lsl.lab-pc@machine1"
        # The chunk of the first offset after it.
        assert list(findings["clock-reset"].packets) == [13]


def test_one_offset_that_is_wrong_is_no_start(opened):
    file = XdfFile()
    file.stream(1)
    pings(file, 1, 1000.0)
    file.offset(1, 700.0, 402.5)
    pings(file, 1, 1000.0, start=110.0)
    file.samples(1, [72.0, 120.0], [0, 0])
    with opened(file) as trace:
        assert names(trace) == ["MONOTONIC", "lsl.lab-pc@machine1"]
        rows = trace.read_all("tube").to_pylist()
        assert "snapshot-outlier" in {finding.code for finding in diagnose(trace)}
    for row, truth in zip(rows, (1072, 1120), strict=True):
        assert row["earliest"] <= truth * 10**9 <= row["latest"]


def test_an_offset_that_is_repeated_is_no_other_measurement(opened):
    """liblsl gives the last one for ever where a host is gone, while clocks drift by 40 ppm."""
    file = XdfFile()
    file.stream(1)
    drift = [(50.0 + 5 * k, 1000.0 + 40e-6 * 5 * k + 1e-6 * (k % 3)) for k in range(40)]
    for when, offset in drift[:12]:
        file.offset(1, when, offset)
    for when, _ in drift[12:30]:
        file.offset(1, when, drift[11][1])
    for when, offset in drift[30:]:
        file.offset(1, when, offset)
    whens = [when for when, _ in drift]
    file.samples(1, whens, whens)
    with opened(file) as trace:
        assert trace.clocks.clocks()[0].snapshots == 22
        rows = trace.read_all("tube").to_pylist()
    for row, (when, offset) in zip(rows, drift, strict=True):
        assert row["earliest"] <= round((when + offset) * 1e9) <= row["latest"]


def test_one_offset_that_is_always_the_same_is_kept(opened):
    file = XdfFile()
    file.stream(1)
    for k in range(8):
        file.offset(1, 5.0 * k, -0.1)
    with opened(file) as trace:
        assert trace.clocks.clocks()[0].snapshots == 8


def test_half_widths_are_02_ms_or_the_scatter_and_assumed(opened):
    with opened(two_streams()) as trace:
        told = trace.clocks.explain(
            55 * 10**9, "lsl.lab-pc@machine1", policy="tube", dst="MONOTONIC"
        )
        assert told.steps[0].half_width_ns == 200_000
        assert told.steps[0].assumed and told.basis == "estimated"
    noisy = XdfFile()
    noisy.stream(1)
    for k in range(40):
        noisy.offset(1, 5.0 * k, 1000.0 + (5e-3 if k % 2 else -5e-3) + 1e-6 * (k % 5))
    with opened(noisy) as trace:
        (domain,) = trace.recorded_domains.values()
        assert 5_000_000 <= domain.assumed_half_width_ns <= 30_000_000
        assert [f.code for f in diagnose(trace)] == ["no-realtime"]


@pytest.mark.parametrize("clock", ["MONOTONIC", "lsl.lab-pc@machine1"])
def test_half_widths_that_are_given_count(opened, clock):
    given = [ClockDomain(clock, assumed_half_width_ns=700_000)]
    with opened(two_streams(), domains=given) as trace:
        told = trace.clocks.explain(55 * 10**9, "lsl.lab-pc@machine1", "MONOTONIC", policy="tube")
        assert told.steps[0].half_width_ns == 700_000
        assert trace.read_all("tube", bars="guaranteed").num_rows == 205
        assert trace.clocks.name(ClockId.parse("lsl.lab-pc@machine1")) == "lsl.lab-pc@machine1"


def test_a_limit_that_is_given_leaves_the_half_width(opened):
    given = [ClockDomain("lsl.lab-pc@machine1", max_drift_ppm=50)]
    with opened(two_streams(), domains=given) as trace:
        told = trace.clocks.explain(55 * 10**9, "lsl.lab-pc@machine1", "MONOTONIC", policy="tube")
        assert told.steps[0].half_width_ns == 200_000
        assert told.steps[0].drift_ppm < 1_200


def test_no_bar_is_guaranteed_by_offsets_of_unknown_width(opened):
    with opened(two_streams()) as trace:
        with pytest.raises(UsageError, match="does not say how long its pings took"):
            trace.read_all("tube", bars="guaranteed")
        assert trace.read_all("floor", bars="guaranteed").num_rows == 205


def one_host(offsets):
    """Offsets every 5 s, and a sample each second."""
    file = XdfFile()
    file.stream(1)
    for k, offset in enumerate(offsets):
        file.offset(1, 50.0 + 5 * k, offset)
        file.samples(1, [50.0 + 5 * k + j for j in range(5)], list(range(5)))
    return file


@pytest.mark.parametrize("late_s", [0.0015, -0.0023])
def test_a_slow_ping_is_an_outlier_and_no_drift(opened, late_s):
    offsets = [1000.0 + 1e-4 * ((3 * k) % 7 - 3) for k in range(40)]
    offsets[20] += late_s
    with opened(one_host(offsets)) as trace:
        found = [finding for finding in diagnose(trace) if finding.code != "no-realtime"]
        packet = trace.snapshot_packets[20]
    assert [(finding.code, finding.packets) for finding in found] == [
        ("snapshot-outlier", (packet,))
    ]
    assert found[0].events == 5
    assert found[0].worst_ns == pytest.approx(abs(late_s) * 1e9, abs=400_000)


@pytest.mark.parametrize("step_s", [0.005, -0.005, 0.02])
def test_bars_hold_both_sides_of_a_step_between_two_pings(opened, step_s):
    offsets = [1000.0 + 1e-8 * k + step_s * (k >= 20) for k in range(40)]
    with opened(one_host(offsets)) as trace:
        found = [finding.code for finding in diagnose(trace)]
        rows = trace.read_all("tube").to_pylist()[96:100]
    # A steady clock is not set: up to 10 ms it is the pings that are doubted.
    first = "clock-stepped" if abs(step_s) > 0.01 else "offsets-shifted"
    assert found == [first, "no-realtime"]
    for row in rows:
        before = row["timestamp"] + 10**12
        ends = sorted([before, before + round(step_s * 1e9)])
        assert row["earliest"] <= ends[0] + 1_000
        assert ends[1] - 1_000 <= row["latest"]


def test_times_of_1970_have_the_tick_of_their_doubles(opened):
    file = XdfFile()
    file.stream(1)
    pings(file, 1, -1.6e9, start=1.7e9)
    with opened(file) as trace:
        (domain,) = trace.recorded_domains.values()
        assert domain.tick_ns == pytest.approx(238.4, abs=0.1)


def test_offsets_that_are_no_times_are_told_and_left_out(opened):
    file = XdfFile()
    file.stream(1)
    at = file.offset(1, 50.0, float("nan"))
    pings(file, 1, 1000.0)
    file.offset(1, 1e300, 5.0)
    with opened(file) as trace:
        assert trace.n_warnings == 2
        assert (trace.warnings[0].offset, trace.warnings[0].packet) == (at, 2)
        assert trace.clocks.clocks()[0].snapshots == 10
        found = {finding.code: finding for finding in diagnose(trace)}
        assert "2 snapshots" in found["reading-overflow"].title
