from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.graph.engine cimport Engine, Key
from tracetime._kernels.graph.router cimport Router
from tracetime._kernels.perfetto.observer cimport Listener
from tracetime._kernels.perfetto.remote cimport Instant, RemoteSyncs
from tracetime._kernels.perfetto.rows cimport Kind, Row, Rows
from tracetime._kernels.common.wire cimport Span

# Why feeding stopped; see formats/perfetto/read/reader.py for what is done about each.
cdef enum Stop:
    STOP_END = 0            # the next field is not whole: give more bytes
    STOP_ROWS = 1           # enough rows for a batch
    STOP_COMPRESSED = 2     # a packet of compressed packets
    STOP_NEEDS_FINAL = 3    # an event that the end of the file decides about
    STOP_ERROR = 4

# Errors that end an import; the numbers index reader.IMPORT_ERRORS.
cdef enum ImportError_:
    ERROR_FIELD_TYPE = 0
    ERROR_HEADER = 1
    ERROR_PACKET = 2
    ERROR_NOT_A_PACKET = 3
    ERROR_NESTED_COMPRESSION = 4
    ERROR_SNAPSHOT_SEQUENCE = 5
    ERROR_TIMESTAMP_SEQUENCE = 6
    ERROR_INCREMENTAL_SEQUENCE = 7
    ERROR_CPU = 8
    ERROR_FTRACE_CLOCK = 9
    ERROR_FTRACE_START = 10
    ERROR_MIXED_COMPRESSION = 11
    ERROR_REMOTE_SYNC = 12

cdef enum Codec:
    CODEC_NONE = 0
    CODEC_ZLIB = 1
    CODEC_ZSTD = 2

cdef struct Machine:
    uint32_t raw_id
    uint32_t default_clock          # 0: none
    bint bridged                    # its BOOTTIME has been related to trace time
    bint converted                  # a conversion to trace time has been asked for
    int64_t latest_ns
    int64_t ftrace_snapshot         # ftrace_timestamp of the last one added
    uint64_t *cpus_seen
    bint has_system                 # the trace says what runs there

cdef struct Sequence:
    uint32_t machine
    uint32_t id
    uint32_t default_clock
    bint valid                      # incremental state
    bint has_reference              # legacy track event timestamps
    int64_t reference_ns

# How one clock was read in one snapshot, against the snapshot's reference.
cdef struct MeasuredRead:
    int32_t node
    uint32_t snapshot
    int64_t centre_ns
    int64_t half_ns                 # -1: not known

# How the kernel steered its clocks at one snapshot.
cdef struct KernelRead:
    uint32_t snapshot
    uint32_t machine                # its index
    int64_t frequency_scaled        # 2^-16 ppm
    int64_t status

# Some readings of one clock in events: blocks of neighbours, all over the file.
cdef struct Sampled:
    int64_t *values_ns
    int64_t n, capacity
    int64_t seen                    # readings that differ from the one before
    int64_t repeated                # those that do not
    int64_t last_ns
    int32_t skipped                 # one in 2^skipped blocks is kept

# The fields of a TracePacket that matter here.
cdef struct Packet:
    Span whole
    Span inner                      # the message whose items have timestamps of their own
    Span defaults
    Span snapshot
    Span remote_sync
    Span service_event
    Span compressed
    Span thread_descriptor
    Span track_descriptor
    Span extension                  # what tracetime recorded of a snapshot
    Span after_sorting              # ProfilePacket or ProcessTree
    Span system_info
    Span chrome_events
    int64_t timestamp
    int64_t trace_time
    uint32_t payloads               # how many; a valid packet has one at most
    uint32_t inner_field
    uint32_t after_sorting_field
    uint32_t clock
    uint32_t sequence_id
    uint32_t machine_id
    uint32_t machine                # in order of appearance
    uint32_t flags
    uint32_t sequence               # index
    bint has_timestamp
    bint has_clock
    bint has_sequence_id
    bint cleared
    bint dropped                    # packets before it
    bint chrome
    bint extension_descriptor
    bint synchronization_marker
    int8_t codec
    int8_t status                   # of its items, where it could not be placed itself


