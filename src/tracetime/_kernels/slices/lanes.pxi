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
