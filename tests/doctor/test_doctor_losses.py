"""Events that a recorder dropped: an error in doctor, and a line wherever a trace is summed up."""

import json

import pytest
from building import compressed, event, packet, pb, snapshot, trace, varint
from recorded import EXTENSION, EXTENSION_FIELD
from simulated import Machine, usual_clocks

import tracetime as tt

pytest_plugins = ["cli"]

BOOTTIME, MONOTONIC = 6, 3
LINE = "warning: the recorder dropped 150,285 events\n"


def recorded(dropped, at=1000):
    """A snapshot that says how much was dropped since the recording began."""
    plain = snapshot({BOOTTIME: at, MONOTONIC: at})
    message = EXTENSION["TracetimeSnapshot"](events_dropped=dropped).SerializeToString()
    field = varint(EXTENSION_FIELD << 3 | 2) + varint(len(message)) + message
    return plain.SerializeToString() + field


def dropping(*counts):
    return trace(*(recorded(n, 1000 * i) for i, n in enumerate(counts, 1)), event(1500, MONOTONIC))


@pytest.mark.parametrize(
    ("counts", "lost"),
    [
        ((0, 0), 0),
        ((0, 7, 7, 9), 9),
        ((5,), 5),
        # Of recordings that are joined, each counts its own.
        ((0, 7, 0, 0, 3), 10),
        ((9, 4), 13),
        ((2**64 - 1, 0, 2**64 - 1), 2**63 - 1),
    ],
)
def test_what_was_dropped_is_counted(write, counts, lost):
    with tt.open_trace(write(dropping(*counts))) as opened:
        assert opened.events_dropped == lost
        findings = [f for f in tt.diagnose(opened) if f.code == "events-dropped"]
        assert [(f.severity, f.events) for f in findings] == ([("error", lost)] if lost else [])
        first = next((i for i, n in enumerate(counts) if n), None)
        assert opened.dropped_packet == first
        assert [f.packets for f in findings] == ([(first,)] if lost else [])


def test_it_is_counted_in_compressed_packets(write):
    data = trace(compressed([snapshot({BOOTTIME: 1}), recorded(4, 2000)]), recorded(6, 3000))
    with tt.open_trace(write(data)) as opened:
        assert (opened.events_dropped, opened.dropped_packet) == (6, 1)


def test_every_summary_says_so(tracetime, write, tmp_path):
    path = write(dropping(0, 150_285))
    convert = ["convert", path, "-o", tmp_path / "o.csv"]
    for words in (convert, [*convert, "--slices"], ["clocks", path]):
        assert LINE in tracetime(*words)[1]
        assert json.loads(tracetime(*words, "--json")[1])["events_dropped"] == 150_285
    text = tracetime("doctor", path)[1]
    assert text.startswith(f"{path}: 1 error, 1 info\n")
    assert "error: the recorder dropped 150,285 events" in text
    assert tracetime("doctor", path, "--fail-on", "error")[0] == 1
    # Wrapped where the path is long.
    said = tracetime("report", path, "-o", tmp_path / "r.html")[1]
    assert "1 error" in " ".join(said.split())
    assert "the recorder dropped 150,285 events" in (tmp_path / "r.html").read_text()
    sql = "select events from findings where code = 'events-dropped'"
    assert tracetime("sql", path, sql, "--format", "csv")[1] == '"events"\n150285\n'


def test_nothing_is_said_where_nothing_was_dropped(tracetime, write, tmp_path):
    path = write(dropping(0, 0))
    for words in (["convert", path, "-o", tmp_path / "o.csv"], ["clocks", path], ["doctor", path]):
        assert "dropped" not in "".join(tracetime(*words)[1:])


@pytest.mark.filterwarnings("ignore:recording")
def test_a_recording_that_was_too_large_says_how_much_is_missing(tmp_path):
    path = tmp_path / "r.pftrace"
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine, max_size=20_000) as rec:
        for _ in range(50):
            for _ in range(100):
                rec.instant("e", timestamp=machine.now_ns, clock=BOOTTIME)
                machine.now_ns += 1000
            rec.snapshot()
        dropped = rec.events_dropped
    assert dropped > 100
    with tt.open_trace(path) as opened:
        assert opened.events_dropped == dropped


def test_what_was_dropped_cannot_be_listed(write, tracetime):
    path = write(dropping(3))
    code, text, _ = tracetime("doctor", path, "--events", "events-dropped")
    assert code == 0
    assert text.endswith(": 3 events, of which the number alone is known: none can be listed\n")


# What Perfetto's own counters say


def lossy(*stats):
    """A trace with two snapshots, and these statistics behind them."""
    packets = [packet(**{name: message}) for name, message in stats]
    times = [snapshot({BOOTTIME: at, MONOTONIC: at}) for at in (1000, 2000)]
    return trace(*times, event(1500, MONOTONIC), *packets)


def buffers(**counters):
    return "trace_stats", pb.TraceStats(buffer_stats=[counters])


def rings(phase, *overruns):
    cpus = [{"cpu": cpu, "overrun": n} for cpu, n in enumerate(overruns)]
    return "ftrace_stats", pb.FtraceStats(phase=phase, cpu_stats=cpus)


START, END = 1, 2


@pytest.mark.parametrize(
    ("stats", "told"),
    [
        ([], []),
        ([buffers(chunks_overwritten=0, trace_writer_packet_loss=0)], []),
        (
            [buffers(chunks_overwritten=40)],
            [("info", 0, "a ring buffer overwrote 40 chunks: the trace holds the latest data")],
        ),
        (
            [buffers(trace_writer_packet_loss=1)],
            [("warning", 0, "producers lost 1 packet: they are not in the trace")],
        ),
        # The last statistics count: earlier ones are of the same buffers.
        ([buffers(trace_writer_packet_loss=7), buffers()], []),
        # Rings count since they were made, which may be before the recording.
        ([rings(START, 5000, 3), rings(END, 5000, 3)], []),
        (
            [rings(START, 5000, 3), rings(END, 5020, 4)],
            [
                (
                    "info",
                    21,
                    "the kernel's rings overwrote 21 events of ftrace before they were read",
                )
            ],
        ),
    ],
)
def test_perfettos_counters_of_lost_data_are_told(write, stats, told):
    with tt.open_trace(write(lossy(*stats))) as opened:
        findings = [one for one in tt.diagnose(opened) if one.code == "recorder-lost-data"]
    assert [(one.severity, one.events, one.title) for one in findings] == told


def test_statistics_of_any_length_are_kept_up_to_a_mebibyte(write):
    counters = [{"chunks_overwritten": 1}] * ((1 << 18) + 1)
    long = "trace_stats", pb.TraceStats(buffer_stats=counters)
    with tt.open_trace(write(lossy(long, buffers(chunks_overwritten=2)))) as opened:
        titles = [one.title for one in tt.diagnose(opened) if one.code == "recorder-lost-data"]
    assert titles == ["a ring buffer overwrote 2 chunks: the trace holds the latest data"]
