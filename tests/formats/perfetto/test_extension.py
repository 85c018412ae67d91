"""The extension of recorded snapshots: written as documented, read back, and never trusted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    event,
    packet,
    snapshot,
    trace,
    varint,
)
from hypothesis import given
from hypothesis import strategies as st
from reading import opened, rows_of
from recorded import EXTENSION, EXTENSION_FIELD, extensions_of, packets_of, split
from seeds import seeds

from tracetime import ClockDomain, ClockId, Snapshot
from tracetime.clocks.kernel_clock import MOST_WALL_BOUND_NS, TIME_SERVICES, KernelClock, WallBound
from tracetime.clocks.snapshot import MOST_SCALED_PPM
from tracetime.formats.perfetto.extension import (
    Extension,
    as_written,
    decode,
    decode_domain,
    encode,
    encode_domain,
)
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.graph.tube.evidence import NOT_RECORDED

INT64 = st.integers(-(2**63), 2**63 - 1)
BOUND = st.integers(-MOST_WALL_BOUND_NS, MOST_WALL_BOUND_NS)


def bound_of(one, other, source):
    return WallBound(min(one, other), max(one, other), source)


KERNEL = KernelClock(-1_234_567, 10_001, -44, 16_000_000, 16_000_001, 0x40, 5, 37)


def with_extension(one: object, content: bytes) -> bytes:
    """A packet with an extension: any bytes that somebody put there."""
    made = one if isinstance(one, bytes) else one.SerializeToString()  # type: ignore[attr-defined]
    return made + varint(EXTENSION_FIELD << 3 | 2) + varint(len(content)) + content


def measured(reference: int, centres: list[int], halves: list[int]) -> bytes:
    return encode(Extension(reference, centres, halves, [], None, [], 0))


@given(
    st.none() | st.integers(0, 9),
    st.lists(INT64, max_size=9),
    st.lists(INT64, max_size=9),
    st.lists(INT64, max_size=9),
    st.none() | st.builds(KernelClock, *[INT64] * 8),
    st.integers(0, 2**64 - 1),
    st.none() | st.builds(bound_of, BOUND, BOUND, st.sampled_from([*TIME_SERVICES, "x"])),
)
def test_what_is_written_is_what_the_document_says(
    reference, centres, halves, raws, kernel, dropped, bound
):
    domain = encode_domain(ClockDomain("a.b", "a.b", ns_per_tick=Fraction(625, 12), valid_bits=36))
    extension = Extension(reference, centres, halves, raws, kernel, [domain], dropped, bound)
    data = encode(extension)
    message = EXTENSION["TracetimeSnapshot"].FromString(data)
    if reference is not None:
        assert message.reference == reference
        assert list(message.centre_ns) == centres
        assert list(message.half_width_ns) == halves
    assert list(message.raw_minus_reading) == (raws if any(raws) else [])
    assert message.HasField("kernel_clock") == (kernel is not None)
    if kernel is not None:
        assert KernelClock(*(getattr(message.kernel_clock, n) for n in kernel._fields)) == kernel
    assert message.events_dropped == dropped
    assert message.HasField("wall_bound") == (bound is not None)
    if bound is not None:
        its = message.wall_bound
        assert (its.earliest_ns, its.latest_ns) == bound[:2]
        assert its.source == (0 if bound.source == "x" else TIME_SERVICES.index(bound.source) + 1)
        if bound.source == "x":
            extension = extension._replace(wall_bound=bound._replace(source="another service"))
    (domain,) = message.domains
    assert (domain.name, domain.ns_per_tick_numerator, domain.ns_per_tick_denominator) == (
        "a.b",
        625,
        12,
    )
    if reference is None:
        extension = extension._replace(centre_ns=[], half_width_ns=[])
    if not any(raws):
        extension = extension._replace(raw_minus_reading=[])
    assert decode(data) == extension


DOMAINS = [
    ClockDomain("a.b", "a.b", 52.083, Fraction(625, 12), 36, 50.0, 0.5, "gpu 0", False),
    ClockDomain("MONOTONIC_RAW"),
    ClockDomain("REALTIME", oscillator="x", disciplined=True, max_drift_ppm=0, wander_ppm=0),
    ClockDomain(ClockId(64, 1), "αβγ", valid_bits=1, ns_per_tick=None),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_domains_come_back(domain):
    data = encode_domain(domain)
    assert decode_domain(data, domain.id) == domain
    message = EXTENSION["Domain"].FromString(data)
    assert message.clock_id == domain.id.clock
    assert message.name == (domain.name or "")
    assert (message.valid_bits, message.tick_ns) == (domain.valid_bits, domain.tick_ns)
    assert message.disciplined == domain.disciplined


def test_our_reader_takes_widths_centres_and_domains_from_the_trace(tmp_path: Path):
    path = tmp_path / "out.pftrace"
    writer = TraceWriter(path)
    gpu = ClockDomain("dev.gpu", "dev.gpu", 52.08, Fraction(625, 12), 36, 50, 0.25, "gpu")
    writer.declare(gpu)
    for n in range(130):
        writer.snapshot(
            Snapshot(
                {
                    "MONOTONIC_RAW": n * 10**9,
                    "BOOTTIME": 77 + n * 10**9,
                    "MONOTONIC_COARSE": n * 10**9,
                    "dev.gpu": 19_200_000 * n,
                },
                reference="MONOTONIC_RAW",
                half_width_ns={"BOOTTIME": 40 + n, "MONOTONIC_COARSE": 7_000, "dev.gpu": 900 - n},
                centre_ns={"BOOTTIME": 20 - n, "MONOTONIC_COARSE": 30 - n, "dev.gpu": -3 * n},
            ),
            kernel_clock=KERNEL,
            main=True,
        )
    # Without a reference nothing is measured.
    own = ClockId.parse("com.example.own")
    writer.snapshot(Snapshot({"BOOTTIME": 10**15, own: 3}), names={own: "com.example.own"})
    writer.close()
    data = path.read_bytes()
    with opened(data) as trace:
        graph = trace.clocks
        counts = np.arange(131)
        boot = graph._graph.state.measured.reads(ClockId(BOOTTIME), counts)
        # Fine clocks are taken back to when the reference was read: by a few ns, which adds 1.
        assert boot.half.tolist() == [40 + n + (n != 20) for n in range(130)] + [-1]
        assert boot.centre.tolist() == [0] * 131
        coarse = graph._graph.state.measured.reads(ClockId(4), counts)
        assert coarse.centre.tolist() == [30 - n for n in range(130)] + [0]
        raw = graph._graph.state.measured.reads(ClockId(MONOTONIC_RAW), counts)
        assert raw.half.tolist() == [0] * 130 + [-1]
        device = graph._graph.state.measured.reads(gpu.id, counts)
        assert device.half.tolist() == [900 - n + (n > 0) for n in range(130)] + [-1]
        assert trace.recorded_domains[gpu.id] == gpu
        assert graph.domain(gpu.id).oscillator == "gpu"
        assert graph.domain(gpu.id).wander_ppm == 0.25
        assert graph.domain("com.example.own").name == "com.example.own"
        steps = graph.explain(65 * 10**9, "MONOTONIC_RAW", "dev.gpu", policy="tube").steps
        assert "(measured)" in str(graph.explain(65 * 10**9, 5, "dev.gpu", policy="tube")), steps
    # The names come in the first snapshot, when there are new ones, and in every 60th.
    found = extensions_of(data)
    assert [i for i, one in enumerate(found) if one.domains] == [0, 60, 120, 130]
    assert all(one.kernel_clock.tai_s == 37 for one in found[:130])
    # The ticks that the device said can be had back from its ns.
    for n, (one, its) in enumerate(zip(packets_of(data)[1:131], found, strict=False)):
        ids = [clock.clock_id for clock in one.clock_snapshot.clocks]
        at = ids.index(gpu.id.clock)
        ns = one.clock_snapshot.clocks[at].timestamp
        raw_ticks = ns + (its.raw_minus_reading[at] if its.raw_minus_reading else 0)
        assert raw_ticks % (1 << 64) == 19_200_000 * n


@pytest.mark.parametrize("scaled", [0, 1, -1_234_567, MOST_SCALED_PPM, -MOST_SCALED_PPM])
def test_by_how_much_the_kernel_steered_its_clocks(scaled):
    content = encode(Extension(None, [], [], [], KERNEL._replace(frequency_scaled=scaled), [], 0))
    beyond = MOST_SCALED_PPM + 1 if scaled >= 0 else -MOST_SCALED_PPM - 1
    too_much = encode(Extension(None, [], [], [], KERNEL._replace(frequency_scaled=beyond), [], 0))
    data = trace(
        with_extension(snapshot({BOOTTIME: 1, MONOTONIC: 1}), content),
        with_extension(snapshot({BOOTTIME: 2, MONOTONIC: 2}), too_much),
    )
    with opened(data) as read:
        frequency = read.clocks._graph.state.measured.frequency(ClockId(MONOTONIC), np.arange(2))
        assert frequency.tolist() == [scaled, NOT_RECORDED]
        assert read.is_unsynchronised


def bounds_with(**fields):
    """What a reader takes of bounds of REALTIME with these fields, of a second snapshot."""
    good = encode(Extension(None, [], [], [], None, [], 0, WallBound(-5, 7, "chrony")))
    message = EXTENSION["TracetimeSnapshot"]()
    message.wall_bound.SetInParent()
    for name, value in fields.items():
        setattr(message.wall_bound, name, value)
    data = trace(
        with_extension(snapshot({BOOTTIME: 1, REALTIME: 1}), good),
        with_extension(snapshot({BOOTTIME: 2, REALTIME: 2}), message.SerializeToString()),
    )
    with opened(data) as read:
        assert read.wall_bounds()[:, 0].tolist() == [0, 0, -5, 7, 2]
        return read.wall_bounds()[:, 1:].T.tolist()


MOST = MOST_WALL_BOUND_NS


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"earliest_ns": -MOST, "latest_ns": MOST, "source": 1}, [1, 0, -MOST, MOST, 1]),
        ({"earliest_ns": 3, "latest_ns": 3}, [1, 0, 3, 3, 0]),
        ({"earliest_ns": 0, "latest_ns": 1, "source": 2**32 - 1}, [1, 0, 0, 1, 0]),
        ({"earliest_ns": -MOST - 1, "latest_ns": 0}, None),
        ({"earliest_ns": 0, "latest_ns": MOST + 1}, None),
        ({"earliest_ns": -(2**63), "latest_ns": 2**63 - 1}, None),
        ({"earliest_ns": 4, "latest_ns": 3}, None),
        ({"earliest_ns": 4}, None),
        ({"latest_ns": 4}, None),
        ({}, None),
    ],
)
def test_a_bound_of_the_wall_clock_that_makes_no_sense_is_passed_over(fields, kept):
    assert bounds_with(**fields) == ([] if kept is None else [kept])


def test_a_bound_of_no_use_is_not_written():
    bound = WallBound(-MOST - 1, 0, "chrony")
    assert decode(encode(Extension(None, [], [], [], None, [], 0, bound))).wall_bound is None


def test_the_callers_domains_go_before_the_traces(tmp_path: Path):
    writer = TraceWriter(tmp_path / "out.pftrace")
    writer.snapshot(Snapshot({"BOOTTIME": 1, "MONOTONIC": 1}))
    writer.close()
    mine = ClockDomain("MONOTONIC", max_drift_ppm=7)
    with opened((tmp_path / "out.pftrace").read_bytes(), domains=[mine]) as trace:
        assert trace.clocks.domain("MONOTONIC").max_drift_ppm == 7


def test_perfettos_classes_keep_what_they_do_not_know(tmp_path: Path):
    writer = TraceWriter(tmp_path / "out.pftrace")
    writer.snapshot(Snapshot({"BOOTTIME": 1, "MONOTONIC": 1}, reference="BOOTTIME"))
    writer.close()
    for one, parsed in zip(
        split((tmp_path / "out.pftrace").read_bytes()),
        packets_of((tmp_path / "out.pftrace").read_bytes()),
        strict=True,
    ):
        assert len(parsed.SerializeToString()) == len(one)


PLAIN = [
    snapshot({BOOTTIME: 1_000, MONOTONIC: 500}),
    event(600, MONOTONIC),
    snapshot({BOOTTIME: 3_000, MONOTONIC: 2_500}),
    event(2_600, MONOTONIC),
]


def halves_with(*contents: bytes) -> list[int]:
    """What the reader takes MONOTONIC's half-widths for, with extensions in the snapshots."""
    packets = list(PLAIN)
    packets[0] = with_extension(packets[0], contents[0])
    packets[2] = with_extension(packets[2], contents[-1])
    with opened(trace(*packets)) as read, opened(trace(*PLAIN)) as plain:
        assert rows_of(read.read_all()) == rows_of(plain.read_all())
        read.clocks.convert(1_000, MONOTONIC, BOOTTIME, policy="tube")
        return read.clocks._graph.state.measured.reads(
            ClockId(MONOTONIC), np.arange(2)
        ).half.tolist()


