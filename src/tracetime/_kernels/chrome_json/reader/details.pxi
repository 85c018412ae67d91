# What each row is: the columns of names of events, and of lines of systrace.

cdef enum:
    LONGEST_NUMBER = 64     # of a counter's value; longer ones are none
    MOST_TEXT = 1 << 30     # of the arguments of a batch: their ends are int32


cdef class Details:
    """Names rows: one for each event and line, in a batch.

    known: of the same file, read before.
    """

    cdef KnownNames known
    cdef readonly Batch batch
    cdef Bytes scratch, called

    def __cinit__(self, KnownNames known not None):
        cdef int64_t i
        self.known = known
        self.batch = Batch(int.from_bytes(os.urandom(8), "little"))
        for i in range(known.n):
            known.named[i].name.batch = -1

    def __dealloc__(self):
        free(self.scratch.data)
        free(self.called.data)

    cdef int describe(self, const JsonEvent *event) except -1 nogil:
        """Add the row of an event."""
        cdef RowDetails w = bare()
        cdef Json json
        cdef Span args
        w.type = type_of_phase(event.phase)
        self.set_text(TEXT_NAME, &event.name, &w)
        self.set_text(TEXT_CATEGORY, &event.cat, &w)
        self.set_owner(event, &w)
        self.set_track(event, &w)
        if w.type == TYPE_COUNTER and event.id.kind == STRING and event.id.end > event.id.data:
            self.set_counter(event, &w)
        w.args = w.args_end = self.batch.args.n
        if event.args.kind == OBJECT and event.args.end - event.args.data > 2:
            if w.type == TYPE_COUNTER:
                self.set_value(event, &w)
            json.out = &self.batch.args
            json.limit = MOST_TEXT
            args.data = event.args.data
            args.end = event.args.end
            if put_json(&json, args):
                self.batch.args.n = w.args
            w.args_end = self.batch.args.n
        return self.batch.put(&w)

    cdef int describe_line(self, const SystraceLine *line) except -1 nogil:
        """Add the row of a line; its arguments are one string."""
        cdef RowDetails w = bare()
        cdef Json json
        cdef Span text
        text.data = line.event
        text.end = line.event_end
        w.codes[TEXT_NAME] = self.batch.code_foreign(TEXT_NAME, text)
        text.data = line.task
        text.end = line.task_end
        w.codes[TEXT_THREAD_NAME] = self.batch.code_foreign(TEXT_THREAD_NAME, text)
        w.tid = line.pid
        w.cpu = <int32_t>line.cpu
        w.has |= HAS_TID | (HAS_CPU if line.cpu <= INT32_MAX else 0)
        if line.has_tgid and line.tgid <= INT32_MAX:
            w.pid = <int32_t>line.tgid
            w.has |= HAS_PID
            self.set_known(TEXT_PROCESS_NAME, w.pid, 0, False, &w)
        w.args = w.args_end = self.batch.args.n
        if line.args_end > line.args:
            json.out = &self.batch.args
            json.limit = MOST_TEXT
            if put_string(&json, line.args, line.args_end - line.args):
                self.batch.args.n = w.args
            w.args_end = self.batch.args.n
        return self.batch.put(&w)

    cdef int set_text(self, int column, const Value *value, RowDetails *w) except -1 nogil:
        if value.kind == STRING:
            w.codes[column] = self.batch.code_foreign(column, text_of(value, &self.scratch))
        return 0

    cdef int set_known(
        self, int column, int64_t pid, int64_t tid, bint is_thread, RowDetails *w
    ) except -1 nogil:
        cdef int64_t i = self.known.find(pid, tid, is_thread)
        if i >= 0:
            w.codes[column] = self.batch.code_text(column, &self.known.named[i].name)
        return 0

    cdef int set_owner(self, const JsonEvent *event, RowDetails *w) except -1 nogil:
        """Process and thread: by number, or by the name that stands in the number's place."""
        cdef bint has_pid = event.pid.kind == NUMBER or event.pid.kind == DECIMAL
        if has_pid:
            self.set_known(TEXT_PROCESS_NAME, event.pid_number, 0, False, w)
            if INT32_MIN <= event.pid_number <= INT32_MAX:
                w.pid = <int32_t>event.pid_number
                w.has |= HAS_PID
        elif event.pid.end > event.pid.data:
            self.set_text(TEXT_PROCESS_NAME, &event.pid, w)
        if event.tid.kind == NUMBER or event.tid.kind == DECIMAL:
            w.tid = event.tid_number
            w.has |= HAS_TID
            if has_pid:
                self.set_known(TEXT_THREAD_NAME, event.pid_number, event.tid_number, True, w)
        elif event.tid.end > event.tid.data:
            self.set_text(TEXT_THREAD_NAME, &event.tid, w)
        return 0

    cdef int set_track(self, const JsonEvent *event, RowDetails *w) except -1 nogil:
        """The id of an asynchronous event, flow or object."""
        if event.id.kind != ABSENT:
            w.track = id_of(&event.id)
        elif event.id2_local.kind != ABSENT:
            w.track = id_of(&event.id2_local)
        elif event.id2_global.kind != ABSENT:
            w.track = id_of(&event.id2_global)
        else:
            return 0
        w.has |= HAS_TRACK
        return 0

    cdef int set_counter(self, const JsonEvent *event, RowDetails *w) except -1 nogil:
        """What a counter with a text as its id is called, but for the member of its arguments."""
        cdef Span text
        self.called.n = 0
        if event.name.kind == STRING:
            text = text_of(&event.name, &self.scratch)
            put_bytes(&self.called, text.data, text.end - text.data)
        put_bytes(&self.called, <const uint8_t *>b" id: ", 5)
        text = text_of(&event.id, &self.scratch)
        put_bytes(&self.called, text.data, text.end - text.data)
        text.data = self.called.data
        text.end = text.data + self.called.n
        w.codes[TEXT_TRACK_NAME] = self.batch.code_foreign(TEXT_TRACK_NAME, text)
        return 0

    cdef int set_value(self, const JsonEvent *event, RowDetails *w) except -1 nogil:
        """A counter's value, where its arguments are one number."""
        cdef const uint8_t *at = event.args.data + 1
        cdef Value key, value, other
        cdef char[LONGEST_NUMBER + 1] text
        cdef int64_t n
        if not next_member(&at, event.args.end, &key, &value):
            return 0
        n = value.end - value.data
        if not is_numeric(&value) or n > LONGEST_NUMBER:
            return 0
        if next_member(&at, event.args.end, &key, &other):
            return 0
        memcpy(text, value.data, <size_t>n)
        text[n] = 0
        w.value = strtod(text, NULL)
        w.has |= HAS_VALUE
        return 0


