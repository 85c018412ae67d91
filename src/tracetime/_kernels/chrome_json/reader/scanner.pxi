# Chrome's JSON and systrace's text, chunk by chunk: each event and line goes to an observer.

cdef enum State:
    BEGIN = 0
    IN_OBJECT = 1
    IN_EVENTS = 2
    IN_STRING = 3       # of lines
    IN_TEXT = 4         # of lines, which are not in a string
    END = 5

cdef enum:
    LONGEST = 1 << 26           # of an event, a line, or another value: 64 MiB
    LONGEST_KEPT = 1 << 20      # of a value beside the events; longer ones are passed over
    MOST_KEPT = 1 << 24         # of all of them together


cdef class Scanner:
    """Scans a file that is given in chunks.

    Args:
        observer: receives the events and lines.
        lines: the file is systrace's text, not JSON.

    Attributes:
        is_array: the file is an array of events, not an object with one.
        fault: what is wrong at the byte `fault_offset`: an index of FAULTS of
            formats/chrome_json/reader.py; 0 as long as nothing is.
        n_events: objects in traceEvents so far.
        n_lines: lines of systrace so far; n_strange_lines: others that are not empty nor comments,
            from the byte `strange_offset` on.
        n_lost: events that lines say were lost, the first before the line `first_lost_before`.
        n_kernel_events: those of an object systemTraceEvents, which are not read.
        values: (key, raw text, offset of the text) of each key beside the events, but of long ones.
    """

    cdef EventObserver observer
    cdef Bytes buffer               # what is not yet scanned begins at `at`
    cdef int64_t at, wanted
    cdef Bytes line                 # a line of systrace, unescaped
    cdef int64_t base               # the file's byte at the buffer's first
    cdef int64_t kept               # bytes of all values that are kept
    cdef int64_t zeros_from         # where padding begins within the events; -1 where none does
    cdef int state
    cdef bint full, has_events
    cdef readonly bint is_array
    cdef JsonEvent event
    cdef readonly int fault
    cdef readonly int64_t fault_offset, n_events, n_lines, n_strange_lines, strange_offset
    cdef readonly int64_t n_lost, first_lost_before, n_kernel_events
    cdef readonly list values

    def __cinit__(self, EventObserver observer not None, bint lines=False):
        self.observer = observer
        self.values = []
        self.state = IN_TEXT if lines else BEGIN
        self.zeros_from = -1
        grow(<void **>&self.buffer.data, &self.buffer.capacity, PADDING, 1)

    def __dealloc__(self):
        free(self.buffer.data)
        free(self.line.data)

    def feed(self, const uint8_t[::1] chunk not None):
        """Take the next bytes of the file, once `scan` has returned False."""
        cdef int64_t n = chunk.shape[0]
        cdef int64_t left = self.buffer.n - self.at
        if left and self.at:
            memmove(self.buffer.data, self.buffer.data + self.at, <size_t>left)
        self.base += self.at
        self.at = 0
        grow(<void **>&self.buffer.data, &self.buffer.capacity, left + n + PADDING, 1)
        if n:
            memcpy(self.buffer.data + left, &chunk[0], <size_t>n)
        self.buffer.n = left + n
        memset(self.buffer.data + self.buffer.n, 0, PADDING)

    def scan(self):
        """Scan what there is; returns whether the observer is full, and this is to be repeated."""
        self.full = False
        if self.fault or self.buffer.n < self.wanted:
            return False
        self.wanted = 0
        with nogil:
            while not self.full and self.step():
                pass
        if not self.full and not self.fault:
            # Not again before there is twice as much: each byte is scanned twice at most.
            self.wanted = 2 * (self.buffer.n - self.at)
            if self.buffer.n - self.at > LONGEST:
                self.fail(TOO_LONG, self.buffer.data + self.at)
        return self.full

    def finish(self):
        """Scan the rest, after the last chunk; returns as `scan` does, and may set `fault`."""
        cdef const uint8_t *p
        self.wanted = 0
        if self.state == IN_TEXT and self.buffer.n > self.at and (
            self.buffer.data[self.buffer.n - 1] != c"\n"
        ):
            self.feed(b"\n")
        if self.scan() or self.fault:
            return self.full
        p = skip_space(self.buffer.data + self.at)
        if self.state == IN_EVENTS and p[0] == c",":
            p = skip_space(p + 1)
        if self.state == IN_EVENTS and self.is_array:
            if p < self.buffer.data + self.buffer.n:
                self.fail(CUT_OFF, p)
                if self.zeros_from >= 0:
                    self.fault_offset = self.zeros_from
        elif self.state == END:
            if not self.has_events:
                self.fail(NO_TRACE_EVENTS, p)
        elif self.state != IN_TEXT:
            self.fail(CUT_OFF, p)
        return False

    cdef int fail(self, int fault, const uint8_t *at) except -1 nogil:
        self.fault = fault
        self.fault_offset = self.base + (at - self.buffer.data)
        return False

    cdef int step(self) except -1 nogil:
        """Take the next event, line, or key with its value; return whether there was a whole one."""
        cdef const uint8_t *p = self.buffer.data + self.at, *end = self.buffer.data + self.buffer.n
        if self.state == IN_STRING:
            return self.take_escaped_line(p, end)
        if self.state == IN_TEXT:
            return self.take_plain_line(p, end)
        p = skip_space(p)
        if p >= end:
            self.at = self.buffer.n
            return False
        if self.state == IN_EVENTS:
            return self.take_event(p, end)
        if self.state == IN_OBJECT:
            return self.take_key(p, end)
        if self.state == BEGIN:
            return self.open_file(p, end)
        if p[0] == 0:
            # Zeros pad a file.
            self.at = p + 1 - self.buffer.data
            return True
        if p[0] != c"{" and p[0] != c"[":
            return self.fail(COMMENT if p[0] == c"/" else BEHIND_END, p)
        return self.fail(ANOTHER_TRACE if self.has_events else LINES_OF_JSON, p)

    cdef int open_file(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        if p[0] == 0xEF and end - p >= 3 and memcmp(p, b"\xef\xbb\xbf", 3) == 0:
            p = skip_space(p + 3)
        if p >= end or (p[0] == 0xEF and end - p < 3):
            return False
        if p[0] == c"{":
            self.state = IN_OBJECT
        elif p[0] == c"[":
            self.state = IN_EVENTS
            self.is_array = self.has_events = True
        else:
            return self.fail(NO_BEGIN, p)
        self.at = p + 1 - self.buffer.data
        return True

    cdef int take_key(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        """A key beside traceEvents, and its value."""
        cdef const uint8_t *key, *key_end, *plain
        cdef uint8_t[LONGEST_KEY] room
        cdef int64_t n
        cdef bint escaped, holds_events, holds_lines
        while p[0] == c",":
            p = skip_space(p + 1)
        if p >= end:
            return False
        if p[0] == c"}":
            self.state = END
            self.at = p + 1 - self.buffer.data
            return True
        if p[0] != c'"':
            return self.fail(COMMENT if p[0] == c"/" else NO_KEY, p)
        key = p + 1
        key_end = string_end(key, end, &escaped)
        if key_end == NULL:
            return False
        p = skip_space(key_end + 1)
        if p >= end:
            return False
        if p[0] != c":":
            return self.fail(NO_COLON, p)
        p = skip_space(p + 1)
        if p >= end:
            return False
        n = key_end - key
        plain = key
        if escaped:
            n = plain_key(key, key_end, room)
            plain = room
        holds_events = same(plain, n, b"traceEvents", 11)
        holds_lines = same(plain, n, b"systemTraceEvents", 17)
        if (holds_events and p[0] == c"[") or (holds_events or holds_lines) and p[0] == c'"':
            self.state = IN_EVENTS if p[0] == c"[" else IN_STRING
            self.has_events = True
            self.at = p + 1 - self.buffer.data
            return True
        if not self.take_value(key, key_end, p, end):
            return False
        if holds_lines and p[0] == c"{":
            self.n_kernel_events += count_events(p, end)
        return True

    cdef int take_value(
        self, const uint8_t *key, const uint8_t *key_end, const uint8_t *p, const uint8_t *end
    ) except -1 nogil:
        cdef Value value
        cdef int64_t size
        cdef const uint8_t *behind = p
        cdef int fault = read_value(p, end, &value, &behind)
        if fault == INCOMPLETE:
            return False
        if fault:
            return self.fail(fault, p)
        size = behind - p + (key_end - key)
        if size <= LONGEST_KEPT and self.kept + size <= MOST_KEPT:
            self.kept += size
            with gil:
                self.values.append((
                    (<const char *>key)[:key_end - key], (<const char *>p)[:behind - p],
                    self.base + (p - self.buffer.data),
                ))
        p = skip_space(behind)
        if p >= end:
            # Whether a comma follows is seen with the next bytes.
            self.at = behind - self.buffer.data
            return True
        if p[0] != c"," and p[0] != c"}":
            return self.fail(NO_COMMA, p)
        self.at = p - self.buffer.data
        return True

    cdef int take_event(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        cdef const uint8_t *behind = p
        cdef int fault
        if p[0] == c",":
            p = skip_space(p + 1)
            if p >= end:
                return False
        if p[0] == c"]":
            self.state = END if self.is_array else IN_OBJECT
            self.at = p + 1 - self.buffer.data
            return True
        if p[0] == 0 and are_zeros(p, end):
            if self.zeros_from < 0:
                self.zeros_from = self.base + (p - self.buffer.data)
            # One is enough to know.
            self.at = self.buffer.n - 1
            return False
        if p[0] != c"{":
            return self.fail(COMMENT if p[0] == c"/" else NO_EVENT, p)
        fault = read_object(p, end, &self.event, &behind)
        if fault == INCOMPLETE:
            return False
        if fault:
            return self.fail(fault, behind)
        self.event.index = self.n_events
        self.event.offset = self.base + (p - self.buffer.data)
        self.n_events += 1
        self.at = behind - self.buffer.data
        if self.observer.observe(&self.event):
            self.full = True
        return True

    cdef int take_escaped_line(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        """A line of a string, which ends with an escaped line feed, or with the string."""
        cdef int64_t offset = self.base + self.at
        cdef bint ends
        self.line.n = 0
        while p < end:
            if p[0] == c'"' or (p[0] == c"\\" and p + 1 < end and p[1] == c"n"):
                ends = p[0] == c'"'
                self.at = p + (1 if ends else 2) - self.buffer.data
                self.hand_over_line(offset)
                if ends:
                    self.state = IN_OBJECT
                return True
            if p[0] != c"\\":
                put_byte(&self.line, p[0])
                p += 1
                continue
            if p + 1 >= end:
                return False
            put_byte(&self.line, c"\t" if p[1] == c"t" else c" " if p[1] == c"r" else p[1])
            p += 2
        return False

    cdef int take_plain_line(self, const uint8_t *p, const uint8_t *end) except -1 nogil:
        cdef const uint8_t *feed
        cdef int64_t offset = self.base + self.at
        if p >= end:
            return False
        feed = <const uint8_t *>memchr(p, c"\n", <size_t>(end - p))
        if feed == NULL:
            return False
        self.line.n = 0
        put_bytes(&self.line, p, feed - p)
        if self.line.n >= 3 and memcmp(feed - 3, b"\\n\\", 3) == 0:
            # A string of JavaScript, line by line, as it stands in the source.
            self.line.n -= 3
        self.at = feed + 1 - self.buffer.data
        self.hand_over_line(offset)
        return True

    cdef int hand_over_line(self, int64_t offset) except -1 nogil:
        """Give the observer the line, if it is one of systrace."""
        cdef SystraceLine line
        cdef const uint8_t *p = self.line.data
        cdef int64_t lost
        if is_bare(p, self.line.n):
            return 0
        if not read_line(p, p + self.line.n, &line):
            lost = lost_events(p, p + self.line.n)
            if lost and self.n_lost == 0:
                self.first_lost_before = self.n_lines
            elif lost == 0 and self.n_strange_lines == 0:
                self.strange_offset = offset
            self.n_lost = saturating_add(self.n_lost, lost)
            self.n_strange_lines += lost == 0
            return 0
        line.index = self.n_lines
        line.offset = offset
        self.n_lines += 1
        if self.observer.observe_line(&line):
            self.full = True
        return 0


cdef int64_t count_events(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """How many values the array "events" has in an object that is whole, as Fuchsia writes it."""
    cdef Value key, value, event
    cdef const uint8_t *at = p + 1
    cdef int64_t n = 0
    while next_member(&at, end, &key, &value):
        if value.kind != ARRAY or not same(key.data, key.end - key.data, b"events", 6):
            continue
        p = skip_space(value.data + 1)
        while p < value.end and read_value(p, value.end, &event, &p) == NO_FAULT:
            n += 1
            p = skip_space(p)
            if p < value.end and p[0] == c",":
                p = skip_space(p + 1)
    return n


cdef bint are_zeros(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Whether there is nothing but padding."""
    while p < end and p[0] == 0:
        p += 1
    return p == end
