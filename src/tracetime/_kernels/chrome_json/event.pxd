# What the scanner of Chrome's JSON sees: events, and lines of systrace. Spans lie in its buffer
# until the observer returns.

from libc.stdint cimport int64_t, uint8_t, uint32_t

# What a value is. NUMBER has neither a point nor an exponent, DECIMAL has.
cdef enum ValueKind:
    ABSENT = 0
    NULL_VALUE = 1
    FALSE_VALUE = 2
    TRUE_VALUE = 3
    NUMBER = 4
    DECIMAL = 5
    STRING = 6
    OBJECT = 7
    ARRAY = 8
    NO_JSON = 9             # NaN and the like

cdef struct Value:
    const uint8_t *data     # the raw text; of a string what is between the quotes, still escaped
    const uint8_t *end
    uint8_t kind
    bint escaped            # a string with backslashes

cdef enum TimeState:
    TIME_ABSENT = 0
    TIME_KNOWN = 1
    TIME_UNREADABLE = 2     # there is a value, but no number
    TIME_OVERFLOWS = 3      # beyond int64 ns; both times are the nearest end of int64

# A time or duration; the file has it in us.
cdef struct Time:
    int64_t ns              # of the decimal text; exact but for what is below a ns, if `rounded`
    int64_t floor_ns        # as trace_processor rounds it
    uint8_t state
    bint rounded            # to the nearest ns, halves away from zero

cdef struct JsonEvent:
    int64_t index           # among the objects of traceEvents
    int64_t offset          # of the byte "{" in the uncompressed file
    uint8_t phase           # the first byte of "ph"; 0 without
    bint long_phase         # "ph" has more than one
    bint empty              # it has no key
    Time ts
    Time dur
    Time tts
    Time tdur
    Value pid
    Value tid
    int64_t pid_number      # where pid is a number; fractions are cut, and int64 saturates
    int64_t tid_number
    Value name
    Value cat
    Value id
    Value id2_local
    Value id2_global
    Value id_scope          # "scope"
    Value bind_id
    Value bp
    Value instant_scope     # "s"
    Value flow_in
    Value flow_out
    Value args
    const uint8_t *data     # the whole object
    const uint8_t *end

# A line of systrace. Its texts are unescaped.
cdef struct SystraceLine:
    int64_t index           # among the lines
    int64_t offset          # of the line in the uncompressed file
    int64_t ns              # exact, as of a Time
    int64_t floor_ns        # as trace_processor rounds it
    uint8_t state           # TIME_KNOWN or TIME_OVERFLOWS
    bint rounded
    bint has_tgid
    uint32_t pid            # the kernel's: of a thread
    uint32_t tgid
    uint32_t cpu
    const uint8_t *task
    const uint8_t *task_end
    const uint8_t *event
    const uint8_t *event_end
    const uint8_t *args     # without spaces around
    const uint8_t *args_end
