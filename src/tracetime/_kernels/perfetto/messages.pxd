# Fields of Perfetto's messages, and what reads them. Written by tools/write_messages.py.
#
# A reader takes a message up to its first malformed field, and returns whether that is its end. Of
# a field that comes several times the last value counts, as in Perfetto. A number may have any wire
# type but bytes. Of a repeated field: `n_`, how many fields there are; `packed_`, whether one of
# them holds several; its value is the last number, or the first of bytes.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tracetime._kernels.common.memory cimport clear
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED64, Field, Span, is_number, read_field, span_of,
)

cdef extern from *:
    """
    /* An assignment: what a function that reads a message does not use of it is never stored. */
    #define tt_empty(m) (*(m) = (__typeof__(*(m))) {0})
    """
    void empty "tt_empty"(void *m) noexcept nogil

cdef enum:
    # Trace
    TRACE_PACKET = 1

    # TracePacket
    PACKET_FTRACE_EVENTS = 1
    PACKET_PROCESS_TREE = 2
    PACKET_TRUSTED_UID = 3
    PACKET_CHROME_EVENTS = 5
    PACKET_CLOCK_SNAPSHOT = 6
    PACKET_TIMESTAMP = 8
    PACKET_TRUSTED_PACKET_SEQUENCE_ID = 10
    PACKET_TRACK_EVENT = 11
    PACKET_INTERNED_DATA = 12
    PACKET_SEQUENCE_FLAGS = 13
    PACKET_TRACE_CONFIG = 33
    PACKET_FTRACE_STATS = 34
    PACKET_TRACE_STATS = 35
    PACKET_SYNCHRONIZATION_MARKER = 36
    PACKET_PROFILE_PACKET = 37
    PACKET_ANDROID_LOG = 39
    PACKET_POWER_RAILS = 40
    PACKET_INCREMENTAL_STATE_CLEARED = 41
    PACKET_PREVIOUS_PACKET_DROPPED = 42
    PACKET_PROCESS_DESCRIPTOR = 43
    PACKET_THREAD_DESCRIPTOR = 44
    PACKET_SYSTEM_INFO = 45
    PACKET_PACKAGES_LIST = 47
    PACKET_CHROME_BENCHMARK_METADATA = 48
    PACKET_COMPRESSED_PACKETS = 50
    PACKET_CHROME_METADATA = 51
    PACKET_STREAMING_PROFILE_PACKET = 54
    PACKET_TIMESTAMP_CLOCK_ID = 58
    PACKET_TRACE_PACKET_DEFAULTS = 59
    PACKET_TRACK_DESCRIPTOR = 60
    PACKET_PERF_SAMPLE = 66
    PACKET_CPU_INFO = 67
    PACKET_SERVICE_EVENT = 69
    PACKET_EXTENSION_DESCRIPTOR = 72
    PACKET_FRAME_TIMELINE_EVENT = 76
    PACKET_UI_STATE = 78
    PACKET_TRUSTED_PID = 79
    PACKET_TRANSLATION_TABLE = 82
    PACKET_STATSD_ATOM = 84
    PACKET_FIRST_PACKET_ON_SEQUENCE = 87
    PACKET_TRACE_UUID = 89
    PACKET_TRACK_EVENT_RANGE_OF_INTEREST = 90
    PACKET_ETW_EVENTS = 95
    PACKET_MACHINE_ID = 98
    PACKET_REMOTE_CLOCK_SYNC = 107
    PACKET_USER_LIST = 123
    PACKET_TRACE_PROVENANCE = 124
    PACKET_GPU_INFO = 128
    PACKET_INTERRUPT_INFO = 130
    PACKET_ZSTD_COMPRESSED_PACKETS = 133
    PACKET_TRACETIME_SNAPSHOT = 9876

    # TraceConfig
    TRACE_CONFIG_DATA_SOURCES = 2

    # TraceConfig.DataSource
    DATA_SOURCE_CONFIG = 1

    # DataSourceConfig
    DATA_SOURCE_CONFIG_FTRACE_CONFIG = 100

    # FtraceConfig
    FTRACE_CONFIG_PRESERVE_FTRACE_BUFFER = 23

    # SystemInfo
    SYSTEM_INFO_UTSNAME = 1
    SYSTEM_INFO_MACHINE_NAME = 17

    # Utsname
    UTSNAME_SYSNAME = 1

    # TraceStats
    TRACE_STATS_WRITER_STATS = 18

    # TraceStats.WriterStats
    WRITER_STATS_SEQUENCE_ID = 1

    # TraceProvenance
    PROVENANCE_BUFFERS = 2

    # TraceProvenance.Buffer
    PROVENANCE_BUFFER_SEQUENCES = 1

    # TraceProvenance.Sequence
    PROVENANCE_SEQUENCE_ID = 1

    # ChromeEventBundle
    CHROME_EVENTS_METADATA = 2

    # ChromeMetadata
    CHROME_METADATA_NAME = 1
    CHROME_METADATA_STRING_VALUE = 2

    # TracePacketDefaults
    DEFAULTS_TRACK_EVENT_DEFAULTS = 11
    DEFAULTS_TIMESTAMP_CLOCK_ID = 58

    # TrackEventDefaults
    TRACK_EVENT_DEFAULTS_TRACK_UUID = 11
    TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS = 31
    TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS = 45

    # ClockSnapshot
    SNAPSHOT_CLOCKS = 1
    SNAPSHOT_PRIMARY_TRACE_CLOCK = 2

    # ClockSnapshot.Clock
    SNAPSHOT_CLOCK_CLOCK_ID = 1
    SNAPSHOT_CLOCK_TIMESTAMP = 2
    SNAPSHOT_CLOCK_IS_INCREMENTAL = 3
    SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS = 4

    # RemoteClockSync
    REMOTE_SYNC_SYNCED_CLOCKS = 1

    # RemoteClockSync.SyncedClocks
    SYNCED_CLIENT_CLOCKS = 2
    SYNCED_HOST_CLOCKS = 3

    # FtraceEventBundle
    BUNDLE_CPU = 1
    BUNDLE_EVENT = 2
    BUNDLE_LOST_EVENTS = 3
    BUNDLE_COMPACT_SCHED = 4
    BUNDLE_FTRACE_CLOCK = 5
    BUNDLE_FTRACE_TIMESTAMP = 6
    BUNDLE_BOOT_TIMESTAMP = 7
    BUNDLE_LAST_READ_EVENT_TIMESTAMP = 9
    BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP = 10

    # FtraceEventBundle.CompactSched
    SCHED_SWITCH_TIMESTAMP = 1
    SCHED_SWITCH_PREV_STATE = 2
    SCHED_SWITCH_NEXT_PID = 3
    SCHED_SWITCH_NEXT_PRIO = 4
    SCHED_INTERN_TABLE = 5
    SCHED_SWITCH_NEXT_COMM_INDEX = 6
    SCHED_WAKING_TIMESTAMP = 7
    SCHED_WAKING_PID = 8
    SCHED_WAKING_TARGET_CPU = 9
    SCHED_WAKING_PRIO = 10
    SCHED_WAKING_COMM_INDEX = 11

    # FtraceEvent
    FTRACE_EVENT_TIMESTAMP = 1
    FTRACE_EVENT_PID = 2
    FTRACE_EVENT_PRINT = 3
    FTRACE_EVENT_SCHED_SWITCH = 4
    FTRACE_EVENT_SCHED_WAKING = 20
    FTRACE_EVENT_BINDER_TRANSACTION = 50
    FTRACE_EVENT_BINDER_TRANSACTION_RECEIVED = 51
    FTRACE_EVENT_TRACING_MARK_WRITE = 80
    FTRACE_EVENT_TASK_NEWTASK = 235
    FTRACE_EVENT_TASK_RENAME = 236
    FTRACE_EVENT_SCHED_PROCESS_FREE = 240
    FTRACE_EVENT_GENERIC = 327
    FTRACE_EVENT_ZERO = 331
    FTRACE_EVENT_SDE_TRACING_MARK_WRITE = 333
    FTRACE_EVENT_DPU_TRACING_MARK_WRITE = 348
    FTRACE_EVENT_G2D_TRACING_MARK_WRITE = 349
    FTRACE_EVENT_MALI_TRACING_MARK_WRITE = 350
    FTRACE_EVENT_DMA_FENCE_INIT = 414
    FTRACE_EVENT_DMA_FENCE_EMIT = 415
    FTRACE_EVENT_DMA_FENCE_SIGNALED = 416
    FTRACE_EVENT_DMA_FENCE_WAIT_START = 417
    FTRACE_EVENT_DMA_FENCE_WAIT_END = 418
    FTRACE_EVENT_LWIS_TRACING_MARK_WRITE = 467
    FTRACE_EVENT_SAMSUNG_TRACING_MARK_WRITE = 484
    FTRACE_EVENT_GPU_WORK_PERIOD = 488
    FTRACE_EVENT_THERMAL_EXYNOS_ACPM_BULK = 506
    FTRACE_EVENT_PARAM_SET_VALUE_CPM = 543
    FTRACE_EVENT_FWTP_PERFETTO_COUNTER = 596
    FTRACE_EVENT_FWTP_PERFETTO_SLICE = 600

    # PrintFtraceEvent
    PRINT_BUF = 2

    # SchedWakingFtraceEvent
    SCHED_WAKING_EVENT_COMM = 1
    SCHED_WAKING_EVENT_PID = 2
    SCHED_WAKING_EVENT_TARGET_CPU = 5

    # SchedSwitchFtraceEvent
    SCHED_SWITCH_EVENT_PREV_COMM = 1
    SCHED_SWITCH_EVENT_PREV_PID = 2
    SCHED_SWITCH_EVENT_PREV_STATE = 4
    SCHED_SWITCH_EVENT_NEXT_COMM = 5
    SCHED_SWITCH_EVENT_NEXT_PID = 6

    # SchedProcessFreeFtraceEvent
    SCHED_PROCESS_FREE_PID = 2

    # TaskNewtaskFtraceEvent
    TASK_NEWTASK_PID = 1
    TASK_NEWTASK_COMM = 2
    TASK_NEWTASK_CLONE_FLAGS = 3

    # TaskRenameFtraceEvent
    TASK_RENAME_PID = 1
    TASK_RENAME_NEWCOMM = 3

    # ZeroFtraceEvent
    ZERO_FLAG = 1
    ZERO_NAME = 2
    ZERO_PID = 3
    ZERO_VALUE = 4

    # TracingMarkWriteFtraceEvent
    TRACING_MARK_WRITE_PID = 1
    TRACING_MARK_WRITE_TRACE_NAME = 2
    TRACING_MARK_WRITE_TRACE_BEGIN = 3

    # SdeTracingMarkWriteFtraceEvent
    SDE_MARK_PID = 1
    SDE_MARK_TRACE_NAME = 2
    SDE_MARK_TRACE_TYPE = 3
    SDE_MARK_VALUE = 4
    SDE_MARK_TRACE_BEGIN = 5

    # DpuTracingMarkWriteFtraceEvent
    DPU_MARK_PID = 1
    DPU_MARK_NAME = 4
    DPU_MARK_TYPE = 5
    DPU_MARK_VALUE = 6

    # G2dTracingMarkWriteFtraceEvent
    G2D_MARK_PID = 1
    G2D_MARK_NAME = 4
    G2D_MARK_TYPE = 5
    G2D_MARK_VALUE = 6

    # MaliTracingMarkWriteFtraceEvent
    MALI_MARK_NAME = 1
    MALI_MARK_PID = 2
    MALI_MARK_TYPE = 3
    MALI_MARK_VALUE = 4

    # LwisTracingMarkWriteFtraceEvent
    LWIS_MARK_TYPE = 2
    LWIS_MARK_PID = 3
    LWIS_MARK_FUNC_NAME = 4
    LWIS_MARK_VALUE = 5

    # SamsungTracingMarkWriteFtraceEvent
    SAMSUNG_MARK_PID = 1
    SAMSUNG_MARK_TRACE_NAME = 2
    SAMSUNG_MARK_TRACE_TYPE = 4
    SAMSUNG_MARK_VALUE = 5

    # BinderTransactionFtraceEvent
    BINDER_DEBUG_ID = 1
    BINDER_REPLY = 5
    BINDER_FLAGS = 7

    # DmaFenceInitFtraceEvent
    DMA_FENCE_CONTEXT = 1
    DMA_FENCE_SEQNO = 3
    DMA_FENCE_TIMELINE = 4

    # GenericFtraceEvent
    GENERIC_EVENT_NAME = 1

    # GpuWorkPeriodFtraceEvent
    GPU_WORK_PERIOD_START_TIME_NS = 3

    # ThermalExynosAcpmBulkFtraceEvent
    THERMAL_EXYNOS_ACPM_BULK_TIMESTAMP = 11

    # ParamSetValueCpmFtraceEvent
    PARAM_SET_VALUE_CPM_TIMESTAMP = 3

    # FwtpPerfettoCounterFtraceEvent
    FWTP_PERFETTO_COUNTER_TIMESTAMP = 1

    # FwtpPerfettoSliceFtraceEvent
    FWTP_PERFETTO_SLICE_TIMESTAMP = 1

    # AndroidLogPacket
    LOG_PACKET_EVENTS = 1

    # AndroidLogPacket.LogEvent
    LOG_EVENT_PID = 2
    LOG_EVENT_TID = 3
    LOG_EVENT_TIMESTAMP = 5
    LOG_EVENT_TAG = 6

    # StatsdAtom
    ATOM_ATOM = 1
    ATOM_TIMESTAMP_NANOS = 2

    # PowerRails
    RAILS_ENERGY_DATA = 2

    # PowerRails.EnergyData
    ENERGY_TIMESTAMP_MS = 2

    # StreamingProfilePacket
    STREAMING_CALLSTACK_IID = 1
    STREAMING_TIMESTAMP_DELTA_US = 2

    # ProfilePacket
    PROFILE_PROCESS_DUMPS = 5

    # ProfilePacket.ProcessHeapSamples
    HEAP_SAMPLES_PID = 1
    HEAP_SAMPLES_TIMESTAMP = 9
    HEAP_SAMPLES_START_TIMESTAMP = 15

    # ProcessTree
    TREE_PROCESSES = 1
    TREE_THREADS = 2

    # ProcessTree.Thread
    TREE_THREAD_TID = 1
    TREE_THREAD_NAME = 2
    TREE_THREAD_TGID = 3

    # ProcessTree.Process
    TREE_PROCESS_PID = 1
    TREE_PROCESS_PPID = 2
    TREE_PROCESS_CMDLINE = 3
    TREE_PROCESS_PROCESS_START_FROM_BOOT = 7
    TREE_PROCESS_CMDLINE_IS_COMM = 9

    # TrackEvent
    TRACK_EVENT_TIMESTAMP_DELTA_US = 1
    TRACK_EVENT_THREAD_TIME_DELTA_US = 2
    TRACK_EVENT_CATEGORY_IIDS = 3
    TRACK_EVENT_DEBUG_ANNOTATIONS = 4
    TRACK_EVENT_LEGACY_EVENT = 6
    TRACK_EVENT_THREAD_INSTRUCTION_COUNT_DELTA = 8
    TRACK_EVENT_TYPE = 9
    TRACK_EVENT_NAME_IID = 10
    TRACK_EVENT_TRACK_UUID = 11
    TRACK_EVENT_EXTRA_COUNTER_VALUES = 12
    TRACK_EVENT_TIMESTAMP_ABSOLUTE_US = 16
    TRACK_EVENT_CATEGORIES = 22
    TRACK_EVENT_NAME = 23
    TRACK_EVENT_COUNTER_VALUE = 30
    TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS = 31
    TRACK_EVENT_FLOW_IDS_OLD = 36
    TRACK_EVENT_TERMINATING_FLOW_IDS_OLD = 42
    TRACK_EVENT_DOUBLE_COUNTER_VALUE = 44
    TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS = 45
    TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES = 46
    TRACK_EVENT_FLOW_IDS = 47
    TRACK_EVENT_TERMINATING_FLOW_IDS = 48

    # TrackEvent.LegacyEvent
    LEGACY_EVENT_NAME_IID = 1
    LEGACY_EVENT_PHASE = 2
    LEGACY_EVENT_DURATION_US = 3
    LEGACY_EVENT_UNSCOPED_ID = 6
    LEGACY_EVENT_ID_SCOPE = 7
    LEGACY_EVENT_BIND_ID = 8
    LEGACY_EVENT_LOCAL_ID = 10
    LEGACY_EVENT_GLOBAL_ID = 11
    LEGACY_EVENT_FLOW_DIRECTION = 13
    LEGACY_EVENT_INSTANT_EVENT_SCOPE = 14
    LEGACY_EVENT_PID_OVERRIDE = 18
    LEGACY_EVENT_TID_OVERRIDE = 19

    # DebugAnnotation
    DEBUG_NAME_IID = 1
    DEBUG_BOOL_VALUE = 2
    DEBUG_UINT_VALUE = 3
    DEBUG_INT_VALUE = 4
    DEBUG_DOUBLE_VALUE = 5
    DEBUG_STRING_VALUE = 6
    DEBUG_POINTER_VALUE = 7
    DEBUG_NESTED_VALUE = 8
    DEBUG_LEGACY_JSON_VALUE = 9
    DEBUG_NAME = 10
    DEBUG_DICT_ENTRIES = 11
    DEBUG_ARRAY_VALUES = 12
    DEBUG_STRING_VALUE_IID = 17

    # DebugAnnotation.NestedValue
    NESTED_NESTED_TYPE = 1
    NESTED_DICT_KEYS = 2
    NESTED_DICT_VALUES = 3
    NESTED_ARRAY_VALUES = 4
    NESTED_INT_VALUE = 5
    NESTED_DOUBLE_VALUE = 6
    NESTED_BOOL_VALUE = 7
    NESTED_STRING_VALUE = 8

    # InternedData
    INTERNED_DATA_EVENT_CATEGORIES = 1
    INTERNED_DATA_EVENT_NAMES = 2
    INTERNED_DATA_DEBUG_ANNOTATION_NAMES = 3
    INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES = 29

    # InternedString
    INTERNED_STRING_IID = 1
    INTERNED_STRING_STR = 2

    # TrackDescriptor
    TRACK_DESCRIPTOR_UUID = 1
    TRACK_DESCRIPTOR_NAME = 2
    TRACK_DESCRIPTOR_PROCESS = 3
    TRACK_DESCRIPTOR_THREAD = 4
    TRACK_DESCRIPTOR_PARENT_UUID = 5
    TRACK_DESCRIPTOR_CHROME_PROCESS = 6
    TRACK_DESCRIPTOR_CHROME_THREAD = 7
    TRACK_DESCRIPTOR_COUNTER = 8
    TRACK_DESCRIPTOR_DISALLOW_MERGING_WITH_SYSTEM_TRACKS = 9
    TRACK_DESCRIPTOR_STATIC_NAME = 10
    TRACK_DESCRIPTOR_CHILD_ORDERING = 11
    TRACK_DESCRIPTOR_ATRACE_NAME = 13
    TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR = 15
    TRACK_DESCRIPTOR_SIBLING_MERGE_KEY = 16
    TRACK_DESCRIPTOR_SIBLING_MERGE_KEY_INT = 17
    TRACK_DESCRIPTOR_STATE = 18

    # ThreadDescriptor
    THREAD_DESCRIPTOR_PID = 1
    THREAD_DESCRIPTOR_TID = 2
    THREAD_DESCRIPTOR_CHROME_THREAD_TYPE = 4
    THREAD_DESCRIPTOR_THREAD_NAME = 5
    THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US = 6

    # ProcessDescriptor
    PROCESS_DESCRIPTOR_PID = 1
    PROCESS_DESCRIPTOR_CHROME_PROCESS_TYPE = 4
    PROCESS_DESCRIPTOR_PROCESS_NAME = 6

    # ChromeThreadDescriptor
    CHROME_THREAD_THREAD_TYPE = 1
    CHROME_THREAD_IS_SANDBOXED_TID = 3

    # ChromeProcessDescriptor
    CHROME_PROCESS_PROCESS_TYPE = 1

    # CounterDescriptor
    COUNTER_TYPE = 1
    COUNTER_UNIT_NAME = 6

    # FrameTimelineEvent
    FRAME_EXPECTED_DISPLAY_FRAME_START = 1
    FRAME_ACTUAL_DISPLAY_FRAME_START = 2
    FRAME_EXPECTED_SURFACE_FRAME_START = 3
    FRAME_ACTUAL_SURFACE_FRAME_START = 4
    FRAME_FRAME_END = 5

    # FrameTimelineEvent.FrameEnd
    FRAME_END_COOKIE = 1

    # FrameTimelineEvent.DisplayFrame
    DISPLAY_FRAME_COOKIE = 1
    DISPLAY_FRAME_TOKEN = 2
    DISPLAY_FRAME_PID = 3

    # FrameTimelineEvent.SurfaceFrame
    SURFACE_FRAME_DISPLAY_FRAME_TOKEN = 3
    SURFACE_FRAME_PID = 4

    # PerfSample
    PERF_SAMPLE_CPU = 1
    PERF_SAMPLE_PID = 2
    PERF_SAMPLE_TID = 3

    # EtwTraceEventBundle
    ETW_CPU = 1
    ETW_EVENT = 2

    # EtwTraceEvent
    ETW_EVENT_TIMESTAMP = 1
    ETW_EVENT_CPU = 4
    ETW_EVENT_THREAD_ID = 5

    # TracingServiceEvent
    SERVICE_TRACING_STARTED = 2
    SERVICE_ALL_DATA_SOURCES_FLUSHED = 3
    SERVICE_READ_TRACING_BUFFERS_COMPLETED = 4

    # TracetimeSnapshot
    EXT_REFERENCE = 1
    EXT_CENTRE_NS = 2
    EXT_HALF_WIDTH_NS = 3
    EXT_RAW_MINUS_READING = 4
    EXT_KERNEL_CLOCK = 5
    EXT_DOMAINS = 6
    EXT_EVENTS_DROPPED = 7
    EXT_BAKED = 8
    EXT_BOOT_ID = 9
    EXT_CARRIES_SOURCE = 10
    EXT_ROUNDS_NS = 11
    EXT_WALL_BOUND = 12
    EXT_SUSPENDED_NS = 13
    EXT_CARRIED = 14

    # KernelClock
    EXT_KERNEL_FREQUENCY_SCALED = 1
    EXT_KERNEL_TICK_US = 2
    EXT_KERNEL_MAXERROR_US = 4
    EXT_KERNEL_ESTERROR_US = 5
    EXT_KERNEL_STATUS = 6
    EXT_KERNEL_STATE = 7
    EXT_KERNEL_TAI_S = 8

    # WallBound
    EXT_BOUND_EARLIEST_NS = 1
    EXT_BOUND_LATEST_NS = 2
    EXT_BOUND_SOURCE = 3

    # Domain
    EXT_DOMAIN_CLOCK_ID = 1
    EXT_DOMAIN_NAME = 2
    EXT_DOMAIN_NS_PER_TICK_NUMERATOR = 3
    EXT_DOMAIN_NS_PER_TICK_DENOMINATOR = 4
    EXT_DOMAIN_VALID_BITS = 5
    EXT_DOMAIN_OSCILLATOR = 6
    EXT_DOMAIN_TICK_NS = 7
    EXT_DOMAIN_MAX_DRIFT_PPM = 8
    EXT_DOMAIN_WANDER_PPM = 9
    EXT_DOMAIN_DISCIPLINED = 10


