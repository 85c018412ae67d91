# Messages whose items have timestamps of their own, converted with their packet, never put aside.
# Each function names the place in Perfetto's src/trace_processor/importers/ that it follows.


cdef bint import_thread_descriptor(Importer self, Packet *p, Span thread) noexcept nogil:
    """TokenizeThreadDescriptorPacket (proto/track_event_tokenizer.cc); whether that is all."""
    if p.status != RESOLVED or not p.has_sequence_id or not self.sequences[p.sequence].valid:
        return True
    set_reference(&self.sequences[p.sequence], thread)
    return False


cdef bint import_track_descriptor(Importer self, Packet *p, Span track) noexcept nogil:
    """TokenizeTrackDescriptorPacket (proto/track_event_tokenizer.cc); whether that is all."""
    cdef Span thread, process
    cdef bint found, has_pid
    cdef uint64_t ordering
    load_number(track, TRACK_DESCRIPTOR_UUID, &found)
    if not found:
        return True
    ordering = load_number(track, TRACK_DESCRIPTOR_CHILD_ORDERING, &found)
    if found and <uint32_t>ordering > 3:
        return True
    thread = load_message(track, TRACK_DESCRIPTOR_THREAD)
    if not is_set(thread):
        process = load_message(track, TRACK_DESCRIPTOR_PROCESS)
        load_number(process, PROCESS_DESCRIPTOR_PID, &has_pid)
        return is_set(process) and not has_pid
    load_number(thread, THREAD_PID, &has_pid)
    load_number(thread, THREAD_TID, &found)
    if not has_pid or not found:
        return True
    if p.status == RESOLVED and self.sequences[p.sequence].valid:
        set_reference(&self.sequences[p.sequence], thread)
    return False


cdef void set_reference(Sequence *sequence, Span thread) noexcept nogil:
    """What the legacy track event timestamps of the sequence count from."""
    cdef bint found
    sequence.has_reference = True
    sequence.reference_ns = saturating_mul(
        <int64_t>load_number(thread, THREAD_REFERENCE_TIMESTAMP_US, &found), 1000
    )


cdef Span load_message(Span message, uint32_t number) noexcept nogil:
    """The last message field of that number, NULL where there is none."""
    cdef const uint8_t *at = message.data
    cdef Field f
    cdef Span last
    last.data = NULL
    last.end = NULL
    while at < message.end:
        at = read_field(at, message.end, &f)
        if at == NULL:
            break
        if f.number == number and f.wire == BYTES:
            last = span_of(&f)
    return last


cdef int import_track_event(Importer self, Packet *p) except -1 nogil:
    """TokenizeTrackEventPacket (proto/track_event_tokenizer.cc)."""
    cdef const uint8_t *at = p.inner.data
    cdef Sequence *sequence = &self.sequences[p.sequence]
    cdef Field f
    cdef bint has_delta = False
    cdef int64_t delta_us = 0, absolute_us = 0, value_ns, ns = 0
    cdef int status = p.status
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
        if f.number == TRACK_EVENT_TIMESTAMP_DELTA_US:
            if is_number(&f):
                has_delta = True
                delta_us = <int64_t>f.value
        elif f.number == TRACK_EVENT_TIMESTAMP_ABSOLUTE_US:
            if is_number(&f):
                absolute_us = <int64_t>f.value
    if not p.has_sequence_id:
        return STOP_END
    if not has_delta and absolute_us == 0:
        if status == RESOLVED and p.has_timestamp:
            self.push(p.trace_time)
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
                status = self.to_trace_time_or_raw(
                    p.machine, machine_key(MONOTONIC, p.machine), value_ns, &ns
                )
                if status != OVERFLOW:
                    self.push(ns)
    self.emit(
        KIND_TRACK_EVENT_LEGACY, 0, MONOTONIC, delta_us if has_delta else absolute_us, ns, status
    )
    return STOP_END


