# RemoteClockSync: what two machines' clocks read at one instant, from pings between them.
#
# After ProtoTraceReader::ParseRemoteClockSync and CalculateClockOffsets
# (src/trace_processor/importers/proto/proto_trace_reader.cc). Client readings come first, then the
# host's, then the client's again: neighbouring rounds make two round trips. Perfetto takes the mean
# of what their middles say. Here is, too, what they bound, however long either way took: where the
# one machine's clock stood while the other's was read.

cdef enum:
    # Clocks of one machine gain no more than a thousandth on each other (twice 500 ppm).
    SLEWED = 1000

cdef uint64_t ROUNDS_APART_NS = 30_000_000_000
# Bounds wider than that (a year) say nothing: graph/tube/messages.py.
cdef int64_t LONGEST_NS = <int64_t>1 << 55


cdef int by_clock(const void *a, const void *b) noexcept nogil:
    cdef const Reading *one = <const Reading *>a, *other = <const Reading *>b
    if one.clock != other.clock:
        return -1 if one.clock < other.clock else 1
    if one.place != other.place:
        return -1 if one.place < other.place else 1
    return -1 if one.order < other.order else 1


cdef inline int64_t middle(int64_t a, int64_t b) noexcept nogil:
    """Half the sum, towards 0, as in C++: a sum that does not fit wraps."""
    return <int64_t>(<uint64_t>a + <uint64_t>b) / 2


