# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Slices of a trace: what makes them is kept in a log, and replayed in order of time."""

import os

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy, memset

import numpy as np

from tracetime._kernels.common.hash_table cimport (
    HashTable, add_index, bytes_of, free_table, mix, next_match,
)
from tracetime._kernels.common.memory cimport grow, saturating_mul
from tracetime._kernels.common.text cimport Bytes, hash_bytes, put_byte, put_bytes, put_text
from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, is_number, is_set, load_bytes, load_number, next_field, nothing,
    read_varint, span_of,
)
from tracetime._kernels.graph cimport AS_IS
from tracetime._kernels.perfetto.called cimport command_line, process_name, thread_name, track_name
from tracetime._kernels.perfetto.ftrace_event cimport FtraceEvent, read_ftrace_event
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.importer cimport (
    KIND_FTRACE_EVENT, KIND_PACKET, KIND_SCHED_SWITCH, KIND_TRACK_EVENT_LEGACY, ImportedPacket,
    PacketObserver, Rows,
)
from tracetime._kernels.perfetto.names cimport (
    LONGEST_NAME, TABLE_CATEGORIES, TABLE_NAMES, Interned, InternedData, Interning, Place,
    RowDetails, Text, put_args,
)
from tracetime._kernels.slices cimport (
    NO_NAME, OPEN, PROCESS_BY_DESCRIPTOR, PROCESS_BY_RENDERER_TYPE, PROCESS_BY_SYSTEM,
    PROCESS_BY_TYPE, THREAD_BY_DESCRIPTOR, THREAD_BY_FTRACE, THREAD_BY_SYSTEM, THREAD_BY_TYPE,
    TRACK_ASYNC, TRACK_ASYNC_OF_PROCESS, TRACK_COUNTER, TRACK_FENCES, TRACK_FRAMES_ACTUAL,
    TRACK_FRAMES_EXPECTED, TRACK_GLOBAL, TRACK_MERGED, TRACK_MERGED_OF_PROCESS,
    TRACK_MERGED_OF_THREAD, TRACK_OF_PROCESS, TRACK_OF_THREAD, TRACK_SEPARATE, TRACK_STATE, UNSET,
    Mark, Memos, Processes, SliceTables, Slices, Strings, TrackKey, TrackKind, Tracks, Writer,
    joined_args, make_slice, read_mark,
)

include "slices/track_tree.pxi"
include "slices/log.pxi"
include "slices/events.pxi"
include "slices/bundles.pxi"
include "slices/frames.pxi"
include "slices/reader.pxi"
include "slices/descriptors.pxi"
include "slices/drivers.pxi"
include "slices/ftrace.pxi"
include "slices/replay.pxi"
