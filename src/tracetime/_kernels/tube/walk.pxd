"""An offset whose rate walks at random: filtered forward, smoothed backward."""

cdef struct State:
    double offset           # ns
    double rate             # ns/s
    double p00
    double p01
    double p11


cdef inline void predict(State *s, double d, double q) noexcept nogil:
    s.offset += s.rate * d
    s.p00 += d * (2.0 * s.p01 + d * s.p11) + q * d * d * d / 3.0
    s.p01 += d * s.p11 + q * d * d / 2.0
    s.p11 += q * d


cdef inline void update(State *s, double y, double r) noexcept nogil:
    """Take in an offset of variance r."""
    cdef double total = s.p00 + r, missed = y - s.offset
    cdef double k0 = s.p00 / total, k1 = s.p01 / total
    s.offset += k0 * missed
    s.rate += k1 * missed
    s.p11 -= k1 * s.p01
    s.p01 *= 1.0 - k0
    s.p00 *= 1.0 - k0


cdef inline void back(State *s, const State *next, double d, double q) noexcept nogil:
    """Smooth a filtered state with the smoothed one that follows it d seconds later."""
    cdef State ahead = s[0]
    cdef double determinant, g00, g01, g10, g11, e0, e1, v00, v01, v11
    # The covariance of the state with the one predicted from it: P F'.
    cdef double c00 = s.p00 + d * s.p01, c01 = s.p01
    cdef double c10 = s.p01 + d * s.p11, c11 = s.p11
    predict(&ahead, d, q)
    determinant = ahead.p00 * ahead.p11 - ahead.p01 * ahead.p01
    if not determinant > 0.0:
        return
    g00 = (c00 * ahead.p11 - c01 * ahead.p01) / determinant
    g01 = (c01 * ahead.p00 - c00 * ahead.p01) / determinant
    g10 = (c10 * ahead.p11 - c11 * ahead.p01) / determinant
    g11 = (c11 * ahead.p00 - c10 * ahead.p01) / determinant
    e0, e1 = next.offset - ahead.offset, next.rate - ahead.rate
    v00, v01, v11 = next.p00 - ahead.p00, next.p01 - ahead.p01, next.p11 - ahead.p11
    s.offset += g00 * e0 + g01 * e1
    s.rate += g10 * e0 + g11 * e1
    s.p00 += g00 * g00 * v00 + 2.0 * g00 * g01 * v01 + g01 * g01 * v11
    s.p01 += g00 * g10 * v00 + (g00 * g11 + g01 * g10) * v01 + g01 * g11 * v11
    s.p11 += g10 * g10 * v00 + 2.0 * g10 * g11 * v01 + g11 * g11 * v11
