# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Packets of a trace, written anew on trace time; those of several traces in one."""

from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from tracetime._kernels.common.encode cimport (
    LONGEST_TAG, LONGEST_VARINT, WIRE_BYTES, put_fixed, put_tag, put_varint,
)
from tracetime._kernels.common.hash_table cimport (
    HashTable, add_index, empty_table, free_table, mix, next_match,
)
from tracetime._kernels.common.memory cimport grow, saturating_add, saturating_mul, saturating_sub
from tracetime._kernels.common.text cimport Bytes, put_bytes
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED64, Field, Span, is_number, is_set, load_bytes, load_number, next_field, nothing,
    read_varint, span_of,
)
from tracetime._kernels.graph cimport (
    AS_IS, FIRST_SEQUENCE_CLOCK, RESOLVED, SKIPPED_INCREMENTAL_STATE,
)
from tracetime._kernels.perfetto.clock_ids cimport (
    BOOTTIME, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, REALTIME, TRACE_FILE,
)
from tracetime._kernels.perfetto.clocks cimport MAX_CPUS
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.importer cimport (
    KIND_ANDROID_LOG, KIND_ETW_EVENT, KIND_FTRACE_EVENT, KIND_GPU_WORK_PERIOD, KIND_HEAP_DUMP,
    KIND_PACKET, KIND_POWER_RAIL, KIND_PROCESS_START, KIND_SCHED_SWITCH, KIND_SCHED_WAKING,
    KIND_STACK_SAMPLE, KIND_STATSD_ATOM, KIND_TRACK_EVENT_LEGACY, ImportedPacket, PacketObserver,
    Row, Rows,
)
from tracetime._kernels.perfetto.packet cimport (
    DESCRIBES_LAST, DESCRIBES_THREAD, FLAG_INCREMENTAL_STATE_CLEARED, FLAG_NEEDS_INCREMENTAL_STATE,
    Packet, baked_policy, is_inner, is_mark, is_taken_silently, read_descriptor, read_packet,
)
from tracetime._kernels.perfetto.rewriting cimport (
    SET_ASIDE, put_between, put_content, put_span, put_unchanged, put_value, put_with_number,
)

include "bake/clocks.pxi"
include "bake/bundle.pxi"
include "bake/items.pxi"
include "bake/ftrace_buffers.pxi"
include "bake/packets.pxi"
include "bake/numbers.pxi"
include "bake/renumber.pxi"
