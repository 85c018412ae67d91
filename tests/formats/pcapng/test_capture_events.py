"""A capture as a trace: its events, what the file says beside them, its faults."""

import gzip
import json

import pytest
from captures import Capture, pcap

from tracetime import ClockId, TraceError, diagnose, open_trace, report
from tracetime.formats import trace_file
from tracetime.formats.perfetto.read.reader import PerfettoTrace

pytest_plugins = ["cli"]

C = Capture()
START_S = 1_790_000_000
US, NS = START_S * 10**6, START_S * 10**9
PACKETS = [C.packet(US + k, b"x" * k, length=100 + k) for k in range(20)]
PLAIN = b"".join([C.section(), C.interface(name="eth0"), *PACKETS])


@pytest.fixture
def capture(tmp_path):
    """Writes a capture to a file."""

    def write(content):
        path = tmp_path / "c.pcapng"
        path.write_bytes(content)
        return path

    return write


def test_a_packet_is_an_event_on_realtime(capture):
    content = PLAIN + C.packet(US + 50, comment=b"late\n")
    with open_trace(capture(content)) as trace:
        rows = trace.read_all("tube", names=True).to_pylist()
        assert trace.trace_clock == ClockId(1)
        assert (trace.warnings, trace.events_dropped, trace.dropped_packet) == ([], 0, None)
    assert json.loads(rows[20]["args"]) == {
        "interface": 0,
        "captured": 4,
        "length": 4,
        "ticks": US + 50,
        "comment": "late\n",
    }
    del rows[3]["args"]
    assert rows[3] == {
        "packet": 3,
        "kind": "packet",
        "item": 0,
        "payload": None,
        "packet_sequence": 0,
        "sequence": 0,
        "machine": 0,
        "clock": 1,
        "timestamp": NS + 3000,
        "trace_time": NS + 3000,
        "status": "resolved",
        "offset": content.index(PACKETS[3]),
        "earliest": NS + 3000,
        "latest": NS + 3999,
        "name": "ETHERNET",
        "category": None,
        "type": "instant",
        "value": 103.0,
        "track": 0,
        "track_name": "eth0",
        "cpu": None,
        "pid": None,
        "tid": None,
        "process_name": None,
        "thread_name": None,
    }


@pytest.mark.parametrize(
    ("resolution", "offset_s", "ticks", "earliest", "latest"),
    [
        (None, None, US + 1, NS + 1000, NS + 1999),
        (9, None, NS + 1, NS + 1, NS + 1),
        (6, START_S, 7, NS + 7000, NS + 7999),
        (0, None, START_S, NS, NS + 999_999_999),
        (12, START_S, 1999, NS + 1, NS + 1),
        # A tick of 2^-10 s begins and ends within a ns: both are rounded outwards.
        (0x8A, None, START_S * 1024 + 1, NS + 976_562, NS + 1_953_124),
        (0x80 | 32, None, (START_S << 32) + 5, NS + 1, NS + 1),
        (6, -5, 10**7, 5 * 10**9, 5 * 10**9 + 999),
    ],
)
def test_times_are_exact_and_bars_hold_the_tick(
    capture, resolution, offset_s, ticks, earliest, latest
):
    content = C.section() + C.interface(resolution=resolution, offset_s=offset_s)
    with open_trace(capture(content + C.packet(ticks))) as trace:
        (row,) = trace.read_all("tube").to_pylist()
        (interface,) = trace.metadata["interfaces"]
    assert interface["offset_s"] == (offset_s or 0)
    assert interface["ticks_per_s"] == {0x8A: 1024, 0xA0: 2**32}.get(
        resolution, 10 ** (6 if resolution is None else resolution)
    )
    assert (row["trace_time"], row["earliest"], row["latest"]) == (earliest, earliest, latest)


