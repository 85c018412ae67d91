# Estimates of the events of packet sequences, moved forward so that they keep the file's order.

# How far the events of a packet sequence have come.
cdef struct Reached:
    uint64_t key            # machine and packet sequence
    int64_t floor           # the latest time by floor
    int64_t estimate        # of those in order


cdef class Sequences:
    """How far each packet sequence has come. seed: of hashes; random.

    Attributes:
        kept, reversed: see `verbs.event_baking.tube_times.KeptOrder`.
    """

    cdef readonly int64_t kept, reversed
    cdef uint64_t seed
    cdef HashTable table
    cdef Reached *reached
    cdef int64_t n, capacity

    def __cinit__(self, uint64_t seed):
        self.seed = seed

    def __dealloc__(self):
        free_table(&self.table)
        free(self.reached)

    cdef Reached *of(self, uint64_t key) except NULL nogil:
        cdef uint64_t hash = mix(self.seed ^ key), slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot)
        while i >= 0 and self.reached[i].key != key:
            i = next_match(&self.table, hash, &slot)
        if i < 0:
            grow(<void **>&self.reached, &self.capacity, self.n + 1, sizeof(Reached))
            i = self.n
            self.reached[i].key = key
            self.reached[i].floor = self.reached[i].estimate = INT64_MIN
            add_index(&self.table, hash, i)
            self.n += 1
        return &self.reached[i]

    def keep(
        self, const uint8_t[::1] which, const uint32_t[::1] machine, const uint32_t[::1] sequence,
        const int64_t[::1] floor, const int64_t[::1] latest, int64_t[::1] estimate
    ):
        """Move estimates of the rows of `which`, in file order.

        which: uint8, 1 for rows that count; machine, sequence: uint32, of their packets; floor,
        latest, estimate: int64 ns. All of one length.
        """
        cdef int64_t i, n = which.shape[0]
        cdef Reached *here = NULL
        cdef uint64_t key
        if not (
            n == machine.shape[0] == sequence.shape[0] == floor.shape[0] == latest.shape[0]
            == estimate.shape[0]
        ):
            raise ValueError("columns of one length")
        with nogil:
            for i in range(n):
                if not which[i]:
                    continue
                key = <uint64_t>machine[i] << 32 | sequence[i]
                if here == NULL or here.key != key:
                    here = self.of(key)
                if floor[i] < here.floor:
                    continue
                here.floor = floor[i]
                if estimate[i] >= here.estimate:
                    here.estimate = estimate[i]
                elif here.estimate <= latest[i]:
                    estimate[i] = here.estimate
                    self.kept += 1
                else:
                    self.reversed += 1


# Times counted by the powers of 2 and 5 that divide them, and margins by the same.

cdef class StepCounts:
    """How many times each power of 2 and 5 divides; 0 and repetitions are passed over.

    Attributes:
        n_wall: how many are of 61 bits, as wall times in ns are from 2006 to 2043.
        n_double_s, n_double_ms: how many of these a double of s, or of ms, can be, within 2 ns.
    """

    def add(self, const int64_t[:] values not None, const uint8_t[:] missing=None):
        """Count times, ns; missing: of each, whether it is none."""
        cdef int64_t i
        if missing is not None and missing.shape[0] != values.shape[0]:
            raise ValueError("as many flags as times")
        with nogil:
            for i in range(values.shape[0]):
                if missing is None or not missing[i]:
                    self.note(values[i])

    def cells(self):
        """Return counts: int64 of (20 decimal digits, 16 powers of 2, 16 of 5)."""
        cdef int64_t i
        found = np.empty(CELLS, np.int64)
        cdef int64_t[::1] out = found
        for i in range(CELLS):
            out[i] = self.counts[i]
        return found.reshape(DIGITS, POWERS, POWERS)


def margins_of(
    const int64_t[:] values not None,
    const int64_t[::1] before_of not None,
    const int64_t[::1] after_of not None,
    const int64_t[::1] slack_of not None,
    bint double_s,
    bint double_ms,
):
    """How much less, and more, than each time says may have been read.

    Args:
        values: int64, ns.
        before_of, after_of: by cell, as `StepCounts.cells` has them, flat: 5,120 each.
        slack_of: what is added to margins that are not 0, by the bits of the time: 65.
        double_s, double_ms: wall times that are such doubles have margins of the slack at least.

    Returns:
        Both margins, int64.
    """
    cdef int64_t i, n = values.shape[0], before, after, slack
    cdef int cell, bits
    if before_of.shape[0] != CELLS or after_of.shape[0] != CELLS or slack_of.shape[0] != 65:
        raise ValueError("tables of another length")
    less, more = np.empty(n, np.int64), np.empty(n, np.int64)
    cdef int64_t[::1] low = less, high = more
    with nogil:
        for i in range(n):
            cell = cell_of(values[i])
            bits = bits_of(values[i])
            before, after = before_of[cell], after_of[cell]
            slack = slack_of[bits]
            if values[i] <= 0 and before < after:
                # Below 0 what is cut off is often above.
                before = after
            if before or after:
                before += slack
                after += slack
            elif bits == WALL_BITS and (
                (double_s and is_double_s(values[i])) or (double_ms and is_double_ms(values[i]))
            ):
                before = after = slack
            low[i] = before
            high[i] = after
    return less, more
