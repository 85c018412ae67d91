# Events of the Linux kernel: each has a timestamp of its own, converted with its packet.
#
# Follows Perfetto's src/trace_processor/importers/ftrace/ftrace_tokenizer.cc.

cdef int import_bundle(Timeline timeline, Packet *p) except -1 nogil:
    """TokenizeFtraceBundle and HandleFtraceClockSnapshot (ftrace/ftrace_tokenizer.cc)."""
    cdef Span rest = p.inner
    cdef FtraceEventBundle said
    cdef FtraceEventBundleCompactSched sched
    cdef Machine *m
    cdef Field f
    cdef Key key = machine_key(BOOTTIME, p.machine)
    cdef int64_t start, ns
    cdef uint32_t item = 0
    cdef int status
    read_ftrace_event_bundle(p.inner, &said)
    if not said.has_cpu:
        return STOP_END
    if said.cpu >= MAX_CPUS and p.status == RESOLVED:
        return timeline.fail(ERROR_CPU)
    if said.has_ftrace_clock:
        if said.ftrace_clock == 2 or said.ftrace_clock == 3:  # GLOBAL, LOCAL
            key.clock = FIRST_SEQUENCE_CLOCK
            key.sequence = p.message.trusted_packet_sequence_id
            key.file = timeline.file
        elif said.ftrace_clock == 4:  # MONO_RAW
            key.clock = MONOTONIC_RAW
        elif said.ftrace_clock:
            return timeline.fail(ERROR_FTRACE_CLOCK) if p.status == RESOLVED else STOP_END
        m = &timeline.streams.machines[p.machine]
        if (
            said.has_ftrace_timestamp and said.has_boot_timestamp
            and said.ftrace_timestamp != m.ftrace_snapshot and p.status == RESOLVED
        ):
            m.ftrace_snapshot = said.ftrace_timestamp
            timeline.clocks.add_pair(
                key, said.ftrace_timestamp, machine_key(BOOTTIME, p.machine), said.boot_timestamp
            )
    if is_set(said.compact_sched):
        read_ftrace_event_bundle_compact_sched(said.compact_sched, &sched)
        import_sched(timeline, p, &sched, key, False)
        import_sched(timeline, p, &sched, key, True)
    while next_field(&rest, &f):
        if f.number == BUNDLE_EVENT and f.wire == BYTES:
            import_ftrace_event(timeline, p, span_of(&f), key, item)
            item += 1
    if p.status == RESOLVED and first_of_cpu(
        &timeline.streams.machines[p.machine], said.cpu
    ) and (said.has_previous_bundle_end_timestamp or said.has_last_read_event_timestamp):
        start = <int64_t>said.previous_bundle_end_timestamp
        if not said.has_previous_bundle_end_timestamp:
            start = <int64_t>said.last_read_event_timestamp
        status = timeline.clocks.to_trace_time(p.machine, key, start, &ns)
        if status != RESOLVED and status != OVERFLOW:
            return timeline.fail(ERROR_FTRACE_START)
        m = &timeline.streams.machines[p.machine]
        if status == RESOLVED and ns > m.ftrace_valid_ns:
            m.ftrace_valid_ns = ns
    return STOP_END


cdef bint may_hold_clock_pair(Packet *p) noexcept nogil:
    """Whether importing a packet may add a snapshot of the two clocks of a bundle."""
    cdef FtraceEventBundle said
    if p.message.n_data > 1:
        return True
    if p.inner_field != PACKET_FTRACE_EVENTS:
        return False
    read_ftrace_event_bundle(p.inner, &said)
    return said.has_ftrace_timestamp and said.has_boot_timestamp


