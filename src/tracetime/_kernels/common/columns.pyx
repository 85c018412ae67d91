# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Loops over columns of any format: counts, texts, decimals, steps of times, their order."""

from libc.math cimport fabs, rint
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.hash_table cimport HashTable, add_index, free_table, mix, next_match
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport Bytes, put_text

include "columns/counts.pxi"
include "columns/texts.pxi"
include "columns/order.pxi"