GOOD = measured(0, [0, -5], [0, 70])


@pytest.mark.parametrize(
    "content",
    [
        measured(2, [0, -5], [0, 70]),
        measured(2**64 - 1, [0, -5], [0, 70]),
        measured(0, [0], [0, 70]),
        measured(0, [0, -5, 1], [0, 70]),
        measured(0, [0, -5], [0]),
        measured(0, [0, -5], [0, 70, 1]),
        measured(0, [0, -5], [0, -2]),
        measured(0, [0, -5], [0, 2**50 + 1]),
        measured(0, [0, -(2**50) - 1], [0, 70]),
        measured(0, [-(2**63), 0], [2**63 - 1, 70]),
        GOOD[:-1],
        GOOD + b"\x07",
        GOOD + b"\xff\xff",
        b"\x08\x00",
        b"\x12\xff\xff\xff\xff\x0f",
        b"\x08\x00\x12\x02\xff\xff\x1a\x02\x00\x01",
        b"",
    ],
)
def test_an_extension_that_makes_no_sense_is_passed_over(content):
    assert halves_with(GOOD, GOOD) == [70, 70]
    assert halves_with(GOOD, content) == [70, -1]
    assert halves_with(content, content) == [-1, -1]


@given(
    st.binary(max_size=80) | st.builds(lambda b, i: GOOD[:i] + b, st.binary(), st.integers(0, 9))
)
def test_any_bytes_are_accepted(content):
    halves = halves_with(content)
    assert all(half >= -1 for half in halves)


