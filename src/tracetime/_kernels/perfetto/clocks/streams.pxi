# Who writes the packets of a trace: machines, and packet sequences on them.

cdef enum:
    LONGEST_SYSTEM = 64

cdef const char *WINDOWS = b"Windows"
cdef const char *OS_NAME = b"os-name"


cdef class Streams:
    """Machines and packet sequences by number, in order of appearance.

    seed: of the hashes of what the file calls them.
    """

    def __cinit__(self, uint64_t seed):
        self.seed = seed
        self.systems = {}
        self.last_sequence = -1
        self.machine(0)

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_machines):
            free(self.machines[i].cpus_seen)
        free(self.machines)
        free_table(&self.machine_table)
        free(self.sequences)
        free_table(&self.sequence_table)

    @property
    def machine_ids(self):
        """machine_id of each machine, in order of appearance; the first is the host's."""
        return [self.machines[i].raw_id for i in range(self.n_machines)]

    cdef uint32_t machine(self, uint32_t raw_id) except? 0xFFFFFFFF nogil:
        """The number of a machine, new or known (CreateRemoteMachineReader)."""
        cdef uint64_t hash = mix(self.seed ^ raw_id), slot = hash
        cdef int64_t i = next_match(&self.machine_table, hash, &slot)
        cdef Machine *made
        while i >= 0:
            if self.machines[i].raw_id == raw_id:
                return <uint32_t>i
            i = next_match(&self.machine_table, hash, &slot)
        grow(
            <void **>&self.machines, &self.machines_capacity, self.n_machines + 1, sizeof(Machine)
        )
        made = &self.machines[self.n_machines]
        memset(made, 0, sizeof(Machine))
        made.raw_id = raw_id
        if self.n_machines:
            made.default_clock = self.machines[0].default_clock
        self.n_machines += 1
        add_index(&self.machine_table, hash, self.n_machines - 1)
        return <uint32_t>(self.n_machines - 1)

    cdef uint32_t machine_of(self, Packet *p) except? 0xFFFFFFFF nogil:
        """The machine of a packet: one that comes before every host packet is the host."""
        if p.message.machine_id == 0:
            if not self.host_used and not is_set(p.message.synchronization_marker):
                self.host_used = True
            return 0
        if not self.adoption_settled:
            self.adoption_settled = True
            if not self.host_used:
                self.adopted = p.message.machine_id
                self.machines[0].raw_id = p.message.machine_id
        if p.message.machine_id == self.adopted:
            return 0
        return self.machine(p.message.machine_id)

    cdef int64_t sequence(self, uint32_t machine, uint32_t id) except -1 nogil:
        """Index of a packet sequence, new or known."""
        cdef uint64_t hash, slot
        cdef Sequence *made
        cdef int64_t i = self.last_sequence
        if i >= 0 and self.sequences[i].id == id and self.sequences[i].machine == machine:
            return i
        hash = slot = mix(self.seed ^ (<uint64_t>machine << 32 | id))
        i = next_match(&self.sequence_table, hash, &slot)
        while i >= 0:
            if self.sequences[i].id == id and self.sequences[i].machine == machine:
                self.last_sequence = i
                return i
            i = next_match(&self.sequence_table, hash, &slot)
        grow(
            <void **>&self.sequences, &self.sequences_capacity, self.n_sequences + 1,
            sizeof(Sequence),
        )
        made = &self.sequences[self.n_sequences]
        memset(made, 0, sizeof(Sequence))
        made.machine = machine
        made.id = id
        self.last_sequence = self.n_sequences
        self.n_sequences += 1
        add_index(&self.sequence_table, hash, self.last_sequence)
        return self.last_sequence

    cdef bint converts_at_end(self) noexcept nogil:
        """Whether the first conversion of any machine is one at the end of the file."""
        cdef int64_t i
        for i in range(self.n_machines):
            if self.machines[i].converts_at_end and not self.machines[i].converted:
                return True
        return False

    cdef int note_system(self, Packet *p) except -1 nogil:
        """Keep the name of a machine's system: the first one counts."""
        cdef Span name = nothing(), rest = p.message.chrome_events
        cdef Span found
        cdef Field f
        if self.machines[p.machine].has_system:
            return 0
        if is_set(p.message.system_info):
            name = load_bytes(
                load_bytes(p.message.system_info, SYSTEM_INFO_UTSNAME), UTSNAME_SYSNAME
            )
        elif p.inner_field == PACKET_ETW_EVENTS:
            # Event Tracing for Windows.
            name.data = <const uint8_t *>WINDOWS
            name.end = name.data + 7
        while not is_set(name) and next_field(&rest, &f):
            if f.number == CHROME_EVENTS_METADATA and f.wire == BYTES:
                found = load_bytes(span_of(&f), CHROME_METADATA_NAME)
                if found.end - found.data == 7 and memcmp(found.data, OS_NAME, 7) == 0:
                    name = load_bytes(span_of(&f), CHROME_METADATA_STRING_VALUE)
        if name.end > name.data:
            self.machines[p.machine].has_system = True
            with gil:
                self.systems[p.machine] = <bytes>(<const char *>name.data)[
                    :min(name.end - name.data, LONGEST_SYSTEM)
                ]
        return 0
