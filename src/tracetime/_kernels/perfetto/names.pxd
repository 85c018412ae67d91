from tracetime._kernels.perfetto.batch cimport Batch
from tracetime._kernels.perfetto.interning cimport InternedData
from tracetime._kernels.perfetto.name_tables cimport NameTables
from tracetime._kernels.perfetto.observer cimport PacketObserver


cdef class Names(PacketObserver):
    cdef InternedData interned
    cdef Batch batch
    cdef NameTables tables
