# Perfetto's rule for arrays: each value plus the offset of the latest snapshot not after it.
#
# One hop is two arrays: the source clock's readings, ascending, and the offset from each on. Sorted
# values are converted in runs of one offset; where runs are short, a grid over the readings finds
# the snapshot of a value in a few steps.

cdef enum:
    BLOCK = 256             # values checked against a run at a time
    SHORT_RUN = 24          # below this a value is looked up on its own
    LOOKUPS = 512           # values looked up before a run is tried again
    MOST_BUCKETS = 1 << 18  # 1 MiB of starts

cdef extern from *:
    """
    #include <stdint.h>
    /* out = v + offset for the block; whether every v is in [low, low + width]. */
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) \\
        && !defined(__SANITIZE_ADDRESS__)
    __attribute__((target_clones("avx512f", "avx2", "default")))
    #endif
    static int tt_add_block(const int64_t *v, int64_t *out, int64_t n,
                            int64_t low, uint64_t width, int64_t offset) {
        int64_t outside = 0;
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = (uint64_t)v[i];
            outside |= (x - (uint64_t)low > width) ? -1 : 0;
            out[i] = (int64_t)(x + (uint64_t)offset);
        }
        return outside == 0;
    }
    """
    bint add_block "tt_add_block"(
        const int64_t *v, int64_t *out, int64_t n, int64_t low, uint64_t width, int64_t offset
    ) nogil


def make_grid(const int64_t[::1] readings):
    """(first, shift, steps, starts) of a grid over ascending readings; see `Grid`."""
    cdef int64_t n = readings.shape[0]
    cdef uint64_t span = <uint64_t>readings[n - 1] - <uint64_t>readings[0]
    cdef int64_t wanted = min(<int64_t>MOST_BUCKETS, 4 * n)
    cdef int64_t first = readings[0]
    cdef int shift = 0
    while (span >> shift) >= <uint64_t>wanted:
        shift += 1
    cdef int64_t buckets = <int64_t>(span >> shift) + 1
    # starts[b] is the last reading that is not after bucket b's first value.
    starts = np.empty(buckets + 1, dtype=np.int32)
    cdef int32_t[::1] last = starts
    cdef int64_t b, index = 0, steps = 0
    for b in range(buckets):
        while (
            index + 1 < n
            and <uint64_t>readings[index + 1] - <uint64_t>first <= <uint64_t>b << shift
        ):
            index += 1
        last[b] = <int32_t>index
    last[buckets] = <int32_t>(n - 1)
    for b in range(buckets):
        steps = max(steps, last[b + 1] - last[b])
    return first, shift, steps, starts


# wide: the arrays of one loop without the GIL
cdef int hop_array(
    const int64_t *values, int64_t *out, int64_t n, const int64_t *readings,
    const int64_t *offsets, const int64_t *lowest, const int64_t *highest, int64_t m,
    const Grid *grid, uint8_t *bad
) noexcept nogil:
    """One hop of n values, in place where out is values. `bad` marks what overflows, or is NULL.

    lowest, highest: the values that take a snapshot's offset and do not overflow.
    Returns whether anything overflowed; with `bad` NULL it stops there.
    """
    cdef int64_t i = 0, size, index, run, stop, low, offset, v
    cdef uint64_t width
    cdef bint overflowed = False
    while i < n:
        index = look_up(grid, readings, m, values[i])
        low = lowest[index]
        width = <uint64_t>highest[index] - <uint64_t>low
        offset = offsets[index]
        run = i
        if low <= highest[index]:
            while i < n:
                size = min(<int64_t>BLOCK, n - i)
                if add_block(values + i, out + i, size, low, width, offset):
                    i += size
                    continue
                if out == values:  # wrapped sums can be undone
                    add_block(out + i, out + i, size, low, width, -offset)
                # Another thread may change the caller's array: the block's end is the bound.
                size += i
                while i < size and <uint64_t>values[i] - <uint64_t>low <= width:
                    out[i] = values[i] + offset
                    i += 1
                break
        if i - run >= SHORT_RUN:
            continue
        stop = min(n, i + LOOKUPS)
        while i < stop:
            v = values[i]
            index = look_up(grid, readings, m, v)
            if v < lowest[index] or v > highest[index]:
                overflowed = True
                if bad == NULL:
                    return True
                bad[i] = 1
            out[i] = <int64_t>(<uint64_t>v + <uint64_t>offsets[index])
            i += 1
    return overflowed


def scale(
    const int64_t[::1] values, int64_t unit_ns, int64_t[::1] out, uint8_t[::1] bad=None
):
    """out = values * unit_ns; whether anything overflows, marked in `bad` where that is given."""
    cdef int64_t i
    cdef bint overflowed = False
    if values.shape[0] != out.shape[0] or (bad is not None and bad.shape[0] != out.shape[0]):
        raise ValueError("values, out and bad must have one length")
    with nogil:
        for i in range(values.shape[0]):
            if mul_overflows(values[i], unit_ns, &out[i]):
                overflowed = True
                if bad is None:
                    break
                bad[i] = 1
    return bool(overflowed)


# wide: the arrays of one hop, with those of its grid
def hop(
    const int64_t[::1] values, int64_t[::1] out, const int64_t[::1] readings,
    const int64_t[::1] offsets, const int64_t[::1] lowest, const int64_t[::1] highest,
    tuple grid_parts, uint8_t[::1] bad=None
):
    """Convert values over one hop into out (which may be values); whether anything overflowed.

    All int64; readings ascending, with one offset each. `bad`, of the values' length, is marked
    where a result does not fit in int64.
    """
    cdef Grid grid
    cdef const int32_t[::1] starts
    cdef uint8_t *marks = NULL
    cdef int overflowed
    if values.shape[0] != out.shape[0]:
        raise ValueError("out must have the length of values")
    if bad is not None and bad.shape[0] != values.shape[0]:
        raise ValueError("bad must have the length of values")
    if not readings.shape[0] == offsets.shape[0] == lowest.shape[0] == highest.shape[0]:
        raise ValueError("one offset, lowest and highest for each reading")
    if values.shape[0] == 0:
        return False
    starts = grid_parts[3]
    grid.first, grid.shift, grid.steps = grid_parts[0], grid_parts[1], grid_parts[2]
    grid.n_buckets = starts.shape[0] - 1
    grid.start = &starts[0]
    if bad is not None:
        marks = &bad[0]
    with nogil:
        overflowed = hop_array(
            &values[0], &out[0], values.shape[0], &readings[0], &offsets[0], &lowest[0],
            &highest[0], readings.shape[0], &grid, marks,
        )
    return bool(overflowed)
