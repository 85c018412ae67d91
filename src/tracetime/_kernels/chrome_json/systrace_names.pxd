from tracetime._kernels.chrome_json.slice_log cimport Entry
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.slices cimport SliceTables


cdef int name_by_line(SliceTables to, const Entry *e, Span task, Span args) except -1 nogil
