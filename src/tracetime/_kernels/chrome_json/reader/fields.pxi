# One object of traceEvents, key by key. What is nested in it is passed over, not looked into.

cdef bint same(const uint8_t *p, int64_t n, const char *text, int64_t length) noexcept nogil:
    return n == length and memcmp(p, text, <size_t>length) == 0


cdef int read_value(
    const uint8_t *p, const uint8_t *end, Value *value, const uint8_t **behind
) noexcept nogil:
    """The value that begins at p, which is no space; `behind` is the byte after it."""
    cdef bint flag = False
    cdef const uint8_t *last
    cdef int64_t n
    if p >= end:
        return INCOMPLETE
    value.escaped = False
    value.data = p
    if p[0] == c'"':
        last = string_end(p + 1, end, &value.escaped)
        if last == NULL:
            return INCOMPLETE
        value.kind = STRING
        value.data = p + 1
        value.end = last
        behind[0] = last + 1
        return NO_FAULT
    if p[0] == c"{" or p[0] == c"[":
        last = nested_end(p, end, &flag)
        if last == NULL:
            return TOO_DEEP if flag else INCOMPLETE
        value.kind = OBJECT if p[0] == c"{" else ARRAY
        value.end = behind[0] = last
        return NO_FAULT
    last = p
    while last < end and not is_space(last[0]) and (
        last[0] != c"," and last[0] != c"}" and last[0] != c"]" and last[0] != c":"
        and last[0] != c'"' and last[0] != c"{" and last[0] != c"["
    ):
        last += 1
    if last >= end:
        return INCOMPLETE
    if last == p:
        return NO_VALUE
    n = last - p
    value.end = behind[0] = last
    value.kind = kind_of(p, last, n)
    return NO_FAULT


cdef inline uint8_t kind_of(const uint8_t *p, const uint8_t *end, int64_t n) noexcept nogil:
    """What a value without quotes or brackets is."""
    cdef Decimal d
    if same(p, n, b"true", 4):
        return TRUE_VALUE
    if same(p, n, b"false", 5):
        return FALSE_VALUE
    if same(p, n, b"null", 4):
        return NULL_VALUE
    if read_decimal(p, end, &d) and d.end == end:
        return NUMBER if d.is_whole else DECIMAL
    return NO_JSON


cdef inline void take_time(const Value *value, Time *time) noexcept nogil:
    if value.kind == NUMBER or value.kind == DECIMAL or value.kind == STRING:
        read_time(value.data, value.end, time)
    else:
        memset(time, 0, sizeof(Time))
        time.state = TIME_UNREADABLE


cdef int64_t number_of(const Value *value) noexcept nogil:
    """The number that a value is, cut to an integer; 0 where it is none."""
    cdef Decimal d
    cdef int64_t number = 0
    cdef bint rounded
    if value.kind == NUMBER or value.kind == DECIMAL:
        read_decimal(value.data, value.end, &d)
        if d.exponent == 0:
            d.digits_end = d.digits + d.n_whole
        if not scaled(&d, 0, &number, &rounded):
            return INT64_LOW if d.negative else INT64_HIGH
    return number


cdef bint next_member(
    const uint8_t **at, const uint8_t *end, Value *key, Value *value
) noexcept nogil:
    """The next key of an object that is whole; False after the last, or where it is malformed.

    at: the byte behind its brace, or behind the last value; end: the byte behind the object.
    """
    cdef const uint8_t *p = skip_space(at[0])
    if p < end and p[0] == c",":
        p = skip_space(p + 1)
    if p >= end or p[0] != c'"' or read_value(p, end, key, &p) != NO_FAULT:
        return False
    p = skip_space(p)
    if p >= end or p[0] != c":":
        return False
    return read_value(skip_space(p + 1), end, value, at) == NO_FAULT


cdef void take_id2(JsonEvent *event, const Value *object) noexcept nogil:
    """The local and the global id within an object."""
    cdef const uint8_t *at = object.data + 1
    cdef Value key, value
    while next_member(&at, object.end, &key, &value):
        if same(key.data, key.end - key.data, b"local", 5):
            event.id2_local = value
        elif same(key.data, key.end - key.data, b"global", 6):
            event.id2_global = value


