# Counts of values below, at and between marks.

def count_between(
    const int64_t[::1] marks, const int64_t[::1] starts, const int64_t[::1] which,
    const int64_t[::1] values, int64_t[::1] counts
):
    """Add to the counts of values, each among the marks of one of several lists.

    Args:
        marks: of all lists, ascending and each once within a list.
        starts: where each list begins, and where the last one ends.
        which: the list of each value.
        values: as many.
        counts: of each list 2 n + 1 for its n marks: below the first, at it, between it and the
            second, and so on; list by list.
    """
    cdef int64_t n_lists = starts.shape[0] - 1
    cdef int64_t i, k
    if n_lists < 0 or which.shape[0] != values.shape[0]:
        raise ValueError("each value is of one list")
    for i in range(n_lists):
        if not 0 <= starts[i] <= starts[i + 1]:
            raise ValueError("lists follow on each other")
    if starts[n_lists] > marks.shape[0] or counts.shape[0] != 2 * starts[n_lists] + n_lists:
        raise ValueError("each list has its marks and counts")
    for i in range(which.shape[0]):
        if not 0 <= which[i] < n_lists:
            raise IndexError("no such list")
    with nogil:
        for i in range(which.shape[0]):
            k = which[i]
            counts[2 * starts[k] + k + _bin(marks, starts[k], starts[k + 1], values[i])] += 1


def sum_within(const int64_t[::1] marks, const int64_t[::1] counts, const int64_t[:, ::1] spans):
    """Return how many values of a list are within any of some spans, their ends included.

    Args:
        marks: ascending and each once.
        counts: as `count_between` makes them, of this list.
        spans: (n, 2), the least and the greatest value of each; those that hold none are left out.
    """
    cdef int64_t i, low, high, covered = 0, total = 0
    if counts.shape[0] != 2 * marks.shape[0] + 1 or spans.shape[1] != 2:
        raise ValueError("a list has its counts, and a span two ends")
    # How many spans begin at a bin, less those that end before it.
    cdef int64_t[::1] changes = np.zeros(counts.shape[0] + 1, dtype=np.int64)
    with nogil:
        for i in range(spans.shape[0]):
            low, high = spans[i, 0], spans[i, 1]
            if low <= high:
                changes[_bin(marks, 0, marks.shape[0], low)] += 1
                changes[_bin(marks, 0, marks.shape[0], high) + 1] -= 1
        for i in range(counts.shape[0]):
            covered += changes[i]
            if covered:
                total += counts[i]
    return total


cdef inline int64_t _bin(
    const int64_t[::1] marks, int64_t start, int64_t end, int64_t value
) noexcept nogil:
    """0 below the first mark from `start` on, 1 at it, 2 between it and the second, and so on."""
    cdef int64_t low = start, high = end, middle
    while low < high:
        middle = (low + high) >> 1
        if marks[middle] < value:
            low = middle + 1
        else:
            high = middle
    return 2 * (low - start) + (low < end and marks[low] == value)


# Counts of values below others, for every value at once, by merging sorted columns.

cdef int check_order(const int64_t[::1] values, const int64_t[::1] order) except -1:
    """Refuse rows that do not exist, or whose values do not ascend."""
    cdef int64_t i
    for i in range(order.shape[0]):
        if not 0 <= order[i] < values.shape[0]:
            raise IndexError("no such row")
        if i and values[order[i - 1]] > values[order[i]]:
            raise ValueError("the order of rows is that of their values")
    return 0


def count_others(
    const int64_t[::1] points, const int64_t[::1] by_point,
    const int64_t[::1] queries, const int64_t[::1] by_query,
    const int64_t[::1] groups, bint strict
):
    """For each row, how many points of other groups are below its query.

    Args:
        points, queries: of each row.
        by_point, by_query: the rows that count, in order of these; others count 0.
        groups: of each row, from 0; memory grows with the largest.
        strict: whether a point at a query is not below it.
    """
    cdef int64_t n = points.shape[0], i, row, at = 0
    if not n == queries.shape[0] == groups.shape[0]:
        raise ValueError("each row has a point, a query and a group")
    check_order(points, by_point)
    check_order(queries, by_query)
    cdef int64_t last = -1
    for i in range(n):
        if groups[i] < 0:
            raise IndexError("groups are numbered from 0")
        last = max(last, groups[i])
    counts = np.zeros(n, np.int64)
    cdef int64_t[::1] found = counts
    cdef int64_t[::1] within = np.zeros(last + 1, np.int64)
    with nogil:
        for i in range(by_query.shape[0]):
            row = by_query[i]
            while at < by_point.shape[0] and (
                points[by_point[at]] < queries[row]
                or not strict and points[by_point[at]] == queries[row]
            ):
                within[groups[by_point[at]]] += 1
                at += 1
            found[row] = at - within[groups[row]]
    return counts


def count_crossing(
    const int64_t[::1] begins, const int64_t[::1] by_begin,
    const int64_t[::1] ends, const int64_t[::1] by_end
):
    """For each row i, how many rows j have ends[j] <= begins[i] and ends[i] <= begins[j].

    Args:
        begins, ends: of each row.
        by_begin, by_end: all rows in order of these.
    """
    cdef int64_t n = begins.shape[0], i, row, at = 0, block
    if not n == ends.shape[0] == by_begin.shape[0] == by_end.shape[0]:
        raise ValueError("each row has a begin, an end, and a place in both orders")
    check_order(begins, by_begin)
    check_order(ends, by_end)
    counts = np.zeros(n, np.int64)
    cdef int64_t[::1] found = counts
    # Of each row: its place in by_begin, and how many begins are below its end.
    cdef int64_t[::1] place = np.zeros(n, np.int64)
    cdef int64_t[::1] below = np.zeros(n, np.int64)
    # A Fenwick tree over the places: how many rows have ended so far in each block.
    cdef int64_t[::1] tree = np.zeros(n + 1, np.int64)
    with nogil:
        for i in range(n):
            row = by_end[i]
            while at < n and begins[by_begin[at]] < ends[row]:
                at += 1
            below[row] = at
            place[by_begin[i]] = i
        at = 0
        for i in range(n):
            row = by_begin[i]
            while at < n and ends[by_end[at]] <= begins[row]:
                block = place[by_end[at]] + 1
                while block <= n:
                    tree[block] += 1
                    block += block & -block
                at += 1
            found[row] = at
            block = below[row]
            while block:
                found[row] -= tree[block]
                block &= block - 1
    return counts
