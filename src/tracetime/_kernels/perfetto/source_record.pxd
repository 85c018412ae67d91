# What a packet of a baked trace was in its source: how to make that packet's bytes of this one's.
# The field and its content: docs/tracetime_extension.proto.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.encode cimport LONGEST_VARINT, put_varint
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes
from tracetime._kernels.common.wire cimport Span, is_set
from tracetime._kernels.perfetto.messages cimport PACKET_TRACETIME_SOURCE
from tracetime._kernels.perfetto.packet cimport Packet, baked_policy
from tracetime._kernels.perfetto.rewriting cimport put_content


cdef enum:
    FNV_BASIS = 2166136261
    FNV_PRIME = 16777619
    LANES = 4

# A packet whose checksum is still to be put in.
cdef struct Unsummed:
    int64_t start, n                # of what is summed
    int64_t place                   # of the checksum

cdef struct Lane:
    const uint8_t *at
    const uint8_t *end
    uint8_t *place
    uint32_t hash


cdef inline uint32_t step(uint32_t h, uint8_t byte) noexcept nogil:
    """A byte of FNV-1a of 32 bits: a packet that another tool has changed is noticed."""
    return (h ^ byte) * <uint32_t>FNV_PRIME


cdef inline uint8_t folded(uint32_t h) noexcept nogil:
    """The four bytes, xored."""
    return <uint8_t>(h ^ h >> 8 ^ h >> 16 ^ h >> 24)


cdef inline uint8_t checksum(const uint8_t *data, int64_t n) noexcept nogil:
    cdef uint32_t h = <uint32_t>FNV_BASIS
    cdef int64_t i
    for i in range(n):
        h = step(h, data[i])
    return folded(h)


cdef inline void advance(Lane *lanes, int64_t n) noexcept nogil:
    """Sum the next n bytes of every lane."""
    cdef const uint8_t *a = lanes[0].at
    cdef const uint8_t *b = lanes[1].at
    cdef const uint8_t *c = lanes[2].at
    cdef const uint8_t *d = lanes[3].at
    cdef uint32_t e = lanes[0].hash, f = lanes[1].hash, g = lanes[2].hash, h = lanes[3].hash
    cdef int64_t i
    for i in range(n):
        e = step(e, a[i])
        f = step(f, b[i])
        g = step(g, c[i])
        h = step(h, d[i])
    lanes[0].hash, lanes[1].hash, lanes[2].hash, lanes[3].hash = e, f, g, h
    for i in range(LANES):
        lanes[i].at += n


cdef inline void put_checksums(uint8_t *data, const Unsummed *sums, int64_t n) noexcept nogil:
    """Put in the checksums of packets, several at once: each byte waits for the one before it."""
    cdef Lane[LANES] lanes
    cdef int64_t i, least, next = LANES
    if n < LANES:
        for i in range(n):
            data[sums[i].place] = checksum(data + sums[i].start, sums[i].n)
        return
    for i in range(LANES):
        enter_lane(&lanes[i], data, &sums[i])
    while True:
        least = lanes[0].end - lanes[0].at
        for i in range(1, LANES):
            least = min(least, lanes[i].end - lanes[i].at)
        advance(lanes, least)
        for i in range(LANES):
            if lanes[i].at < lanes[i].end:
                continue
            lanes[i].place[0] = folded(lanes[i].hash)
            if next == n:
                lanes[i].place = NULL
                finish_lanes(lanes)
                return
            enter_lane(&lanes[i], data, &sums[next])
            next += 1


cdef inline void enter_lane(Lane *lane, uint8_t *data, const Unsummed *sum) noexcept nogil:
    lane.at = data + sum.start
    lane.end = lane.at + sum.n
    lane.place = data + sum.place
    lane.hash = <uint32_t>FNV_BASIS


cdef inline void finish_lanes(Lane *lanes) noexcept nogil:
    """Sum what is left of the lanes that have a place."""
    cdef int64_t i
    for i in range(LANES):
        if lanes[i].place == NULL:
            continue
        while lanes[i].at < lanes[i].end:
            lanes[i].hash = step(lanes[i].hash, lanes[i].at[0])
            lanes[i].at += 1
        lanes[i].place[0] = folded(lanes[i].hash)


cdef inline int64_t put_source(
    Bytes *packet, const Packet *source, Bytes *scratch
) except -2 nogil:
    """Append to a packet what it was, where it was another, or would read as one that has that.

    Returns the place in the packet of the checksum of what was in it before, which
    `put_checksums` puts in; -1 where nothing is appended.
    """
    cdef uint8_t[2 * LONGEST_VARINT] numbers
    cdef uint8_t *at
    cdef const uint8_t *was = source.whole.data
    cdef int64_t n = source.whole.end - was, most = min(n, packet.n), before = 0, after = 0
    while before < most and packet.data[before] == was[before]:
        before += 1
    if (
        before == n == packet.n and not is_set(source.message.tracetime_source)
        and not baked_policy(source.message.tracetime_snapshot)
    ):
        return -1
    most -= before
    while after < most and packet.data[packet.n - 1 - after] == was[n - 1 - after]:
        after += 1
    scratch.n = 0
    put_byte(scratch, 0)
    at = put_varint(numbers, <uint64_t>before)
    at = put_varint(at, <uint64_t>(packet.n - before - after))
    put_bytes(scratch, numbers, at - numbers)
    put_bytes(scratch, was + before, n - before - after)
    put_content(packet, PACKET_TRACETIME_SOURCE, scratch.data, scratch.n)
    return packet.n - scratch.n
