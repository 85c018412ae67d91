# Half-widths of readings that declare none: from how far each is off its neighbours' line.

cdef enum:
    LINE_WINDOW = 9         # readings of a window through which a line goes,
    LEVEL_WINDOW = 15       # and of one of clocks that tick alike, whose offset is constant
    LONG_WINDOW = 33        # of many readings that only jitter
    MOST_SAMPLED = 4096     # differences whose median is taken; more cost time only
    LEVEL_READINGS = 3      # that agree on each side of a step
    FEW_STEPS = 4           # so many differences have no usual one

cdef enum:
    LONE_NS = 100000000     # no thread is interrupted for so long: one reading on each side is a level,
    PAIR_NS = 10000000      # two of them above this

LATEST_NS = LONE_NS         # so late no reading is

# Beyond so many times what neighbours differ by, and floors, an offset may have stepped.
cdef double STEP_SCATTER = 20, STEP_FLOORS = 2
# Readings of a level agree to this part of the step.
cdef double LEVEL_PART = 0.1
# No crystal is off by so much, and no kernel slews by as much as the second.
cdef double ODD_RATE = 1e-4, MOST_RATE = 2e-3
# Of few readings any one may be late: what keeps the truth inside then, and a tenth more.
cdef double FEW_LEVEL = 1.1, FEW_LINE = 3.3
# But not so wide that a level and the next one agree, whose readings show the step between them.
cdef double STEP_PART = 0.25
# Of many: times the scatter of a window, and times how far off the reading itself is. A line through
# nine readings is nearer to them than the truth is.
cdef double SCATTER = 3, OWN = 1.5, FITTED = 1.25
# Of lines that half of the readings are as near to, that which all are nearest to.
cdef double ALL_PART = 1e-4
# Readings that scatter over less than this part of their window are of one instant.
cdef double ONE_INSTANT = 1.0 / 16
# Longer windows say the same as shorter ones where they find so many times the noise at most.
cdef double SAME = 1.4
# A clock is coarse where its tick explains four fifths of the residuals: then the tick says it all.
cdef double COARSE_NS = 2000, COARSE_SHARE = 0.8, COARSE_PART = 0.5
# Of readings that agree, bars are nearly twice as wide as what each says; of a coarse clock, which
# is ahead of its readings, never narrower than its tick.
cdef double SLIVER = 1.5, COARSE_SLIVER = 0.95
# So many times the noise a reading is far off; a tenth of all readings are not.
cdef double FAR = 3, FEW_FAR = 0.1
# One that is off by so much of the noise at an end of the readings may show a step.
cdef double OFF_AT_END = 0.5
# Two half-widths, and two more for the line and the noise: a reading farther off contradicts others.
cdef double OUT = 4
# Sums of offsets and half-widths fit in int64.
cdef double WIDEST_NS = <double>(<int64_t>1 << 58)


cdef struct Held:
    int64_t ns              # so much to either side of a reading
    int64_t sliver_ns       # where bars that are narrower would leave it out

cdef struct Fit:
    double slope
    double middle           # at the first reading of the window

cdef struct Readings:
    const int64_t *a        # ascending
    const int64_t *r        # the offset at each
    Py_ssize_t n
    double floor_ns         # the least half-width
    double drift            # how fast the offset may change, ns per ns
    bint level              # the clocks tick alike: between steps the offset is constant
    double rate             # how fast the offset usually changes, ns per ns
    double step             # the smaller one of the steps before and after these readings,
    double larger           # and the larger one of those that may be a late reading; 0 without any
    double *off             # how far each is off its neighbours
    double *room
    double *spare


cdef void sort_few(double *values, Py_ssize_t n) noexcept nogil:
    """Sort a few values in place, ascending."""
    cdef Py_ssize_t i, j
    cdef double one
    for i in range(1, n):
        one, j = values[i], i
        while j > 0 and values[j - 1] > one:
            values[j] = values[j - 1]
            j -= 1
        values[j] = one


