# One clock of a ClockSnapshot as the file has it.

from libc.stdint cimport int64_t, uint8_t, uint32_t

from tracetime._kernels.perfetto.messages cimport (
    SNAPSHOT_CLOCK_CLOCK_ID, SNAPSHOT_CLOCK_IS_INCREMENTAL, SNAPSHOT_CLOCK_TIMESTAMP,
    SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS,
)
from tracetime._kernels.common.wire cimport Field, Span, is_number, read_field

cdef struct SnapshotClock:
    uint32_t clock
    bint incremental
    int64_t timestamp
    int64_t unit_ns


cdef inline bint read_clock(Span message, SnapshotClock *out) noexcept nogil:
    """Read a clock up to its first malformed field; return whether it was read to its end."""
    cdef const uint8_t *at = message.data
    cdef Field f
    out.clock = 0
    out.incremental = False
    out.timestamp = 0
    out.unit_ns = 1
    while at < message.end:
        at = read_field(at, message.end, &f)
        if at == NULL:
            return False
        if not is_number(&f):
            continue
        if f.number == SNAPSHOT_CLOCK_CLOCK_ID:
            out.clock = <uint32_t>f.value
        elif f.number == SNAPSHOT_CLOCK_TIMESTAMP:
            out.timestamp = <int64_t>f.value
        elif f.number == SNAPSHOT_CLOCK_IS_INCREMENTAL:
            out.incremental = f.value != 0
        elif f.number == SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS:
            out.unit_ns = <int64_t>f.value if f.value else 1
    return True
