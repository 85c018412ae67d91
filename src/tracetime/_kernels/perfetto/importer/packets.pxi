# Packets in file order -> rows of the events table, as Perfetto's importer would place them.
#
# Reproduces src/trace_processor/importers/proto/proto_trace_reader.cc. Files, windows and
# decompression are the caller's (formats/perfetto/read/reader.py).

cdef enum:
    PACKET_TAG = 0x0A
    LONGEST_HEADER = 20
    MOST_STATS = 1 << 20    # bytes of them: a recording ends with some


cdef class Importer:
    """The state of an import: clocks, machines, sequences, and what Perfetto's sorter would do.

    file: the number of the trace file (1 inside a compressed file, which is file 0).
    batch_rows: feeding stops after the packet that brings the table to this many rows.
    silent: make no rows; only learn what the end of the file knows.
    """

    cdef readonly Engine engine
    cdef readonly ClockTracker clocks
    cdef readonly Streams streams
    cdef readonly Rows rows
    cdef readonly Snapshots snapshots
    cdef readonly SnapshotExtensions extensions
    cdef readonly Importer final
    cdef Timeline timeline
    cdef PacketObserver observer        # or None
    cdef bint learns                    # what the end of the file decides is not placed
    cdef bint puts_clocks_aside
    cdef int64_t batch_rows
    # the position in the file
    cdef readonly uint64_t packets
    cdef readonly uint64_t n_strays     # fields of the file that are no packets
    cdef readonly uint64_t stray_offset # of the first of them
    cdef readonly uint64_t stop_offset
    cdef readonly int codec
    cdef readonly list stats            # of what was lost: (field of the packet, message, packet)
    cdef int64_t stats_size
    cdef int8_t file_codec
    cdef Packet packet

    def __cinit__(self, uint32_t file, int64_t batch_rows, bint silent=False):
        self.clocks = ClockTracker()
        self.engine = self.clocks.engine
        self.streams = self.clocks.streams
        self.rows = Rows(1 if silent else batch_rows + batch_rows // 8 + 16)
        self.timeline = Timeline(self.clocks, self.rows, file, silent)
        self.snapshots = Snapshots(self.timeline)
        self.extensions = self.snapshots.extensions
        self.batch_rows = batch_rows
        self.learns = silent
        self.stats = []

    @property
    def error(self):
        """Why the import ended, a number of schema.IMPORT_ERRORS."""
        return self.timeline.error

    def finish(self):
        """Note the end of the file: a packet that cannot be converted now never will be."""
        self.clocks.at_end = True

    @property
    def extracts_early(self):
        """Whether Perfetto hands events on before the end of the file, sorted so far."""
        return self.timeline.sorter.extracted

    @property
    def changes_at_end(self):
        """Whether packets that only the end of the file can place add snapshots of clocks."""
        return self.puts_clocks_aside or self.streams.converts_at_end()

    def decide_with(self, Importer final not None):
        """`final`, fed to the end of the same file, places what this importer cannot."""
        self.final = final
        self.learns = final.learns = False
        final.rows = final.timeline.rows = self.rows
        final.timeline.silent = self.timeline.silent

    def set_observer(self, PacketObserver observer not None):
        """Give each packet to an observer from now on, after its rows are made."""
        self.observer = observer

    # Packets

    # long: the cases have the order of the function that it follows
    cdef int import_packet(self, Span s) except -1 nogil:
        """ProtoTraceReader::ParsePacket; returns a Stop, STOP_END to go on."""
        cdef Packet *p = &self.packet
        cdef Sequence *sequence
        cdef bint found
        if not read_packet(s, p):
            return self.timeline.fail(ERROR_PACKET)
        if p.codec:
            return STOP_COMPRESSED
        if (
            p.after_sorting_field and self.final is None and not self.learns
            and (p.message.n_data > 1 or has_times_after_sorting(p))
        ):
            return STOP_NEEDS_FINAL
        p.machine = self.streams.machine_of(p)
        p.sequence = <uint32_t>self.streams.sequence(
            p.machine, p.message.trusted_packet_sequence_id
        )
        sequence = &self.streams.sequences[p.sequence]
        self.timeline.row.payload = <uint16_t>min(p.message.data, <uint32_t>0xFFFF)
        self.timeline.row.packet_sequence = p.message.trusted_packet_sequence_id
        self.timeline.row.machine = p.message.machine_id
        if (
            is_set(p.message.system_info) or is_set(p.message.chrome_events)
            or p.inner_field == PACKET_ETW_EVENTS
        ):
            self.streams.note_system(p)
        if p.message.data == PACKET_TRACE_STATS or p.message.data == PACKET_FTRACE_STATS:
            self.keep_stats(p)

        if p.cleared:
            if p.message.has_trusted_packet_sequence_id:
                sequence.valid = True
                sequence.default_clock = 0
                sequence.has_reference = False
                sequence.reference_ns = 0
        elif p.message.previous_packet_dropped and p.message.has_trusted_packet_sequence_id:
            sequence.valid = False
            sequence.has_reference = False
            sequence.reference_ns = 0
        if is_set(p.message.trace_packet_defaults) and p.message.has_trusted_packet_sequence_id:
            sequence.default_clock = <uint32_t>load_number(
                p.message.trace_packet_defaults, DEFAULTS_TIMESTAMP_CLOCK_ID, &found
            )

        if is_set(p.message.tracetime_snapshot) and p.message.n_data == 0:
            self.extensions.read_alone(p.message.tracetime_snapshot, p.machine)
        if is_set(p.message.clock_snapshot):
            return self.snapshots.import_snapshot(p)
        if is_set(p.message.remote_clock_sync):
            return self.snapshots.import_remote_sync(p)
        if is_set(p.message.service_event):
            return self.import_service_event(p)
        if is_set(p.message.extension_descriptor):
            return STOP_END
        if p.message.sequence_flags & FLAG_NEEDS_INCREMENTAL_STATE:
            if p.message.trusted_packet_sequence_id == 0:
                return self.timeline.fail(ERROR_INCREMENTAL_SEQUENCE)
            if not sequence.valid:
                if p.message.has_timestamp:
                    self.timeline.emit(
                        KIND_PACKET, 0, p.clock or sequence.default_clock
                        or self.streams.machines[p.machine].default_clock,
                        p.message.timestamp, 0, SKIPPED_INCREMENTAL_STATE,
                    )
                return STOP_END
        return self.place_packet(p)

    cdef int import_service_event(self, Packet *p) except -1 nogil:
        cdef uint32_t clock = p.clock if p.message.has_timestamp_clock_id else BOOTTIME
        cdef int64_t ns = 0
        cdef bint found
        cdef int status = self.clocks.to_trace_time_or_raw(
            p.machine, machine_key(clock, p.machine), p.message.timestamp, &ns
        )
        if p.message.has_timestamp:
            self.timeline.emit(KIND_PACKET, 0, clock, p.message.timestamp, ns, status)
        if load_number(p.message.service_event, SERVICE_ALL_DATA_SOURCES_FLUSHED, &found):
            self.timeline.sorter.flushes += 1
        if load_number(p.message.service_event, SERVICE_READ_TRACING_BUFFERS_COMPLETED, &found):
            note_buffers_read(&self.timeline.sorter)
        return STOP_END

    cdef int keep_stats(self, Packet *p) except -1 nogil:
        """Keep what a recorder says of data that it lost, as far as there is room."""
        cdef Span said = p.message.payload
        cdef int64_t size = said.end - said.data
        if size > MOST_STATS - self.stats_size:
            return 0
        self.stats_size += size
        with gil:
            self.stats.append((p.message.data, <bytes>said.data[:size], self.packets))
        return 0

    # long: the cases have the order of the function that it follows
    cdef int place_packet(self, Packet *p) except -1 nogil:
        """ProtoTraceReader::TimestampTokenizeAndPushToSorter."""
        cdef Machine *m = &self.streams.machines[p.machine]
        cdef Packet late
        cdef uint32_t clock = p.clock
        cdef bint scoped
        cdef Key key
        cdef int64_t ns = 0
        cdef int status
        if not p.message.has_timestamp:
            p.placed = True
            p.trace_time = max(m.latest_ns, self.timeline.sorter.latest_ns)
            return self.import_items(p)
        if clock == 0:
            clock = self.streams.sequences[p.sequence].default_clock
        scoped = is_sequence_scoped(clock)
        if clock == 0:
            clock = m.default_clock
        if (is_set(p.message.chrome_events) or is_set(p.message.chrome_metadata)) and (
            clock == 0 or clock == MONOTONIC):
            clock = MONOTONIC
            status = self.clocks.to_trace_time_or_raw(
                p.machine, machine_key(clock, p.machine), p.message.timestamp, &ns
            )
            if status == OVERFLOW:
                p.clock = clock
                return self.give_up(p, status)
        elif clock == 0:
            status = AS_IS
            ns = p.message.timestamp
        else:
            key = machine_key(clock, p.machine)
            if scoped:
                if p.message.trusted_packet_sequence_id == 0:
                    return self.timeline.fail(ERROR_TIMESTAMP_SEQUENCE)
                key.sequence = p.message.trusted_packet_sequence_id
                key.file = self.timeline.file
            status = self.clocks.to_trace_time(p.machine, key, p.message.timestamp, &ns)
            if status != RESOLVED:
                if status != OVERFLOW and not self.clocks.at_end and (
                    self.timeline.sorter.full_sort or not self.timeline.sorter.extracted
                ):
                    # Put aside until the end of the file.
                    self.timeline.sorter.full_sort = True
                    if self.learns:
                        self.puts_clocks_aside = (
                            self.puts_clocks_aside or may_hold_clock_pair(p)
                        )
                        return STOP_END
                    if self.final is None:
                        return STOP_NEEDS_FINAL
                    late = p[0]
                    self.final.timeline.continue_packet(self.timeline)
                    late.machine = self.final.streams.machine_of(&late)
                    late.sequence = <uint32_t>self.final.streams.sequence(
                        late.machine, late.message.trusted_packet_sequence_id
                    )
                    status = self.final.place_packet(&late)
                    p.placed = late.placed
                    p.trace_time = late.trace_time
                    self.timeline.error = self.final.timeline.error
                    return status
                p.clock = clock
                return self.give_up(p, status)
        if ns > m.latest_ns:
            m.latest_ns = ns
        p.placed = True
        p.clock = clock
        p.trace_time = ns
        p.source_ns = self.clocks.engine.source_ns
        p.own_status = <int8_t>status
        if not is_mark(p):
            self.timeline.emit(KIND_PACKET, 0, clock, p.message.timestamp, ns, status)
        return self.import_items(p)

    cdef int give_up(self, Packet *p, int status) except -1 nogil:
        """Make rows without trace time of a packet that is dropped, and of its items."""
        self.timeline.emit(KIND_PACKET, 0, p.clock, p.message.timestamp, 0, status)
        p.source_ns = self.clocks.engine.source_ns
        p.own_status = p.status = <int8_t>status
        return self.import_items(p)

    cdef int import_items(self, Packet *p) except -1 nogil:
        """Import the items of a packet, which have timestamps of their own."""
        if p.message.n_data > 1:
            return self.import_fields(p)
        if p.inner_field:
            return import_items(self.timeline, p, p.inner_field)
        if is_set(p.message.thread_descriptor) or is_set(p.message.track_descriptor):
            if import_descriptor(self.timeline, p, p.message.data, p.message.payload):
                return STOP_END
        elif is_taken_silently(p.message.data):
            return STOP_END
        if p.status == RESOLVED:
            push(&self.timeline.sorter, p.trace_time)
        if p.after_sorting_field:
            return self.import_at_end(p)
        return STOP_END

    cdef int import_fields(self, Packet *p) except -1 nogil:
        """Import the payloads of a packet with several, up to one that a module handles."""
        cdef Span rest = p.whole
        cdef Field f
        cdef Span payload
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            payload = span_of(&f)
            if is_inner(f.number):
                return import_items(self.timeline, p, p.inner_field)
            if f.number == PACKET_THREAD_DESCRIPTOR or f.number == PACKET_TRACK_DESCRIPTOR:
                if import_descriptor(self.timeline, p, f.number, payload):
                    return STOP_END
            elif is_taken_silently(f.number):
                return STOP_END
        if p.status == RESOLVED:
            push(&self.timeline.sorter, p.trace_time)
        rest = p.whole
        while next_field(&rest, &f):
            if f.wire == BYTES and (
                f.number == PACKET_PROFILE_PACKET or f.number == PACKET_PROCESS_TREE
            ):
                p.after_sorting_field = f.number
                p.after_sorting = span_of(&f)
                self.import_at_end(p)
        return STOP_END

    cdef int import_at_end(self, Packet *p) except -1 nogil:
        """Import times that Perfetto reads after sorting, with every snapshot of the file."""
        cdef Packet late = p[0]
        if self.learns:
            if p.status == RESOLVED and has_times_after_sorting(p):
                self.streams.machines[p.machine].converts_at_end = True
            return STOP_END
        if self.clocks.at_end:
            return import_after_sorting(self.timeline, &late)
        if self.final is None:
            return STOP_END
        self.final.timeline.continue_packet(self.timeline)
        late.machine = self.final.streams.machine_of(&late)
        return import_after_sorting(self.final.timeline, &late)

    # Feeding

    def feed(self, const uint8_t[::1] data, int64_t start, int64_t end, uint64_t offset,
             bint nested):
        """Import the whole packets in data[start:end].

        offset: file offset of data[0]; when `nested` (inside a compressed packet) that of the
        packet's wrapper. Returns (stop, position, payload_start, payload_end): where the next
        feeding starts, and for STOP_COMPRESSED the payload within data. At STOP_END, payload_end -
        position is the size that the next field says it has, 0 if unknown.
        """
        cdef Span all
        cdef const uint8_t *base, *at, *needed = NULL
        cdef Span payload
        cdef int stop = STOP_END
        if not 0 <= start <= end <= data.shape[0]:
            raise IndexError("start and end must lie within data")
        if start == end:
            return STOP_END, start, start, start
        base = &data[0]
        all.data = base + start
        all.end = base + end
        payload.data = all.data
        payload.end = all.data
        with nogil:
            at = all.data
            stop = self._feed(base, all, offset, nested, &at, &payload)
        return stop, at - base, payload.data - base, payload.end - base

    # long: the loop over a file's bytes, whose state is its locals
    cdef int _feed(
        self, const uint8_t *base, Span all, uint64_t offset, bint nested, const uint8_t **resume,
        Span *payload
    ) except -1 nogil:
        cdef const uint8_t *at = all.data, *body
        cdef uint64_t tag, size
        cdef Span packet
        cdef int64_t first
        cdef bint full = False
        cdef int stop = STOP_END
        while at < all.end:
            resume[0] = at
            payload.data = at
            payload.end = at
            self.stop_offset = offset if nested else offset + <uint64_t>(at - base)
            if all.end - at < 2 or nested and all.end - at == 2:
                return STOP_END  # ignored at the end, as in ProtoTraceTokenizer
            if nested and at[0] != PACKET_TAG:
                return self.timeline.fail(ERROR_NOT_A_PACKET)
            body = read_varint(at, all.end, &tag)
            if body == NULL:
                return self._cut_header(at, all.end)
            size = 0
            if tag & 7 == VARINT:
                body = read_varint(body, all.end, &size)
                size = 0
            elif tag & 7 == BYTES:
                body = read_varint(body, all.end, &size)
            elif tag & 7 == FIXED64:
                size = 8
            elif tag & 7 == FIXED32:
                size = 4
            else:
                return self.timeline.fail(ERROR_FIELD_TYPE)
            if body == NULL:
                return self._cut_header(at, all.end)
            if size > <uint64_t>(all.end - body):
                if size < (<uint64_t>1 << 62):
                    payload.end = at + ((body - at) + <int64_t>size)
                else:
                    return self.timeline.fail(ERROR_HEADER)
                return STOP_END
            packet.data = body
            packet.end = body + size
            at = packet.end
            if tag == PACKET_TAG:
                self.timeline.begin_packet(self.packets, self.stop_offset)
                first = self.rows.n
                if size:
                    stop = self.import_packet(packet)
                if stop == STOP_COMPRESSED:
                    if nested:
                        return self.timeline.fail(ERROR_NESTED_COMPRESSION)
                    if self.file_codec and self.file_codec != self.packet.codec:
                        return self.timeline.fail(ERROR_MIXED_COMPRESSION)
                    self.file_codec = self.packet.codec
                    self.codec = self.packet.codec
                    payload[0] = self.packet.compressed
                    resume[0] = at
                    return stop
                if stop == STOP_NEEDS_FINAL or stop == STOP_ERROR:
                    return stop
                self.packets += 1
                if self.observer is not None and size:
                    full = self.notify(first)
                if self.rows.n >= self.batch_rows or full:
                    resume[0] = at
                    return STOP_ROWS
            else:
                if not self.n_strays:
                    self.stray_offset = self.stop_offset
                self.n_strays += 1
        resume[0] = at
        payload.data = at
        payload.end = at
        return STOP_END

    cdef int notify(self, int64_t first) except -1 nogil:
        """Give the observer a packet that has been imported."""
        cdef Packet *p = &self.packet
        cdef ImportedPacket imported
        imported.whole = p.whole
        imported.message = &p.message
        imported.inner = p.inner
        imported.inner_field = p.inner_field
        imported.packet = self.timeline.row.packet
        imported.offset = self.timeline.row.offset
        imported.machine = p.machine
        imported.sequence = p.sequence
        imported.has_sequence_id = p.message.has_trusted_packet_sequence_id
        imported.valid = self.streams.sequences[p.sequence].valid
        imported.cleared = p.cleared
        imported.placed = p.placed
        imported.trace_time = p.trace_time
        imported.snapshot_taken = is_set(p.message.clock_snapshot) and self.snapshots.taken
        imported.ftrace_valid_ns = self.streams.machines[p.machine].ftrace_valid_ns
        return self.observer.observe(&imported, self.rows, first)

    cdef int _cut_header(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        if end - at >= LONGEST_HEADER:
            return self.timeline.fail(ERROR_HEADER)
        return STOP_END