cdef double ranked(double *values, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """The value that would be the k-th of n in order; their order changes. 0 without any."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double pivot
    if n == 0:
        return 0
    while low < high:
        pivot, i, j = values[low + (high - low) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


cdef double share_of(const double *values, Py_ssize_t n, double share, double *room) noexcept nogil:
    """The value below which about a share of some is."""
    memcpy(room, values, n * sizeof(double))
    return ranked(room, n, <Py_ssize_t>(share * (n - 1) + 0.5))


cdef void shortest_half(
    const double *x, const double *y, Py_ssize_t n, double slope, double *room, double *best, Fit *fit
) noexcept nogil:
    """Take a slope where it leaves the shortest half of residuals so far.

    The spread of all counts a little: half of them may be of one instant, through which all lines go.
    """
    cdef Py_ssize_t k, half = n // 2 + 1
    cdef double spread
    for k in range(n):
        room[k] = y[k] - slope * x[k]
    sort_few(room, n)
    for k in range(n - half + 1):
        spread = room[k + half - 1] - room[k] + ALL_PART * (room[n - 1] - room[0])
        if spread < best[0]:
            best[0] = spread
            fit.slope, fit.middle = slope, (room[k] + room[k + half - 1]) / 2


cdef void residuals(
    const double *x, const double *y, Py_ssize_t n, const Fit *fit, double *off
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        off[k] = fabs(y[k] - fit.slope * x[k] - fit.middle)


cdef void since_first(
    const int64_t *a, const int64_t *r, Py_ssize_t n, double *x, double *y
) noexcept nogil:
    """A few readings from the first on: exact differences, whatever the readings."""
    cdef Py_ssize_t k
    for k in range(n):
        x[k], y[k] = <double>apart(a[0], a[k]), <double>(r[k] - r[0])


cdef void least_squares(
    const double *x, const double *y, Py_ssize_t n, bint level, const double *off, double most, Fit *fit
) noexcept nogil:  # wide: a window, and which of it counts
    """The line through readings that are off by no more than `most`."""
    cdef double sum_w = 0, mean_x = 0, mean_y = 0, run = 0, rise = 0
    cdef Py_ssize_t k
    for k in range(n):
        if off[k] <= most:
            sum_w += 1
            mean_x += x[k]
            mean_y += y[k]
    mean_x, mean_y = mean_x / sum_w, mean_y / sum_w
    for k in range(0 if level else n):
        if off[k] <= most:
            run += (x[k] - mean_x) * (x[k] - mean_x)
            rise += (x[k] - mean_x) * (y[k] - mean_y)
    # Readings of nearly one instant tell no slope.
    if run > sum_w * (ONE_INSTANT * x[n - 1]) ** 2:
        fit.slope = rise / run
    fit.middle = mean_y - fit.slope * mean_x


cdef void line_of_few(const double *x, const double *y, Py_ssize_t n, bint level, Fit *fit) noexcept nogil:
    """The line of the least median of squares, of those through two of a few readings."""
    cdef double[LONG_WINDOW] room
    cdef double best = INFINITY
    cdef Py_ssize_t i, j
    shortest_half(x, y, n, 0, room, &best, fit)
    for i in range(0 if level else n):
        for j in range(i + 1, n):
            if x[j] > x[i]:
                shortest_half(x, y, n, (y[j] - y[i]) / (x[j] - x[i]), room, &best, fit)


cdef void line_of_many(const double *x, const double *y, Py_ssize_t n, Fit *fit) noexcept nogil:
    """The line of medians: of the slopes between readings half a window apart, and of the rest."""
    cdef double[LONG_WINDOW] room
    cdef Py_ssize_t k, half = n // 2, count = 0
    for k in range(n - half):
        if x[k + half] > x[k]:
            room[count] = (y[k + half] - y[k]) / (x[k + half] - x[k])
            count += 1
    fit.slope = ranked(room, count, count // 2)
    for k in range(n):
        room[k] = y[k] - fit.slope * x[k]
    fit.middle = ranked(room, n, n // 2)


cdef double robust_fit(const Readings *given, Py_ssize_t first, Py_ssize_t n, double *off) noexcept nogil:
    """How far some readings are off the line that most of them are near: three quarters of them.

    Where all are well within the least half-width, the line of least squares says the same.
    """
    cdef double[LONG_WINDOW] x, y, room
    cdef Py_ssize_t i
    cdef Fit fit
    since_first(given.a + first, given.r + first, n, x, y)
    fit.slope = 0
    for i in range(n):
        off[i] = 0
    least_squares(x, y, n, given.level, off, 0, &fit)
    residuals(x, y, n, &fit, off)
    if share_of(off, n, 1, room) * (SCATTER * FITTED + OWN) <= given.floor_ns:
        return share_of(off, n, 0.75, room)
    if n <= LEVEL_WINDOW:
        line_of_few(x, y, n, given.level, &fit)
    else:
        line_of_many(x, y, n, &fit)
    for i in range(2):
        residuals(x, y, n, &fit, off)
        least_squares(x, y, n, given.level, off, 2.5 * share_of(off, n, 0.6, room) + 1, &fit)
    residuals(x, y, n, &fit, off)
    return share_of(off, n, 0.75, room)


cdef double few_width(const Readings *given) noexcept nogil:
    """The half-width of readings so few that nobody can tell which of them is off, ns.

    Whichever it is, the truth stays inside. The line of the least greatest residual is parallel to
    one through two of them. 0 where ticks explain all.
    """
    cdef double[LONG_WINDOW] x, y
    cdef double least, most, slope, best = INFINITY
    cdef double coarse_ns = given.floor_ns if given.floor_ns > COARSE_NS else 0
    cdef Py_ssize_t i, j, k, n = given.n
    if n < 2:
        return 0
    since_first(given.a, given.r, n, x, y)
    if n == 2 and not given.level:
        return fabs(y[1]) if fabs(y[1]) > max(ODD_RATE * x[1], coarse_ns) else 0
    for i in range(n):
        for j in range(i + 1, n):
            slope = 0 if given.level or x[j] <= x[i] else (y[j] - y[i]) / (x[j] - x[i])
            least, most = INFINITY, -INFINITY
            for k in range(n):
                least = min(least, y[k] - slope * x[k])
                most = max(most, y[k] - slope * x[k])
            best = min(best, most - least)
    if best <= coarse_ns:
        return 0
    return best * (FEW_LEVEL if given.level else FEW_LINE / 2 * (n - 1) / (n - 2))


cdef double steps_between(const Readings *given) noexcept nogil:
    """Fill `off`: how far the offset of each reading is from the one before, at their usual rate.

    Returns:
        that rate, ns per ns.
    """
    cdef Py_ssize_t k, i, count = 0, stride = given.n // MOST_SAMPLED + 1
    cdef double run, rate
    given.off[0] = 0
    for k in range(1, given.n):
        given.off[k] = <double>(given.r[k] - given.r[k - 1])
    if given.level or given.n < 2:
        return 0
    for i in range((given.n - 2) // stride + 1):
        k = 1 + i * stride
        run = <double>apart(given.a[k - 1], given.a[k])
        if run > 0 and fabs(given.off[k]) <= MOST_RATE * run:
            given.room[count] = given.off[k] / run
            count += 1
    rate = ranked(given.room, count, count // 2)
    for k in range(1, given.n):
        given.off[k] -= rate * <double>apart(given.a[k - 1], given.a[k])
    return rate


cdef bint is_level(
    const double *step, Py_ssize_t begin, Py_ssize_t at, Py_ssize_t then, Py_ssize_t end, Py_ssize_t n
) noexcept nogil:
    """Whether the offset stepped: some readings before `at` agree, and some from `then` on.

    What is between them is on neither level. step: of each reading, from the one before. begin, end:
    where it may have stepped before and after.
    """
    cdef double size = 0, before = 0, after = 0
    cdef Py_ssize_t k, need = LEVEL_READINGS
    for k in range(at, then + 1):
        size += step[k]
    size = fabs(size)
    if size > LONE_NS:
        need = 1
    elif size > PAIR_NS or n <= 5:
        need = 2
    begin, end = max(begin, at - LEVEL_READINGS), min(end, then + LEVEL_READINGS)
    if at - begin < need or end - then < need:
        return False
    for k in range(begin + 1, at):
        before += fabs(step[k])
    for k in range(then + 1, end):
        after += fabs(step[k])
    return before <= LEVEL_PART * size and after <= LEVEL_PART * size


cdef Py_ssize_t find_levels(Readings *given, int64_t *begins, double *sizes) noexcept nogil:
    """How many levels the offset is on, one after the other; where each begins, and the step there.

    A reading between two steps in neighbouring gaps is a level of its own.
    """
    cdef Py_ssize_t k, earlier = 0, before = 0, at = 0, count = 0, found = 1
    cdef Py_ssize_t stride = given.n // MOST_SAMPLED + 1
    cdef double least = STEP_FLOORS * given.floor_ns
    given.rate = steps_between(given)
    if given.n > FEW_STEPS:
        count = (given.n - 2) // stride + 1
        for k in range(count):
            given.room[k] = fabs(given.off[1 + k * stride])
        least += STEP_SCATTER * ranked(given.room, count, (count - 1) // 2)
    begins[0] = 0
    for k in range(1, given.n + 1):
        if k < given.n and fabs(given.off[k]) <= least:
            continue
        if at and is_level(given.off, before, at, at, k, given.n):
            begins[found], sizes[found] = at, fabs(given.off[at])
            found += 1
        elif (
            before and at == before + 1 and fabs(given.off[before] + given.off[at]) > least
            and is_level(given.off, earlier, before, at, k, given.n)
        ):
            if begins[found - 1] != before:
                begins[found], sizes[found] = before, fabs(given.off[before])
                found += 1
            begins[found], sizes[found] = at, fabs(given.off[at])
            found += 1
        earlier, before, at = before, at, k
    begins[found] = given.n
    sizes[0] = sizes[found] = INFINITY
    return found


cdef double own_residuals(const Readings *given, Py_ssize_t size) noexcept nogil:
    """Fill `off`: how far each reading is off the nearest line of a window about it; the noise.

    Windows begin at every half of one: a reading is at the end of one, or near its middle.
    """
    cdef double[LONG_WINDOW] off
    cdef Py_ssize_t first = 0, k, count = 0
    for k in range(given.n):
        given.off[k] = INFINITY
    while True:
        first = min(first, given.n - size)
        given.room[count] = robust_fit(given, first, size, off)
        count += 1
        for k in range(size):
            given.off[first + k] = min(given.off[first + k], off[k])
        if first == given.n - size:
            return ranked(given.room, count, count // 2)
        first += size // 2


cdef double find_noise(const Readings *given, bint *steady) noexcept nogil:
    """Fill `off`; the noise, ns, and whether that is all that scatters.

    A line through few readings is nearer to them than to the truth. Longer windows say the same
    where readings jitter, and more where the clocks stray.
    """
    cdef double noise = FITTED * own_residuals(given, LEVEL_WINDOW if given.level else LINE_WINDOW)
    cdef double longer
    cdef Readings other = given[0]
    steady[0] = given.level
    if given.level or given.n < LONG_WINDOW or SCATTER * noise <= given.floor_ns:
        return noise
    other.off = given.spare
    longer = own_residuals(&other, LONG_WINDOW)
    if longer > SAME * noise:
        return noise
    steady[0] = True
    memcpy(given.off, other.off, given.n * sizeof(double))
    return longer


cdef void mark_doubtful(const Readings *given, double usual, uint8_t *doubtful) noexcept nogil:
    """Mark the readings at either end that are off: each may be late, or show a step.

    Those between others are late where these agree; at an end nothing tells.
    """
    cdef Py_ssize_t k = 0
    while k < given.n and given.off[k] > OFF_AT_END * usual:
        doubtful[k] = True
        k += 1
    k = given.n - 1
    while k >= 0 and given.off[k] > OFF_AT_END * usual:
        doubtful[k] = True
        k -= 1


cdef void agree_in_pairs(const Readings *given, double usual) noexcept nogil:
    """Two readings in a row that are off alike are a level, not two accidents: a step will show."""
    cdef Py_ssize_t k, far = 0
    cdef double most, gap, own = given.off[0], after
    for k in range(given.n):
        far += given.off[k] > FAR * usual
    for k in range(given.n - 1 if far < FEW_FAR * given.n else 0):
        after = given.off[k + 1]
        if own > FAR * usual and after > FAR * usual:
            gap = <double>apart(given.a[k], given.a[k + 1])
            most = min(usual + given.drift * gap, LEVEL_PART * min(own, after))
            if fabs(<double>(given.r[k + 1] - given.r[k]) - given.rate * gap) <= most:
                given.off[k], given.off[k + 1] = 0, 0
        own = after


cdef void keep_outliers(const Readings *given, double usual) noexcept nogil:
    """One that no drift explains, beside readings that agree, stays narrow.

    Between others it is an outlier; the first or the last one is told as a step, if it is so large
    that it is hardly late.
    """
    cdef Py_ssize_t k, i, last = given.n - 1
    cdef double gap, near, most
    for k in range(given.n):
        gap = near = 0
        for i in range(max(k - 2, 0), min(k + 2, last) + 1):
            if i != k:
                near = max(near, given.off[i])
        for i in range(max(k - 1, 0), min(k, last - 1) + 1):
            gap = max(gap, <double>apart(given.a[i], given.a[i + 1]))
        most = OUT * usual + 2 * given.drift * gap
        if near <= usual and given.off[k] > (most if 0 < k < last else max(most, <double>PAIR_NS)):
            given.off[k] = 0


cdef bint is_coarse(const Readings *given) noexcept nogil:
    cdef Py_ssize_t k, within = 0
    for k in range(given.n):
        within += given.off[k] <= COARSE_PART * given.floor_ns
    return given.floor_ns > COARSE_NS and within >= COARSE_SHARE * given.n


cdef void fill(int64_t *half, Py_ssize_t n, double width) noexcept nogil:
    """Give some readings one half-width."""
    cdef Py_ssize_t k
    for k in range(n):
        half[k] = <int64_t>ceil(min(width, WIDEST_NS))


cdef Held learn_level(const Readings *given, int64_t *half, uint8_t *doubtful) noexcept nogil:
    """The half-widths of readings among which the offset does not step; what bars must hold."""
    cdef Held held = Held(<int64_t>given.floor_ns, 0)
    cdef Py_ssize_t k
    cdef double noise, width
    cdef bint coarse, steady
    if given.n < (LEVEL_WINDOW if given.level else LINE_WINDOW):
        # One between two steps is late, or where the offset was.
        doubtful[0] = given.n == 1 and given.larger > 0
        width = OWN * given.larger if doubtful[0] else min(few_width(given), STEP_PART * given.step)
        fill(half, given.n, max(given.floor_ns, width if width <= LONE_NS else 0.0))
        return held
    noise = SCATTER * find_noise(given, &steady)
    if noise > LONE_NS:
        # Nobody reads so badly: there are two clocks, or one that is set.
        fill(half, given.n, given.floor_ns)
        return held
    mark_doubtful(given, max(given.floor_ns, noise), doubtful)
    agree_in_pairs(given, max(given.floor_ns, noise))
    keep_outliers(given, max(given.floor_ns, noise))
    coarse = is_coarse(given)
    for k in range(given.n):
        if coarse:
            width = given.floor_ns + OWN * max(given.off[k] - given.floor_ns, 0.0)
        else:
            width = max(given.floor_ns, noise + OWN * given.off[k])
        half[k] = <int64_t>ceil(min(width, WIDEST_NS))
    held.ns = <int64_t>ceil(min(given.floor_ns if coarse else max(given.floor_ns, noise), WIDEST_NS))
    if coarse or not steady:
        held.sliver_ns = <int64_t>((COARSE_SLIVER if coarse else SLIVER) * held.ns)
    return held


def half_widths(
    const int64_t[::1] a, const int64_t[::1] r, int64_t floor_ns, double drift, bint level
):
    """A half-width for each reading of two clocks that declares none, ns.

    That of one that is off reaches as far as its neighbours say that the offset was, and beyond: it
    contradicts nothing then, and leaves no sliver of what all readings have in common.

    a: readings of one clock, int64 ns, ascending. r: the offset of the other at each, within 73
    years. floor_ns: the least half-width. drift: how fast the offset may change, ns per ns. level:
    whether the clocks tick alike: between steps their offset is constant.

    Returns:
        the half-widths; how much bars hold of a reading, ns; how narrow they are if they hold too
        little, where the clocks may stray within the half-widths: else 0; and which readings may be
        late, or show a step, as nothing tells (bool).
    """
    cdef Py_ssize_t n = a.shape[0], found, k, side, longest = 0
    cdef Held held = Held(0, 0), one
    found_half = np.empty(n, dtype=np.int64)
    if r.shape[0] != n:
        raise ValueError(f"{n} readings and {r.shape[0]} offsets")
    found_doubtful = np.zeros(n, dtype=bool)
    if n == 0:
        return found_half, 0, 0, found_doubtful
    cdef uint8_t[::1] doubtful = found_doubtful.view(np.uint8)
    cdef int64_t[::1] half = found_half, begins = np.empty(n + 1, dtype=np.int64)
    cdef double[:, ::1] scratch = np.empty((3, n))
    cdef double[::1] sizes = np.empty(n + 1)
    cdef Readings given = Readings(
        &a[0], &r[0], n, floor_ns, drift, level, 0, INFINITY, 0, &scratch[0, 0], &scratch[1, 0], &scratch[2, 0]
    )
    with nogil:
        found = find_levels(&given, &begins[0], &sizes[0])
        for k in range(found):
            given.a, given.r = &a[begins[k]], &r[begins[k]]
            given.n = begins[k + 1] - begins[k]
            given.step, given.larger = min(sizes[k], sizes[k + 1]), 0
            for side in range(2):
                if sizes[k + side] <= LONE_NS:
                    given.larger = max(given.larger, sizes[k + side])
            one = learn_level(&given, &half[begins[k]], &doubtful[begins[k]])
            if given.n > longest:
                longest, held = given.n, one
    return found_half, held.ns, held.sliver_ns, found_doubtful
