# What events of any format become slices by: names, tasks, tracks, nesting, flows.

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span

cdef enum:
    NO_NAME = -1
    LONGEST_NAME = 8192


cdef class Strings:
    cdef uint64_t seed
    cdef Bytes text
    cdef int32_t *ends
    cdef int64_t n, capacity, limit
    cdef readonly int64_t left_out
    cdef HashTable table
    cdef Bytes scratch

    cdef int32_t code(self, const uint8_t *data, int64_t n) except -2 nogil
    cdef int32_t code_foreign(self, Span s) except -2 nogil
    cdef Span at(self, int32_t code) noexcept nogil
    cdef bint equals(self, int32_t code, const char *text) noexcept nogil


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


# Kinds of tracks; the comments say what the rest of a `TrackKey` holds.
cdef enum TrackKind:
    TRACK_OF_THREAD = 0             # by thread
    TRACK_OF_PROCESS = 1            # by descriptor, as all to TRACK_STATE
    TRACK_SEPARATE = 2
    TRACK_GLOBAL = 3
    TRACK_COUNTER = 4
    TRACK_STATE = 5
    TRACK_MERGED_OF_THREAD = 6      # by parent and by what is merged, as the next two
    TRACK_MERGED_OF_PROCESS = 7
    TRACK_MERGED = 8
    TRACK_ASYNC_OF_PROCESS = 9      # by scope and name, as the next
    TRACK_ASYNC = 10
    TRACK_PROCESS_INSTANTS = 11
    TRACK_GLOBAL_INSTANTS = 12
    TRACK_ATRACE_ASYNC = 13
    TRACK_ATRACE_NAMED = 14
    TRACK_FRAMES_EXPECTED = 15
    TRACK_FRAMES_ACTUAL = 16
    TRACK_FENCES = 17
    TRACK_BY_NAME = 18
    TRACK_KILLED = 19
    TRACK_SPILLED = 20              # by thread and index

# The key of a track: its kind, and what distinguishes it from others of that kind.
cdef struct TrackKey:
    int64_t kind
    int64_t a
    int64_t b
    int64_t c
    int64_t d

cdef struct Track:
    int32_t name
    int32_t thread
    int32_t process
    int32_t set_            # it is a lane of, or -1

# Tracks shared by events with cookies: each cookie has one lane at a time.
cdef struct LaneSet:
    TrackKey key
    int32_t first           # lane of the set, -1: it has none
    int32_t instants        # its track for what has no duration, -1: it has none
    int32_t *free_lanes     # a heap of lanes without an open slice
    int64_t n_free, free_capacity
    int32_t n_lanes

cdef struct Lane:
    int64_t cookie
    int32_t set_
    int32_t index           # within its set
    int32_t track
    int32_t nested          # begins without an end
    bint is_free            # it is in the heap of free lanes


