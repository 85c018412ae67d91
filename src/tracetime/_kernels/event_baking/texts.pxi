# Columns of texts by number, as `slices_table.Strings`, and texts as fields of messages.

cdef enum:
    NONE = -1


cdef class Texts:
    """A column of texts by number.

    codes: int32, -1 for none. ends: int32, where each text ends. text: UTF-8.
    """

    cdef const int32_t[::1] codes, ends
    cdef const uint8_t[::1] text

    def __init__(self, const int32_t[::1] codes, const int32_t[::1] ends, const uint8_t[::1] text):
        cdef int64_t i, n = ends.shape[0]
        cdef int32_t before = 0
        for i in range(n):
            if ends[i] < before:
                raise IndexError("texts end in their order")
            before = ends[i]
        if before > text.shape[0]:
            raise IndexError("the text is shorter than its texts")
        for i in range(codes.shape[0]):
            if not NONE <= codes[i] < n:
                raise IndexError("there are not so many texts")
        self.codes, self.ends, self.text = codes, ends, text

    cdef Span of(self, int64_t row) noexcept nogil:
        """The text of a row; its data are NULL where it has none."""
        cdef int32_t code = self.codes[row]
        cdef const uint8_t *text = &self.text[0] if self.text.shape[0] else <const uint8_t *>b""
        cdef Span found
        found.data = found.end = NULL
        if code != NONE:
            found.data = text + (self.ends[code - 1] if code else 0)
            found.end = text + self.ends[code]
        return found


cdef class Details:
    """What events are: a row each.

    names, categories: texts. args: objects of JSON, or None.
    """

    cdef Texts names, categories, args

    def __init__(self, Texts names not None, Texts categories not None, Texts args):
        self.names, self.categories, self.args = names, categories, args
        if names.codes.shape[0] != categories.codes.shape[0]:
            raise IndexError("columns have one length")
        if args is not None and args.codes.shape[0] != names.codes.shape[0]:
            raise IndexError("columns have one length")


cdef inline Span span(const Bytes *bytes) noexcept nogil:
    cdef Span found
    found.data = bytes.data
    found.end = bytes.data + bytes.n
    return found


cdef inline int put_content(Bytes *out, uint32_t field, Span content) except -1 nogil:
    cdef uint8_t head[LONGEST_TAG + LONGEST_VARINT]
    cdef int64_t n = content.end - content.data
    cdef uint8_t *p = put_varint(put_tag(head, field, WIRE_BYTES), <uint64_t>n)
    put_bytes(out, head, p - head)
    return put_bytes(out, content.data, n)


cdef inline int pad(Bytes *out, Span text) except -1 nogil:
    """Copy a text to where its readers may look behind its end."""
    out.n = 0
    put_bytes(out, text.data, text.end - text.data)
    grow(<void **>&out.data, &out.capacity, out.n + PADDING, 1)
    memset(out.data + out.n, 0, PADDING)
    return 0


cdef inline bint open_object(
    Bytes *padded, Span text, const uint8_t **at, const uint8_t **end
) except -1 nogil:
    """Find where the members of an object of JSON begin, for `next_member`; False if it is none."""
    pad(padded, text)
    end[0] = padded.data + padded.n
    at[0] = skip_space(padded.data)
    if at[0][0] != c"{":
        return False
    at[0] += 1
    return True


# Arguments, which are objects of JSON, as debug annotations.

cdef class Arguments:
    """Writes arguments, one object after the other."""

    cdef Bytes annotation, text, padded

    def __dealloc__(self):
        free(self.annotation.data)
        free(self.text.data)
        free(self.padded.data)

    cdef int put(self, Span args, Bytes *event) except -1 nogil:
        """The members of an object as debug annotations."""
        cdef const uint8_t *at, *end
        cdef Value key, value
        if not open_object(&self.padded, args, &at, &end):
            return 0
        while next_member(&at, end, &key, &value):
            self.annotation.n = 0
            put_content(&self.annotation, DEBUG_NAME, text_of(&key, &self.text))
            self.put_value(&value)
            put_content(event, TRACK_EVENT_DEBUG_ANNOTATIONS, span(&self.annotation))
        return 0

    cdef int put_value(self, const Value *value) except -1 nogil:
        """The value of an annotation; null has none. What nests stays JSON."""
        cdef uint8_t field[LONGEST_TAG + LONGEST_VARINT]
        cdef uint8_t *p = field
        cdef Decimal decimal
        cdef bint rounded
        cdef int64_t number
        cdef Span text
        text.data, text.end = value.data, value.end
        if value.kind == NULL_VALUE:
            return 0
        if value.kind == TRUE_VALUE or value.kind == FALSE_VALUE:
            p = put_number(field, DEBUG_BOOL_VALUE, value.kind == TRUE_VALUE)
        elif value.kind == DECIMAL:
            p = put_double(field, DEBUG_DOUBLE_VALUE, strtod(<const char *>value.data, NULL))
        elif value.kind == NUMBER and (
            read_decimal(value.data, value.end, &decimal)
            and scaled(&decimal, 0, &number, &rounded)
        ):
            p = put_number(field, DEBUG_INT_VALUE, <uint64_t>number)
        elif value.kind == OBJECT or value.kind == ARRAY or value.kind == NUMBER:
            return put_content(&self.annotation, DEBUG_LEGACY_JSON_VALUE, text)
        elif value.kind == STRING:
            return put_content(
                &self.annotation, DEBUG_STRING_VALUE, text_of(value, &self.text)
            )
        else:
            return put_content(&self.annotation, DEBUG_STRING_VALUE, text)
        return put_bytes(&self.annotation, field, p - field)
