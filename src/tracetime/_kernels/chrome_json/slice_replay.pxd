from libc.stdint cimport int32_t, int64_t, uint64_t

from tracetime._kernels.chrome_json.slice_log cimport Entry, JsonSliceLog
from tracetime._kernels.slices cimport Flows, Memos, SliceTables, Spills


cdef class Replay:
    cdef JsonSliceLog log
    cdef SliceTables to
    cdef Flows flows                # None: none are read
    cdef Memos first_names
    cdef Spills spills
    cdef uint64_t seed
    cdef int32_t unnamed            # the name of a slice without one
    cdef bint exact
    cdef int32_t *spilled
    cdef int64_t n_spilled, spilled_capacity

    cdef int take(self, int32_t number) except -1 nogil
    cdef int take_flow(self, Entry *e, int32_t track) except -1 nogil
    cdef int bind_flow(self, Entry *e, int32_t thread, int32_t track) except -1 nogil
    cdef int take_event(self, int32_t number, Entry *e, int32_t thread) except -1 nogil
    cdef int32_t name_of(self, Entry *e) noexcept nogil
    cdef int32_t thread_of(self, Entry *e) except -1 nogil
    cdef int complete(self, int32_t number, Entry *e, int32_t thread) except -1 nogil
    cdef int instant(self, int32_t number, Entry *e, int32_t thread) except -1 nogil
    cdef int asynchronous(self, int32_t number, Entry *e) except -1 nogil
    cdef int give_name(self, Entry *e, int32_t thread) except -1 nogil
    cdef int take_line(self, int32_t number, Entry *e) except -1 nogil
