from libc.stdint cimport int32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport SliceLog

# Of Android's own extension of TracePacket, protos/third_party/android/frameworks/native/tracing/
# frameworks_native_trace_packet.proto.
cdef enum:
    PACKET_FRAME_TIMELINE_EVENT = 76


cdef int replay_frame(SliceLog log, int32_t number, Span message) except -1 nogil
