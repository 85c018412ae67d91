# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A trace, packet by packet: its snapshots, and its events on trace time, as a table."""

from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc

import numpy as np

from tracetime._kernels.common.memory cimport mul_overflows, saturating_add, saturating_mul
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED32, FIXED64, VARINT, Field, Span, is_number, is_set, load_bytes, load_number,
    next_field, read_field, read_varint, span_of,
)
from tracetime._kernels.graph import TooManyClocksError
from tracetime._kernels.graph cimport (
    AS_IS, FIRST_SEQUENCE_CLOCK, OVERFLOW, RESOLVED, SKIPPED_INCREMENTAL_STATE, Key,
    is_sequence_scoped,
)
from tracetime._kernels.perfetto.clock_ids cimport (
    BOOTTIME, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, REALTIME, TRACE_FILE, machine_key,
)
from tracetime._kernels.perfetto.clocks cimport (
    CLIENT, HOST, MAX_CPUS, ClockTracker, ExchangeRounds, Instant, Machine, Reading, RemoteSyncs,
    Round, Sequence, SnapshotExtensions,
)
from tracetime._kernels.perfetto.ftrace_event cimport FtraceEvent, read_ftrace_event
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.packet cimport (
    DESCRIBES_LAST, DESCRIBES_THREAD, FLAG_NEEDS_INCREMENTAL_STATE, Packet, is_inner, is_mark,
    is_taken_silently, read_descriptor, read_packet,
)
from tracetime._kernels.perfetto.sorter cimport note_buffers_read, push

include "importer/rows.pxi"
include "importer/ftrace.pxi"
include "importer/items.pxi"
include "importer/snapshots.pxi"
include "importer/packets.pxi"
