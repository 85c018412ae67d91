# The arrows between slices, as fields of these.

cdef class Arrows:
    """The arrows between the slices of a trace, by number; each has a flow of its own.

    first: the flow of the first. named: uint8, of which the names and categories say what the flow
    is called; the others have neither.

    Attributes:
        written: how many have both ends in packets, the later one last.
    """

    cdef readonly int64_t written
    cdef uint64_t first
    cdef const uint8_t[::1] named
    cdef Texts names, categories
    cdef int64_t[::1] begun     # when it begins; INT64_HIGH: not yet

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

    cdef Arrows arrows
    cdef const int64_t[::1] ends, numbers, ending_ends, ending_numbers

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


# Slices that end although one lies in them that does not.

cdef enum:
    OPEN = -1                   # the duration of a slice that does not end


def open_inside(
    const int64_t[::1] ts, const int64_t[::1] dur, const int64_t[::1] parent,
    const int32_t[::1] name, const int32_t[::1] category,
):
    """Find out which slices end although one lies in them that does not.

    The end of such a slice says which it ends, by name and category. Where that would be the inner
    one, this ends with it, as trace_processor has it once anything follows on the track.

    parent: of the same track, before the slice; -1: none. name, category: numbers of texts, -1: none.

    Returns durations, int64, and whether each slice is such a one, uint8.
    """
    cdef int64_t n = ts.shape[0], row, above, outer
    if not n == dur.shape[0] == parent.shape[0] == name.shape[0] == category.shape[0]:
        raise IndexError("columns have one length")
    lasting, holding = np.array(dur), np.zeros(n, np.uint8)
    cdef int64_t[::1] lasts = lasting, ended_above = np.full(n, NONE)
    cdef uint8_t[::1] holds_open = holding
    for row in range(n):
        if not NONE <= parent[row] < row:
            raise IndexError("parents come first")
    with nogil:
        for row in range(n):
            outer = parent[row]
            if lasts[row] != OPEN or outer == NONE:
                continue
            if lasts[outer] == OPEN:
                outer = ended_above[outer]
            ended_above[row] = above = outer
            while above != NONE:
                holds_open[above] = lasts[above] != OPEN
                if holds_open[above] and may_end(name, category, above, row):
                    lasts[row] = ts[outer] + lasts[outer] - ts[row]
                    break
                above = parent[above]
    return lasting, holding


cdef inline bint may_end(
    const int32_t[::1] name, const int32_t[::1] category, int64_t outer, int64_t inner
) noexcept nogil:
    """Whether an end that says the outer may be the inner's (MatchingIncompleteSliceIndex)."""
    if name[outer] != NONE and name[inner] != NONE and name[outer] != name[inner]:
        return False
    return category[outer] == NONE or category[outer] == category[inner]