def test_interfaces_and_sections_are_told_apart(capture):
    big = Capture(">")
    content = (
        C.section() + C.interface(name="eth0") + C.interface(name="eth0", link=113, resolution=9)
    )
    content += C.packet(US) + C.packet(NS + 1, on=1)
    content += (
        big.section() + big.interface(link=4000) + big.packet(US + 1) + big.old_packet(US + 2)
    )
    with open_trace(capture(content)) as trace:
        table = trace.read_all(names=True)
        assert trace.metadata["interfaces"][1:] == [
            {"name": "eth0", "link_type": "LINUX_SLL", "ticks_per_s": 10**9, "offset_s": 0},
            {"name": None, "link_type": "LINKTYPE 4000", "ticks_per_s": 10**6, "offset_s": 0},
        ]
        assert trace.to_pandas(names=True)["track_name"].tolist()[:2] == ["eth0", "eth0"]
    assert table["track"].to_pylist() == [0, 1, 2, 2]
    assert table["track_name"].to_pylist() == ["eth0", "eth0", "interface 2", "interface 2"]
    assert table["name"].to_pylist() == ["ETHERNET", "LINUX_SLL", "LINKTYPE 4000", "LINKTYPE 4000"]
    assert table["trace_time"].to_pylist() == [NS, NS + 1, NS + 1000, NS + 2000]


def test_times_beyond_int64_are_overflows(capture):
    content = C.section() + C.interface() + C.interface(offset_s=-(2**63)) + C.packet(2**64 - 1)
    with open_trace(capture(content + C.packet(0, on=1) + C.packet(US))) as trace:
        for policy in ("floor", "tube"):
            table = trace.read_all(policy)
            assert table["status"].to_pylist() == ["overflow", "overflow", "resolved"]
            assert table["trace_time"].to_pylist() == [None, None, NS]
        assert "timestamp-overflow" in {one.code for one in diagnose(trace)}


def test_what_has_no_time_or_is_ignored_is_told(capture, tracetime):
    content = C.section() + C.interface(zone=3600) + C.simple_packet() + C.packet(US)
    path = capture(content)
    with open_trace(path) as trace:
        assert trace.read_all()["packet"].to_pylist() == [1]
        assert [one.offset for one in trace.warnings] == [len(C.section()), 0]
    printed = " ".join(tracetime("clocks", path)[1].split())
    assert "time zone, which is ignored" in printed
    assert "1 packet without a time" in printed
    with open_trace(capture(pcap([(1, 1, b"")], zone=3600))) as trace:
        assert "time zone" in trace.warnings[0].message
    with open_trace(capture(C.section() + C.interface(zone=1) * 200)) as trace:
        assert trace.n_warnings == 100


def test_dropped_packets_are_told(capture):
    with open_trace(capture(PLAIN + C.statistics(dropped=3, by_system=4))) as trace:
        assert (trace.events_dropped, trace.dropped_packet) == (7, 20)
        assert "events-dropped" in {one.code for one in diagnose(trace)}
    with open_trace(capture(PLAIN + C.packet(US + 30, dropped=9))) as trace:
        assert (trace.events_dropped, trace.dropped_packet) == (9, 20)
        assert "events-dropped" in {one.code for one in diagnose(trace)}
    most = C.statistics(dropped=2**64 - 1, by_system=2**64 - 1)
    with open_trace(capture(PLAIN + most)) as trace:
        assert trace.events_dropped == 2**63 - 1


def test_pcap_is_read_too(capture):
    with open_trace(capture(pcap([(START_S, k, b"abc") for k in range(5)], order=">"))) as trace:
        assert trace.read_all()["trace_time"].to_pylist() == [NS + 1000 * k for k in range(5)]


def test_the_modified_pcap_says_what_it_is(capture):
    for order in "<>":
        with open_trace(capture(pcap([], order=order, magic=0xA1B2CD34))) as trace:
            with pytest.raises(TraceError, match="editcap -F pcapng"):
                trace.read_all()


def test_what_begins_alike_is_not_taken_for_it(capture):
    for content in (b"\n\r\r\n", b"\n\r\r\n" + bytes(20), b"\n\x00"):
        with open_trace(capture(content)) as trace:
            assert isinstance(trace, PerfettoTrace)


