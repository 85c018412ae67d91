"""What the kernel takes for a packet and its time, beside a plain twin; what it refuses, where."""

import json
import struct

import numpy as np
import pytest
from captures import COMMENT, UNKNOWN, Capture, pcap
from hypothesis import example, given
from hypothesis import strategies as st
from twin import pcapng as twin

from tracetime._kernels.pcapng import Packets, write_args
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN

LONGEST = 1 << 20


def read(data, most=100, longest=LONGEST):
    reader = Packets(longest, most)
    return reader, *reader.read(data, 0)


resolutions = st.one_of(st.none(), st.integers(0, 255), st.sampled_from([6, 9, 0x8A, 0x9E]))
ticks = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 2**40))
offsets = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-(10**9), 10**10))


@st.composite
def sections(draw):
    capture = Capture(draw(st.sampled_from("<>")))
    out = [capture.section()]
    n = draw(st.integers(1, 3))
    for k in range(n):
        out.append(
            capture.interface(
                name=draw(st.sampled_from([None, "", f"eth{k}"])),
                resolution=draw(resolutions),
                offset_s=draw(offsets),
            )
        )
    on = st.integers(0, n - 1)
    data = st.binary(max_size=9)
    made = st.one_of(
        st.builds(
            lambda t, d, i, c: capture.packet(t, d, on=i, comment=c),
            ticks,
            data,
            on,
            st.one_of(st.none(), st.binary(max_size=9)),
        ),
        st.builds(lambda t, i: capture.old_packet(t, on=i), ticks, on),
        st.builds(capture.simple_packet),
        st.builds(lambda kind: capture.block(kind, b"unknown"), st.integers(7, 2**31)),
    )
    return b"".join(out + draw(st.lists(made, max_size=6)))


@given(st.lists(sections(), min_size=1, max_size=3))
@example([Capture().section() + Capture().interface(resolution=0xFF) + Capture().packet(2**64 - 1)])
@example([Capture().section() + Capture().interface(resolution=0x7F) + Capture().packet(2**64 - 1)])
@example([Capture().section() + Capture().interface(resolution=0) + Capture().packet(2**64 - 1)])
def test_packets_are_those_of_the_twin(parts):
    data = b"".join(parts)
    reader, columns, whole, fault = read(data)
    expected = twin.packets(data)
    assert (whole, fault) == (len(data), 0)
    for column, name in (
        ("start", "offset"),
        ("number", "packet"),
        ("interface", "interface"),
        ("captured", "captured"),
        ("length", "length"),
    ):
        assert columns[column].tolist() == [one[name] for one in expected]
    assert [t % 2**64 for t in columns["ticks"].tolist()] == [one["ticks"] for one in expected]
    for one, ns, more, fits in zip(
        expected, *(columns[name].tolist() for name in ("ns", "cut_off_ns", "fits")), strict=True
    ):
        assert fits == (INT64_MIN <= one["first_ns"] <= INT64_MAX)
        assert ns == min(max(one["first_ns"], INT64_MIN), INT64_MAX)
        if fits:
            assert ns + more == min(one["last_ns"], INT64_MAX)
    ends, args = write_args(data, columns)
    for text, one in zip(np.split(args, ends)[:-1], expected, strict=True):
        found = json.loads(bytes(text))
        comment = found.pop("comment", None)
        assert found == {name: one[name] for name in found}
        assert comment == (
            None if one["comment"] is None else one["comment"].decode(errors="replace")
        )


@given(sections(), st.data())
def test_a_capture_that_is_cut_gives_the_packets_before_the_cut(data, draw):
    cut = draw.draw(st.integers(0, len(data)))
    _, columns, whole, fault = read(data[:cut])
    assert columns["start"].tolist() == [one["offset"] for one in twin.packets(data[:whole])]
    assert fault == (whole != cut)
    assert len(data[:cut]) - whole < len(data)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from("<>"))
def test_packets_of_pcap(seconds, part, nanoseconds, order):
    data = pcap([(seconds, part, b"abc")] * 2, order=order, nanoseconds=nanoseconds, link=113)
    reader, columns, whole, fault = read(data)
    assert (whole, fault, len(reader.interfaces), reader.interfaces[0][0]) == (len(data), 0, 1, 113)
    scale = 1 if nanoseconds else 1000
    assert columns["ns"].tolist() == [seconds * 10**9 + part * scale] * 2
    assert columns["cut_off_ns"].tolist() == [scale - 1] * 2
    assert columns["start"].tolist() == [24, 24 + 16 + 3]


C = Capture()
HEAD = C.section() + C.interface()
GOOD = HEAD + C.packet(5)


