# The rounds of exchanges with other machines, as the extension of a RemoteClockSync has them.
#
# Content and meaning: docs/tracetime_extension.proto, `rounds_ns`.

cdef enum:
    MOST_ROUNDS = 64                # of one exchange
    # Rates of two clocks differ by no more than a thousandth (twice 500 ppm).
    STEADY = 999
    TICKS_NS = 4

# BOOTTIME of 36 years: sums below cannot overflow.
cdef int64_t LATEST_NS = <int64_t>1 << 60


cdef inline bint can_be(const ExchangeRound *one) noexcept nogil:
    """Whether neither clock runs back, and the client kept it no longer than it took."""
    cdef int64_t away, kept
    if not (
        0 <= one.sent_ns < LATEST_NS and 0 <= one.received_ns < LATEST_NS
        and 0 <= one.replied_ns < LATEST_NS and 0 <= one.returned_ns < LATEST_NS
    ):
        return False
    away = one.returned_ns - one.sent_ns
    kept = one.replied_ns - one.received_ns
    return away >= 0 and 0 <= kept <= away + away / STEADY + TICKS_NS


cdef class ExchangeRounds:
    """The rounds of all exchanges so far."""

    def __dealloc__(self):
        free(self.rounds)

    cdef bint take(
        self, Span extension, uint32_t machine, int64_t client_ns, int64_t host_ns
    ) except -1 nogil:
        """Keep the rounds of an extension: all of them, or none where one makes no sense.

        client_ns, host_ns: BOOTTIME of both in the first round of its packet.
        """
        cdef const uint8_t *at = extension.data
        cdef Span packed = nothing()
        cdef Field f
        cdef ExchangeRound *one
        cdef int64_t n = 0
        while at < extension.end:
            at = read_field(at, extension.end, &f)
            if at == NULL:
                return False
            if f.number == EXT_ROUNDS_NS and f.wire == BYTES:
                packed = span_of(&f)
        if not (0 <= client_ns < LATEST_NS and 0 <= host_ns < LATEST_NS):
            return False
        while packed.data < packed.end:
            if n == MOST_ROUNDS:
                return False
            grow(
                <void **>&self.rounds, &self.capacity, self.n + n + 1, sizeof(ExchangeRound)
            )
            one = &self.rounds[self.n + n]
            one.machine = machine
            if not self.read_round(&packed, one, client_ns, host_ns):
                return False
            n += 1
        self.n += n
        return n > 0

    cdef bint read_round(
        self, Span *packed, ExchangeRound *one, int64_t client_ns, int64_t host_ns
    ) noexcept nogil:
        """Read the next four numbers of an array; False where they are no round."""
        cdef int64_t most = <int64_t>1 << MOST_BITS
        cdef int64_t[4] numbers
        cdef uint64_t value
        cdef int i
        for i in range(4):
            packed.data = read_varint(packed.data, packed.end, &value)
            if packed.data == NULL:
                return False
            numbers[i] = unzigzag(value)
            if not -most <= numbers[i] <= most:
                return False
        one.sent_ns = host_ns + numbers[0]
        one.received_ns = client_ns + numbers[1]
        one.replied_ns = one.received_ns + numbers[2]
        one.returned_ns = one.sent_ns + numbers[3]
        return can_be(one)

    def table(self):
        """int64[5, n], in file order: the client's machine, sent, received, replied, returned;
        ns of BOOTTIME of the host, the client, the client, and the host.
        """
        cdef int64_t i
        table = np.empty((5, self.n), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n):
            out[0, i] = self.rounds[i].machine
            out[1, i] = self.rounds[i].sent_ns
            out[2, i] = self.rounds[i].received_ns
            out[3, i] = self.rounds[i].replied_ns
            out[4, i] = self.rounds[i].returned_ns
        return table


# What tracetime recorded of snapshots, in addition to Perfetto's fields.

cdef enum:
    LONGEST_DOMAIN = 4096
    BOOT_BYTES = 16
    MOST_SUSPENDED_NS = 0x1000000000000000   # 36 years
    MOST_DOMAINS = 1 << 14

# clocks/snapshot.py's: what a tube can hold. No enum, whose constants are C's ints.
cdef int64_t MOST_SCALED_PPM = <int64_t>100000 << 16