cdef class RemoteSyncs:
    """The bounds of the RemoteClockSync messages of a trace."""

    def __dealloc__(self):
        free(self.readings)
        free(self.rows)
        free(self.instants)
        free(self.boxes)
        free(self.unused)
        free(self.worked_out)

    # Reading

    cdef bint read(self, Span message, int64_t most) except -1 nogil:
        """Read a message; False where it cannot be read to its end.

        most: so many readings, and no more.
        """
        cdef const uint8_t *at = message.data
        cdef Field f
        self.n_readings = 0
        self.n_rounds = 0
        while at < message.end:
            at = read_field(at, message.end, &f)
            if at == NULL:
                return False
            if f.number == REMOTE_SYNC_SYNCED_CLOCKS:
                if not self.read_round(message_of(&f), most):
                    return False
                self.n_rounds += 1
        return True

    cdef bint read_round(self, Span synced, int64_t most) except -1 nogil:
        cdef const uint8_t *at = synced.data
        cdef Span client = nothing()
        cdef Span host = nothing()
        cdef Field f
        while at < synced.end:
            at = read_field(at, synced.end, &f)
            if at == NULL:
                return False
            if f.number == SYNCED_CLIENT_CLOCKS:
                client = message_of(&f)
            elif f.number == SYNCED_HOST_CLOCKS:
                host = message_of(&f)
        return self.read_clocks(client, CLIENT, most) and self.read_clocks(host, HOST, most)

    cdef bint read_clocks(self, Span snapshot, int side, int64_t most) except -1 nogil:
        cdef const uint8_t *at = snapshot.data
        cdef Field f
        cdef ClockSnapshotClock clock
        cdef Reading *one
        while at < snapshot.end:
            at = read_field(at, snapshot.end, &f)
            if at == NULL:
                return False
            if f.number != SNAPSHOT_CLOCKS:
                continue
            if self.n_readings >= most:
                with gil:
                    raise TooManyClocksError
            if not read_clock_snapshot_clock(message_of(&f), &clock):
                return False
            grow(
                <void **>&self.readings, &self.readings_capacity, self.n_readings + 1,
                sizeof(Reading),
            )
            one = &self.readings[self.n_readings]
            one.clock = clock.clock_id
            one.place = <uint32_t>(2 * self.n_rounds + side)
            one.order = <uint32_t>self.n_readings
            one.ns = clock.timestamp
            self.n_readings += 1
        return True

    # Perfetto's mean

    cdef int work_out(self) except -1 nogil:
        """Make rows of the readings, by clock and round, and an instant of each clock that has one.

        The readings lose their order.
        """
        cdef int64_t i, offsets
        cdef uint64_t sum
        cdef int64_t anchor_ns
        cdef const Round *a, *b
        cdef Instant *made
        self.sort_rows()
        self.n_instants = 0
        i = 0
        while i < self.n_rows:
            a = &self.rows[i]
            sum = 0
            offsets = 0
            anchor_ns = a.last_ns[HOST]
            i += 1
            while i < self.n_rows and self.rows[i].clock == a.clock:
                b = &self.rows[i]
                i += 1
                if b.last_ns[HOST]:
                    anchor_ns = b.last_ns[HOST]
                if (
                    b.round == a.round + 1 and a.last_ns[CLIENT] and a.last_ns[HOST]
                    and b.last_ns[CLIENT] and b.last_ns[HOST] and self.are_near(a.round)
                ):
                    sum += (
                        <uint64_t>middle(a.last_ns[CLIENT], b.last_ns[CLIENT])
                        - <uint64_t>a.last_ns[HOST]
                    )
                    sum += (
                        <uint64_t>b.last_ns[CLIENT]
                        - <uint64_t>middle(a.last_ns[HOST], b.last_ns[HOST])
                    )
                    offsets += 2
                a = b
            if offsets:
                grow(
                    <void **>&self.instants, &self.instants_capacity, self.n_instants + 1,
                    sizeof(Instant),
                )
                made = &self.instants[self.n_instants]
                made.clock = a.clock
                made.host_ns = anchor_ns
                made.client_ns = <int64_t>(
                    <uint64_t>anchor_ns + <uint64_t>(<int64_t>sum / offsets)
                )
                self.n_instants += 1
        return 0

    cdef int sort_rows(self) except -1 nogil:
        cdef int64_t i
        cdef Reading *one
        cdef Round *row
        cdef uint32_t side
        if self.n_readings:
            qsort(self.readings, <size_t>self.n_readings, sizeof(Reading), by_clock)
        self.n_rows = 0
        grow(<void **>&self.rows, &self.rows_capacity, self.n_readings, sizeof(Round))
        for i in range(self.n_readings):
            one = &self.readings[i]
            side = one.place & 1
            row = &self.rows[self.n_rows - 1] if self.n_rows else NULL
            if row == NULL or row.clock != one.clock or row.round != one.place >> 1:
                row = &self.rows[self.n_rows]
                self.n_rows += 1
                row.clock = one.clock
                row.round = one.place >> 1
                row.last_ns[CLIENT] = row.last_ns[HOST] = 0
                row.once_ns[CLIENT] = row.once_ns[HOST] = 0
            elif i and self.readings[i - 1].place == one.place:
                row.last_ns[side] = one.ns
                row.once_ns[side] = 0
                continue
            row.last_ns[side] = row.once_ns[side] = one.ns
        return 0

    cdef const Round *row_of(self, uint32_t clock, uint32_t round) noexcept nogil:
        """The row of a clock in a round; NULL without any."""
        cdef int64_t low = 0, high = self.n_rows, at
        cdef const Round *row
        while low < high:
            at = (low + high) >> 1
            row = &self.rows[at]
            if row.clock < clock or row.clock == clock and row.round < round:
                low = at + 1
            else:
                high = at
        row = &self.rows[low]
        if low < self.n_rows and row.clock == clock and row.round == round:
            return row
        return NULL

    cdef bint are_near(self, uint32_t round) noexcept nogil:
        """Whether a round and the next are less than 30 s apart, by the client's BOOTTIME."""
        cdef const Round *first = self.row_of(BOOTTIME, round)
        cdef const Round *second = self.row_of(BOOTTIME, round + 1)
        cdef uint64_t from_ns = <uint64_t>first.last_ns[CLIENT] if first != NULL else 0
        cdef uint64_t to_ns = <uint64_t>second.last_ns[CLIENT] if second != NULL else 0
        return to_ns - from_ns < ROUNDS_APART_NS

    cdef int note_worked_out(self, int64_t snapshot) except -1 nogil:
        """Keep the number of a snapshot that holds no readings taken together."""
        grow(
            <void **>&self.worked_out, &self.worked_out_capacity, self.n_worked_out + 1,
            sizeof(int64_t),
        )
        self.worked_out[self.n_worked_out] = snapshot
        self.n_worked_out += 1
        return 0

    # Bounds

    cdef int bound(
        self, uint32_t machine, int64_t packet, int64_t first_round, int64_t first_instant,
        uint32_t without,
    ) except -1 nogil:
        """Keep the bounds of neighbouring rounds, at any distance.

        first_round, first_instant: the numbers of the snapshots made of the first of each; the
        others' follow. without: a clock whose bounds are not kept; 0 for none.
        """
        cdef int64_t start = 0, end, made = 0, instant
        while start < self.n_rows:
            end = start + 1
            while end < self.n_rows and self.rows[end].clock == self.rows[start].clock:
                end += 1
            instant = -1
            if made < self.n_instants and self.instants[made].clock == self.rows[start].clock:
                instant = first_instant + made
                made += 1
            if self.rows[start].clock != without:
                self.bound_clock(start, end, machine, packet, first_round, instant)
            start = end
        return 0

    cdef int bound_clock(
        self, int64_t start, int64_t end, uint32_t machine, int64_t packet, int64_t first_round,
        int64_t instant,
    ) except -1 nogil:
        """Keep the bounds of one clock.

        Which reading of a bound that makes no sense is wrong is unknown. The neighbouring rounds
        share its readings: their bounds are not kept, either.
        """
        cdef Box found[2]
        cdef Box *box
        cdef Unused *one
        cdef const Round *second
        cdef int64_t i, j, n, unused = 0, kept = 0
        cdef int64_t wrong_round = -2      # the last one whose bounds make no sense
        cdef int64_t kept_round = -1       # the last one whose bounds are kept
        for i in range(start + 1, end):
            second = &self.rows[i]
            if self.rows[i - 1].round + 1 != second.round:
                continue
            n = self.bounds_of_pair(&self.rows[i - 1], second, found)
            if n < 0:
                n = -n
                wrong_round = second.round
                if kept and kept_round + 1 == second.round:
                    self.n_boxes -= kept
                    unused += kept
                kept = 0
            if n == 0:
                continue
            if wrong_round + 1 >= second.round:
                unused += n
                kept = 0
                continue
            kept = n
            kept_round = second.round
            grow(<void **>&self.boxes, &self.boxes_capacity, self.n_boxes + n, sizeof(Box))
            for j in range(n):
                box = &self.boxes[self.n_boxes]
                self.n_boxes += 1
                box[0] = found[j]
                box.clock = second.clock
                box.machine = machine
                box.snapshot = instant if instant >= 0 else first_round + second.round
        if unused:
            grow(<void **>&self.unused, &self.unused_capacity, self.n_unused + 1, sizeof(Unused))
            one = &self.unused[self.n_unused]
            one.clock = self.rows[start].clock
            one.machine = machine
            one.n = unused
            one.packet = packet
            self.n_unused += 1
        return 0

    cdef int bounds_of_pair(self, const Round *first, const Round *second, Box *out) noexcept nogil:
        """How many bounds two rounds make, negative where one of them makes no sense."""
        cdef int n = 0
        cdef bint sound = True
        if not first.once_ns[HOST] or not second.once_ns[CLIENT]:
            return 0
        if first.once_ns[CLIENT]:
            # The host was read after the client's first reading and before its second.
            out[n].low_ns[HOST] = out[n].high_ns[HOST] = first.once_ns[HOST]
            if not self.span(
                CLIENT, first, second, &out[n].low_ns[CLIENT], &out[n].high_ns[CLIENT]
            ):
                sound = False
            n += 1
        if second.once_ns[HOST]:
            if not self.span(HOST, first, second, &out[n].low_ns[HOST], &out[n].high_ns[HOST]):
                sound = False
            out[n].low_ns[CLIENT] = out[n].high_ns[CLIENT] = second.once_ns[CLIENT]
            n += 1
        return n if sound else -n

    cdef bint span(
        self, int side, const Round *first, const Round *second, int64_t *low, int64_t *high
    ) noexcept nogil:
        """What a clock may have read between two rounds; False where its readings make no sense."""
        cdef uint32_t clock = first.clock
        cdef int64_t earlier = first.once_ns[side]
        cdef int64_t later = second.once_ns[side]
        cdef int64_t elapsed
        low[0] = earlier
        high[0] = later
        if earlier > later:
            return False
        if earlier == later and clock != REALTIME_COARSE and clock != MONOTONIC_COARSE:
            return False
        if (clock == REALTIME or clock == REALTIME_COARSE) and self.elapsed(
            side, first.round, &elapsed
        ):
            # A clock that was set in between ran on from its first reading, or to its second.
            elapsed += (elapsed + SLEWED - 1) / SLEWED
            if later < INT64_LOW + elapsed or earlier > INT64_HIGH - elapsed:
                return False
            low[0] = min(earlier, later - elapsed)
            high[0] = max(later, earlier + elapsed)
        return saturating_sub(high[0], low[0]) <= LONGEST_NS

    cdef bint elapsed(self, int side, uint32_t round, int64_t *out) noexcept nogil:
        """What passed from a round to the next by a clock that is never set; False where none says.

        The first that both have counts: one goes on while the machine sleeps, too.
        """
        cdef uint32_t[3] steady
        cdef const Round *first, *second
        cdef int i
        steady[0], steady[1], steady[2] = BOOTTIME, MONOTONIC, MONOTONIC_RAW
        for i in range(3):
            first = self.row_of(steady[i], round)
            second = self.row_of(steady[i], round + 1)
            if (
                first != NULL and second != NULL and first.once_ns[side] and second.once_ns[side]
            ):
                out[0] = saturating_sub(second.once_ns[side], first.once_ns[side])
                return 0 < out[0] < LONGEST_NS
        return False

    # Results

    def bounds(self):
        """int64[7, n], in file order: clock, machine of the client, snapshot, the host's lowest
        and highest reading, the client's, ns.
        """
        cdef int64_t i
        table = np.empty((7, self.n_boxes), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_boxes):
            out[0, i] = self.boxes[i].clock
            out[1, i] = self.boxes[i].machine
            out[2, i] = self.boxes[i].snapshot
            out[3, i] = self.boxes[i].low_ns[HOST]
            out[4, i] = self.boxes[i].high_ns[HOST]
            out[5, i] = self.boxes[i].low_ns[CLIENT]
            out[6, i] = self.boxes[i].high_ns[CLIENT]
        return table

    def unused_bounds(self):
        """int64[4, n], in file order: clock, machine of the client, how many, packet."""
        cdef int64_t i
        table = np.empty((4, self.n_unused), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_unused):
            out[0, i] = self.unused[i].clock
            out[1, i] = self.unused[i].machine
            out[2, i] = self.unused[i].n
            out[3, i] = self.unused[i].packet
        return table

    def snapshots_worked_out(self):
        """Numbers of the snapshots made of means, int64[n], ascending."""
        cdef int64_t i
        table = np.empty(self.n_worked_out, dtype=np.int64)
        cdef int64_t[::1] out = table
        for i in range(self.n_worked_out):
            out[i] = self.worked_out[i]
        return table
