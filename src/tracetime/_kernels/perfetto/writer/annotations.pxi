# Arguments of events to debug annotations; names/args.pxi reads them.
#
# A plain value is a string that UTF-8 can hold, a bool, an int of -2^63 to 2^64 - 1, a float, None,
# or a dictionary, list or tuple of plain values, of exactly these types: to write it calls no Python
# code.

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? -1

cdef enum:
    DEEPEST = 32            # as deep as they are read
    MOST_VALUES = 1 << 14   # of one event
    # A longer string is hardly repeated: it is written where it is used.
    LONGEST_INTERNED = 1 << 10
    NESTED_DICT = 1         # NestedValue.NestedType
    NESTED_ARRAY = 2


cdef bint are_plain(values) noexcept:
    """Whether these arguments are a dictionary of plain values, and not too many."""
    cdef int left = MOST_VALUES
    return PyDict_CheckExact(values) and is_plain(values, 0, &left)


cdef bint is_text(value) noexcept:
    cdef Py_ssize_t size
    if not PyUnicode_CheckExact(value):
        return False
    if PyUnicode_IS_ASCII(value):
        return True
    try:
        PyUnicode_AsUTF8AndSize(value, &size)
    except UnicodeEncodeError:
        return False
    return True


cdef bint is_unsigned(value) noexcept:
    """Whether it is an int of 64 bits without a sign."""
    if not PyLong_CheckExact(value):
        return False
    try:
        PyLong_AsUnsignedLongLong(value)
    except OverflowError:
        return False
    return True


cdef bint is_plain(value, int depth, int *left) noexcept:
    cdef Py_ssize_t at = 0
    cdef PyObject *key, *inner
    cdef int overflow = 0
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        return False
    if PyUnicode_CheckExact(value):
        return is_text(value)
    if PyLong_CheckExact(value):
        PyLong_AsLongLongAndOverflow(value, &overflow)
        return overflow == 0 or overflow > 0 and is_unsigned(value)
    if PyFloat_CheckExact(value) or value is None or value is True or value is False:
        return True
    if PyDict_CheckExact(value):
        while PyDict_Next(value, &at, &key, &inner):
            if not is_text(<object>key) or not is_plain(<object>inner, depth + 1, left):
                return False
        return True
    if PyList_CheckExact(value) or PyTuple_CheckExact(value):
        for one in value:
            if not is_plain(one, depth + 1, left):
                return False
        return True
    return False


cdef int put_annotations(
    Bytes *out, Bytes *data, Sequence sequence, uint32_t field, dict values
) except -1:
    """Append an annotation for each value; `data` gets the entries of interned data.

    field: of the message that they are in.
    """
    cdef Py_ssize_t at = 0
    cdef PyObject *key, *value
    cdef uint64_t iid
    while PyDict_Next(values, &at, &key, &value):
        iid = sequence.intern(
            sequence.arguments, INTERNED_DATA_DEBUG_ANNOTATION_NAMES, <str>key, data
        )
        put_annotation(out, data, sequence, field, iid, <object>value)
    return 0


cdef int put_annotation(
    Bytes *out, Bytes *data, Sequence sequence, uint32_t field, uint64_t name_iid, value
) except -1:
    """One DebugAnnotation; without a name in an array, and without a value for None."""
    cdef uint8_t scratch[64]
    cdef uint8_t *p = scratch
    cdef uint8_t header[24]
    cdef uint8_t *end
    cdef Py_ssize_t size
    cdef const char *text = NULL
    cdef int64_t content
    cdef int overflow = 0
    cdef int64_t number
    if PyDict_CheckExact(value) or PyList_CheckExact(value) or PyTuple_CheckExact(value):
        return put_container(out, data, sequence, field, name_iid, value)
    if name_iid:
        p = put_number(p, DEBUG_NAME_IID, name_iid)
    if PyUnicode_CheckExact(value):
        text = PyUnicode_AsUTF8AndSize(value, &size)
        if size <= LONGEST_INTERNED:
            text = NULL
            p = put_number(p, DEBUG_STRING_VALUE_IID, sequence.intern(
                sequence.strings, INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, <str>value, data
            ))
        else:
            p = put_varint(put_tag(p, DEBUG_STRING_VALUE, WIRE_BYTES), <uint64_t>size)
    elif value is True or value is False:
        p = put_number(p, DEBUG_BOOL_VALUE, value is True)
    elif PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            p = put_number(p, DEBUG_UINT_VALUE, PyLong_AsUnsignedLongLong(value))
        else:
            p = put_number(p, DEBUG_INT_VALUE, <uint64_t>number)
    elif PyFloat_CheckExact(value):
        p = put_double(p, DEBUG_DOUBLE_VALUE, PyFloat_AS_DOUBLE(value))
    content = p - scratch
    if text != NULL:
        content += size
    end = put_varint(put_tag(header, field, WIRE_BYTES), <uint64_t>content)
    put_bytes(out, header, end - header)
    put_bytes(out, scratch, p - scratch)
    if text != NULL:
        put_bytes(out, text, size)
    return 0


cdef int put_container(
    Bytes *out, Bytes *data, Sequence sequence, uint32_t field, uint64_t name_iid, value
) except -1:
    """A dictionary or an array; an empty one is a NestedValue, which can say so."""
    cdef uint8_t header[24]
    cdef uint8_t *end = put_tag(header, field, WIRE_BYTES)
    cdef bint dictionary = PyDict_CheckExact(value)
    put_bytes(out, header, end - header)
    # The length comes before the content: one byte's room, more is made where it takes more.
    put_byte(out, 0)
    cdef int64_t begin = out.n
    if name_iid:
        put_bytes(out, header, put_number(header, DEBUG_NAME_IID, name_iid) - header)
    if not value:
        end = put_varint(put_tag(header, DEBUG_NESTED_VALUE, WIRE_BYTES), 2)
        end = put_number(
            end, NESTED_NESTED_TYPE, <uint64_t>(NESTED_DICT if dictionary else NESTED_ARRAY)
        )
        put_bytes(out, header, end - header)
    elif dictionary:
        put_annotations(out, data, sequence, DEBUG_DICT_ENTRIES, <dict>value)
    elif PyList_CheckExact(value):
        for one in <list>value:
            put_annotation(out, data, sequence, DEBUG_ARRAY_VALUES, 0, one)
    else:
        for one in <tuple>value:
            put_annotation(out, data, sequence, DEBUG_ARRAY_VALUES, 0, one)
    cdef int64_t size = out.n - begin
    cdef int more = size_of_varint(<uint64_t>size) - 1
    if more:
        grow(<void **>&out.data, &out.capacity, out.n + more, 1)
        memmove(out.data + begin + more, out.data + begin, <size_t>size)
        out.n += more
    put_varint(out.data + begin - 1, <uint64_t>size)
    return 0
