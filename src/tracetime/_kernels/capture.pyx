# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Clocks read in turn, and how far apart; bounds of true time from a statement on."""

from libc.math cimport ceil
from libc.stdint cimport INT32_MIN, INT64_MAX, INT64_MIN, int32_t, int64_t
from libc.stdlib cimport free, malloc

import numpy as np

include "capture/sampling.pxi"
include "capture/anchor.pxi"
