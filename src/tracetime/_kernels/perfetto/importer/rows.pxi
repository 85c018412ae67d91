# The events table under construction: one NumPy array a column, filled row by row.

COLUMNS = (
    ("packet", np.uint64),
    ("kind", np.int8),
    ("item", np.uint32),
    ("payload", np.uint16),
    ("packet_sequence", np.uint32),
    ("sequence", np.uint32),
    ("machine", np.uint32),
    ("clock", np.uint32),
    ("snapshots", np.uint32),
    ("timestamp", np.int64),
    ("trace_time", np.int64),
    ("source_ns", np.int64),
    ("status", np.int8),
    ("offset", np.uint64),
)


cdef class Rows:
    """Columns with room for `capacity` rows, doubled when full."""

    def __cinit__(self, int64_t capacity):
        self.enlarge(capacity)

    def __len__(self):
        return self.n

    cdef int enlarge(self, int64_t capacity) except -1:
        made = {name: np.empty(capacity, dtype) for name, dtype in COLUMNS}
        if self.n:
            for name, array in made.items():
                array[:self.n] = self.arrays[name][:self.n]
        cdef uint64_t[::1] packet = made["packet"]
        cdef int8_t[::1] kind = made["kind"]
        cdef uint32_t[::1] item = made["item"]
        cdef uint16_t[::1] payload = made["payload"]
        cdef uint32_t[::1] packet_sequence = made["packet_sequence"]
        cdef uint32_t[::1] sequence = made["sequence"]
        cdef uint32_t[::1] machine = made["machine"]
        cdef uint32_t[::1] clock = made["clock"]
        cdef uint32_t[::1] snapshots = made["snapshots"]
        cdef int64_t[::1] timestamp = made["timestamp"]
        cdef int64_t[::1] trace_time = made["trace_time"]
        cdef int64_t[::1] source_ns = made["source_ns"]
        cdef int8_t[::1] status = made["status"]
        cdef uint64_t[::1] offset = made["offset"]
        self.packet = &packet[0]
        self.kind = &kind[0]
        self.item = &item[0]
        self.payload = &payload[0]
        self.packet_sequence = &packet_sequence[0]
        self.sequence = &sequence[0]
        self.machine = &machine[0]
        self.clock = &clock[0]
        self.snapshots = &snapshots[0]
        self.timestamp = &timestamp[0]
        self.trace_time = &trace_time[0]
        self.source_ns = &source_ns[0]
        self.status = &status[0]
        self.offset = &offset[0]
        self.arrays = made
        self.capacity = capacity
        return 0

    cdef int append(self, const Row *row) except -1 nogil:
        cdef int64_t n = self.n
        if n == self.capacity:
            with gil:
                self.enlarge(2 * self.capacity)
        self.packet[n] = row.packet
        self.kind[n] = row.kind
        self.item[n] = row.item
        self.payload[n] = row.payload
        self.packet_sequence[n] = row.packet_sequence
        self.sequence[n] = row.sequence
        self.machine[n] = row.machine
        self.clock[n] = row.clock
        self.snapshots[n] = row.snapshots
        self.timestamp[n] = row.timestamp
        self.trace_time[n] = row.trace_time
        self.source_ns[n] = row.source_ns
        self.status[n] = row.status
        self.offset[n] = row.offset
        self.n = n + 1
        return 0

    def take(self):
        """The rows so far, as arrays by column name; the table is empty afterwards."""
        taken = {name: array[:self.n] for name, array in self.arrays.items()}
        if self.names is not None:
            taken |= self.names.take(self.n)
        self.n = 0
        self.enlarge(self.capacity)
        return taken

    def release(self):
        """Give back the room that no row needs; there is some again when rows are added."""
        self.enlarge(max(self.n, 1))


# What receives the packets of a trace, in file order, from its importer.

cdef class PacketObserver:
    """Receives each packet of a trace while it is imported."""

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        """Take a packet and its rows, rows[first:]; return whether the batch is full."""
        return False


# The events of a trace on trace time: each is converted, counted for the sorter, and a row.

cdef class Timeline:
    """Rows under construction.

    file: the number of the trace file in the keys of clocks. silent: make no rows.
    """

    cdef ClockTracker clocks
    cdef Streams streams
    cdef Rows rows
    cdef Row row                    # what is common to the rows of the packet at hand
    cdef Sorter sorter
    cdef uint32_t file
    cdef bint silent
    cdef int error

    def __cinit__(
        self, ClockTracker clocks not None, Rows rows not None, uint32_t file, bint silent
    ):
        self.clocks = clocks
        self.streams = clocks.streams
        self.rows = rows
        self.file = file
        self.silent = silent

    cdef int begin_packet(self, uint64_t packet, uint64_t offset) noexcept nogil:
        """Rows are of this packet from now on; offset: of its first byte."""
        self.clocks.packet = self.clocks.engine.packet = self.row.packet = packet
        self.clocks.offset = self.row.offset = offset
        self.row.snapshots = self.clocks.engine.n_snapshots
        return 0

    cdef int continue_packet(self, Timeline other) noexcept nogil:
        """Rows are of the packet that another timeline is at, as if they were its own."""
        self.row = other.row
        self.clocks.packet, self.clocks.offset = other.clocks.packet, other.clocks.offset
        return 0

    cdef int fail(self, int error) noexcept nogil:
        """Note why the import ends; returns STOP_ERROR."""
        self.error = error
        return STOP_ERROR

    cdef int emit(
        self, Kind kind, uint32_t item, uint32_t clock, int64_t timestamp, int64_t ns, int status
    ) except -1 nogil:
        if self.silent:
            return 0
        self.row.kind = <int8_t>kind
        self.row.item = item
        self.row.clock = clock
        self.row.sequence = self.row.packet_sequence if is_sequence_scoped(clock) else 0
        self.row.timestamp = timestamp
        self.row.trace_time = ns
        self.row.source_ns = self.clocks.engine.source_ns
        self.row.status = <int8_t>status
        return self.rows.append(&self.row)

    cdef int emit_converted(
        self, Packet *p, Kind kind, uint32_t item, Key key, int64_t timestamp, int64_t value
    ) except -1 nogil:
        """Convert an item's value, count it for the sorter, and make its row."""
        cdef int64_t ns = 0
        cdef int status = p.status
        if status == RESOLVED:
            status = self.clocks.to_trace_time(p.machine, key, value, &ns)
            if status == RESOLVED:
                push(&self.sorter, ns)
        else:
            self.clocks.engine.source_ns = value
        return self.emit(kind, item, key.clock, timestamp, ns, status)

    cdef int emit_as_packet(self, Packet *p, Kind kind, uint32_t item) except -1 nogil:
        """An item without a time of its own has its packet's, and is placed as that is."""
        if p.status == RESOLVED:
            push(&self.sorter, p.trace_time)
        if not p.message.has_timestamp:
            return self.emit(kind, item, 0, p.trace_time, p.trace_time, AS_IS)
        self.clocks.engine.source_ns = p.source_ns
        return self.emit(kind, item, p.clock, p.message.timestamp, p.trace_time, p.own_status)

    cdef int emit_trace_time(
        self, Packet *p, Kind kind, uint32_t item, int64_t timestamp
    ) except -1 nogil:
        """An item whose timestamp is trace time."""
        if p.status != RESOLVED:
            return self.emit(kind, item, 0, timestamp, 0, p.status)
        push(&self.sorter, timestamp)
        return self.emit(kind, item, 0, timestamp, timestamp, AS_IS)
