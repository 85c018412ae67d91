# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Slices and flows of Chrome's JSON: kept until all is known, then made in order of time."""

import os

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

import numpy as np

from tracetime._kernels.chrome_json.event cimport (
    DECIMAL, NUMBER, OBJECT, STRING, TIME_KNOWN, TRUE_VALUE, JsonEvent, SystraceLine, Value,
)
from tracetime._kernels.chrome_json.flow_id cimport read_flow_id, read_whole
from tracetime._kernels.chrome_json.reader cimport EventObserver, next_member, same
from tracetime._kernels.chrome_json.skip cimport is_space
from tracetime._kernels.chrome_json.unescape cimport text_of
from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.hash_table cimport mix
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, grow
from tracetime._kernels.common.text cimport Bytes, hash_bytes, is_utf8, put_bytes, put_text
from tracetime._kernels.common.wire cimport Span, is_set, nothing
from tracetime._kernels.slices import in_order
from tracetime._kernels.slices cimport (
    CROSSES, NO_NAME, OPEN, PROCESS_BY_SYSTEM, THREAD_BY_FTRACE, TRACK_ASYNC,
    TRACK_ASYNC_OF_PROCESS, UNSET, Flows, Mark, Memos, SliceTables, Spills, Strings, TrackKey,
    Writer, joined_args, make_slice, read_mark,
)

include "slices/entries.pxi"
include "slices/log.pxi"
include "slices/replay.pxi"
