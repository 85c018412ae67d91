from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.clock_tracker cimport ClockTracker
from tracetime._kernels.perfetto.extension cimport WallBound
from tracetime._kernels.perfetto.packet cimport Packet

cdef struct MeasuredRead:
    int32_t node
    uint32_t snapshot
    int64_t centre_ns
    int64_t half_ns                 # -1: not known

cdef struct KernelRead:
    uint32_t snapshot
    uint32_t machine                # its index
    int64_t frequency_scaled        # 2^-16 ppm
    int64_t status
    int64_t state
    int64_t maxerror_us
    int64_t esterror_us

cdef struct WallBoundRead:
    uint32_t snapshot
    uint32_t machine                # its index
    WallBound bound


cdef class SnapshotExtensions:
    cdef uint32_t file
    cdef MeasuredRead *reads
    cdef int64_t n_reads, reads_capacity
    cdef KernelRead *kernel_reads
    cdef int64_t n_kernel_reads, kernel_reads_capacity
    cdef WallBoundRead *bounds
    cdef int64_t n_bounds, bounds_capacity
    cdef readonly dict declared             # what is said of clocks, bytes by key
    cdef readonly dict boots                # by index of the machine, 16 bytes
    cdef readonly dict suspended            # the same machines, ns: how long in that boot
    cdef uint64_t dropped_so_far            # of the recording that is read
    cdef readonly uint64_t events_dropped   # of all recordings in the file
    cdef readonly int64_t baked             # the policy that the file is baked by, from 1; 0: none
    cdef readonly int64_t dropped_packet    # the first snapshot that says so; -1 without any

    cdef int read(self, Packet *p, ClockTracker clocks, int64_t n, bint whole) except -1 nogil
    cdef int read_alone(self, Span extension, uint32_t machine) except -1 nogil
    cdef void note_dropped(self, uint64_t so_far, uint64_t packet) noexcept nogil
    cdef int add_kernel_read(
        self, uint32_t machine, uint32_t snapshot, Span kernel_clock
    ) except -1 nogil
    cdef int add_wall_bound(
        self, uint32_t machine, uint32_t snapshot, Span message
    ) except -1 nogil
    cdef int declare(self, Packet *p, Span domain) except -1 nogil
