"""Logs of text: which lines are events, at which times, on which clock."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracetime as tt
from tracetime.formats.logs.lines import is_log

DMESG = b"""[    0.000000] Linux version 6.1.0
<6>[   12.345678][ T123] usb 1-1: new device
  a line without time
[  100.000001] after it
"""
PERF = b"""bash  1234 [001]  5678.901234: sched:sched_switch: prev_comm=bash ==> next
app 12/13 [000] 5679.123456789:     250000 cycles:u: \r
\tffffffff81000 foo ([kernel.kallsyms])
"""
STRACE = b"""1234  1700000000.123456 openat(AT_FDCWD, "x", O_RDONLY) = 3
[pid  77] 1700000001.000001 <... read resumed>"a", 1) = 1
1700000002.500000 +++ exited with 0 +++
"""
LOGCAT = b"""--------- beginning of main
2026-11-27 18:14:49.123 +0100  1234  1235 I ActivityManager: start: it
2026-11-27 18:14:50.000 -0030  root  1234  1235 E Foo     : bad
"""
LOGCAT_EPOCH = b"1700000000.250  1234  1235 I Tag: it\n"
LOGCAT_BOOT = b"        9.250  1234  1235 I Tag: it\n"
ACCESS = b'1.2.3.4 - bob [28/Feb/2024:23:59:60 -0130] "GET / HTTP/1.1" 200 12\n'
PYTHON = b"""2026-11-27 18:14:49,123 INFO root: hello
Traceback (most recent call last):
2026-11-27 18:14:49,456 INFO root: bye"""
SYSLOG = b"""2026-11-27T18:14:49.123456+00:00 host prog[12]: hello
<34>1 2003-10-11T22:14:15.003Z host app 12 ID47 - words
2026/11/27 18:14:49Z [error] 12#34: a server's
"""


@pytest.fixture
def written(tmp_path):
    def write(content, name="given"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def rows(written):
    def read(content):
        with tt.open_trace(written(content)) as trace:
            return trace.read_all(names=True).to_pylist()

    return read


def _ns(text):
    at = datetime.datetime.fromisoformat(text)
    return round(at.timestamp() * 10**6) * 1000


@pytest.mark.parametrize(
    ("content", "clock", "expected"),
    [
        (
            DMESG,
            "log.printk",
            [
                (0, "Linux version 6.1.0"),
                (12_345_678_000, "usb 1-1: new device"),
                (100_000_001_000, "after it"),
            ],
        ),
        (
            PERF,
            "log.perf",
            [(5_678_901_234_000, "sched:sched_switch"), (5_679_123_456_789, "cycles:u")],
        ),
        (
            STRACE,
            "REALTIME",
            [
                (1_700_000_000_123_456_000, "openat"),
                (1_700_000_001_000_001_000, '<... read resumed>"a", 1) = 1'),
                (1_700_000_002_500_000_000, "+++ exited with 0 +++"),
            ],
        ),
        (
            LOGCAT,
            "REALTIME",
            [
                (_ns("2026-11-27T17:14:49.123+00:00"), "start: it"),
                (_ns("2026-11-27T18:44:50+00:00"), "bad"),
            ],
        ),
        (LOGCAT_EPOCH, "REALTIME", [(1_700_000_000_250_000_000, "it")]),
        (LOGCAT_BOOT, "log.since_boot", [(9_250_000_000, "it")]),
        (
            ACCESS,
            "REALTIME",
            [(_ns("2024-02-29T01:30:00+00:00"), '"GET / HTTP/1.1" 200 12')],
        ),
        (
            PYTHON,
            "log.local_time",
            [
                (_ns("2026-11-27T18:14:49.123+00:00"), "INFO root: hello"),
                (_ns("2026-11-27T18:14:49.456+00:00"), "INFO root: bye"),
            ],
        ),
        (
            SYSLOG,
            "REALTIME",
            [
                (_ns("2026-11-27T18:14:49.123456+00:00"), "host prog[12]: hello"),
                (_ns("2003-10-11T22:14:15.003+00:00"), "host app 12 ID47 - words"),
                (_ns("2026-11-27T18:14:49+00:00"), "[error] 12#34: a server's"),
            ],
        ),
    ],
)
def test_each_line_with_a_time_is_an_event(written, content, clock, expected):
    with tt.open_trace(written(content)) as trace:
        assert trace.trace_clock == tt.ClockId.parse(clock)
        table = trace.read_all(names=True)
    found = zip(table["trace_time"].to_pylist(), table["name"].to_pylist(), strict=True)
    assert list(found) == expected
    lines = content.splitlines(keepends=True)
    for packet, offset in zip(table["packet"], table["offset"], strict=True):
        assert offset.as_py() == sum(map(len, lines[: packet.as_py()]))


def test_who_wrote_a_line(rows):
    first, second = rows(PERF)
    assert (first["process_name"], first["tid"], first["cpu"]) == ("bash", 1234, 1)
    assert first["args"] == '{"text": "prev_comm=bash ==> next"}'
    assert (second["pid"], second["tid"], second["value"], second["args"]) == (12, 13, 250000, None)
    assert [(row["tid"], row["args"]) for row in rows(STRACE)] == [
        (1234, '{"text": "(AT_FDCWD, \\"x\\", O_RDONLY) = 3"}'),
        (77, None),
        (None, None),
    ]
    assert [(row["pid"], row["category"]) for row in rows(LOGCAT)] == [
        (1234, "ActivityManager"),
        (1234, "Foo"),
    ]


@pytest.mark.parametrize(
    ("content", "width_ns"),
    [
        (DMESG, 999),
        (PERF.splitlines(keepends=True)[1], 0),
        (LOGCAT_EPOCH, 999_999),
        (ACCESS, 10**9 - 1),
    ],
)
def test_a_bar_holds_the_digits_that_are_not_there(written, content, width_ns):
    with tt.open_trace(written(content)) as trace:
        table = trace.read_all("tube")
    assert table["earliest"].to_pylist() == table["timestamp"].to_pylist()
    assert {
        late - at
        for late, at in zip(
            table["latest"].to_pylist(), table["timestamp"].to_pylist(), strict=True
        )
    } == {width_ns}


def test_what_has_no_such_time_is_told(written):
    with tt.open_trace(written(PYTHON)) as trace:
        zone, others = trace.warnings
    assert "do not say their zone" in zone.message
    assert others.message == "1 line without such a time: no event"
    mixed = SYSLOG + b"2026-11-27T18:14:49 no zone\n2026-02-30T00:00:00Z no such day\n"
    with tt.open_trace(written(mixed)) as trace:
        assert trace.read_all().num_rows == 3
        assert [one.message for one in trace.warnings] == ["2 lines without such a time: no event"]


def test_times_beyond_int64_are_told(rows):
    first, second = rows(b"[9223372036.854775] a\n[9223372035.000000] b\n")
    assert first["status"] == "overflow"
    assert (second["status"], second["trace_time"]) == ("resolved", 9_223_372_035 * 10**9)
    years = rows(b"9999-12-31T00:00:00Z far\n0001-01-01T00:00:00Z early\n2026-01-01T00:00:00Z x\n")
    assert [row["status"] for row in years] == ["overflow", "overflow", "resolved"]


def test_a_log_that_runs_backwards_is_told(written):
    lines = b"".join(b"[%5d.000000] line\n" % at for at in (1, 2, 30, 4, 5))
    with tt.open_trace(written(lines)) as trace:
        (finding,) = [one for one in tt.diagnose(trace) if one.code == "stream-backwards"]
    assert (finding.events, finding.worst_ns) == (2, 26 * 10**9)


def test_logs_of_one_machine_are_on_one_timeline(written):
    logs = [written(STRACE, "strace.txt"), written(LOGCAT_EPOCH, "logcat.txt")]
    with tt.open_traces(logs, same=["strace.txt,logcat.txt"]) as trace:
        names = trace.read_all(names=True).sort_by("trace_time")["name"].to_pylist()
    assert names == ["openat", "it", '<... read resumed>"a", 1) = 1', "+++ exited with 0 +++"]


@pytest.mark.parametrize(
    "content",
    [
        b"2026-11-27T18:14:49Z,1,2\n",
        b"[1, 2.000000] x\n",
        b"hello\nworld\nagain\n[    0.000000] late\n",
        b'{"time": "2026-11-27T18:14:49Z"}\n',
        b"\x00[    0.000000] x\n",
        b"2026-11-27 25:14:49 no such hour\n",
    ],
)
def test_other_text_is_no_log(content):
    assert not is_log(content)


SECONDS = st.integers(0, 9_223_372_035)
NAMES = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=20)


@given(st.lists(st.tuples(SECONDS, st.integers(0, 999_999), NAMES), min_size=1, max_size=20))
def test_lines_of_the_kernel_are_read_as_they_were_written(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("logs") / "dmesg"
    text = "".join(f"[{s:5}.{us:06}] {name}\n" for s, us, name in lines)
    path.write_bytes(text.encode())
    with tt.open_trace(path) as trace:
        table = trace.read_all(names=True)
    assert table["timestamp"].to_pylist() == [s * 10**9 + us * 1000 for s, us, _ in lines]
    assert table["name"].combine_chunks().cast(pa.string()).fill_null("").to_pylist() == [
        name for *_, name in lines
    ]


@given(
    st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2261, 1, 1)),
    st.integers(-23 * 60, 23 * 60),
)
def test_dates_are_those_of_the_calendar(tmp_path_factory, at, minutes):
    path = tmp_path_factory.mktemp("logs") / "log"
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    path.write_text(f"{at.replace(tzinfo=zone).isoformat(sep=' ', timespec='microseconds')} x\n")
    since = at.replace(tzinfo=zone) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    with tt.open_trace(path) as trace:
        (found,) = trace.read_all()["timestamp"].to_pylist()
    assert found == since // datetime.timedelta(microseconds=1) * 1000


def test_logs_that_nothing_ties_are_told_of_no_collectives(written):
    logs = [written(STRACE, "strace.txt"), written(LOGCAT_EPOCH, "logcat.txt")]
    looked_for = tt.merge(logs).files[1].looked_for
    assert looked_for
    assert not any(text.startswith("collectives") for text in looked_for)
