# The packets of several traces with numbers of their own, so that they can be one trace.
#
# Packet sequences, machines, tracks and flows get numbers that no other file has; but a process of one
# boot has one track. What a recorder says of a recording is left out where it would be said twice. All
# else stays byte for byte, and so does what is malformed.

cdef class Renumberer:
    """Writes the packets of one file after the other.

    seed: of hashes; random, so that no file can make them collide. sequence: the last packet
    sequence that is taken. names: UTF-8, what each machine of the output is called. shared:
    machines that more than one file is of.

    Attributes:
        named: machines that a SystemInfo of the output is of: it has their name.
        left_out: packets, or parts of them, that say again what is said of a recording.
    """

    cdef readonly uint64_t left_out
    cdef Numbers sequences, tracks, flows, machines
    cdef object names               # of machines, bytes by machine
    cdef set described              # machines that an earlier file has described
    cdef set shared                 # machines that several files are of
    cdef dict processes             # the number of its track, by machine, pid and name
    cdef set seen                   # those of the file at hand
    cdef readonly set named         # machines whose SystemInfo has been written
    cdef uint32_t machine           # that the flags are of
    cdef bint known, is_described, is_shared
    cdef bint is_of_one             # all packets of the file are of one machine of the output
    cdef Bytes out, packet, inner, middle, deep

    def __cinit__(self, uint64_t seed, uint64_t sequence, dict names not None, set shared not None):
        self.sequences = Numbers(seed, sequence)
        self.tracks = Numbers(seed, 0)
        # Below, trace_processor has numbers of its own for the flows that have names.
        self.flows = Numbers(seed, <uint64_t>0xFFFFFFFF)
        self.machines = Numbers(seed, 0)
        self.names = names
        self.shared = shared
        self.described = set()
        self.processes = {}
        self.seen = set()
        self.named = set()

    def __dealloc__(self):
        free(self.out.data)
        free(self.packet.data)
        free(self.inner.data)
        free(self.middle.data)
        free(self.deep.data)

    def begin(self, dict machines not None):
        """Begin a file. machines: of the output, by machine_id of the file; 0 is always there."""
        self.sequences.forget()
        self.tracks.forget()
        self.flows.forget()
        self.machines.forget()
        self.seen.clear()
        for own, made in machines.items():
            self.machines.add(own, made)
        self.is_of_one = len(set(machines.values())) == 1
        self.known = False

    def end(self):
        """End the file: the next one describes its machines no more."""
        cdef int64_t i
        for i in range(self.machines.n):
            self.described.add(self.machines.numbers[i].made)

    def write(self, const uint8_t[::1] data not None):
        """Return packets of the file, renumbered: a part of a Trace, as `data` is."""
        cdef Span rest
        cdef Field f
        self.out.n = 0
        if data.shape[0] == 0:
            return b""
        rest.data = &data[0]
        rest.end = rest.data + data.shape[0]
        with nogil:
            while next_field(&rest, &f):
                if f.number == TRACE_PACKET and f.wire == BYTES:
                    self.put_packet(span_of(&f))
        return <bytes>self.out.data[:self.out.n]

    cdef int enter(self, uint32_t machine) except -1:
        """Note what is known of a machine of the output."""
        self.machine = machine
        self.known = True
        self.is_described = machine in self.described
        self.is_shared = machine in self.shared
        return 0

    cdef uint32_t machine_of(self, Span packet) except? 0 nogil:
        """The machine of a packet in the output: what is none of the file's is its host."""
        cdef bint found
        cdef NewNumber *made
        if self.is_of_one:
            return <uint32_t>self.machines.numbers[0].made
        made = self.machines.find(<uint32_t>load_number(packet, PACKET_MACHINE_ID, &found))
        if made == NULL:
            made = self.machines.find(0)
        return <uint32_t>made.made if made != NULL else 0

    cdef int put_packet(self, Span packet) except -1 nogil:
        """Append a packet, unless nothing of it is left."""
        cdef Bytes *out = &self.packet
        cdef Span rest = packet, before = packet
        cdef const uint8_t *copied = packet.data
        cdef Field f
        cdef bint left_out = False, says = False
        cdef uint32_t machine = self.machine_of(packet)
        if machine != self.machine or not self.known:
            with gil:
                self.enter(machine)
        out.n = 0
        if machine:
            put_value(out, PACKET_MACHINE_ID, machine)
        while next_field(&rest, &f):
            if f.number == PACKET_MACHINE_ID and is_number(&f):
                put_unchanged(out, &copied, before, rest)
            elif f.number == PACKET_TRUSTED_PACKET_SEQUENCE_ID and is_number(&f):
                put_unchanged(out, &copied, before, rest)
                put_value(
                    out, f.number,
                    self.sequences.of(<uint32_t>f.value) if <uint32_t>f.value else 0,
                )
            elif self.is_left_out(&f):
                put_unchanged(out, &copied, before, rest)
                left_out = True
                self.left_out += 1
            else:
                says = says or not is_frame(f.number)
                if f.wire == BYTES and self.put_payload(&f):
                    put_unchanged(out, &copied, before, rest)
                    put_content(out, f.number, self.inner.data, self.inner.n)
            before = rest
        put_bytes(out, copied, packet.end - copied)
        if left_out and not says:
            return 0
        return put_content(&self.out, TRACE_PACKET, out.data, out.n)

    cdef bint is_left_out(self, const Field *f) noexcept nogil:
        """Whether a field of a packet says what the output says already, or of its file alone.

        Flushes and reads of a recording make Perfetto hand out what it has so far: events of the
        files that follow would be too late.
        """
        cdef bint found
        if f.number == PACKET_TRACE_UUID or f.number == PACKET_SYNCHRONIZATION_MARKER:
            return True
        if f.number == PACKET_SERVICE_EVENT:
            if self.is_described or self.is_shared or f.wire != BYTES:
                return True
            load_number(span_of(f), SERVICE_ALL_DATA_SOURCES_FLUSHED, &found)
            if not found:
                load_number(span_of(f), SERVICE_READ_TRACING_BUFFERS_COMPLETED, &found)
            return found
        return self.is_described and (
            f.number == PACKET_TRACE_CONFIG or f.number == PACKET_TRACE_STATS
            or f.number == PACKET_SYSTEM_INFO or f.number == PACKET_CPU_INFO
        )

    cdef bint put_payload(self, const Field *f) except -1 nogil:
        """Write a message into `inner`; False where it stays as it is."""
        self.inner.n = 0
        if f.number == PACKET_TRACK_EVENT:
            self.put_track_event(span_of(f))
        elif f.number == PACKET_TRACK_DESCRIPTOR:
            if self.is_shared:
                self.find_process(span_of(f))
            self.put_numbers(
                self.tracks, span_of(f), &self.inner, TRACK_DESCRIPTOR_UUID,
                TRACK_DESCRIPTOR_PARENT_UUID, 0,
            )
        elif f.number == PACKET_TRACE_PACKET_DEFAULTS:
            self.put_defaults(span_of(f))
        elif f.number == PACKET_TRACE_STATS:
            self.put_sequences(
                span_of(f), TRACE_STATS_WRITER_STATS, WRITER_STATS_SEQUENCE_ID, &self.inner,
                &self.middle,
            )
        elif f.number == PACKET_TRACE_PROVENANCE:
            self.put_provenance(span_of(f))
        elif f.number == PACKET_SYSTEM_INFO:
            self.put_system_info(span_of(f))
        elif f.number == PACKET_FTRACE_EVENTS and self.is_shared:
            # From when on the buffers of a recording hold events is not so of another.
            put_without_bounds(span_of(f), &self.inner)
        else:
            return False
        return True

    cdef int find_process(self, Span track) except -1 nogil:
        """Give the track of a process the number that it has from an earlier file, if it is there.

        Perfetto takes two tracks of one pid for two processes. Two of one file are two.
        """
        cdef bint found
        cdef Field f
        cdef Span rest = track, process, name
        cdef uint64_t own = load_number(track, TRACK_DESCRIPTOR_UUID, &found), pid
        process.data = process.end = name.data = name.end = NULL
        while next_field(&rest, &f):
            if f.number == TRACK_DESCRIPTOR_THREAD:
                return 0
            if f.number == TRACK_DESCRIPTOR_PROCESS and f.wire == BYTES:
                process = span_of(&f)
        if process.data == NULL or not own or self.tracks.find(own) != NULL:
            return 0
        pid = load_number(process, PROCESS_DESCRIPTOR_PID, &found)
        while next_field(&process, &f):
            if f.number == PROCESS_DESCRIPTOR_PROCESS_NAME and f.wire == BYTES:
                name = span_of(&f)
        with gil:
            key = (self.machine, pid, <bytes>name.data[:name.end - name.data])
            made = None if key in self.seen else self.processes.get(key)
            self.seen.add(key)
            if made is None:
                self.processes[key] = self.tracks.of(own)
            else:
                self.tracks.add(own, made)
        return 0

    cdef int put_track_event(self, Span event) except -1 nogil:
        """Write a TrackEvent into `inner`."""
        cdef Span rest = event, before = event
        cdef const uint8_t *copied = event.data
        cdef Field f
        while next_field(&rest, &f):
            if f.number == TRACK_EVENT_LEGACY_EVENT and f.wire == BYTES:
                put_unchanged(&self.inner, &copied, before, rest)
                self.middle.n = 0
                self.put_legacy(span_of(&f))
                put_content(&self.inner, f.number, self.middle.data, self.middle.n)
            elif (
                f.number == TRACK_EVENT_TRACK_UUID
                or f.number == TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS
                or f.number == TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS
            ):
                put_unchanged(&self.inner, &copied, before, rest)
                self.put_mapped(self.tracks, &f, &self.inner)
            elif (
                f.number == TRACK_EVENT_FLOW_IDS or f.number == TRACK_EVENT_TERMINATING_FLOW_IDS
                or f.number == TRACK_EVENT_FLOW_IDS_OLD
                or f.number == TRACK_EVENT_TERMINATING_FLOW_IDS_OLD
            ):
                put_unchanged(&self.inner, &copied, before, rest)
                self.put_mapped(self.flows, &f, &self.inner)
            before = rest
        return put_bytes(&self.inner, copied, event.end - copied)

    cdef int put_legacy(self, Span event) except -1 nogil:
        """Write a LegacyEvent into `middle`: its ids are of flows, and of tracks by name."""
        cdef Span rest = event, before = event
        cdef const uint8_t *copied = event.data
        cdef Field f
        while next_field(&rest, &f):
            if (
                f.number == LEGACY_EVENT_UNSCOPED_ID or f.number == LEGACY_EVENT_BIND_ID
                or f.number == LEGACY_EVENT_LOCAL_ID or f.number == LEGACY_EVENT_GLOBAL_ID
            ):
                put_unchanged(&self.middle, &copied, before, rest)
                self.put_mapped(self.flows, &f, &self.middle)
            before = rest
        return put_bytes(&self.middle, copied, event.end - copied)

    cdef int put_defaults(self, Span defaults) except -1 nogil:
        """Write TracePacketDefaults into `inner`."""
        cdef Span rest = defaults, before = defaults
        cdef Field f
        while next_field(&rest, &f):
            if f.number == DEFAULTS_TRACK_EVENT_DEFAULTS and f.wire == BYTES:
                self.middle.n = 0
                self.put_numbers(
                    self.tracks, span_of(&f), &self.middle, TRACK_EVENT_DEFAULTS_TRACK_UUID,
                    TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS,
                    TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
                )
                put_content(&self.inner, f.number, self.middle.data, self.middle.n)
            else:
                put_between(&self.inner, before, rest)
            before = rest
        return put_bytes(&self.inner, before.data, defaults.end - before.data)

    cdef int put_sequences(
        self, Span message, uint32_t field, uint32_t number, Bytes *out, Bytes *scratch
    ) except -1 nogil:
        """Append a message whose messages `field` have a packet sequence in `number`."""
        cdef Span rest = message, before = message
        cdef Field f
        while next_field(&rest, &f):
            if f.number == field and f.wire == BYTES:
                scratch.n = 0
                self.put_numbers(self.sequences, span_of(&f), scratch, number, 0, 0)
                put_content(out, f.number, scratch.data, scratch.n)
            else:
                put_between(out, before, rest)
            before = rest
        return put_bytes(out, before.data, message.end - before.data)

    cdef int put_provenance(self, Span provenance) except -1 nogil:
        """Write a TraceProvenance into `inner`."""
        cdef Span rest = provenance, before = provenance
        cdef Field f
        while next_field(&rest, &f):
            if f.number == PROVENANCE_BUFFERS and f.wire == BYTES:
                self.middle.n = 0
                self.put_sequences(
                    span_of(&f), PROVENANCE_BUFFER_SEQUENCES, PROVENANCE_SEQUENCE_ID,
                    &self.middle, &self.deep,
                )
                put_content(&self.inner, f.number, self.middle.data, self.middle.n)
            else:
                put_between(&self.inner, before, rest)
            before = rest
        return put_bytes(&self.inner, before.data, provenance.end - before.data)

    cdef int put_system_info(self, Span info) except -1 nogil:
        """Write a SystemInfo into `inner`, with the name of its machine unless it has one."""
        cdef Field f
        cdef Span rest = info
        cdef bint has_name = False
        while next_field(&rest, &f):
            has_name = has_name or f.number == SYSTEM_INFO_MACHINE_NAME
        with gil:
            self.named.add(self.machine)
            name = self.names.get(self.machine)
            if name is not None and not has_name:
                # In front, where what is malformed further on does not hide it.
                put_content(
                    &self.inner, SYSTEM_INFO_MACHINE_NAME, <const uint8_t *><char *>name, len(name)
                )
        return put_span(&self.inner, info)

    cdef int put_numbers(
        self, Numbers numbers, Span message, Bytes *out, uint32_t one, uint32_t two, uint32_t three
    ) except -1 nogil:
        """Append a message with the numbers of up to three of its fields changed."""
        cdef Span rest = message, before = message
        cdef const uint8_t *copied = message.data
        cdef Field f
        while next_field(&rest, &f):
            if f.number and (f.number == one or f.number == two or f.number == three):
                put_unchanged(out, &copied, before, rest)
                self.put_mapped(numbers, &f, out)
            before = rest
        return put_bytes(out, copied, message.end - copied)

    cdef uint64_t new(self, Numbers numbers, uint64_t own) except? 0 nogil:
        """Track and sequence 0 are those of nothing; a flow may have any number."""
        return numbers.of(own) if own or numbers is self.flows else 0

    cdef int put_mapped(self, Numbers numbers, const Field *f, Bytes *out) except -1 nogil:
        """Append a number, or packed numbers, in the place of those of the file."""
        cdef uint8_t scratch[LONGEST_TAG + LONGEST_VARINT]
        cdef uint64_t value
        cdef Span packed
        if f.wire == FIXED64:
            return put_bytes(
                out, scratch, put_fixed(scratch, f.number, self.new(numbers, f.value)) - scratch
            )
        if f.wire != BYTES:
            return put_value(out, f.number, self.new(numbers, f.value))
        packed = span_of(f)
        self.deep.n = 0
        if f.number == TRACK_EVENT_FLOW_IDS or f.number == TRACK_EVENT_TERMINATING_FLOW_IDS:
            while packed.end - packed.data >= 8:
                memcpy(&value, packed.data, 8)
                value = self.new(numbers, value)
                put_bytes(&self.deep, &value, 8)
                packed.data += 8
        else:
            while packed.data != NULL and packed.data < packed.end:
                packed.data = read_varint(packed.data, packed.end, &value)
                if packed.data != NULL:
                    value = self.new(numbers, value)
                    put_bytes(&self.deep, scratch, put_varint(scratch, value) - scratch)
        return put_content(out, f.number, self.deep.data, self.deep.n)


cdef inline bint is_frame(uint32_t field) noexcept nogil:
    """Whether a field says only when and from whom a packet is."""
    return (
        field == PACKET_TIMESTAMP or field == PACKET_TIMESTAMP_CLOCK_ID
        or field == PACKET_TRUSTED_UID or field == PACKET_TRUSTED_PID
    )


cdef int put_without_bounds(Span bundle, Bytes *out) except -1 nogil:
    """Append a bundle of ftrace events that does not say from when on its buffer holds them."""
    cdef Span rest = bundle, before = bundle
    cdef Field f
    while next_field(&rest, &f):
        if (
            f.number != BUNDLE_LAST_READ_EVENT_TIMESTAMP
            and f.number != BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP
        ):
            put_between(out, before, rest)
        before = rest
    return put_bytes(out, before.data, bundle.end - before.data)
