# The packets of a baked trace -> those of its source, which each says of itself.
#
# The record of a packet: `source_record.pxd`. A packet without one, and without the mark of `bake`, is
# as it was in the source; one with the mark alone was not there.

cdef enum:
    PACKET_TAG = 0x0A
    LONGEST_HEADER = 20
    MOST_BYTES = 1 << 28            # of a packet, Perfetto's own limit


cdef class Unbaker:
    """Makes the stream of packets of the source, piece by piece.

    packets: how many of the baked trace have been read.
    """

    cdef readonly uint64_t packets
    cdef Bytes out, packet
    cdef uint64_t *numbers          # of each packet of the source, that of the baked one
    cdef int64_t n, capacity

    def __dealloc__(self):
        free(self.out.data)
        free(self.packet.data)
        free(self.numbers)

    @cython.boundscheck(True)
    def feed(self, const uint8_t[::1] data not None):
        """Read the whole packets that `data` begins with.

        Returns (packets of the source, how many bytes were read, how many bytes `data` must have
        for the next packet).

        Raises:
            ValueError: it is no baked trace as `bake` writes it.
        """
        cdef const uint8_t *begin, *end, *at, *body
        cdef uint64_t size
        cdef int64_t needed = 0
        cdef Span packet
        if data.shape[0] == 0:
            return b"", 0, 1
        begin = at = &data[0]
        end = begin + data.shape[0]
        self.out.n = 0
        while at < end:
            if at[0] != PACKET_TAG:
                raise ValueError("bytes between its packets")
            body = read_varint(at + 1, end, &size)
            if body == NULL:
                if end - at > LONGEST_HEADER:
                    raise ValueError("a packet without a length")
                needed = end - at + 1
                break
            if size > MOST_BYTES:
                raise ValueError("a packet that is too long")
            if size > <uint64_t>(end - body):
                needed = body - at + <int64_t>size
                break
            packet.data = body
            packet.end = at = body + size
            self.unbake(packet)
            self.packets += 1
        return <bytes>(<const char *>self.out.data)[:self.out.n], at - begin, needed

    cdef int unbake(self, Span packet) except -1:
        """Append the packet of the source, if there was one."""
        cdef Span rest = packet, source = nothing(), extension = nothing()
        cdef uint8_t[LONGEST_TAG + LONGEST_VARINT] head
        cdef int64_t own
        cdef Field f
        while next_field(&rest, &f):
            if f.wire == BYTES:
                if f.number == PACKET_TRACETIME_SOURCE:
                    source = span_of(&f)
                elif f.number == PACKET_TRACETIME_SNAPSHOT:
                    extension = span_of(&f)
                elif (
                    f.number == PACKET_COMPRESSED_PACKETS
                    or f.number == PACKET_ZSTD_COMPRESSED_PACKETS
                ):
                    raise ValueError("compressed packets")
        if is_set(source):
            if source.end != packet.end:
                raise ValueError("what a packet was is not its last field")
            # Fields before it may be passed over: its head, as `bake` writes it, tells its place.
            own = source.data - packet.data - (put_varint(
                put_tag(head, PACKET_TRACETIME_SOURCE, WIRE_BYTES),
                <uint64_t>(source.end - source.data),
            ) - &head[0])
            if own < 0:
                raise ValueError("a packet does not say what it was")
            return self.rebuild(packet, packet.data + own, source)
        if is_set(extension) and baked_policy(extension):
            return 0
        return self.add(packet.data, packet.end - packet.data)

    cdef int rebuild(self, Span packet, const uint8_t *end, Span source) except -1:
        """Append a packet of the source from the bytes of the baked one, up to `end`, and its own."""
        cdef uint64_t kept = 0, cut = 0
        cdef uint64_t size = <uint64_t>(end - packet.data)
        cdef const uint8_t *at = source.data
        if at == source.end or at[0] != checksum(packet.data, <int64_t>size):
            raise ValueError("a packet has changed since it was baked")
        at = read_varint(at + 1, source.end, &kept)
        if at != NULL:
            at = read_varint(at, source.end, &cut)
        if at == NULL or kept > size or cut > size - kept:
            raise ValueError("a packet does not say what it was")
        self.packet.n = 0
        put_bytes(&self.packet, packet.data, <int64_t>kept)
        put_bytes(&self.packet, at, source.end - at)
        put_bytes(&self.packet, packet.data + kept + cut, <int64_t>(size - kept - cut))
        return self.add(self.packet.data, self.packet.n)

    cdef int add(self, const uint8_t *data, int64_t size) except -1:
        grow(<void **>&self.numbers, &self.capacity, self.n + 1, sizeof(uint64_t))
        self.numbers[self.n] = self.packets
        self.n += 1
        return put_content(&self.out, TRACE_PACKET, data, size)

    @cython.boundscheck(True)
    def take_numbers(self):
        """Of each packet of the source since the last call, the number of the baked one."""
        cdef uint64_t[::1] out
        found = np.empty(self.n, np.uint64)
        if self.n:
            out = found
            memcpy(&out[0], self.numbers, self.n * sizeof(uint64_t))
        self.n = 0
        return found
