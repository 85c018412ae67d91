# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Track events to bytes: more than a million a second, without an object for any.

Whole packets are put into a buffer that another thread empties into a file
(formats/perfetto/write/writer.py). Every method runs from its start to its end under the GIL and
calls no Python code in between, so that threads may share one writer without a lock, and a packet
is never incomplete.
"""

from cpython.bool cimport PyBool_Check
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.long cimport PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove

from tracetime._kernels.common.encode cimport (
    WIRE_BYTES, put_double, put_number, put_tag, put_varint, size_of_varint,
)
from tracetime._kernels.perfetto.fields cimport *
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.perfetto.packets import state_packet

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

cdef extern from "<time.h>" nogil:
    struct timespec:
        int64_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec *out)

cdef extern from *:
    """
    #include <stdint.h>
    /* floor(ticks * num / den); 1 where that is below 0 or above INT64_MAX. */
    static int tt_scale(int64_t ticks, int64_t num, int64_t den, int64_t *out) {
        __int128 product = (__int128)ticks * num;
        if (product < 0 || product / den > INT64_MAX) return 1;
        *out = (int64_t)(product / den);
        return 0;
    }
    """
    bint scale_overflows "tt_scale"(int64_t ticks, int64_t num, int64_t den, int64_t *out) nogil

cdef enum:
    FLAG_INCREMENTAL_STATE_CLEARED = 1
    FLAG_NEEDS_INCREMENTAL_STATE = 2
    SLICE_BEGIN = 1
    SLICE_END = 2
    INSTANT = 3
    COUNTER = 4
    # Room for an event but its name: packet header, timestamp, clock, sequence, flags, interned
    # name's headers, and the track event with a counter's value.
    ROOM = 160
    MOST_NAMES = 1 << 16        # to a sequence, until its names are forgotten
    MOST_NAME_BYTES = 1 << 22
    LONGEST_NAME = 1 << 16
    SMALLEST_BUFFER = 1 << 16
    NO_POSIX_CLOCK = -1


CLOSED = "the recording is closed: nothing can be added to it"


class TimestampError(ValueError):
    """What is wrong with what a caller gave; the facade makes a UsageError of it."""


cdef class PacketBuffer:
    """Whole packets on their way to the file.

    event_limit: bytes that may wait; an event beyond that is dropped.
    size_limit: bytes that may be put in over the buffer's life with events; 0 for no such limit.
    wake_at: bytes waiting at which a call says, once, that the buffer is to be emptied.
    """

    cdef uint8_t *data
    cdef int64_t n, capacity, event_limit, wake_at
    cdef readonly int64_t size_limit
    cdef readonly int64_t total         # bytes ever put in
    cdef readonly int64_t dropped       # events
    cdef readonly int64_t in_flight     # bytes taken, but not yet written
    cdef int64_t taken                  # bytes ever taken
    cdef bint woken, closed, abandoned

    def __cinit__(self, int64_t event_limit, int64_t size_limit, int64_t wake_at):
        self.event_limit = event_limit
        self.size_limit = size_limit
        self.wake_at = wake_at

    def __dealloc__(self):
        free(self.data)

    def __len__(self):
        return self.n

    cdef uint8_t *reserve(self, int64_t size) except NULL:
        if self.n + size > self.capacity:
            grow(<void **>&self.data, &self.capacity, max(self.n + size, SMALLEST_BUFFER), 1)
        return self.data + self.n

    cdef bint refuses(self, int64_t size) noexcept:
        """Whether an event of that size is one too many."""
        return self.abandoned or self.n + self.in_flight + size > self.event_limit or (
            self.size_limit > 0 and self.total + size > self.size_limit
        )

    cdef bint added(self, int64_t size) noexcept:
        """Count what was put at the end; whether it is time to empty the buffer."""
        self.n += size
        self.total += size
        if self.n >= self.wake_at and not self.woken:
            self.woken = True
            return True
        return False

    def put(self, bytes packet not None, bint empties=True):
        """Add a packet that is never dropped; whether it is time to empty the buffer.

        empties: whether the caller acts on that; if not, the next call says so again.
        """
        cdef int64_t size = len(packet)
        cdef bint full
        if self.closed:
            raise TimestampError(CLOSED)
        if self.abandoned:
            return False
        memcpy(self.reserve(size), <const char *>packet, <size_t>size)
        full = self.added(size)
        if full and not empties:
            self.woken = False
        return full

    def has_room(self, int64_t size):
        """Whether `size_limit` leaves room for so many bytes; if not, no event fits from now on."""
        if self.closed or self.size_limit == 0 or self.total + size <= self.size_limit:
            return True
        self.size_limit = max(1, min(self.size_limit, self.total))
        return False

    def close(self):
        """Take no more."""
        self.closed = True

    def abandon(self):
        """Drop all packets, now and later: nothing empties this copy."""
        self.abandoned = True
        self.n = 0
        free(self.data)
        self.data = NULL
        self.capacity = 0

    def take(self):
        """All that waits, as bytes; it counts as in flight until `written`."""
        cdef bytes taken = PyBytes_FromStringAndSize(<const char *>self.data, self.n)
        self.taken += self.n
        self.in_flight += self.n
        self.n = 0
        self.woken = False
        if self.capacity > 4 * self.wake_at:
            # Memory for a burst is freed.
            free(self.data)
            self.data = NULL
            self.capacity = 0
        return taken

    def written(self, int64_t total):
        """So many of all the bytes ever taken are in the file."""
        self.in_flight = self.taken - total
        # Who was to empty it meanwhile may have found another thread doing so.
        self.woken = False

    def lose(self, int64_t events):
        """Count as dropped events that were put in and reach no file."""
        self.dropped += events


cdef class Track:
    """Where events go: a process, a thread, a track of its own, or a counter.

    Attributes:
        uuid: as in the trace.
        name: what it was made with, if anything.
        is_counter: whether it takes values, and nothing else.
    """

    cdef readonly uint64_t uuid
    cdef readonly str name
    cdef readonly bint is_counter
    cdef readonly object writer

    def __init__(self, writer, uint64_t uuid, name, bint is_counter):
        self.writer = writer
        self.uuid = uuid
        self.name = name
        self.is_counter = is_counter

    def __repr__(self):
        return f"<Track {self.uuid}: {self.name}>"


cdef class Sequence:
    """A packet sequence: the names it has interned, and whether what went before was lost."""

    cdef PacketBuffer buffer
    cdef readonly uint32_t id
    cdef readonly uint32_t clock        # default of its timestamps; 0: each packet says
    cdef dict names
    cdef int64_t name_bytes
    cdef bint begun, valid, gap

    def __init__(self, PacketBuffer buffer not None, uint32_t id, uint32_t clock):
        self.buffer = buffer
        self.id = id
        self.clock = clock
        self.names = {}

    def begin(self):
        """Start the incremental state: the sequence's first packet, or after a gap."""
        cdef bytes packet = state_packet(
            self.id, FLAG_INCREMENTAL_STATE_CLEARED, not self.begun, self.gap, self.clock
        )
        self.names = {}
        self.name_bytes = 0
        self.buffer.put(packet, False)
        self.begun = True
        self.valid = True
        self.gap = False

    cdef int lose(self) except -1:
        self.buffer.dropped += 1
        self.gap = True
        self.valid = False
        return 0


