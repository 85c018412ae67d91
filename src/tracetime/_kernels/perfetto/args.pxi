# Debug annotations of track events as JSON; which value counts follows Perfetto's
# src/trace_processor/util/proto_to_args_parser.cc.
# What writes returns ENOUGH where the text of one event gets longer than it may be.

cdef enum:
    ENOUGH = 1
    JSON_DEPTH = 64         # one bit each
    NESTED_DICT = 1         # NestedValue.NestedType
    NESTED_ARRAY = 2


cdef int put_args(Names self, Interning *t, Span event, What *w) except -1 nogil:
    """The debug annotations of an event as one object; nothing where none has a name."""
    cdef Bytes *out = &self.args
    w.args = out.n
    self.args_limit = out.n + LONGEST_ARGS
    put_byte(out, c"{")
    if put_annotations(self, t, event, TRACK_EVENT_DEBUG_ANNOTATIONS, 0) == ENOUGH:
        if out.data[out.n - 1] != c"{":
            put_byte(out, c",")
        put_bytes(out, b'"(cut)":true', 12)
    if out.n == w.args + 1:
        out.n = w.args
    else:
        put_byte(out, c"}")
    w.args_end = out.n
    return 0


cdef int put_annotations(
    Names self, Interning *t, Span message, uint32_t number, int depth
) except -1 nogil:
    """Members of an object: those annotations of a message that have a name."""
    cdef const uint8_t *at = message.data
    cdef Field f
    cdef Bytes *out = &self.args
    cdef Span annotation
    cdef int64_t began
    cdef bint any = False, named
    while at < message.end:
        at = read_field(at, message.end, &f)
        if at == NULL:
            break
        if f.number != number or f.wire != BYTES:
            continue
        annotation = span_of(&f)
        began = out.n
        if any:
            put_byte(out, c",")
        if put_key(self, t, annotation, &named) == ENOUGH:
            out.n = began
            return ENOUGH
        if not named:
            out.n = began
            continue
        put_byte(out, c":")
        if put_value(self, t, annotation, depth + 1) == ENOUGH or out.n > self.args_limit:
            # The members before it stay, where this is the outermost object.
            out.n = began
            return ENOUGH
        any = True
    return 0


cdef int put_key(Names self, Interning *t, Span annotation, bint *named) except -1 nogil:
    cdef const uint8_t *at = annotation.data
    cdef Field f
    cdef Span name = nothing()
    cdef uint64_t iid = 0
    cdef Interned *found
    named[0] = True
    while at < annotation.end:
        at = read_field(at, annotation.end, &f)
        if at == NULL:
            break
        if f.number == DEBUG_NAME_IID and is_number(&f):
            iid = f.value
        elif f.number == DEBUG_NAME and f.wire == BYTES:
            name = span_of(&f)
    if iid:
        found = self.look(t, TABLE_ARGS, iid)
        if found != NULL:
            return put_string(self, found.text.data, found.text.size)
    elif is_set(name):
        return put_string(self, name.data, name.end - name.data)
    named[0] = False
    return 0


