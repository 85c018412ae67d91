# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What snapshots say of an offset: evidence to the rows of a tube, and over several clocks."""

from libc.math cimport INFINITY, ceil, fabs, floor, log, pow
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

import numpy as np

from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW
from tracetime._kernels.tube cimport (
    HULL, LIMITED, Bar, Line, apart, fixed, int128, join, part, quotient, rise, whole,
)

include "evidence/sweep.pxi"
include "evidence/half_widths.pxi"
include "evidence/smoother.pxi"
include "evidence/virtual_pings.pxi"
include "evidence/runs.pxi"
include "evidence/bars.pxi"
include "evidence/orders.pxi"
include "evidence/closing.pxi"