cdef inline bint is_numeric(const Value *value) noexcept nogil:
    """Whether a value is a number, or a text that is one."""
    cdef Decimal d
    if value.kind == STRING:
        return read_decimal(value.data, value.end, &d) and d.end == value.end
    return value.kind == NUMBER or value.kind == DECIMAL


cdef uint64_t id_of(const Value *value) noexcept nogil:
    """An id as a number: itself, in decimal or behind 0x; else a hash of its text."""
    cdef const uint8_t *p = value.data
    cdef uint64_t number = 0
    cdef uint8_t low
    cdef int64_t n = value.end - p
    if value.kind == NUMBER and number_of(value) >= 0:
        return <uint64_t>number_of(value)
    if value.kind != STRING or n < 3 or n > 18 or p[0] != c"0" or p[1] | 0x20 != c"x":
        return hash_bytes(0, value.data, n)
    p += 2
    while p < value.end:
        low = p[0] | 0x20
        if c"0" <= p[0] <= c"9":
            number = number << 4 | (p[0] - c"0")
        elif c"a" <= low <= c"f":
            number = number << 4 | (low - c"a" + 10)
        else:
            return hash_bytes(0, value.data, n)
        p += 1
    return number


# The rows of Chrome's JSON and of systrace, one for each event that has a time.

