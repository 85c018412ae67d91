# Messages whose items have timestamps of their own: converted with their packet, never put aside.
#
# Each function names the place in Perfetto's src/trace_processor/importers/ that it follows. ftrace
# has a file of its own.

cdef int import_items(Timeline timeline, Packet *p, uint32_t inner) except -1 nogil:
    """Convert the items of `p.inner`, the field `inner` of the packet (see `is_inner`)."""
    if inner == PACKET_TRACK_EVENT:
        return import_track_event(timeline, p)
    if inner == PACKET_FTRACE_EVENTS:
        return import_bundle(timeline, p)
    if inner == PACKET_ANDROID_LOG:
        return import_logs(timeline, p)
    if inner == PACKET_STATSD_ATOM:
        return import_atoms(timeline, p)
    if inner == PACKET_POWER_RAILS:
        return import_rails(timeline, p)
    if inner == PACKET_STREAMING_PROFILE_PACKET:
        return import_streaming_profile(timeline, p)
    return import_etw(timeline, p)


cdef bint import_descriptor(
    Timeline timeline, Packet *p, uint32_t field, Span payload
) noexcept nogil:
    """Set what legacy timestamps of the sequence count from; whether the packet ends there."""
    cdef Sequence *sequence = &timeline.streams.sequences[p.sequence]
    cdef ThreadDescriptor thread
    cdef int described = read_descriptor(
        field, payload, p.message.has_trusted_packet_sequence_id,
        p.status == RESOLVED and sequence.valid, &thread,
    )
    if described == DESCRIBES_THREAD:
        sequence.has_reference = True
        sequence.reference_ns = saturating_mul(thread.reference_timestamp_us, 1000)
    return described == DESCRIBES_LAST


cdef int import_track_event(Timeline timeline, Packet *p) except -1 nogil:
    """TokenizeTrackEventPacket (proto/track_event_tokenizer.cc)."""
    cdef Sequence *sequence = &timeline.streams.sequences[p.sequence]
    cdef TrackEventTime event
    cdef bint has_delta
    cdef int64_t delta_us, absolute_us, value_ns, ns = 0
    cdef uint32_t clock = MONOTONIC
    cdef int status = p.status
    read_track_event_time(p.inner, &event)
    has_delta = event.has_timestamp_delta_us
    delta_us = event.timestamp_delta_us
    absolute_us = event.timestamp_absolute_us
    if not p.message.has_trusted_packet_sequence_id:
        return STOP_END
    if not has_delta and absolute_us == 0:
        if status == RESOLVED and p.message.has_timestamp:
            push(&timeline.sorter, p.trace_time)
        return STOP_END
    if status == RESOLVED:
        if has_delta:
            value_ns = saturating_add(sequence.reference_ns, saturating_mul(delta_us, 1000))
            if sequence.has_reference:
                sequence.reference_ns = value_ns
            else:
                status = SKIPPED_INCREMENTAL_STATE
        else:
            value_ns = saturating_mul(absolute_us, 1000)
        if status == RESOLVED:
            if value_ns < 0:
                status = OVERFLOW
            else:
                status = timeline.clocks.to_trace_time_or_raw(
                    p.machine, machine_key(MONOTONIC, p.machine), value_ns, &ns
                )
                if status != OVERFLOW:
                    push(&timeline.sorter, ns)
    elif has_delta:
        # The reference does not follow what is dropped.
        clock = 0
    else:
        timeline.clocks.engine.source_ns = saturating_mul(absolute_us, 1000)
    timeline.emit(
        KIND_TRACK_EVENT_LEGACY, 0, clock, delta_us if has_delta else absolute_us, ns, status
    )
    return STOP_END


cdef int import_logs(Timeline timeline, Packet *p) except -1 nogil:
    """AndroidLogPacket (proto/android_probes_module.cc)."""
    cdef Span rest = p.inner
    cdef Field f
    cdef bint found
    cdef uint32_t item = 0
    cdef int64_t timestamp
    while next_field(&rest, &f):
        if f.number == LOG_PACKET_EVENTS and f.wire == BYTES:
            timestamp = <int64_t>load_number(span_of(&f), LOG_EVENT_TIMESTAMP, &found)
            timeline.emit_converted(
                p, KIND_ANDROID_LOG, item, machine_key(REALTIME, p.machine), timestamp, timestamp
            )
            item += 1
    return STOP_END