cdef int first_of_cpu(Machine *m, uint64_t cpu) except -1 nogil:
    """Whether this is the first bundle of that cpu."""
    cdef bint first
    if m.cpus_seen == NULL:
        m.cpus_seen = <uint64_t *>calloc(MAX_CPUS // 64, sizeof(uint64_t))
        if m.cpus_seen == NULL:
            with gil:
                raise MemoryError
    first = not (m.cpus_seen[cpu >> 6] >> (cpu & 63) & 1)
    m.cpus_seen[cpu >> 6] |= <uint64_t>1 << (cpu & 63)
    return first


cdef int import_sched(
    Timeline timeline, Packet *p, const FtraceEventBundleCompactSched *sched, Key key, bint waking
) except -1 nogil:
    """TokenizeFtraceCompactSchedSwitch, ...Waking: columns of deltas, walked in step."""
    cdef Span[5] columns
    cdef uint64_t value, sum = 0
    cdef uint32_t item = 0
    cdef int64_t delta
    cdef int i
    if waking:
        columns[0] = sched.waking_timestamp
        columns[1] = sched.waking_pid
        columns[2] = sched.waking_target_cpu
        columns[3] = sched.waking_prio
        columns[4] = sched.waking_comm_index
    else:
        columns[0] = sched.switch_timestamp
        columns[1] = sched.switch_prev_state
        columns[2] = sched.switch_next_pid
        columns[3] = sched.switch_next_prio
        columns[4] = sched.switch_next_comm_index
    while True:
        for i in range(5):
            if columns[i].data >= columns[i].end:
                return 0
            columns[i].data = read_varint(columns[i].data, columns[i].end, &value)
            if columns[i].data == NULL:
                return 0
            if i == 0:
                delta = <int64_t>value
        if value >= <uint64_t>sched.n_intern_table:
            return 0
        sum += <uint64_t>delta
        emit_sum(timeline, p, KIND_SCHED_WAKING if waking else KIND_SCHED_SWITCH, item, key, sum)
        item += 1


cdef inline int emit_sum(
    Timeline timeline, Packet *p, Kind kind, uint32_t item, Key key, uint64_t sum
) except -1 nogil:
    """An item of compact_sched: its timestamp is the sum of the deltas up to it."""
    return timeline.emit_converted(p, kind, item, key, <int64_t>sum, <int64_t>sum)


cdef int import_ftrace_event(
    Timeline timeline, Packet *p, Span s, Key key, uint32_t item
) except -1 nogil:
    """TokenizeFtraceEvent: an event without timestamp or without an event in it is none."""
    cdef FtraceEvent event = read_ftrace_event(s)
    cdef int64_t ns = 0
    cdef int status = p.status
    if not event.has_timestamp or not event.kind:
        return 0
    if status == RESOLVED:
        status = timeline.clocks.to_trace_time(p.machine, key, event.timestamp, &ns)
    else:
        timeline.clocks.engine.source_ns = event.timestamp
    timeline.emit(KIND_FTRACE_EVENT, item, key.clock, event.timestamp, ns, status)
    if event.kind == FTRACE_EVENT_GPU_WORK_PERIOD:
        return import_gpu_work(timeline, p, event.message, item, ns, status)
    if status == RESOLVED and is_sorted_by_content(timeline, event.kind, event.message):
        push(&timeline.sorter, ns)
    return 0


cdef int import_gpu_work(
    Timeline timeline, Packet *p, Span event, uint32_t item, int64_t event_ns, int event_status
) except -1 nogil:
    """TokenizeFtraceGpuWorkPeriod: its start has a clock of its own."""
    cdef bint found
    cdef int64_t ns = 0
    cdef int status = event_status
    cdef int64_t start_ns = <int64_t>load_number(event, GPU_WORK_PERIOD_START_TIME_NS, &found)
    if not found:
        return 0
    if status == RESOLVED:
        status = timeline.clocks.to_trace_time(
            p.machine, machine_key(MONOTONIC_RAW, p.machine), start_ns, &ns
        )
        if status == RESOLVED:
            push(&timeline.sorter, event_ns)
            push(&timeline.sorter, ns)
    else:
        timeline.clocks.engine.source_ns = start_ns
    return timeline.emit(KIND_GPU_WORK_PERIOD, item, MONOTONIC_RAW, start_ns, ns, status)


cdef bint is_sorted_by_content(Timeline timeline, uint32_t id, Span event) noexcept nogil:
    """Whether Perfetto's sorter gets an event; some it gets a second time, at a time within."""
    cdef bint found
    cdef int64_t ns
    cdef uint32_t field
    if id == FTRACE_EVENT_THERMAL_EXYNOS_ACPM_BULK:
        field = THERMAL_EXYNOS_ACPM_BULK_TIMESTAMP
    elif id == FTRACE_EVENT_PARAM_SET_VALUE_CPM:
        field = PARAM_SET_VALUE_CPM_TIMESTAMP
    elif id == FTRACE_EVENT_FWTP_PERFETTO_COUNTER:
        field = FWTP_PERFETTO_COUNTER_TIMESTAMP
    elif id == FTRACE_EVENT_FWTP_PERFETTO_SLICE:
        field = FWTP_PERFETTO_SLICE_TIMESTAMP
    else:
        return True
    ns = <int64_t>load_number(event, field, &found)
    if found:
        push(&timeline.sorter, ns)
    return found