cdef int import_bundle(Importer self, Packet *p) except -1 nogil:
    """TokenizeFtraceBundle and HandleFtraceClockSnapshot (ftrace/ftrace_tokenizer.cc)."""
    cdef const uint8_t *at = p.inner.data
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
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
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
        return self.fail(ERROR_CPU)
    if has_clock:
        if clock == 2 or clock == 3:  # GLOBAL, LOCAL
            key.clock = FTRACE_SEQUENCE_CLOCK
            key.sequence = p.sequence_id
            key.file = self.file
        elif clock == 4:  # MONO_RAW
            key.clock = MONOTONIC_RAW
        elif clock:
            return self.fail(ERROR_FTRACE_CLOCK) if p.status == RESOLVED else STOP_END
        m = &self.machines[p.machine]
        if has_ftrace and has_boot and ftrace_ns != m.ftrace_snapshot and p.status == RESOLVED:
            m.ftrace_snapshot = ftrace_ns
            self.reserve_clocks(2)
            self.clock_nodes[0] = self.engine.node(key)
            self.clock_nodes[1] = self.engine.node(machine_key(BOOTTIME, p.machine))
            self.clock_values[0] = ftrace_ns
            self.clock_values[1] = boot_ns
            self.clock_units[0] = 1
            self.clock_units[1] = 1
            self.clock_incremental[0] = 0
            self.clock_incremental[1] = 0
            self.add_clocks(2)
    if is_set(sched):
        import_sched(self, p, sched, key, False)
        import_sched(self, p, sched, key, True)
    at = p.inner.data
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
        if f.number == BUNDLE_EVENT and f.wire == BYTES:
            import_ftrace_event(self, p, span_of(&f), key, item)
            item += 1
    if p.status == RESOLVED and first_of_cpu(&self.machines[p.machine], cpu) and (
        has_end or has_start
    ):
        status = self.to_trace_time(p.machine, key, <int64_t>(end if has_end else start), &ns)
        if status != RESOLVED and status != OVERFLOW:
            return self.fail(ERROR_FTRACE_START)
    return STOP_END


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


cdef int import_sched(Importer self, Packet *p, Span s, Key key, bint waking) except -1 nogil:
    """TokenizeFtraceCompactSchedSwitch, ...Waking: columns of deltas, walked in step."""
    cdef uint32_t[5] numbers
    cdef Span[5] columns
    cdef const uint8_t *at = s.data
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
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            break
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
        emit_sum(self, p, KIND_SCHED_WAKING if waking else KIND_SCHED_SWITCH, item, key, sum)
        item += 1


cdef inline int emit_sum(
    Importer self, Packet *p, Kind kind, uint32_t item, Key key, uint64_t sum
) except -1 nogil:
    """An item of compact_sched: its timestamp is the sum of the deltas up to it."""
    return self.emit_converted(p, kind, item, key, <int64_t>sum, <int64_t>sum)


cdef int import_ftrace_event(
    Importer self, Packet *p, Span s, Key key, uint32_t item
) except -1 nogil:
    """TokenizeFtraceEvent: an event without timestamp or without an event in it is none."""
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef Span event
    cdef uint32_t id = 0
    cdef bint found = False
    cdef int64_t timestamp = 0, ns = 0
    cdef int status = p.status
    event.data = NULL
    event.end = NULL
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            break
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
        status = self.to_trace_time(p.machine, key, timestamp, &ns)
    self.emit(KIND_FTRACE_EVENT, item, key.clock, timestamp, ns, status)
    if id == FTRACE_EVENT_GPU_WORK_PERIOD:
        return import_gpu_work(self, p, event, item, ns, status)
    if status == RESOLVED and is_sorted_by_content(self, id, event):
        self.push(ns)
    return 0


cdef int import_gpu_work(
    Importer self, Packet *p, Span event, uint32_t item, int64_t event_ns, int event_status
) except -1 nogil:
    """TokenizeFtraceGpuWorkPeriod: its start has a clock of its own."""
    cdef bint found
    cdef int64_t ns = 0
    cdef int status = event_status
    cdef int64_t start_ns = <int64_t>load_number(event, GPU_WORK_PERIOD_START_TIME_NS, &found)
    if not found:
        return 0
    if status == RESOLVED:
        status = self.to_trace_time(
            p.machine, machine_key(MONOTONIC_RAW, p.machine), start_ns, &ns
        )
        if status == RESOLVED:
            self.push(event_ns)
            self.push(ns)
    return self.emit(KIND_GPU_WORK_PERIOD, item, MONOTONIC_RAW, start_ns, ns, status)


