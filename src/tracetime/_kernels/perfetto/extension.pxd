# The extension of a recorded ClockSnapshot: where its parts are in the file.
# Content and field numbers: docs/tracetime_extension.proto.

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tracetime._kernels.common.encode cimport unzigzag
from tracetime._kernels.perfetto.messages cimport (
    EXT_CENTRE_NS, EXT_EVENTS_DROPPED, EXT_HALF_WIDTH_NS, EXT_KERNEL_CLOCK, EXT_RAW_MINUS_READING,
    EXT_BOUND_EARLIEST_NS, EXT_BOUND_LATEST_NS, EXT_BOUND_SOURCE, EXT_REFERENCE, EXT_WALL_BOUND,
)
from tracetime._kernels.common.wire cimport (
    BYTES, VARINT, Field, Span, is_set, load_number, nothing, read_field, read_varint, span_of,
)

cdef enum:
    # Centres and half-widths beyond 2^50 ns, 13 days, are no measurement, and sums of them
    # would overflow: the extension that holds one is passed over.
    MOST_BITS = 50
    MOST_SOURCES = 256      # of a larger number nobody knows the name

cdef struct Extension:
    Span centres
    Span halves
    Span raws
    Span kernel_clock
    Span wall_bound
    uint64_t reference          # index of a clock
    bint has_reference
    uint64_t events_dropped

cdef struct WallBound:
    int64_t earliest_ns, latest_ns      # UTC less REALTIME
    int64_t source                      # of clocks/kernel_clock.py's TIME_SERVICES, from 1; 0: another


cdef inline bint read_extension(Span message, Extension *out) noexcept nogil:
    """Find the parts of an extension; False where it cannot be read to its end."""
    cdef const uint8_t *at = message.data
    cdef Field f
    out.centres = out.halves = out.raws = out.kernel_clock = out.wall_bound = nothing()
    out.reference = 0
    out.has_reference = False
    out.events_dropped = 0
    while at < message.end:
        at = read_field(at, message.end, &f)
        if at == NULL:
            return False
        if f.number == EXT_REFERENCE and f.wire == VARINT:
            out.reference = f.value
            out.has_reference = True
        elif f.number == EXT_EVENTS_DROPPED and f.wire == VARINT:
            out.events_dropped = f.value
        elif f.wire != BYTES:
            continue
        elif f.number == EXT_CENTRE_NS:
            out.centres = span_of(&f)
        elif f.number == EXT_HALF_WIDTH_NS:
            out.halves = span_of(&f)
        elif f.number == EXT_RAW_MINUS_READING:
            out.raws = span_of(&f)
        elif f.number == EXT_KERNEL_CLOCK:
            out.kernel_clock = span_of(&f)
        elif f.number == EXT_WALL_BOUND:
            out.wall_bound = span_of(&f)
    return True


cdef inline bint read_wall_bound(Span message, WallBound *out) noexcept nogil:
    """Read what bounds REALTIME; False where nothing does, or it makes no sense."""
    cdef bint has_earliest, has_latest, has_source
    cdef int64_t most = <int64_t>1 << MOST_BITS
    cdef uint64_t source
    if not is_set(message):
        return False
    out.earliest_ns = unzigzag(load_number(message, EXT_BOUND_EARLIEST_NS, &has_earliest))
    out.latest_ns = unzigzag(load_number(message, EXT_BOUND_LATEST_NS, &has_latest))
    source = load_number(message, EXT_BOUND_SOURCE, &has_source)
    out.source = <int64_t>source if source < MOST_SOURCES else 0
    return (
        has_earliest and has_latest and -most <= out.earliest_ns <= out.latest_ns <= most
    )


cdef inline bint count_is(Span packed, int64_t n) noexcept nogil:
    """Whether a packed array holds exactly n varints, and nothing else."""
    cdef const uint8_t *at = packed.data
    cdef uint64_t ignored
    while at != NULL and at < packed.end and n > 0:
        at = read_varint(at, packed.end, &ignored)
        n -= 1
    return n == 0 and at == packed.end


cdef inline bint is_measured(const Extension *e, int64_t n) noexcept nogil:
    """Whether an extension has plausible measurements of n clocks."""
    cdef const uint8_t *centre = e.centres.data, *half = e.halves.data
    cdef uint64_t value
    cdef int64_t i, c, h, most = <int64_t>1 << MOST_BITS
    if n == 0 or not e.has_reference or e.reference >= <uint64_t>n:
        return False
    if not (count_is(e.centres, n) and count_is(e.halves, n)):
        return False
    for i in range(n):
        centre = read_varint(centre, e.centres.end, &value)
        c = unzigzag(value)
        half = read_varint(half, e.halves.end, &value)
        h = <int64_t>value
        if c < -most or c > most or h < -1 or h > most:
            return False
    return True
