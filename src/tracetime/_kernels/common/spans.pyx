# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Text at places of foreign bytes, as a column."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.text cimport Bytes, put_text


def texts(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends, int64_t longest
):
    """Copy texts, as valid UTF-8: other bytes become U+FFFD.

    Args:
        data: what holds them.
        starts, ends: where each begins and ends; nothing is copied of one that begins at -1.
        longest: how many bytes of each are kept; an ellipsis replaces the rest.

    Returns:
        int32: where each text ends in the second; uint8: the texts, one after another.
    """
    cdef Bytes out
    cdef int64_t i, n = starts.shape[0]
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    where = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] placed = where
    if ends.shape[0] != n:
        raise ValueError("each text has a start and an end")
    for i in range(n):
        if starts[i] != -1 and not 0 <= starts[i] <= ends[i] <= data.shape[0]:
            raise IndexError("a text is outside the data")
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            for i in range(n):
                if starts[i] >= 0:
                    put_text(&out, first + starts[i], ends[i] - starts[i], longest)
                    if out.n > 0x7fffffff:
                        with gil:
                            raise OverflowError("the texts are too long for one column")
                placed[i] = <int32_t>out.n
        return where, copied(np.empty(out.n, dtype=np.uint8), out.data)
    finally:
        free(out.data)
