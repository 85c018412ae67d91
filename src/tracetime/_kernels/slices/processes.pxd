from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable

# Names of higher priority stay: ThreadNamePriority and ProcessNamePriority.
cdef enum:
    THREAD_BY_FTRACE = 1
    THREAD_BY_SYSTEM = 2
    THREAD_BY_TYPE = 3
    THREAD_BY_DESCRIPTOR = 4
    THREAD_BY_US = 5
    PROCESS_BY_TYPE = 1
    PROCESS_BY_DESCRIPTOR = 2
    PROCESS_BY_RENDERER_TYPE = 3
    PROCESS_BY_SYSTEM = 4

cdef struct Thread:
    int64_t tid
    int32_t process             # NOBODY where it is not known
    int32_t name
    uint32_t machine
    int32_t older               # the thread that had its tid before, NOBODY: none
    int32_t newer
    int32_t sibling             # the next thread of its process
    int32_t alike               # the next thread of the same unknown process, in a circle
    int32_t group               # towards the root of those threads, a union-find
    uint8_t priority
    bint ended

cdef struct Process:
    int64_t pid
    int32_t name
    uint32_t machine
    int32_t threads             # the last one of the list
    uint8_t priority
    bint ended

# A tid or a pid on a machine: the threads, or the process, that it refers to.
cdef struct Holder:
    int64_t number
    uint32_t machine
    uint8_t kind
    int32_t newest              # of threads; the process
    int32_t live                # the thread that a tid alone refers to


cdef class Processes:
    cdef uint64_t seed
    cdef Thread *threads
    cdef int64_t n_threads, threads_capacity
    cdef Process *processes
    cdef int64_t n_processes, processes_capacity
    cdef Holder *holders
    cdef int64_t n_holders, holders_capacity
    cdef HashTable table

    cdef int64_t holder(self, int kind, uint32_t machine, int64_t number) except -1 nogil
    cdef bint alive(self, int32_t thread) noexcept nogil
    cdef int unlink(self, Holder *holder, int32_t thread) noexcept nogil
    cdef int refresh(self, uint32_t machine, int64_t tid) except -1 nogil
    cdef int refresh_threads(self, int32_t process) except -1 nogil
    cdef int32_t find(
        self, uint32_t machine, int64_t tid, bint has_pid, int64_t pid
    ) except -2 nogil
    cdef int32_t start_thread(self, uint32_t machine, int64_t tid) except -1 nogil
    cdef int32_t thread(self, uint32_t machine, int64_t tid) except -1 nogil
    cdef int32_t thread_of(self, int64_t tid, int32_t process) except -1 nogil
    cdef int32_t update_thread(self, uint32_t machine, int64_t tid, int64_t pid) except -1 nogil
    cdef int end_thread(self, uint32_t machine, int64_t tid) except -1 nogil
    cdef int attach(self, int32_t thread, int32_t process) noexcept nogil
    cdef int32_t root(self, int32_t thread) noexcept nogil
    cdef int settle_alike(self, int32_t thread) noexcept nogil
    cdef int associate(self, int32_t one, int32_t other) noexcept nogil
    cdef int32_t process(self, uint32_t machine, int64_t pid, bint main=*) except -1 nogil
    cdef int32_t start_process(
        self, uint32_t machine, int64_t pid, int32_t name, int priority, bint main
    ) except -1 nogil
    cdef int name_thread(self, int32_t thread, int32_t name, int priority) noexcept nogil
    cdef int name_process(self, int32_t process, int32_t name, int priority) noexcept nogil
    cdef int set_idle(self, uint32_t machine, int32_t name) except -1 nogil