cdef int put_value(Names self, Interning *t, Span annotation, int depth) except -1 nogil:
    """A dictionary before an array before what it is of the rest."""
    cdef const uint8_t *at = annotation.data
    cdef Field f
    cdef Field value
    cdef Bytes *out = &self.args
    cdef Interned *found
    cdef bint dictionary = False, array = False, first = True
    cdef double number
    cdef int enough = 0
    value.number = 0
    while at < annotation.end:
        at = read_field(at, annotation.end, &f)
        if at == NULL:
            break
        if f.number == DEBUG_DICT_ENTRIES:
            dictionary = dictionary or f.wire == BYTES
        elif f.number == DEBUG_ARRAY_VALUES:
            array = array or f.wire == BYTES
        elif f.wire == BYTES:
            if (
                f.number == DEBUG_STRING_VALUE or f.number == DEBUG_NESTED_VALUE
                or f.number == DEBUG_LEGACY_JSON_VALUE
            ):
                value = f
        elif (
            f.number == DEBUG_BOOL_VALUE or f.number == DEBUG_UINT_VALUE
            or f.number == DEBUG_INT_VALUE or f.number == DEBUG_POINTER_VALUE
            or f.number == DEBUG_STRING_VALUE_IID
            or f.number == DEBUG_DOUBLE_VALUE and f.wire == FIXED64
        ):
            value = f
    if depth > DEEPEST_ARGS and (dictionary or array):
        put_bytes(out, b'"(too deep)"', 12)
    elif dictionary:
        put_byte(out, c"{")
        enough = put_annotations(self, t, annotation, DEBUG_DICT_ENTRIES, depth)
        put_byte(out, c"}")
    elif array:
        put_byte(out, c"[")
        at = annotation.data
        while at < annotation.end and not enough:
            at = read_field(at, annotation.end, &f)
            if at == NULL:
                break
            if f.number == DEBUG_ARRAY_VALUES and f.wire == BYTES:
                if not first:
                    put_byte(out, c",")
                first = False
                enough = put_value(self, t, span_of(&f), depth + 1)
                if out.n > self.args_limit:
                    enough = ENOUGH
        put_byte(out, c"]")
    elif value.number == DEBUG_BOOL_VALUE:
        put_bool(out, value.value != 0)
    elif value.number == DEBUG_UINT_VALUE:
        put_unsigned(out, value.value)
    elif value.number == DEBUG_INT_VALUE:
        put_signed(out, <int64_t>value.value)
    elif value.number == DEBUG_DOUBLE_VALUE:
        memcpy(&number, &value.value, 8)
        put_double(out, number)
    elif value.number == DEBUG_POINTER_VALUE:
        put_pointer(out, value.value)
    elif value.number == DEBUG_STRING_VALUE:
        enough = put_string(self, value.data, <int64_t>value.value)
    elif value.number == DEBUG_STRING_VALUE_IID:
        found = self.look(t, TABLE_STRINGS, value.value)
        if found == NULL:
            put_bytes(out, b"null", 4)
        else:
            enough = put_string(self, found.text.data, found.text.size)
    elif value.number == DEBUG_LEGACY_JSON_VALUE:
        enough = put_json(self, span_of(&value))
    elif value.number == DEBUG_NESTED_VALUE:
        enough = put_nested(self, span_of(&value), depth)
    else:
        put_bytes(out, b"null", 4)
    return enough


cdef int put_nested(Names self, Span nested, int depth) except -1 nogil:
    """A NestedValue; the keys of a dictionary and its values stand apart."""
    cdef const uint8_t *at = nested.data
    cdef const uint8_t *values = nested.data
    cdef Field f
    cdef Field value
    cdef Bytes *out = &self.args
    cdef bint first = True, paired
    cdef uint64_t type = 0
    cdef double number
    cdef int enough = 0
    value.number = 0
    while at < nested.end:
        at = read_field(at, nested.end, &f)
        if at == NULL:
            break
        if f.number == NESTED_NESTED_TYPE and is_number(&f):
            type = f.value
        elif f.number == NESTED_STRING_VALUE and f.wire == BYTES:
            value = f
        elif f.number == NESTED_DOUBLE_VALUE and f.wire == FIXED64:
            value = f
        elif (f.number == NESTED_INT_VALUE or f.number == NESTED_BOOL_VALUE) and is_number(&f):
            value = f
    at = nested.data
    if depth > DEEPEST_ARGS and (type == NESTED_DICT or type == NESTED_ARRAY):
        put_bytes(out, b'"(too deep)"', 12)
    elif type == NESTED_DICT:
        put_byte(out, c"{")
        while at < nested.end and not enough:
            at = read_field(at, nested.end, &f)
            if at == NULL:
                break
            if f.number != NESTED_DICT_KEYS or f.wire != BYTES:
                continue
            if not first:
                put_byte(out, c",")
            first = False
            enough = put_string(self, f.data, <int64_t>f.value)
            put_byte(out, c":")
            paired = False
            while values < nested.end and not paired:
                values = read_field(values, nested.end, &f)
                if values == NULL:
                    values = nested.end
                else:
                    paired = f.number == NESTED_DICT_VALUES and f.wire == BYTES
            if not paired:
                put_bytes(out, b"null", 4)
            elif not enough:
                enough = put_nested(self, span_of(&f), depth + 1)
            if out.n > self.args_limit:
                enough = ENOUGH
        put_byte(out, c"}")
    elif type == NESTED_ARRAY:
        put_byte(out, c"[")
        while at < nested.end and not enough:
            at = read_field(at, nested.end, &f)
            if at == NULL:
                break
            if f.number == NESTED_ARRAY_VALUES and f.wire == BYTES:
                if not first:
                    put_byte(out, c",")
                first = False
                enough = put_nested(self, span_of(&f), depth + 1)
                if out.n > self.args_limit:
                    enough = ENOUGH
        put_byte(out, c"]")
    elif value.number == NESTED_INT_VALUE:
        put_signed(out, <int64_t>value.value)
    elif value.number == NESTED_BOOL_VALUE:
        put_bool(out, value.value != 0)
    elif value.number == NESTED_DOUBLE_VALUE:
        memcpy(&number, &value.value, 8)
        put_double(out, number)
    elif value.number == NESTED_STRING_VALUE:
        enough = put_string(self, value.data, <int64_t>value.value)
    else:
        put_bytes(out, b"null", 4)
    return enough