cdef class Tracks:
    cdef uint64_t seed
    cdef Track *tracks
    cdef int64_t n, capacity
    cdef HashTable track_table
    cdef TrackKey *keys             # of tracks
    cdef int64_t keys_capacity
    cdef LaneSet *sets
    cdef int64_t n_sets, sets_capacity
    cdef HashTable set_table
    cdef Lane *lanes
    cdef int64_t n_lanes, lanes_capacity
    cdef HashTable cookie_table

    cdef uint64_t hash(self, const TrackKey *key) noexcept nogil
    cdef int32_t make(
        self, TrackKey key, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t intern(
        self, TrackKey key, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t lane_set(self, TrackKey key) except -1 nogil
    cdef int32_t lane(self, int32_t set_, int64_t cookie) except -1 nogil
    cdef int set_free(self, int32_t lane) except -1 nogil
    cdef int32_t first_free(self, int32_t set_) noexcept nogil
    cdef int remember(self, int32_t lane) except -1 nogil
    cdef int32_t begin(
        self, int32_t set_, int64_t cookie, bint saturating, int32_t name, int32_t thread,
        int32_t process
    ) except -1 nogil
    cdef int32_t end(
        self, int32_t set_, int64_t cookie, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t instants(
        self, int32_t set_, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t first_track(
        self, int32_t set_, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t track_of(
        self, int32_t lane, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil


cdef enum:
    DEEPEST_SLICE = 512         # SliceTracker::kMaxDepth
    NONE = -1
    CROSSES = -3                # of a slice that was not started: it ends after one that is open
    OPEN = -1                   # the duration of a slice that has not ended

cdef struct Slice:
    int64_t ts
    int64_t dur                 # OPEN until it ends
    int32_t depth
    int32_t parent              # the slice below it on its track's stack, or NONE
    int32_t track
    int32_t name
    int32_t category
    int32_t begin               # the events that it begins and ends with,
    int32_t end                 # the same one of a complete slice, NONE: it is open

# The slices that may still be open on a track: the one on top, the others by their parents.
cdef struct Stack:
    int32_t top
    int32_t depth
    int32_t closed              # how many of them have ended


cdef class Slices:
    cdef Slice *slices
    cdef int64_t n, capacity
    cdef Stack *stacks
    cdef int64_t n_stacks, stacks_capacity, limit
    cdef readonly int64_t too_deep      # slices left out for their depth
    cdef readonly int64_t overlapping   # complete ones left out: they cross one that is open
    cdef readonly int64_t unmatched     # ends without a begin
    cdef readonly int64_t left_out      # for want of room

    cdef Stack *stack(self, int32_t track) except NULL nogil
    cdef int pop(self, Stack *stack) noexcept nogil
    cdef bint close(self, Stack *stack, int64_t ts, int64_t dur) noexcept nogil
    cdef int64_t start(
        self, int64_t ts, int64_t dur, int32_t track, int32_t category, int32_t name,
        int32_t event
    ) except -2 nogil
    cdef int64_t begin_saturating(
        self, int64_t ts, int32_t track, int32_t name, int32_t event
    ) except -2 nogil
    cdef int64_t finish(
        self, int64_t ts, int32_t track, int32_t category, int32_t name, int32_t event
    ) except -2 nogil
    cdef int32_t topmost(self, int32_t track) noexcept nogil


cdef enum:
    UNSET = -2                      # a memo that says nothing

cdef struct Memo:
    int64_t owner
    int64_t id
    int32_t kind
    int32_t value


cdef class Memos:
    cdef uint64_t seed
    cdef HashTable table
    cdef Memo *memos
    cdef int64_t n, capacity

    cdef int32_t *of(self, int32_t kind, int64_t owner, int64_t id) except NULL nogil


# A track for slices that cross others of their thread.
cdef struct SpillLane:
    int32_t track
    int32_t next                # lane of the thread, or NONE
    int32_t top                 # the innermost slice on it that may be open, an index of `ends`

cdef struct OpenEnd:
    int64_t ts
    int32_t below


cdef class Spills:
    cdef Tracks tracks
    cdef int32_t *first         # lane of each thread
    cdef int64_t n_threads, threads_capacity
    cdef SpillLane *lanes
    cdef int64_t n_lanes, lanes_capacity
    cdef OpenEnd *ends
    cdef int64_t n_ends, ends_capacity
    cdef int32_t free_end       # the first of those that are not in use

    cdef int32_t track(self, int32_t thread, int64_t ts, int64_t dur) except -2 nogil
    cdef int32_t add_lane(self, int32_t thread, int32_t last, int32_t index) except -1 nogil
    cdef int push(self, SpillLane *lane, int64_t end) except -1 nogil


# An arrow from a slice to another, or the same.
cdef struct Arrow:
    int32_t out
    int32_t into
    int32_t named               # the number of its name, or NONE

# What a flow is called that events name by id, name and category.
cdef struct FlowName:
    int32_t name
    int32_t category

# An end that is of the next slice of its track.
cdef struct Waiting:
    uint64_t flow
    int32_t before              # the one before it on the track, or UNSET


cdef class Flows:
    cdef Slices slices
    cdef Memos begun, numbers, last_waiting
    cdef Arrow *arrows
    cdef int64_t n, capacity
    cdef FlowName *names
    cdef int64_t n_names, names_capacity
    cdef Waiting *waiting
    cdef int64_t n_waiting, waiting_capacity
    cdef readonly int64_t outside, begun_twice, not_begun
    cdef public int64_t without_id, without_direction

    cdef uint64_t number(self, uint64_t id, int32_t category, int32_t name) except? 0 nogil
    cdef int begin(self, int32_t track, uint64_t flow) except -1 nogil
    cdef int step(self, int32_t track, uint64_t flow) except -1 nogil
    cdef int end(self, int32_t track, uint64_t flow, bint around) except -1 nogil
    cdef int arrive(self, int32_t track, int32_t slice) except -1 nogil
    cdef int lead(self, uint64_t flow, int32_t slice, bint goes_on) except -1 nogil
    cdef int add(self, uint64_t flow, int32_t out, int32_t into) except -1 nogil


# The arguments of an entry of a log, an object of JSON; an empty span where it has none.
ctypedef Span (*ArgsAt)(object log, int32_t entry) noexcept

cdef joined_args(
    object log, ArgsAt args_at, int64_t entries,
    const int32_t[::1] begin, const int32_t[::1] end, int64_t most,
)


cdef class SliceTables:
    cdef readonly Strings strings
    cdef readonly Processes processes
    cdef readonly Tracks tracks
    cdef readonly Slices slices

    cdef int32_t thread_track(self, int32_t thread) except -1 nogil
    cdef int32_t global_instants(self, uint32_t machine) except -1 nogil
    cdef int32_t process_instants(self, int32_t process) except -1 nogil


# What a line of atrace says.
cdef struct Mark:
    uint8_t phase
    uint32_t tgid               # 0: it does not say
    Span name
    Span track
    int64_t value               # of a counter; else a cookie


# Who wrote it, and when.
cdef struct Writer:
    int32_t number              # of the event
    int64_t ts
    uint32_t machine
    int64_t tid


cdef bint read_mark(Span text, Mark *mark) noexcept nogil
cdef int make_slice(SliceTables to, const Writer *by, Mark *mark) except -1 nogil
