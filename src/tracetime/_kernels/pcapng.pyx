# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Packets of a capture, pcapng or pcap: when each was captured, where, and how long it was."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.json cimport Json, put_signed, put_string, put_unsigned
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, grow
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes

include "pcapng/blocks.pxi"
include "pcapng/packets.pxi"