# Values


cdef int put_bool(Bytes *out, bint value) except -1 nogil:
    return put_bytes(out, b"true", 4) if value else put_bytes(out, b"false", 5)


cdef int put_unsigned(Bytes *out, uint64_t value) except -1 nogil:
    cdef uint8_t[20] text
    cdef int at = 20
    while True:
        at -= 1
        text[at] = <uint8_t>(c"0" + value % 10)
        value //= 10
        if value == 0:
            break
    return put_bytes(out, &text[at], 20 - at)


cdef int put_signed(Bytes *out, int64_t value) except -1 nogil:
    if value < 0:
        put_byte(out, c"-")
        return put_unsigned(out, ~<uint64_t>value + 1)
    return put_unsigned(out, <uint64_t>value)


cdef int put_pointer(Bytes *out, uint64_t value) except -1 nogil:
    """A string with 0x: JSON knows no other."""
    cdef char[24] text
    return put_bytes(out, text, snprintf(text, 24, b'"0x%llx"', <unsigned long long>value))


cdef int put_double(Bytes *out, double value) except -1 nogil:
    """The shortest of 15 to 17 digits that reads back the same; what JSON has not, as a string."""
    cdef char[40] text
    cdef int n = 0, digits, i
    cdef bint whole = True
    if isnan(value):
        return put_bytes(out, b'"NaN"', 5)
    if isinf(value):
        return put_bytes(out, b'"Infinity"', 10) if value > 0 else put_bytes(
            out, b'"-Infinity"', 11
        )
    for digits in range(15, 18):
        n = snprintf(text, 40, b"%.*g", digits, value)
        if strtod(text, NULL) == value:
            break
    for i in range(n):
        if not (c"0" <= text[i] <= c"9" or text[i] == c"-" or text[i] == c"+"):
            whole = False
            if text[i] != c"e":
                text[i] = c"."  # whatever the locale has for it
    put_bytes(out, text, n)
    return put_bytes(out, b".0", 2) if whole else 0


cdef int put_string(Names self, const uint8_t *data, int64_t n) except -1 nogil:
    """A string of foreign bytes: escaped, and what is no UTF-8 as U+FFFD."""
    cdef Bytes *out = &self.args
    cdef const uint8_t *end = data + n
    cdef const uint8_t *run = data
    cdef int length, skip
    if n > self.args_limit - out.n:
        return ENOUGH
    put_byte(out, c'"')
    while data < end:
        if data[0] >= 0x80:
            length = utf8_step(data, end, &skip)
            if length:
                data += length
                continue
            put_bytes(out, run, data - run)
            put_bytes(out, b"\xef\xbf\xbd", 3)
            data += skip
            run = data
            continue
        if data[0] >= 0x20 and data[0] != c'"' and data[0] != c"\\":
            data += 1
            continue
        put_bytes(out, run, data - run)
        if data[0] == c'"':
            put_bytes(out, b'\\"', 2)
        elif data[0] == c"\\":
            put_bytes(out, b"\\\\", 2)
        elif data[0] == c"\n":
            put_bytes(out, b"\\n", 2)
        elif data[0] == c"\t":
            put_bytes(out, b"\\t", 2)
        else:
            put_bytes(out, b"\\u00", 4)
            put_byte(out, c"1" if data[0] & 0x10 else c"0")
            put_byte(out, (<const uint8_t *>b"0123456789abcdef")[data[0] & 0xF])
        data += 1
        run = data
    put_bytes(out, run, data - run)
    put_byte(out, c'"')
    return ENOUGH if out.n > self.args_limit else 0


# Values that are JSON already


cdef int put_json(Names self, Span json) except -1 nogil:
    """As it stands if it is JSON, else as a string."""
    cdef const uint8_t *at
    if json.end - json.data > self.args_limit - self.args.n:
        return ENOUGH
    at = skip_json(json.data, json.end)
    if at != NULL and skip_space(at, json.end) == json.end and is_utf8(json.data, json.end):
        return put_bytes(&self.args, json.data, json.end - json.data)
    return put_string(self, json.data, json.end - json.data)


