# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Slices of any format: names, threads and processes, tracks, nesting, flows."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset, strlen

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.hash_table cimport add_index, bytes_of, free_table, mix, next_match
from tracetime._kernels.common.memory cimport grow, saturating_add, saturating_sub
from tracetime._kernels.common.text cimport Bytes, hash_bytes, is_utf8, put_bytes, put_text
from tracetime._kernels.common.wire cimport Span, nothing

include "slices/strings.pxi"
include "slices/processes.pxi"
include "slices/tracks.pxi"
include "slices/stacks.pxi"
include "slices/flows.pxi"
include "slices/marks.pxi"
include "slices/order.pxi"