cdef int import_rails(Timeline timeline, Packet *p) except -1 nogil:
    """PowerRails (proto/android_probes_module.cc)."""
    cdef Span rest = p.inner
    cdef Field f
    cdef bint found
    cdef uint32_t item = 0
    cdef int64_t timestamp_ms
    while next_field(&rest, &f):
        if f.number == RAILS_ENERGY_DATA and f.wire == BYTES:
            timestamp_ms = <int64_t>load_number(span_of(&f), ENERGY_TIMESTAMP_MS, &found)
            if found:
                emit_ms(timeline, p, KIND_POWER_RAIL, item, timestamp_ms)
            else:
                timeline.emit_as_packet(p, KIND_POWER_RAIL, item)
            item += 1
    return STOP_END


cdef int emit_ms(
    Timeline timeline, Packet *p, Kind kind, uint32_t item, int64_t timestamp_ms
) except -1 nogil:
    cdef int64_t ns
    if mul_overflows(timestamp_ms, 1000000, &ns):
        return timeline.emit(kind, item, BOOTTIME, timestamp_ms, 0, OVERFLOW)
    return timeline.emit_converted(
        p, kind, item, machine_key(BOOTTIME, p.machine), timestamp_ms, ns
    )


cdef struct Numbers:
    Span message
    Span packed
    uint32_t number


cdef inline Numbers numbers_of(Span message, uint32_t number) noexcept nogil:
    cdef Numbers n
    n.message = message
    n.packed.data = NULL
    n.packed.end = NULL
    n.number = number
    return n


cdef bint next_number(Numbers *n, uint64_t *out) noexcept nogil:
    """The next value of a repeated number, packed or not."""
    cdef Field f
    while True:
        if n.packed.data < n.packed.end:
            n.packed.data = read_varint(n.packed.data, n.packed.end, out)
            if n.packed.data != NULL:
                return True
            n.packed.end = NULL
            return False
        if n.message.data >= n.message.end:
            return False
        n.message.data = read_field(n.message.data, n.message.end, &f)
        if n.message.data == NULL:
            n.message.data = n.message.end
            return False
        if f.number != n.number:
            continue
        if f.wire == BYTES:
            n.packed = span_of(&f)
        else:
            out[0] = f.value
            return True


cdef int import_atoms(Timeline timeline, Packet *p) except -1 nogil:
    """StatsdAtom (proto/statsd_module.cc)."""
    cdef Span rest = p.inner
    cdef Numbers times = numbers_of(p.inner, ATOM_TIMESTAMP_NANOS)
    cdef Field f
    cdef uint64_t timestamp
    cdef uint32_t item = 0
    while next_field(&rest, &f):
        if f.number == ATOM_ATOM and f.wire == BYTES:
            if next_number(&times, &timestamp):
                timeline.emit_trace_time(p, KIND_STATSD_ATOM, item, <int64_t>timestamp)
            else:
                timeline.emit_as_packet(p, KIND_STATSD_ATOM, item)
            item += 1
    return STOP_END


cdef int import_etw(Timeline timeline, Packet *p) except -1 nogil:
    """EtwTraceEventBundle (etw/etw_tokenizer.cc): events without CPU or timestamp are left out."""
    cdef Span rest = p.inner
    cdef Field f
    cdef EtwTraceEvent event
    cdef bint has_cpu
    cdef uint32_t bundle_cpu = <uint32_t>load_number(p.inner, ETW_CPU, &has_cpu)
    cdef uint32_t item = 0
    while next_field(&rest, &f):
        if f.number == ETW_EVENT and f.wire == BYTES:
            read_etw_trace_event(span_of(&f), &event)
            if not event.has_cpu:
                event.cpu = bundle_cpu
            if event.has_timestamp and (event.has_cpu or has_cpu) and event.cpu < MAX_CPUS:
                timeline.emit_trace_time(p, KIND_ETW_EVENT, item, <int64_t>event.timestamp)
            item += 1
    return STOP_END


