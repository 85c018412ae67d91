from libc.stdint cimport int8_t, int32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.batch cimport RowDetails
from tracetime._kernels.perfetto.interning cimport Place
from tracetime._kernels.perfetto.name_tables cimport NameTables
from tracetime._kernels.perfetto.observer cimport ImportedPacket


cdef int8_t type_of_phase(int32_t phase) noexcept nogil
cdef int name_track_event(
    NameTables tables, const ImportedPacket *p, Place *place, Span event, RowDetails *w
) except -1 nogil
