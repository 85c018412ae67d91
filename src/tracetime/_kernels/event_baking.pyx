# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Packets of track events from columns: what a trace that is not Perfetto's becomes."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, strtod
from libc.string cimport memset

import numpy as np

from tracetime._kernels.chrome_json.decimal cimport Decimal, read_decimal, scaled
from tracetime._kernels.chrome_json.event cimport (
    ARRAY, DECIMAL, FALSE_VALUE, NULL_VALUE, NUMBER, OBJECT, STRING, TRUE_VALUE, Value,
)
from tracetime._kernels.chrome_json.reader cimport next_member, read_value
from tracetime._kernels.chrome_json.skip cimport PADDING, skip_space
from tracetime._kernels.chrome_json.unescape cimport put_unescaped, text_of
from tracetime._kernels.common.encode cimport (
    LONGEST_TAG, LONGEST_VARINT, WIRE_BYTES, put_double, put_fixed, put_number, put_tag, put_varint,
)
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, grow, saturating_add
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.messages cimport *
from tracetime._kernels.perfetto.packets cimport SIBLING_MERGE_BEHAVIOR_NONE

include "event_baking/texts.pxi"
include "event_baking/flows.pxi"
include "event_baking/packets.pxi"
include "event_baking/series.pxi"
