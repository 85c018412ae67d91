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
        if is_set(m.track_descriptor):
            self.learn_track(p.machine, m.track_descriptor)
        if is_set(m.process_tree):
            self.learn_tree(p.machine, m.process_tree)
        if is_set(m.ftrace_events):
            self.learn_bundle(p.machine, m.ftrace_events)
        if is_set(m.thread_descriptor):
            self.learn_thread(p.machine, m.thread_descriptor)
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
        cdef Span one
        cdef bint found, has_pid
        cdef int32_t pid
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            one = span_of(&f)
            if f.number == TREE_PROCESSES:
                self.learn_tree_process(machine, one)
            elif f.number == TREE_THREADS:
                pid = <int32_t>load_number(one, TREE_THREAD_TGID, &has_pid)
                self.call_thread(
                    machine, has_pid, pid, <int32_t>load_number(one, TREE_THREAD_TID, &found),
                    load_bytes(one, TREE_THREAD_NAME), THREAD_BY_SYSTEM,
                )
        return 0

    cdef int learn_tree_process(self, uint32_t machine, Span process) except -1 nogil:
        """Its name is its first argument, up to a blank where there is only one."""
        cdef Span rest = process
        cdef const uint8_t *blank
        cdef Field f
        cdef Span name
        cdef int arguments = 0
        cdef bint found
        cdef int32_t pid = <int32_t>load_number(process, TREE_PROCESS_PID, &found)
        name.data = NULL
        name.end = NULL
        while next_field(&rest, &f):
            if f.number == TREE_PROCESS_CMDLINE and f.wire == BYTES:
                if arguments == 0:
                    name = span_of(&f)
                arguments += 1
        if arguments == 0:
            return 0
        # The process's main thread has its pid.
        if load_number(process, TREE_PROCESS_CMDLINE_IS_COMM, &found):
            self.call_thread(machine, True, pid, pid, name, THREAD_BY_SYSTEM)
        if arguments == 1 and name.end > name.data:
            blank = <const uint8_t *>memchr(name.data, b" ", <size_t>(name.end - name.data))
            if blank != NULL:
                name.end = blank
        return self.call(
            self.enter(machine, PROCESS, 0, <uint64_t><uint32_t>pid), name, BY_SYSTEM
        )

    cdef int learn_bundle(self, uint32_t machine, Span bundle) except -1 nogil:
        """What the scheduler calls threads (ftrace/ftrace_parser.cc, UpdateThreadName)."""
        cdef Span rest = bundle
        cdef Span rest_of_event
        cdef Field f, g
        cdef Span event
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            event = span_of(&f)
            if f.number == BUNDLE_COMPACT_SCHED:
                self.learn_sched(
                    machine, event, SCHED_SWITCH_NEXT_PID, SCHED_SWITCH_NEXT_COMM_INDEX
                )
                self.learn_sched(machine, event, SCHED_WAKING_PID, SCHED_WAKING_COMM_INDEX)
            elif f.number == BUNDLE_EVENT:
                rest_of_event = event
                while next_field(&rest_of_event, &g):
                    if g.wire != BYTES:
                        continue
                    if g.number == FTRACE_EVENT_SCHED_SWITCH:
                        self.learn_comm(
                            machine, span_of(&g), SCHED_SWITCH_EVENT_NEXT_PID,
                            SCHED_SWITCH_EVENT_NEXT_COMM,
                        )
                    elif g.number == FTRACE_EVENT_TASK_NEWTASK:
                        self.learn_comm(machine, span_of(&g), TASK_NEWTASK_PID, TASK_NEWTASK_COMM)
                    elif g.number == FTRACE_EVENT_TASK_RENAME:
                        self.learn_comm(machine, span_of(&g), TASK_RENAME_PID, TASK_RENAME_NEWCOMM)
                    break
        return 0

    cdef int learn_comm(
        self, uint32_t machine, Span event, uint32_t pid, uint32_t comm
    ) except -1 nogil:
        """Learn a thread's name from an event."""
        cdef bint found
        cdef int32_t tid = <int32_t>load_number(event, pid, &found)
        if not found:
            return 0
        return self.call_thread(
            machine, False, 0, tid, load_bytes(event, comm), THREAD_BY_FTRACE
        )

    cdef int learn_sched(
        self, uint32_t machine, Span sched, uint32_t pids, uint32_t comms
    ) except -1 nogil:
        """compact_sched: columns of threads, and of where in its table their names are."""
        cdef Span rest = sched
        cdef Span threads = load_bytes(sched, pids)
        cdef Span names = load_bytes(sched, comms)
        cdef Field f
        cdef uint64_t tid, name
        self.n_comms = 0
        while next_field(&rest, &f):
            if f.number == SCHED_INTERN_TABLE and f.wire == BYTES:
                grow(<void **>&self.comms, &self.comms_capacity, self.n_comms + 1, sizeof(Span))
                self.comms[self.n_comms] = span_of(&f)
                self.n_comms += 1
        while threads.data < threads.end and names.data < names.end:
            threads.data = read_varint(threads.data, threads.end, &tid)
            names.data = read_varint(names.data, names.end, &name)
            if threads.data == NULL or names.data == NULL or name >= <uint64_t>self.n_comms:
                break
            self.call_thread(
                machine, False, 0, <int32_t>tid, self.comms[name], THREAD_BY_FTRACE
            )
        return 0

    cdef int learn_process(
        self, uint32_t machine, Span process, Span chrome
    ) except -1 nogil:
        """ParseProcessDescriptor and ParseChromeProcessDescriptor."""
        cdef bint has_pid, found
        cdef int32_t pid = <int32_t>load_number(process, PROCESS_DESCRIPTOR_PID, &has_pid)
        cdef int32_t index
        cdef uint64_t type
        if not has_pid:
            return 0
        index = self.enter(machine, PROCESS, 0, <uint64_t><uint32_t>pid)
        self.call(index, load_bytes(process, PROCESS_DESCRIPTOR_PROCESS_NAME), BY_DESCRIPTOR)
        type = load_number(process, PROCESS_DESCRIPTOR_CHROME_PROCESS_TYPE, &found)
        if found:
            self.call_type(index, type)
        if is_set(chrome):
            self.call_type(index, load_number(chrome, CHROME_PROCESS_PROCESS_TYPE, &found))
        return 0

    cdef int call_type(self, int32_t index, uint64_t type) except -1 nogil:
        """Name a process after what it does."""
        cdef const uint8_t *at = self.process_types.data
        cdef const uint8_t *end = at + self.process_types.n
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

    cdef int32_t learn_thread(self, uint32_t machine, Span thread) except -2 nogil:
        """ParseThreadDescriptor; the thread of that pid and tid, -1 without any."""
        cdef bint has_pid, has_tid
        cdef int32_t pid = <int32_t>load_number(thread, THREAD_DESCRIPTOR_PID, &has_pid)
        cdef int64_t tid = <int64_t>load_number(thread, THREAD_DESCRIPTOR_TID, &has_tid)
        cdef Span name = load_bytes(thread, THREAD_DESCRIPTOR_THREAD_NAME)
        cdef int32_t index
        if not has_pid or not has_tid:
            return -1
        self.call_thread(machine, True, pid, tid, name, THREAD_BY_DESCRIPTOR)
        # Processes in a sandbox may count their threads from 1: a tid alone is ambiguous there.
        index = self.enter(machine, THREAD_OF, pid, <uint64_t>tid)
        self.call(index, name, THREAD_BY_DESCRIPTOR)
        return index

    # long: one pass over the fields, then what follows from them together
    cdef int learn_track(self, uint32_t machine, Span track) except -1 nogil:
        """TokenizeTrackDescriptorPacket, ReserveDescriptorTrack: a track's first name stays."""
        cdef Span rest = track
        cdef Field f
        cdef Span name, thread, process, chrome, counter
        cdef uint64_t uuid = 0, parent = 0, type
        cdef bint has_uuid = False, found
        cdef int32_t index, pid
        cdef int64_t tid
        cdef Known *one
        name.data = thread.data = process.data = chrome.data = counter.data = NULL
        name.end = thread.end = process.end = chrome.end = counter.end = NULL
        while next_field(&rest, &f):
            if f.number == TRACK_DESCRIPTOR_UUID and is_number(&f):
                uuid = f.value
                has_uuid = True
            elif f.number == TRACK_DESCRIPTOR_PARENT_UUID and is_number(&f):
                parent = f.value
            elif f.wire != BYTES:
                continue
            elif (
                f.number == TRACK_DESCRIPTOR_NAME or f.number == TRACK_DESCRIPTOR_STATIC_NAME
                or f.number == TRACK_DESCRIPTOR_ATRACE_NAME
            ):
                name = span_of(&f)
            elif f.number == TRACK_DESCRIPTOR_THREAD:
                thread = span_of(&f)
            elif f.number == TRACK_DESCRIPTOR_PROCESS:
                process = span_of(&f)
            elif f.number == TRACK_DESCRIPTOR_CHROME_PROCESS:
                chrome = span_of(&f)
            elif f.number == TRACK_DESCRIPTOR_COUNTER:
                counter = span_of(&f)
        if not has_uuid:
            return 0
        if is_set(thread):
            self.learn_thread(machine, thread)
        elif is_set(process):
            self.learn_process(machine, process, chrome)
        elif is_set(counter) and not is_set(name):
            type = load_number(counter, COUNTER_TYPE, &found)
            if type == 1:  # COUNTER_THREAD_TIME_NS
                name.data = <const uint8_t *>b"thread_time"
                name.end = name.data + 11
            elif type == 2:  # COUNTER_THREAD_INSTRUCTION_COUNT
                name.data = <const uint8_t *>b"thread_instruction_count"
                name.end = name.data + 24
        index = self.enter(machine, TRACK, 0, uuid)
        if index < 0:
            return 0
        one = &self.known[index]
        if not one.has_pid and not one.has_tid and is_set(thread):
            tid = <int64_t>load_number(thread, THREAD_DESCRIPTOR_TID, &one.has_tid)
            pid = <int32_t>load_number(thread, THREAD_DESCRIPTOR_PID, &found)
            one.has_pid = one.has_tid = one.has_tid and found
            one.tid = tid
            one.pid = pid
        elif not one.has_pid and is_set(process):
            one.pid = <int32_t>load_number(process, PROCESS_DESCRIPTOR_PID, &one.has_pid)
        if one.parent == 0 and uuid:
            one.parent = parent
        if one.name.data == NULL:
            return self.call(index, name, BY_SYSTEM)
        return 0

    # Look-up after the whole file

    cdef int32_t process_of(self, uint32_t machine, int32_t pid) noexcept nogil:
        return self.find(machine, PROCESS, 0, <uint64_t><uint32_t>pid)

    cdef int32_t thread_of(
        self, uint32_t machine, bint has_pid, int32_t pid, int64_t tid
    ) noexcept nogil:
        cdef int32_t index = -1
        if has_pid:
            index = self.find(machine, THREAD_OF, pid, <uint64_t>tid)
        if index < 0:
            index = self.find(machine, THREAD, 0, <uint64_t>tid)
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
