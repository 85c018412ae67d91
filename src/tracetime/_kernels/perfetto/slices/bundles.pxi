# Adds ftrace events to the log of slices: those that make slices or name threads.

cdef enum:
    # Kinds of the sorter's queues.
    QUEUE_FTRACE = 2
    QUEUE_SCHED_SWITCH = 3


cdef inline bint matters(uint32_t field) noexcept nogil:
    """Whether ftrace events of that kind are logged."""
    return (
        field == FTRACE_EVENT_PRINT or field == FTRACE_EVENT_ZERO
        or field == FTRACE_EVENT_SCHED_SWITCH or field == FTRACE_EVENT_SCHED_WAKING
        or field == FTRACE_EVENT_SCHED_PROCESS_FREE or field == FTRACE_EVENT_TASK_NEWTASK
        or field == FTRACE_EVENT_TASK_RENAME or field == FTRACE_EVENT_BINDER_TRANSACTION
        or field == FTRACE_EVENT_BINDER_TRANSACTION_RECEIVED
        or FTRACE_EVENT_DMA_FENCE_INIT <= field <= FTRACE_EVENT_DMA_FENCE_WAIT_END
        or field == FTRACE_EVENT_TRACING_MARK_WRITE
        or field == FTRACE_EVENT_SDE_TRACING_MARK_WRITE
        or FTRACE_EVENT_DPU_TRACING_MARK_WRITE <= field <= FTRACE_EVENT_MALI_TRACING_MARK_WRITE
        or field == FTRACE_EVENT_LWIS_TRACING_MARK_WRITE
        or field == FTRACE_EVENT_SAMSUNG_TRACING_MARK_WRITE
    )


cdef int log_bundle(
    SliceLog log, const ImportedPacket *p, Span bundle, Rows rows, int64_t first
) except -1 nogil:
    """FtraceEventBundle: log each event with its row of the events table."""
    cdef Span rest = bundle
    cdef Field f
    cdef Span event = nothing()
    cdef FtraceEventBundle said
    cdef int64_t i, item = -1
    cdef FtraceStart *start = log.ftrace_of(p.machine)
    read_ftrace_event_bundle(bundle, &said)
    if p.ftrace_valid_ns > start.valid_ns:
        start.valid_ns = p.ftrace_valid_ns
    if is_set(said.compact_sched):
        log_switches(log, p, said.compact_sched, rows, first, said.cpu)
    for i in range(first, rows.n):
        if rows.kind[i] != KIND_FTRACE_EVENT or rows.status[i] > AS_IS:
            continue
        while item < <int64_t>rows.item[i] and next_field(&rest, &f):
            if f.number == BUNDLE_EVENT and f.wire == BYTES:
                item += 1
                event = span_of(&f)
        if item == <int64_t>rows.item[i]:
            log_event(log, p, event, rows.trace_time[i], log.base + i, said.cpu)
    return 0


cdef int log_event(
    SliceLog log, const ImportedPacket *p, Span event, int64_t ts, int64_t row, uint32_t cpu
) except -1 nogil:
    cdef FtraceEvent said = read_ftrace_event(event)
    cdef Entry *e
    if not said.has_pid or not matters(said.kind):
        return 0
    e = log.add(ENTRY_FTRACE, ts, p.machine, log.queue(p.machine, QUEUE_FTRACE, cpu))
    if e == NULL:
        return 0
    e.row = row
    e.name = <int32_t>said.kind
    e.thread = said.pid
    e.payload = log.payloads.n
    e.payload_size = <int32_t>(said.message.end - said.message.data)
    return put_bytes(&log.payloads, said.message.data, e.payload_size)


cdef int log_switches(
    SliceLog log, const ImportedPacket *p, Span sched, Rows rows, int64_t first, uint32_t cpu
) except -1 nogil:
    """compact_sched: log each thread that was switched to, and its name."""
    cdef Span rest = sched
    cdef FtraceEventBundleCompactSched columns
    cdef Field f
    cdef uint64_t tid = 0, name = 0
    cdef int64_t i, n_names = 0
    cdef Entry *e
    read_ftrace_event_bundle_compact_sched(sched, &columns)
    cdef Span threads = columns.switch_next_pid, names = columns.switch_next_comm_index
    while next_field(&rest, &f):
        if f.number == SCHED_INTERN_TABLE and f.wire == BYTES:
            n_names += 1
            grow(<void **>&log.comms, &log.comms_capacity, n_names, sizeof(int32_t))
            log.comms[n_names - 1] = log.strings.code_foreign(span_of(&f))
    for i in range(first, rows.n):
        if rows.kind[i] != KIND_SCHED_SWITCH:
            continue
        threads.data = read_varint(threads.data, threads.end, &tid)
        names.data = read_varint(names.data, names.end, &name)
        if threads.data == NULL or names.data == NULL or name >= <uint64_t>n_names:
            break
        if rows.status[i] > AS_IS:
            continue
        e = log.add(
            ENTRY_SCHED_SWITCH, rows.trace_time[i], p.machine,
            log.queue(p.machine, QUEUE_SCHED_SWITCH, cpu),
        )
        if e != NULL:
            e.row = log.base + i
            e.thread = <int32_t>tid
            e.category = log.comms[name]
    return 0
