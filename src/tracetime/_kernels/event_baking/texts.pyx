# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts by number, and which rows have which: as `slices_table.Strings`."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tracetime._kernels.common.wire cimport Span

cdef enum:
    NONE = -1


cdef class Texts:
    """A column of texts by number.

    codes: int32, -1 for none. ends: int32, where each text ends. text: UTF-8.
    """

    def __init__(self, const int32_t[::1] codes, const int32_t[::1] ends, const uint8_t[::1] text):
        cdef int64_t i, n = ends.shape[0]
        cdef int32_t before = 0
        for i in range(n):
            if ends[i] < before:
                raise IndexError("texts end in their order")
            before = ends[i]
        if before > text.shape[0]:
            raise IndexError("the text is shorter than its texts")
        for i in range(codes.shape[0]):
            if not NONE <= codes[i] < n:
                raise IndexError("there are not so many texts")
        self.codes, self.ends, self.text = codes, ends, text

    cdef Span of(self, int64_t row) noexcept nogil:
        """The text of a row; its data are NULL where it has none."""
        cdef int32_t code = self.codes[row]
        cdef const uint8_t *text = &self.text[0] if self.text.shape[0] else <const uint8_t *>b""
        cdef Span found
        found.data = found.end = NULL
        if code != NONE:
            found.data = text + (self.ends[code - 1] if code else 0)
            found.end = text + self.ends[code]
        return found


cdef class Details:
    """What events are: a row each.

    names, categories: texts. args: objects of JSON, or None.
    """

    def __init__(self, Texts names not None, Texts categories not None, Texts args):
        self.names, self.categories, self.args = names, categories, args
        if names.codes.shape[0] != categories.codes.shape[0]:
            raise IndexError("columns have one length")
        if args is not None and args.codes.shape[0] != names.codes.shape[0]:
            raise IndexError("columns have one length")
