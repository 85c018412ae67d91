"""A journal as a trace: its events, its clocks, its faults."""

import gzip
import json

import numpy as np
import pytest
from journals import BOOT, MACHINE, START_US, entry, logged

import tracetime.formats.journal.clocks as batches
from tracetime import (
    ClockDomain,
    ClockId,
    ConversionError,
    TraceError,
    UsageError,
    clock_id,
    diagnose,
    open_trace,
    report,
)
from tracetime.formats import trace_file

pytest_plugins = ["cli"]

S = 10**6
REALTIME, MONOTONIC = ClockId(1), ClockId(3)
BOOT_2 = "b0070000000000000000000000000002"
MACHINE_2 = "c0ffee00000000000000000000000002"
ONE_BOOT = [logged(k * S, f"line {k}") for k in range(20)]


@pytest.fixture
def journal(tmp_path):
    """Writes entries to a file."""

    def write(entries):
        path = tmp_path / "j.export"
        path.write_bytes(b"".join(entries))
        return path

    return write


def test_an_entry_is_an_event_by_monotonic_of_its_boot(journal):
    with open_trace(journal(ONE_BOOT)) as trace:
        rows = trace.read_all("tube", names=True).to_pylist()
        assert trace.trace_clock == REALTIME
    args = json.loads(rows[3].pop("args"))
    assert rows[3] == {
        "packet": 3,
        "kind": "entry",
        "item": 0,
        "payload": None,
        "packet_sequence": 0,
        "sequence": 0,
        "machine": 0,
        "clock": 3,
        "timestamp": 3 * 10**9,
        "trace_time": (START_US + 3 * S) * 1000,
        "status": "resolved",
        "offset": len(b"".join(ONE_BOOT[:3])),
        "earliest": (START_US + 3 * S) * 1000 - 50_001,
        "latest": (START_US + 3 * S) * 1000 + 51_001,
        "name": "line 3",
        "category": "daemon",
        "type": "instant",
        "value": 6.0,
        "track": None,
        "track_name": None,
        "cpu": None,
        "pid": 77,
        "tid": None,
        "process_name": "daemond",
        "thread_name": None,
    }
    assert args["_BOOT_ID"] == BOOT
    assert args["_PID"] == "77"
    assert "MESSAGE" not in args
    assert not any(name.startswith("__") for name in args)


def test_half_widths_are_assumed_and_said_to_be(journal):
    with open_trace(journal(ONE_BOOT)) as trace:
        told = str(
            trace.clocks.explain(
                5 * 10**9, "MONOTONIC", "REALTIME", policy="tube", bars="guaranteed"
            )
        )
    assert "half-width 50000 ns (assumed)" in told
    assert "but estimates: half-widths are assumed" in told


def test_floor_gives_what_realtime_read(journal):
    late = [logged(k * S, realtime_us=START_US + k * S + 7 * (k % 3)) for k in range(20)]
    with open_trace(journal(late)) as trace:
        times = trace.read_all()["trace_time"].to_pylist()
    assert times == [(START_US + k * S + 7 * (k % 3)) * 1000 for k in range(20)]


def test_the_order_of_entries_does_not_matter(journal):
    with open_trace(journal(ONE_BOOT[::-1])) as trace:
        assert trace.read_all()["packet"].to_pylist() == list(range(20))
        assert trace.read_all()["trace_time"].to_pylist()[0] == (START_US + 19 * S) * 1000
        assert diagnose(trace) == []
        assert trace.snapshot_packets.tolist() == list(range(19, -1, -1))


