# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Chrome's JSON, read event by event; lines of systrace, too: times, fields, names, rows."""

import os

from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, strtod
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

import numpy as np

from tracetime._kernels.chrome_json.decimal cimport (
    Decimal, is_digit, read_decimal, read_time, scaled,
)
from tracetime._kernels.chrome_json.event cimport (
    ABSENT, ARRAY, DECIMAL, FALSE_VALUE, NO_JSON, NULL_VALUE, NUMBER, OBJECT, STRING, TIME_KNOWN,
    TIME_OVERFLOWS, TIME_UNREADABLE, TRUE_VALUE, JsonEvent, SystraceLine, Time, Value,
)
from tracetime._kernels.chrome_json.keys cimport LONGEST_KEY, plain_key
from tracetime._kernels.chrome_json.skip cimport (
    PADDING, is_space, nested_end, skip_space, string_end,
)
from tracetime._kernels.chrome_json.unescape cimport text_of
from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.columns cimport StepCounts
from tracetime._kernels.common.hash_table cimport add_index, bytes_of, free_table, mix, next_match
from tracetime._kernels.common.json cimport Json, put_json, put_string
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, grow, saturating_add
from tracetime._kernels.common.text cimport (
    hash_bytes, keep_bytes, let_go, put_byte, put_bytes, put_text,
)
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.importer cimport Row, Rows
from tracetime._kernels.perfetto.names cimport (
    HAS_CPU, HAS_PID, HAS_TID, HAS_TRACK, HAS_VALUE, TEXT_CATEGORY, TEXT_NAME, TEXT_PROCESS_NAME,
    TEXT_THREAD_NAME, TEXT_TRACK_NAME, TYPE_COUNTER, Batch, RowDetails, bare, type_of_phase,
)

include "reader/fields.pxi"
include "reader/lines.pxi"
include "reader/scanner.pxi"
include "reader/launches.pxi"
include "reader/known_names.pxi"
include "reader/details.pxi"
