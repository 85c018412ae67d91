# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The arrows between slices, as fields of these."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.encode cimport LONGEST_TAG, put_fixed
from tracetime._kernels.common.memory cimport INT64_HIGH
from tracetime._kernels.common.text cimport Bytes, put_bytes
from tracetime._kernels.event_baking.texts cimport Texts
from tracetime._kernels.perfetto.fields cimport (
    TRACK_EVENT_FLOW_IDS, TRACK_EVENT_TERMINATING_FLOW_IDS,
)


cdef class Arrows:
    """The arrows between the slices of a trace, by number; each has a flow of its own.

    first: the flow of the first. named: uint8, of which the names and categories say what the flow
    is called; the others have neither.

    Attributes:
        written: how many have both ends in packets, the later one last.
    """

    def __init__(
        self, uint64_t first, const uint8_t[::1] named, Texts names not None,
        Texts categories not None,
    ):
        cdef int64_t n = named.shape[0]
        if n != names.codes.shape[0] or n != categories.codes.shape[0]:
            raise IndexError("columns have one length")
        self.first, self.named, self.names, self.categories = first, named, names, categories
        self.begun = np.full(n, INT64_HIGH)


cdef class Flows:
    """The arrows of some slices: those of row i are numbers[ends[i - 1]:ends[i]].

    begins: (ends, numbers), of arrows from them; endings: of those to them.
    """

    def __init__(self, Arrows arrows not None, begins, endings):
        self.arrows = arrows
        self.ends, self.numbers = begins
        self.ending_ends, self.ending_numbers = endings
        check_ends(self.ends, self.numbers.shape[0])
        check_ends(self.ending_ends, self.ending_numbers.shape[0])
        check_numbers(self.numbers, arrows.named.shape[0])
        check_numbers(self.ending_numbers, arrows.named.shape[0])


    cdef int put(self, int64_t row, int64_t ns, Bytes *slice) except -1 nogil:
        """Add those without a name to a slice that begins at ns; of all, note where they begin.

        An arrow ends only where it has begun before: Perfetto has none that go back in time.
        """
        cdef int64_t i, one
        for i in range(self.ends[row - 1] if row else 0, self.ends[row]):
            one = self.numbers[i]
            self.arrows.begun[one] = ns
            self.put_id(TRACK_EVENT_FLOW_IDS, one, slice)
        for i in range(self.ending_ends[row - 1] if row else 0, self.ending_ends[row]):
            one = self.ending_numbers[i]
            if self.arrows.begun[one] <= ns:
                self.arrows.written += 1
                self.put_id(TRACK_EVENT_TERMINATING_FLOW_IDS, one, slice)
        return 0

    cdef int put_id(self, uint32_t field, int64_t one, Bytes *slice) except -1 nogil:
        cdef uint8_t scratch[LONGEST_TAG + 8]
        cdef uint8_t *end
        if self.arrows.named[one]:
            return 0
        end = put_fixed(scratch, field, self.arrows.first + <uint64_t>one)
        return put_bytes(slice, scratch, end - scratch)

cdef int check_numbers(const int64_t[::1] numbers, int64_t n) except -1:
    cdef int64_t i
    for i in range(numbers.shape[0]):
        if not 0 <= numbers[i] < n:
            raise IndexError("there are not so many arrows")
    return 0


cdef int check_ends(const int64_t[::1] ends, int64_t n) except -1:
    cdef int64_t i, before = 0
    for i in range(ends.shape[0]):
        if ends[i] < before:
            raise IndexError("flows end in their order")
        before = ends[i]
    if before > n:
        raise IndexError("there are not so many flows")
    return 0
