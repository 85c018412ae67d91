from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.perfetto.event_clock cimport EventClock
from tracetime._kernels.perfetto.packet_buffer cimport PacketBuffer, Sequence

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