cdef class Importer:
    cdef readonly Engine engine
    cdef Router router                  # to trace time
    cdef Router wall_router             # to the REALTIME of its machine
    cdef Router own_router              # to that of another machine, one after the other
    cdef Key trace_key
    cdef int32_t trace_node
    cdef uint32_t file
    cdef readonly Rows rows
    cdef readonly Importer final
    cdef Listener listener              # None: nobody
    cdef bint at_end, silent
    cdef int64_t batch_rows
    # machines and sequences in order of appearance
    cdef Machine *machines
    cdef int64_t n_machines, machines_capacity
    cdef HashTable machine_table
    cdef bint host_used, adoption_settled
    cdef uint32_t adopted
    cdef Sequence *sequences
    cdef int64_t n_sequences, sequences_capacity
    cdef HashTable sequence_table
    cdef int64_t last_sequence
    # one snapshot's clocks
    cdef int32_t *clock_nodes
    cdef int64_t *clock_values
    cdef int64_t *clock_units
    cdef uint8_t *clock_incremental
    cdef int64_t nodes_capacity, values_capacity, units_capacity, incremental_capacity
    # what recorded snapshots say of how each clock was read
    cdef MeasuredRead *reads
    cdef int64_t n_reads, reads_capacity
    cdef KernelRead *kernel_reads
    cdef int64_t n_kernel_reads, kernel_reads_capacity
    cdef readonly dict declared
    cdef readonly dict systems              # what the trace calls the system of a machine, bytes
    cdef uint64_t dropped_so_far            # of the recording that is read
    cdef readonly uint64_t events_dropped   # of all recordings in the file
    cdef readonly int64_t dropped_packet    # the first snapshot that says so; -1 without any
    # what events read, by node; NULL where none did
    cdef Sampled **sampled
    cdef int64_t n_sampled, sampled_capacity
    # what Perfetto's sorter would do
    cdef bint full_sort, extracted
    cdef int64_t flushes, events, marked_events, earliest_event, earliest_ns, latest_ns
    # where we are
    cdef Row row
    cdef readonly uint64_t packets
    cdef readonly uint64_t stop_offset
    cdef readonly int error
    cdef readonly int codec
    cdef int8_t file_codec
    cdef Packet packet
    cdef readonly list faults
    cdef readonly object late_clock         # (packet, clock, machine) of a trace clock said too late
    cdef readonly list moves                # (packet, clock, machine, asked): what trace time was before
    cdef bint asked                         # whether any machine has asked for a conversion
    cdef bint tying                         # whether a snapshot is made of a RemoteClockSync's mean
    cdef readonly RemoteSyncs remote
    cdef readonly int64_t n_faults
    cdef readonly int64_t n_own_syncs       # faults that come of trace time being the client's
    cdef readonly int64_t n_stray_syncs     # means that were not tied to the host's clock
    cdef readonly int64_t n_late_snapshots  # that stand behind events they would have placed
    cdef readonly int64_t latest_snapshot, latest_snapshot_ns

    cdef uint32_t machine(self, uint32_t raw_id) except? 0xFFFFFFFF nogil
    cdef uint32_t machine_of(self, Packet *p) except? 0xFFFFFFFF nogil
    cdef int64_t sequence(self, uint32_t machine, uint32_t id) except -1 nogil
    cdef int note_move(self) except -1 nogil
    cdef int note_late_clock(self, uint32_t machine, uint32_t clock) except -1 nogil
    cdef int set_trace_clock(self, uint32_t machine, uint32_t clock) except -1 nogil
    cdef int bridge(self, uint32_t machine) except -1 nogil
    cdef int reach(self, Key source, Key target, Router router) except -1 nogil
    cdef int equate(self, Key a, Key b) except -1 nogil
    cdef int64_t reserve_clocks(self, int64_t n) except -1 nogil
    cdef int set_clock(self, int64_t i, Key key, int64_t ns) except -1 nogil
    cdef int add_clocks(self, int64_t n) except -1 nogil
    cdef int note_late_snapshot(self, int64_t n) except -1 nogil
    cdef int note_fault(self, int fault) except -1 nogil
    cdef int note_event(self, int32_t node, int64_t ns) except -1 nogil
    cdef int to_trace_time(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil
    cdef int to_trace_time_or_raw(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil
    cdef void push(self, int64_t ns) noexcept nogil
    cdef int fail(self, int error) noexcept nogil
    cdef int emit(
        self, Kind kind, uint32_t item, uint32_t clock, int64_t timestamp, int64_t ns, int status
    ) except -1 nogil
    cdef int emit_converted(
        self, Packet *p, Kind kind, uint32_t item, Key key, int64_t timestamp, int64_t value
    ) except -1 nogil

    cdef int read_packet(self, Span s, Packet *p) noexcept nogil
    cdef int import_packet(self, Span s) except -1 nogil
    cdef int import_snapshot(self, Packet *p) except -1 nogil
    cdef int import_remote_sync(self, Packet *p) except -1 nogil
    cdef int add_client_rounds(self, uint32_t machine) except -1 nogil
    cdef int add_instant(self, uint32_t machine, const Instant *at) except -1 nogil
    cdef int import_extension(self, Packet *p, int64_t n, bint whole) except -1 nogil
    cdef void note_dropped(self, uint64_t so_far) noexcept nogil
    cdef int add_kernel_read(self, Packet *p, Span kernel_clock) except -1 nogil
    cdef int declare(self, Packet *p, Span domain) except -1 nogil
    cdef int note_system(self, Packet *p) except -1 nogil
    cdef int import_service_event(self, Packet *p) except -1 nogil
    cdef int place_packet(self, Packet *p) except -1 nogil
    cdef int give_up(self, Packet *p, int status) except -1 nogil
    cdef int import_items(self, Packet *p) except -1 nogil
    cdef int import_inner(self, Packet *p, uint32_t inner) except -1 nogil
    cdef int import_fields(self, Packet *p) except -1 nogil
    cdef int tell(self, Span packet, int64_t first) except -1 nogil
    cdef int _feed(
        self, const uint8_t *base, Span all, uint64_t offset, bint nested, const uint8_t **resume,
        Span *payload
    ) except -1 nogil
    cdef int _cut_header(self, const uint8_t *at, const uint8_t *end) noexcept nogil
