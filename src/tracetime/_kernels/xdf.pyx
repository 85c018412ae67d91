# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""XDF: the chunks of a file, and the samples in them; medians of values in windows."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from tracetime._kernels.common.memory cimport grow

# Numbers are little-endian, and so are the machines that this runs on.

cdef enum:
    STREAM_HEADER = 2
    SAMPLES = 3
    CLOCK_OFFSET = 4
    STREAM_FOOTER = 6
    LAST_TAG = 6
    LONGEST_HEAD = 15       # the length of a chunk, its tag and its stream
    SHORTEST_CHUNK = 4
    N_COLUMNS = 5           # of a chunk: where it begins, tag, stream, content, end

# What is wrong; formats/xdf/chunks.py and samples.py have the words.
cdef enum:
    NO_CHUNK = 1
    CUT_OFF = 2
    TOO_MANY = 3
    NOT_FILLED = 4
    NO_TIME = 5


cdef inline int varlen(const uint8_t *p, int64_t n, uint64_t *value) noexcept nogil:
    """How many bytes a number of variable length takes; 0 where there is none."""
    cdef int width = p[0] if n > 0 else 0
    if (width != 1 and width != 4 and width != 8) or n < 1 + width:
        return 0
    value[0] = 0
    memcpy(value, p + 1, width)
    return 1 + width


