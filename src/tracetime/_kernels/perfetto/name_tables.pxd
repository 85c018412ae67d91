from libc.stdint cimport int32_t, int64_t, uint32_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.perfetto.batch cimport Batch, RowDetails
from tracetime._kernels.perfetto.directory cimport Directory, Text
from tracetime._kernels.perfetto.interning cimport Interned, InternedData


cdef class NameTables:
    cdef Directory directory
    cdef InternedData interned
    cdef Batch batch
    cdef Text *texts                    # the directory's names
    cdef Interned *ftrace               # names of events, by field number
    cdef int64_t n_ftrace
    cdef Bytes ftrace_names

    cdef int set_known(self, int column, int32_t index, RowDetails *w) except -1 nogil
    cdef int set_thread(
        self, uint32_t machine, bint has_tid, int32_t pid, int64_t tid, RowDetails *w
    ) except -1 nogil
    cdef int set_tid(self, uint32_t machine, int64_t tid, RowDetails *w) except -1 nogil
    cdef int set_event(self, uint32_t number, RowDetails *w) except -1 nogil
