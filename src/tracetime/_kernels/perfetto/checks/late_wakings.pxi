# Switches to threads whose waking is stamped later: effects before their causes.
#
# Linux reads the clock of ftrace on every CPU for itself. A thread that sleeps is woken before it is
# switched to; where the two events are of different CPUs, and the waking has the later time, the
# clocks of these CPUs disagree.
#
# Not every waking while a thread runs is late: one that comes between a thread's decision to sleep
# and its switch leaves it running. A waking while thread T runs, stamped in [in, out], is late
#
# - certainly, where it names another CPU as T's than the one T runs on;
# - probably, where T slept before, and no waking is stamped since it was switched to last, except a
#   late one of that switch,
#
# and where it is nearer to the beginning than to the end: at the end it may be an early one of the
# next sleep. Both ends of the run have to be neighbours on their CPU, with no event lost between
# them. The second rule also needs that the waking is in no event that is missing: every CPU that is
# known to exist has events from before the thread slept until after the switch, and lost none there.
#
# Events are kept until a machine has MOST_EVENTS of them; then the older half is put in order of time
# and replayed. Each CPU's events are in order, and recorders read all CPUs in turn.

cdef class LateWakings:
    """Switches to threads whose waking is stamped later, in the ftrace events of a file."""

    cdef SchedMachine *machines
    cdef int64_t n_machines, machines_capacity
    cdef Thread *threads
    cdef int64_t n_threads, threads_capacity
    cdef HashTable thread_table
    cdef uint64_t seed
    cdef LateWaking *found
    cdef int64_t n_found, found_capacity
    cdef readonly int64_t left_out

    def __cinit__(self):
        # Thread ids come from a file: a random seed keeps it from choosing colliding slots.
        self.seed = int.from_bytes(os.urandom(8), "little")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_machines):
            free(self.machines[i].events)
            free(self.machines[i].cpus)
            free(self.machines[i].gaps)
        free(self.machines)
        free(self.threads)
        free(self.found)
        free_table(&self.thread_table)

    # Reading

    cdef int add(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        """Add the events of a packet's bundle."""
        cdef Span bundle = p.message.ftrace_events
        cdef FtraceEventBundle said
        cdef SchedMachine *m = self.machine(p.machine)
        cdef Span rest = bundle
        cdef Field f
        cdef Cpu *cpu
        cdef int64_t n, row = first
        read_ftrace_event_bundle(bundle, &said)
        if m == NULL or not said.has_cpu or said.cpu >= MAX_CPUS:
            return 0
        if p.message.previous_packet_dropped:
            # Packets before it are missing.
            m.drops += 1
        while row < rows.n and not (
            rows.kind[row] == KIND_FTRACE_EVENT or rows.kind[row] == KIND_SCHED_SWITCH
            or rows.kind[row] == KIND_SCHED_WAKING
        ):
            row += 1
        if row == rows.n:
            return 0
        if not m.has_clock:
            m.has_clock = True
            m.clock = rows.clock[row]
            m.sequence = rows.sequence[row]
        if m.clock != rows.clock[row] or m.sequence != rows.sequence[row]:
            # Times of two clocks have no order.
            self.left_out += 1
            return 0
        cpu = cpu_of(m, said.cpu)
        if said.lost_events or cpu.drops != m.drops:
            cpu.lost = True
        cpu.drops = m.drops
        n = m.n_events
        if is_set(said.compact_sched):
            self.add_column(m, p.packet, said.cpu, said.compact_sched, False)
            self.add_column(m, p.packet, said.cpu, said.compact_sched, True)
        while next_field(&rest, &f):
            if f.number == BUNDLE_EVENT and f.wire == BYTES:
                self.add_event(m, p.packet, said.cpu, span_of(&f))
        self.settle_cpu(m, cpu, n)
        if m.n_events >= MOST_EVENTS:
            self.replay(p.machine, m.n_events / 2)
        return 0

    cdef SchedMachine *machine(self, uint32_t number) except? NULL nogil:
        """A machine by its index; NULL for one too many."""
        if number >= MOST_MACHINES:
            self.left_out += 1
            return NULL
        grow(
            <void **>&self.machines, &self.machines_capacity, <int64_t>number + 1,
            sizeof(SchedMachine),
        )
        while self.n_machines <= number:
            memset(&self.machines[self.n_machines], 0, sizeof(SchedMachine))
            self.machines[self.n_machines].replayed_ns = INT64_LOW
            self.n_machines += 1
        return &self.machines[number]

    cdef int add_column(
        self, SchedMachine *m, uint64_t packet, uint32_t cpu, Span sched, bint waking
    ) except -1 nogil:
        """compact_sched: columns of one length, times as deltas."""
        cdef FtraceEventBundleCompactSched columns
        cdef Span times, threads, others
        cdef uint64_t delta = 0, thread = 0, other = 0, ns = 0
        cdef SchedEvent *e
        read_ftrace_event_bundle_compact_sched(sched, &columns)
        if waking:
            times = columns.waking_timestamp
            threads = columns.waking_pid
            others = columns.waking_target_cpu
        else:
            times = columns.switch_timestamp
            threads = columns.switch_next_pid
            others = columns.switch_prev_state
        while True:
            times.data = read_varint(times.data, times.end, &delta)
            threads.data = read_varint(threads.data, threads.end, &thread)
            others.data = read_varint(others.data, others.end, &other)
            if times.data == NULL or threads.data == NULL or others.data == NULL:
                return 0
            ns += delta
            e = new_event(m, packet, cpu, <int64_t>ns, waking)
            e.thread = <int32_t>thread
            if waking:
                e.other = <int32_t>other
            else:
                e.sleeps = other & NOT_RUNNABLE != 0

    cdef int add_event(
        self, SchedMachine *m, uint64_t packet, uint32_t cpu, Span event
    ) except -1 nogil:
        cdef FtraceEvent said = read_ftrace_event(event)
        cdef SchedSwitchFtraceEvent switch
        cdef SchedWakingFtraceEvent waking
        cdef SchedEvent *e
        if not said.has_timestamp:
            return 0
        if said.kind == FTRACE_EVENT_SCHED_WAKING:
            read_sched_waking_ftrace_event(said.message, &waking)
            e = new_event(m, packet, cpu, said.timestamp, True)
            e.thread = waking.pid
            if waking.has_target_cpu:
                e.other = waking.target_cpu
        elif said.kind == FTRACE_EVENT_SCHED_SWITCH:
            read_sched_switch_ftrace_event(said.message, &switch)
            e = new_event(m, packet, cpu, said.timestamp, False)
            e.thread = switch.next_pid
            if switch.has_prev_pid:
                e.other = switch.prev_pid
            e.sleeps = switch.prev_state & NOT_RUNNABLE != 0
        return 0

    cdef int settle_cpu(self, SchedMachine *m, Cpu *cpu, int64_t from_event) except -1 nogil:
        """Note what is missing before the events that a bundle has added."""
        cdef int64_t i, kept = from_event, first = UNKNOWN, high = INT64_LOW
        for i in range(from_event, m.n_events):
            if m.events[i].ns < m.replayed_ns:
                # Its time has been replayed without it.
                note_gap(m, m.events[i].ns, m.replayed_ns)
                cpu.lost = True
                self.left_out += 1
                continue
            m.events[kept] = m.events[i]
            if first == UNKNOWN or m.events[kept].ns < m.events[first].ns:
                first = kept
            high = max(high, m.events[kept].ns)
            kept += 1
        m.n_events = kept
        if first == UNKNOWN:
            return 0
        if not cpu.seen:
            cpu.begun_ns = m.events[first].ns
        elif m.events[first].ns < cpu.last_ns:
            # The CPU's time went back.
            note_gap(m, m.events[first].ns, cpu.last_ns)
            m.events[first].lost = True
        elif cpu.lost:
            note_gap(m, cpu.last_ns, m.events[first].ns)
        if cpu.lost:
            m.events[first].lost = True
        cpu.lost = False
        cpu.seen = True
        cpu.last_ns = high
        return 0

    # In order of time

    cdef int replay(self, uint32_t machine, int64_t count) except -1 nogil:
        """Replay the oldest events of a machine, so many."""
        cdef SchedMachine *m = &self.machines[machine]
        cdef SchedEvent *sorted_events = NULL
        cdef int64_t i, capacity = 0
        cdef int64_t[::1] ns, order
        if m.n_events == 0:
            return 0
        grow(<void **>&sorted_events, &capacity, m.n_events, sizeof(SchedEvent))
        with gil:
            try:
                ns = np.empty(m.n_events, np.int64)
                for i in range(m.n_events):
                    ns[i] = m.events[i].ns
                order = np.argsort(ns, kind="stable")
            except BaseException:
                free(sorted_events)
                raise
        for i in range(m.n_events):
            sorted_events[i] = m.events[order[i]]
        free(m.events)
        m.events = sorted_events
        m.events_capacity = capacity
        for i in range(count):
            if m.events[i].lost:
                self.forget(machine, m.events[i].cpu)
            if m.events[i].is_waking:
                self.wake(machine, &m.events[i])
            else:
                self.switch(machine, &m.events[i])
        m.replayed_ns = m.events[count - 1].ns
        for i in range(count, m.n_events):
            m.events[i - count] = m.events[i]
        m.n_events -= count
        return 0

    cdef int64_t thread(self, uint32_t machine, int32_t tid) except -2 nogil:
        """The index of a thread; UNKNOWN for the idle ones, and for one too many."""
        cdef uint64_t key = <uint64_t>machine << 32 | <uint32_t>tid
        cdef uint64_t hash = mix(self.seed ^ key), slot = hash
        cdef int64_t i
        if tid == 0:
            return UNKNOWN
        i = next_match(&self.thread_table, hash, &slot)
        while i >= 0 and self.threads[i].key != key:
            i = next_match(&self.thread_table, hash, &slot)
        if i >= 0:
            return i
        if self.n_threads >= MOST_THREADS:
            self.left_out += 1
            return UNKNOWN
        grow(
            <void **>&self.threads, &self.threads_capacity, self.n_threads + 1, sizeof(Thread)
        )
        memset(&self.threads[self.n_threads], 0, sizeof(Thread))
        self.threads[self.n_threads].key = key
        add_index(&self.thread_table, hash, self.n_threads)
        self.n_threads += 1
        return self.n_threads - 1

    cdef int forget(self, uint32_t machine, uint32_t number) except -1 nogil:
        """What runs on a CPU that lost events is unknown."""
        cdef Cpu *cpu = &self.machines[machine].cpus[number]
        if cpu.running != UNKNOWN:
            self.threads[cpu.running].runs = False
        cpu.running = UNKNOWN
        return 0

    cdef int switch(self, uint32_t machine, const SchedEvent *e) except -1 nogil:
        cdef Cpu *cpu = &self.machines[machine].cpus[e.cpu]
        cdef int64_t before = cpu.running, now
        cdef Thread *t
        if e.other != UNKNOWN:
            now = self.thread(machine, e.other)
            if before != UNKNOWN and before != now:
                # A switch is missing.
                self.threads[before].runs = False
            elif before != UNKNOWN:
                self.leave(machine, before, e)
            if now != UNKNOWN:
                self.threads[now].runs = False
                self.threads[now].sleeps = e.sleeps
        elif before != UNKNOWN:
            self.leave(machine, before, e)
            self.threads[before].runs = False
            self.threads[before].sleeps = e.sleeps
        now = self.thread(machine, e.thread)
        cpu.running = <int32_t>now
        if now == UNKNOWN:
            return 0
        t = &self.threads[now]
        t.slept = t.sleeps and not t.runs
        t.has_before = t.has_in
        t.before_ns = t.in_ns
        t.was_woken = t.woken
        t.woken = t.woken_again = t.sleeps = t.has_waking = False
        t.runs = t.has_in = True
        t.in_ns = e.ns
        t.in_packet = e.packet
        t.cpu = e.cpu
        return 0

    cdef int leave(self, uint32_t machine, int64_t thread, const SchedEvent *e) except -1 nogil:
        """A thread that ran from one event of its CPU to the next: was it woken late?"""
        cdef Thread *t = &self.threads[thread]
        cdef LateWaking *one
        cdef bint certain
        if not (t.runs and t.cpu == e.cpu and t.has_waking):
            return 0
        if saturating_sub(t.waking_ns, t.in_ns) > saturating_sub(e.ns, t.waking_ns):
            # It may as well be early, and of the next sleep.
            return 0
        certain = t.target != UNKNOWN and <uint32_t>t.target != t.cpu
        if not certain and not (t.slept and t.has_before and not t.was_woken):
            return 0
        # That waking does not end the next sleep.
        t.woken = t.woken_again
        if self.n_found >= MOST_FOUND:
            self.left_out += 1
            return 0
        grow(<void **>&self.found, &self.found_capacity, self.n_found + 1, sizeof(LateWaking))
        one = &self.found[self.n_found]
        self.n_found += 1
        one.machine = machine
        one.tid = <int32_t>t.key
        one.packet = t.in_packet
        one.cpu = t.cpu
        one.ns = t.in_ns
        one.waking_packet = t.waking_packet
        one.waking_cpu = t.waking_cpu
        one.waking_ns = t.waking_ns
        one.before_ns = t.before_ns
        one.certain = certain
        return 0

    cdef int wake(self, uint32_t machine, const SchedEvent *e) except -1 nogil:
        cdef int64_t number = self.thread(machine, e.thread)
        cdef Thread *t
        if e.other != UNKNOWN and <uint32_t>e.other < MAX_CPUS:
            cpu_of(&self.machines[machine], <uint32_t>e.other).is_target = True
        if number == UNKNOWN:
            return 0
        t = &self.threads[number]
        if t.runs and not t.woken and e.cpu != t.cpu and e.ns > t.in_ns:
            t.has_waking = True
            t.waking_ns = e.ns
            t.waking_packet = e.packet
            t.waking_cpu = e.cpu
            t.target = e.other
        t.woken_again = t.woken
        t.woken = True
        return 0

    def table(self):
        """What was found, once all has been read: int64[11, n].

        Machine index, clock, sequence, tid; of the switch: packet, CPU, time in ns; of the waking:
        the same; whether it is certain.
        """
        cdef int64_t i, kept = 0
        cdef LateWaking *one
        for i in range(self.n_machines):
            self.replay(<uint32_t>i, self.machines[i].n_events)
        table = np.empty((11, self.n_found), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_found):
            one = &self.found[i]
            if not one.certain and may_miss(
                &self.machines[one.machine], one.before_ns, one.ns
            ):
                continue
            out[0, kept] = one.machine
            out[1, kept] = self.machines[one.machine].clock
            out[2, kept] = self.machines[one.machine].sequence
            out[3, kept] = one.tid
            out[4, kept] = <int64_t>one.packet
            out[5, kept] = one.cpu
            out[6, kept] = one.ns
            out[7, kept] = <int64_t>one.waking_packet
            out[8, kept] = one.waking_cpu
            out[9, kept] = one.waking_ns
            out[10, kept] = one.certain
            kept += 1
        return table[:, :kept]
