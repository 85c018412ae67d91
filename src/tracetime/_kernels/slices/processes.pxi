# Threads and processes over time: a tid or pid that was reused means another one.
#
# Follows Perfetto's src/trace_processor/importers/common/process_tracker.cc: events come in order of
# time, which decides what a tid or pid refers to.

cdef enum:
    NOBODY = -1
    TID = 0
    PID = 1
    # Threads of one tid that are searched: real traces have few, hostile ones could have millions.
    MOST_OF_A_TID = 256


cdef class Processes:
    """Threads and processes by number, in order of appearance. seed: of the hashes of their ids."""

    def __cinit__(self, uint64_t seed):
        self.seed = seed

    def __dealloc__(self):
        free(self.threads)
        free(self.processes)
        free(self.holders)
        free_table(&self.table)

    cdef int64_t holder(self, int kind, uint32_t machine, int64_t number) except -1 nogil:
        """The holder of a tid or pid on a machine, made if it is new."""
        cdef uint64_t hash = mix(
            mix(self.seed ^ <uint64_t>number) ^ (<uint64_t>machine << 1 | <uint64_t>kind)
        )
        cdef uint64_t slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot)
        cdef Holder *h
        while i >= 0:
            h = &self.holders[i]
            if h.number == number and h.machine == machine and h.kind == kind:
                return i
            i = next_match(&self.table, hash, &slot)
        grow(
            <void **>&self.holders, &self.holders_capacity, self.n_holders + 1, sizeof(Holder)
        )
        h = &self.holders[self.n_holders]
        h.number = number
        h.machine = machine
        h.kind = <uint8_t>kind
        h.newest = NOBODY
        h.live = NOBODY
        self.n_holders += 1
        add_index(&self.table, hash, self.n_holders - 1)
        return self.n_holders - 1

    # Threads

    cdef bint alive(self, int32_t thread) noexcept nogil:
        """IsThreadAlive: neither it nor its process has ended or was replaced."""
        cdef Thread *t = &self.threads[thread]
        cdef Process *p
        cdef uint64_t hash, slot
        cdef int64_t i
        if t.ended:
            return False
        if t.process == NOBODY:
            return True
        p = &self.processes[t.process]
        if p.ended:
            return False
        hash = slot = mix(mix(self.seed ^ <uint64_t>p.pid) ^ (<uint64_t>p.machine << 1 | PID))
        i = next_match(&self.table, hash, &slot)
        while i >= 0:
            if (
                self.holders[i].number == p.pid and self.holders[i].machine == p.machine
                and self.holders[i].kind == PID
            ):
                return self.holders[i].newest == NOBODY or self.holders[i].newest == t.process
            i = next_match(&self.table, hash, &slot)
        return True

    cdef int unlink(self, Holder *holder, int32_t thread) noexcept nogil:
        """Remove a thread from the list of its tid."""
        cdef Thread *t = &self.threads[thread]
        if t.newer != NOBODY:
            self.threads[t.newer].older = t.older
        elif holder.newest == thread:
            holder.newest = t.older
        if t.older != NOBODY:
            self.threads[t.older].newer = t.newer
        t.newer = t.older = NOBODY
        return 0

    cdef int refresh(self, uint32_t machine, int64_t tid) except -1 nogil:
        """RefreshLiveTid: the newest thread of a tid that is alive."""
        cdef Holder *h = &self.holders[self.holder(TID, machine, tid)]
        cdef int32_t thread = h.newest
        cdef int n = 0
        h.live = NOBODY
        while thread != NOBODY and n < MOST_OF_A_TID:
            if self.alive(thread):
                h.live = thread
                break
            thread = self.threads[thread].older
            n += 1
        return 0

    cdef int refresh_threads(self, int32_t process) except -1 nogil:
        """InvalidateProcessThreads: the tids of a process may refer to other threads now."""
        cdef int32_t thread = self.processes[process].threads
        while thread != NOBODY:
            self.refresh(self.threads[thread].machine, self.threads[thread].tid)
            thread = self.threads[thread].sibling
        return 0

    cdef int32_t find(
        self, uint32_t machine, int64_t tid, bint has_pid, int64_t pid
    ) except -2 nogil:
        """GetThreadOrNull: the thread of a tid, in that process where one is given; or NOBODY."""
        cdef Holder *h = &self.holders[self.holder(TID, machine, tid)]
        cdef int32_t thread = h.newest
        cdef int n = 0
        if not has_pid:
            return h.live
        while thread != NOBODY and n < MOST_OF_A_TID:
            if self.alive(thread) and (
                self.threads[thread].process == NOBODY
                or self.processes[self.threads[thread].process].pid == pid
            ):
                return thread
            thread = self.threads[thread].older
            n += 1
        return NOBODY

    cdef int32_t start_thread(self, uint32_t machine, int64_t tid) except -1 nogil:
        """StartNewThread."""
        cdef int64_t at = self.holder(TID, machine, tid)
        cdef Thread *t
        cdef int32_t made = <int32_t>self.n_threads
        grow(
            <void **>&self.threads, &self.threads_capacity, self.n_threads + 1, sizeof(Thread)
        )
        t = &self.threads[made]
        t.tid = tid
        t.machine = machine
        t.process = t.name = t.newer = t.sibling = NOBODY
        t.alike = t.group = made
        t.priority = 0
        t.ended = False
        t.older = self.holders[at].newest
        if t.older != NOBODY:
            self.threads[t.older].newer = made
        self.holders[at].newest = self.holders[at].live = made
        self.n_threads += 1
        return made

    cdef int32_t thread(self, uint32_t machine, int64_t tid) except -1 nogil:
        """GetOrCreateThread: the thread that a tid alone refers to."""
        cdef int32_t found = self.find(machine, tid, False, 0)
        return self.start_thread(machine, tid) if found == NOBODY else found

    cdef int32_t thread_of(self, int64_t tid, int32_t process) except -1 nogil:
        """GetOrCreateThreadWithParent: the thread of a process with that tid."""
        cdef uint32_t machine = self.processes[process].machine
        cdef int32_t thread = self.find(machine, tid, True, self.processes[process].pid)
        cdef Holder *h
        if thread == NOBODY:
            thread = self.start_thread(machine, tid)
        else:
            # From now on the tid alone refers to this thread.
            h = &self.holders[self.holder(TID, machine, tid)]
            h.live = thread
            if h.newest != thread:
                self.unlink(h, thread)
                self.threads[thread].older = h.newest
                if h.newest != NOBODY:
                    self.threads[h.newest].newer = thread
                h.newest = thread
        if self.threads[thread].process == NOBODY:
            self.attach(thread, process)
        self.settle_alike(thread)
        return thread

    cdef int32_t update_thread(
        self, uint32_t machine, int64_t tid, int64_t pid
    ) except -1 nogil:
        """UpdateThread."""
        return self.thread_of(tid, self.process(machine, pid))

    cdef int end_thread(self, uint32_t machine, int64_t tid) except -1 nogil:
        """EndThread: with the main thread its process ends."""
        cdef int32_t thread = self.find(machine, tid, False, 0)
        cdef int32_t process
        if thread == NOBODY:
            return 0
        self.threads[thread].ended = True
        self.unlink(&self.holders[self.holder(TID, machine, tid)], thread)
        self.refresh(machine, tid)
        process = self.threads[thread].process
        if process == NOBODY or self.processes[process].pid != tid:
            return 0
        self.processes[process].ended = True
        self.holders[self.holder(PID, machine, tid)].newest = NOBODY
        return self.refresh_threads(process)

    cdef int attach(self, int32_t thread, int32_t process) noexcept nogil:
        """AssociateThreadToProcessInternal."""
        self.threads[thread].process = process
        self.threads[thread].sibling = self.processes[process].threads
        self.processes[process].threads = thread
        return 0

    cdef int32_t root(self, int32_t thread) noexcept nogil:
        """The root of the threads of one unknown process."""
        cdef Thread *t = &self.threads[thread]
        while t.group != thread:
            # Halve the way for the next time.
            t.group = self.threads[t.group].group
            thread = t.group
            t = &self.threads[thread]
        return thread

    cdef int settle_alike(self, int32_t thread) noexcept nogil:
        """ResolvePendingAssociations: give the thread's process to all associated threads."""
        cdef int32_t process = self.threads[thread].process
        cdef int32_t other = self.threads[thread].alike, next
        while other != thread:
            next = self.threads[other].alike
            self.threads[other].alike = other
            if self.threads[other].process == NOBODY:
                self.attach(other, process)
            other = next
        self.threads[thread].alike = thread
        return 0

    cdef int associate(self, int32_t one, int32_t other) noexcept nogil:
        """AssociateThreads: two threads belong to one process, which may not be known yet."""
        cdef Thread *a = &self.threads[one]
        cdef Thread *b = &self.threads[other]
        cdef int32_t root
        if a.process != NOBODY and b.process == NOBODY:
            self.attach(other, a.process)
            return self.settle_alike(other)
        if b.process != NOBODY and a.process == NOBODY:
            self.attach(one, b.process)
            return self.settle_alike(one)
        if a.process != NOBODY:
            return 0
        root = self.root(one)
        if root != self.root(other):
            self.threads[self.root(other)].group = root
            a.alike, b.alike = b.alike, a.alike
        return 0

    # Processes

    cdef int32_t process(
        self, uint32_t machine, int64_t pid, bint main=True
    ) except -1 nogil:
        """GetOrCreateProcess, with its main thread or without."""
        cdef int64_t at = self.holder(PID, machine, pid)
        cdef Process *p
        cdef int32_t made
        if self.holders[at].newest != NOBODY:
            return self.holders[at].newest
        made = <int32_t>self.n_processes
        grow(
            <void **>&self.processes, &self.processes_capacity, self.n_processes + 1,
            sizeof(Process),
        )
        p = &self.processes[made]
        p.pid = pid
        p.machine = machine
        p.name = p.threads = NOBODY
        p.priority = 0
        p.ended = False
        self.n_processes += 1
        self.holders[at].newest = made
        if main:
            self.thread_of(pid, made)
        return made

    cdef int32_t start_process(
        self, uint32_t machine, int64_t pid, int32_t name, int priority, bint main
    ) except -1 nogil:
        """StartNewProcess: it replaces the process that had this pid."""
        cdef int64_t at = self.holder(PID, machine, pid)
        cdef int32_t before = self.holders[at].newest, made
        cdef int64_t tid_at = self.holder(TID, machine, pid)
        self.holders[at].newest = NOBODY
        # Threads with this tid are not found any more.
        self.holders[tid_at].newest = self.holders[tid_at].live = NOBODY
        if main:
            self.name_thread(self.start_thread(machine, pid), name, priority)
        made = self.process(machine, pid, main)
        self.name_process(made, name, PROCESS_BY_SYSTEM)
        if before != NOBODY:
            self.refresh_threads(before)
        return made

    # Names

    cdef int name_thread(self, int32_t thread, int32_t name, int priority) noexcept nogil:
        cdef Thread *t = &self.threads[thread]
        if name != NOBODY and priority >= t.priority:
            t.name = name
            t.priority = <uint8_t>priority
        return 0

    cdef int name_process(self, int32_t process, int32_t name, int priority) noexcept nogil:
        cdef Process *p = &self.processes[process]
        if name != NOBODY and priority >= p.priority:
            p.name = name
            p.priority = <uint8_t>priority
        return 0

    cdef int set_idle(self, uint32_t machine, int32_t name) except -1 nogil:
        """SetPidZeroIsUpidZeroIdleProcess: pid and tid 0 are the idle thread."""
        return self.name_thread(self.update_thread(machine, 0, 0), name, THREAD_BY_US)

    def columns(self):
        """Threads as (tid, name, process), processes as (pid, name); -1 where one is not known."""
        cdef int64_t i
        cdef int64_t[::1] tid = (tids := np.empty(self.n_threads, np.int64))
        cdef int32_t[::1] name = (names := np.empty(self.n_threads, np.int32))
        cdef int32_t[::1] process = (owners := np.empty(self.n_threads, np.int32))
        cdef int64_t[::1] pid = (pids := np.empty(self.n_processes, np.int64))
        cdef int32_t[::1] called = (process_names := np.empty(self.n_processes, np.int32))
        for i in range(self.n_threads):
            tid[i] = self.threads[i].tid
            name[i] = self.threads[i].name
            process[i] = self.threads[i].process
        for i in range(self.n_processes):
            pid[i] = self.processes[i].pid
            called[i] = self.processes[i].name
        return (tids, names, owners), (pids, process_names)
