# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the rows of the events table are: names, categories, types, tracks, threads, arguments."""

import os

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.hash_table cimport (
    add_index, bytes_of, empty_table, free_table, mix, next_match,
)
from tracetime._kernels.common.json cimport (
    ENOUGH, Json, put_bool, put_double, put_json, put_pointer, put_signed, put_string, put_unsigned,
)
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport (
    Bytes, hash_bytes, is_utf8, keep_bytes, let_go, put_byte, put_bytes, put_text,
)
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED64, Field, Span, is_number, is_set, load_bytes, load_number, next_field, nothing,
    read_varint, span_of,
)
from tracetime._kernels.perfetto.called cimport command_line, process_name, thread_name, track_name
from tracetime._kernels.perfetto.ftrace_event cimport FtraceEvent, read_ftrace_event
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.importer cimport (
    KIND_ANDROID_LOG, KIND_ETW_EVENT, KIND_FTRACE_EVENT, KIND_GPU_WORK_PERIOD, KIND_HEAP_DUMP,
    KIND_PROCESS_START, KIND_SCHED_SWITCH, KIND_SCHED_WAKING, ImportedPacket, PacketObserver, Rows,
)

include "names/directory.pxi"
include "names/interning.pxi"
include "names/batch.pxi"
include "names/args.pxi"
include "names/track_events.pxi"
include "names/packets.pxi"