def test_each_of_several_boots_has_a_clock_of_its_own(journal, tracetime):
    later = [logged(k * S, boot=BOOT_2, realtime_us=START_US + 1000 * S + k * S) for k in range(20)]
    path = journal(ONE_BOOT + later)
    with open_trace(path) as trace:
        table = trace.read_all()
        names = [f"monotonic.{boot}" for boot in (BOOT, BOOT_2)]
        assert table["clock"].to_pylist() == [clock_id(names[k >= 20]) for k in range(40)]
        assert table["status"].to_pylist() == ["resolved"] * 40
        assert table["trace_time"].to_pylist()[20] == (START_US + 1000 * S) * 1000
        assert trace.clocks.convert(10**9, names[1], "REALTIME") == (START_US + 1001 * S) * 1000
        assert diagnose(trace) == []
        assert trace.metadata["boots"][1] == {
            "machine_id": MACHINE,
            "boot_id": BOOT_2,
            "realtime": "REALTIME",
            "monotonic": names[1],
        }
    assert names[1][:20] in tracetime("clocks", path)[1]


def test_clocks_of_two_machines_stay_apart(journal):
    theirs = [logged(k * S, boot=BOOT_2, machine=MACHINE_2) for k in range(20)]
    with open_trace(journal(ONE_BOOT + theirs)) as trace:
        table = trace.read_all()
        assert trace.machines == [0, 1]
        assert table["machine"].to_pylist() == [k >= 20 for k in range(40)]
        assert table["clock"].to_pylist() == [3] * 40
        assert table["status"].to_pylist() == ["resolved"] * 20 + ["no_path"] * 20
        assert {one.code for one in diagnose(trace)} == {"machine-not-synchronised"}
        assert [one["machine_id"] for one in trace.metadata["boots"]] == [MACHINE, MACHINE_2]
        assert trace.metadata["boots"][1]["monotonic"] == "MONOTONIC@machine1"


@pytest.mark.parametrize(("by_s", "code"), [(-3600, "realtime-set-back"), (60, "clock-stepped")])
def test_steps_of_realtime_are_found_where_they_are(journal, by_s, code):
    later = [logged(k * S, realtime_us=START_US + (by_s + k) * S) for k in range(20, 40)]
    with open_trace(journal(ONE_BOOT + later)) as trace:
        (found,) = diagnose(trace)
        table = trace.read_all("tube")
    assert (found.code, found.packets) == (code, (20,))
    for time, early, late, k in zip(
        *(table[name].to_pylist() for name in ("trace_time", "earliest", "latest")),
        range(40),
        strict=True,
    ):
        truth = (START_US + (k + by_s * (k >= 20)) * S) * 1000
        assert early <= truth <= late
        assert abs(time - truth) <= 50_000


def test_an_entry_whose_clocks_were_not_read_together_is_found(journal):
    off = [logged(k * S, realtime_us=START_US + k * S + 5000 * (k == 7)) for k in range(20)]
    with open_trace(journal(off)) as trace:
        (found,) = diagnose(trace)
        row = trace.read_all("tube").to_pylist()[7]
    assert (found.code, found.packets) == ("snapshot-outlier", (7,))
    assert row["earliest"] <= (START_US + 7 * S) * 1000 <= row["latest"]


def test_entries_without_boot_or_monotonic_are_on_realtime(journal):
    bare = [
        entry({"__REALTIME_TIMESTAMP": START_US, "MESSAGE": "no boot"}),
        entry({"__REALTIME_TIMESTAMP": START_US, "_BOOT_ID": BOOT, "_MACHINE_ID": MACHINE}),
        entry({"__REALTIME_TIMESTAMP": START_US, "__MONOTONIC_TIMESTAMP": 1}),
    ]
    for entries in (bare[:1], bare[1:2], bare[2:], bare, [*bare[1:2], *ONE_BOOT]):
        with open_trace(journal(entries)) as trace:
            row = trace.read_all("tube").to_pylist()[0]
            assert (row["clock"], row["timestamp"]) == (1, START_US * 1000)
            assert trace.metadata["boots"][0]["realtime"] == "REALTIME"
            assert row["trace_time"] == row["earliest"] == START_US * 1000
            assert row["latest"] == START_US * 1000 + 999  # written in whole us