def block(kind, length, body=b"", trailer=None):
    return struct.pack("<II", kind, length) + body + struct.pack("<I", trailer or length)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (GOOD + block(6, 13, b"x"), 2),
        (GOOD + block(6, 8), 2),
        (GOOD + block(99, 12, trailer=16), 2),
        (GOOD + C.block(1, b"link"), 2),
        (GOOD + C.block(6, b"short"), 2),
        (GOOD + C.block(5, b"short"), 2),
        (GOOD + C.block(0x0A0D0D0A, struct.pack("<I", 0x1A2B3C4D)), 2),
        (GOOD + block(6, 1 << 21), 3),
        (GOOD + b"\n\r\r\n" + bytes(20), 4),
        (GOOD + C.packet(5, on=1), 5),
        (GOOD + C.old_packet(5, on=1), 5),
        (GOOD + C.statistics(on=1), 5),
        (GOOD + C.section() + C.packet(5), 5),
        (GOOD + C.block(6, struct.pack("<IIIII", 0, 0, 0, 9, 9) + b"12345678"), 6),
        (GOOD + C.block(6, struct.pack("<IIIII", 0, 0, 0, 2**32 - 1, 9) + b"12345678"), 6),
        (GOOD + b"".join([C.interface()] * 3), 7),
        (GOOD + C.block(1, bytes(8) + struct.pack("<HH", 2, 9) + b"name"), 8),
        (GOOD + C.block(1, bytes(8) + C.options([(9, b"12")])), 8),
        (GOOD + C.block(1, bytes(8) + C.options([(14, b"12")])), 8),
        (GOOD + C.block(5, bytes(12) + C.options([(5, b"12")])), 8),
        (GOOD + C.block(5, bytes(12) + struct.pack("<HH", 2, 9)), 8),
        (GOOD + C.block(6, bytes(20) + struct.pack("<HH", COMMENT, 9)), 8),
        (GOOD + C.block(6, bytes(20) + C.options([(4, b"1234")])), 8),
        (GOOD + C.block(0x0A0D0D0A, C.pack("IHHq", 0x1A2B3C4D, 2, 0, -1)), 9),
    ],
)
def test_what_is_no_block_is_told_after_the_packets_before_it(data, fault):
    reader, columns, whole, found = read(data, most=3)
    last = len(GOOD) if fault != 7 else len(GOOD) + 2 * len(C.interface())
    if data[len(GOOD) :].startswith(C.section()) and fault == 5:
        last += len(C.section())
    assert (found, whole) == (fault, last)
    assert (len(columns["start"]), reader.n_packets) == (1, 1)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (C.packet(1), 4),
        (b"x" * 12, 4),
        (pcap([], order="<")[:20], 1),
        (b"abc", 1),
        (pcap([])[:4] + b"\3" + pcap([])[5:], 9),
        (pcap([], magic=0xA1B2CD34), 10),
        (pcap([], magic=0xA1B2CD34, order=">"), 10),
        (pcap([(1, 1, b"abc")])[:-1], 1),
        (pcap([(1, 1, b"abc")])[:30], 1),
        (pcap([]) + struct.pack("<IIII", 1, 1, LONGEST + 1, 1), 3),
    ],
)
def test_what_does_not_begin_as_a_capture_is_told(data, fault):
    _, columns, _, found = read(data)
    assert (found, len(columns["start"])) == (fault, 0)


def test_the_last_statistics_of_an_interface_count():
    data = HEAD + C.interface() + C.statistics() + C.packet(1) + C.statistics(dropped=3)
    data += C.statistics(dropped=4, by_system=1) + C.statistics(on=1, by_system=2)
    reader, *_ = read(data)
    assert (reader.dropped, reader.first_drop) == (7, 1)
    assert read(HEAD)[0].first_drop == -1


@pytest.mark.parametrize("c", [Capture("<"), Capture(">")])
def test_what_packets_say_was_dropped_before_them_adds_up(c):
    head = c.section() + c.interface() + c.interface() + c.packet(1)
    lost = c.packet(2, dropped=3) + c.packet(3, dropped=0) + c.packet(4, dropped=4)
    old = c.old_packet(5, on=1, dropped=5) + c.old_packet(6, on=1, dropped=UNKNOWN)
    reader, *_ = read(head + lost + old)
    assert (reader.dropped, reader.first_drop) == (12, 1)
    assert read(head + old)[0].first_drop == 1
    # The larger count of an interface stands: statistics count the same packets.
    assert read(head + lost + old + c.statistics(dropped=6))[0].dropped == 12
    assert read(head + lost + old + c.statistics(dropped=8) * 2)[0].dropped == 13
    most = c.packet(7, dropped=2**64 - 1)
    assert read(head + most * 3)[0].dropped == INT64_MAX
    unknown = c.old_packet(1, dropped=UNKNOWN)
    assert (read(head + unknown)[0].dropped, read(head + unknown)[0].first_drop) == (0, -1)
    # A packet whose options are damaged is none, and says nothing.
    damaged = c.block(6, bytes(20) + c.options([(4, c.pack("Q", 1))])[:-4] + c.pack("HH", 1, 9))
    assert read(head + damaged)[0].dropped == 0


def test_places_outside_the_data_are_refused():
    _, columns, *_ = read(GOOD)
    for start, end in ((0, len(GOOD) + 1), (5, 4), (-2, 4)):
        outside = columns | {"comment": np.array([start]), "comment_end": np.array([end])}
        with pytest.raises(IndexError):
            write_args(GOOD, outside)
