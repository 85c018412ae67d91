from libc.stdint cimport int64_t, uint64_t

from tracetime._kernels.chrome_json.event cimport JsonEvent, SystraceLine, Value
from tracetime._kernels.chrome_json.known_names cimport KnownNames
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.perfetto.batch cimport Batch, RowDetails


cdef class Details:
    cdef KnownNames known
    cdef readonly Batch batch
    cdef Bytes scratch, called

    cdef int describe(self, const JsonEvent *event) except -1 nogil
    cdef int describe_line(self, const SystraceLine *line) except -1 nogil
    cdef int set_text(self, int column, const Value *value, RowDetails *w) except -1 nogil
    cdef int set_known(
        self, int column, int64_t pid, int64_t tid, bint is_thread, RowDetails *w
    ) except -1 nogil
    cdef int set_owner(self, const JsonEvent *event, RowDetails *w) except -1 nogil
    cdef int set_track(self, const JsonEvent *event, RowDetails *w) except -1 nogil
    cdef int set_counter(self, const JsonEvent *event, RowDetails *w) except -1 nogil
    cdef int set_value(self, const JsonEvent *event, RowDetails *w) except -1 nogil