def test_batches_follow_on_each_other(journal, monkeypatch):
    monkeypatch.setattr(trace_file, "BLOCK", 1)
    monkeypatch.setattr("tracetime.formats.trace_file.CHUNK", 100)
    path = journal(ONE_BOOT)
    with open_trace(path) as trace:
        table = trace.read_all(names=True)
        assert len(list(trace.events())) > 5
    assert table["packet"].to_pylist() == list(range(20))
    assert table["name"].to_pylist() == [f"line {k}" for k in range(20)]
    with open_trace(path) as trace:
        assert trace.snapshot_packets.tolist() == list(range(20))
    content = path.read_bytes()
    path.write_bytes(content + b"oops\n")
    with open_trace(path) as trace, pytest.raises(TraceError, match="no field") as raised:
        trace.read_all()
    assert (raised.value.packet, raised.value.offset) == (20, len(content))
    assert all(content[at:].startswith(b"__CURSOR") for at in table["offset"].to_pylist())


def test_it_may_be_compressed(journal):
    path = journal(ONE_BOOT)
    path.write_bytes(gzip.compress(path.read_bytes()))
    with open_trace(path) as trace:
        assert trace.read_all().num_rows == 20
    path.write_bytes(path.read_bytes()[:-30])
    with open_trace(path) as trace, pytest.raises(TraceError, match="gzip file is cut off"):
        trace.read_all()
    with open_trace(path, partial=True) as trace:
        assert 0 < trace.read_all().num_rows <= 20
        assert trace.truncated is not None


def test_a_journal_that_is_cut_off_is_told(journal):
    path = journal(ONE_BOOT)
    path.write_bytes(path.read_bytes()[:-50])
    with open_trace(path) as trace, pytest.raises(TraceError, match="cut off within") as raised:
        trace.read_all()
    assert raised.value.packet == 19
    with open_trace(path, partial=True) as trace:
        assert trace.read_all().num_rows == 19
        assert str(trace.truncated) == str(raised.value)
        assert "trace-truncated" in {one.code for one in diagnose(trace)}


def test_times_beyond_int64_are_refused(journal):
    far = 9_223_372_036_854_776
    for one in (logged(far), logged(1, realtime_us=far)):
        path = journal([*ONE_BOOT, one])
        with open_trace(path) as trace, pytest.raises(TraceError, match="2262") as raised:
            trace.read_all()
        assert (raised.value.packet, raised.value.offset) == (20, len(b"".join(ONE_BOOT)))
    with open_trace(journal([logged(1, realtime_us=far - 1)])) as trace:
        assert trace.read_all()["trace_time"].to_pylist() == [(far - 1) * 1000]


def test_long_entries_are_refused(journal, monkeypatch):
    monkeypatch.setattr(batches, "LONGEST_ENTRY", 5000)
    monkeypatch.setattr(trace_file, "BLOCK", 1000)
    monkeypatch.setattr("tracetime.formats.trace_file.CHUNK", 1000)
    with open_trace(journal([logged(1, "x" * 4000)])) as trace:
        assert trace.read_all().num_rows == 1
    many = {f"F{k}": "y" * 3000 for k in range(9)}
    for one in (logged(1, "x" * 6000), logged(1, **many), b"__CURSOR=" + b"x" * 9000):
        with open_trace(journal([one])) as trace, pytest.raises(TraceError, match="longer than"):
            trace.read_all()


def test_boots_are_limited(journal):
    entries = [logged(1, boot=f"{k:032x}") for k in range(1, 50)]
    with open_trace(journal(entries), max_clocks=98) as trace:
        assert trace.read_all().num_rows == 49
    with open_trace(journal(entries), max_clocks=97) as trace:
        with pytest.raises(TraceError, match="--max-clocks"):
            trace.read_all()


def test_names_of_boots_that_hash_alike_are_refused(journal, monkeypatch):
    monkeypatch.setattr("tracetime.formats.journal.clocks.clock_id", lambda _: 0x80000000)
    path = journal([logged(1), logged(1, boot=BOOT_2)])
    with open_trace(path) as trace, pytest.raises(TraceError, match="--boot"):
        trace.read_all()