@pytest.mark.parametrize("seed", seeds(100))
def test_a_damaged_extension_harms_no_snapshot(seed):
    """Every field there is, with bytes changed, cut out and put in."""
    random = Random(seed)
    whole = encode(
        Extension(
            0,
            [0, -5],
            [0, 70],
            [5, -9],
            KERNEL,
            [encode_domain(d) for d in DOMAINS],
            3,
            WallBound(-500, 70_000, "chrony"),
        )
    )
    content = bytearray(whole)
    for _ in range(random.randrange(1, 6)):
        at = random.randrange(len(content))
        match random.randrange(3):
            case 0:
                content[at] = random.randrange(256)
            case 1:
                del content[at : at + random.randrange(1, 9)]
            case _:
                content[at:at] = random.randbytes(random.randrange(1, 9))
    halves_with(bytes(content))
    decode(bytes(content))


def test_domains_that_no_clock_has_are_passed_over():
    """Bars are computed with these: a tick of 1e300 ns, a drift of 100 % are no clock's."""
    good = EXTENSION["Domain"](clock_id=BOOTTIME, valid_bits=64, tick_ns=10)
    clock = ClockId(BOOTTIME)
    assert decode_domain(good.SerializeToString(), clock) is not None
    for wrong in (
        {"tick_ns": 1e300},
        {"tick_ns": float("nan")},
        {"tick_ns": -1.0},
        {"valid_bits": 0},
        {"valid_bits": 65},
        {"max_drift_ppm": 50_000},
        {"wander_ppm": float("inf")},
        {"ns_per_tick_numerator": 0, "ns_per_tick_denominator": 1},
        {"ns_per_tick_numerator": 1, "ns_per_tick_denominator": 2**64 - 1},
    ):
        bad = EXTENSION["Domain"]()
        bad.CopyFrom(good)
        for name, value in wrong.items():
            setattr(bad, name, value)
        assert decode_domain(bad.SerializeToString(), clock) is None, wrong


