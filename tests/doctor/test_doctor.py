"""The doctor: a healthy trace is left in peace, each fault put into it is the one it names."""

import time
from pathlib import Path
from random import Random

import pytest
from building import (
    BOOTTIME,
    event,
    snapshot,
    trace,
)
from corpus import NO_DATA, files
from diagnosed import every, findings
from faults import FAULTS, Model, S
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT

from tracetime import (
    Finding,
    TraceError,
    UsageError,
    diagnose,
    open_trace,
)
from tracetime.doctor.catalogue import CATALOGUE

PAGES = ROOT / "docs" / "findings"


def test_a_healthy_trace_has_no_findings():
    assert findings(Model().build()) == []


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_the_one_primary_finding(name):
    @settings(max_examples=6)
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


def test_every_code_has_a_page_and_every_page_a_code():  # long: a list
    pages, texts = codes_of_source()
    noted = {code for code, row in CATALOGUE.items() if row.kinds}
    assert {code for code in pages - noted if f'"{code}"' not in texts} == set()
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
        "trace-clock-unit",
        "realtime-unsynchronised",
        "time-service-contradicts",
        "events-reordered",
        "events-dropped",
        # Of groups of events on another clock: test_doctor_other_clock.py.
        "events-of-another-clock",
        "threads-off-cpu",
        "wall-clock-unset",
        # Of a sequence of two writers: test_doctor_sequences.py.
        "sequence-reused",
        # Of what Perfetto's own counters say: test_doctor_losses.py.
        "recorder-lost-data",
        # Decimal times are not Perfetto's: test_doctor_written_times.py.
        "events-without-time",
        "times-rounded",
        # A trace that has nothing has no fault put into it: test_json_shapes.py.
        "no-events",
        # What is passed over in Perfetto's traces has findings of its own.
        "parts-passed-over",
        # Of tables: test_table_odd_rows.py.
        "ends-before-begins",
        # Of tables with trace times: test_table_traces.py.
        "placed-before",
        # Perfetto's sequences may go backwards: test_ctf_events.py.
        "stream-backwards",
        # Of offsets that a recorder measures by messages: test_xdf_shifts.py.
        "offsets-scatter",
        "offsets-shifted",
        # Perfetto's slices have no ids of parents: test_span_doctor.py.
        "odd-spans",
        # Of Chrome's JSON and of captures: test_json_odd_times.py, test_capture_odd_times.py.
        "odd-times",
        # Perfetto's machines may exchange readings: test_span_doctor.py.
        "hosts-disagree",
        "clocks-not-examined",
        # Flows are looked at where the caller lets the tube use them: test_doctor_orders.py.
        "loop",
        "messages-against-snapshots",
        "messages-reversed",
        "one-sided",
        "slow-messages",
        "step-between-machines",
        "uncovered",
        "undirected-flows",
        "wander",
        "wrong-order",
    }
    index = (PAGES / "README.md").read_text()
    assert all(f"[{code}]({code}.md)" in index for code in pages)


def test_what_follows_from_a_finding_is_below_it():
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


def test_findings_in_json_have_the_fields_of_the_interface():
    model = Model()
    FAULTS["set_back"](model, Random(3))
    (found,) = findings(model.build())
    assert isinstance(found, Finding)
    reported = found.to_dict()
    assert list(reported)[:9] == [
        "code",
        "severity",
        "title",
        "clocks",
        "packets",
        "events",
        "worst_ns",
        "why",
        "fix",
    ]
    assert reported["clocks"] == ["REALTIME"]
    # Those before the clock was set back have a trace time.
    assert 0 < reported["events"] < 60


def test_what_is_no_trace_at_all_is_an_error():
    with pytest.raises(TraceError):
        findings(b"PK\x03\x04 an archive, say")


@pytest.mark.parametrize(
    "name",
    [
        "chromium_small.pftrace",
        "mcprs_page_loads.pftrace",
        "api32_startup_warm.perfetto-trace",
        "nowinandroid_trace.perfetto-trace",
        "mspt_chrome.pftrace",
        "chromium_medium.pftrace",
    ],
)
def test_healthy_traces_have_nothing_above_a_note(name):
    found = files(f"traces/{name}")
    if not found:
        pytest.skip(NO_DATA)
    with open_trace(found[0]) as trace:
        assert [f for f in diagnose(trace) if f.severity != "info"] == []


@pytest.mark.sweep
def test_every_trace_can_be_examined():
    for path in files("traces/*trace"):
        with open_trace(path, partial=True) as trace:
            for finding in diagnose(trace):
                assert finding.code


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


def test_a_cut_is_reported_once():
    model = Model()
    FAULTS["truncated"](model, Random(1))
    (found,) = findings(model.build())
    assert found.title.count("cut off") == 1
