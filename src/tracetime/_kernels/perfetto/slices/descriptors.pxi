# Replays what names threads and processes: descriptors and process trees.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_parser.cc and
# system_probes_parser.cc.

cdef enum:
    RENDERER = 2                    # ChromeProcessDescriptor.ProcessType, ProcessDescriptor's
    EXTENSION_RENDERER = 40
    KTHREADD = 2                    # the parent of all threads of the kernel


cdef int replay_track_descriptor(SliceLog log, uint32_t machine, Span track) except -1 nogil:
    """ParseTrackDescriptor."""
    cdef Span thread = load_bytes(track, TRACK_DESCRIPTOR_THREAD)
    cdef Span process = load_bytes(track, TRACK_DESCRIPTOR_PROCESS)
    cdef Span chrome
    cdef bint found, is_typed
    cdef bint sandboxed
    cdef int32_t which
    cdef uint64_t type
    cdef uint64_t uuid = load_number(track, TRACK_DESCRIPTOR_UUID, &found)
    if not found or log.tree.resolve(machine, uuid) < 0:
        return 0
    if is_set(thread):
        chrome = load_bytes(track, TRACK_DESCRIPTOR_CHROME_THREAD)
        sandboxed = load_number(chrome, CHROME_THREAD_IS_SANDBOXED_TID, &found) != 0
        which = replay_thread_descriptor(log, machine, thread, sandboxed)
        type = load_number(chrome, CHROME_THREAD_THREAD_TYPE, &is_typed)
        if is_typed and type < <uint64_t>log.n_thread_names:
            log.processes.name_thread(which, log.thread_names[type], THREAD_BY_TYPE)
    elif is_set(process):
        which = replay_process_descriptor(log, machine, process)
        chrome = load_bytes(track, TRACK_DESCRIPTOR_CHROME_PROCESS)
        if is_set(chrome):
            type = load_number(chrome, CHROME_PROCESS_PROCESS_TYPE, &found)
            name_by_type(log, which, type, type == RENDERER or type == EXTENSION_RENDERER)
    return 0


cdef int name_by_type(
    SliceLog log, int32_t process, uint64_t type, bint is_renderer
) except -1 nogil:
    if type >= <uint64_t>log.n_process_names:
        return 0
    return log.processes.name_process(
        process, log.process_names[type],
        PROCESS_BY_RENDERER_TYPE if is_renderer else PROCESS_BY_TYPE,
    )


cdef int32_t replay_thread_descriptor(
    SliceLog log, uint32_t machine, Span thread, bint sandboxed
) except -1 nogil:
    """ParseThreadDescriptor."""
    cdef bint found
    cdef int64_t pid = <int32_t>load_number(thread, THREAD_DESCRIPTOR_PID, &found)
    cdef int64_t tid = <int64_t>load_number(thread, THREAD_DESCRIPTOR_TID, &found)
    cdef Span name = load_bytes(thread, THREAD_DESCRIPTOR_THREAD_NAME)
    cdef int32_t which, code = NO_NAME
    cdef uint64_t type
    if sandboxed:
        tid = synthetic_tid(tid, pid)
    which = log.processes.update_thread(machine, tid, pid)
    if name.end > name.data:
        code = log.strings.code_foreign(name)
    else:
        type = load_number(thread, THREAD_DESCRIPTOR_CHROME_THREAD_TYPE, &found)
        if found and type < <uint64_t>log.n_thread_names:
            code = log.thread_names[type]
    log.processes.name_thread(which, code, THREAD_BY_DESCRIPTOR)
    return which


cdef int32_t replay_process_descriptor(
    SliceLog log, uint32_t machine, Span process
) except -1 nogil:
    """ParseProcessDescriptor."""
    cdef bint found
    cdef int64_t pid = <uint32_t>load_number(process, PROCESS_DESCRIPTOR_PID, &found)
    cdef int32_t which = log.processes.process(machine, pid)
    cdef Span name = load_bytes(process, PROCESS_DESCRIPTOR_PROCESS_NAME)
    cdef uint64_t type
    if name.end > name.data:
        log.processes.name_process(which, log.strings.code_foreign(name), PROCESS_BY_DESCRIPTOR)
    type = load_number(process, PROCESS_DESCRIPTOR_CHROME_PROCESS_TYPE, &found)
    if found:
        name_by_type(log, which, type, type == RENDERER)
    return which


cdef Span without_queue(Span name) noexcept nogil:
    """MaybeTruncateKworkerName: "kworker/45:2-mm_percpu_wq" becomes "kworker/45:2"."""
    cdef const uint8_t *at
    cdef int i
    cdef const char *prefix = b"kworker/"
    if name.end - name.data < 8:
        return name
    for i in range(8):
        if name.data[i] != <uint8_t>prefix[i]:
            return name
    at = name.data + 8
    while at < name.end and at[0] != c"-" and at[0] != c"+":
        at += 1
    name.end = at
    return name


cdef int replay_process_tree(SliceLog log, uint32_t machine, Span tree) except -1 nogil:
    """ParseProcessTree."""
    cdef Span rest = tree
    cdef Field f
    cdef Span one, name
    cdef bint found
    cdef int64_t tid
    cdef int32_t which
    while next_field(&rest, &f):
        if f.number == TREE_PROCESSES and f.wire == BYTES:
            replay_tree_process(log, machine, span_of(&f))
    rest = tree
    while next_field(&rest, &f):
        if f.number == TREE_THREADS and f.wire == BYTES:
            one = span_of(&f)
            tid = <uint32_t>load_number(one, TREE_THREAD_TID, &found)
            log.processes.update_thread(
                machine, tid, <uint32_t>load_number(one, TREE_THREAD_TGID, &found)
            )
            name = load_bytes(one, TREE_THREAD_NAME)
            if is_set(name):
                if tid == <uint32_t>load_number(one, TREE_THREAD_TGID, &found):
                    name = without_queue(name)
                which = log.processes.thread(machine, tid)
                log.processes.name_thread(
                    which, log.strings.code_foreign(name), THREAD_BY_SYSTEM
                )
    return 0


cdef int replay_tree_process(SliceLog log, uint32_t machine, Span process) except -1 nogil:
    """A process. Its name is its first argument, cut at a blank if there is only one."""
    cdef Span rest = process
    cdef const uint8_t *blank
    cdef Field f
    cdef Span name = nothing()
    cdef int arguments = 0
    cdef bint found
    cdef int64_t pid = <uint32_t>load_number(process, TREE_PROCESS_PID, &found)
    cdef int64_t parent = <uint32_t>load_number(process, TREE_PROCESS_PPID, &found)
    cdef int32_t which, code
    while next_field(&rest, &f):
        if f.number == TREE_PROCESS_CMDLINE and f.wire == BYTES:
            if arguments == 0:
                name = span_of(&f)
            arguments += 1
    if arguments == 0:
        return 0
    if parent == KTHREADD:
        name = without_queue(name)
    log.processes.process(machine, parent)
    which = log.processes.process(machine, pid)
    if load_number(process, TREE_PROCESS_CMDLINE_IS_COMM, &found):
        log.processes.name_thread(
            log.processes.thread(machine, pid), log.strings.code_foreign(name), THREAD_BY_SYSTEM
        )
    if arguments == 1 and name.end > name.data:
        blank = <const uint8_t *>memchr(name.data, c" ", <size_t>(name.end - name.data))
        if blank != NULL:
            name.end = blank
    code = log.strings.code_foreign(name)
    return log.processes.name_process(which, code, PROCESS_BY_SYSTEM)
