# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Clocks of a trace: packet sequences, trace time, other machines, and what is recorded of them."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcmp, memset

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.encode cimport unzigzag
from tracetime._kernels.common.hash_table cimport add_index, free_table, mix, next_match
from tracetime._kernels.common.memory cimport (
    INT64_HIGH, INT64_LOW, grow, saturating_sub, sub_overflows,
)
from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, is_set, load_bytes, load_number, message_of, next_field, nothing,
    read_field, read_varint, span_of,
)
from tracetime._kernels.graph import TooManyClocksError
from tracetime._kernels.graph cimport (
    AS_IS, FAULT_OWN_SYNC, NON_MONOTONIC_SOURCE, OVERFLOW, RESOLVED, Engine, Key, Node, Router,
    convert_one, is_sequence_scoped, parts_of,
)
from tracetime._kernels.perfetto.clock_ids cimport (
    BOOTTIME, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, REALTIME, REALTIME_COARSE, TRACE_FILE,
    machine_key,
)
from tracetime._kernels.perfetto.event_samples cimport Sampled, free_samples, keep_reading
from tracetime._kernels.perfetto.extension cimport (
    MOST_BITS, Extension, WallBound, is_measured, read_extension, read_wall_bound,
)
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.packet cimport Packet, baked_policy

include "clocks/streams.pxi"
include "clocks/clock_tracker.pxi"
include "clocks/remote.pxi"
include "clocks/snapshot_extensions.pxi"
