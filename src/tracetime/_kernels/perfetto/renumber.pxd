from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Field, Span

# A number of a file, and what it is in the output.
cdef struct NewNumber:
    uint64_t own
    uint64_t made


cdef class Numbers:
    cdef uint64_t seed
    cdef HashTable table
    cdef NewNumber *numbers
    cdef int64_t n, capacity
    cdef int64_t used               # the number that was used last, where there is any
    cdef uint64_t last              # that was given out

    cdef NewNumber *find(self, uint64_t own) noexcept nogil
    cdef int add(self, uint64_t own, uint64_t made) except -1 nogil
    cdef uint64_t of(self, uint64_t own) except? 0 nogil
    cdef void forget(self) noexcept nogil


cdef class Renumberer:
    cdef readonly uint64_t left_out
    cdef Numbers sequences, tracks, flows, machines
    cdef object names               # of machines, bytes by machine
    cdef set described              # machines that an earlier file has described
    cdef set shared                 # machines that several files are of
    cdef dict processes             # the number of its track, by machine, pid and name
    cdef set seen                   # those of the file at hand
    cdef readonly set named         # machines whose SystemInfo has been written
    cdef uint32_t machine           # that the flags are of
    cdef bint known, is_described, is_shared
    cdef bint is_of_one             # all packets of the file are of one machine of the output
    cdef Bytes out, packet, inner, middle, deep

    cdef int enter(self, uint32_t machine) except -1
    cdef int put_packet(self, Span packet) except -1 nogil
    cdef uint32_t machine_of(self, Span packet) except? 0 nogil
    cdef bint is_left_out(self, const Field *f) noexcept nogil
    cdef bint put_payload(self, const Field *f) except -1 nogil
    cdef int find_process(self, Span track) except -1 nogil
    cdef int put_track_event(self, Span event) except -1 nogil
    cdef int put_legacy(self, Span event) except -1 nogil
    cdef int put_defaults(self, Span defaults) except -1 nogil
    cdef int put_sequences(
        self, Span message, uint32_t field, uint32_t number, Bytes *out, Bytes *scratch
    ) except -1 nogil
    cdef int put_provenance(self, Span provenance) except -1 nogil
    cdef int put_system_info(self, Span info) except -1 nogil
    cdef int put_numbers(
        self, Numbers numbers, Span message, Bytes *out, uint32_t one, uint32_t two, uint32_t three
    ) except -1 nogil
    cdef uint64_t new(self, Numbers numbers, uint64_t own) except? 0 nogil
    cdef int put_mapped(self, Numbers numbers, const Field *f, Bytes *out) except -1 nogil
