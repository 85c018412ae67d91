from tracetime._kernels.chrome_json.event cimport JsonEvent, SystraceLine


cdef class EventObserver:
    cdef int observe(self, const JsonEvent *event) except -1 nogil
    cdef int observe_line(self, const SystraceLine *line) except -1 nogil