def test_commands_take_it(journal, tracetime, tmp_path):
    path = journal(ONE_BOOT)
    assert "in order" in tracetime("doctor", path)[1]
    asked = "select count(*) n, min(wall_time) w from events where name like 'line%'"
    (row,) = json.loads(tracetime("sql", path, asked, "--json")[1])
    assert (row["n"], row["w"][:10]) == (20, "2026-09-21")
    code, printed, _ = tracetime("at", path, "5000000000", "--from", "MONOTONIC")
    assert (code, str((START_US + 5 * S) * 1000) in printed) == (0, True)
    with open_trace(path) as trace:
        report(trace, tmp_path / "r.html")
    assert "MONOTONIC" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("k", [0, 1, 7, 18, 19])
def test_bars_hold_the_truth_of_an_entry_that_is_late(journal, k):
    late = [logged(j * S, realtime_us=START_US + j * S + 1400 * (j == k)) for j in range(20)]
    with open_trace(journal(late)) as trace:
        rows = trace.read_all("tube").to_pylist()
        codes = [finding.code for finding in diagnose(trace)]
    for j, row in enumerate(rows):
        assert row["earliest"] <= (START_US + j * S) * 1000 <= row["latest"]
    # The two clocks do not drift: nothing else makes 1.4 ms in a second.
    assert codes == ["clock-stepped" if k in (0, 19) else "snapshot-outlier"]


@pytest.mark.parametrize("step_us", [60, -60, 90, 130, 1000])
def test_bars_hold_both_sides_of_a_small_step(journal, step_us):
    stepped = [logged(j * S, realtime_us=START_US + j * S + step_us * (j >= 9)) for j in range(20)]
    with open_trace(journal(stepped)) as trace:
        rows = trace.read_all("tube").to_pylist()
        graph = trace.clocks
    for j, row in enumerate(rows):
        assert row["earliest"] <= (START_US + j * S + step_us * (j >= 9)) * 1000 <= row["latest"]
    between = graph.explain(8 * 10**9 + 5 * 10**8, "MONOTONIC", "REALTIME", policy="tube")
    assert between.earliest <= (START_US + 8 * S + S // 2 + min(step_us, 0)) * 1000
    assert between.latest >= (START_US + 8 * S + S // 2 + max(step_us, 0)) * 1000


def test_no_bar_is_guaranteed_by_readings_of_unknown_width(journal):
    path = journal(ONE_BOOT)
    with open_trace(path) as trace:
        with pytest.raises(UsageError, match="how far apart its two clocks were read"):
            trace.read_all("tube", bars="guaranteed")
        assert trace.read_all("floor", bars="guaranteed").num_rows == len(ONE_BOOT)
    given = [ClockDomain("MONOTONIC", assumed_half_width_ns=1_000)]
    with open_trace(path, domains=given) as trace:
        assert trace.read_all("tube", bars="guaranteed").num_rows == len(ONE_BOOT)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("begins_s", "expected"), [(-5, (3, 20)), (0, (0, None))])
def test_boots_that_overlap_are_an_error(journal, order, begins_s, expected):
    def boot(number, start_us):
        return [
            logged(j * S, realtime_us=start_us + j * S, boot=f"{number:032x}") for j in range(20)
        ]

    late = START_US + (20 + begins_s) * S
    both = boot(1, START_US) + boot(2, late)
    with open_trace(journal(both[::order])) as trace:
        first = expected[1] if order == 1 or expected[1] is None else 17
        assert (trace.events_backwards, trace.backwards_packet) == (expected[0], first)
        told = [one.title for one in diagnose(trace) if one.code == "stream-backwards"]
    assert [f"backwards in boot {2:032x}: " in title for title in told] == [True] * len(told)
    assert len(told) == bool(expected[0])


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("starts_h", "late"),
    [
        ((0, 1, 2), []),
        # The second one has no battery for its clock.
        ((0, -10_000, 2), [1]),
        ((0, 1, -24), [2]),
        ((0, -24, -23), [1, 2]),
        ((5, 0, 1), [1, 2]),
    ],
)
def test_a_boot_that_is_wholly_in_the_past_is_an_error(journal, order, starts_h, late):
    hour = 3600 * S
    logged_ = [
        logged(j * S, realtime_us=START_US + hours * hour + j * S, boot=f"{number + 1:032x}")
        for number, hours in enumerate(starts_h)
        for j in range(20)
    ]
    with open_trace(journal(logged_[::order])) as trace:
        assert trace.events_backwards == 20 * len(late)
        assert trace.streams_backwards == [f"boot {number + 1:032x}" for number in late][::order]


