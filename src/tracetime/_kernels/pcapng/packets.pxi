# Packets of a capture, pcapng or pcap: when each was captured, where, and how long it was.

# The columns; `_COLUMNS` names them.
cdef enum:
    START = 0
    NUMBER = 1              # among all packets, those without a time included
    ON = 2
    TICKS = 3               # as the bits of a uint64
    NS = 4
    MORE = 5
    FITS = 6
    CAPTURED = 7
    LENGTH = 8
    REMARK = 9              # where the comment begins (-1: none), and where it ends
    N_COLUMNS = 11

_COLUMNS = (
    "start", "number", "interface", "ticks", "ns", "cut_off_ns", "fits", "captured", "length",
    "comment", "comment_end",
)

cdef struct Interface:
    Scale scale
    uint64_t reported           # dropped, by the last statistics
    uint64_t before_packets     # dropped, by the packets


cdef class Packets:
    """Reads a file piece by piece; knows the section and its interfaces.

    interfaces: of each, its link type, its name (bytes, None where the file has none), the
        resolution (if_tsresol), the offset in s, whether the file gives a time zone, where it is
        described, and how many packets are before that.
    sections: the first interface of each; of those without any the last one counts.
    """

    cdef readonly list interfaces, sections
    cdef readonly int64_t n_packets, n_without_time
    cdef readonly int64_t first_drop    # the packets before the first report of drops; -1: none
    cdef Interface *_known
    cdef int64_t _capacity, _n_interfaces, _most_interfaces, _longest
    cdef int64_t _base                  # where the data begins in the file
    cdef int64_t _first                 # the first interface of the section; -1 before any
    cdef bint _big, _is_pcap, _begun
    cdef int64_t *_rows, _rows_capacity, _n

    def __init__(self, int64_t longest, int64_t most_interfaces):
        self.interfaces = []
        self.sections = []
        self.first_drop = self._first = -1
        self._longest = longest
        self._most_interfaces = most_interfaces

    def __dealloc__(self):
        free(self._known)
        free(self._rows)

    @property
    def dropped(self):
        """How many packets were dropped.

        Of each interface, the larger of what its last statistics say and of what its packets add up
        to, for both count the same.
        """
        return sum([
            max(self._known[i].reported, self._known[i].before_packets)
            for i in range(self._n_interfaces)
        ])

    def read(self, const uint8_t[::1] data, int64_t offset):
        """Read whole blocks.

        Args:
            data: what follows the last whole block.
            offset: where it begins in the file.

        Returns:
            by name, int64 columns with a row for each packet that has a time; where the last whole
            block ends; and what is wrong there: 0 nothing, 1 the data ends within a block, else see
            `FAULTS`.
        """
        cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
        cdef const uint8_t *p = first
        cdef const uint8_t *end = first + data.shape[0]
        cdef int fault = 0
        cdef int64_t size = 0
        self._n = 0
        self._base = offset
        if not self._begun and p < end:
            fault = self._begin(&p, end)
        with nogil:
            while p < end and fault == 0:
                if self._is_pcap:
                    fault = self._record(p, end, first, &size)
                else:
                    fault = self._block(p, end, first, &size)
                if fault == 0:
                    p += size
        values = copied(np.empty(self._n * N_COLUMNS, dtype=np.int64), self._rows)
        columns = np.ascontiguousarray(values.reshape(-1, N_COLUMNS).T)
        return dict(zip(_COLUMNS, columns, strict=True)), p - first, fault

    cdef int _begin(self, const uint8_t **at, const uint8_t *end) except -1:
        """Tell pcap from pcapng, and read the header of a pcap file."""
        cdef const uint8_t *p = at[0]
        cdef uint32_t magic
        cdef bint big
        if end - p < 4:
            return INCOMPLETE
        for big in (False, True):
            magic = number32(p, big)
            if magic == MODIFIED_MAGIC:
                return MODIFIED_PCAP
            if magic == US_MAGIC or magic == NS_MAGIC:
                if end - p < 24:
                    return INCOMPLETE
                if number16(p + 4, big) != 2:
                    return BAD_VERSION
                self._is_pcap, self._big = True, big
                at[0] = p + 24
                # The upper bits are not of the link type. 8: seconds that nobody fills in.
                self._add_interface(
                    number32(p + 20, big) & 0xffff, None,
                    NANOSECONDS if magic == NS_MAGIC else MICROSECONDS, 0,
                    number32(p + 8, big) != 0, 0,
                )
        self._begun = True
        return 0

    cdef int _add_interface(
        self, int link, object name, uint8_t resolution, int64_t offset_s, bint has_zone,
        int64_t place,
    ) except -1:
        cdef int64_t n = self._n_interfaces
        if n == self._most_interfaces:
            return TOO_MANY_INTERFACES
        grow(<void **>&self._known, &self._capacity, n + 1, sizeof(Interface))
        self._known[n].scale = scale_of(resolution, offset_s)
        self._known[n].reported = self._known[n].before_packets = 0
        self._n_interfaces += 1
        self.interfaces.append(
            (link, name, resolution, offset_s, bool(has_zone), place, self.n_packets)
        )
        return 0

    cdef int _record(
        self, const uint8_t *p, const uint8_t *end, const uint8_t *first, int64_t *size
    ) except -1 nogil:
        """A packet of a pcap file."""
        cdef int64_t *row, captured
        cdef uint64_t a_second = 1_000_000_000
        if end - p < 16:
            return INCOMPLETE
        captured = number32(p + 8, self._big)
        if captured > self._longest:
            return TOO_LONG
        if end - p - 16 < captured:
            return INCOMPLETE
        if self._known[0].scale.times != 1:
            a_second = 1_000_000
        row = self._row(
            0, number32(p, self._big) * a_second + number32(p + 4, self._big)
        )
        row[START] = p - first
        row[CAPTURED] = captured
        row[LENGTH] = number32(p + 12, self._big)
        size[0] = 16 + captured
        return 0

    cdef int _block(
        self, const uint8_t *p, const uint8_t *end, const uint8_t *first, int64_t *size
    ) except -1 nogil:
        """A block of a pcapng file."""
        cdef uint32_t kind
        cdef int64_t length
        if end - p < 12:
            return INCOMPLETE
        kind = number32(p, self._big)
        if kind == SECTION:
            self._big = number32(p + 8, True) == BYTE_ORDER
            if not self._big and number32(p + 8, False) != BYTE_ORDER:
                return NO_SECTION
        elif self._first < 0:
            return NO_SECTION
        length = number32(p + 4, self._big)
        if length < 12 or length % 4:
            return BAD_LENGTH
        if length > self._longest:
            return TOO_LONG
        if end - p < length:
            return INCOMPLETE
        if number32(p + length - 4, self._big) != length:
            return BAD_LENGTH
        size[0] = length
        end = p + length - 4
        if kind == SECTION:
            return self._section(p, end)
        if kind == INTERFACE:
            return self._interface(p + 8, end, self._base + (p - first))
        if kind == PACKET or kind == OLD_PACKET:
            return self._packet(p, end, first, kind == OLD_PACKET)
        if kind == STATISTICS:
            return self._statistics(p + 8, end)
        if kind == SIMPLE_PACKET:
            self.n_packets += 1
            self.n_without_time += 1
        return 0

    cdef int _section(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        if end - p < 24:
            return BAD_LENGTH
        if number16(p + 12, self._big) != 1:
            return BAD_VERSION
        self._first = self._n_interfaces
        with gil:
            if not self.sections or self.sections[len(self.sections) - 1] != self._first:
                self.sections.append(self._first)
        return 0

    cdef int _interface(
        self, const uint8_t *p, const uint8_t *end, int64_t place
    ) except -1 nogil:
        cdef Option option
        cdef int link, found
        cdef uint8_t resolution = MICROSECONDS
        cdef int64_t offset_s = 0
        cdef bint has_zone = False
        cdef const uint8_t *name = NULL
        cdef int64_t name_n = 0
        if end - p < 8:
            return BAD_LENGTH
        link = number16(p, self._big)
        p += 8
        while True:
            found = next_option(&p, end, self._big, &option)
            if found < 0:
                return BAD_OPTION
            if found == 0:
                break
            if option.code == INTERFACE_NAME:
                name, name_n = option.value, option.n
            elif option.code == RESOLUTION:
                if option.n != 1:
                    return BAD_OPTION
                resolution = option.value[0]
            elif option.code == OFFSET:
                if option.n != 8:
                    return BAD_OPTION
                offset_s = <int64_t>number64(option.value, self._big)
            elif option.code == TIME_ZONE:
                has_zone = True
        with gil:
            return self._add_interface(
                link, None if name == NULL else name[:name_n], resolution, offset_s, has_zone,
                place,
            )

    cdef int _packet(
        self, const uint8_t *p, const uint8_t *end, const uint8_t *first, bint is_old
    ) except -1 nogil:
        cdef Option option
        cdef int64_t on, captured, padded, *row
        cdef int found
        cdef bint is_count
        cdef uint64_t dropped = 0
        cdef const uint8_t *start = p
        if end - p < 28:
            return BAD_LENGTH
        if is_old:
            on = number16(p + 8, self._big)
            dropped = number16(p + 10, self._big)
            if dropped == UNKNOWN:
                dropped = 0
        else:
            on = number32(p + 8, self._big)
        if on >= self._n_interfaces - self._first:
            return NO_INTERFACE
        captured = number32(p + 20, self._big)
        padded = (captured + 3) & ~3
        if padded > end - p - 28:
            return PACKET_TOO_LONG
        row = self._row(
            self._first + on,
            <uint64_t>number32(p + 12, self._big) << 32 | number32(p + 16, self._big),
        )
        row[START] = start - first
        row[CAPTURED] = captured
        row[LENGTH] = number32(p + 24, self._big)
        p += 28 + padded
        while True:
            found = next_option(&p, end, self._big, &option)
            is_count = found > 0 and option.code == DROPPED_BEFORE and not is_old
            if found < 0 or (is_count and option.n != 8):
                # Not a packet, after all.
                self._n -= 1
                self.n_packets -= 1
                return BAD_OPTION
            if found == 0:
                self._count_dropped(self._first + on, dropped, row[NUMBER])
                return 0
            if is_count:
                dropped = number64(option.value, self._big)
            elif option.code == COMMENT:
                row[REMARK] = option.value - first
                row[REMARK + 1] = option.value - first + option.n

    cdef void _count_dropped(self, int64_t on, uint64_t dropped, int64_t before) noexcept nogil:
        """Add what was dropped on an interface before a packet."""
        cdef uint64_t *total = &self._known[on].before_packets
        if dropped and self.first_drop < 0:
            self.first_drop = before
        total[0] += min(dropped, <uint64_t>INT64_HIGH - total[0])

    cdef int _statistics(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        cdef Option option
        cdef int64_t on
        cdef uint64_t dropped = 0
        cdef int found
        if end - p < 12:
            return BAD_LENGTH
        on = number32(p, self._big)
        if on >= self._n_interfaces - self._first:
            return NO_INTERFACE
        p += 12
        while True:
            found = next_option(&p, end, self._big, &option)
            if found < 0:
                return BAD_OPTION
            if found == 0:
                break
            if option.code == DROPPED or option.code == DROPPED_BY_SYSTEM:
                if option.n != 8:
                    return BAD_OPTION
                dropped += number64(option.value, self._big) & <uint64_t>INT64_HIGH
        if dropped and self.first_drop < 0:
            self.first_drop = self.n_packets
        self._known[self._first + on].reported = dropped
        return 0

    cdef int64_t *_row(self, int64_t on, uint64_t ticks) except NULL nogil:
        """Room for one more packet, with its times."""
        cdef int64_t *row
        grow(
            <void **>&self._rows, &self._rows_capacity, (self._n + 1) * N_COLUMNS, sizeof(int64_t)
        )
        row = self._rows + self._n * N_COLUMNS
        row[NUMBER] = self.n_packets
        row[ON] = on
        row[TICKS] = <int64_t>ticks
        row[FITS] = to_ns(&self._known[on].scale, ticks, row + NS, row + MORE)
        row[REMARK] = row[REMARK + 1] = -1
        self._n += 1
        self.n_packets += 1
        return row


def write_args(const uint8_t[::1] data, columns):
    """Write what else is known of packets as JSON.

    Args:
        data: what holds the packets.
        columns: as `Packets.read` returns them.

    Returns:
        int32: where the text of each packet ends in the second; uint8: the texts.
    """
    cdef const int64_t[::1] on = columns["interface"], ticks = columns["ticks"]
    cdef const int64_t[::1] captured = columns["captured"], length = columns["length"]
    cdef const int64_t[::1] starts = columns["comment"], ends = columns["comment_end"]
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    cdef int64_t i, n = on.shape[0]
    cdef Bytes out
    cdef Json json
    where = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] placed = where
    for i in range(n):
        if starts[i] != -1 and not 0 <= starts[i] <= ends[i] <= data.shape[0]:
            raise IndexError("a comment is outside the data")
    memset(&out, 0, sizeof(out))
    json.out = &out
    try:
        for i in range(n):
            put_bytes(&out, b'{"interface":', 13)
            put_signed(&out, on[i])
            put_bytes(&out, b',"captured":', 12)
            put_signed(&out, captured[i])
            put_bytes(&out, b',"length":', 10)
            put_signed(&out, length[i])
            put_bytes(&out, b',"ticks":', 9)
            put_unsigned(&out, <uint64_t>ticks[i])
            if starts[i] >= 0:
                put_bytes(&out, b',"comment":', 11)
                json.limit = out.n + 8 * (ends[i] - starts[i]) + LONGEST_ARGS
                put_string(&json, first + starts[i], ends[i] - starts[i])
            put_byte(&out, c"}")
            if out.n > 0x7fffffff:
                raise OverflowError("the arguments are too long for one column")
            placed[i] = <int32_t>out.n
        return where, copied(np.empty(out.n, dtype=np.uint8), out.data)
    finally:
        free(out.data)
