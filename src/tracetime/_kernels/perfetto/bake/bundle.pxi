# Bundles of ftrace events, written anew with the times of their rows: on BOOTTIME.
#
# As in `items.pxi`; the rows are those of `importer/ftrace.pxi`, and one for each time from when on the
# bundle's buffer holds events, before which Perfetto drops events.

cdef enum:
    # Rows of a bundle that are no events: from when on it, or its buffer, holds events.
    KIND_FTRACE_BOUND = 127


cdef struct Parts:
    # Rows: those of each part of the bundle are next to each other, in this order.
    int64_t switches, wakings, events, bounds, end
    const uint8_t *sched            # the compact_sched that counts: the last


cdef int find_parts(PlacedRows rows, Span bundle, Parts *parts) noexcept nogil:
    cdef Span rest = bundle
    cdef Field f
    cdef int64_t row = rows.at
    parts.sched = NULL
    while next_field(&rest, &f):
        if f.number == BUNDLE_COMPACT_SCHED and f.wire == BYTES:
            parts.sched = f.data
    parts.switches = row
    while row < rows.end and rows.kind[row] == KIND_SCHED_SWITCH:
        row += 1
    parts.wakings = row
    while row < rows.end and rows.kind[row] == KIND_SCHED_WAKING:
        row += 1
    parts.events = row
    while row < rows.end and rows.kind[row] != KIND_FTRACE_BOUND:
        row += 1
    parts.bounds = row
    parts.end = rows.end
    return 0


cdef bint has_cpu(Span bundle) noexcept nogil:
    """Whether Perfetto reads a bundle."""
    cdef Field f
    while next_field(&bundle, &f):
        if f.number == BUNDLE_CPU and is_number(&f):
            return True
    return False


cdef bint has_possible_cpu(Span bundle) noexcept nogil:
    """Whether Perfetto goes on after it reads a bundle; it ends at a CPU that cannot be."""
    cdef bint found
    return <uint32_t>load_number(bundle, BUNDLE_CPU, &found) < MAX_CPUS


