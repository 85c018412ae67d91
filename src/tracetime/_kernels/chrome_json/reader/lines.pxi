# What receives the events of Chrome's JSON, in file order, from the scanner.

cdef class EventObserver:
    """Receives each event and each line of systrace while a file is scanned."""

    cdef int observe(self, const JsonEvent *event) except -1 nogil:
        """Take an event; return whether the batch is full."""
        return False

    cdef int observe_line(self, const SystraceLine *line) except -1 nogil:
        """Take a line of systrace; return whether the batch is full."""
        return False


# Lines of systrace, ftrace's text: task, thread, process, CPU, time, event and its arguments.
#
#     kworker/0:0-13696 (  77) [000] d..3 50260.647590: sched_wakeup: comm=mmcqd/0 pid=95

cdef enum:
    LONGEST_FLAGS = 5
    MOST_LOST = 1000000000  # from here on more digits change nothing


cdef inline bint is_blank(uint8_t byte) noexcept nogil:
    return byte == c" " or 9 <= byte <= 13


cdef inline const uint8_t *skip_blanks(const uint8_t *p, const uint8_t *end) noexcept nogil:
    while p < end and is_blank(p[0]):
        p += 1
    return p


cdef const uint8_t *read_number(
    const uint8_t *p, const uint8_t *end, uint32_t *out
) noexcept nogil:
    """The byte behind the digits at p; NULL where there are none, or too many for 32 bits."""
    cdef uint64_t value = 0
    cdef const uint8_t *began = p
    while p < end and is_digit(p[0]):
        value = 10 * value + (p[0] - c"0")
        if value >> 32:
            return NULL
        p += 1
    out[0] = <uint32_t>value
    return p if p > began else NULL


cdef const uint8_t *read_tgid(
    const uint8_t *p, const uint8_t *end, SystraceLine *line
) noexcept nogil:
    """What may stand in parentheses: the process, or dashes."""
    cdef const uint8_t *behind
    if p < end and p[0] == c"(":
        p = skip_blanks(p + 1, end)
    line.has_tgid = False
    if p < end and is_digit(p[0]):
        behind = read_number(p, end, &line.tgid)
        if behind == NULL:
            return NULL
        p = behind
        line.has_tgid = True
    else:
        while p < end and p[0] == c"-":
            p += 1
    if p < end and p[0] == c")":
        p += 1
    return skip_blanks(p, end)


cdef bint are_flags(const uint8_t *p, int n) noexcept nogil:
    """Whether n bytes may be the state of interrupts: d..3."""
    cdef int i
    cdef uint8_t low
    for i in range(n):
        low = p[i] | 0x20
        if p[i] == c".":
            continue
        if i < 3 and not c"a" <= low <= c"z":
            return False
        if i >= 3 and not (is_digit(p[i]) or c"a" <= p[i] <= c"f"):
            return False
    return True


cdef const uint8_t *read_line_time(
    const uint8_t *p, const uint8_t *end, SystraceLine *line
) noexcept nogil:
    """Seconds with a point, and the colon behind them."""
    cdef Decimal d
    cdef double seconds
    cdef bint ignored
    cdef const uint8_t *digits = p
    while digits + 1 < end and digits[0] == c"0" and is_digit(digits[1]):
        digits += 1
    if not read_decimal(digits, end, &d) or d.n_part == 0 or d.exponent:
        return NULL
    if d.digits_end >= end or d.digits_end[0] != c":" or d.negative:
        return NULL
    line.state = TIME_KNOWN
    if not scaled(&d, 9, &line.ns, &line.rounded) or not scaled(&d, 9, &line.floor_ns, &ignored):
        line.state = TIME_OVERFLOWS
        line.rounded = False
        line.ns = line.floor_ns = INT64_HIGH
        return d.digits_end + 1
    # As trace_processor does: the double times 10^9, cut. Below 2^53 the quotient is the nearest.
    seconds = <double>(d.whole * d.divisor + d.part) / <double>d.divisor
    line.floor_ns = <int64_t>(seconds * 1e9)
    return d.digits_end + 1


cdef bint read_event(const uint8_t *p, const uint8_t *end, SystraceLine *line) noexcept nogil:
    """The event, up to the last colon of its word, and its arguments."""
    cdef const uint8_t *last = NULL
    line.event = p
    while p < end and not is_blank(p[0]):
        if p[0] == c":" and p > line.event:
            last = p
        p += 1
    if last == NULL:
        return False
    line.event_end = last
    line.args = skip_blanks(last + 1, end)
    while end > line.args and is_blank((end - 1)[0]):
        end -= 1
    line.args_end = end
    return True


cdef bint read_behind_task(const uint8_t *p, const uint8_t *end, SystraceLine *line) noexcept nogil:
    """The line from the dash before the thread's number on."""
    cdef const uint8_t *behind
    cdef int n = LONGEST_FLAGS
    p = read_number(p + 1, end, &line.pid)
    if p == NULL or p >= end or not is_blank(p[0]):
        return False
    p = read_tgid(skip_blanks(p, end), end, line)
    if p == NULL or p >= end or p[0] != c"[":
        return False
    p = read_number(p + 1, end, &line.cpu)
    if p == NULL or p >= end or p[0] != c"]":
        return False
    p = skip_blanks(p + 1, end)
    while True:
        if n == 0 or (end - p > n and are_flags(p, n)):
            behind = read_line_time(skip_blanks(p + n, end), end, line)
            if behind != NULL:
                break
        if n == 0:
            return False
        n = n - 1 if n == LONGEST_FLAGS else 0
    if behind >= end or not is_blank(behind[0]):
        return False
    return read_event(skip_blanks(behind, end), end, line)


cdef bint read_line(const uint8_t *p, const uint8_t *end, SystraceLine *line) noexcept nogil:
    """Take a line apart; whether it is one of systrace. A task may have dashes in its name."""
    cdef const uint8_t *dash = p
    while dash < end:
        if dash[0] == c"-" and read_behind_task(dash, end, line):
            line.task = skip_blanks(p, end)
            line.task_end = dash
            while line.task_end > line.task and is_blank((line.task_end - 1)[0]):
                line.task_end -= 1
            return True
        dash += 1
    return False


cdef bint is_bare(const uint8_t *p, int64_t n) noexcept nogil:
    """Whether a line is empty, or a comment."""
    return n == 0 or p[0] == c"#" or skip_blanks(p, p + n) == p + n


cdef int64_t lost_events(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """How many events a line says were lost, 1 where it does not say how many; 0 where it is other.

    CPU:0 [LOST 5123 EVENTS]        the kernel
    CPU:0 [5123 EVENTS DROPPED]     trace-cmd
    """
    cdef int64_t lost = 0
    cdef bint says = False
    if end - p < 4 or memcmp(p, b"CPU", 3) != 0:
        return 0
    while p < end and p[0] != c"[":
        p += 1
    while p < end and p[0] != c"]":
        if is_digit(p[0]) and lost < MOST_LOST:
            lost = 10 * lost + (p[0] - c"0")
        says = says or starts(p, end, b"LOST", 4) or starts(p, end, b"DROPPED", 7)
        p += 1
    return max(lost, 1) if says else 0


cdef inline bint starts(
    const uint8_t *p, const uint8_t *end, const char *word, int64_t n
) noexcept nogil:
    return end - p >= n and memcmp(p, word, <size_t>n) == 0
