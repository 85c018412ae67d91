# Kernel events in order of time: tasks that start, end and are renamed, and trace marks.
#
# Follows Perfetto's src/trace_processor/importers/ftrace/ftrace_parser.cc.

cdef enum:
    CLONE_THREAD = 0x10000          # of the kernel's sched.h
    # Of the event "zero", as Qualcomm's kernels write it.
    ZERO_BEGIN = 1
    ZERO_END = 2
    ZERO_INT64 = 4


cdef int replay_ftrace(SliceLog log, int32_t number, Span event) except -1 nogil:
    """ParseFtraceEvent and ParseInlineSchedSwitch."""
    cdef Entry *e = &log.entries[number]
    cdef uint32_t field = <uint32_t>e.name
    cdef int64_t pid = <uint32_t>e.thread
    cdef bint found
    cdef SchedSwitchFtraceEvent switch
    cdef SchedWakingFtraceEvent waking
    cdef FtraceStart *start = log.ftrace_of(e.machine)
    if e.ts < start.started_ns and not start.keeps:
        return 0
    if e.kind == ENTRY_SCHED_SWITCH:
        return name_task(log, e.machine, pid, e.category)
    if e.ts < start.valid_ns:
        # The buffers of some CPUs begin later: the end of a slice could be missing.
        return 0
    if field == FTRACE_EVENT_PRINT:
        return replay_print(log, number, load_bytes(event, PRINT_BUF))
    if field == FTRACE_EVENT_SCHED_SWITCH:
        read_sched_switch_ftrace_event(event, &switch)
        name_task(
            log, e.machine, <uint32_t>switch.next_pid, log.strings.code_foreign(switch.next_comm)
        )
        return name_task(
            log, e.machine, <uint32_t>switch.prev_pid, log.strings.code_foreign(switch.prev_comm)
        )
    if field == FTRACE_EVENT_SCHED_WAKING:
        read_sched_waking_ftrace_event(event, &waking)
        name_task(
            log, e.machine, <uint32_t>waking.pid, log.strings.code_foreign(waking.comm)
        )
        log.processes.thread(e.machine, pid)
        return 0
    if field == FTRACE_EVENT_SCHED_PROCESS_FREE:
        return log.processes.end_thread(
            e.machine, <uint32_t>load_number(event, SCHED_PROCESS_FREE_PID, &found)
        )
    if field == FTRACE_EVENT_TASK_NEWTASK:
        return start_task(log, e.machine, pid, event)
    if field == FTRACE_EVENT_TASK_RENAME:
        return rename_task(log, e.machine, event)
    if field == FTRACE_EVENT_BINDER_TRANSACTION:
        return replay_transaction(log, number, event)
    if field == FTRACE_EVENT_BINDER_TRANSACTION_RECEIVED:
        return replay_received(log, number, event)
    if FTRACE_EVENT_DMA_FENCE_INIT <= field <= FTRACE_EVENT_DMA_FENCE_WAIT_END:
        return replay_fence(log, number, field, event)
    return replay_kernel_mark(log, number, field, event)


cdef int name_task(SliceLog log, uint32_t machine, int64_t tid, int32_t name) except -1 nogil:
    """Name a thread as the scheduler does."""
    return log.processes.name_thread(
        log.processes.thread(machine, tid), name, THREAD_BY_FTRACE
    )


cdef int start_task(SliceLog log, uint32_t machine, int64_t source, Span event) except -1 nogil:
    """ParseTaskNewTask: a new process, or a thread of the process that made it."""
    cdef TaskNewtaskFtraceEvent task
    cdef int64_t tid
    cdef int32_t comm, parent, made
    read_task_newtask_ftrace_event(event, &task)
    tid = <uint32_t>task.pid
    if tid == 0:
        # The idle tasks, while a system starts.
        return 0
    comm = log.strings.code_foreign(task.comm)
    if not task.clone_flags & CLONE_THREAD:
        log.processes.start_process(machine, tid, comm, THREAD_BY_FTRACE, True)
        log.processes.thread(machine, source)
        return 0
    parent = log.processes.thread(machine, source)
    made = log.processes.start_thread(machine, tid)
    log.processes.name_thread(made, comm, THREAD_BY_FTRACE)
    return log.processes.associate(parent, made)


