from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.text cimport Bytes

cdef class PacketBuffer:
    cdef uint8_t *data
    cdef int64_t n, capacity, event_limit, wake_at
    cdef readonly int64_t size_limit
    cdef readonly int64_t total         # bytes ever put in
    cdef readonly int64_t dropped       # events
    cdef readonly int64_t in_flight     # bytes taken, but not yet written
    cdef int64_t taken                  # bytes ever taken
    cdef int64_t kept                   # for what is sure to follow
    cdef bint woken, closed, abandoned

    cdef uint8_t *reserve(self, int64_t size) except NULL
    cdef bint refuses(self, int64_t size) noexcept
    cdef bint added(self, int64_t size) noexcept


cdef class Sequence:
    cdef PacketBuffer buffer
    cdef readonly uint32_t id
    cdef readonly uint32_t machine      # its machine_id; 0: the host
    cdef readonly uint32_t clock        # default of its timestamps; 0: each packet says
    # Interned since the state was cleared, by their numbers.
    cdef dict names
    cdef dict categories
    cdef dict arguments                 # names of arguments
    cdef dict strings                   # values of arguments
    cdef int64_t interned, interned_bytes
    cdef bint begun, valid, gap

    cdef int forget(self) except -1
    cdef int prepare(self) except -1
    cdef uint64_t intern(self, dict table, uint32_t field, str text, Bytes *data) except 0
    cdef int lose(self) except -1


cdef bint are_plain(values) noexcept
cdef bint is_text(value) noexcept
cdef bint is_unsigned(value) noexcept
cdef int put_annotations(
    Bytes *out, Bytes *data, Sequence sequence, uint32_t field, dict values
) except -1


cdef class EventClock:
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

    cdef int64_t near(self, uint64_t raw, int64_t expected) noexcept
    cdef int64_t ns_of(self, int64_t ticks) except? -1
    cdef int check(self, uint64_t raw) except -1
    cpdef int64_t convert(self, raw) except? -1
    cdef int interval(self, raw, duration, int64_t *begin_ns, int64_t *end_ns) except -1
    cdef int64_t now(self) except? -1


cdef enum Kind:
    SLICE_BEGIN = 1
    SLICE_END = 2
    INSTANT = 3
    COUNTER = 4

cdef enum:
    WRITTEN = 1
    FULL = 3        # WRITTEN, and more
    # For the end of a slice, and a packet that starts its sequence anew.
    END_ROOM = 96
    # Room is kept for the ends of so many slices that `begin` began on a track.
    DEEPEST_KEPT = 64

cdef struct Value:
    # A counter's: `real` where it is one, else `count`.
    int64_t count
    double real
    bint is_real


cdef class Track:
    cdef readonly uint64_t uuid
    cdef readonly str name
    cdef readonly bint is_counter
    cdef readonly object writer
    # Slices that are begun and not ended; the bits of those whose beginnings were dropped, from the
    # outermost on.
    cdef int64_t depth
    cdef uint64_t dropped


cdef class EventWriter:
    cdef PacketBuffer buffer
    cdef dict clocks
    cdef object resolve, plain, refusal, writer, forked
    # Of the packet under construction: entries of interned data, and the event's details.
    cdef Bytes data, details

    cdef EventWriter part       # a forked child's

    cdef EventWriter childs(self)
    cdef EventClock clock_of(self, clock)
    cdef bint span(
        self, name, start, duration, clock, Track track, tuple details
    ) except *
    cdef bint slice(
        self, name, start, duration, clock, Track track, tuple details
    ) except *
    cdef bint event(
        self, int kind, name, timestamp, clock, Track track, value, tuple details
    ) except *
    # wide: what an event can have
    cdef int write(
        self, int kind, name, timestamp, clock, Track track, value, tuple details, int64_t kept
    ) except -1
    # wide: what an event can have
    cdef int single(
        self, int kind, name, timestamp, clock, Track track, value, tuple details, int64_t kept
    ) except -1
    cdef EventWriter process(self)
    cdef tuple checked(self, int kind, name, Track track, tuple details)
    # wide: all of one packet
    cdef int put(
        self, int kind, name, int64_t ns, EventClock source, Track track, Value *value,
        tuple details, int64_t kept,
    ) except -1
    cdef int put_details(self, Sequence sequence, tuple details) except -1
    cdef int put_category(self, Sequence sequence, str category) except -1
    cdef int put_flows(self, uint32_t number, flows) except -1
    cdef wrong_track(self, Track track, int kind)