cdef struct TracePacket:
    uint64_t timestamp
    bint has_timestamp, has_trusted_packet_sequence_id, has_timestamp_clock_id
    bint incremental_state_cleared, first_packet_on_sequence
    uint32_t trusted_packet_sequence_id, timestamp_clock_id, sequence_flags
    uint32_t previous_packet_dropped, machine_id
    Span trace_packet_defaults, interned_data, tracetime_snapshot, track_event, ftrace_events
    Span clock_snapshot, track_descriptor, process_tree, thread_descriptor, process_descriptor
    Span remote_clock_sync, service_event, extension_descriptor, chrome_events, chrome_metadata
    Span system_info, profile_packet, perf_sample, compressed_packets, zstd_compressed_packets
    Span synchronization_marker, trace_config
    uint32_t data           # the number of the first payload, 0: none
    Span payload            # the last one of bytes
    int64_t n_data           # how many


# long: a branch for each field
cdef inline bint read_trace_packet(Span s, TracePacket *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    clear(m, sizeof(TracePacket))
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == PACKET_TIMESTAMP:
            if is_number(&f):
                m.timestamp = <uint64_t>f.value
                m.has_timestamp = True
        elif number == PACKET_TRUSTED_PACKET_SEQUENCE_ID:
            if is_number(&f):
                m.trusted_packet_sequence_id = <uint32_t>f.value
                m.has_trusted_packet_sequence_id = True
        elif number == PACKET_TIMESTAMP_CLOCK_ID:
            if is_number(&f):
                m.timestamp_clock_id = <uint32_t>f.value
                m.has_timestamp_clock_id = True
        elif number == PACKET_SEQUENCE_FLAGS:
            if is_number(&f):
                m.sequence_flags = <uint32_t>f.value
        elif number == PACKET_INCREMENTAL_STATE_CLEARED:
            if is_number(&f):
                m.incremental_state_cleared = f.value != 0
        elif number == PACKET_PREVIOUS_PACKET_DROPPED:
            if is_number(&f):
                m.previous_packet_dropped = <uint32_t>f.value
        elif number == PACKET_MACHINE_ID:
            if is_number(&f):
                m.machine_id = <uint32_t>f.value
        elif number == PACKET_FIRST_PACKET_ON_SEQUENCE:
            if is_number(&f):
                m.first_packet_on_sequence = f.value != 0
        elif number == PACKET_TRACE_PACKET_DEFAULTS:
            if f.wire == BYTES:
                m.trace_packet_defaults = span_of(&f)
        elif number == PACKET_INTERNED_DATA:
            if f.wire == BYTES:
                m.interned_data = span_of(&f)
        elif number == PACKET_TRACETIME_SNAPSHOT:
            if f.wire == BYTES:
                m.tracetime_snapshot = span_of(&f)
        elif number == PACKET_TRUSTED_PID:
            pass
        elif number == PACKET_TRUSTED_UID:
            pass
        elif number:
            m.n_data += 1
            if m.data == 0:
                m.data = number
            if f.wire != BYTES:
                continue
            m.payload = span_of(&f)
            if number == PACKET_TRACK_EVENT:
                m.track_event = m.payload
            elif number == PACKET_FTRACE_EVENTS:
                m.ftrace_events = m.payload
            elif number == PACKET_CLOCK_SNAPSHOT:
                m.clock_snapshot = m.payload
            elif number == PACKET_TRACK_DESCRIPTOR:
                m.track_descriptor = m.payload
            elif number == PACKET_PROCESS_TREE:
                m.process_tree = m.payload
            elif number == PACKET_THREAD_DESCRIPTOR:
                m.thread_descriptor = m.payload
            elif number == PACKET_PROCESS_DESCRIPTOR:
                m.process_descriptor = m.payload
            elif number == PACKET_REMOTE_CLOCK_SYNC:
                m.remote_clock_sync = m.payload
            elif number == PACKET_SERVICE_EVENT:
                m.service_event = m.payload
            elif number == PACKET_EXTENSION_DESCRIPTOR:
                m.extension_descriptor = m.payload
            elif number == PACKET_CHROME_EVENTS:
                m.chrome_events = m.payload
            elif number == PACKET_CHROME_METADATA:
                m.chrome_metadata = m.payload
            elif number == PACKET_SYSTEM_INFO:
                m.system_info = m.payload
            elif number == PACKET_PROFILE_PACKET:
                m.profile_packet = m.payload
            elif number == PACKET_PERF_SAMPLE:
                m.perf_sample = m.payload
            elif number == PACKET_COMPRESSED_PACKETS:
                m.compressed_packets = m.payload
            elif number == PACKET_ZSTD_COMPRESSED_PACKETS:
                m.zstd_compressed_packets = m.payload
            elif number == PACKET_SYNCHRONIZATION_MARKER:
                m.synchronization_marker = m.payload
            elif number == PACKET_TRACE_CONFIG:
                m.trace_config = m.payload
    return True


cdef struct ClockSnapshotClock:
    uint32_t clock_id
    uint64_t timestamp, unit_multiplier_ns
    bint has_timestamp, is_incremental


cdef inline bint read_clock_snapshot_clock(Span s, ClockSnapshotClock *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == SNAPSHOT_CLOCK_CLOCK_ID:
            if is_number(&f):
                m.clock_id = <uint32_t>f.value
        elif number == SNAPSHOT_CLOCK_TIMESTAMP:
            if is_number(&f):
                m.timestamp = <uint64_t>f.value
                m.has_timestamp = True
        elif number == SNAPSHOT_CLOCK_IS_INCREMENTAL:
            if is_number(&f):
                m.is_incremental = f.value != 0
        elif number == SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS:
            if is_number(&f):
                m.unit_multiplier_ns = <uint64_t>f.value
    return True


cdef struct FtraceEventBundle:
    uint32_t cpu
    bint has_cpu, has_ftrace_clock, has_ftrace_timestamp, has_boot_timestamp
    bint has_last_read_event_timestamp, has_previous_bundle_end_timestamp, lost_events
    Span compact_sched
    int32_t ftrace_clock
    int64_t ftrace_timestamp, boot_timestamp
    uint64_t last_read_event_timestamp, previous_bundle_end_timestamp


cdef inline bint read_ftrace_event_bundle(Span s, FtraceEventBundle *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == BUNDLE_CPU:
            if is_number(&f):
                m.cpu = <uint32_t>f.value
                m.has_cpu = True
        elif number == BUNDLE_COMPACT_SCHED:
            if f.wire == BYTES:
                m.compact_sched = span_of(&f)
        elif number == BUNDLE_FTRACE_CLOCK:
            if is_number(&f):
                m.ftrace_clock = <int32_t>f.value
                m.has_ftrace_clock = True
        elif number == BUNDLE_FTRACE_TIMESTAMP:
            if is_number(&f):
                m.ftrace_timestamp = <int64_t>f.value
                m.has_ftrace_timestamp = True
        elif number == BUNDLE_BOOT_TIMESTAMP:
            if is_number(&f):
                m.boot_timestamp = <int64_t>f.value
                m.has_boot_timestamp = True
        elif number == BUNDLE_LAST_READ_EVENT_TIMESTAMP:
            if is_number(&f):
                m.last_read_event_timestamp = <uint64_t>f.value
                m.has_last_read_event_timestamp = True
        elif number == BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
            if is_number(&f):
                m.previous_bundle_end_timestamp = <uint64_t>f.value
                m.has_previous_bundle_end_timestamp = True
        elif number == BUNDLE_LOST_EVENTS:
            if is_number(&f):
                m.lost_events = f.value != 0
    return True


cdef struct FtraceEventBundleCompactSched:
    Span switch_timestamp, switch_prev_state, switch_next_pid, switch_next_prio
    Span switch_next_comm_index, waking_timestamp, waking_pid, waking_target_cpu, waking_prio
    Span waking_comm_index
    int64_t n_intern_table


cdef inline bint read_ftrace_event_bundle_compact_sched(Span s, FtraceEventBundleCompactSched *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == SCHED_SWITCH_TIMESTAMP:
            if f.wire == BYTES:
                m.switch_timestamp = span_of(&f)
        elif number == SCHED_SWITCH_PREV_STATE:
            if f.wire == BYTES:
                m.switch_prev_state = span_of(&f)
        elif number == SCHED_SWITCH_NEXT_PID:
            if f.wire == BYTES:
                m.switch_next_pid = span_of(&f)
        elif number == SCHED_SWITCH_NEXT_PRIO:
            if f.wire == BYTES:
                m.switch_next_prio = span_of(&f)
        elif number == SCHED_SWITCH_NEXT_COMM_INDEX:
            if f.wire == BYTES:
                m.switch_next_comm_index = span_of(&f)
        elif number == SCHED_WAKING_TIMESTAMP:
            if f.wire == BYTES:
                m.waking_timestamp = span_of(&f)
        elif number == SCHED_WAKING_PID:
            if f.wire == BYTES:
                m.waking_pid = span_of(&f)
        elif number == SCHED_WAKING_TARGET_CPU:
            if f.wire == BYTES:
                m.waking_target_cpu = span_of(&f)
        elif number == SCHED_WAKING_PRIO:
            if f.wire == BYTES:
                m.waking_prio = span_of(&f)
        elif number == SCHED_WAKING_COMM_INDEX:
            if f.wire == BYTES:
                m.waking_comm_index = span_of(&f)
        elif number == SCHED_INTERN_TABLE:
            m.n_intern_table += 1
    return True


cdef struct SchedWakingFtraceEvent:
    Span comm
    int32_t pid, target_cpu
    bint has_pid, has_target_cpu


cdef inline bint read_sched_waking_ftrace_event(Span s, SchedWakingFtraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == SCHED_WAKING_EVENT_COMM:
            if f.wire == BYTES:
                m.comm = span_of(&f)
        elif number == SCHED_WAKING_EVENT_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == SCHED_WAKING_EVENT_TARGET_CPU:
            if is_number(&f):
                m.target_cpu = <int32_t>f.value
                m.has_target_cpu = True
    return True


cdef struct SchedSwitchFtraceEvent:
    Span prev_comm, next_comm
    int32_t prev_pid, next_pid
    bint has_prev_pid, has_next_pid
    int64_t prev_state


cdef inline bint read_sched_switch_ftrace_event(Span s, SchedSwitchFtraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == SCHED_SWITCH_EVENT_PREV_COMM:
            if f.wire == BYTES:
                m.prev_comm = span_of(&f)
        elif number == SCHED_SWITCH_EVENT_PREV_PID:
            if is_number(&f):
                m.prev_pid = <int32_t>f.value
                m.has_prev_pid = True
        elif number == SCHED_SWITCH_EVENT_PREV_STATE:
            if is_number(&f):
                m.prev_state = <int64_t>f.value
        elif number == SCHED_SWITCH_EVENT_NEXT_COMM:
            if f.wire == BYTES:
                m.next_comm = span_of(&f)
        elif number == SCHED_SWITCH_EVENT_NEXT_PID:
            if is_number(&f):
                m.next_pid = <int32_t>f.value
                m.has_next_pid = True
    return True


cdef struct TaskNewtaskFtraceEvent:
    int32_t pid
    bint has_pid
    Span comm
    uint64_t clone_flags


cdef inline bint read_task_newtask_ftrace_event(Span s, TaskNewtaskFtraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TASK_NEWTASK_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == TASK_NEWTASK_COMM:
            if f.wire == BYTES:
                m.comm = span_of(&f)
        elif number == TASK_NEWTASK_CLONE_FLAGS:
            if is_number(&f):
                m.clone_flags = <uint64_t>f.value
    return True


cdef struct TaskRenameFtraceEvent:
    int32_t pid
    bint has_pid
    Span newcomm


cdef inline bint read_task_rename_ftrace_event(Span s, TaskRenameFtraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TASK_RENAME_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == TASK_RENAME_NEWCOMM:
            if f.wire == BYTES:
                m.newcomm = span_of(&f)
    return True


cdef struct BinderTransactionFtraceEvent:
    int32_t debug_id, reply
    uint32_t flags


cdef inline bint read_binder_transaction_ftrace_event(Span s, BinderTransactionFtraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == BINDER_DEBUG_ID:
            if is_number(&f):
                m.debug_id = <int32_t>f.value
        elif number == BINDER_REPLY:
            if is_number(&f):
                m.reply = <int32_t>f.value
        elif number == BINDER_FLAGS:
            if is_number(&f):
                m.flags = <uint32_t>f.value
    return True


cdef struct DmaFenceInitFtraceEvent:
    uint32_t context, seqno
    Span timeline


cdef inline bint read_dma_fence_init_ftrace_event(Span s, DmaFenceInitFtraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == DMA_FENCE_CONTEXT:
            if is_number(&f):
                m.context = <uint32_t>f.value
        elif number == DMA_FENCE_SEQNO:
            if is_number(&f):
                m.seqno = <uint32_t>f.value
        elif number == DMA_FENCE_TIMELINE:
            if f.wire == BYTES:
                m.timeline = span_of(&f)
    return True


cdef struct AndroidLogPacketLogEvent:
    int32_t pid, tid
    bint has_pid, has_tid, has_timestamp
    uint64_t timestamp
    Span tag


cdef inline bint read_android_log_packet_log_event(Span s, AndroidLogPacketLogEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == LOG_EVENT_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == LOG_EVENT_TID:
            if is_number(&f):
                m.tid = <int32_t>f.value
                m.has_tid = True
        elif number == LOG_EVENT_TIMESTAMP:
            if is_number(&f):
                m.timestamp = <uint64_t>f.value
                m.has_timestamp = True
        elif number == LOG_EVENT_TAG:
            if f.wire == BYTES:
                m.tag = span_of(&f)
    return True


cdef struct ProfilePacketProcessHeapSamples:
    uint64_t pid, timestamp, start_timestamp
    bint has_pid, has_timestamp, has_start_timestamp


cdef inline bint read_profile_packet_process_heap_samples(Span s, ProfilePacketProcessHeapSamples *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == HEAP_SAMPLES_PID:
            if is_number(&f):
                m.pid = <uint64_t>f.value
                m.has_pid = True
        elif number == HEAP_SAMPLES_TIMESTAMP:
            if is_number(&f):
                m.timestamp = <uint64_t>f.value
                m.has_timestamp = True
        elif number == HEAP_SAMPLES_START_TIMESTAMP:
            if is_number(&f):
                m.start_timestamp = <uint64_t>f.value
                m.has_start_timestamp = True
    return True


cdef struct ProcessTreeThread:
    int32_t tid, tgid
    bint has_tid, has_tgid
    Span name


cdef inline bint read_process_tree_thread(Span s, ProcessTreeThread *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TREE_THREAD_TID:
            if is_number(&f):
                m.tid = <int32_t>f.value
                m.has_tid = True
        elif number == TREE_THREAD_NAME:
            if f.wire == BYTES:
                m.name = span_of(&f)
        elif number == TREE_THREAD_TGID:
            if is_number(&f):
                m.tgid = <int32_t>f.value
                m.has_tgid = True
    return True


cdef struct ProcessTreeProcess:
    int32_t pid, ppid
    bint has_pid, cmdline_is_comm, has_process_start_from_boot
    Span cmdline
    int64_t n_cmdline
    uint64_t process_start_from_boot


cdef inline bint read_process_tree_process(Span s, ProcessTreeProcess *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TREE_PROCESS_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == TREE_PROCESS_PPID:
            if is_number(&f):
                m.ppid = <int32_t>f.value
        elif number == TREE_PROCESS_CMDLINE:
            if m.cmdline.data == NULL and f.wire == BYTES:
                m.cmdline = span_of(&f)
            m.n_cmdline += 1
        elif number == TREE_PROCESS_CMDLINE_IS_COMM:
            if is_number(&f):
                m.cmdline_is_comm = f.value != 0
        elif number == TREE_PROCESS_PROCESS_START_FROM_BOOT:
            if is_number(&f):
                m.process_start_from_boot = <uint64_t>f.value
                m.has_process_start_from_boot = True
    return True


cdef struct TrackEvent:
    int32_t type
    bint has_type, has_track_uuid, packed_category_iids, has_timestamp_delta_us, has_counter_value
    bint has_double_counter_value, has_thread_time_delta_us, has_thread_instruction_count_delta
    bint packed_extra_counter_values
    uint64_t track_uuid, name_iid, category_iids
    int64_t n_category_iids, timestamp_delta_us, timestamp_absolute_us, n_categories, counter_value
    int64_t n_extra_counter_values, n_extra_counter_track_uuids, n_extra_double_counter_values
    int64_t n_flow_ids, n_terminating_flow_ids, n_flow_ids_old, n_terminating_flow_ids_old
    Span legacy_event, debug_annotations, name, categories
    double double_counter_value


# long: a branch for each field
cdef inline bint read_track_event(Span s, TrackEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TRACK_EVENT_TYPE:
            if is_number(&f):
                m.type = <int32_t>f.value
                m.has_type = True
        elif number == TRACK_EVENT_TRACK_UUID:
            if is_number(&f):
                m.track_uuid = <uint64_t>f.value
                m.has_track_uuid = True
        elif number == TRACK_EVENT_NAME_IID:
            if is_number(&f):
                m.name_iid = <uint64_t>f.value
        elif number == TRACK_EVENT_CATEGORY_IIDS:
            m.n_category_iids += 1
            if is_number(&f):
                m.category_iids = f.value
            else:
                m.packed_category_iids = True
        elif number == TRACK_EVENT_LEGACY_EVENT:
            if f.wire == BYTES:
                m.legacy_event = span_of(&f)
        elif number == TRACK_EVENT_DEBUG_ANNOTATIONS:
            if m.debug_annotations.data == NULL and f.wire == BYTES:
                m.debug_annotations = span_of(&f)
        elif number == TRACK_EVENT_TIMESTAMP_DELTA_US:
            if is_number(&f):
                m.timestamp_delta_us = <int64_t>f.value
                m.has_timestamp_delta_us = True
        elif number == TRACK_EVENT_TIMESTAMP_ABSOLUTE_US:
            if is_number(&f):
                m.timestamp_absolute_us = <int64_t>f.value
        elif number == TRACK_EVENT_NAME:
            if f.wire == BYTES:
                m.name = span_of(&f)
        elif number == TRACK_EVENT_CATEGORIES:
            if m.categories.data == NULL and f.wire == BYTES:
                m.categories = span_of(&f)
            m.n_categories += 1
        elif number == TRACK_EVENT_COUNTER_VALUE:
            if is_number(&f):
                m.counter_value = <int64_t>f.value
                m.has_counter_value = True
        elif number == TRACK_EVENT_DOUBLE_COUNTER_VALUE:
            if f.wire == FIXED64:
                memcpy(&m.double_counter_value, &f.value, 8)
                m.has_double_counter_value = True
        elif number == TRACK_EVENT_THREAD_TIME_DELTA_US:
            if is_number(&f):
                m.has_thread_time_delta_us = True
        elif number == TRACK_EVENT_THREAD_INSTRUCTION_COUNT_DELTA:
            if is_number(&f):
                m.has_thread_instruction_count_delta = True
        elif number == TRACK_EVENT_EXTRA_COUNTER_VALUES:
            m.n_extra_counter_values += 1
            if not is_number(&f):
                m.packed_extra_counter_values = True
        elif number == TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS:
            m.n_extra_counter_track_uuids += 1
        elif number == TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
            m.n_extra_double_counter_values += 1
        elif number == TRACK_EVENT_FLOW_IDS:
            m.n_flow_ids += 1
        elif number == TRACK_EVENT_TERMINATING_FLOW_IDS:
            m.n_terminating_flow_ids += 1
        elif number == TRACK_EVENT_FLOW_IDS_OLD:
            m.n_flow_ids_old += 1
        elif number == TRACK_EVENT_TERMINATING_FLOW_IDS_OLD:
            m.n_terminating_flow_ids_old += 1
    return True


cdef struct TrackEventTime:
    int64_t timestamp_delta_us, timestamp_absolute_us
    bint has_timestamp_delta_us


cdef inline bint read_track_event_time(Span s, TrackEventTime *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TRACK_EVENT_TIMESTAMP_DELTA_US:
            if is_number(&f):
                m.timestamp_delta_us = <int64_t>f.value
                m.has_timestamp_delta_us = True
        elif number == TRACK_EVENT_TIMESTAMP_ABSOLUTE_US:
            if is_number(&f):
                m.timestamp_absolute_us = <int64_t>f.value
    return True


cdef struct TrackEventLegacyEvent:
    uint64_t name_iid, unscoped_id, bind_id, local_id, global_id
    int32_t phase, flow_direction, instant_event_scope, pid_override, tid_override
    bint has_phase, has_duration_us, has_unscoped_id, has_bind_id, has_local_id, has_global_id
    bint has_instant_event_scope, has_pid_override, has_tid_override
    int64_t duration_us
    Span id_scope


cdef inline bint read_track_event_legacy_event(Span s, TrackEventLegacyEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == LEGACY_EVENT_NAME_IID:
            if is_number(&f):
                m.name_iid = <uint64_t>f.value
        elif number == LEGACY_EVENT_PHASE:
            if is_number(&f):
                m.phase = <int32_t>f.value
                m.has_phase = True
        elif number == LEGACY_EVENT_DURATION_US:
            if is_number(&f):
                m.duration_us = <int64_t>f.value
                m.has_duration_us = True
        elif number == LEGACY_EVENT_UNSCOPED_ID:
            if is_number(&f):
                m.unscoped_id = <uint64_t>f.value
                m.has_unscoped_id = True
        elif number == LEGACY_EVENT_ID_SCOPE:
            if f.wire == BYTES:
                m.id_scope = span_of(&f)
        elif number == LEGACY_EVENT_BIND_ID:
            if is_number(&f):
                m.bind_id = <uint64_t>f.value
                m.has_bind_id = True
        elif number == LEGACY_EVENT_LOCAL_ID:
            if is_number(&f):
                m.local_id = <uint64_t>f.value
                m.has_local_id = True
        elif number == LEGACY_EVENT_GLOBAL_ID:
            if is_number(&f):
                m.global_id = <uint64_t>f.value
                m.has_global_id = True
        elif number == LEGACY_EVENT_FLOW_DIRECTION:
            if is_number(&f):
                m.flow_direction = <int32_t>f.value
        elif number == LEGACY_EVENT_INSTANT_EVENT_SCOPE:
            if is_number(&f):
                m.instant_event_scope = <int32_t>f.value
                m.has_instant_event_scope = True
        elif number == LEGACY_EVENT_PID_OVERRIDE:
            if is_number(&f):
                m.pid_override = <int32_t>f.value
                m.has_pid_override = True
        elif number == LEGACY_EVENT_TID_OVERRIDE:
            if is_number(&f):
                m.tid_override = <int32_t>f.value
                m.has_tid_override = True
    return True


cdef struct TrackDescriptor:
    uint64_t uuid, parent_uuid, sibling_merge_key_int
    bint has_uuid, disallow_merging_with_system_tracks, has_sibling_merge_key_int
    Span name, static_name, atrace_name, thread, process, counter, chrome_thread, chrome_process
    Span sibling_merge_key, state
    int32_t child_ordering, sibling_merge_behavior


# long: a branch for each field
cdef inline bint read_track_descriptor(Span s, TrackDescriptor *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == TRACK_DESCRIPTOR_UUID:
            if is_number(&f):
                m.uuid = <uint64_t>f.value
                m.has_uuid = True
        elif number == TRACK_DESCRIPTOR_PARENT_UUID:
            if is_number(&f):
                m.parent_uuid = <uint64_t>f.value
        elif number == TRACK_DESCRIPTOR_NAME:
            if f.wire == BYTES:
                m.name = span_of(&f)
        elif number == TRACK_DESCRIPTOR_STATIC_NAME:
            if f.wire == BYTES:
                m.static_name = span_of(&f)
        elif number == TRACK_DESCRIPTOR_ATRACE_NAME:
            if f.wire == BYTES:
                m.atrace_name = span_of(&f)
        elif number == TRACK_DESCRIPTOR_THREAD:
            if f.wire == BYTES:
                m.thread = span_of(&f)
        elif number == TRACK_DESCRIPTOR_PROCESS:
            if f.wire == BYTES:
                m.process = span_of(&f)
        elif number == TRACK_DESCRIPTOR_COUNTER:
            if f.wire == BYTES:
                m.counter = span_of(&f)
        elif number == TRACK_DESCRIPTOR_CHROME_THREAD:
            if f.wire == BYTES:
                m.chrome_thread = span_of(&f)
        elif number == TRACK_DESCRIPTOR_CHROME_PROCESS:
            if f.wire == BYTES:
                m.chrome_process = span_of(&f)
        elif number == TRACK_DESCRIPTOR_CHILD_ORDERING:
            if is_number(&f):
                m.child_ordering = <int32_t>f.value
        elif number == TRACK_DESCRIPTOR_DISALLOW_MERGING_WITH_SYSTEM_TRACKS:
            if is_number(&f):
                m.disallow_merging_with_system_tracks = f.value != 0
        elif number == TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR:
            if is_number(&f):
                m.sibling_merge_behavior = <int32_t>f.value
        elif number == TRACK_DESCRIPTOR_SIBLING_MERGE_KEY:
            if f.wire == BYTES:
                m.sibling_merge_key = span_of(&f)
        elif number == TRACK_DESCRIPTOR_SIBLING_MERGE_KEY_INT:
            if is_number(&f):
                m.sibling_merge_key_int = <uint64_t>f.value
                m.has_sibling_merge_key_int = True
        elif number == TRACK_DESCRIPTOR_STATE:
            if f.wire == BYTES:
                m.state = span_of(&f)
    return True


cdef struct ThreadDescriptor:
    int32_t pid, chrome_thread_type
    bint has_pid, has_tid, has_chrome_thread_type
    int64_t tid, reference_timestamp_us
    Span thread_name


cdef inline bint read_thread_descriptor(Span s, ThreadDescriptor *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == THREAD_DESCRIPTOR_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == THREAD_DESCRIPTOR_TID:
            if is_number(&f):
                m.tid = <int64_t>f.value
                m.has_tid = True
        elif number == THREAD_DESCRIPTOR_CHROME_THREAD_TYPE:
            if is_number(&f):
                m.chrome_thread_type = <int32_t>f.value
                m.has_chrome_thread_type = True
        elif number == THREAD_DESCRIPTOR_THREAD_NAME:
            if f.wire == BYTES:
                m.thread_name = span_of(&f)
        elif number == THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US:
            if is_number(&f):
                m.reference_timestamp_us = <int64_t>f.value
    return True


cdef struct ProcessDescriptor:
    int32_t pid, chrome_process_type
    bint has_pid, has_chrome_process_type
    Span process_name


cdef inline bint read_process_descriptor(Span s, ProcessDescriptor *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == PROCESS_DESCRIPTOR_PID:
            if is_number(&f):
                m.pid = <int32_t>f.value
                m.has_pid = True
        elif number == PROCESS_DESCRIPTOR_CHROME_PROCESS_TYPE:
            if is_number(&f):
                m.chrome_process_type = <int32_t>f.value
                m.has_chrome_process_type = True
        elif number == PROCESS_DESCRIPTOR_PROCESS_NAME:
            if f.wire == BYTES:
                m.process_name = span_of(&f)
    return True


cdef struct ChromeThreadDescriptor:
    int32_t thread_type
    bint has_thread_type, is_sandboxed_tid


cdef inline bint read_chrome_thread_descriptor(Span s, ChromeThreadDescriptor *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == CHROME_THREAD_THREAD_TYPE:
            if is_number(&f):
                m.thread_type = <int32_t>f.value
                m.has_thread_type = True
        elif number == CHROME_THREAD_IS_SANDBOXED_TID:
            if is_number(&f):
                m.is_sandboxed_tid = f.value != 0
    return True


cdef struct PerfSample:
    uint32_t cpu, pid, tid
    bint has_cpu, has_pid, has_tid


cdef inline bint read_perf_sample(Span s, PerfSample *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == PERF_SAMPLE_CPU:
            if is_number(&f):
                m.cpu = <uint32_t>f.value
                m.has_cpu = True
        elif number == PERF_SAMPLE_PID:
            if is_number(&f):
                m.pid = <uint32_t>f.value
                m.has_pid = True
        elif number == PERF_SAMPLE_TID:
            if is_number(&f):
                m.tid = <uint32_t>f.value
                m.has_tid = True
    return True


cdef struct EtwTraceEvent:
    uint64_t timestamp
    bint has_timestamp, has_cpu, has_thread_id
    uint32_t cpu, thread_id


cdef inline bint read_etw_trace_event(Span s, EtwTraceEvent *m) noexcept nogil:
    cdef const uint8_t *at = s.data
    cdef Field f
    cdef uint32_t number
    empty(m)
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        number = f.number
        if number == ETW_EVENT_TIMESTAMP:
            if is_number(&f):
                m.timestamp = <uint64_t>f.value
                m.has_timestamp = True
        elif number == ETW_EVENT_CPU:
            if is_number(&f):
                m.cpu = <uint32_t>f.value
                m.has_cpu = True
        elif number == ETW_EVENT_THREAD_ID:
            if is_number(&f):
                m.thread_id = <uint32_t>f.value
                m.has_thread_id = True
    return True
