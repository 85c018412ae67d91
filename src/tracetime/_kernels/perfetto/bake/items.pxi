# Messages whose items have timestamps of their own, written anew with the times of their rows.
#
# Each function takes the rows that `importer/items.pxi` made of the message, in the same order, and appends
# the message to `out`. `trace` takes what ties a clock, ahead of the packet; `scratch`, two buffers, is for
# an item.
# An item without trace time is set aside where a clock is tied by now that was not before.

cdef enum:
    MS = 1000000
    US = 1000


cdef int bake_logs(
    PlacedRows rows, BakedClocks clocks, Span logs, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil:
    """AndroidLogPacket: REALTIME, by the snapshots that are kept."""
    cdef Span rest = logs, before = logs
    cdef Field f
    cdef int64_t wall_ns, off_ns
    while next_field(&rest, &f):
        if (
            f.number != LOG_PACKET_EVENTS or f.wire != BYTES
            or not rows.next_is(KIND_ANDROID_LOG, -1)
        ):
            put_between(out, before, rest)
        elif not rows.is_placed(rows.at):
            rows.set_aside += 1
            put_content(out, SET_ASIDE, f.data, <int64_t>f.value)
            rows.at += 1
        else:
            wall_ns = clocks.to_wall(
                trace, rows.trace_time[rows.at], rows.timestamp[rows.at], &off_ns
            )
            if off_ns:
                rows.note_rounded(off_ns)
            put_item(out, LOG_PACKET_EVENTS, &f, LOG_EVENT_TIMESTAMP, wall_ns, scratch)
            rows.at += 1
        before = rest
    return put_bytes(out, before.data, logs.end - before.data)


cdef inline int put_item(
    Bytes *out, uint32_t number, const Field *f, uint32_t field, int64_t value, Bytes *scratch
) except -1 nogil:
    """A message in a field with a number of its own in `field`."""
    scratch.n = 0
    put_with_number(scratch, span_of(f), field, <uint64_t>value, True)
    return put_content(out, number, scratch.data, scratch.n)


cdef int bake_rails(
    PlacedRows rows, BakedClocks clocks, Span rails, int64_t packet_ns, Bytes *trace,
    Bytes *scratch, Bytes *out
) except -1 nogil:
    """PowerRails: whole ms of BOOTTIME, or none for the packet's time.

    packet_ns: that time; INT64_MIN where the packet has none.
    """
    cdef Span rest = rails, before = rails
    cdef Field f
    cdef bint has_time
    cdef int64_t ns, ms
    while next_field(&rest, &f):
        if (
            f.number != RAILS_ENERGY_DATA or f.wire != BYTES
            or not rows.next_is(KIND_POWER_RAIL, -1)
        ):
            put_between(out, before, rest)
            before = rest
            continue
        ns = rows.trace_time[rows.at]
        load_number(span_of(&f), ENERGY_TIMESTAMP_MS, &has_time)
        if not rows.is_placed(rows.at):
            rows.set_aside += 1
            put_content(out, SET_ASIDE, f.data, <int64_t>f.value)
        elif not has_time:
            put_between(out, before, rest)
        elif ns % MS and ns == packet_ns:
            scratch.n = 0
            put_with_number(scratch, span_of(&f), ENERGY_TIMESTAMP_MS, 0, False)
            put_content(out, RAILS_ENERGY_DATA, scratch.data, scratch.n)
            rows.moved += 1
        else:
            ms = nearest(ns, MS)
            if ms * MS != ns:
                rows.note_rounded(ms * MS - ns)
            clocks.relate(trace, BOOTTIME)
            put_item(out, RAILS_ENERGY_DATA, &f, ENERGY_TIMESTAMP_MS, ms, scratch)
        rows.at += 1
        before = rest
    return put_bytes(out, before.data, rails.end - before.data)


cdef bint rails_have_time(PlacedRows rows, Span rails) noexcept nogil:
    """Whether a placed entry of PowerRails has a time of its own."""
    cdef Field f
    cdef bint has_time
    cdef int64_t row = rows.at
    while row < rows.end and next_field(&rails, &f):
        if f.number == RAILS_ENERGY_DATA and f.wire == BYTES:
            load_number(span_of(&f), ENERGY_TIMESTAMP_MS, &has_time)
            if has_time and rows.is_placed(row):
                return True
            row += 1
    return False


cdef int bake_atoms(PlacedRows rows, Span atoms, Bytes *scratch, Bytes *out) except -1 nogil:
    """StatsdAtom: those that were dropped with their packet, which is placed now, are set aside.

    The first atoms have the timestamps that there are: both go together. These are trace time as it
    stands, which moves where traces become one.
    """
    cdef uint8_t number[LONGEST_VARINT]
    cdef Span rest = atoms, before = atoms, packed
    cdef Field f
    cdef uint64_t value
    cdef int64_t timed = rows.at
    cdef bint drops_times = rows.next_is(KIND_STATSD_ATOM, -1) and not rows.is_placed(rows.at)
    while next_field(&rest, &f):
        if f.number == ATOM_TIMESTAMP_NANOS and drops_times:
            pass
        elif f.number == ATOM_TIMESTAMP_NANOS and is_number(&f):
            put_value(out, f.number, time_of_atom(rows, timed, f.value))
            timed += 1
        elif f.number == ATOM_TIMESTAMP_NANOS:
            scratch.n = 0
            packed = span_of(&f)
            while packed.data != NULL and packed.data < packed.end:
                packed.data = read_varint(packed.data, packed.end, &value)
                if packed.data != NULL:
                    value = time_of_atom(rows, timed, value)
                    put_bytes(scratch, number, put_varint(number, value) - number)
                    timed += 1
            put_content(out, f.number, scratch.data, scratch.n)
        elif (
            f.number != ATOM_ATOM or f.wire != BYTES or not rows.next_is(KIND_STATSD_ATOM, -1)
        ):
            put_between(out, before, rest)
        else:
            if rows.is_placed(rows.at):
                put_between(out, before, rest)
            else:
                rows.set_aside += 1
                put_content(out, SET_ASIDE, f.data, <int64_t>f.value)
            rows.at += 1
        before = rest
    return put_bytes(out, before.data, atoms.end - before.data)


cdef inline uint64_t time_of_atom(PlacedRows rows, int64_t row, uint64_t timestamp) noexcept nogil:
    """The trace time of the atom of a row; the timestamp as it is where there is none."""
    if row < rows.end and rows.kind[row] == KIND_STATSD_ATOM and rows.is_placed(row):
        return <uint64_t>rows.trace_time[row]
    return timestamp


cdef int bake_etw(PlacedRows rows, Span bundle, Bytes *scratch, Bytes *out) except -1 nogil:
    """EtwTraceEventBundle: events that were dropped with their packet, as `bake_atoms`."""
    cdef Span rest = bundle, before = bundle
    cdef Field f
    cdef int64_t item = 0, ns
    while next_field(&rest, &f):
        if f.number == ETW_EVENT and f.wire == BYTES:
            if not rows.next_is(KIND_ETW_EVENT, item):
                put_between(out, before, rest)
            else:
                ns = rows.trace_time[rows.at]
                if not rows.is_placed(rows.at):
                    rows.set_aside += 1
                    put_content(out, SET_ASIDE, f.data, <int64_t>f.value)
                elif ns == rows.timestamp[rows.at]:
                    put_between(out, before, rest)
                else:
                    put_item(out, ETW_EVENT, &f, ETW_EVENT_TIMESTAMP, ns, scratch)
                rows.at += 1
            item += 1
        else:
            put_between(out, before, rest)
        before = rest
    return put_bytes(out, before.data, bundle.end - before.data)


cdef inline int64_t nearest(int64_t ns, int64_t unit) noexcept nogil:
    """So many units, rounded to the nearest, whose ns fit in int64."""
    cdef int64_t units = ns // unit, left = ns - units * unit
    if left > unit // 2:
        return units + 1
    return units - 1 if left < -(unit // 2) else units


cdef int bake_dumps(
    PlacedRows rows, BakedClocks clocks, Span profile, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil:
    """ProfilePacket: MONOTONIC_COARSE, 0 where a dump has no timestamp."""
    cdef Span rest = profile, before = profile, first
    cdef Bytes *dump
    cdef Field f
    cdef bint has_start
    while next_field(&rest, &f):
        if (
            f.number != PROFILE_PROCESS_DUMPS or f.wire != BYTES
            or not rows.next_is(KIND_HEAP_DUMP, -1)
        ):
            put_between(out, before, rest)
            before = rest
            continue
        before = rest
        load_number(span_of(&f), HEAP_SAMPLES_START_TIMESTAMP, &has_start)
        has_start = has_start and rows.at + 1 < rows.end
        if not rows.is_placed(rows.at) or (has_start and not rows.is_placed(rows.at + 1)):
            rows.set_aside += 1 + has_start
            rows.at += 1 + has_start
            put_content(out, SET_ASIDE, f.data, <int64_t>f.value)
            continue
        clocks.relate(trace, MONOTONIC_COARSE)
        scratch.n = 0
        put_with_number(
            scratch, span_of(&f), HEAP_SAMPLES_TIMESTAMP, <uint64_t>rows.trace_time[rows.at], True
        )
        rows.at += 1
        dump = &scratch[0]
        if has_start:
            dump = &scratch[1]
            dump.n = 0
            first.data = scratch[0].data
            first.end = first.data + scratch[0].n
            put_with_number(
                dump, first, HEAP_SAMPLES_START_TIMESTAMP, <uint64_t>rows.trace_time[rows.at], True
            )
            rows.at += 1
        put_content(out, PROFILE_PROCESS_DUMPS, dump.data, dump.n)
    return put_bytes(out, before.data, profile.end - before.data)


cdef int bake_tree(
    PlacedRows rows, BakedClocks clocks, Span tree, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil:
    """ProcessTree: when processes started, BOOTTIME."""
    cdef Span rest = tree, before = tree
    cdef Field f
    cdef int64_t item = 0
    while next_field(&rest, &f):
        if f.number != TREE_PROCESSES or f.wire != BYTES:
            put_between(out, before, rest)
            before = rest
            continue
        if not rows.next_is(KIND_PROCESS_START, item):
            put_between(out, before, rest)
        elif rows.is_placed(rows.at):
            clocks.relate(trace, BOOTTIME)
            put_item(
                out, TREE_PROCESSES, &f, TREE_PROCESS_PROCESS_START_FROM_BOOT,
                rows.trace_time[rows.at], scratch,
            )
            rows.at += 1
        else:
            scratch.n = 0
            put_value(scratch, SET_ASIDE, <uint64_t>rows.timestamp[rows.at])
            put_with_number(scratch, span_of(&f), TREE_PROCESS_PROCESS_START_FROM_BOOT, 0, False)
            put_content(out, TREE_PROCESSES, scratch.data, scratch.n)
            rows.set_aside += 1
            rows.at += 1
        item += 1
        before = rest
    return put_bytes(out, before.data, tree.end - before.data)


cdef int bake_stacks(
    PlacedRows rows, BakedClocks clocks, Span profile, int64_t *reference_ns, Bytes *trace,
    Bytes *scratch, Bytes *out
) except -1 nogil:
    """StreamingProfilePacket: deltas in us, on a reference of the packet sequence.

    reference_ns: that reference as the output has it so far, which the deltas move on.
    """
    cdef Span rest = profile, before = profile
    cdef Field f
    while next_field(&rest, &f):
        if f.number != STREAMING_TIMESTAMP_DELTA_US:
            put_between(out, before, rest)
        elif is_number(&f):
            put_value(
                out, STREAMING_TIMESTAMP_DELTA_US,
                next_delta(rows, clocks, f.value, reference_ns, trace),
            )
        else:
            scratch.n = 0
            put_deltas(rows, clocks, span_of(&f), reference_ns, trace, scratch)
            put_content(out, STREAMING_TIMESTAMP_DELTA_US, scratch.data, scratch.n)
        before = rest
    return put_bytes(out, before.data, profile.end - before.data)


cdef int put_deltas(
    PlacedRows rows, BakedClocks clocks, Span deltas, int64_t *reference_ns, Bytes *trace,
    Bytes *out
) except -1 nogil:
    cdef uint8_t scratch[LONGEST_VARINT]
    cdef const uint8_t *at
    cdef uint64_t delta
    while deltas.data < deltas.end:
        at = read_varint(deltas.data, deltas.end, &delta)
        if at == NULL:
            break
        deltas.data = at
        delta = next_delta(rows, clocks, delta, reference_ns, trace)
        put_bytes(out, scratch, put_varint(scratch, delta) - scratch)
    return put_bytes(out, deltas.data, deltas.end - deltas.data)


cdef uint64_t next_delta(
    PlacedRows rows, BakedClocks clocks, uint64_t delta, int64_t *reference_ns, Bytes *trace
) except? 0 nogil:
    """The delta that leads to the next row; of no sample where there is none, as it is."""
    cdef int64_t ns, us
    if rows.next_is(KIND_STACK_SAMPLE, -1):
        ns = rows.trace_time[rows.at]
        us = nearest(saturating_sub(ns, reference_ns[0]), US)
        clocks.relate(trace, MONOTONIC)
        rows.at += 1
        delta = <uint64_t>us
        reference_ns[0] = saturating_add(reference_ns[0], saturating_mul(us, US))
        if reference_ns[0] != ns:
            rows.note_rounded(saturating_sub(reference_ns[0], ns))
        return delta
    reference_ns[0] = saturating_add(
        reference_ns[0], saturating_mul(<int64_t>delta, US)
    )
    return delta


cdef int without_legacy_time(Span event, Bytes *out) except -1 nogil:
    """A TrackEvent without the timestamps that it had instead of its packet's."""
    cdef Span rest = event, before = event
    cdef Field f
    while next_field(&rest, &f):
        if not is_number(&f) or (
            f.number != TRACK_EVENT_TIMESTAMP_DELTA_US
            and f.number != TRACK_EVENT_TIMESTAMP_ABSOLUTE_US
        ):
            put_between(out, before, rest)
        before = rest
    return put_bytes(out, before.data, event.end - before.data)
