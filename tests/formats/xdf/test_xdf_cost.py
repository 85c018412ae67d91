"""What reading an XDF file costs: chunks are read and placed together, not one by one."""

import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from xdf_files import XdfFile

from tracetime import open_trace
from tracetime.clocks.ids import ClockId
from tracetime.formats.trace_file import TraceFile
from tracetime.formats.xdf import xdf_trace
from tracetime.formats.xdf.host_clocks import HostClock
from tracetime.formats.xdf.pings import Pings

S = 10**9
LATE = 10 * S


def started_anew(chunks):
    file = XdfFile()
    file.stream(1)
    for ahead, start in ((1000.0, 50.0), (1200.0, 5.0)):
        for k in range(chunks // 2):
            file.offset(1, start + 5 * k, ahead + 1e-5 * (3 * k % 7))
            file.samples(1, [start + 5 * k + 1], [k])
    return file.content


def calls_of(tmp_path, monkeypatch, content):
    """How often a reading calls what is for all chunks at once."""
    path = tmp_path / "t.xdf"
    path.write_bytes(content)
    called = Counter()
    for owner, name in (
        (Pings, "jumps"),
        (HostClock, "clocks_of"),
        (xdf_trace, "nanoseconds"),
        (xdf_trace, "names_of"),
        (TraceFile, "read"),
    ):
        whole = getattr(owner, name)

        def counted(*given, _name=name, _whole=whole, **named):
            called[_name] += 1
            return _whole(*given, **named)

        monkeypatch.setattr(owner, name, counted)
    with open_trace(path) as trace:
        trace.read_all()
        _ = trace.events_backwards
    monkeypatch.undo()
    return called


def test_chunks_of_samples_are_placed_together(tmp_path, monkeypatch):
    few, many = (calls_of(tmp_path, monkeypatch, started_anew(n)) for n in (20, 200))
    assert many == few


def host_of(pings):
    host_s, ahead_s = np.array(pings, np.int64).T
    packets = np.arange(len(pings)) * 10
    return HostClock(1, "pc", Pings(host_s * S, (host_s + ahead_s) * S, packets).sorted())


def by_itself(host, packet, time):
    """The start that a sample is of, None where two are possible or none is."""
    pings = sorted(
        (int(packet), int(read), int(recorder), int(boot))
        for packet, read, recorder, boot in zip(
            host._pings.packet,
            host._pings.host_ns,
            host._pings.recorder_ns,
            host._boots,
            strict=True,
        )
        if boot >= 0
    )
    before = [ping for ping in pings if ping[0] < packet][-1:]
    after = [ping for ping in pings if ping[0] >= packet][:1]
    apart = 10**30
    if before and after:
        apart = abs(after[0][2] - before[0][2]) + LATE
    boots = {boot for _, read, _, boot in before if read - LATE <= time <= read + apart}
    boots |= {boot for _, read, _, boot in after if read - apart <= time <= read + LATE}
    return boots.pop() if len(boots) == 1 else None


times = st.integers(0, 400)


@given(
    st.lists(st.tuples(times, st.sampled_from([0, 1, 300, 1000, 5000])), min_size=4, max_size=20),
    st.lists(st.tuples(st.integers(-5, 205), times), min_size=1, max_size=20),
)
def test_samples_of_many_chunks_are_of_the_starts_that_each_is_of(pings, samples):
    host = host_of(pings)
    assume(host.n_boots > 1)
    packets, stamps = np.array(samples, np.int64).T
    clocks = host.clocks_of(packets, stamps * S)
    starts = [by_itself(host, packet, int(stamp) * S) for packet, stamp in samples]
    assert clocks.tolist() == [ClockId.parse(host.clock(start)).clock for start in starts]


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 3, 4]), st.integers(1, 3)), min_size=1, max_size=9)
)
def test_names_of_streams_in_turns_are_those_of_each_by_itself(tmp_path_factory, turns):
    path = tmp_path_factory.mktemp("turns") / "t.xdf"
    file = XdfFile()
    file.stream(1, "A", "", 2, "int32")
    file.stream(2, "B", "Markers", channel_format="string")
    file.stream(3, "B", "EEG", 1, "double64", hostname="other")
    file.stream(4, "", "Markers", 2, "string", hostname="")
    expected = []
    for turn, (stream, n) in enumerate(turns):
        rows = [[turn, -k] if stream in (1, 4) else [turn + k] for k in range(n)]
        file.samples(stream, [50.0 + turn + k / 8 for k in range(n)], rows)
        for row in rows:
            texts = stream in (2, 4)
            shown = [str(one) for one in row] if texts else row
            args = str({"channels": shown}).replace(" ", "").replace("'", '"')
            expected.append(
                {
                    "name": str(row[0]) if texts else ["A", "", "B"][stream - 1],
                    "category": ["", "Markers", "EEG", "Markers"][stream - 1] or None,
                    "track_name": ["A", "B", "B", ""][stream - 1] or None,
                    "process_name": ["lab-pc", "lab-pc", "other", ""][stream - 1] or None,
                    "track": stream,
                    "value": None if texts else float(row[0]),
                    "args": args if len(row) > 1 else None,
                }
            )
    path.write_bytes(file.content)
    with open_trace(path) as trace:
        table = trace.read_all(names=True)
    found = table.select(list(expected[0])).to_pylist()
    assert found == expected


def test_a_file_is_read_in_pieces_larger_than_chunks(tmp_path, monkeypatch):
    content = started_anew(2000)
    called = calls_of(tmp_path, monkeypatch, content)
    assert len(content) > 90_000
    assert called["read"] < 20


def alternating(chunks):
    """Offsets a millisecond apart, each 50 ms off the one before."""
    file = XdfFile()
    file.stream(1)
    for k in range(chunks):
        file.offset(1, 1.0 + k / 1000, 0.05 * (k % 2))
    return file.content


def steady(chunks):
    file = XdfFile()
    file.stream(1)
    for k in range(chunks):
        file.offset(1, 5.0 * k, 1000.0 + 1e-6 * (k % 7))
    return file.content


def of_one_name(streams):
    """Streams of hosts of one name, each with a clock of its own."""
    file = XdfFile()
    for k in range(1, streams + 1):
        file.stream(k)
        file.offset(k, 50.0, 1000.0 * k)
    return file.content


@pytest.mark.parametrize(
    ("made", "n", "at_most"),
    [(started_anew, 400, 1.1), (alternating, 400, 1.1), (steady, 400, 1.1), (of_one_name, 40, 11)],
)
def test_functions_are_called_as_often_for_ten_times_the_chunks(tmp_path, made, n, at_most):
    """But for what is done for each stream."""
    counts = []
    for times in (1, 1, 10):
        path = tmp_path / f"{times}.xdf"
        path.write_bytes(made(times * n))
        calls = Counter()

        def count(frame, event, given, calls=calls):
            calls[event] += 1

        sys.setprofile(count)
        try:
            with open_trace(path) as trace:
                trace.read_all(names=True)
                _ = trace.events_backwards
        finally:
            sys.setprofile(None)
        counts.append(calls["call"])
    # The first imports modules.
    assert counts[2] <= at_most * counts[1]