cdef class SnapshotExtensions:
    """What the recorded snapshots of a file say; file: its number in the keys of clocks."""

    def __cinit__(self, uint32_t file):
        self.file = file
        self.declared = {}
        self.boots = {}
        self.suspended = {}
        self.dropped_packet = -1

    def __dealloc__(self):
        free(self.reads)
        free(self.kernel_reads)
        free(self.bounds)

    cdef int read(self, Packet *p, ClockTracker clocks, int64_t n, bint whole) except -1 nogil:
        """What tracetime recorded of a snapshot of n clocks; nothing, where it makes no sense.

        Only it is affected: the snapshot is taken as Perfetto takes it, whatever is in here.
        """
        cdef Extension e
        cdef const uint8_t *at = p.message.tracetime_snapshot.data, *half
        cdef Field f
        cdef MeasuredRead *read
        cdef uint64_t value
        cdef uint32_t snapshot = clocks.engine.n_snapshots - 1
        cdef int64_t i
        if not read_extension(p.message.tracetime_snapshot, &e):
            return 0
        self.note_dropped(e.events_dropped, clocks.packet)
        while at < p.message.tracetime_snapshot.end:
            at = read_field(at, p.message.tracetime_snapshot.end, &f)
            if f.number == EXT_DOMAINS and f.wire == BYTES:
                self.declare(p, span_of(&f))
        if whole and is_set(e.kernel_clock):
            self.add_kernel_read(p.machine, snapshot, e.kernel_clock)
        if whole:
            self.add_wall_bound(p.machine, snapshot, e.wall_bound)
        if not (whole and is_measured(&e, n)):
            return 0
        grow(
            <void **>&self.reads, &self.reads_capacity, self.n_reads + n, sizeof(MeasuredRead)
        )
        at = e.centres.data
        half = e.halves.data
        for i in range(n):
            read = &self.reads[self.n_reads + i]
            read.node = clocks.clock_nodes[i]
            read.snapshot = snapshot
            at = read_varint(at, e.centres.end, &value)
            read.centre_ns = unzigzag(value)
            half = read_varint(half, e.halves.end, &value)
            read.half_ns = <int64_t>value
        self.n_reads += n
        return 0

    cdef int read_alone(self, Span extension, uint32_t machine) except -1 nogil:
        """What an extension says in a packet of its own.

        Whether the file's timestamps are trace time already, and by which policy; and which boot
        the machine's clocks count from, the first time, with how long it was suspended by then.
        """
        cdef bint is_told
        cdef uint64_t suspended_ns = load_number(extension, EXT_SUSPENDED_NS, &is_told)
        cdef int64_t policy = baked_policy(extension)
        cdef Span boot = load_bytes(extension, EXT_BOOT_ID)
        if policy:
            self.baked = policy
        if is_set(boot) and boot.end - boot.data == BOOT_BYTES:
            with gil:
                if machine not in self.boots:
                    self.boots[machine] = <bytes>(<const char *>boot.data)[:BOOT_BYTES]
                    if is_told and suspended_ns <= MOST_SUSPENDED_NS:
                        self.suspended[machine] = <int64_t>suspended_ns
        return 0

    cdef void note_dropped(self, uint64_t so_far, uint64_t packet) noexcept nogil:
        """Count dropped events: every snapshot has the recorder's total since it began.

        Where that falls, another recording begins in the file.
        """
        cdef uint64_t more = so_far
        if so_far >= self.dropped_so_far:
            more = so_far - self.dropped_so_far
        if more and self.dropped_packet < 0:
            self.dropped_packet = <int64_t>packet
        self.events_dropped += min(more, <uint64_t>INT64_MAX - self.events_dropped)
        self.dropped_so_far = so_far

    cdef int add_kernel_read(
        self, uint32_t machine, uint32_t snapshot, Span kernel_clock
    ) except -1 nogil:
        cdef bint found
        cdef KernelRead *read
        cdef int64_t frequency = unzigzag(
            load_number(kernel_clock, EXT_KERNEL_FREQUENCY_SCALED, &found)
        )
        if frequency > MOST_SCALED_PPM or frequency < -MOST_SCALED_PPM:
            return 0
        grow(
            <void **>&self.kernel_reads, &self.kernel_reads_capacity, self.n_kernel_reads + 1,
            sizeof(KernelRead),
        )
        read = &self.kernel_reads[self.n_kernel_reads]
        read.snapshot, read.machine = snapshot, machine
        read.frequency_scaled = frequency
        read.status = unzigzag(load_number(kernel_clock, EXT_KERNEL_STATUS, &found))
        read.state = unzigzag(load_number(kernel_clock, EXT_KERNEL_STATE, &found))
        read.maxerror_us = unzigzag(load_number(kernel_clock, EXT_KERNEL_MAXERROR_US, &found))
        read.esterror_us = unzigzag(load_number(kernel_clock, EXT_KERNEL_ESTERROR_US, &found))
        self.n_kernel_reads += 1
        return 0

    cdef int add_wall_bound(
        self, uint32_t machine, uint32_t snapshot, Span message
    ) except -1 nogil:
        cdef WallBound bound
        if not read_wall_bound(message, &bound):
            return 0
        grow(
            <void **>&self.bounds, &self.bounds_capacity, self.n_bounds + 1, sizeof(WallBoundRead)
        )
        self.bounds[self.n_bounds].snapshot = snapshot
        self.bounds[self.n_bounds].machine = machine
        self.bounds[self.n_bounds].bound = bound
        self.n_bounds += 1
        return 0

    cdef int declare(self, Packet *p, Span domain) except -1 nogil:
        """Keep the domain of a clock, by its key: the last one counts."""
        cdef bint found
        cdef Key key = machine_key(
            <uint32_t>load_number(domain, EXT_DOMAIN_CLOCK_ID, &found), p.machine
        )
        if not found or domain.end - domain.data > LONGEST_DOMAIN:
            return 0
        if is_sequence_scoped(key.clock):
            key.sequence = p.message.trusted_packet_sequence_id
            key.file = self.file
        with gil:
            parts = parts_of(key)
            if parts in self.declared or len(self.declared) < MOST_DOMAINS:
                self.declared[parts] = <bytes>(<const char *>domain.data)[
                    :domain.end - domain.data
                ]
        return 0

    def kernel_clock(self):
        """How the kernel steered its clocks, int64[7, n]: snapshot, machine index, frequency
        (2^-16 ppm), status (STA_ bits), state, maxerror_us, esterror_us; in file order.
        """
        cdef int64_t i
        table = np.empty((7, self.n_kernel_reads), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_kernel_reads):
            out[0, i] = self.kernel_reads[i].snapshot
            out[1, i] = self.kernel_reads[i].machine
            out[2, i] = self.kernel_reads[i].frequency_scaled
            out[3, i] = self.kernel_reads[i].status
            out[4, i] = self.kernel_reads[i].state
            out[5, i] = self.kernel_reads[i].maxerror_us
            out[6, i] = self.kernel_reads[i].esterror_us
        return table

    def wall_bounds(self):
        """What bounded REALTIME at snapshots, int64[5, n]: snapshot, machine index, UTC less
        REALTIME at least and at most (ns), and the number of the service; in file order.
        """
        cdef int64_t i
        table = np.empty((5, self.n_bounds), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_bounds):
            out[0, i] = self.bounds[i].snapshot
            out[1, i] = self.bounds[i].machine
            out[2, i] = self.bounds[i].bound.earliest_ns
            out[3, i] = self.bounds[i].bound.latest_ns
            out[4, i] = self.bounds[i].bound.source
        return table

    def measured(self, Engine engine not None):
        """{key: (snapshots, centre_ns, half_ns)}: how recorded snapshots read each clock.

        int64 arrays, ascending by the snapshot's number; half -1 where it is not known.
        """
        cdef int64_t[:, ::1] out
        cdef int64_t i
        table = np.empty((4, self.n_reads), dtype=np.int64)
        out = table
        for i in range(self.n_reads):
            out[0, i] = self.reads[i].node
            out[1, i] = self.reads[i].snapshot
            out[2, i] = self.reads[i].centre_ns
            out[3, i] = self.reads[i].half_ns
        # In file order the snapshots of each clock ascend.
        table = table[:, np.argsort(table[0], kind="stable")]
        nodes, starts = np.unique(table[0], return_index=True)
        parts = np.split(table[1:], starts[1:], axis=1)
        found = {}
        for node, part in zip(nodes.tolist(), parts if len(nodes) else []):
            key = parts_of(engine.nodes[<int64_t>node].key)
            found[key] = tuple(np.ascontiguousarray(row) for row in part)
        return found