# The numbers index KINDS of formats/chrome_json/reader.py.
cdef enum:
    KIND_EVENT = 0
    KIND_METADATA = 1
    KIND_LINE = 2

# The numbers index errors.REASONS.
cdef enum:
    RESOLVED = 0
    AS_IS = 1
    OVERFLOW = 7


cdef class EventRows(EventObserver):
    """Makes rows of events and lines.

    Args:
        clock, line_clock: the numbers of the clocks that events and lines have.
        devices: (pid, number of the clock) of those whose events a GPU's clock has stamped.
        snapshots: how many there are.
        batch_rows: of which number on a batch is full.
        details: names them; None: nobody does.

    Attributes:
        rows: those not taken.
    """

    cdef readonly Rows rows
    cdef Details details
    cdef uint32_t clock, line_clock, snapshots
    cdef int64_t[MOST_DEVICES] device_pids
    cdef uint32_t[MOST_DEVICES] device_clocks
    cdef int64_t n_devices, batch_rows, n_records

    def __cinit__(
        self, uint32_t clock, uint32_t line_clock, devices, uint32_t snapshots, int64_t batch_rows,
        Details details
    ):
        for pid, number in devices[:MOST_DEVICES]:
            self.device_pids[self.n_devices] = pid
            self.device_clocks[self.n_devices] = number
            self.n_devices += 1
        self.rows = Rows(batch_rows)
        self.clock = clock
        self.line_clock = line_clock
        self.snapshots = snapshots
        self.batch_rows = batch_rows
        self.details = details
        if details is not None:
            self.rows.names = details.batch

    cdef int observe(self, const JsonEvent *event) except -1 nogil:
        cdef Row row
        if event.phase == 0:
            return False
        if event.phase != c"M" and event.ts.state != TIME_KNOWN and (
            event.ts.state != TIME_OVERFLOWS
        ):
            return False
        memset(&row, 0, sizeof(Row))
        row.kind = KIND_EVENT
        row.clock = self.clock_of(event)
        row.status = OVERFLOW if event.ts.state == TIME_OVERFLOWS else RESOLVED
        if event.phase == c"M":
            # What it says holds for the whole file: its time, if any, is none of an event.
            row.kind = KIND_METADATA
            row.clock = 0
            row.status = AS_IS
        row.packet = <uint64_t>event.index
        row.offset = <uint64_t>event.offset
        row.timestamp = row.source_ns = event.ts.ns
        row.trace_time = event.ts.floor_ns
        row.snapshots = self.snapshots
        self.rows.append(&row)
        if self.details is not None:
            self.details.describe(event)
        return self.is_full()

    cdef inline uint32_t clock_of(self, const JsonEvent *event) noexcept nogil:
        cdef int64_t i
        if self.n_devices and is_of_gpu(event):
            for i in range(self.n_devices):
                if self.device_pids[i] == event.pid_number:
                    return self.device_clocks[i]
        return self.clock

    cdef int observe_line(self, const SystraceLine *line) except -1 nogil:
        cdef Row row
        memset(&row, 0, sizeof(Row))
        row.kind = KIND_LINE
        row.clock = self.line_clock
        row.status = OVERFLOW if line.state == TIME_OVERFLOWS else RESOLVED
        row.packet = <uint64_t>line.index
        row.offset = <uint64_t>line.offset
        row.timestamp = row.source_ns = line.ns
        row.trace_time = line.floor_ns
        row.snapshots = self.snapshots
        self.rows.append(&row)
        if self.details is not None:
            self.details.describe_line(line)
        return self.is_full()

    cdef inline bint is_full(self) noexcept nogil:
        return self.rows.n >= self.batch_rows or (
            self.details is not None and self.details.batch.is_full()
        )
