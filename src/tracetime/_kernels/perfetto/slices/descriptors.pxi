# Replays what names threads and processes: descriptors and process trees.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_parser.cc and
# system_probes_parser.cc.

cdef enum:
    RENDERER = 2                    # ChromeProcessDescriptor.ProcessType, ProcessDescriptor's
    EXTENSION_RENDERER = 40


cdef int replay_track_descriptor(SliceLog log, uint32_t machine, Span message) except -1 nogil:
    """ParseTrackDescriptor."""
    cdef TrackDescriptor track
    cdef ChromeThreadDescriptor chrome
    cdef bint found
    cdef int32_t which
    cdef uint64_t type
    read_track_descriptor(message, &track)
    if not track.has_uuid or log.tree.resolve(machine, track.uuid) < 0:
        return 0
    if is_set(track.thread):
        read_chrome_thread_descriptor(track.chrome_thread, &chrome)
        which = replay_thread_descriptor(log, machine, track.thread, chrome.is_sandboxed_tid)
        if chrome.has_thread_type and 0 <= chrome.thread_type < log.n_thread_names:
            log.processes.name_thread(which, log.thread_names[chrome.thread_type], THREAD_BY_TYPE)
    elif is_set(track.process):
        which = replay_process_descriptor(log, machine, track.process)
        if is_set(track.chrome_process):
            type = load_number(track.chrome_process, CHROME_PROCESS_PROCESS_TYPE, &found)
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
    cdef ThreadDescriptor said
    cdef int32_t which, code = NO_NAME
    read_thread_descriptor(thread, &said)
    if sandboxed:
        said.tid = synthetic_tid(said.tid, said.pid)
    which = log.processes.update_thread(machine, said.tid, said.pid)
    if said.thread_name.end > said.thread_name.data:
        code = log.strings.code_foreign(said.thread_name)
    elif said.has_chrome_thread_type and 0 <= said.chrome_thread_type < log.n_thread_names:
        code = log.thread_names[said.chrome_thread_type]
    log.processes.name_thread(which, code, THREAD_BY_DESCRIPTOR)
    return which


cdef int32_t replay_process_descriptor(
    SliceLog log, uint32_t machine, Span process
) except -1 nogil:
    """ParseProcessDescriptor."""
    cdef ProcessDescriptor said
    cdef int32_t which
    read_process_descriptor(process, &said)
    which = log.processes.process(machine, <uint32_t>said.pid)
    if said.process_name.end > said.process_name.data:
        log.processes.name_process(
            which, log.strings.code_foreign(said.process_name), PROCESS_BY_DESCRIPTOR
        )
    if said.has_chrome_process_type:
        name_by_type(
            log, which, said.chrome_process_type, said.chrome_process_type == RENDERER
        )
    return which


cdef int replay_process_tree(SliceLog log, uint32_t machine, Span tree) except -1 nogil:
    """ParseProcessTree."""
    cdef Span rest = tree
    cdef Field f
    cdef ProcessTreeThread thread
    cdef int64_t tid
    while next_field(&rest, &f):
        if f.number == TREE_PROCESSES and f.wire == BYTES:
            replay_tree_process(log, machine, span_of(&f))
    rest = tree
    while next_field(&rest, &f):
        if f.number == TREE_THREADS and f.wire == BYTES:
            read_process_tree_thread(span_of(&f), &thread)
            tid = <uint32_t>thread.tid
            log.processes.update_thread(machine, tid, <uint32_t>thread.tgid)
            if is_set(thread.name):
                log.processes.name_thread(
                    log.processes.thread(machine, tid),
                    log.strings.code_foreign(thread_name(&thread)), THREAD_BY_SYSTEM,
                )
    return 0


cdef int replay_tree_process(SliceLog log, uint32_t machine, Span process) except -1 nogil:
    """A process."""
    cdef ProcessTreeProcess said
    cdef int64_t pid
    cdef int32_t which
    read_process_tree_process(process, &said)
    if said.n_cmdline == 0:
        return 0
    pid = <uint32_t>said.pid
    log.processes.process(machine, <uint32_t>said.ppid)
    which = log.processes.process(machine, pid)
    if said.cmdline_is_comm:
        log.processes.name_thread(
            log.processes.thread(machine, pid), log.strings.code_foreign(command_line(&said)),
            THREAD_BY_SYSTEM,
        )
    return log.processes.name_process(
        which, log.strings.code_foreign(process_name(&said)), PROCESS_BY_SYSTEM
    )