def test_an_extension_without_a_snapshot_has_no_effect():
    one = with_extension(packet(5, MONOTONIC, 1), GOOD)
    with opened(trace(*PLAIN, one)) as read:
        rows = rows_of(read.read_all())
        assert rows[-1].status == "resolved"
        assert rows[-1].payload == ""
        assert read.recorded_domains == {}


def test_a_snapshot_that_is_not_taken_whole_measures_nothing():
    twice = with_extension(snapshot([(BOOTTIME, 5_000), (BOOTTIME, 5_000)]), GOOD)
    with opened(trace(*PLAIN, twice)) as read:
        assert read.n_warnings == 1
        assert (
            read.clocks._graph.state.measured.reads(ClockId(BOOTTIME), np.arange(3)).half.tolist()
            == [-1] * 3
        )


@pytest.mark.parametrize(
    ("limit", "most"), [("tick_ns", 1e12), ("max_drift_ppm", 10_000), ("wander_ppm", 1_000)]
)
def test_what_a_clock_may_be_said_to_do_has_a_limit(limit, most):
    """Up to the limit a file is believed, above it nothing is of what it says of that clock."""
    clock = ClockId(MONOTONIC_RAW)
    said = [ClockDomain(clock, **{limit: most * more}) for more in (1, 1.00001)]
    believed, refused = (decode_domain(encode_domain(domain), clock) for domain in said)
    assert getattr(believed, limit) == most
    assert refused is None


def test_half_widths_that_were_measured_hold_the_ticks():
    """They are not counted twice; where none was measured the tick is all there is."""
    domain = ClockDomain("a.b", ns_per_tick=Fraction(625, 12), valid_bits=36, tick_ns=52.0)
    assert [as_written(domain, measured=known).tick_ns for known in (True, False)] == [1, 52.0]