def chunks(const uint8_t[::1] data not None, int64_t size):
    """Walk over the chunks that begin in some bytes of a file.

    Args:
        data: the bytes; the head of a chunk that is not whole in them is left to the next ones.
        size: how many bytes the file has from the first of them on.

    Returns:
        (int64[n, 5]: where each chunk begins, its tag, its stream, or -1, where its content begins
        and where it ends; where the next one does; 0, or what is wrong with that; its bytes).
    """
    cdef int64_t at = 0, n = 0, left, length_n, least
    cdef uint64_t length = 0
    cdef uint8_t head[LONGEST_HEAD]
    cdef int fault = 0, tag = 0, k
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    found = np.empty((data.shape[0] // SHORTEST_CHUNK + 1, N_COLUMNS), dtype=np.int64)
    cdef int64_t[:, ::1] rows = found
    while at < size:
        left = max(0, min(data.shape[0] - at, LONGEST_HEAD))
        if left < min(LONGEST_HEAD, size - at) and n:
            break
        for k in range(LONGEST_HEAD):
            head[k] = first[at + k] if k < left else 0
        length_n = varlen(head, left, &length)
        tag = head[length_n] | head[length_n + 1] << 8
        least = 6 if tag in (STREAM_HEADER, SAMPLES, CLOCK_OFFSET, STREAM_FOOTER) else 2
        if not length_n or length < <uint64_t>least or not 1 <= tag <= LAST_TAG:
            fault = NO_CHUNK
            break
        if length > <uint64_t>max(0, size - at - length_n):
            fault = CUT_OFF
            break
        rows[n, 0], rows[n, 1], rows[n, 2] = at, tag, -1
        if least == 6:
            rows[n, 2] = 0
            memcpy(&rows[n, 2], head + length_n + 2, 4)
        rows[n, 3] = at + length_n + least
        at += length_n + <int64_t>length
        rows[n, 4] = at
        n += 1
    return found[:n], at, fault, length_n + <object>length if fault == CUT_OFF else 0


cdef struct Stream:
    int64_t channels
    int64_t value_bytes     # of a sample; 0 of text
    double step_s
    double last_s


cdef class SampleReader:
    """Reads chunks of samples, in the order of the file.

    Args:
        most_s: a timestamp is less, and more than -most_s.
    """

    cdef Stream *streams
    cdef int64_t n, capacity
    cdef double most_s

    def __cinit__(self, double most_s):
        self.most_s = most_s

    def __dealloc__(self):
        free(self.streams)

    def __len__(self):
        return self.n

    def add_stream(self, int64_t channels, int64_t channel_bytes, double step_s):
        """Add the next stream.

        Args:
            channels: of each sample, 1 to 2^20.
            channel_bytes: of one value, up to 8; 0 of text.
            step_s: from one timestamp to the next, where that is left out.
        """
        if not (1 <= channels <= 1 << 20 and 0 <= channel_bytes <= 8):
            raise ValueError("no samples are like that")
        grow(<void **>&self.streams, &self.capacity, self.n + 1, sizeof(Stream))
        self.streams[self.n] = Stream(channels, channels * channel_bytes, step_s, 0.0)
        self.n += 1

    def read(
        self,
        const uint8_t[::1] data not None,
        const int64_t[::1] streams not None,
        const int64_t[::1] begins not None,
        const int64_t[::1] ends not None,
    ):
        """Read the samples of some chunks.

        Args:
            data: what holds the contents of the chunks.
            streams: the stream of each, in the order in which they were added.
            begins, ends: where in data each begins and ends.

        Returns:
            (int64[m], how many samples each chunk has; float64[n], their timestamps; int64[n],
            where in data the values of each begin; 0, or what is wrong with chunk m).
        """
        cdef int64_t k, i, total = 0, n_chunks = streams.shape[0]
        cdef int fault = 0
        if begins.shape[0] != n_chunks or ends.shape[0] != n_chunks:
            raise ValueError("each chunk has a stream, a beginning and an end")
        counts = np.empty(n_chunks, dtype=np.int64)
        cdef int64_t[::1] count = counts
        for k in range(n_chunks):
            if not 0 <= begins[k] <= ends[k] <= data.shape[0] or not 0 <= streams[k] < self.n:
                raise IndexError("a chunk is outside the data, or of no stream")
            count[k] = self.count(data, streams[k], begins[k], ends[k])
            if count[k] < 0:
                fault, n_chunks = TOO_MANY, k
                break
            total += count[k]
        seconds, places = np.empty(total, dtype=np.float64), np.empty(total, dtype=np.int64)
        cdef double[::1] second = seconds
        cdef int64_t[::1] place = places
        total = 0
        for k in range(n_chunks):
            if not count[k]:
                continue
            i = self.take(
                data, streams[k], begins[k], ends[k], &second[total], &place[total], count[k]
            )
            if i:
                fault, n_chunks = <int>i, k
                break
            total += count[k]
        return counts[:n_chunks], seconds[:total], places[:total], fault

    cdef int64_t count(
        self, const uint8_t[::1] data, int64_t stream, int64_t begin, int64_t end
    ) noexcept:
        """How many samples a chunk says it has; -1 where it cannot hold them."""
        cdef Stream *of = &self.streams[stream]
        cdef int64_t least = 1 + (of.value_bytes if of.value_bytes else 2 * of.channels)
        cdef uint64_t n = 0
        cdef int length = varlen(&data[begin], end - begin, &n) if begin < end else 0
        if not length or n > <uint64_t>((end - begin - length) // least):
            return -1
        return <int64_t>n

    cdef int take(
        self, const uint8_t[::1] data, int64_t stream, int64_t begin, int64_t end,
        double *seconds, int64_t *places, int64_t n,
    ) noexcept:
        """Read the samples of a chunk; 0, or what is wrong with it."""
        cdef Stream *of = &self.streams[stream]
        cdef const uint8_t *first = &data[0]
        cdef int64_t at = begin, i
        cdef uint64_t unused
        cdef double last_s = of.last_s
        at += varlen(first + at, end - at, &unused)
        for i in range(n):
            if at >= end or (first[at] and end - at < 9):
                return NOT_FILLED
            if first[at]:
                memcpy(&last_s, first + at + 1, 8)
                at += 9
            else:
                last_s += of.step_s
                at += 1
            # Not one of NaN, either.
            if not fabs(last_s) < self.most_s:
                return NO_TIME
            seconds[i], places[i] = last_s, at
            at = after_values(first, at, end, of)
            if at < 0:
                return NOT_FILLED
        if at != end:
            return NOT_FILLED
        of.last_s = last_s
        return 0


cdef inline int64_t after_values(
    const uint8_t *first, int64_t at, int64_t end, const Stream *of
) noexcept nogil:
    """Where the values of a sample end; -1 where they are not whole."""
    cdef int64_t k
    cdef uint64_t n = 0
    cdef int length
    if of.value_bytes:
        return at + of.value_bytes if of.value_bytes <= end - at else -1
    for k in range(of.channels):
        length = varlen(first + at, end - at, &n)
        if not length or n > <uint64_t>(end - at - length):
            return -1
        at += length + <int64_t>n
    return at


def text_places(
    const uint8_t[::1] data not None, const int64_t[::1] places not None, int64_t channels
):
    """Where in data the texts of samples begin and end: int64[n, channels, 2].

    Args:
        places: where the first of each sample begins, as `SampleReader.read` returns it.
        channels: how many texts of each.
    """
    cdef int64_t k, channel, at
    cdef uint64_t n = 0
    cdef int length
    found = np.empty((places.shape[0], channels, 2), dtype=np.int64)
    cdef int64_t[:, :, ::1] rows = found
    for k in range(places.shape[0]):
        at = places[k]
        for channel in range(channels):
            if not 0 <= at < data.shape[0]:
                raise IndexError("a text is outside the data")
            length = varlen(&data[at], data.shape[0] - at, &n)
            if not length or n > <uint64_t>(data.shape[0] - at - length):
                raise IndexError("a text is outside the data")
            rows[k, channel, 0] = at + length
            at += length + <int64_t>n
            rows[k, channel, 1] = at
    return found


def window_medians(
    const double[::1] values not None,
    const int64_t[::1] begins not None,
    const int64_t[::1] ends not None,
):
    """The median of the values in each of some windows: float64[m]; NaN of an empty one.

    Args:
        values: float64[n], no NaN.
        begins, ends: int64[m], of each window; both ascend.
    """
    cdef int64_t n = values.shape[0], m = begins.shape[0], begin = 0, end = 0, k, first, last
    order = np.argsort(values, kind="stable")
    ranks = np.empty(n, dtype=np.int64)
    ranks[order] = np.arange(1, n + 1)
    medians, counts = np.full(m, np.nan), np.zeros(n + 1, dtype=np.int32)
    cdef const int64_t[::1] rank = ranks, by_rank = order
    cdef double[::1] found = medians
    cdef int32_t[::1] tree = counts         # of Fenwick: how many of the window have which ranks
    for k in range(m):
        first, last = begins[k], ends[k]
        if not begin <= first <= n or not end <= last <= n:
            raise ValueError("windows ascend, and lie within the values")
        while end < last:
            add_to(tree, rank[end], 1)
            end += 1
        while begin < first and begin < end:
            add_to(tree, rank[begin], -1)
            begin += 1
        if first < last:
            found[k] = (
                values[by_rank[nth_in(tree, (last - first - 1) // 2)]]
                + values[by_rank[nth_in(tree, (last - first) // 2)]]
            ) / 2
    return medians


cdef inline void add_to(int32_t[::1] tree, int64_t at, int32_t by) noexcept nogil:
    while at < tree.shape[0]:
        tree[at] += by
        at += at & -at


cdef inline int64_t nth_in(const int32_t[::1] tree, int64_t n) noexcept nogil:
    """The rank, from 0, of the value that n of the window are below."""
    cdef int64_t at = 0, step = 1
    while 2 * step < tree.shape[0]:
        step *= 2
    while step:
        if at + step < tree.shape[0] and tree[at + step] <= n:
            at += step
            n -= tree[at]
        step //= 2
    return at
