# cython: boundscheck=True, wraparound=False
"""Parts of a recording, which other processes write: their packets, renumbered for the recording.

A part is given in pieces of its file, whole packets and a rest, so that it need not fit in memory.
The bytes are a file's, and hostile.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from tracetime._kernels.common.encode cimport WIRE_BYTES, put_number, put_tag, put_varint
from tracetime._kernels.common.text cimport Bytes, put_bytes
from tracetime._kernels.common.wire cimport (
    BYTES, VARINT, Field, Span, load_number, next_field, read_field, span_of,
)
from tracetime._kernels.perfetto.clock_ids cimport BOOTTIME
from tracetime._kernels.perfetto.extension cimport Extension, read_extension
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.writer cimport PacketBuffer

cdef enum:
    # Their numbers are of their packet sequence.
    FIRST_SCOPED = 64
    LAST_SCOPED = 127


cdef class Part:
    """The packets of one part: first all of them are scanned, and then they are put.

    Attributes:
        first: what is added to the number of each packet sequence.
        highest: the last of its packet sequences, as the recording has it.
        done: bytes that were put.
        snapshots: (reading of the trace clock at about that time, packet); to be put before the
            rest of any part.
        clocks: the numbers of those of the snapshots, but what is of a packet sequence.
        dropped: events that the process dropped, and `finish` has not counted yet.
    """

    cdef readonly uint32_t first, highest
    cdef readonly int64_t done
    cdef readonly list snapshots
    cdef readonly set clocks
    cdef readonly int64_t dropped
    cdef int64_t latest_ns
    cdef set sampled
    cdef Bytes out

    def __init__(self, uint32_t first, set sampled not None):
        """sampled: snapshots of these clocks alone are left out: the recording has its own."""
        self.first = self.highest = first
        self.sampled = sampled
        self.snapshots = []
        self.clocks = set()

    def __dealloc__(self):
        free(self.out.data)

    def scan(self, const uint8_t[::1] data not None):
        """Look at the next whole packets; returns how many bytes they are."""
        cdef Span rest, packet
        cdef int64_t size = whole(data, &rest)
        cdef bint found
        while next_packet(&rest, &packet):
            self.highest = max(
                self.highest, self.first + <uint32_t>load_number(
                    packet, PACKET_TRUSTED_PACKET_SEQUENCE_ID, &found
                )
            )
            self.scan_snapshot(packet)
        return size

    cdef int scan_snapshot(self, Span packet) except -1:
        cdef Span rest = packet
        cdef Field f
        cdef Extension extension
        cdef dict clocks = None
        while next_field(&rest, &f):
            if f.number == PACKET_CLOCK_SNAPSHOT and f.wire == BYTES:
                clocks = readings_of(span_of(&f))
            elif f.number == PACKET_TRACETIME_SNAPSHOT and f.wire == BYTES:
                # Each says how many it is so far.
                if read_extension(span_of(&f), &extension):
                    self.dropped = max(self.dropped, <int64_t>extension.events_dropped)
        if clocks is None:
            return 0
        self.latest_ns = clocks.get(BOOTTIME, self.latest_ns)
        shared = {clock for clock in clocks if not FIRST_SCOPED <= clock <= LAST_SCOPED}
        self.clocks |= shared
        if len(shared) < len(clocks) or not shared <= self.sampled:
            self.out.n = 0
            self.renumber(packet)
            self.snapshots.append((self.latest_ns, <bytes>self.out.data[:self.out.n]))
        return 0

    def put(self, PacketBuffer buffer not None, const uint8_t[::1] data not None):
        """Put the next whole packets, but snapshots, into the buffer; returns their bytes.

        They begin at `done`. No signal's handler comes between the packets and their count.
        """
        cdef Span rest, packet
        cdef int64_t size = whole(data, &rest)
        self.out.n = 0
        while next_packet(&rest, &packet):
            if not has_snapshot(packet):
                self.renumber(packet)
        if self.out.n:
            memcpy(buffer.reserve(self.out.n), self.out.data, <size_t>self.out.n)
            buffer.added(self.out.n)
        self.done += size
        return size

    def finish(self, PacketBuffer buffer not None):
        """Count the events that the process dropped."""
        buffer.dropped += self.dropped
        self.dropped = 0

    cdef int renumber(self, Span packet) except -1:
        """Append a packet with the number of its sequence as the recording has it."""
        cdef Span rest = packet, before = packet
        cdef Field f
        cdef uint8_t header[32]
        cdef uint8_t field[16]
        cdef uint64_t sequence = 0
        cdef int64_t kept = packet.end - packet.data
        while next_field(&rest, &f):
            if is_sequence(&f):
                sequence = f.value
                kept -= rest.data - before.data
            before = rest
        cdef int64_t size = put_number(
            field, PACKET_TRUSTED_PACKET_SEQUENCE_ID, self.first + <uint32_t>sequence
        ) - field
        put_bytes(&self.out, header, put_varint(
            put_tag(header, TRACE_PACKET, WIRE_BYTES), <uint64_t>(size + kept)
        ) - header)
        put_bytes(&self.out, field, size)
        rest = before = packet
        while next_field(&rest, &f):
            if not is_sequence(&f):
                put_bytes(&self.out, before.data, rest.data - before.data)
            before = rest
        # A malformed field ends the packet: it stays what it was.
        return put_bytes(&self.out, before.data, packet.end - before.data)


cdef int64_t whole(const uint8_t[::1] data, Span *packets):
    """How many bytes of whole packets data begins with; `packets` are these."""
    cdef Field f
    cdef const uint8_t *after
    packets.data = packets.end = NULL
    if data.shape[0] == 0:
        return 0
    packets.data = packets.end = &data[0]
    while True:
        after = read_field(packets.end, packets.data + data.shape[0], &f)
        if after == NULL:
            return packets.end - packets.data
        packets.end = after


cdef bint next_packet(Span *rest, Span *packet) noexcept:
    """Take the next packet of a trace; False at its end."""
    cdef Field f
    while next_field(rest, &f):
        if f.number == TRACE_PACKET and f.wire == BYTES:
            packet[0] = span_of(&f)
            return True
    return False


cdef inline bint is_sequence(const Field *f) noexcept:
    return f.number == PACKET_TRUSTED_PACKET_SEQUENCE_ID and f.wire == VARINT


cdef bint has_snapshot(Span packet) noexcept:
    cdef Field f
    while next_field(&packet, &f):
        if f.number == PACKET_CLOCK_SNAPSHOT:
            return True
    return False


cdef dict readings_of(Span snapshot):
    """What the clocks of a ClockSnapshot read, by their numbers."""
    cdef Field f
    cdef ClockSnapshotClock clock
    found = {}
    while next_field(&snapshot, &f):
        if f.number == SNAPSHOT_CLOCKS and f.wire == BYTES:
            read_clock_snapshot_clock(span_of(&f), &clock)
            found[clock.clock_id] = <int64_t>clock.timestamp
    return found