def test_half_widths_that_are_given_leave_the_rest_as_the_format_has_it(journal):
    given = ClockDomain("MONOTONIC", assumed_half_width_ns=20_000)
    with open_trace(journal(ONE_BOOT), domains=[given]) as trace:
        domain = trace.clocks.domain("MONOTONIC")
        bar = trace.clocks.convert(10**12, "MONOTONIC", "REALTIME", policy="tube", bounds=True)
    assert (domain.max_drift_ppm, domain.tick_ns, domain.disciplined) == (0, 1000, True)
    assert domain.assumed_half_width_ns == 20_000
    assert bar.latest - bar.earliest < 50_000  # 980 s after the last entry


def _late_world(seed, share, ends=0, step_ns=0, n=2000):
    """Entries some of whose second readings are 50 us to 5 ms late; MONOTONIC and REALTIME, ns."""
    random = np.random.default_rng(seed)
    at = np.sort(random.integers(1, n, n)) * 10**9 + random.integers(0, 10**9, n)
    at = np.sort(at)
    late = random.random(n) < share
    if ends:
        late[:ends] = late[-ends:] = True
    by = np.exp(random.uniform(np.log(50e3), np.log(5e6), n)).astype(np.int64)
    read = at + np.where(late, by, random.integers(200, 20_000, n))
    jump = at[n // 2] + 1

    def realtime(monotonic):
        return monotonic + START_US * 1000 + np.where(monotonic >= jump, step_ns, 0)

    entries = np.stack([read, realtime(at)], axis=1) // 1000
    asked = np.sort(random.integers(at[0], at[-1], 4 * n))
    return entries[np.argsort(entries[:, 0], kind="stable")], asked, realtime(asked)


@pytest.mark.parametrize("step_ns", [0, 20_000, 60_000, -200_000, 10**7])
@pytest.mark.parametrize(("share", "ends"), [(0.01, 3), (0.1, 0), (0.2, 0)])
def test_bars_hold_the_truth_where_many_entries_are_late(journal, share, ends, step_ns):
    for seed in range(2):
        entries, asked, truth = _late_world(seed, share, ends, step_ns)
        path = journal([logged(us, realtime_us=real_us) for us, real_us in entries.tolist()])
        with open_trace(path) as trace:
            bar = trace.clocks.convert(asked, "MONOTONIC", "REALTIME", policy="tube", bounds=True)
            assert diagnose(trace)
        assert (bar.earliest <= truth).all(), seed
        assert (truth <= bar.latest).all(), seed
        widths = bar.latest - bar.earliest
        assert np.median(widths) < 130_000


def test_a_stretch_of_late_entries_is_told(journal):
    """As far as a journal shows, REALTIME was stepped, and set right again."""
    late = [
        logged(k * S + 1000 * (50 <= k < 100), realtime_us=START_US + k * S) for k in range(200)
    ]
    with open_trace(journal(late)) as trace:
        (found,) = diagnose(trace)
    assert (found.code, found.packets) == ("clock-stepped", (50, 100))


def test_each_machine_that_nothing_ties_is_said_once(journal, monkeypatch):
    made, init = [], ConversionError.__init__

    def counted(self, message, reason):
        made.append(reason)
        init(self, message, reason)

    monkeypatch.setattr(ConversionError, "__init__", counted)
    machines = [f"c0ffee{k:026x}" for k in range(20)]
    path = journal([logged(k * S, "line", machine=one) for k, one in enumerate(machines)])
    with open_trace(path) as trace:
        status = trace.read_all("tube")["status"].to_pylist()
    assert status == ["resolved"] + ["no_path"] * 19
    assert made == ["no_path"] * 19
