# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Arguments, which are objects of JSON, as debug annotations."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, strtod

from tracetime._kernels.chrome_json.decimal cimport Decimal, read_decimal, scaled
from tracetime._kernels.chrome_json.event cimport (
    ARRAY, DECIMAL, FALSE_VALUE, NULL_VALUE, NUMBER, OBJECT, STRING, TRUE_VALUE, Value,
)
from tracetime._kernels.chrome_json.fields cimport next_member
from tracetime._kernels.chrome_json.skip cimport skip_space
from tracetime._kernels.chrome_json.unescape cimport text_of
from tracetime._kernels.common.encode cimport LONGEST_TAG, LONGEST_VARINT, put_double, put_number
from tracetime._kernels.common.text cimport Bytes, put_bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.event_baking.texts cimport pad, put_content, span
from tracetime._kernels.perfetto.fields cimport *


cdef class Arguments:
    """Writes arguments, one object after the other."""

    def __dealloc__(self):
        free(self.annotation.data)
        free(self.text.data)
        free(self.padded.data)

    cdef int put(self, Span args, Bytes *event) except -1 nogil:
        """The members of an object as debug annotations."""
        cdef const uint8_t *at
        cdef const uint8_t *end
        cdef Value key, value
        pad(&self.padded, args)
        end = self.padded.data + (args.end - args.data)
        at = skip_space(self.padded.data)
        if at[0] != c"{":
            return 0
        at += 1
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