cdef class EventClock:
    """A clock that events can be in: its sequence, and how its raw ticks become what is written.

    clock: the id written; explicit: whether every packet names it.
    posix: number for clock_gettime, -1 for a clock that cannot be read here.
    rate: ns_per_tick as (numerator, denominator), and valid_bits: a clock of (1, 1) and 64 bits is
    written as it is; any other unwrapped, and in ns, rounded down.
    """

    cdef readonly Sequence sequence
    cdef readonly uint32_t clock
    cdef readonly object name
    cdef bint explicit
    cdef int posix
    cdef readonly bint scaled
    cdef int64_t numerator, denominator
    cdef readonly int bits
    cdef readonly int64_t last_ticks    # of the last snapshot, unwrapped
    cdef bint seen

    def __init__(
        self, Sequence sequence not None, uint32_t clock, name, bint explicit, int posix,
        tuple rate, int bits,
    ):
        self.sequence = sequence
        self.clock = clock
        self.name = name
        self.explicit = explicit
        self.posix = posix
        self.numerator, self.denominator = rate
        self.bits = bits
        self.scaled = bits != 64 or self.numerator != 1 or self.denominator != 1

    cdef int64_t near(self, uint64_t raw, int64_t expected) noexcept:
        """The unwrapped count that ends in the bits of `raw` and is nearest to `expected`."""
        cdef int shift = 64 - self.bits
        # The difference in the clock's own bits, signed: shifted up, and down again.
        cdef int64_t off = <int64_t>((raw - <uint64_t>expected) << shift) >> shift
        return <int64_t>(<uint64_t>expected + <uint64_t>off)

    cdef int64_t ns_of(self, int64_t ticks) except? -1:
        cdef int64_t ns = 0
        if scale_overflows(ticks, self.numerator, self.denominator, &ns):
            raise TimestampError(
                f"{ticks} ticks of {self.name} are no nanoseconds between 0 and 2^63"
            )
        return ns

    cdef int check(self, uint64_t raw) except -1:
        if self.bits < 64 and raw >> self.bits:
            raise TimestampError(f"{raw} has more than the {self.bits} bits of {self.name}")
        return 0

    def read(self, raw, int64_t elapsed_ns):
        """Take a snapshot's reading, in ticks; returns what to write, ns.

        elapsed_ns: since the last one, by another clock: shows how often it may have wrapped.
        """
        cdef uint64_t value = raw
        cdef int64_t ticks, passed = 0
        self.check(value)
        if not self.seen:
            if value >> 63:
                raise TimestampError(f"{value} ticks of {self.name} do not fit in int64")
            ticks = <int64_t>value
        else:
            scale_overflows(elapsed_ns, self.denominator, self.numerator, &passed)
            ticks = self.near(value, self.last_ticks + passed)
        cdef int64_t ns = self.ns_of(ticks)
        self.last_ticks = ticks
        self.seen = True
        return ns

    def follow(self, raw, int64_t ticks):
        """Take a snapshot's reading that the caller has unwrapped."""
        cdef uint64_t value = raw
        self.check(value)
        self.last_ticks = ticks
        self.seen = True

    cpdef int64_t convert(self, raw) except? -1:
        """An event's reading, in ticks, as what is written: nearest to the last snapshot's."""
        cdef uint64_t value = raw
        self.check(value)
        if not self.seen:
            raise TimestampError(f"no snapshot has {self.name} yet: take one first")
        return self.ns_of(self.near(value, self.last_ticks))

    cdef int64_t now(self) except? -1:
        cdef timespec t
        if self.posix == NO_POSIX_CLOCK or clock_gettime(self.posix, &t):
            raise TimestampError(f"{self.name} cannot be read here: give the timestamp")
        return t.tv_sec * 1000000000 + t.tv_nsec