cdef int import_streaming_profile(Timeline timeline, Packet *p) except -1 nogil:
    """TokenizeStreamingProfilePacket (proto/profile_module.cc)."""
    cdef Sequence *sequence = &timeline.streams.sequences[p.sequence]
    cdef Numbers stacks = numbers_of(p.inner, STREAMING_CALLSTACK_IID)
    cdef Numbers deltas = numbers_of(p.inner, STREAMING_TIMESTAMP_DELTA_US)
    cdef uint64_t ignored, delta_us
    cdef int64_t ns = 0, delta_ns
    cdef uint32_t item = 0
    cdef int status = p.status
    if status == RESOLVED:
        status = OVERFLOW
        if sequence.reference_ns >= 0:
            status = timeline.clocks.to_trace_time_or_raw(
                p.machine, machine_key(MONOTONIC, p.machine), sequence.reference_ns, &ns
            )
    while next_number(&deltas, &delta_us):
        if status == RESOLVED or status == AS_IS:
            delta_ns = saturating_mul(<int64_t>delta_us, 1000)
            sequence.reference_ns = saturating_add(sequence.reference_ns, delta_ns)
            if sequence.reference_ns < 0:
                status = OVERFLOW
            else:
                ns = saturating_add(ns, delta_ns)
        if next_number(&stacks, &ignored):
            if status == RESOLVED or status == AS_IS:
                push(&timeline.sorter, ns)
            timeline.clocks.engine.source_ns = sequence.reference_ns
            # The reference does not follow what is dropped.
            timeline.emit(
                KIND_STACK_SAMPLE, item, MONOTONIC if p.status == RESOLVED else 0,
                <int64_t>delta_us, ns, status,
            )
            item += 1
    return STOP_END


cdef bint has_times_after_sorting(Packet *p) noexcept nogil:
    cdef Span rest = p.after_sorting
    cdef Field f
    cdef bint found
    while next_field(&rest, &f):
        if f.wire != BYTES:
            continue
        if p.after_sorting_field == PACKET_PROFILE_PACKET:
            if f.number == PROFILE_PROCESS_DUMPS:
                return True
        elif f.number == TREE_PROCESSES:
            process_start(span_of(&f), &found)
            if found:
                return True
    return False


cdef int64_t process_start(Span process, bint *found) noexcept nogil:
    """When a process started; Perfetto passes over processes without a command line."""
    cdef ProcessTreeProcess said
    read_process_tree_process(process, &said)
    found[0] = said.has_process_start_from_boot and is_set(said.cmdline)
    return <int64_t>said.process_start_from_boot


cdef int import_after_sorting(Timeline timeline, Packet *p) except -1 nogil:
    """ProfilePacket (proto/profile_module.cc), ProcessTree (proto/system_probes_parser.cc)."""
    cdef Span rest = p.after_sorting
    cdef Key coarse = machine_key(MONOTONIC_COARSE, p.machine)
    cdef Key boottime = machine_key(BOOTTIME, p.machine)
    cdef Field f
    cdef ProfilePacketProcessHeapSamples dump
    cdef bint found
    cdef int64_t timestamp
    cdef uint32_t item = 0
    while next_field(&rest, &f):
        if f.wire != BYTES:
            continue
        if p.after_sorting_field == PACKET_PROFILE_PACKET:
            if f.number != PROFILE_PROCESS_DUMPS:
                continue
            read_profile_packet_process_heap_samples(span_of(&f), &dump)
            timestamp = <int64_t>dump.timestamp
            timeline.emit_converted(p, KIND_HEAP_DUMP, item, coarse, timestamp, timestamp)
            item += 1
            if dump.has_start_timestamp:
                timestamp = <int64_t>dump.start_timestamp
                timeline.emit_converted(p, KIND_HEAP_DUMP, item, coarse, timestamp, timestamp)
                item += 1
        elif f.number == TREE_PROCESSES:
            timestamp = process_start(span_of(&f), &found)
            if found:
                timeline.emit_converted(p, KIND_PROCESS_START, item, boottime, timestamp, timestamp)
            item += 1
    return STOP_END