cdef void take_phase(JsonEvent *event, const Value *value) noexcept nogil:
    cdef uint8_t[LONGEST_KEY] room
    cdef int64_t n = value.end - value.data
    event.phase = value.data[0] if n else 0
    event.long_phase = n > 1
    if value.escaped:
        n = plain_key(value.data, value.end, room)
        event.phase = room[0] if n else value.data[0]
        event.long_phase = n != 1


cdef inline void take_short(
    JsonEvent *event, const uint8_t *key, int64_t n, const Value *value
) noexcept nogil:
    """A key of up to three letters."""
    if n == 2:
        if key[0] == c"p" and key[1] == c"h":
            if value.kind == STRING:
                take_phase(event, value)
        elif key[0] == c"t" and key[1] == c"s":
            take_time(value, &event.ts)
        elif key[0] == c"i" and key[1] == c"d":
            event.id = value[0]
        elif key[0] == c"b" and key[1] == c"p":
            event.bp = value[0]
    elif n == 3:
        if memcmp(key, b"dur", 3) == 0:
            take_time(value, &event.dur)
        elif memcmp(key, b"pid", 3) == 0:
            event.pid = value[0]
            event.pid_number = number_of(value)
        elif memcmp(key, b"tid", 3) == 0:
            event.tid = value[0]
            event.tid_number = number_of(value)
        elif memcmp(key, b"cat", 3) == 0:
            event.cat = value[0]
        elif memcmp(key, b"tts", 3) == 0:
            take_time(value, &event.tts)
        elif memcmp(key, b"id2", 3) == 0:
            if value.kind == OBJECT:
                take_id2(event, value)
    elif key[0] == c"s":
        event.instant_scope = value[0]


cdef inline void take_long(
    JsonEvent *event, const uint8_t *key, int64_t n, const Value *value
) noexcept nogil:
    """A key of four letters or more."""
    if same(key, n, b"name", 4):
        event.name = value[0]
    elif same(key, n, b"args", 4):
        if value.kind == OBJECT:
            event.args = value[0]
    elif same(key, n, b"tdur", 4):
        take_time(value, &event.tdur)
    elif same(key, n, b"scope", 5):
        event.id_scope = value[0]
    elif same(key, n, b"bind_id", 7):
        event.bind_id = value[0]
    elif same(key, n, b"flow_in", 7):
        event.flow_in = value[0]
    elif same(key, n, b"flow_out", 8):
        event.flow_out = value[0]


cdef int read_object(
    const uint8_t *p, const uint8_t *end, JsonEvent *event, const uint8_t **behind
) noexcept nogil:
    """The event whose brace is at p; of a key that comes twice, the last value counts.

    `behind` is the byte after it, or where it is faulty.
    """
    cdef const uint8_t *key
    cdef uint8_t[LONGEST_KEY] room
    cdef int64_t n
    cdef bint escaped
    cdef Value value
    cdef int fault
    memset(event, 0, sizeof(JsonEvent))
    event.data = p
    event.empty = True
    p = skip_space(p + 1)
    while True:
        behind[0] = p
        if p >= end:
            return INCOMPLETE
        if p[0] == c"}":
            event.end = behind[0] = p + 1
            return NO_FAULT
        if p[0] != c'"':
            return NO_KEY
        event.empty = False
        key = p + 1
        p = string_end(key, end, &escaped)
        if p == NULL:
            return INCOMPLETE
        n = p - key
        if escaped:
            n = plain_key(key, p, room)
            key = room
        p = skip_space(p + 1)
        behind[0] = p
        if p >= end:
            return INCOMPLETE
        if p[0] != c":":
            return NO_COLON
        p = skip_space(p + 1)
        behind[0] = p
        fault = read_value(p, end, &value, &p)
        if fault:
            return fault
        if n < 4:
            take_short(event, key, n, &value)
        else:
            take_long(event, key, n, &value)
        p = skip_space(p)
        behind[0] = p
        if p >= end:
            return INCOMPLETE
        if p[0] == c",":
            p = skip_space(p + 1)
        elif p[0] != c"}":
            return NO_COMMA
