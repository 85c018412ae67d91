# A TracePacket: the fields of it that an import needs.

from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tracetime._kernels.common.memory cimport clear
from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, is_number, is_set, load_number, read_field, span_of,
)
from tracetime._kernels.perfetto.fields cimport *

cdef enum:
    FLAG_INCREMENTAL_STATE_CLEARED = 1
    FLAG_NEEDS_INCREMENTAL_STATE = 2
    MOST_POLICIES = 2               # of baked traces

cdef enum Codec:
    CODEC_NONE = 0
    CODEC_ZLIB = 1
    CODEC_ZSTD = 2

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
    int64_t source_ns               # its timestamp in ns
    uint32_t payloads               # how many; a valid packet has one at most
    uint16_t payload                # field of the first, 0xFFFF for those above; 0: none
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
    bint placed                     # it has a trace time
    bint has_source                 # it says what it was before `bake`
    int8_t codec
    int8_t own_status
    int8_t status                   # of its items, where it could not be placed itself


# long: a branch for each field, the most frequent ones first
cdef inline bint read_packet(Span s, Packet *p) noexcept nogil:
    """Find the fields that matter; False where the packet cannot be read to its end."""
    cdef const uint8_t *at = s.data
    cdef Field f
    clear(p, sizeof(Packet))
    p.whole = s
    while at < s.end:
        at = read_field(at, s.end, &f)
        if at == NULL:
            return False
        # Numbers first: the fields of nearly every packet.
        if f.number == PACKET_TIMESTAMP:
            if is_number(&f):
                p.timestamp = <int64_t>f.value
                p.has_timestamp = True
        elif f.number == PACKET_TRUSTED_PACKET_SEQUENCE_ID:
            if is_number(&f):
                p.sequence_id = <uint32_t>f.value
                p.has_sequence_id = True
        elif f.number == PACKET_TIMESTAMP_CLOCK_ID:
            if is_number(&f):
                p.clock = <uint32_t>f.value
                p.has_clock = True
        elif f.number == PACKET_SEQUENCE_FLAGS:
            if is_number(&f):
                p.flags = <uint32_t>f.value
        elif f.number == PACKET_INCREMENTAL_STATE_CLEARED:
            if is_number(&f):
                p.cleared = f.value != 0
        elif f.number == PACKET_PREVIOUS_PACKET_DROPPED:
            if is_number(&f):
                p.dropped = <uint32_t>f.value != 0
        elif f.number == PACKET_MACHINE_ID:
            if is_number(&f):
                p.machine_id = <uint32_t>f.value
        elif f.number == PACKET_TRACE_PACKET_DEFAULTS:
            if f.wire == BYTES:
                p.defaults = span_of(&f)
        elif (
            f.number == PACKET_TRUSTED_UID or f.number == PACKET_INTERNED_DATA
            or f.number == PACKET_TRUSTED_PID or f.number == PACKET_FIRST_PACKET_ON_SEQUENCE
        ):
            pass
        elif f.number == PACKET_TRACETIME_SNAPSHOT:
            if f.wire == BYTES:
                p.extension = span_of(&f)
        elif f.number == PACKET_TRACETIME_SOURCE:
            p.has_source = True
        elif f.number:
            p.payloads += 1
            if p.payload == 0:
                p.payload = <uint16_t>f.number if f.number < 0xFFFF else 0xFFFF
            if f.number == PACKET_SYNCHRONIZATION_MARKER:
                p.synchronization_marker = True
            if f.wire != BYTES:
                continue
            if is_inner(f.number):
                p.inner_field = f.number
                p.inner = span_of(&f)
            elif f.number == PACKET_CLOCK_SNAPSHOT:
                p.snapshot = span_of(&f)
            elif f.number == PACKET_REMOTE_CLOCK_SYNC:
                p.remote_sync = span_of(&f)
            elif f.number == PACKET_SERVICE_EVENT:
                p.service_event = span_of(&f)
            elif f.number == PACKET_EXTENSION_DESCRIPTOR:
                p.extension_descriptor = True
            elif f.number == PACKET_CHROME_EVENTS or f.number == PACKET_CHROME_METADATA:
                p.chrome = True
                if f.number == PACKET_CHROME_EVENTS:
                    p.chrome_events = span_of(&f)
            elif f.number == PACKET_SYSTEM_INFO:
                p.system_info = span_of(&f)
            elif f.number == PACKET_THREAD_DESCRIPTOR:
                p.thread_descriptor = span_of(&f)
            elif f.number == PACKET_TRACK_DESCRIPTOR:
                p.track_descriptor = span_of(&f)
            elif f.number == PACKET_PROFILE_PACKET or f.number == PACKET_PROCESS_TREE:
                p.after_sorting_field = f.number
                p.after_sorting = span_of(&f)
            elif f.number == PACKET_COMPRESSED_PACKETS:
                p.codec = CODEC_ZLIB
                p.compressed = span_of(&f)
            elif f.number == PACKET_ZSTD_COMPRESSED_PACKETS:
                if p.codec != CODEC_ZLIB:
                    p.codec = CODEC_ZSTD
                    p.compressed = span_of(&f)
    return True


cdef inline int64_t baked_policy(Span extension) noexcept nogil:
    """The policy, from 1, by which an extension says that the file is baked; 0: none, or no such."""
    cdef bint found
    cdef uint64_t policy
    if not is_set(extension):
        return 0
    policy = load_number(extension, EXT_BAKED, &found)
    return <int64_t>policy if 0 < policy <= MOST_POLICIES else 0


cdef inline bint is_mark(const Packet *p) noexcept nogil:
    """Whether a packet is `bake`'s own, which holds no event."""
    return p.payloads == 0 and baked_policy(p.extension) != 0
