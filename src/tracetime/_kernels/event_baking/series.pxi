# The values of counters, from the arguments of rows.

cdef class Series:
    """The numbers in arguments of counters: one of each member, and of each element of an array.

    as_chrome: texts that are numbers are numbers, and arrays are none, as Perfetto has Chrome's
    counters.

    Attributes:
        beside: members that have none, beside others that have.
    """

    cdef readonly int64_t beside
    cdef bint as_chrome
    cdef Bytes rows, values, ends, text, padded, scratch, text_scratch

    def __init__(self, bint as_chrome):
        self.as_chrome = as_chrome

    def __dealloc__(self):
        free(self.rows.data)
        free(self.values.data)
        free(self.ends.data)
        free(self.text.data)
        free(self.padded.data)
        free(self.scratch.data)
        free(self.text_scratch.data)

    def read(self, Texts args not None):
        """Read the arguments of rows.

        Returns (int64 rows, float64 values, int32 ends of keys, uint8 text of keys).
        """
        cdef int64_t row
        cdef Span text
        self.rows.n = self.values.n = self.ends.n = self.text.n = 0
        with nogil:
            for row in range(args.codes.shape[0]):
                text = args.of(row)
                if text.data != NULL and text.end > text.data:
                    self.read_object(row, text)
        return (
            array_of(&self.rows, np.int64), array_of(&self.values, np.float64),
            array_of(&self.ends, np.int32), array_of(&self.text, np.uint8),
        )

    cdef int read_object(self, int64_t row, Span args) except -1 nogil:
        cdef const uint8_t *at, *end
        cdef Value key, value
        cdef double number
        cdef int64_t before = self.ends.n, others = 0
        if not open_object(&self.padded, args, &at, &end):
            return 0
        while next_member(&at, end, &key, &value):
            if value.kind == ARRAY and not self.as_chrome:
                self.read_array(row, &key, &value)
            elif self.read_number(&value, &number):
                put_unescaped(&self.text, key.data, key.end)
                self.add(row, number)
            else:
                others += 1
        if self.ends.n > before:
            self.beside += others
        return 0

    cdef bint read_number(self, const Value *value, double *number) except -1 nogil:
        """The number that a value is, or its text (StringToDouble); False where there is none."""
        cdef Span text
        cdef char *end
        if value.kind == NUMBER or value.kind == DECIMAL:
            number[0] = strtod(<const char *>value.data, NULL)
            return True
        if value.kind != STRING or not self.as_chrome:
            return False
        text = text_of(value, &self.text_scratch)
        pad(&self.scratch, text)
        number[0] = strtod(<const char *>self.scratch.data, &end)
        return text.end > text.data and <uint8_t *>end == self.scratch.data + self.scratch.n

    cdef int read_array(self, int64_t row, const Value *key, const Value *array) except -1 nogil:
        cdef const uint8_t *at = skip_space(array.data + 1)
        cdef Value value
        cdef int i = 0
        while at < array.end - 1 and read_value(at, array.end, &value, &at) == 0:
            if value.kind == NUMBER or value.kind == DECIMAL:
                put_unescaped(&self.text, key.data, key.end)
                put_byte(&self.text, c"[")
                put_whole(&self.text, i)
                put_byte(&self.text, c"]")
                self.add(row, strtod(<const char *>value.data, NULL))
            i += 1
            at = skip_space(at)
            if at[0] == c",":
                at = skip_space(at + 1)
        return 0

    cdef int add(self, int64_t row, double number) except -1 nogil:
        cdef int32_t end = <int32_t>self.text.n
        put_bytes(&self.rows, &row, 8)
        put_bytes(&self.values, &number, 8)
        return put_bytes(&self.ends, &end, 4)


cdef inline int put_whole(Bytes *out, int value) except -1 nogil:
    if value >= 10:
        put_whole(out, value // 10)
    return put_byte(out, <uint8_t>(c"0" + value % 10))


cdef array_of(const Bytes *bytes, kind):
    data = (<char *>bytes.data)[:bytes.n] if bytes.n else b""
    return np.frombuffer(data, kind)
