# cython: cdivision=True
# Curves: the estimate from one snapshot to the next, as a cubic of the distance.

from libc.math cimport floor
from libc.stdint cimport int64_t

from tracetime._kernels.tube.fixed cimport apart
from tracetime._kernels.tube.runs cimport Parts

cdef struct Curve:
    int64_t base
    double c[4]


cdef inline Curve moved(const Curve *curve, double dx) noexcept nogil:
    """The same curve, its distance counted from dx further on."""
    cdef Curve out
    out.base = curve.base
    out.c[0] = curve.c[0] + dx * (curve.c[1] + dx * (curve.c[2] + dx * curve.c[3]))
    out.c[1] = curve.c[1] + dx * (2.0 * curve.c[2] + 3.0 * dx * curve.c[3])
    out.c[2] = curve.c[2] + 3.0 * dx * curve.c[3]
    out.c[3] = curve.c[3]
    return out


cdef inline Curve hermite(const Parts *p, int64_t k) noexcept nogil:
    """The estimate from snapshot k to the next one of its run."""
    cdef Curve curve
    cdef double d = <double>apart(p.a[k], p.a[k + 1])
    cdef double v0 = p.smooth[2 * k + 1], v1 = p.smooth[2 * k + 3]
    cdef double mean = (<double>(p.r[k + 1] - p.r[k]) + p.smooth[2 * k + 2] - p.smooth[2 * k]) / d
    curve.base = p.r[k]
    curve.c[0], curve.c[1] = p.smooth[2 * k], v0
    curve.c[2] = (3.0 * mean - 2.0 * v0 - v1) / d
    curve.c[3] = (v0 + v1 - 2.0 * mean) / (d * d)
    return curve


cdef inline Curve straight(const Parts *p, int64_t k, int64_t at) noexcept nogil:
    """The line of the estimate through snapshot k, its distance counted from `at`."""
    cdef Curve curve
    cdef double dx = (
        <double>apart(p.a[k], at) if at >= p.a[k] else -<double>apart(at, p.a[k])
    )
    curve.base = p.r[k]
    curve.c[0], curve.c[1] = p.smooth[2 * k] + dx * p.smooth[2 * k + 1], p.smooth[2 * k + 1]
    curve.c[2] = curve.c[3] = 0.0
    return curve


cdef inline bint knee(const Parts *p, int64_t j, int64_t i, int64_t *at) noexcept nogil:
    """Where the lines of snapshots j and i meet, if that path passes all snapshots between."""
    cdef double z = <double>apart(p.a[j], p.a[i]), x, value, meets
    cdef double start = (
        p.smooth[2 * j] - (<double>(p.r[i] - p.r[j]) + p.smooth[2 * i] - p.smooth[2 * i + 1] * z)
    )
    cdef double end = start + (p.smooth[2 * j + 1] - p.smooth[2 * i + 1]) * z
    cdef int64_t k
    if start == end or (start > 0.0) == (end > 0.0) and start != 0.0 and end != 0.0:
        return False
    meets = z * start / (start - end)
    for k in range(j + 1, i):
        x = <double>apart(p.a[j], p.a[k])
        if x < meets:
            value = <double>(p.r[j] - p.r[k]) + p.smooth[2 * j] + p.smooth[2 * j + 1] * x
        else:
            value = (
                <double>(p.r[i] - p.r[k]) + p.smooth[2 * i] - p.smooth[2 * i + 1] * (z - x)
            )
        if value > <double>(p.high[k] - p.r[k]) or value < <double>(p.low[k] - p.r[k]):
            return False
    at[0] = min(p.a[j] + <int64_t>floor(meets), p.a[i] - 1)
    return True


cdef inline Curve chord(const Parts *p, int64_t k, int64_t j, int64_t i, int64_t at) noexcept nogil:
    """Straight from snapshot k to the next one, in the zone between the runs' ends j and i."""
    cdef Curve curve
    cdef double start = p.smooth[2 * k] if k == j else 0.0
    cdef double end = <double>(p.r[k + 1] - p.r[k]) + (p.smooth[2 * i] if k + 1 == i else 0.0)
    curve.base = p.r[k]
    curve.c[1] = (end - start) / <double>apart(p.a[k], p.a[k + 1])
    curve.c[0] = start + curve.c[1] * <double>apart(p.a[k], at)
    curve.c[2] = curve.c[3] = 0.0
    return curve
