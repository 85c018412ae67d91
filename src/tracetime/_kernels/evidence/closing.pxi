# Offsets of several clocks, bounded over every path of pairs that may wait on any clock.
#
# upper[i, j, k] is the most that clock j is ahead of clock i at instant k, int64 ns, or OPEN. A path
# adds such bounds; while it waits, a bound grows as the two clocks may drift apart.

cdef enum:
    MOST_ROUNDS = 1000      # a path of n clocks needs n: what needs more goes round a loop for ever

cdef extern from *:
    """
    /* Bounds at and above this are none; sums of two others fit in int64. */
    #define TT_OPEN ((int64_t)1 << 62)
    """
    const int64_t OPEN "TT_OPEN"


cdef bint add_paths(
    int64_t *ij, const int64_t *im, const int64_t *mj, int64_t n, int64_t *next_ij,
    const int64_t *next_im
) noexcept nogil:
    """Lower the bounds of i to j by the paths over m, at each of n instants; whether any fell."""
    cdef int64_t k, total
    cdef bint fell = False
    for k in range(n):
        if im[k] < OPEN and mj[k] < OPEN:
            total = max(im[k] + mj[k], -OPEN)
            if total < ij[k]:
                ij[k], next_ij[k] = total, next_im[k]
                fell = True
    return fell


cdef inline bint narrow(
    int64_t *upper, int64_t *next_clock, int128 *carried, int64_t *origin, int64_t k
) noexcept nogil:
    """Take the carried bound at instant k where it is the lower one, else carry the one there."""
    cdef int64_t value = -whole(-carried[0])
    if value < upper[k]:
        upper[k], next_clock[k] = value, origin[0]
        return True
    if fixed(upper[k]) < carried[0]:
        carried[0], origin[0] = fixed(upper[k]), next_clock[k]
    return False


cdef bint sweep(
    int64_t *upper, int64_t *next_clock, const int64_t *at, int64_t n, int64_t width,
    const uint8_t *steps_i, const uint8_t *steps_j
) noexcept nogil:
    """Lower the bounds of one pair by those at other instants; whether any fell.

    The carried bound stays exact, so that it is rounded up once however far it goes.
    """
    cdef int64_t k, origin = -1
    cdef int128 carried = fixed(OPEN)
    cdef bint fell = False
    for k in range(n):
        if k > 0 and (steps_i[k - 1] or steps_j[k - 1]):
            carried = fixed(OPEN)
        elif k > 0 and carried < fixed(OPEN):
            carried += rise(width, apart(at[k - 1], at[k]))
        fell |= narrow(upper, next_clock, &carried, &origin, k)
    carried = fixed(OPEN)
    for k in range(n - 1, -1, -1):
        if k < n - 1 and (steps_i[k] or steps_j[k]):
            carried = fixed(OPEN)
        elif k < n - 1 and carried < fixed(OPEN):
            carried += rise(width, apart(at[k], at[k + 1]))
        fell |= narrow(upper, next_clock, &carried, &origin, k)
    return fell


cdef bint is_ahead_of_itself(const int64_t[:, :, ::1] upper) noexcept nogil:
    """Whether a bound of some clock on itself is below 0: a loop of clocks contradicts itself."""
    cdef int64_t i, k
    for i in range(upper.shape[0]):
        for k in range(upper.shape[2]):
            if upper[i, i, k] < 0:
                return True
    return False


def close_bounds(
    int64_t[:, :, ::1] upper, int64_t[:, :, ::1] next_clock, const int64_t[::1] at,
    const int64_t[:, ::1] width, const uint8_t[:, ::1] steps
):
    """Lower the bounds, in place, until no path lowers any.

    Args:
        upper: int64[n, n, K], 0 where i is j; see the head of this file.
        next_clock: int64[n, n, K], filled: the clock that the path behind a bound visits after i.
        at: int64[K], the instants, ascending, ns.
        width: int64[n, n], how fast the offset of two clocks may change, 2^-52 ns per ns.
        steps: uint8[n, K - 1], whether a clock may have stepped from one instant to the next.

    Returns:
        the number of rounds, the last of which changed nothing; or -1 where bounds contradict one
        another: a loop of clocks is ahead of itself. They are then no bounds any more.
    """
    cdef int64_t n = upper.shape[0], instants = at.shape[0], i, j, k, m
    cdef int64_t rounds = 0
    cdef bint fell = True
    if not (
        upper.shape[1] == next_clock.shape[0] == next_clock.shape[1] == width.shape[0] == n
        and width.shape[1] == steps.shape[0] == n
        and upper.shape[2] == next_clock.shape[2] == instants
        and steps.shape[1] == max(instants - 1, 0)
    ):
        raise ValueError("arrays of n clocks and K instants")
    if n == 0 or instants == 0:
        return 0
    # An instant alone has no step after it to point at.
    cdef const uint8_t *marks = NULL if instants == 1 else &steps[0, 0]
    cdef int64_t gaps = instants - 1
    with nogil:
        for i in range(n):
            for j in range(n):
                for k in range(instants):
                    next_clock[i, j, k] = j
        while fell and rounds < MOST_ROUNDS:
            rounds += 1
            fell = False
            for m in range(n):
                for i in range(n):
                    for j in range(n):
                        if i != m and j != m:
                            fell |= add_paths(
                                &upper[i, j, 0], &upper[i, m, 0], &upper[m, j, 0], instants,
                                &next_clock[i, j, 0], &next_clock[i, m, 0],
                            )
            if is_ahead_of_itself(upper):
                rounds = -1
                break
            for i in range(n):
                for j in range(n):
                    if i != j:
                        fell |= sweep(
                            &upper[i, j, 0], &next_clock[i, j, 0], &at[0], instants,
                            width[i, j], marks + i * gaps, marks + j * gaps,
                        )
    return rounds
