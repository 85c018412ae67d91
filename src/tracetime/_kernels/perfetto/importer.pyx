# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Packets in file order -> rows of the events table, as Perfetto's importer would place them.

Reproduces src/trace_processor/importers/proto/proto_trace_reader.cc and importers/common/
clock_tracker.cc; messages with timestamps of their own are in items.pxi. Files, windows and
decompression are the caller's (formats/perfetto/read/reader.py).
"""

from libc.stdint cimport (
    INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

import numpy as np

from tracetime._kernels.graph.engine import TooManyClocksError

from tracetime._kernels.graph.engine cimport (
    AS_IS, FAULT_OWN_SYNC, NO_PATH, NON_MONOTONIC_SOURCE, OVERFLOW, RESOLVED,
    SKIPPED_INCREMENTAL_STATE, UNKNOWN_TARGET_CLOCK,
    Engine, Key, Node,
)
from tracetime._kernels.graph.router cimport Router
from tracetime._kernels.common.encode cimport unzigzag
from tracetime._kernels.perfetto.extension cimport Extension, is_measured, read_extension
from tracetime._kernels.perfetto.fields cimport *
from tracetime._kernels.perfetto.observer cimport Heard, Listener
from tracetime._kernels.common.hash_table cimport add_index, free_table, mix, next_match
from tracetime._kernels.common.memory cimport (
    INT64_HIGH, grow, mul_overflows, saturating_add, saturating_mul, sub_overflows,
)
from tracetime._kernels.perfetto.remote cimport CLIENT, Instant, Reading, RemoteSyncs
from tracetime._kernels.perfetto.rows cimport (
    KIND_ANDROID_LOG, KIND_ETW_EVENT, KIND_FTRACE_EVENT, KIND_GPU_WORK_PERIOD, KIND_HEAP_DUMP,
    KIND_PACKET, KIND_POWER_RAIL, KIND_PROCESS_START, KIND_SCHED_SWITCH, KIND_SCHED_WAKING,
    KIND_STACK_SAMPLE, KIND_STATSD_ATOM, KIND_TRACK_EVENT_LEGACY, Kind, Row, Rows,
)
from tracetime._kernels.perfetto.snapshot cimport SnapshotClock, read_clock
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED32, FIXED64, VARINT, Field, Span, is_number, is_set, load_bytes, load_number,
    nothing, read_field,
    read_varint, span_of,
)

cdef enum:
    REALTIME = 1
    MONOTONIC = 3
    MONOTONIC_COARSE = 4
    MONOTONIC_RAW = 5
    BOOTTIME = 6
    TRACE_FILE = 11
    FTRACE_SEQUENCE_CLOCK = 64
    MAX_CPUS = 1024
    KEPT_FAULTS = 100
    PACKET_TAG = 0x0A
    LONGEST_HEADER = 20
    FLAG_INCREMENTAL_STATE_CLEARED = 1
    FLAG_NEEDS_INCREMENTAL_STATE = 2
    LONGEST_DOMAIN = 4096
    BLOCK_BITS = 3          # so many neighbouring readings of events are kept together: 2^3
    MOST_SAMPLED = 512      # readings of events that are kept of a clock
    MOST_DOMAINS = 1 << 14
    LONGEST_SYSTEM = 64

# clocks/snapshot.py's: what a tube can hold. No enum, whose constants are C's ints.
cdef int64_t MOST_SCALED_PPM = <int64_t>100000 << 16


cdef const char *WINDOWS = b"Windows"
cdef const char *OS_NAME = b"os-name"


cdef inline bint is_sequence_scoped(uint32_t clock) noexcept nogil:
    return 64 <= clock < 128


cdef inline Key machine_key(uint32_t clock, uint32_t machine) noexcept nogil:
    cdef Key key
    key.clock = clock
    key.sequence = 0
    key.file = 0
    key.machine = machine
    return key


cdef inline bint taken_silently(uint32_t field) noexcept nogil:
    """Whether Perfetto reads a payload without handing its packet to the sorter."""
    return (
        field == PACKET_CHROME_METADATA or field == PACKET_CHROME_BENCHMARK_METADATA
        or field == PACKET_CPU_INFO or field == PACKET_GPU_INFO or field == PACKET_INTERRUPT_INFO
        or field == PACKET_PACKAGES_LIST or field == PACKET_SYSTEM_INFO
        or field == PACKET_TRACE_UUID or field == PACKET_TRACK_EVENT_RANGE_OF_INTEREST
        or field == PACKET_TRANSLATION_TABLE or field == PACKET_UI_STATE
        or field == PACKET_USER_LIST
    )


cdef class Importer:
    """The state of an import: engine, machines, sequences, and what Perfetto's sorter would do.

    file: the number of the trace file (1 inside a compressed file, which is file 0).
    batch_rows: feeding stops after the packet that brings the table to this many rows.
    silent: make no rows; only learn what the end of the file knows.
    """

    def __cinit__(self, uint32_t file, int64_t batch_rows, bint silent=False):
        self.engine = Engine()
        self.router = Router(self.engine, -1)
        self.wall_router = Router(self.engine, -1)
        self.own_router = Router(self.engine, -1)
        self.rows = Rows(1 if silent else batch_rows + batch_rows // 8 + 16)
        self.file = file
        self.batch_rows = batch_rows
        self.silent = silent
        self.faults = []
        self.moves = []
        self.declared = {}
        self.systems = {}
        self.remote = RemoteSyncs()
        self.dropped_packet = -1
        self.trace_node = -1
        self.last_sequence = -1
        self.machine(0)
        self.set_trace_clock(0, TRACE_FILE)
        self.machines[0].converted = False

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_machines):
            free(self.machines[i].cpus_seen)
        free(self.machines)
        free_table(&self.machine_table)
        free(self.sequences)
        free_table(&self.sequence_table)
        free(self.clock_nodes)
        free(self.clock_values)
        free(self.clock_units)
        free(self.clock_incremental)
        free(self.reads)
        free(self.kernel_reads)
        for i in range(self.n_sampled):
            if self.sampled[i] != NULL:
                free(self.sampled[i].values_ns)
                free(self.sampled[i])
        free(self.sampled)

    def finish(self):
        """The end of the file: what could not be converted before is decided from now on."""
        self.at_end = True

    def decide_with(self, Importer final not None):
        """`final`, fed to the end of the same file, places what this importer cannot."""
        self.final = final
        final.rows = self.rows
        final.silent = False

    def listen(self, Listener listener not None):
        """Tell `listener` each packet from now on, once its rows are made."""
        self.listener = listener

    @property
    def trace_clock(self):
        """(clock, machine) of trace time so far."""
        return self.trace_key.clock, self.trace_key.machine

    @property
    def machine_ids(self):
        """machine_id of each machine, in order of appearance; the first is the host's."""
        return [self.machines[i].raw_id for i in range(self.n_machines)]

    # Machines and sequences

    cdef uint32_t machine(self, uint32_t raw_id) except? 0xFFFFFFFF nogil:
        """The number of a machine, made where it is new (CreateRemoteMachineReader)."""
        cdef uint64_t hash = mix(self.engine.seed ^ raw_id), slot = hash
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
        """Who a packet belongs to: a machine ahead of every host packet is the host."""
        if p.machine_id == 0:
            if not self.host_used and not p.synchronization_marker:
                self.host_used = True
            return 0
        if not self.adoption_settled:
            self.adoption_settled = True
            if not self.host_used:
                self.adopted = p.machine_id
                self.machines[0].raw_id = p.machine_id
        if p.machine_id == self.adopted:
            return 0
        return self.machine(p.machine_id)

    cdef int64_t sequence(self, uint32_t machine, uint32_t id) except -1 nogil:
        """Index of a packet sequence, made where it is new."""
        cdef uint64_t hash, slot
        cdef Sequence *made
        cdef int64_t i = self.last_sequence
        if i >= 0 and self.sequences[i].id == id and self.sequences[i].machine == machine:
            return i
        hash = slot = mix(self.engine.seed ^ (<uint64_t>machine << 32 | id))
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

    # Trace time

    cdef int set_trace_clock(self, uint32_t machine, uint32_t clock) except -1 nogil:
        """ClockTracker::SetGlobalClock: settled once the machine has asked for a conversion."""
        cdef Key key = machine_key(clock, machine)
        cdef int32_t node
        if self.machines[machine].converted:
            return 0
        node = self.engine.node(key)
        if node != self.trace_node:
            if self.asked or machine != self.trace_key.machine:
                self.note_move()
            self.trace_key = key
            self.trace_node = node
            self.router.aim(node)
        return 0

    cdef int note_move(self) except -1 nogil:
        """Keep what trace time was before it becomes another clock: the first moves, and the last."""
        cdef Key key = self.trace_key
        with gil:
            if len(self.moves) == KEPT_FAULTS:
                self.moves.pop()
            self.moves.append((self.row.packet, key.clock, key.machine, self.asked))
        return 0

    cdef int note_late_clock(self, uint32_t machine, uint32_t clock) except -1 nogil:
        if machine == self.trace_key.machine and clock != self.trace_key.clock:
            with gil:
                self.late_clock = self.late_clock or (self.packets, clock, machine)
        return 0

    cdef int reach(self, Key source, Key target, Router router) except -1 nogil:
        """Whether one clock converts to another; `router` is aimed there."""
        cdef int32_t source_node = self.engine.find_node(source)
        cdef int32_t target_node = self.engine.find_node(target)
        cdef int64_t ignored
        if target_node < 0:
            return 0
        router.aim(target_node)
        # What overflows has a path; that is what is asked.
        cdef int status = router.convert(source_node, 0, &ignored)
        return status == RESOLVED or status == OVERFLOW

    cdef int equate(self, Key a, Key b) except -1 nogil:
        """Add a snapshot in which both clocks read 0."""
        self.reserve_clocks(2)
        self.set_clock(0, a, 0)
        self.set_clock(1, b, 0)
        return self.add_clocks(2)

    cdef int bridge(self, uint32_t machine) except -1 nogil:
        """Relate a machine's BOOTTIME to trace time (ClockTracker::BridgeToTraceTime)."""
        cdef Key boottime = machine_key(BOOTTIME, machine)
        cdef Key realtime = machine_key(REALTIME, machine)
        cdef Key trace = self.trace_key
        cdef Key trace_realtime = machine_key(REALTIME, trace.machine)
        if self.engine.node(boottime) == self.trace_node:
            return 0
        if self.reach(boottime, trace, self.router):
            return 0
        if (
            machine != trace.machine
            and self.reach(boottime, realtime, self.own_router)
            and (trace.clock == REALTIME or self.reach(trace_realtime, trace, self.router))
        ):
            if not self.reach(realtime, trace_realtime, self.wall_router):
                self.equate(realtime, trace_realtime)
            return 0
        if trace.clock == TRACE_FILE or trace.clock == BOOTTIME:
            self.equate(boottime, trace)
        return 0

    cdef int to_trace_time(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil:
        """ClockTracker::ToTraceTime; returns a Status."""
        cdef Machine *m = &self.machines[machine]
        if not m.converted:
            if not m.bridged:
                m.bridged = True
                self.bridge(machine)
            m.converted = True
            self.asked = True
        cdef int32_t source = self.engine.find_node(key)
        cdef int32_t target = self.router.target
        cdef int status = self.router.convert(source, value, out)
        cdef Node *nodes = self.engine.nodes
        if status == RESOLVED and source != target:
            nodes[source].placed_ns = max(nodes[source].placed_ns, self.engine.source_ns)
            nodes[target].placed_ns = max(nodes[target].placed_ns, out[0])
        # What is placed at the end of the file was put aside before, or has no rows when silent.
        if not self.at_end and (
            status == RESOLVED
            or (status == NON_MONOTONIC_SOURCE and not nodes[source].incremental)
        ):
            self.note_event(source, self.engine.source_ns)
        return status

    cdef int note_event(self, int32_t node, int64_t ns) except -1 nogil:
        """Keep a reading of an event, or not: blocks of neighbours, as many all over the file."""
        cdef Sampled *sample
        cdef int64_t i, n
        if node >= self.n_sampled:
            grow(<void **>&self.sampled, &self.sampled_capacity, node + 1, sizeof(Sampled *))
            for i in range(self.n_sampled, node + 1):
                self.sampled[i] = NULL
            self.n_sampled = node + 1
        sample = self.sampled[node]
        if sample == NULL:
            sample = <Sampled *>calloc(1, sizeof(Sampled))
            if sample == NULL:
                with gil:
                    raise MemoryError
            self.sampled[node] = sample
        elif ns == sample.last_ns:
            sample.repeated += 1
            return 0
        sample.last_ns = ns
        i = sample.seen
        sample.seen += 1
        if (i >> BLOCK_BITS) & ((<int64_t>1 << sample.skipped) - 1):
            return 0
        if sample.n == MOST_SAMPLED:
            # Every other block goes; of those to come, every other is left out.
            n = MOST_SAMPLED >> 1
            for i in range(n):
                sample.values_ns[i] = sample.values_ns[
                    (i >> BLOCK_BITS << (BLOCK_BITS + 1)) | (i & ((1 << BLOCK_BITS) - 1))
                ]
            sample.n = n
            sample.skipped += 1
        grow(<void **>&sample.values_ns, &sample.capacity, sample.n + 1, sizeof(int64_t))
        sample.values_ns[sample.n] = ns
        sample.n += 1
        return 0

    cdef int to_trace_time_or_raw(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil:
        """As `to_trace_time`, but AS_IS with the value itself where there is no way."""
        cdef int status = self.to_trace_time(machine, key, value, out)
        if status != RESOLVED and status != OVERFLOW:
            out[0] = value
            return AS_IS
        return status

    # Snapshots

    cdef int64_t reserve_clocks(self, int64_t n) except -1 nogil:
        grow(<void **>&self.clock_nodes, &self.nodes_capacity, n, sizeof(int32_t))
        grow(<void **>&self.clock_values, &self.values_capacity, n, sizeof(int64_t))
        grow(<void **>&self.clock_units, &self.units_capacity, n, sizeof(int64_t))
        grow(<void **>&self.clock_incremental, &self.incremental_capacity, n, sizeof(uint8_t))
        return n

    cdef int set_clock(self, int64_t i, Key key, int64_t ns) except -1 nogil:
        """Make a clock that counts ns the i-th of the reserved ones."""
        self.clock_nodes[i] = self.engine.node(key)
        self.clock_values[i] = ns
        self.clock_units[i] = 1
        self.clock_incremental[i] = 0
        return 0

    cdef int add_clocks(self, int64_t n) except -1 nogil:
        """Add the reserved clocks as a snapshot (ClockTracker::AddSnapshotInternal)."""
        cdef int64_t i, ignored
        cdef int fault = self.engine.add_snapshot(
            self.clock_nodes, self.clock_values, self.clock_units, self.clock_incremental, n,
            self.trace_node,
        )
        if fault:
            self.note_fault(fault)
            return fault
        # AddSnapshotToTable converts each reading: that fills the cache of conversions.
        for i in range(n):
            self.router.convert(
                self.clock_nodes[i], 0 if self.clock_incremental[i] else self.clock_values[i],
                &ignored,
            )
        return 0

    cdef int note_late_snapshot(self, int64_t n) except -1 nogil:
        """Whether events from after the snapshot that was added last had been placed without it."""
        cdef int64_t i, late_ns, most_ns = -1
        cdef Node *node
        for i in range(n):
            node = &self.engine.nodes[self.clock_nodes[i]]
            if node.placed_ns >= node.last_ns:
                if sub_overflows(node.placed_ns, node.last_ns, &late_ns):
                    late_ns = INT64_HIGH
                most_ns = max(most_ns, late_ns)
        if most_ns >= 0:
            self.n_late_snapshots += 1
            if most_ns > self.latest_snapshot_ns or self.n_late_snapshots == 1:
                self.latest_snapshot_ns = most_ns
                self.latest_snapshot = self.engine.n_snapshots - 1
        return 0

    cdef int note_fault(self, int fault) except -1 nogil:
        cdef Key key = self.engine.nodes[self.clock_nodes[self.engine.fault_position]].key
        cdef int64_t alike
        self.n_faults += 1
        if self.tying and self.clock_nodes[0] == self.clock_nodes[1]:
            fault = FAULT_OWN_SYNC
            self.n_own_syncs += 1
        # However many of the one kind there are, they hide none of the others.
        alike = self.n_own_syncs if fault == FAULT_OWN_SYNC else self.n_faults - self.n_own_syncs
        if alike <= KEPT_FAULTS:
            with gil:
                self.faults.append((
                    fault, self.row.packet, self.row.offset,
                    (key.clock, key.sequence, key.file, key.machine),
                    self.engine.fell_by_ns,
                ))
        return 0

    cdef int import_snapshot(self, Packet *p) except -1 nogil:
        """ProtoTraceReader::ParseClockSnapshot."""
        cdef const uint8_t *at = p.snapshot.data
        cdef Field f
        cdef SnapshotClock one
        cdef Key key
        cdef int64_t n = 0
        cdef uint32_t primary = 0
        cdef bint boottime = False, trace_file = False
        while at < p.snapshot.end:
            at = read_field(at, p.snapshot.end, &f)
            if at == NULL:
                break
            if f.number == SNAPSHOT_PRIMARY_TRACE_CLOCK and is_number(&f):
                primary = <uint32_t>f.value
            elif f.number == SNAPSHOT_CLOCKS and f.wire == BYTES:
                if n >= self.engine.most_nodes:
                    with gil:
                        raise TooManyClocksError
                read_clock(span_of(&f), &one)
                key = machine_key(one.clock, p.machine)
                if is_sequence_scoped(key.clock):
                    if p.sequence_id == 0:
                        return self.fail(ERROR_SNAPSHOT_SEQUENCE)
                    key.sequence = p.sequence_id
                    key.file = self.file
                boottime = boottime or key.clock == BOOTTIME
                trace_file = trace_file or key.clock == TRACE_FILE
                self.reserve_clocks(n + 1)
                self.set_clock(n, key, one.timestamp)
                self.clock_units[n] = one.unit_ns
                self.clock_incremental[n] = one.incremental
                n += 1
        if primary and self.machines[p.machine].converted:
            self.note_late_clock(p.machine, primary)
        if primary == 0 and boottime and not trace_file:
            primary = BOOTTIME
        if primary:
            self.machines[p.machine].default_clock = primary
            self.set_trace_clock(p.machine, primary)
        cdef int fault = self.add_clocks(n)
        if fault == 0:
            self.note_late_snapshot(n)
        if is_set(p.extension):
            self.import_extension(p, n, fault == 0)
        return 0

    cdef int import_extension(self, Packet *p, int64_t n, bint whole) except -1 nogil:
        """What tracetime recorded of a snapshot of n clocks; nothing, where it makes no sense.

        Only it is affected: the snapshot is taken as Perfetto takes it, whatever is in here.
        """
        cdef Extension e
        cdef const uint8_t *at = p.extension.data
        cdef const uint8_t *half
        cdef Field f
        cdef MeasuredRead *read
        cdef uint64_t value
        cdef int64_t i
        if not read_extension(p.extension, &e):
            return 0
        self.note_dropped(e.events_dropped)
        while at < p.extension.end:
            at = read_field(at, p.extension.end, &f)
            if f.number == EXT_DOMAINS and f.wire == BYTES:
                self.declare(p, span_of(&f))
        if whole and is_set(e.kernel_clock):
            self.add_kernel_read(p, e.kernel_clock)
        if not (whole and is_measured(&e, n)):
            return 0
        grow(
            <void **>&self.reads, &self.reads_capacity, self.n_reads + n, sizeof(MeasuredRead)
        )
        at = e.centres.data
        half = e.halves.data
        for i in range(n):
            read = &self.reads[self.n_reads + i]
            read.node = self.clock_nodes[i]
            read.snapshot = self.engine.n_snapshots - 1
            at = read_varint(at, e.centres.end, &value)
            read.centre_ns = unzigzag(value)
            half = read_varint(half, e.halves.end, &value)
            read.half_ns = <int64_t>value
        self.n_reads += n
        return 0

    cdef void note_dropped(self, uint64_t so_far) noexcept nogil:
        """Count what a recorder dropped: it says how much since it began, in every snapshot.

        Where that falls, another recording begins in the file.
        """
        cdef uint64_t more = so_far
        if so_far >= self.dropped_so_far:
            more = so_far - self.dropped_so_far
        if more and self.dropped_packet < 0:
            self.dropped_packet = <int64_t>self.packets
        self.events_dropped += min(more, <uint64_t>INT64_MAX - self.events_dropped)
        self.dropped_so_far = so_far

    cdef int add_kernel_read(self, Packet *p, Span kernel_clock) except -1 nogil:
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
        read.snapshot, read.machine = self.engine.n_snapshots - 1, p.machine
        read.frequency_scaled = frequency
        read.status = unzigzag(load_number(kernel_clock, EXT_KERNEL_STATUS, &found))
        self.n_kernel_reads += 1
        return 0

    cdef int declare(self, Packet *p, Span domain) except -1 nogil:
        """Keep what is said of a clock, by its key: what is said last counts."""
        cdef bint found
        cdef Key key = machine_key(
            <uint32_t>load_number(domain, EXT_DOMAIN_CLOCK_ID, &found), p.machine
        )
        if not found or domain.end - domain.data > LONGEST_DOMAIN:
            return 0
        if is_sequence_scoped(key.clock):
            key.sequence = p.sequence_id
            key.file = self.file
        with gil:
            parts = key.clock, key.sequence, key.file, key.machine
            if parts in self.declared or len(self.declared) < MOST_DOMAINS:
                self.declared[parts] = <bytes>(<const char *>domain.data)[
                    :domain.end - domain.data
                ]
        return 0

    cdef int note_system(self, Packet *p) except -1 nogil:
        """Keep what the trace calls the system of a machine: the first to say so counts."""
        cdef const uint8_t *at = p.chrome_events.data
        cdef Span name = nothing()
        cdef Span found
        cdef Field f
        if self.machines[p.machine].has_system:
            return 0
        if is_set(p.system_info):
            name = load_bytes(load_bytes(p.system_info, SYSTEM_INFO_UTSNAME), UTSNAME_SYSNAME)
        elif p.inner_field == PACKET_ETW_EVENTS:
            # Event Tracing for Windows.
            name.data = <const uint8_t *>WINDOWS
            name.end = name.data + 7
        while is_set(p.chrome_events) and at < p.chrome_events.end and not is_set(name):
            at = read_field(at, p.chrome_events.end, &f)
            if at == NULL:
                break
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

    def kernel_clock(self):
        """How the kernel steered its clocks, int64[4, n]: snapshot, machine index, frequency
        (2^-16 ppm), status (STA_ bits); in file order.
        """
        cdef int64_t i
        table = np.empty((4, self.n_kernel_reads), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_kernel_reads):
            out[0, i] = self.kernel_reads[i].snapshot
            out[1, i] = self.kernel_reads[i].machine
            out[2, i] = self.kernel_reads[i].frequency_scaled
            out[3, i] = self.kernel_reads[i].status
        return table

    def measured(self):
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
            key = self.engine.nodes[<int64_t>node].key
            found[key.clock, key.sequence, key.file, key.machine] = tuple(
                np.ascontiguousarray(row) for row in part
            )
        return found

    def events_sampled(self, int64_t least=0):
        """What events read that had been placed where they stand: {key: (int64 ns, n, repeated)}.

        512 readings at most, in blocks of 8 that followed each other, but for equal ones, all over
        the file; how many there were, and how many were as the one before. Without the clocks that
        have fewer readings than `least`, those of snapshots included.
        """
        cdef int64_t i, j
        cdef Sampled *sample
        cdef int64_t[::1] out
        cdef Key key
        found = {}
        for i in range(self.n_sampled):
            sample = self.sampled[i]
            if sample != NULL and sample.n + self.engine.n_readings(<int32_t>i) >= least:
                values = np.empty(sample.n, dtype=np.int64)
                out = values
                for j in range(sample.n):
                    out[j] = sample.values_ns[j]
                key = self.engine.nodes[i].key
                found[key.clock, key.sequence, key.file, key.machine] = (
                    values, sample.seen, sample.repeated
                )
        return found

    # RemoteClockSync

    cdef int import_remote_sync(self, Packet *p) except -1 nogil:
        """ProtoTraceReader::ParseRemoteClockSync."""
        cdef int64_t first_round = self.engine.n_snapshots
        cdef int64_t first_instant, i
        if not self.remote.read(p.remote_sync, self.engine.most_nodes):
            return self.fail(ERROR_REMOTE_SYNC)
        self.add_client_rounds(p.machine)
        self.remote.work_out()
        first_instant = self.engine.n_snapshots
        for i in range(self.remote.n_instants):
            self.add_instant(p.machine, &self.remote.instants[i])
            self.remote.note_worked_out(first_instant + i)
        # Of the host's own nothing is between two machines.
        if p.machine:
            self.remote.bound(p.machine, <int64_t>self.row.packet, first_round, first_instant)
        return STOP_END

    cdef int add_client_rounds(self, uint32_t machine) except -1 nogil:
        """Add a snapshot of what the client read in each round."""
        cdef const Reading *readings = self.remote.readings
        cdef int64_t n_readings = self.remote.n_readings
        cdef int64_t round, n, i = 0
        for round in range(self.remote.n_rounds):
            n = 0
            while i < n_readings and readings[i].place >> 1 == round:
                if readings[i].place & 1 == CLIENT:
                    self.reserve_clocks(n + 1)
                    self.set_clock(n, machine_key(readings[i].clock, machine), readings[i].ns)
                    n += 1
                i += 1
            self.add_clocks(n)
        return 0

    cdef int add_instant(self, uint32_t machine, const Instant *at) except -1 nogil:
        """Add a snapshot of a clock of trace time's machine and of another one."""
        self.reserve_clocks(2)
        self.set_clock(0, machine_key(at.clock, self.trace_key.machine), at.host_ns)
        self.set_clock(1, machine_key(at.clock, machine), at.client_ns)
        if self.trace_key.machine != 0:
            self.n_stray_syncs += 1
        self.tying = True
        self.add_clocks(2)
        self.tying = False
        return 0

    # Rows

    cdef void push(self, int64_t ns) noexcept nogil:
        """TraceSorter::Stream::Push: what a packet without timestamp takes is the latest."""
        if ns < 0:
            return
        if self.events == 0 or ns < self.earliest_ns:
            self.earliest_ns = ns
            self.earliest_event = self.events
        self.events += 1
        if ns > self.latest_ns:
            self.latest_ns = ns

    cdef int fail(self, int error) noexcept nogil:
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
        self.row.source_ns = self.engine.source_ns
        self.row.status = <int8_t>status
        return self.rows.append(&self.row)

    cdef int emit_converted(
        self, Packet *p, Kind kind, uint32_t item, Key key, int64_t timestamp, int64_t value
    ) except -1 nogil:
        """Convert an item's value, count it for the sorter, and make its row."""
        cdef int64_t ns = 0
        cdef int status = p.status
        if status == RESOLVED:
            status = self.to_trace_time(p.machine, key, value, &ns)
            if status == RESOLVED:
                self.push(ns)
        return self.emit(kind, item, key.clock, timestamp, ns, status)

    # Packets

    cdef int read_packet(self, Span s, Packet *p) noexcept nogil:
        """Find the fields that matter; 0 where the packet cannot be read to its end."""
        cdef const uint8_t *at = s.data
        cdef Field f
        cdef uint16_t payload = 0
        memset(p, 0, sizeof(Packet))
        p.whole = s
        while at < s.end:
            at = read_field(at, s.end, &f)
            if at == NULL:
                return 0
            # Numbers first: the fields of nearly every packet.
            if f.number == PACKET_TIMESTAMP:
                if is_number(&f):
                    p.timestamp = <int64_t>f.value
                    p.has_timestamp = True
            elif f.number == PACKET_TRUSTED_PACKET_SEQUENCE_ID:
                if is_number(&f):
                    p.sequence_id = <uint32_t>f.value
                    p.has_sequence_id = True
            elif f.number == PACKET_TIMESTAMP_CLOCK_ID:
                if is_number(&f):
                    p.clock = <uint32_t>f.value
                    p.has_clock = True
            elif f.number == PACKET_SEQUENCE_FLAGS:
                if is_number(&f):
                    p.flags = <uint32_t>f.value
            elif f.number == PACKET_INCREMENTAL_STATE_CLEARED:
                if is_number(&f):
                    p.cleared = f.value != 0
            elif f.number == PACKET_PREVIOUS_PACKET_DROPPED:
                if is_number(&f):
                    p.dropped = <uint32_t>f.value != 0
            elif f.number == PACKET_MACHINE_ID:
                if is_number(&f):
                    p.machine_id = <uint32_t>f.value
            elif f.number == PACKET_TRACE_PACKET_DEFAULTS:
                if f.wire == BYTES:
                    p.defaults = span_of(&f)
            elif (
                f.number == PACKET_TRUSTED_UID or f.number == PACKET_INTERNED_DATA
                or f.number == PACKET_TRUSTED_PID or f.number == PACKET_FIRST_PACKET_ON_SEQUENCE
            ):
                pass
            elif f.number == PACKET_TRACETIME_SNAPSHOT:
                if f.wire == BYTES:
                    p.extension = span_of(&f)
            elif f.number:
                p.payloads += 1
                if payload == 0:
                    payload = <uint16_t>f.number if f.number < 0xFFFF else 0xFFFF
                if f.number == PACKET_SYNCHRONIZATION_MARKER:
                    p.synchronization_marker = True
                if f.wire != BYTES:
                    continue
                if is_inner(f.number):
                    p.inner_field = f.number
                    p.inner = span_of(&f)
                elif f.number == PACKET_CLOCK_SNAPSHOT:
                    p.snapshot = span_of(&f)
                elif f.number == PACKET_REMOTE_CLOCK_SYNC:
                    p.remote_sync = span_of(&f)
                elif f.number == PACKET_SERVICE_EVENT:
                    p.service_event = span_of(&f)
                elif f.number == PACKET_EXTENSION_DESCRIPTOR:
                    p.extension_descriptor = True
                elif f.number == PACKET_CHROME_EVENTS or f.number == PACKET_CHROME_METADATA:
                    p.chrome = True
                    if f.number == PACKET_CHROME_EVENTS:
                        p.chrome_events = span_of(&f)
                elif f.number == PACKET_SYSTEM_INFO:
                    p.system_info = span_of(&f)
                elif f.number == PACKET_THREAD_DESCRIPTOR:
                    p.thread_descriptor = span_of(&f)
                elif f.number == PACKET_TRACK_DESCRIPTOR:
                    p.track_descriptor = span_of(&f)
                elif f.number == PACKET_PROFILE_PACKET or f.number == PACKET_PROCESS_TREE:
                    p.after_sorting_field = f.number
                    p.after_sorting = span_of(&f)
                elif f.number == PACKET_COMPRESSED_PACKETS:
                    p.codec = CODEC_ZLIB
                    p.compressed = span_of(&f)
                elif f.number == PACKET_ZSTD_COMPRESSED_PACKETS:
                    if p.codec != CODEC_ZLIB:
                        p.codec = CODEC_ZSTD
                        p.compressed = span_of(&f)
        self.row.payload = payload
        return 1

    cdef int import_packet(self, Span s) except -1 nogil:
        """ProtoTraceReader::ParsePacket; returns a Stop, STOP_END to go on."""
        cdef Packet *p = &self.packet
        cdef Sequence *sequence
        cdef bint found
        if not self.read_packet(s, p):
            return self.fail(ERROR_PACKET)
        if p.codec:
            return STOP_COMPRESSED
        if (
            p.after_sorting_field and self.final is None and not self.silent
            and (p.payloads > 1 or has_times_after_sorting(p))
        ):
            return STOP_NEEDS_FINAL
        p.machine = self.machine_of(p)
        p.sequence = <uint32_t>self.sequence(p.machine, p.sequence_id)
        sequence = &self.sequences[p.sequence]
        self.row.packet_sequence = p.sequence_id
        self.row.machine = p.machine_id
        if is_set(p.system_info) or is_set(p.chrome_events) or p.inner_field == PACKET_ETW_EVENTS:
            self.note_system(p)

        if p.cleared or p.flags & FLAG_INCREMENTAL_STATE_CLEARED:
            if p.has_sequence_id:
                sequence.valid = True
                sequence.default_clock = 0
                sequence.has_reference = False
                sequence.reference_ns = 0
        elif p.dropped and p.has_sequence_id:
            sequence.valid = False
            sequence.has_reference = False
            sequence.reference_ns = 0
        if is_set(p.defaults) and p.has_sequence_id:
            sequence.default_clock = <uint32_t>load_number(
                p.defaults, DEFAULTS_TIMESTAMP_CLOCK_ID, &found
            )

        if is_set(p.snapshot):
            return self.import_snapshot(p)
        if is_set(p.remote_sync):
            return self.import_remote_sync(p)
        if is_set(p.service_event):
            return self.import_service_event(p)
        if p.extension_descriptor:
            return STOP_END
        if p.flags & FLAG_NEEDS_INCREMENTAL_STATE:
            if p.sequence_id == 0:
                return self.fail(ERROR_INCREMENTAL_SEQUENCE)
            if not sequence.valid:
                if p.has_timestamp:
                    self.emit(
                        KIND_PACKET, 0, p.clock or sequence.default_clock
                        or self.machines[p.machine].default_clock,
                        p.timestamp, 0, SKIPPED_INCREMENTAL_STATE,
                    )
                return STOP_END
        return self.place_packet(p)

    cdef int import_service_event(self, Packet *p) except -1 nogil:
        cdef uint32_t clock = p.clock if p.has_clock else BOOTTIME
        cdef int64_t ns = 0
        cdef bint found
        cdef int status = self.to_trace_time_or_raw(
            p.machine, machine_key(clock, p.machine), p.timestamp, &ns
        )
        if p.has_timestamp:
            self.emit(KIND_PACKET, 0, clock, p.timestamp, ns, status)
        if load_number(p.service_event, SERVICE_ALL_DATA_SOURCES_FLUSHED, &found):
            self.flushes += 1
        if load_number(p.service_event, SERVICE_READ_TRACING_BUFFERS_COMPLETED, &found):
            # TraceSorter::NotifyReadBufferEvent: events from before the mark are handed on, up to
            # the first in order of time that is not. (Of equal times the first pushed counts here;
            # there it also depends on the order of the queues.)
            if not self.full_sort and self.flushes >= 2:
                if self.earliest_event < self.marked_events:
                    self.extracted = True
                self.marked_events = self.events
                self.flushes = 0
        return STOP_END

    cdef int place_packet(self, Packet *p) except -1 nogil:
        """ProtoTraceReader::TimestampTokenizeAndPushToSorter."""
        cdef Machine *m = &self.machines[p.machine]
        cdef Packet late
        cdef uint32_t clock = p.clock
        cdef bint scoped
        cdef Key key
        cdef int64_t ns = 0
        cdef int status
        if not p.has_timestamp:
            p.trace_time = max(m.latest_ns, self.latest_ns)
            return self.import_items(p)
        if clock == 0:
            clock = self.sequences[p.sequence].default_clock
        scoped = is_sequence_scoped(clock)
        if clock == 0:
            clock = m.default_clock
        if p.chrome and (clock == 0 or clock == MONOTONIC):
            clock = MONOTONIC
            status = self.to_trace_time_or_raw(
                p.machine, machine_key(clock, p.machine), p.timestamp, &ns
            )
            if status == OVERFLOW:
                p.clock = clock
                return self.give_up(p, status)
        elif clock == 0:
            status = AS_IS
            ns = p.timestamp
        else:
            key = machine_key(clock, p.machine)
            if scoped:
                if p.sequence_id == 0:
                    return self.fail(ERROR_TIMESTAMP_SEQUENCE)
                key.sequence = p.sequence_id
                key.file = self.file
            status = self.to_trace_time(p.machine, key, p.timestamp, &ns)
            if status != RESOLVED:
                if status != OVERFLOW and not self.at_end and (
                    self.full_sort or not self.extracted
                ):
                    # Put aside until the end of the file.
                    self.full_sort = True
                    if self.silent:
                        return STOP_END
                    if self.final is None:
                        return STOP_NEEDS_FINAL
                    late = p[0]
                    self.final.row = self.row
                    late.machine = self.final.machine_of(&late)
                    late.sequence = <uint32_t>self.final.sequence(late.machine, late.sequence_id)
                    status = self.final.place_packet(&late)
                    self.error = self.final.error
                    return status
                p.clock = clock
                return self.give_up(p, status)
        if ns > m.latest_ns:
            m.latest_ns = ns
        p.trace_time = ns
        self.emit(KIND_PACKET, 0, clock, p.timestamp, ns, status)
        return self.import_items(p)

    cdef int give_up(self, Packet *p, int status) except -1 nogil:
        """A packet that is dropped, and its items with it: rows without trace time."""
        self.emit(KIND_PACKET, 0, p.clock, p.timestamp, 0, status)
        p.status = <int8_t>status
        return self.import_items(p)

    cdef int import_items(self, Packet *p) except -1 nogil:
        """What has timestamps of its own within a packet."""
        if p.payloads > 1:
            return self.import_fields(p)
        if p.inner_field:
            return self.import_inner(p, p.inner_field)
        if is_set(p.thread_descriptor):
            if import_thread_descriptor(self, p, p.thread_descriptor):
                return STOP_END
        elif is_set(p.track_descriptor):
            if import_track_descriptor(self, p, p.track_descriptor):
                return STOP_END
        elif taken_silently(self.row.payload):
            return STOP_END
        if p.status == RESOLVED:
            self.push(p.trace_time)
        if p.after_sorting_field and not self.silent:
            return import_after_sorting(self, p)
        return STOP_END

    cdef int import_fields(self, Packet *p) except -1 nogil:
        """The payloads of a packet that has several, in order, up to one that a module handles."""
        cdef const uint8_t *at = p.whole.data
        cdef Field f
        cdef Span payload
        while at < p.whole.end:
            at = read_field(at, p.whole.end, &f)
            if at == NULL:
                break
            if f.wire != BYTES:
                continue
            payload = span_of(&f)
            if is_inner(f.number):
                p.inner = payload
                # This module reads the packet's last one, the others the one at hand.
                if f.number == PACKET_ANDROID_LOG or f.number == PACKET_POWER_RAILS:
                    p.inner = load_message(p.whole, f.number)
                return self.import_inner(p, f.number)
            if f.number == PACKET_THREAD_DESCRIPTOR:
                if import_thread_descriptor(self, p, payload):
                    return STOP_END
            elif f.number == PACKET_TRACK_DESCRIPTOR:
                if import_track_descriptor(self, p, payload):
                    return STOP_END
            elif taken_silently(f.number):
                return STOP_END
        if p.status == RESOLVED:
            self.push(p.trace_time)
        if not self.silent:
            at = p.whole.data
            while at < p.whole.end:
                at = read_field(at, p.whole.end, &f)
                if at == NULL:
                    break
                if f.wire == BYTES and (
                    f.number == PACKET_PROFILE_PACKET or f.number == PACKET_PROCESS_TREE
                ):
                    p.after_sorting_field = f.number
                    p.after_sorting = span_of(&f)
                    import_after_sorting(self, p)
        return STOP_END

    cdef int import_inner(self, Packet *p, uint32_t inner) except -1 nogil:
        if inner == PACKET_TRACK_EVENT:
            return import_track_event(self, p)
        if inner == PACKET_FTRACE_EVENTS:
            return import_bundle(self, p)
        if inner == PACKET_ANDROID_LOG:
            return import_logs(self, p)
        if inner == PACKET_STATSD_ATOM:
            return import_atoms(self, p)
        if inner == PACKET_POWER_RAILS:
            return import_rails(self, p)
        if inner == PACKET_STREAMING_PROFILE_PACKET:
            return import_streaming_profile(self, p)
        return import_etw(self, p)

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
        cdef const uint8_t *base
        cdef const uint8_t *at
        cdef const uint8_t *needed = NULL
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

    cdef int _feed(
        self, const uint8_t *base, Span all, uint64_t offset, bint nested, const uint8_t **resume,
        Span *payload
    ) except -1 nogil:
        cdef const uint8_t *at = all.data
        cdef const uint8_t *body
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
                return self.fail(ERROR_NOT_A_PACKET)
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
                return self.fail(ERROR_FIELD_TYPE)
            if body == NULL:
                return self._cut_header(at, all.end)
            if size > <uint64_t>(all.end - body):
                if size < (<uint64_t>1 << 62):
                    payload.end = at + ((body - at) + <int64_t>size)
                else:
                    return self.fail(ERROR_HEADER)
                return STOP_END
            packet.data = body
            packet.end = body + size
            at = packet.end
            if tag == PACKET_TAG:
                self.row.packet = self.packets
                self.row.offset = self.stop_offset
                self.row.snapshots = self.engine.n_snapshots
                self.engine.packet = self.packets
                first = self.rows.n
                if size:
                    stop = self.import_packet(packet)
                if stop == STOP_COMPRESSED:
                    if nested:
                        return self.fail(ERROR_NESTED_COMPRESSION)
                    if self.file_codec and self.file_codec != self.packet.codec:
                        return self.fail(ERROR_MIXED_COMPRESSION)
                    self.file_codec = self.packet.codec
                    self.codec = self.packet.codec
                    payload[0] = self.packet.compressed
                    resume[0] = at
                    return stop
                if stop == STOP_NEEDS_FINAL or stop == STOP_ERROR:
                    return stop
                self.packets += 1
                if self.listener is not None and size:
                    full = self.tell(packet, first)
                if self.rows.n >= self.batch_rows or full:
                    resume[0] = at
                    return STOP_ROWS
        resume[0] = at
        payload.data = at
        payload.end = at
        return STOP_END

    cdef int tell(self, Span packet, int64_t first) except -1 nogil:
        """What the listener needs to know of a packet that has been imported."""
        cdef Packet *p = &self.packet
        cdef Heard heard
        heard.whole = packet
        heard.packet = <uint64_t>self.row.packet
        heard.offset = self.row.offset
        heard.machine = p.machine
        heard.sequence = p.sequence
        heard.has_sequence_id = p.has_sequence_id
        heard.valid = self.sequences[p.sequence].valid
        heard.cleared = p.cleared or p.flags & FLAG_INCREMENTAL_STATE_CLEARED
        return self.listener.hear(&heard, self.rows, first)

    cdef int _cut_header(self, const uint8_t *at, const uint8_t *end) noexcept nogil:
        if end - at >= LONGEST_HEADER:
            return self.fail(ERROR_HEADER)
        return STOP_END


include "items.pxi"
