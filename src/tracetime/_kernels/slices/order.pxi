# The order in which Perfetto's sorter emits events: by time, then by queue.
#
# Follows src/trace_processor/sorter/trace_sorter.cc (SortAndExtractEventsUntilAllocId).

# long: a sort of each queue, then a merge of all
def in_order(const int64_t[::1] ts, const int32_t[::1] queues, int64_t n_queues):
    """The indices of events in the order in which the sorter emits them.

    ts: not negative. queues: of each event, below n_queues; within one, equal times keep the order
    of the events.
    """
    cdef int64_t n = ts.shape[0], i, at, count = 0
    cdef int64_t second
    cdef bint is_sorted = True
    cdef int32_t queue
    if queues.shape[0] != n:
        raise IndexError("each event has a queue")
    for i in range(n):
        if not 0 <= queues[i] < n_queues:
            raise IndexError("queues are numbered from 0")
    for i in range(1, n):
        if ts[i] < ts[i - 1]:
            is_sorted = False
            break
    starts = np.concatenate([[0], np.cumsum(np.bincount(queues, minlength=n_queues))])
    by_queue = np.empty(n, np.int32)
    cdef int64_t[::1] next_of = starts[:-1].astype(np.int64)
    cdef int32_t[::1] grouped = by_queue
    for i in range(n):
        grouped[next_of[queues[i]]] = <int32_t>i
        next_of[queues[i]] += 1
    if not is_sorted:
        times = np.asarray(ts)
        for queue in range(n_queues):
            part = by_queue[starts[queue] : starts[queue + 1]]
            if len(part) > 1:
                part[:] = part[np.argsort(times[part], kind="stable")]
    if np.count_nonzero(np.diff(starts)) <= 1:
        return by_queue
    # The heads of the queues, as a heap by time and number.
    order = np.empty(n, np.int32)
    cdef int32_t[::1] out = order
    cdef int64_t[::1] head = starts[:-1].astype(np.int64)
    cdef int64_t[::1] end = starts[1:].astype(np.int64)
    cdef int32_t[::1] heap = np.flatnonzero(np.diff(starts)).astype(np.int32)
    cdef int64_t size = heap.shape[0]
    with nogil:
        for i in range(size // 2 - 1, -1, -1):
            _sink(heap, size, i, ts, grouped, head)
        while size:
            queue = heap[0]
            # This queue is emitted up to the earliest time in any other queue, that time included.
            second = 0x7FFFFFFFFFFFFFFF
            for i in range(1, min(size, 3)):
                second = min(second, ts[grouped[head[heap[i]]]])
            at = head[queue]
            while at < end[queue] and ts[grouped[at]] <= second:
                out[count] = grouped[at]
                count += 1
                at += 1
            head[queue] = at
            if at == end[queue]:
                size -= 1
                heap[0] = heap[size]
            if size:
                _sink(heap, size, 0, ts, grouped, head)
    return order


cdef inline int _sink(
    int32_t[::1] heap, int64_t size, int64_t at, const int64_t[::1] ts,
    const int32_t[::1] grouped, const int64_t[::1] head
) noexcept nogil:
    """Restore the order of the heap below one entry."""
    cdef int32_t moved = heap[at]
    cdef int64_t child, time = ts[grouped[head[moved]]]
    cdef int64_t other
    while 2 * at + 1 < size:
        child = 2 * at + 1
        other = ts[grouped[head[heap[child]]]]
        if child + 1 < size and (
            ts[grouped[head[heap[child + 1]]]] < other
            or ts[grouped[head[heap[child + 1]]]] == other and heap[child + 1] < heap[child]
        ):
            child += 1
            other = ts[grouped[head[heap[child]]]]
        if other > time or other == time and heap[child] > moved:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved
    return 0


# Lanes: spans that may overlap share out tracks, so that those of one track nest.

cdef enum:
    MOST_LANES = 64             # of a group that are looked at for room


cdef int32_t top_at(
    int32_t *tops, const int32_t[::1] below, const int64_t[::1] ends, int64_t begin, int64_t parent
) noexcept nogil:
    """What is open on a lane at `begin`; a parent is until its end, that included."""
    cdef int32_t top = tops[0]
    while top != NONE and (ends[top] < begin or ends[top] == begin and top != parent):
        top = below[top]
    tops[0] = top
    return top


# long: the room of a span, by its parent or by what holds it
def in_lanes(
    const int64_t[::1] begins, const int64_t[::1] ends, const int32_t[::1] groups,
    const int64_t[::1] parents, bint have_parents
):
    """Nest spans, in order of their begins and of equal ones the longest first.

    ends: not before the begins. groups: from 0; no lane has spans of two. parents: by number, -1
    for none; with `have_parents`, a span is on the lane of its parent where it fits, and on no
    other span; else within the innermost span of the first lane where it fits.

    Returns (lanes, depths, above): int32 of each span; which is directly beneath it on its lane.
    """
    cdef int64_t n = begins.shape[0], i, parent, looked
    cdef int32_t lane, top, group, n_lanes = 0
    if not n == ends.shape[0] == groups.shape[0] == parents.shape[0]:
        raise IndexError("spans need as many values in each column")
    if n > 0x7FFFFFFF:
        raise IndexError("spans are numbered in 32 bits")
    n_groups = int(np.max(groups)) + 1 if n else 0
    for i in range(n):
        if groups[i] < 0 or not NONE <= parents[i] < n:
            raise IndexError("groups are numbered from 0, and parents are spans")
    lanes, depths, above = (np.full(n, NONE, np.int32) for _ in range(3))
    cdef int32_t[::1] lane_of = lanes, depth_of = depths, below = above
    # Of each lane what is on top, and the next one of its group.
    cdef int32_t[::1] tops = np.full(n, NONE, np.int32), following = np.full(n, NONE, np.int32)
    cdef int32_t[::1] first = np.full(n_groups, NONE, np.int32)
    cdef int32_t[::1] last = np.full(n_groups, NONE, np.int32)
    with nogil:
        for i in range(n):
            group, parent = groups[i], parents[i]
            lane = NONE
            if have_parents and parent != NONE and lane_of[parent] != NONE:
                if groups[parent] == group:
                    lane = lane_of[parent]
                    top = top_at(&tops[lane], below, ends, begins[i], parent)
                    if top != parent or ends[top] < ends[i]:
                        lane = NONE
            if lane == NONE:
                lane, looked = first[group], 0
                while lane != NONE and looked < MOST_LANES:
                    top = top_at(&tops[lane], below, ends, begins[i], NONE)
                    if top == NONE or not have_parents and ends[i] <= ends[top]:
                        break
                    lane, looked = following[lane], looked + 1
                if looked == MOST_LANES:
                    lane = NONE
            if lane == NONE:
                lane = n_lanes
                n_lanes += 1
                if first[group] == NONE:
                    first[group] = lane
                else:
                    following[last[group]] = lane
                last[group] = lane
                top = NONE
            lane_of[i] = lane
            below[i] = top
            depth_of[i] = 0 if top == NONE else depth_of[top] + 1
            tops[lane] = <int32_t>i
    return lanes, depths, above