cdef inline const uint8_t *skip_space(const uint8_t *p, const uint8_t *end) noexcept nogil:
    while p < end and (p[0] == c" " or p[0] == c"\n" or p[0] == c"\t" or p[0] == c"\r"):
        p += 1
    return p


cdef inline bint is_digit(const uint8_t *p, const uint8_t *end) noexcept nogil:
    return p < end and c"0" <= p[0] <= c"9"


cdef int hex4(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The four hexadecimal digits at p, -1 where they are none."""
    cdef int value = 0, i
    if end - p < 4:
        return -1
    for i in range(4):
        value *= 16
        if c"0" <= p[i] <= c"9":
            value += p[i] - c"0"
        elif c"a" <= p[i] <= c"f":
            value += p[i] - c"a" + 10
        elif c"A" <= p[i] <= c"F":
            value += p[i] - c"A" + 10
        else:
            return -1
    return value


cdef const uint8_t *skip_string(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The byte after the string at p, NULL where there is none."""
    cdef int unit
    if p >= end or p[0] != c'"':
        return NULL
    p += 1
    while p < end:
        if p[0] == c'"':
            return p + 1
        if p[0] < 0x20:
            return NULL
        if p[0] != c"\\":
            p += 1
            continue
        if end - p < 2:
            return NULL
        if p[1] == c"u":
            unit = hex4(p + 2, end)
            p += 6
            if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
                return NULL
            if 0xD800 <= unit <= 0xDBFF:
                if end - p < 6 or p[0] != c"\\" or p[1] != c"u" or not (
                    0xDC00 <= hex4(p + 2, end) <= 0xDFFF
                ):
                    return NULL
                p += 6
        elif (
            p[1] == c'"' or p[1] == c"\\" or p[1] == c"/" or p[1] == c"b" or p[1] == c"f"
            or p[1] == c"n" or p[1] == c"r" or p[1] == c"t"
        ):
            p += 2
        else:
            return NULL
    return NULL


cdef const uint8_t *skip_number(const uint8_t *p, const uint8_t *end) noexcept nogil:
    if p < end and p[0] == c"-":
        p += 1
    if not is_digit(p, end):
        return NULL
    if p[0] == c"0":
        p += 1
    else:
        while is_digit(p, end):
            p += 1
    if p < end and p[0] == c".":
        p += 1
        if not is_digit(p, end):
            return NULL
        while is_digit(p, end):
            p += 1
    if p < end and (p[0] == c"e" or p[0] == c"E"):
        p += 1
        if p < end and (p[0] == c"-" or p[0] == c"+"):
            p += 1
        if not is_digit(p, end):
            return NULL
        while is_digit(p, end):
            p += 1
    return p


cdef const uint8_t *skip_key(const uint8_t *p, const uint8_t *end) noexcept nogil:
    p = skip_string(skip_space(p, end), end)
    if p == NULL:
        return NULL
    p = skip_space(p, end)
    return p + 1 if p < end and p[0] == c":" else NULL


cdef const uint8_t *skip_json(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The byte after the JSON value at p, NULL where there is none or it nests too deep."""
    cdef uint64_t objects = 0       # of what is open, a bit each: whether it is an object
    cdef int depth = 0
    cdef bint opened
    while True:
        p = skip_space(p, end)
        if p >= end:
            return NULL
        opened = False
        if p[0] == c"{" or p[0] == c"[":
            if depth == JSON_DEPTH:
                return NULL
            objects = objects << 1 | (p[0] == c"{")
            depth += 1
            opened = True
            p += 1
        elif p[0] == c'"':
            p = skip_string(p, end)
        elif p[0] == c"t" and end - p >= 4 and memcmp(p, b"true", 4) == 0:
            p += 4
        elif p[0] == c"f" and end - p >= 5 and memcmp(p, b"false", 5) == 0:
            p += 5
        elif p[0] == c"n" and end - p >= 4 and memcmp(p, b"null", 4) == 0:
            p += 4
        else:
            p = skip_number(p, end)
        if p == NULL:
            return NULL
        # After a value, or at the beginning of what was opened.
        while depth:
            p = skip_space(p, end)
            if p >= end:
                return NULL
            if p[0] == (c"}" if objects & 1 else c"]"):
                objects >>= 1
                depth -= 1
                opened = False
                p += 1
                continue
            if not opened:
                if p[0] != c",":
                    return NULL
                p += 1
            if objects & 1:
                p = skip_key(p, end)
                if p == NULL:
                    return NULL
            break
        if depth == 0:
            return p
