# Names of tracks, threads and processes, from the descriptors and process trees of a trace.
#
# It is made by one reading of the file, so that a name holds for events that come before it, too.
# Which name wins follows src/trace_processor/importers/common/process_tracker.cc and importers/proto/
# track_event_parser.cc, system_probes_parser.cc; but an id that was used again stays one.

cdef enum:
    # ThreadNamePriority and ProcessNamePriority, both in their order.
    BY_TYPE = 1
    BY_DESCRIPTOR = 2
    BY_RENDERER_TYPE = 3
    BY_SYSTEM = 4
    THREAD_BY_FTRACE = 1
    THREAD_BY_SYSTEM = 2
    THREAD_BY_DESCRIPTOR = 3
    THREAD_BY_US = 4
    RENDERER = 2            # ProcessDescriptor.PROCESS_RENDERER
    ON_THE_WAY = 1
    SETTLED = 2
    MOST_KNOWN = 1 << 28    # in slots of 32 bits


cdef class Directory(PacketObserver):
    """Processes, threads and tracks of a whole trace, by pid, tid and uuid.

    process_types: names by ChromeProcessType, "" for none. limit: bytes it may come to; what comes
    later is not kept, but counted as `left_out`.
    """

    cdef uint64_t seed
    cdef Known *known
    cdef int64_t n, capacity
    cdef HashTable table
    cdef Arena arena
    cdef Bytes scratch
    cdef Span *comms                    # the names of one compact_sched
    cdef int64_t n_comms, comms_capacity, limit
    cdef readonly int64_t left_out
    cdef Bytes process_types            # one after the other, ended by NUL

    def __cinit__(self, process_types, int64_t limit):
        cdef bytes text = b"".join(name.encode() + b"\0" for name in process_types)
        # Keys come from a file, which must not know which of them share a slot.
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.limit = limit
        put_bytes(&self.process_types, <const uint8_t *>text, len(text))

    def __dealloc__(self):
        free(self.known)
        free_table(&self.table)
        free(self.scratch.data)
        free(self.comms)
        free(self.process_types.data)
        let_go(&self.arena)

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        """Learn names from a packet."""
        cdef const TracePacket *m = p.message
        cdef ThreadDescriptor thread
        if is_set(m.track_descriptor):
            self.learn_track(p.machine, m.track_descriptor)
        if is_set(m.process_tree):
            self.learn_tree(p.machine, m.process_tree)
        if is_set(m.ftrace_events):
            self.learn_bundle(p.machine, m.ftrace_events)
        if is_set(m.thread_descriptor):
            read_thread_descriptor(m.thread_descriptor, &thread)
            self.learn_thread(p.machine, &thread)
        if is_set(m.process_descriptor):
            self.learn_process(p.machine, m.process_descriptor, nothing())
        return False

    # Look-up

    cdef uint64_t hash(self, uint32_t machine, int kind, int32_t pid, uint64_t key) noexcept nogil:
        return mix(
            mix(self.seed ^ key) ^ (<uint64_t>machine << 32 | <uint32_t>pid) ^ <uint64_t>kind << 62
        )

    cdef int32_t find(
        self, uint32_t machine, int kind, int32_t pid, uint64_t key
    ) noexcept nogil:
        """Index of the entry with a key (a THREAD_OF by pid, too), -1 if unknown."""
        cdef uint64_t hash = self.hash(machine, kind, pid, key), slot = hash
        cdef Known *one
        cdef int64_t i = next_match(&self.table, hash, &slot)
        while i >= 0:
            one = &self.known[i]
            if one.key == key and one.machine == machine and one.kind == kind and (
                kind != THREAD_OF or one.pid == pid
            ):
                break
            i = next_match(&self.table, hash, &slot)
        return <int32_t>i

    cdef int32_t enter(
        self, uint32_t machine, int kind, int32_t pid, uint64_t key
    ) except -2 nogil:
        """As `find`, but a new entry is made; -1 if there is no more room."""
        cdef int32_t found = self.find(machine, kind, pid, key)
        cdef Known *made
        if found >= 0:
            return found
        if self.held() >= self.limit or self.n >= MOST_KNOWN:
            self.left_out += 1
            return -1
        grow(<void **>&self.known, &self.capacity, self.n + 1, sizeof(Known))
        made = &self.known[self.n]
        memset(made, 0, sizeof(Known))
        made.key = key
        made.machine = machine
        made.kind = <uint8_t>kind
        made.pid = pid
        made.process = -1
        made.thread = -1
        self.n += 1
        add_index(&self.table, self.hash(machine, kind, pid, key), self.n - 1)
        return <int32_t>(self.n - 1)

    cdef int64_t held(self) noexcept nogil:
        """Bytes of memory that follow from the trace."""
        return self.capacity * <int64_t>sizeof(Known) + bytes_of(&self.table) + self.arena.held

    cdef int call(self, int32_t index, Span name, int priority) except -1 nogil:
        """Give a name, unless there is one of higher priority; of the same one the later counts."""
        cdef Known *one
        if index < 0 or not is_set(name) or name.data == name.end:
            return 0
        one = &self.known[index]
        if priority < one.priority:
            return 0
        self.scratch.n = 0
        put_text(&self.scratch, name.data, name.end - name.data, LONGEST_NAME)
        one.priority = <uint8_t>priority
        if self.scratch.n <= one.name.size:
            # Names repeat with every dump of the processes.
            memcpy(<void *>one.name.data, self.scratch.data, <size_t>self.scratch.n)
        elif self.held() >= self.limit:
            self.left_out += 1
            return 0
        else:
            one.name.data = keep_bytes(&self.arena, self.scratch.data, self.scratch.n)
        one.name.size = <uint32_t>self.scratch.n
        return 0

    # Learning

    cdef int call_thread(
        self, uint32_t machine, bint has_pid, int32_t pid, int64_t tid, Span name, int priority
    ) except -1 nogil:
        """A thread by its tid alone, as ftrace knows it."""
        cdef int32_t index = self.enter(machine, THREAD, 0, <uint64_t>tid)
        if tid == 0:
            # Each CPU's idle thread.
            name.data = <const uint8_t *>b"swapper"
            name.end = name.data + 7
            priority = THREAD_BY_US
        if index >= 0 and has_pid:
            self.known[index].pid = pid
            self.known[index].has_pid = True
        return self.call(index, name, priority)

    cdef int learn_tree(self, uint32_t machine, Span tree) except -1 nogil:
        """ProcessTree (proto/system_probes_parser.cc)."""
        cdef Span rest = tree
        cdef Field f
        cdef ProcessTreeThread thread
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            if f.number == TREE_PROCESSES:
                self.learn_tree_process(machine, span_of(&f))
            elif f.number == TREE_THREADS:
                read_process_tree_thread(span_of(&f), &thread)
                self.call_thread(
                    machine, thread.has_tgid, thread.tgid, thread.tid, thread_name(&thread),
                    THREAD_BY_SYSTEM,
                )
        return 0

    cdef int learn_tree_process(self, uint32_t machine, Span process) except -1 nogil:
        """Its name is its first argument, up to a blank where there is only one."""
        cdef ProcessTreeProcess said
        read_process_tree_process(process, &said)
        if said.n_cmdline == 0:
            return 0
        # The process's main thread has its pid.
        if said.cmdline_is_comm:
            self.call_thread(
                machine, True, said.pid, said.pid, command_line(&said), THREAD_BY_SYSTEM
            )
        return self.call(
            self.enter(machine, PROCESS, 0, <uint64_t><uint32_t>said.pid), process_name(&said),
            BY_SYSTEM,
        )

    cdef int learn_bundle(self, uint32_t machine, Span bundle) except -1 nogil:
        """What the scheduler calls threads (ftrace/ftrace_parser.cc, UpdateThreadName)."""
        cdef Span rest = bundle
        cdef Field f
        cdef FtraceEvent event
        cdef SchedSwitchFtraceEvent switch
        cdef TaskNewtaskFtraceEvent start
        cdef TaskRenameFtraceEvent rename
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            if f.number == BUNDLE_COMPACT_SCHED:
                self.learn_sched(machine, span_of(&f))
            elif f.number == BUNDLE_EVENT:
                event = read_ftrace_event(span_of(&f))
                if event.kind == FTRACE_EVENT_SCHED_SWITCH:
                    read_sched_switch_ftrace_event(event.message, &switch)
                    if switch.has_next_pid:
                        self.call_task(machine, switch.next_pid, switch.next_comm)
                elif event.kind == FTRACE_EVENT_TASK_NEWTASK:
                    read_task_newtask_ftrace_event(event.message, &start)
                    if start.has_pid:
                        self.call_task(machine, start.pid, start.comm)
                elif event.kind == FTRACE_EVENT_TASK_RENAME:
                    read_task_rename_ftrace_event(event.message, &rename)
                    if rename.has_pid:
                        self.call_task(machine, rename.pid, rename.newcomm)
        return 0

    cdef int call_task(self, uint32_t machine, int32_t tid, Span comm) except -1 nogil:
        """Name a thread as the scheduler does."""
        return self.call_thread(machine, False, 0, tid, comm, THREAD_BY_FTRACE)

    cdef int learn_sched(self, uint32_t machine, Span sched) except -1 nogil:
        """compact_sched: columns of threads, and of where in its table their names are."""
        cdef Span rest = sched
        cdef FtraceEventBundleCompactSched columns
        cdef Field f
        read_ftrace_event_bundle_compact_sched(sched, &columns)
        self.n_comms = 0
        while next_field(&rest, &f):
            if f.number == SCHED_INTERN_TABLE and f.wire == BYTES:
                grow(<void **>&self.comms, &self.comms_capacity, self.n_comms + 1, sizeof(Span))
                self.comms[self.n_comms] = span_of(&f)
                self.n_comms += 1
        self.call_tasks(machine, columns.switch_next_pid, columns.switch_next_comm_index)
        return self.call_tasks(machine, columns.waking_pid, columns.waking_comm_index)

    cdef int call_tasks(self, uint32_t machine, Span threads, Span names) except -1 nogil:
        """Name threads by a column of compact_sched."""
        cdef uint64_t tid, name
        while threads.data < threads.end and names.data < names.end:
            threads.data = read_varint(threads.data, threads.end, &tid)
            names.data = read_varint(names.data, names.end, &name)
            if threads.data == NULL or names.data == NULL or name >= <uint64_t>self.n_comms:
                break
            self.call_task(machine, <int32_t>tid, self.comms[name])
        return 0

    cdef int learn_process(
        self, uint32_t machine, Span process, Span chrome
    ) except -1 nogil:
        """ParseProcessDescriptor and ParseChromeProcessDescriptor."""
        cdef ProcessDescriptor said
        cdef bint found
        cdef int32_t index
        read_process_descriptor(process, &said)
        if not said.has_pid:
            return 0
        index = self.enter(machine, PROCESS, 0, <uint64_t><uint32_t>said.pid)
        self.call(index, said.process_name, BY_DESCRIPTOR)
        if said.has_chrome_process_type:
            self.call_type(index, said.chrome_process_type)
        if is_set(chrome):
            self.call_type(index, load_number(chrome, CHROME_PROCESS_PROCESS_TYPE, &found))
        return 0

    cdef int call_type(self, int32_t index, uint64_t type) except -1 nogil:
        """Name a process after what it does."""
        cdef const uint8_t *at = self.process_types.data, *end = at + self.process_types.n
        cdef Span name
        cdef uint64_t i = 0
        while at < end:
            name.data = at
            name.end = <const uint8_t *>memchr(at, 0, <size_t>(end - at))
            if i == type:
                return self.call(index, name, BY_RENDERER_TYPE if type == RENDERER else BY_TYPE)
            at = name.end + 1
            i += 1
        return 0

    cdef int learn_thread(self, uint32_t machine, const ThreadDescriptor *said) except -1 nogil:
        """ParseThreadDescriptor."""
        if not said.has_pid or not said.has_tid:
            return 0
        self.call_thread(
            machine, True, said.pid, said.tid, said.thread_name, THREAD_BY_DESCRIPTOR
        )
        # Processes in a sandbox may count their threads from 1: a tid alone is ambiguous there.
        return self.call(
            self.enter(machine, THREAD_OF, said.pid, <uint64_t>said.tid), said.thread_name,
            THREAD_BY_DESCRIPTOR,
        )

    cdef int learn_track(self, uint32_t machine, Span descriptor) except -1 nogil:
        """TokenizeTrackDescriptorPacket, ReserveDescriptorTrack: a track's first name stays."""
        cdef TrackDescriptor track
        cdef ThreadDescriptor thread
        cdef ProcessDescriptor process
        cdef int32_t index
        cdef Known *one
        read_track_descriptor(descriptor, &track)
        if not track.has_uuid:
            return 0
        read_thread_descriptor(track.thread, &thread)
        if is_set(track.thread):
            self.learn_thread(machine, &thread)
        elif is_set(track.process):
            self.learn_process(machine, track.process, track.chrome_process)
        index = self.enter(machine, TRACK, 0, track.uuid)
        if index < 0:
            return 0
        one = &self.known[index]
        if not one.has_pid and not one.has_tid and is_set(track.thread):
            one.has_pid = one.has_tid = thread.has_tid and thread.has_pid
            one.tid = thread.tid
            one.pid = thread.pid
        elif not one.has_pid and is_set(track.process):
            read_process_descriptor(track.process, &process)
            one.pid = process.pid
            one.has_pid = process.has_pid
        if one.parent == 0 and track.uuid:
            one.parent = track.parent_uuid
        if one.name.data == NULL:
            return self.call(index, track_name(&track), BY_SYSTEM)
        return 0

    # Look-up after the whole file

    cdef int32_t process_of(self, uint32_t machine, int32_t pid) noexcept nogil:
        return self.find(machine, PROCESS, 0, <uint64_t><uint32_t>pid)

    cdef int32_t thread_of(
        self, uint32_t machine, bint has_pid, int32_t pid, int64_t tid
    ) noexcept nogil:
        """The thread of a process, or the one that has its tid, where the first has no name."""
        cdef int32_t index = -1, alone
        if has_pid:
            index = self.find(machine, THREAD_OF, pid, <uint64_t>tid)
        if index >= 0 and self.known[index].name.data != NULL:
            return index
        alone = self.find(machine, THREAD, 0, <uint64_t>tid)
        if index < 0 or (alone >= 0 and self.known[alone].pid == pid):
            return alone
        return index

    def settle(self):
        """Find the thread and process that each track belongs to; nothing is learnt afterwards."""
        cdef int64_t i
        with nogil:
            for i in range(self.n):
                if self.known[i].kind == TRACK:
                    self.settle_track(<int32_t>i)

    cdef int settle_track(self, int32_t index) noexcept nogil:
        """Those of the track itself, or of its nearest ancestor that has any."""
        cdef int32_t top = index
        cdef Known *one = &self.known[index]
        cdef Known *holder = NULL
        while one.settled == 0 and not one.has_pid and one.parent:
            one.settled = ON_THE_WAY
            top = self.find(one.machine, TRACK, 0, one.parent)
            if top < 0:
                break
            one = &self.known[top]
        if top >= 0:
            if one.settled == 0:
                one.settled = SETTLED
                if one.has_pid:
                    one.process = self.process_of(one.machine, one.pid)
                    if one.has_tid:
                        one.thread = self.thread_of(one.machine, True, one.pid, one.tid)
            # A track on its own path of ancestors closes a circle, and has no owner.
            if one.settled == SETTLED and one.has_pid:
                holder = one
        one = &self.known[index]
        while one.settled == ON_THE_WAY:
            one.settled = SETTLED
            if holder != NULL:
                one.has_pid = True
                one.pid = holder.pid
                one.has_tid = holder.has_tid
                one.tid = holder.tid
                one.process = holder.process
                one.thread = holder.thread
            index = self.find(one.machine, TRACK, 0, one.parent)
            if index < 0:
                break
            one = &self.known[index]
        return 0