cdef bint is_sorted_by_content(Importer self, uint32_t id, Span event) noexcept nogil:
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
        self.push(ns)
    return found


cdef int import_logs(Importer self, Packet *p) except -1 nogil:
    """AndroidLogPacket (proto/android_probes_module.cc)."""
    cdef const uint8_t *at = p.inner.data
    cdef Field f
    cdef bint found
    cdef uint32_t item = 0
    cdef int64_t timestamp
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
        if f.number == LOG_PACKET_EVENTS and f.wire == BYTES:
            timestamp = <int64_t>load_number(span_of(&f), LOG_EVENT_TIMESTAMP, &found)
            self.emit_converted(
                p, KIND_ANDROID_LOG, item, machine_key(REALTIME, p.machine), timestamp, timestamp
            )
            item += 1
    return STOP_END


cdef int import_rails(Importer self, Packet *p) except -1 nogil:
    """PowerRails (proto/android_probes_module.cc)."""
    cdef const uint8_t *at = p.inner.data
    cdef Field f
    cdef bint found
    cdef uint32_t item = 0
    cdef int64_t timestamp_ms
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
        if f.number == RAILS_ENERGY_DATA and f.wire == BYTES:
            timestamp_ms = <int64_t>load_number(span_of(&f), ENERGY_TIMESTAMP_MS, &found)
            if found:
                emit_ms(self, p, KIND_POWER_RAIL, item, timestamp_ms)
            else:
                emit_as_packet(self, p, KIND_POWER_RAIL, item)
            item += 1
    return STOP_END


cdef int emit_ms(
    Importer self, Packet *p, Kind kind, uint32_t item, int64_t timestamp_ms
) except -1 nogil:
    cdef int64_t ns
    if p.status == RESOLVED and mul_overflows(timestamp_ms, 1000000, &ns):
        return self.emit(kind, item, BOOTTIME, timestamp_ms, 0, OVERFLOW)
    return self.emit_converted(
        p, kind, item, machine_key(BOOTTIME, p.machine), timestamp_ms, timestamp_ms * 1000000
    )


cdef int emit_as_packet(Importer self, Packet *p, Kind kind, uint32_t item) except -1 nogil:
    """An item without a time of its own has its packet's."""
    if p.status != RESOLVED:
        return self.emit(kind, item, 0, p.timestamp, 0, p.status)
    self.push(p.trace_time)
    return self.emit(kind, item, 0, p.trace_time, p.trace_time, AS_IS)


cdef int emit_trace_time(
    Importer self, Packet *p, Kind kind, uint32_t item, int64_t timestamp
) except -1 nogil:
    """An item given in trace time as it stands."""
    if p.status != RESOLVED:
        return self.emit(kind, item, 0, timestamp, 0, p.status)
    self.push(timestamp)
    return self.emit(kind, item, 0, timestamp, timestamp, AS_IS)


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


cdef int import_atoms(Importer self, Packet *p) except -1 nogil:
    """StatsdAtom (proto/statsd_module.cc)."""
    cdef const uint8_t *at = p.inner.data
    cdef Numbers times = numbers_of(p.inner, ATOM_TIMESTAMP_NANOS)
    cdef Field f
    cdef uint64_t timestamp
    cdef uint32_t item = 0
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
        if f.number == ATOM_ATOM and f.wire == BYTES:
            if next_number(&times, &timestamp):
                emit_trace_time(self, p, KIND_STATSD_ATOM, item, <int64_t>timestamp)
            else:
                emit_as_packet(self, p, KIND_STATSD_ATOM, item)
            item += 1
    return STOP_END


