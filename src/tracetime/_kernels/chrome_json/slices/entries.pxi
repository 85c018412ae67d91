# An entry of the log of slices: an event or a line, and how it is told what it is.

cdef enum:
    # Where trace_processor keeps the first string of a file. A pid or tid that is a text has the
    # place of that text as its number.
    FIRST_STRING = 54001
    STRING_OVERHEAD = 5         # bytes that a string takes there beside its own

cdef enum Queue:
    QUEUE_EVENTS = 0
    QUEUE_LINES = 1
    QUEUES = 2

cdef enum EntryFlag:
    HAS_PID = 1
    HAS_TID = 2
    PID_IS_TEXT = 4
    TID_IS_TEXT = 8
    HAS_ID = 16
    ID_IS_LOCAL = 32
    HAS_DURATION = 64
    IS_LINE = 128
    NAME_LEFT_OUT = 256         # it has one, for which there is no room
    HAS_FLOW = 512
    FLOW_COMES = 1024
    FLOW_GOES = 2048
    BINDS_AROUND = 4096         # an end of a flow, to the slice around it

cdef enum Scope:
    SCOPE_THREAD = 0
    SCOPE_PROCESS = 1
    SCOPE_GLOBAL = 2

# What a metadata event names, in place of the scope.
cdef enum Naming:
    NAMES_NOTHING = 0
    NAMES_THREAD = 1
    NAMES_PROCESS = 2

# One event or line; entries are replayed in order of time. Times as trace_processor rounds them,
# and as the file has them.
cdef struct Entry:
    int64_t ts
    int64_t value               # the duration of a complete event; the id of an asynchronous one
    int64_t exact_ts
    int64_t exact_dur
    uint64_t flow               # the id of a flow
    int64_t text                # arguments; of a metadata event the name; of a line task and arguments
    int32_t text_size
    int32_t name                # of a line: the size of its task
    int32_t category            # of a line: what it is, a `LineKind`
    uint32_t pid                # a string's code where PID_IS_TEXT
    uint32_t tid
    uint16_t flags
    uint8_t phase
    uint8_t scope

cdef enum LineKind:
    LINE_OTHER = 0
    LINE_PRINT = 1
    LINE_SCHED_SWITCH = 2
    LINE_SCHED_WAKING = 3


cdef inline bint matters(uint8_t phase) noexcept nogil:
    """Whether events of that phase make slices or give names."""
    return (
        phase == c"X" or phase == c"B" or phase == c"E" or phase == c"b" or phase == c"e"
        or phase == c"n" or phase == c"i" or phase == c"I" or phase == c"R" or phase == c"M"
    )


cdef inline bint is_of_flow(uint8_t phase) noexcept nogil:
    return phase == c"s" or phase == c"t" or phase == c"f"


cdef inline bint is_bound(uint8_t phase) noexcept nogil:
    """Whether slices of that phase may be bound to a flow."""
    return phase == c"X" or phase == c"B" or phase == c"b" or phase == c"n"


cdef inline uint32_t narrowed(int64_t number) noexcept nogil:
    """CoerceToUint32: what does not fit is 0."""
    return <uint32_t>number if 0 <= number <= <int64_t>0xFFFFFFFF else 0


cdef inline uint8_t scope_of(const Value *value) noexcept nogil:
    """The scope of an instant; another text counts as none."""
    if value.kind == STRING and value.end - value.data == 1:
        if value.data[0] == c"p":
            return SCOPE_PROCESS
        if value.data[0] == c"g":
            return SCOPE_GLOBAL
    return SCOPE_THREAD


cdef inline bint is_id(const Value *value) noexcept nogil:
    """ExtractId: whether it is a text, or a number in 64 bits."""
    cdef int64_t number
    return value.kind == STRING or read_whole(value, &number)


cdef LineKind kind_of_line(const uint8_t *event, int64_t n) noexcept nogil:
    if (
        same(event, n, b"tracing_mark_write", 18) or same(event, n, b"0", 1)
        or same(event, n, b"print", 5)
    ):
        return LINE_PRINT
    if same(event, n, b"sched_switch", 12):
        return LINE_SCHED_SWITCH
    if same(event, n, b"sched_waking", 12):
        return LINE_SCHED_WAKING
    return LINE_OTHER
