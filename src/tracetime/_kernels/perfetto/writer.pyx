# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Events of a recording: calls to bytes, a million a second, without an object for any."""

import sys
from contextvars import ContextVar
from weakref import ref

from cpython.bool cimport PyBool_Check
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.contextvars cimport get_value
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.number cimport PyIndex_Check, PyNumber_Index
from cpython.ref cimport PyObject
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove

from tracetime._kernels.common.encode cimport (
    WIRE_BYTES, put_double, put_fixed, put_number, put_tag, put_varint, size_of_varint,
)
from tracetime._kernels.common.memory cimport add_overflows, grow
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes
from tracetime._kernels.perfetto.messages cimport (
    DEBUG_ARRAY_VALUES, DEBUG_BOOL_VALUE, DEBUG_DICT_ENTRIES, DEBUG_DOUBLE_VALUE,
    DEBUG_INT_VALUE, DEBUG_NAME_IID, DEBUG_NESTED_VALUE, DEBUG_STRING_VALUE,
    DEBUG_STRING_VALUE_IID, DEBUG_UINT_VALUE, INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
    INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, INTERNED_DATA_EVENT_CATEGORIES,
    INTERNED_DATA_EVENT_NAMES, INTERNED_STRING_IID, INTERNED_STRING_STR, NESTED_NESTED_TYPE,
    PACKET_INTERNED_DATA, PACKET_MACHINE_ID, PACKET_SEQUENCE_FLAGS, PACKET_TIMESTAMP,
    PACKET_TIMESTAMP_CLOCK_ID, PACKET_TRACK_EVENT, PACKET_TRUSTED_PACKET_SEQUENCE_ID,
    TRACE_PACKET, TRACK_EVENT_CATEGORY_IIDS, TRACK_EVENT_COUNTER_VALUE,
    TRACK_EVENT_DEBUG_ANNOTATIONS, TRACK_EVENT_DOUBLE_COUNTER_VALUE, TRACK_EVENT_FLOW_IDS,
    TRACK_EVENT_NAME_IID, TRACK_EVENT_TERMINATING_FLOW_IDS, TRACK_EVENT_TRACK_UUID,
    TRACK_EVENT_TYPE,
)
from tracetime._kernels.perfetto.packets import state_packet

include "writer/packet_buffer.pxi"
include "writer/annotations.pxi"
include "writer/event_clock.pxi"
include "writer/packets.pxi"
include "writer/events.pxi"