cdef int bake_bundle(
    PlacedRows rows, BakedClocks clocks, Span bundle, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil:
    """A bundle on BOOTTIME, without what tied its clock to that."""
    cdef Span rest = bundle, before = bundle
    cdef Field f
    cdef Parts parts
    cdef int64_t item = 0
    if not has_cpu(bundle):
        return put_bytes(out, bundle.data, bundle.end - bundle.data)
    find_parts(rows, bundle, &parts)
    if parts.switches < parts.end:
        relate_first(rows, clocks, trace, &parts)
    rows.at = parts.events
    while next_field(&rest, &f):
        if f.number == BUNDLE_EVENT and f.wire == BYTES:
            bake_event(rows, clocks, &f, item, trace, scratch, out)
            item += 1
        elif f.wire == BYTES:
            if f.data == parts.sched and parts.switches < parts.events:
                bake_sched(rows, &parts, span_of(&f), scratch, out)
            else:
                put_between(out, before, rest)
        elif (
            f.number == BUNDLE_FTRACE_CLOCK or f.number == BUNDLE_FTRACE_TIMESTAMP
            or f.number == BUNDLE_BOOT_TIMESTAMP
        ):
            pass
        elif (
            f.number == BUNDLE_LAST_READ_EVENT_TIMESTAMP
            or f.number == BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP
        ):
            put_bound(rows, &parts, f.number, out)
        else:
            put_between(out, before, rest)
        before = rest
    rows.at = parts.end
    return put_bytes(out, before.data, bundle.end - before.data)


cdef int relate_first(
    PlacedRows rows, BakedClocks clocks, Bytes *trace, const Parts *parts
) except -1 nogil:
    cdef int64_t row
    for row in range(parts.switches if sched_is_placed(rows, parts) else parts.events, parts.end):
        if rows.is_placed(row):
            return clocks.relate(trace, BOOTTIME)
    return 0


cdef int put_bound(
    PlacedRows rows, const Parts *parts, uint32_t field, Bytes *out
) except -1 nogil:
    """A time from when on; left out where it has no trace time."""
    cdef int64_t row
    for row in range(parts.bounds, parts.end):
        if rows.item[row] == field:
            if rows.is_placed(row):
                put_value(out, field, <uint64_t>rows.trace_time[row])
            return 0
    return 0


# Events

cdef int bake_event(
    PlacedRows rows, BakedClocks clocks, const Field *f, int64_t item, Bytes *trace,
    Bytes *scratch, Bytes *out
) except -1 nogil:
    """An event, which has a row where it has a timestamp, and a second one for gpu_work_period."""
    cdef int64_t row = rows.at
    if not rows.next_is(KIND_FTRACE_EVENT, item):
        return put_content(out, BUNDLE_EVENT, f.data, <int64_t>f.value)
    rows.at += 1
    cdef bint has_start = rows.next_is(KIND_GPU_WORK_PERIOD, item)
    rows.at += has_start
    if not rows.is_placed(row):
        rows.set_aside += 1 + has_start
        return put_content(out, SET_ASIDE, f.data, <int64_t>f.value)
    scratch.n = 0
    put_event(rows, clocks, span_of(f), row, has_start, trace, scratch)
    return put_content(out, BUNDLE_EVENT, scratch.data, scratch.n)


cdef int put_event(
    PlacedRows rows, BakedClocks clocks, Span event, int64_t row, bint has_start, Bytes *trace,
    Bytes *out
) except -1 nogil:
    """The content of an event with another timestamp: the first counts."""
    cdef Span rest = event, before = event
    cdef Field f
    cdef bint written = False
    cdef Bytes *inner = out + 1
    while next_field(&rest, &f):
        if f.number == FTRACE_EVENT_TIMESTAMP and is_number(&f) and not written:
            put_value(out, FTRACE_EVENT_TIMESTAMP, <uint64_t>rows.trace_time[row])
            written = True
        elif f.number == FTRACE_EVENT_GPU_WORK_PERIOD and f.wire == BYTES and has_start:
            put_gpu_work(rows, clocks, span_of(&f), row + 1, trace, inner)
            put_content(out, FTRACE_EVENT_GPU_WORK_PERIOD, inner.data, inner.n)
            has_start = False
        else:
            put_between(out, before, rest)
        before = rest
    return put_bytes(out, before.data, event.end - before.data)


cdef int put_gpu_work(
    PlacedRows rows, BakedClocks clocks, Span work, int64_t row, Bytes *trace, Bytes *out
) except -1 nogil:
    """A GpuWorkPeriodFtraceEvent, whose start has a clock of its own: without it, it counts not."""
    cdef bint is_placed = rows.is_placed(row)
    out.n = 0
    if is_placed:
        clocks.relate(trace, MONOTONIC_RAW)
    else:
        rows.set_aside += 1
        put_value(out, SET_ASIDE, <uint64_t>rows.timestamp[row])
    return put_with_number(
        out, work, GPU_WORK_PERIOD_START_TIME_NS, <uint64_t>rows.trace_time[row], is_placed
    )


# compact_sched

cdef bint sched_is_placed(PlacedRows rows, const Parts *parts) noexcept nogil:
    """Whether all items of compact_sched have trace times: they are deltas."""
    cdef int64_t row
    for row in range(parts.switches, parts.events):
        if not rows.is_placed(row):
            return False
    return True


cdef int bake_sched(
    PlacedRows rows, const Parts *parts, Span sched, Bytes *scratch, Bytes *out
) except -1 nogil:
    """Columns of deltas; set aside as a whole where an item has no trace time."""
    cdef Span rest = sched, before = sched
    cdef Field f
    cdef const uint8_t *switches = NULL, *wakings = NULL
    if not sched_is_placed(rows, parts):
        rows.set_aside += parts.events - parts.switches
        return put_content(out, SET_ASIDE, sched.data, sched.end - sched.data)
    while next_field(&rest, &f):
        if f.wire == BYTES and f.number == SCHED_SWITCH_TIMESTAMP:
            switches = f.data
        elif f.wire == BYTES and f.number == SCHED_WAKING_TIMESTAMP:
            wakings = f.data
    rest = sched
    scratch.n = 0
    while next_field(&rest, &f):
        if f.wire == BYTES and f.data == switches and f.number == SCHED_SWITCH_TIMESTAMP:
            put_column(rows, parts.switches, parts.wakings, &f, scratch)
        elif f.wire == BYTES and f.data == wakings and f.number == SCHED_WAKING_TIMESTAMP:
            put_column(rows, parts.wakings, parts.events, &f, scratch)
        else:
            put_between(scratch, before, rest)
        before = rest
    put_bytes(scratch, before.data, sched.end - before.data)
    return put_content(out, BUNDLE_COMPACT_SCHED, scratch.data, scratch.n)


cdef int put_column(
    PlacedRows rows, int64_t first, int64_t end, const Field *f, Bytes *out
) except -1 nogil:
    """The deltas between the trace times of rows, and those that there is no row for."""
    cdef Span old = span_of(f)
    cdef Bytes *column = out + 1
    cdef uint8_t scratch[LONGEST_VARINT]
    cdef uint64_t ignored, last = 0
    cdef int64_t row
    column.n = 0
    for row in range(first, end):
        old.data = read_varint(old.data, old.end, &ignored)
        if old.data == NULL:
            return 0
        put_bytes(
            column, scratch,
            put_varint(scratch, <uint64_t>rows.trace_time[row] - last) - scratch,
        )
        last = <uint64_t>rows.trace_time[row]
    put_bytes(column, old.data, old.end - old.data)
    return put_content(out, f.number, column.data, column.n)
