# What a trace carries of its sources: docs/tracetime_extension.proto, `carried`.

cdef enum:
    CARRIED_HEAD = 0
    CARRIED_BLOCK = 1
    CARRIED_SEAL = 2
    BITS_OF_KIND = 48
    BITS_OF_PAYLOAD = 32

# The rows of a block of one kind, payload and packet sequence.
cdef struct RowGroup:
    int64_t key
    int64_t n
    uint64_t sum


cdef inline int64_t group_of(int8_t kind, uint16_t payload, uint32_t sequence) noexcept nogil:
    return (
        <int64_t>kind << BITS_OF_KIND | <int64_t>payload << BITS_OF_PAYLOAD | <int64_t>sequence
    )


cdef class CarriedLog(PacketObserver):
    """Keeps what packets carry, and what the packets between them are."""

    cdef readonly list heads
    cdef readonly list packets
    cdef readonly list blocks
    cdef readonly list groups
    cdef readonly list sealed
    cdef RowGroup *found            # of the block at hand
    cdef int64_t n, capacity, last
    cdef HashTable table
    cdef uint64_t seed, digest
    cdef bint is_open               # a block whose seal comes next

    def __cinit__(self):
        self.heads, self.packets, self.blocks, self.groups, self.sealed = [], [], [], [], []
        self.seed = <uint64_t>int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        free(self.found)
        free_table(&self.table)

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef Span carried = nothing()
        cdef uint64_t sealed
        cdef int64_t i
        for i in range(first, rows.n):
            if rows.status[i] == RESOLVED or rows.status[i] == AS_IS:
                self.add(
                    group_of(rows.kind[i], rows.payload[i], rows.packet_sequence[i]),
                    rows.trace_time[i],
                )
        if is_set(p.message.tracetime_snapshot):
            carried = load_bytes(p.message.tracetime_snapshot, EXT_CARRIED)
        if is_set(carried) and carried.end - carried.data == 9 and carried.data[0] == CARRIED_SEAL:
            memcpy(&sealed, carried.data + 1, 8)
            with gil:
                if self.is_open:
                    self.sealed.append(sealed == self.digest)
                elif sealed == self.digest:
                    # They carry nothing.
                    self.take()
            self.is_open = False
            self.digest = 0
            return False
        self.digest = digest_of(p.whole, self.digest)
        if is_set(carried) and carried.end > carried.data:
            with gil:
                self.keep(p.packet, <bytes>carried.data[:carried.end - carried.data])
        return False

    cdef int add(self, int64_t key, int64_t time) except -1 nogil:
        """Add a row to its group."""
        cdef int64_t i = self.last
        cdef uint64_t hash, slot
        if i >= self.n or self.found[i].key != key:
            hash = slot = mix(<uint64_t>key ^ self.seed)
            i = next_match(&self.table, hash, &slot)
            while i >= 0 and self.found[i].key != key:
                i = next_match(&self.table, hash, &slot)
            if i < 0:
                i = self.n
                grow(<void **>&self.found, &self.capacity, i + 1, sizeof(RowGroup))
                self.found[i].key = key
                self.found[i].n = 0
                self.found[i].sum = 0
                add_index(&self.table, hash, i)
                self.n += 1
            self.last = i
        self.found[i].n += 1
        self.found[i].sum = next_sum(self.found[i].sum, time)
        return 0

    cdef int keep(self, uint64_t packet, bytes content) except -1:
        """Keep what a packet carries; a block ends there."""
        if content[0] == CARRIED_HEAD:
            self.heads.append(content)
        elif content[0] == CARRIED_BLOCK:
            self.packets.append(packet)
            self.blocks.append(content)
            self.groups.append(self.take())
            if self.is_open:
                self.sealed.append(False)
            self.is_open = True
        return 0

    def finish(self):
        """Take the last block for unsealed if no seal came; return the groups after it."""
        if self.is_open:
            self.sealed.append(False)
        self.is_open = False
        return self.take()

    cdef object take(self):
        """The groups since the last block, in order of appearance: key, rows, sum of times."""
        cdef int64_t i
        made = np.empty((3, self.n), np.int64)
        cdef int64_t[:, ::1] out = made
        for i in range(self.n):
            out[0, i] = self.found[i].key
            out[1, i] = self.found[i].n
            out[2, i] = <int64_t>self.found[i].sum
        self.n = 0
        empty_table(&self.table)
        return made


cdef inline uint64_t next_sum(uint64_t before, int64_t time) noexcept nogil:
    return (before + <uint64_t>time) * <uint64_t>0x9E3779B97F4A7C15


def sum_of_times(const int64_t[::1] times not None):
    """The sum by which a group of rows is known, of their times in file order."""
    cdef uint64_t total = 0
    cdef int64_t i
    for i in range(times.shape[0]):
        total = next_sum(total, times[i])
    return <int64_t>total


