# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The clock graph: its engine, paths and conversions, and Perfetto's rule for arrays."""

import os

from libc.math cimport fabs
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memcmp, memcpy, memset

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.grid cimport Grid, last_not_after, look_up
from tracetime._kernels.common.hash_table cimport add_index, free_table, mix, next_match
from tracetime._kernels.common.memory cimport (
    INT64_HIGH, INT64_LOW, add_overflows, grow, mul_overflows, saturating_sub, sub_overflows,
)

include "graph/engine.pxi"
include "graph/router.pxi"
include "graph/view.pxi"
include "graph/shared_snapshots.pxi"
include "graph/floor.pxi"
