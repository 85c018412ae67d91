# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is looked for in packets: wakings, snapshots as they are written, flows, what is carried."""

import os

from libc.math cimport rint
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from tracetime._kernels.common.hash_table cimport (
    HashTable, add_index, empty_table, free_table, mix, next_match,
)
from tracetime._kernels.common.memory cimport INT64_LOW, grow, saturating_sub
from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, is_number, is_set, load_bytes, load_number, next_field, nothing,
    read_varint, span_of,
)
from tracetime._kernels.graph cimport AS_IS, RESOLVED, is_sequence_scoped
from tracetime._kernels.perfetto.clocks cimport MAX_CPUS
from tracetime._kernels.perfetto.ftrace_event cimport FtraceEvent, read_ftrace_event
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.importer cimport (
    KIND_FTRACE_EVENT, KIND_PACKET, KIND_SCHED_SWITCH, KIND_SCHED_WAKING, KIND_TRACK_EVENT_LEGACY,
    ImportedPacket, PacketObserver, Rows,
)
from tracetime._kernels.perfetto.packet cimport digest_of

include "checks/sched_events.pxi"
include "checks/late_wakings.pxi"
include "checks/flow_log.pxi"
include "checks/snapshot_log.pxi"
include "checks/carried_log.pxi"