cdef int rename_task(SliceLog log, uint32_t machine, Span event) except -1 nogil:
    """ParseTaskRename: the name of a main thread is its process's name, too."""
    cdef TaskRenameFtraceEvent task
    read_task_rename_ftrace_event(event, &task)
    cdef int64_t tid = <uint32_t>task.pid
    cdef int32_t comm = log.strings.code_foreign(task.newcomm)
    cdef int32_t thread = log.processes.thread(machine, tid)
    cdef int32_t process = log.processes.threads[thread].process
    log.processes.name_thread(thread, comm, THREAD_BY_FTRACE)
    if process != NONE and log.processes.processes[process].pid == tid:
        log.processes.name_process(process, comm, PROCESS_BY_SYSTEM)
    return 0


cdef uint8_t load_mark(
    Span event, uint32_t type, uint32_t name, uint32_t pid, uint32_t value, Mark *mark
) noexcept nogil:
    """Read a driver's event, of the fields of these numbers; its type, 0 where it has none."""
    cdef bint found
    mark.name = load_bytes(event, name)
    mark.tgid = <uint32_t>load_number(event, pid, &found)
    mark.value = <int64_t>load_number(event, value, &found)
    return <uint8_t>load_number(event, type, &found)


# long: a branch for each driver
cdef int replay_kernel_mark(
    SliceLog log, int32_t number, uint32_t field, Span event
) except -1 nogil:
    """ParseZero, Parse...TracingMarkWrite: drivers that write events like those of atrace."""
    cdef Mark mark
    cdef bint found = False, has_begin = False, begins = False
    cdef uint8_t type = 0
    cdef uint64_t flags
    mark.name = mark.track = nothing()
    mark.tgid = 0
    mark.value = 0
    if field == FTRACE_EVENT_ZERO:
        flags = load_number(event, ZERO_FLAG, &found)
        load_mark(event, ZERO_FLAG, ZERO_NAME, ZERO_PID, ZERO_VALUE, &mark)
        if flags & ZERO_BEGIN:
            type = c"B"
        elif flags & ZERO_END:
            type = c"E"
        elif flags & ZERO_INT64:
            type = c"C"
        else:
            return 0
    elif field == FTRACE_EVENT_TRACING_MARK_WRITE:
        begins = load_number(event, TRACING_MARK_WRITE_TRACE_BEGIN, &has_begin) != 0
        mark.name = load_bytes(event, TRACING_MARK_WRITE_TRACE_NAME)
        mark.tgid = <uint32_t>load_number(event, TRACING_MARK_WRITE_PID, &found)
        if not has_begin:
            return 0
    elif field == FTRACE_EVENT_SDE_TRACING_MARK_WRITE:
        load_number(event, SDE_MARK_TRACE_TYPE, &found)
        begins = load_number(event, SDE_MARK_TRACE_BEGIN, &has_begin) != 0
        if not found and not has_begin:
            return 0
        type = load_mark(
            event, SDE_MARK_TRACE_TYPE, SDE_MARK_TRACE_NAME, SDE_MARK_PID, SDE_MARK_VALUE, &mark
        )
    elif field == FTRACE_EVENT_SAMSUNG_TRACING_MARK_WRITE:
        type = load_mark(
            event, SAMSUNG_MARK_TRACE_TYPE, SAMSUNG_MARK_TRACE_NAME, SAMSUNG_MARK_PID,
            SAMSUNG_MARK_VALUE, &mark,
        )
    else:
        if field == FTRACE_EVENT_DPU_TRACING_MARK_WRITE:
            type = load_mark(
                event, DPU_MARK_TYPE, DPU_MARK_NAME, DPU_MARK_PID, DPU_MARK_VALUE, &mark
            )
            if type != c"C":
                # Some drivers name a process that their thread does not belong to.
                mark.tgid = 0
        elif field == FTRACE_EVENT_G2D_TRACING_MARK_WRITE:
            type = load_mark(
                event, G2D_MARK_TYPE, G2D_MARK_NAME, G2D_MARK_PID, G2D_MARK_VALUE, &mark
            )
        elif field == FTRACE_EVENT_MALI_TRACING_MARK_WRITE:
            type = load_mark(
                event, MALI_MARK_TYPE, MALI_MARK_NAME, MALI_MARK_PID, MALI_MARK_VALUE, &mark
            )
        elif field == FTRACE_EVENT_LWIS_TRACING_MARK_WRITE:
            type = load_mark(
                event, LWIS_MARK_TYPE, LWIS_MARK_FUNC_NAME, LWIS_MARK_PID, LWIS_MARK_VALUE, &mark
            )
        if type == 0:
            return 0
    if type == 0:
        type = c"B" if begins else c"E"
    elif type != c"B" and type != c"E" and type != c"C" and type != c"I":
        return 0
    mark.phase = type
    return replay_mark(log, number, &mark)