cdef class EventWriter:
    """Puts events into the buffer.

    resolve: called with a clock that is not known yet, as the caller named it; returns its
    EventClock, which is kept, or raises.
    """

    cdef PacketBuffer buffer
    cdef dict clocks
    cdef object resolve, writer

    def __init__(self, PacketBuffer buffer not None, resolve, writer):
        self.buffer = buffer
        self.clocks = {}
        self.resolve = resolve
        self.writer = writer

    cdef EventClock clock_of(self, clock):
        cdef object found
        try:
            found = self.clocks.get(clock)
        except TypeError:
            found = None
        if found is None:
            found = self.resolve(clock)
            self.clocks[clock] = found
        return <EventClock>found

    def instant(self, name, timestamp, clock, Track track not None):
        """Write an instant; whether it is time to empty the buffer, as for all below."""
        return self.event(INSTANT, name, timestamp, clock, track, None)

    def begin(self, name, timestamp, clock, Track track not None):
        """Write the beginning of a slice."""
        return self.event(SLICE_BEGIN, name, timestamp, clock, track, None)

    def end(self, timestamp, clock, Track track not None):
        """Write the end of the slice that began last on the track."""
        return self.event(SLICE_END, None, timestamp, clock, track, None)

    def counter(self, value, timestamp, clock, Track track not None):
        """Write a counter's value, an int in int64 or a float."""
        return self.event(COUNTER, None, timestamp, clock, track, value)

    # long: all that may raise comes first; nothing may interrupt the bytes
    cdef bint event(
        self, int kind, name, timestamp, clock, Track track, value
    ) except *:
        cdef EventClock source = self.clock_of(clock)
        cdef Sequence sequence = source.sequence
        cdef int64_t ns
        cdef const char *text = NULL
        cdef Py_ssize_t text_size = 0
        cdef int64_t counted = 0
        cdef double real = 0
        cdef bint is_real = False, unknown = False
        cdef uint64_t iid = 0
        cdef object found
        # Whatever may run Python's code or raise comes first: from here to the end of the packet
        # nothing else can happen.
        if track.writer is not self.writer or track.is_counter != (kind == COUNTER):
            raise TimestampError(self.refusal(track, kind))
        if timestamp is None:
            ns = source.now()
        elif source.scaled:
            ns = source.convert(whole(timestamp))
        else:
            ns = whole(timestamp)
            if ns < 0:
                raise TimestampError(f"a timestamp is not below 0: {ns}")
        if kind == COUNTER:
            is_real = not PyIndex_Check(value)
            try:
                if is_real:
                    real = value
                else:
                    counted = PyNumber_Index(value)
            except (TypeError, ValueError, OverflowError):
                raise TimestampError(
                    f"a counter takes an int within int64 or a float, not {value!r}"
                ) from None
        elif kind != SLICE_END:
            if not PyUnicode_CheckExact(name):
                raise TimestampError(f"an event's name is a string, not {name!r}")
            text = PyUnicode_AsUTF8AndSize(name, &text_size)
            if text_size > LONGEST_NAME:
                raise TimestampError(
                    f"an event's name has {LONGEST_NAME} bytes at most, not {text_size}"
                )
        if self.buffer.closed:
            raise TimestampError(CLOSED)
        if self.buffer.refuses(ROOM + text_size):
            sequence.lose()
            return False
        if not sequence.valid or (
            len(sequence.names) >= MOST_NAMES or sequence.name_bytes > MOST_NAME_BYTES
        ):
            sequence.begin()
        # The packet's length comes before it: one byte's room, more is made where it takes more.
        cdef uint8_t *start = self.buffer.reserve(ROOM + text_size)
        cdef uint8_t *body = start + 2
        if text != NULL:
            found = sequence.names.get(name)
            if found is None:
                iid = <uint64_t>len(sequence.names) + 1
                sequence.names[name] = iid
                sequence.name_bytes += text_size
                unknown = True
            else:
                iid = found

        cdef uint8_t inner[64]
        cdef uint8_t *p = put_number(inner, TRACK_EVENT_TYPE, <uint64_t>kind)
        p = put_number(p, TRACK_EVENT_TRACK_UUID, track.uuid)
        if iid:
            p = put_number(p, TRACK_EVENT_NAME_IID, iid)
        if is_real:
            p = put_double(p, TRACK_EVENT_DOUBLE_COUNTER_VALUE, real)
        elif kind == COUNTER:
            p = put_number(p, TRACK_EVENT_COUNTER_VALUE, <uint64_t>counted)
        cdef int64_t inner_size = p - inner

        p = put_number(body, PACKET_TIMESTAMP, <uint64_t>ns)
        p = put_number(p, PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence.id)
        p = put_number(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_INCREMENTAL_STATE)
        if source.explicit:
            p = put_number(p, PACKET_TIMESTAMP_CLOCK_ID, source.clock)
        if unknown:
            p = put_name(p, iid, text, text_size)
        p = put_varint(put_tag(p, PACKET_TRACK_EVENT, WIRE_BYTES), <uint64_t>inner_size)
        memcpy(p, inner, <size_t>inner_size)
        p += inner_size
        cdef int64_t size = p - body
        cdef int header = size_of_varint(<uint64_t>size)
        if header > 1:
            memmove(start + 1 + header, body, <size_t>size)
        put_varint(put_tag(start, TRACE_PACKET, WIRE_BYTES), <uint64_t>size)
        return self.buffer.added(1 + header + size)

    def refusal(self, Track track, int kind):
        """Why a track does not take an event."""
        if track.writer is not self.writer:
            return f"{track!r} is another recording's: make tracks with the one they are used in"
        if track.is_counter:
            return f"{track!r} is a counter: it takes counter() alone"
        return f"{track!r} is no counter: make one with counter_track()"


cdef inline object whole(timestamp):
    """A timestamp as an int: left to itself, Cython would cut a float's fraction off."""
    if PyLong_CheckExact(timestamp):
        return timestamp
    if PyBool_Check(timestamp):
        raise TimestampError(f"a timestamp is a whole number, not {timestamp}")
    return PyNumber_Index(timestamp)


cdef inline uint8_t *put_name(
    uint8_t *p, uint64_t iid, const char *text, Py_ssize_t size
) noexcept:
    """interned_data with one event name."""
    cdef uint64_t name_size = <uint64_t>(1 + size_of_varint(iid) + 1 + size_of_varint(size) + size)
    cdef uint64_t data_size = 1 + size_of_varint(name_size) + name_size
    p = put_varint(put_tag(p, PACKET_INTERNED_DATA, WIRE_BYTES), data_size)
    p = put_varint(put_tag(p, INTERNED_DATA_EVENT_NAMES, WIRE_BYTES), name_size)
    p = put_number(p, INTERNED_STRING_IID, iid)
    p = put_varint(put_tag(p, INTERNED_STRING_STR, WIRE_BYTES), <uint64_t>size)
    memcpy(p, text, <size_t>size)
    return p + size