cdef int import_etw(Importer self, Packet *p) except -1 nogil:
    """EtwTraceEventBundle (etw/etw_tokenizer.cc): events without CPU or timestamp are passed over."""
    cdef const uint8_t *at = p.inner.data
    cdef Field f
    cdef bint has_bundle_cpu, has_cpu, found
    cdef uint64_t bundle_cpu = load_number(p.inner, ETW_CPU, &has_bundle_cpu)
    cdef uint64_t cpu
    cdef int64_t timestamp
    cdef uint32_t item = 0
    while at < p.inner.end:
        at = read_field(at, p.inner.end, &f)
        if at == NULL:
            break
        if f.number == ETW_EVENT and f.wire == BYTES:
            cpu = load_number(span_of(&f), ETW_EVENT_CPU, &has_cpu)
            if not has_cpu:
                cpu = bundle_cpu
            timestamp = <int64_t>load_number(span_of(&f), ETW_EVENT_TIMESTAMP, &found)
            if found and (has_cpu or has_bundle_cpu) and <uint32_t>cpu < MAX_CPUS:
                emit_trace_time(self, p, KIND_ETW_EVENT, item, timestamp)
            item += 1
    return STOP_END


cdef int import_streaming_profile(Importer self, Packet *p) except -1 nogil:
    """TokenizeStreamingProfilePacket (proto/profile_module.cc)."""
    cdef Sequence *sequence = &self.sequences[p.sequence]
    cdef Numbers stacks = numbers_of(p.inner, STREAMING_CALLSTACK_IID)
    cdef Numbers deltas = numbers_of(p.inner, STREAMING_TIMESTAMP_DELTA_US)
    cdef uint64_t ignored, delta_us
    cdef int64_t ns = 0, delta_ns
    cdef uint32_t item = 0
    cdef int status = p.status
    if status == RESOLVED:
        status = OVERFLOW
        if sequence.reference_ns >= 0:
            status = self.to_trace_time_or_raw(
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
                self.push(ns)
            self.engine.source_ns = sequence.reference_ns
            self.emit(KIND_STACK_SAMPLE, item, MONOTONIC, <int64_t>delta_us, ns, status)
            item += 1
    return STOP_END


cdef bint has_times_after_sorting(Packet *p) noexcept nogil:
    cdef const uint8_t *at = p.after_sorting.data
    cdef Field f
    cdef bint found
    while at < p.after_sorting.end:
        at = read_field(at, p.after_sorting.end, &f)
        if at == NULL:
            break
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
    cdef int64_t start_ns = <int64_t>load_number(process, PROCESS_START_FROM_BOOT, found)
    found[0] = found[0] and is_set(load_message(process, PROCESS_CMDLINE))
    return start_ns


cdef int import_after_sorting(Importer self, Packet *p) except -1 nogil:
    """Times that Perfetto reads after sorting: converted with every snapshot of the file."""
    cdef Packet late = p[0]
    if self.at_end:
        return emit_after_sorting(self, &late)
    if self.final is None:
        return STOP_END
    self.final.row = self.row
    late.machine = self.final.machine_of(&late)
    return emit_after_sorting(self.final, &late)


cdef int emit_after_sorting(Importer final, Packet *p) except -1 nogil:
    """ProfilePacket (proto/profile_module.cc), ProcessTree (proto/system_probes_parser.cc)."""
    cdef const uint8_t *at = p.after_sorting.data
    cdef Key coarse = machine_key(MONOTONIC_COARSE, p.machine)
    cdef Key boottime = machine_key(BOOTTIME, p.machine)
    cdef Field f
    cdef bint found
    cdef int64_t timestamp
    cdef uint32_t item = 0
    while at < p.after_sorting.end:
        at = read_field(at, p.after_sorting.end, &f)
        if at == NULL:
            break
        if f.wire != BYTES:
            continue
        if p.after_sorting_field == PACKET_PROFILE_PACKET:
            if f.number != PROFILE_PROCESS_DUMPS:
                continue
            timestamp = <int64_t>load_number(span_of(&f), HEAP_SAMPLES_TIMESTAMP, &found)
            final.emit_converted(p, KIND_HEAP_DUMP, item, coarse, timestamp, timestamp)
            item += 1
            timestamp = <int64_t>load_number(span_of(&f), HEAP_SAMPLES_START_TIMESTAMP, &found)
            if found:
                final.emit_converted(p, KIND_HEAP_DUMP, item, coarse, timestamp, timestamp)
                item += 1
        elif f.number == TREE_PROCESSES:
            timestamp = process_start(span_of(&f), &found)
            if found:
                final.emit_converted(p, KIND_PROCESS_START, item, boottime, timestamp, timestamp)
            item += 1
    return STOP_END
