# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Conversions through a tube, both ways: rows to values."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from tracetime._kernels.common.grid cimport Grid, look_up
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, add_overflows, saturating_add

include "tube/vectors.pxi"
include "tube/rows.pxi"
include "tube/row_inverse.pxi"
include "tube/inverse.pxi"
