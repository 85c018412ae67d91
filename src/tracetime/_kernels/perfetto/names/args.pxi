# Debug annotations of track events as JSON.
#
# Which value counts follows Perfetto's src/trace_processor/util/proto_to_args_parser.cc.

cdef enum:
    DEEPEST_ARGS = 32
    NESTED_DICT = 1         # NestedValue.NestedType
    NESTED_ARRAY = 2


cdef int put_args(
    Bytes *out, InternedData interned, Interning *t, Span event, RowDetails *w
) except -1 nogil:
    """The debug annotations of an event as one object; nothing where none has a name."""
    cdef Json json
    json.out = out
    json.limit = out.n + LONGEST_ARGS
    w.args = out.n
    put_byte(out, c"{")
    if put_annotations(&json, interned, t, event, TRACK_EVENT_DEBUG_ANNOTATIONS, 0) == ENOUGH:
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
    Json *json, InternedData interned, Interning *t, Span message, uint32_t number, int depth
) except -1 nogil:
    """Members of an object: those annotations of a message that have a name."""
    cdef Span rest = message
    cdef Field f
    cdef Bytes *out = json.out
    cdef Span annotation
    cdef int64_t began
    cdef bint any = False, named
    while next_field(&rest, &f):
        if f.number != number or f.wire != BYTES:
            continue
        annotation = span_of(&f)
        began = out.n
        if any:
            put_byte(out, c",")
        if put_key(json, interned, t, annotation, &named) == ENOUGH:
            out.n = began
            return ENOUGH
        if not named:
            out.n = began
            continue
        put_byte(out, c":")
        if put_value(json, interned, t, annotation, depth + 1) == ENOUGH or out.n > json.limit:
            # The members before it stay, where this is the outermost object.
            out.n = began
            return ENOUGH
        any = True
    return 0


cdef int put_key(
    Json *json, InternedData interned, Interning *t, Span annotation, bint *named
) except -1 nogil:
    cdef Span rest = annotation
    cdef Field f
    cdef Span name = nothing()
    cdef uint64_t iid = 0
    cdef Interned *found
    named[0] = True
    while next_field(&rest, &f):
        if f.number == DEBUG_NAME_IID and is_number(&f):
            iid = f.value
        elif f.number == DEBUG_NAME and f.wire == BYTES:
            name = span_of(&f)
    if iid:
        found = interned.look(t, TABLE_ARGS, iid)
        if found != NULL:
            return put_string(json, found.text.data, found.text.size)
    elif is_set(name):
        return put_string(json, name.data, name.end - name.data)
    named[0] = False
    return 0


# long: one pass over the fields, then a branch for each kind of value
cdef int put_value(
    Json *json, InternedData interned, Interning *t, Span annotation, int depth
) except -1 nogil:
    """Write an annotation: as a dictionary, else as an array, else as its last other value."""
    cdef Span rest = annotation
    cdef Field f, value
    cdef Bytes *out = json.out
    cdef Interned *found
    cdef bint dictionary = False, array = False, first = True
    cdef double number
    cdef int enough = 0
    value.number = 0
    while next_field(&rest, &f):
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
        enough = put_annotations(json, interned, t, annotation, DEBUG_DICT_ENTRIES, depth)
        put_byte(out, c"}")
    elif array:
        put_byte(out, c"[")
        rest = annotation
        while not enough and next_field(&rest, &f):
            if f.number == DEBUG_ARRAY_VALUES and f.wire == BYTES:
                if not first:
                    put_byte(out, c",")
                first = False
                enough = put_value(json, interned, t, span_of(&f), depth + 1)
                if out.n > json.limit:
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
        enough = put_string(json, value.data, <int64_t>value.value)
    elif value.number == DEBUG_STRING_VALUE_IID:
        found = interned.look(t, TABLE_STRINGS, value.value)
        if found == NULL:
            put_bytes(out, b"null", 4)
        else:
            enough = put_string(json, found.text.data, found.text.size)
    elif value.number == DEBUG_LEGACY_JSON_VALUE:
        enough = put_json(json, span_of(&value))
    elif value.number == DEBUG_NESTED_VALUE:
        enough = put_nested(json, span_of(&value), depth)
    else:
        put_bytes(out, b"null", 4)
    return enough


# long: one pass over the fields, then a branch for each kind of value
cdef int put_nested(Json *json, Span nested, int depth) except -1 nogil:
    """Write a NestedValue; a dictionary has its keys in one field and its values in another."""
    cdef Span rest = nested, values = nested
    cdef Field f, value
    cdef Bytes *out = json.out
    cdef bint first = True, paired
    cdef uint64_t type = 0
    cdef double number
    cdef int enough = 0
    value.number = 0
    while next_field(&rest, &f):
        if f.number == NESTED_NESTED_TYPE and is_number(&f):
            type = f.value
        elif f.number == NESTED_STRING_VALUE and f.wire == BYTES:
            value = f
        elif f.number == NESTED_DOUBLE_VALUE and f.wire == FIXED64:
            value = f
        elif (f.number == NESTED_INT_VALUE or f.number == NESTED_BOOL_VALUE) and is_number(&f):
            value = f
    rest = nested
    if depth > DEEPEST_ARGS and (type == NESTED_DICT or type == NESTED_ARRAY):
        put_bytes(out, b'"(too deep)"', 12)
    elif type == NESTED_DICT:
        put_byte(out, c"{")
        while not enough and next_field(&rest, &f):
            if f.number != NESTED_DICT_KEYS or f.wire != BYTES:
                continue
            if not first:
                put_byte(out, c",")
            first = False
            enough = put_string(json, f.data, <int64_t>f.value)
            put_byte(out, c":")
            paired = False
            while not paired and next_field(&values, &f):
                paired = f.number == NESTED_DICT_VALUES and f.wire == BYTES
            if not paired:
                put_bytes(out, b"null", 4)
            elif not enough:
                enough = put_nested(json, span_of(&f), depth + 1)
            if out.n > json.limit:
                enough = ENOUGH
        put_byte(out, c"}")
    elif type == NESTED_ARRAY:
        put_byte(out, c"[")
        while not enough and next_field(&rest, &f):
            if f.number == NESTED_ARRAY_VALUES and f.wire == BYTES:
                if not first:
                    put_byte(out, c",")
                first = False
                enough = put_nested(json, span_of(&f), depth + 1)
                if out.n > json.limit:
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
        enough = put_string(json, value.data, <int64_t>value.value)
    else:
        put_bytes(out, b"null", 4)
    return enough
