# Events of the Linux kernel: each has a timestamp of its own, converted with its packet.
#
# Follows Perfetto's src/trace_processor/importers/ftrace/ftrace_tokenizer.cc.

# long: one pass over the fields, then what follows from them together
cdef int import_bundle(Timeline timeline, Packet *p) except -1 nogil:
    """TokenizeFtraceBundle and HandleFtraceClockSnapshot (ftrace/ftrace_tokenizer.cc)."""
    cdef Span rest = p.inner
    cdef Machine *m
    cdef Field f
    cdef Span sched
    cdef Key key = machine_key(BOOTTIME, p.machine)
    cdef uint64_t cpu = 0, clock = 0, start = 0, end = 0
    cdef int64_t ftrace_ns = 0, boot_ns = 0, ns
    cdef bint has_cpu = False, has_clock = False, has_ftrace = False, has_boot = False
    cdef bint has_start = False, has_end = False
    cdef uint32_t item = 0
    cdef int status
    sched.data = NULL
    sched.end = NULL
    while next_field(&rest, &f):
        if f.number == BUNDLE_EVENT or f.wire == BYTES:
            if f.number == BUNDLE_COMPACT_SCHED:
                sched = span_of(&f)
        elif f.number == BUNDLE_CPU:
            cpu = <uint32_t>f.value
            has_cpu = True
        elif f.number == BUNDLE_FTRACE_CLOCK:
            clock = f.value
            has_clock = True
        elif f.number == BUNDLE_FTRACE_TIMESTAMP:
            ftrace_ns = <int64_t>f.value
            has_ftrace = True
        elif f.number == BUNDLE_BOOT_TIMESTAMP:
            boot_ns = <int64_t>f.value
            has_boot = True
        elif f.number == BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
            end = f.value
            has_end = True
        elif f.number == BUNDLE_LAST_READ_EVENT_TIMESTAMP:
            start = f.value
            has_start = True
    if not has_cpu:
        return STOP_END
    if cpu >= MAX_CPUS and p.status == RESOLVED:
        return timeline.fail(ERROR_CPU)
    if has_clock:
        if clock == 2 or clock == 3:  # GLOBAL, LOCAL
            key.clock = FIRST_SEQUENCE_CLOCK
            key.sequence = p.message.trusted_packet_sequence_id
            key.file = timeline.file
        elif clock == 4:  # MONO_RAW
            key.clock = MONOTONIC_RAW
        elif clock:
            return timeline.fail(ERROR_FTRACE_CLOCK) if p.status == RESOLVED else STOP_END
        m = &timeline.streams.machines[p.machine]
        if has_ftrace and has_boot and ftrace_ns != m.ftrace_snapshot and p.status == RESOLVED:
            m.ftrace_snapshot = ftrace_ns
            timeline.clocks.add_pair(
                key, ftrace_ns, machine_key(BOOTTIME, p.machine), boot_ns
            )
    if is_set(sched):
        import_sched(timeline, p, sched, key, False)
        import_sched(timeline, p, sched, key, True)
    rest = p.inner
    while next_field(&rest, &f):
        if f.number == BUNDLE_EVENT and f.wire == BYTES:
            import_ftrace_event(timeline, p, span_of(&f), key, item)
            item += 1
    if p.status == RESOLVED and first_of_cpu(&timeline.streams.machines[p.machine], cpu) and (
        has_end or has_start
    ):
        status = timeline.clocks.to_trace_time(
            p.machine, key, <int64_t>(end if has_end else start), &ns
        )
        if status != RESOLVED and status != OVERFLOW:
            return timeline.fail(ERROR_FTRACE_START)
        m = &timeline.streams.machines[p.machine]
        if status == RESOLVED and ns > m.ftrace_valid_ns:
            m.ftrace_valid_ns = ns
    return STOP_END


cdef bint may_hold_clock_pair(Packet *p) noexcept nogil:
    """Whether importing a packet may add a snapshot of the two clocks of a bundle."""
    cdef bint has_ftrace, has_boot
    if p.message.n_data > 1:
        return True
    if p.inner_field != PACKET_FTRACE_EVENTS:
        return False
    load_number(p.inner, BUNDLE_FTRACE_TIMESTAMP, &has_ftrace)
    load_number(p.inner, BUNDLE_BOOT_TIMESTAMP, &has_boot)
    return has_ftrace and has_boot


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


cdef int import_sched(Timeline timeline, Packet *p, Span s, Key key, bint waking) except -1 nogil:
    """TokenizeFtraceCompactSchedSwitch, ...Waking: columns of deltas, walked in step."""
    cdef uint32_t[5] numbers
    cdef Span[5] columns
    cdef Span rest = s
    cdef Field f
    cdef uint64_t value, names = 0, sum = 0
    cdef uint32_t item = 0
    cdef int64_t delta
    cdef int i
    if waking:
        numbers[0] = SCHED_WAKING_TIMESTAMP
        numbers[1] = SCHED_WAKING_PID
        numbers[2] = SCHED_WAKING_TARGET_CPU
        numbers[3] = SCHED_WAKING_PRIO
        numbers[4] = SCHED_WAKING_COMM_INDEX
    else:
        numbers[0] = SCHED_SWITCH_TIMESTAMP
        numbers[1] = SCHED_SWITCH_PREV_STATE
        numbers[2] = SCHED_SWITCH_NEXT_PID
        numbers[3] = SCHED_SWITCH_NEXT_PRIO
        numbers[4] = SCHED_SWITCH_NEXT_COMM_INDEX
    for i in range(5):
        columns[i].data = NULL
        columns[i].end = NULL
    while next_field(&rest, &f):
        if f.wire != BYTES:
            continue
        if f.number == SCHED_INTERN_TABLE:
            names += 1
        for i in range(5):
            if f.number == numbers[i]:
                columns[i] = span_of(&f)
    while True:
        for i in range(5):
            if columns[i].data >= columns[i].end:
                return 0
            columns[i].data = read_varint(columns[i].data, columns[i].end, &value)
            if columns[i].data == NULL:
                return 0
            if i == 0:
                delta = <int64_t>value
        if value >= names:
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
    cdef Span rest = s
    cdef Field f
    cdef Span event
    cdef uint32_t id = 0
    cdef bint found = False
    cdef int64_t timestamp = 0, ns = 0
    cdef int status = p.status
    event.data = NULL
    event.end = NULL
    while next_field(&rest, &f):
        if f.number == FTRACE_EVENT_TIMESTAMP:
            if not found and is_number(&f):
                timestamp = <int64_t>f.value
                found = True
        elif f.wire == BYTES and id == 0:
            id = f.number
            event = span_of(&f)
        if found and id:
            break
    if not found or not id:
        return 0
    if status == RESOLVED:
        status = timeline.clocks.to_trace_time(p.machine, key, timestamp, &ns)
    else:
        timeline.clocks.engine.source_ns = timestamp
    timeline.emit(KIND_FTRACE_EVENT, item, key.clock, timestamp, ns, status)
    if id == FTRACE_EVENT_GPU_WORK_PERIOD:
        return import_gpu_work(timeline, p, event, item, ns, status)
    if status == RESOLVED and is_sorted_by_content(timeline, id, event):
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
