# A TracePacket, and where its import has come to.

from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from libc.string cimport memcpy

from tracetime._kernels.common.memory cimport clear
from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, is_set, load_number, next_field, span_of,
)
from tracetime._kernels.perfetto.messages cimport *

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
    Span compressed
    Span after_sorting              # ProfilePacket or ProcessTree
    int64_t trace_time
    int64_t source_ns               # its timestamp in ns
    uint32_t inner_field
    uint32_t after_sorting_field
    uint32_t clock
    uint32_t machine                # in order of appearance
    uint32_t sequence               # index
    bint cleared                    # the incremental state of its sequence
    bint placed                     # it has a trace time
    int8_t codec
    int8_t own_status
    int8_t status                   # of its items, where it could not be placed itself
    TracePacket message             # the last member: what is before it is cleared apart


cdef inline uint64_t digest_of(Span packet, uint64_t before) noexcept nogil:
    """A digest of packets, in their order; before: of those before this one.

    It shows what tools do to a file, not what is done to deceive.
    """
    cdef uint64_t word, h = (before ^ <uint64_t>(packet.end - packet.data)) * <uint64_t>0x9E3779B97F4A7C15
    cdef const uint8_t *at = packet.data
    while packet.end - at >= 8:
        memcpy(&word, at, 8)
        h = (h ^ word) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 32
        at += 8
    word = 0
    memcpy(&word, at, packet.end - at)
    h = (h ^ word) * <uint64_t>0x9E3779B97F4A7C15
    return h ^ h >> 32


cdef inline bint is_inner(uint32_t field) noexcept nogil:
    """Whether a payload has items with timestamps of their own, read at once."""
    return (
        field == PACKET_TRACK_EVENT or field == PACKET_FTRACE_EVENTS
        or field == PACKET_STREAMING_PROFILE_PACKET or field == PACKET_STATSD_ATOM
        or field == PACKET_POWER_RAILS or field == PACKET_ANDROID_LOG
        or field == PACKET_ETW_EVENTS
    )


cdef inline bint is_taken_silently(uint32_t field) noexcept nogil:
    """Whether Perfetto reads a payload without handing its packet to the sorter."""
    return (
        field == PACKET_CHROME_METADATA or field == PACKET_CHROME_BENCHMARK_METADATA
        or field == PACKET_CPU_INFO or field == PACKET_GPU_INFO or field == PACKET_INTERRUPT_INFO
        or field == PACKET_PACKAGES_LIST or field == PACKET_SYSTEM_INFO
        or field == PACKET_TRACE_UUID or field == PACKET_TRACK_EVENT_RANGE_OF_INTEREST
        or field == PACKET_TRANSLATION_TABLE or field == PACKET_UI_STATE
        or field == PACKET_USER_LIST
    )


# What a descriptor of a thread or a track is to the importer.
cdef enum:
    DESCRIBES_NO_THREAD
    DESCRIBES_THREAD            # legacy timestamps of its sequence count from its reference
    DESCRIBES_LAST              # Perfetto reads no payload of the packet after it


cdef inline int read_descriptor(
    uint32_t field, Span payload, bint has_sequence_id, bint takes_effect, ThreadDescriptor *thread
) noexcept nogil:
    """TokenizeThreadDescriptorPacket, TokenizeTrackDescriptorPacket (track_event_tokenizer.cc).

    takes_effect: the packet has a trace time, and its sequence its incremental state.
    """
    cdef TrackDescriptor track
    cdef ProcessDescriptor process
    if field == PACKET_THREAD_DESCRIPTOR:
        read_thread_descriptor(payload, thread)
        return DESCRIBES_THREAD if takes_effect and has_sequence_id else DESCRIBES_LAST
    read_track_descriptor(payload, &track)
    if not track.has_uuid or <uint32_t>track.child_ordering > 3:
        return DESCRIBES_LAST
    if not is_set(track.thread):
        read_process_descriptor(track.process, &process)
        return (
            DESCRIBES_LAST if is_set(track.process) and not process.has_pid
            else DESCRIBES_NO_THREAD
        )
    read_thread_descriptor(track.thread, thread)
    if not thread.has_pid or not thread.has_tid:
        return DESCRIBES_LAST
    return DESCRIBES_THREAD if takes_effect else DESCRIBES_NO_THREAD


cdef inline bint read_packet(Span s, Packet *p) noexcept nogil:
    """Find the fields that matter; False where the packet cannot be read to its end."""
    cdef TracePacket *message = &p.message
    clear(p, sizeof(Packet) - sizeof(TracePacket))
    p.whole = s
    if not read_trace_packet(s, message):
        return False
    p.clock = message.timestamp_clock_id
    p.cleared = (
        message.incremental_state_cleared
        or message.sequence_flags & FLAG_INCREMENTAL_STATE_CLEARED != 0
    )
    if message.n_data > 1:
        find_inner(p)
    elif is_inner(message.data):
        p.inner_field = message.data
        p.inner = message.payload
    if is_set(message.profile_packet):
        p.after_sorting_field = PACKET_PROFILE_PACKET
        p.after_sorting = message.profile_packet
    elif is_set(message.process_tree):
        p.after_sorting_field = PACKET_PROCESS_TREE
        p.after_sorting = message.process_tree
    if is_set(message.compressed_packets):
        p.codec = CODEC_ZLIB
        p.compressed = message.compressed_packets
    elif is_set(message.zstd_compressed_packets):
        p.codec = CODEC_ZSTD
        p.compressed = message.zstd_compressed_packets
    return True


cdef inline int find_inner(Packet *p) noexcept nogil:
    """Of several payloads Perfetto reads the items of the first such.

    Of AndroidLogPacket and PowerRails it takes the last one.
    """
    cdef Span rest = p.whole
    cdef Field f
    while next_field(&rest, &f):
        if f.wire == BYTES and is_inner(f.number):
            if p.inner_field == 0 or f.number == p.inner_field and (
                f.number == PACKET_ANDROID_LOG or f.number == PACKET_POWER_RAILS
            ):
                p.inner_field = f.number
                p.inner = span_of(&f)
    return 0


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
    return p.message.n_data == 0 and baked_policy(p.message.tracetime_snapshot) != 0