def places_in_groups(
    const int64_t[::1] keys not None, int64_t[::1] free_places not None,
    const int64_t[::1] ends not None, dict columns not None, int64_t begin, int64_t end,
):
    """The places of rows in the groups of their block; -1 of rows of no group.

    keys: those of the groups, ascending. free_places: of each, the place of its next row, which is
    counted on. ends: where its places end. columns, begin, end: the rows, of a batch.
    """
    cdef const int8_t[::1] kind = columns["kind"], status = columns["status"]
    cdef const uint16_t[::1] payload = columns["payload"]
    cdef const uint32_t[::1] sequence = columns["packet_sequence"]
    cdef int64_t i, key, low, high, middle, group = 0, n = keys.shape[0]
    made = np.full(end - begin, -1, np.int64)
    cdef int64_t[::1] out = made
    for i in range(begin, end if n else begin):
        if status[i] != RESOLVED and status[i] != AS_IS:
            continue
        key = group_of(kind[i], payload[i], sequence[i])
        if keys[group] != key:
            low, high = 0, n - 1
            while low < high:
                middle = (low + high) // 2
                if keys[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            group = low
        if keys[group] == key and free_places[group] < ends[group]:
            out[i - begin] = free_places[group]
            free_places[group] += 1
    return made


def knot_offsets(tuple knots not None, const int64_t[::1] clock not None,
                 const int64_t[::1] times not None):
    """The readings of rows less their trace times, as knots say: on lines between them.

    The arithmetic is that of IEEE 754 alone: it is the same on every machine.

    knots: clocks, ascending, trace times, and the readings less these. clock: of each row.
    """
    cdef const int64_t[::1] of = knots[0], at = knots[1], offset = knots[2]
    cdef int64_t i, low, high, middle, own = -1, begin = 0, end = 0, before = 0
    if not (of.shape[0] == at.shape[0] == offset.shape[0] and clock.shape[0] == times.shape[0]):
        raise ValueError("knots have three columns of one length, and rows two")
    made = np.zeros(times.shape[0], np.int64)
    cdef int64_t[::1] out = made
    for i in range(times.shape[0]):
        if clock[i] < 0:
            continue
        if clock[i] != own:
            own = clock[i]
            begin = first_not_below(of, own, 0, of.shape[0])
            end = first_not_below(of, own + 1, begin, of.shape[0])
            before = begin
        if begin == end:
            continue
        if not (at[before] <= times[i] and (before + 1 == end or times[i] < at[before + 1])):
            low, high = begin, end
            while low < high:
                middle = (low + high) // 2
                if at[middle] <= times[i]:
                    low = middle + 1
                else:
                    high = middle
            before = min(max(low - 1, begin), max(end - 2, begin))
        out[i] = on_line(at, offset, before, min(before + 1, end - 1), times[i])
    return made


cdef inline int64_t first_not_below(
    const int64_t[::1] values, int64_t value, int64_t low, int64_t high
) noexcept nogil:
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline int64_t on_line(
    const int64_t[::1] at, const int64_t[::1] offset, int64_t before, int64_t after, int64_t time
) noexcept nogil:
    cdef double span = <double>difference(at[after], at[before])
    cdef double part = <double>difference(time, at[before]) / (span if span > 0 else 1.0)
    cdef double rise = <double>difference(offset[after], offset[before])
    rise *= min(max(part, 0.0), 1.0)
    # A larger float has no int64, and which one it becomes depends on the machine.
    rise = min(max(rise, -<double>(<int64_t>1 << 62)), <double>(<int64_t>1 << 62))
    return <int64_t>(<uint64_t>offset[before] + <uint64_t><int64_t>rint(rise))


cdef inline int64_t difference(int64_t a, int64_t b) noexcept nogil:
    return <int64_t>(<uint64_t>a - <uint64_t>b)


def from_planes(const uint8_t[:, ::1] planes not None):
    """The numbers of eight planes of bytes, the lowest first: zigzag, as `carried.py` packs them."""
    cdef int64_t i, byte, n = planes.shape[1]
    cdef uint8_t any
    if planes.shape[0] != 8:
        raise ValueError("an int64 has eight planes of bytes")
    made = np.zeros(n, np.int64)
    cdef int64_t[::1] out = made
    cdef const uint8_t *plane
    for byte in range(8 if n else 0):
        plane = &planes[byte, 0]
        any = 0
        for i in range(n):
            any |= plane[i]
        # Most numbers are small.
        if any:
            for i in range(n):
                out[i] |= <int64_t>(<uint64_t>plane[i] << 8 * byte)
    for i in range(n):
        out[i] = <int64_t>(<uint64_t>out[i] >> 1) ^ -(out[i] & 1)
    return made