def test_batches_follow_on_each_other(capture, monkeypatch):
    monkeypatch.setattr(trace_file, "BLOCK", 1)
    monkeypatch.setattr("tracetime.formats.trace_file.CHUNK", 50)
    path = capture(PLAIN)
    with open_trace(path) as trace:
        assert len(list(trace.events())) > 5
        table = trace.read_all(names=True)
    assert table["packet"].to_pylist() == list(range(20))
    assert table["offset"].to_pylist() == [PLAIN.index(one) for one in PACKETS]
    assert table["value"].to_pylist() == [100.0 + k for k in range(20)]
    with open_trace(capture(PLAIN + b"x" * 12)) as trace:
        with pytest.raises(TraceError, match="longer than 64 MiB") as raised:
            trace.read_all()
    assert (raised.value.offset, raised.value.packet) == (len(PLAIN), 20)
    with open_trace(capture(C.section() + C.interface() + C.interface(zone=1))) as trace:
        assert trace.warnings[0].offset == len(C.section() + C.interface())


def test_a_capture_that_is_cut_off_is_told(capture):
    path = capture(PLAIN[:-5])
    with open_trace(path) as trace, pytest.raises(TraceError, match="cut off within") as raised:
        trace.read_all()
    assert (raised.value.packet, raised.value.offset) == (19, PLAIN.index(PACKETS[19]))
    with open_trace(path, partial=True) as trace:
        assert trace.read_all().num_rows == 19
        assert "trace-truncated" in {one.code for one in diagnose(trace)}
    path.write_bytes(gzip.compress(PLAIN))
    with open_trace(path) as trace:
        assert trace.read_all().num_rows == 20


def test_commands_take_it(capture, tracetime, tmp_path):
    path = capture(PLAIN)
    assert tracetime("doctor", path)[0] == 0
    asked = "select sum(value) n, min(wall_time) w from events where name = 'ETHERNET'"
    (row,) = json.loads(tracetime("sql", path, asked, "--json")[1])
    assert (row["n"], row["w"][:10]) == (2190.0, "2026-09-21")
    assert tracetime("convert", path, "-o", tmp_path / "o.parquet")[0] == 0
    with open_trace(path) as trace:
        report(trace, tmp_path / "r.html")


@pytest.mark.parametrize("size", [30, 1 << 20])
def test_time_that_runs_backwards_is_an_error(capture, monkeypatch, size):
    hour = 3600 * 10**6
    moved = [C.packet(US + k - hour * (k >= 10)) for k in range(20)]
    monkeypatch.setattr(trace_file, "BLOCK", 1)
    monkeypatch.setattr("tracetime.formats.trace_file.CHUNK", size)
    with open_trace(capture(b"".join([C.section(), C.interface(), *moved]))) as trace:
        assert (trace.events_backwards, trace.backwards_packet) == (10, 10)
        (found,) = (one for one in diagnose(trace) if one.severity == "error")
    assert found.code == "stream-backwards"
    assert found.title.startswith("time runs backwards in interface 0: 10 events up to 1 h 0 min")


def test_small_steps_and_other_interfaces_are_no_step_back(capture):
    packets = [
        C.packet(US + 10**7),
        C.packet(US + 9 * 10**6),
        C.packet(US, on=1),
        C.packet(US + 10**7),
    ]
    with open_trace(capture(b"".join([C.section(), C.interface(), C.interface(), *packets]))) as t:
        assert (t.events_backwards, t.backwards_packet) == (0, None)


def test_at_warns_of_a_capture_that_is_cut_off(capture, tracetime):
    path = capture(PLAIN[:-5])
    code, _, err = tracetime("at", path, "--partial", "0s", "--to", "REALTIME")
    assert (code, "warning: reading stopped early: the capture is cut off" in err) == (0, True)


def test_the_report_says_whose_bars_a_capture_has(capture, tmp_path):
    with open_trace(capture(PLAIN)) as trace:
        report(trace, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "No clock is placed by snapshots" in page
    assert "no snapshot has one" in page
    assert "0 clocks" not in page
