"""The reader against the twin: two readings of the same rules, on traces full of trouble.

The twin keeps everything in memory and calls Python for each step; the reader has kernels, windows
and two passes. They must agree on every field of every row, and on which traces are errors.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from corpus import OWN
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from random_traces import nasty_trace, traces
from reading import read_partial
from simulated import recorded_trace
from twin import Row, TwinError
from twin.container import Tokenizer, open_container
from twin.reader import Importer
from twin.wire import BYTES, FIXED32, FIXED64, VARINT, Message

from tracetime.formats.perfetto.read import reader, wire

# To Perfetto, as to the twin, the end of the file is the end of the trace; also where a field
# claims to be longer than any file.
PASSED_OVER = ("the trace is cut off", "the file is empty", "the header of a field")


class FileOrder(Importer):
    """What was put aside, and what is read after sorting, in the order of the packets.

    So the reader places them; Perfetto places all that was put aside first. It matters where a
    packet put aside brings a snapshot of its own (an ftrace bundle with a timestamp), or where a
    machine asks for its first conversion after sorting: in no trace but such as these.
    """

    def finish(self) -> None:
        waiting: list[tuple[int, Callable[[], object]]] = list(self.shared.later)
        self.shared.later.clear()
        for one in (self.host, *self.remotes.values()):
            one.at_end = True
            waiting += [(p.index, lambda p=p, one=one: one.timestamped(p)) for p in one.deferred]
        for _, place in sorted(waiting, key=lambda item: item[0]):
            place()
            for _, convert in self.shared.later:
                convert()
            self.shared.later.clear()


def by_name(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[:3])


def check(data: bytes) -> None:
    """Compare the two, what came before an error included."""
    rows, error = read_partial(data)
    assert [row.packet for row in rows] == sorted(row.packet for row in rows), "file order"
    try:
        expected = Importer().run(data)
    except TwinError as twin_error:
        assert error is not None, f"only the twin fails: {twin_error}"
        return
    assert error is None or error.message.startswith(PASSED_OVER)
    if by_name(rows) != by_name(expected):
        assert by_name(rows) == by_name(FileOrder().run(data))


seeds = st.integers(0, 2**64).map(Random)


@settings(max_examples=200)
@given(traces())
def test_any_trace(data):
    check(data)


@settings(max_examples=100)
@given(
    seeds.map(nasty_trace), st.sampled_from([1, 7, 64, 100, 1000]), st.sampled_from([1, 5, 1000])
)
def test_any_trace_through_small_windows_and_batches(data, window, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "WINDOW", window)
        patch.setattr(reader, "BATCH_ROWS", batch)
        check(data)


@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_the_same_traces_every_time(start):
    for seed in range(start, start + 100):
        check(nasty_trace(Random(seed)))


# Damaged traces


WIRES = {
    FieldDescriptor.TYPE_DOUBLE: FIXED64,
    FieldDescriptor.TYPE_FIXED64: FIXED64,
    FieldDescriptor.TYPE_SFIXED64: FIXED64,
    FieldDescriptor.TYPE_FLOAT: FIXED32,
    FieldDescriptor.TYPE_FIXED32: FIXED32,
    FieldDescriptor.TYPE_SFIXED32: FIXED32,
    FieldDescriptor.TYPE_STRING: BYTES,
    FieldDescriptor.TYPE_BYTES: BYTES,
    FieldDescriptor.TYPE_MESSAGE: BYTES,
}


@pytest.mark.parametrize("seed", range(5))
def test_recordings(seed):
    """The floor policy on what tracetime records; the twin does not know of its extension."""
    check(recorded_trace(seed))


def is_well_typed(message: Message, descriptor: Descriptor) -> bool:
    """Whether every field has the wire type of the schema, at every depth.

    What a field of another type means is nobody's rule: protozero hands out its raw value.
    """
    if not message.complete:
        return False
    for number, wire_type, value in message.fields:
        field = descriptor.fields_by_number.get(number)
        if field is None:
            continue
        packed = field.has_options and field.GetOptions().packed
        if wire_type != (BYTES if packed else WIRES.get(field.type, VARINT)):
            return False
        if field.message_type is not None and isinstance(value, bytes):
            if not is_well_typed(Message(value), field.message_type):
                return False
    return True


def has_a_meaning(data: bytes) -> bool:
    """Whether the schema says what every packet means, those in compressed ones included."""
    try:
        packets = list(Tokenizer().tokens(open_container(data)[0]))
    except TwinError:
        return False
    return all(p is None or is_well_typed(p, pb.TracePacket.DESCRIPTOR) for p in packets)


def mutated(data: bytes, rng: Random) -> bytes:
    """A few bytes changed, taken out, put in or repeated."""
    out = bytearray(data or b"\n")
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(out))
        match rng.randrange(6):
            case 0 | 1:
                out[at] ^= 1 << rng.randrange(8)
            case 2:
                out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 3:
                del out[at : at + rng.randint(1, 4)]
            case 4:
                out[at:at] = rng.randbytes(rng.randint(1, 4))
            case 5:
                end = at + rng.randint(1, 30)
                out[at:at] = out[at:end]
        if not out:
            return b"\n"
    return bytes(out)


def check_damaged(data: bytes) -> None:
    """No crash, whole rows; and the twin's where the schema says what the bytes mean."""
    rows, error = read_partial(data)
    for row in rows:
        assert (row.trace_time is not None) == (row.status in ("resolved", "as_is"))
    if has_a_meaning(data):
        check(data)


@settings(max_examples=800)
@given(seeds)
def test_a_damaged_trace(rng):
    check_damaged(mutated(nasty_trace(rng), rng))


@settings(max_examples=80)
@given(seeds)
def test_where_windows_end_in_a_damaged_trace(rng):
    damaged = mutated(nasty_trace(rng), rng)
    whole = read_partial(damaged)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "WINDOW", rng.choice((1, 33, 64)))
        rows, error = read_partial(damaged)
    assert rows == whole.rows
    assert str(error) == str(whole.error)


@pytest.mark.parametrize("name", ["random_0100", "random_0137"])
def test_a_trace_of_the_corpus_damaged(name):
    data = (OWN / "traces" / f"{name}.pftrace").read_bytes()
    for seed in range(60):
        check_damaged(mutated(data, Random(seed)))
