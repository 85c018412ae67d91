from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.graph cimport Engine, Key, Router
from tracetime._kernels.perfetto.event_samples cimport EventSamples
from tracetime._kernels.perfetto.streams cimport Streams


cdef class ClockTracker:
    cdef readonly Engine engine
    cdef readonly Streams streams
    cdef Router router                  # to trace time
    cdef Router wall_router             # to the REALTIME of its machine
    cdef Router own_router              # to that of another machine, one after the other
    cdef Key trace_key
    cdef int32_t trace_node
    cdef bint at_end
    # the current packet, and the byte it begins at
    cdef uint64_t packet, offset
    # one snapshot's clocks
    cdef int32_t *clock_nodes
    cdef int64_t *clock_values
    cdef int64_t *clock_units
    cdef uint8_t *clock_incremental
    cdef int64_t nodes_capacity, values_capacity, units_capacity, incremental_capacity
    cdef EventSamples samples
    cdef bint any_converted                 # whether any machine has requested a conversion
    cdef bint tying                         # whether a RemoteClockSync's mean is being added
    cdef readonly list faults
    cdef readonly object late_clock     # (packet, clock, machine) of a trace clock named too late
    # What trace time was before: (packet, clock, machine, whether conversions had begun)
    cdef readonly list moves
    cdef readonly int64_t n_faults
    cdef readonly int64_t n_own_syncs       # faults because trace time is the client's
    cdef readonly int64_t n_late_snapshots  # that follow events they would have placed
    cdef readonly int64_t latest_snapshot, latest_snapshot_ns

    cdef int set_trace_clock(self, uint32_t machine, uint32_t clock) except -1 nogil
    cdef int note_move(self) except -1 nogil
    cdef int note_late_clock(self, uint32_t machine, uint32_t clock) except -1 nogil
    cdef int reach(self, Key source, Key target, Router router) except -1 nogil
    cdef int bridge(self, uint32_t machine) except -1 nogil
    cdef int to_trace_time(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil
    cdef int to_trace_time_or_raw(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil
    cdef int reserve_clocks(self, int64_t n) except -1 nogil
    cdef int set_clock(self, int64_t i, Key key, int64_t ns) except -1 nogil
    cdef int add_clocks(self, int64_t n) except -1 nogil
    cdef int add_pair(self, Key a, int64_t a_ns, Key b, int64_t b_ns) except -1 nogil
    cdef int note_late_snapshot(self, int64_t n) except -1 nogil
    cdef int note_fault(self, int fault) except -1 nogil
