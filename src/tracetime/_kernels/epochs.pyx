# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What waits and rows leave open of the instants of clocks' readings, and what contradicts itself.

A system has nodes, those of an epoch side by side and ascending by reading. z of a node is its
instant less its reading, both counted from the clock's first: a wait within an epoch lets z change
by what the clock may drift, a row bounds z of one node by that of another. A round carries each
node's bound along its whole epoch, both ways, and over all rows: O(nodes + rows), however many waits.
Sums are of whole ns; a wait is rounded up once, however many readings it passes.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

import numpy as np

from tracetime._kernels.tube cimport BITS, apart, fixed, int128, rise, whole

cdef enum:
    WAIT = -1               # how a node was reached: by a wait, by no other node; else by a row
    NONE = -2

cdef int64_t FAR = <int64_t>1 << 62


cdef struct System:
    int64_t n
    int64_t n_epochs
    int64_t n_rows
    const int64_t *first    # of each epoch, and the end
    const int64_t *readings
    const int64_t *later    # by how much an instant may be later than the reading says, 2^-52
    const int64_t *earlier
    const int64_t *source
    const int64_t *target
    const int64_t *weight
    int64_t *z
    int64_t *before         # the node that bounds it; not kept where NULL
    int64_t *via


cdef inline int64_t up(int128 value) noexcept nogil:
    """The ns not below a value."""
    return whole(value + ((<int128>1 << BITS) - 1))


cdef inline void reach(System *s, int64_t node, int64_t z, int64_t before, int64_t via) noexcept nogil:
    s.z[node] = z
    if s.before != NULL:
        s.before[node] = before
        s.via[node] = via


cdef bint sweep(System *s, int64_t e, bint forward) noexcept nogil:
    """Carry bounds along an epoch, one way; whether any changes."""
    cdef int64_t k, first = s.first[e], n = s.first[e + 1] - first, slope, at, start, best_at, z
    cdef int128 best, drift
    cdef bint changed = False
    if n < 2:
        return False
    slope = s.later[e] if forward else s.earlier[e]
    best_at = start = first if forward else first + n - 1
    best = fixed(s.z[start])
    for k in range(1, n):
        at = first + k if forward else first + n - 1 - k
        drift = rise(slope, apart(s.readings[start], s.readings[at]) if forward
                     else apart(s.readings[at], s.readings[start]))
        z = up(best + drift)
        if z < s.z[at]:
            reach(s, at, z, best_at, WAIT)
            changed = True
        elif fixed(s.z[at]) - drift < best:
            best = fixed(s.z[at]) - drift
            best_at = at
    return changed


cdef int64_t go_round(System *s, int64_t *too_deep) noexcept nogil:
    """Carry bounds over all waits and rows; how many changed. Ends early at one below all sense."""
    cdef int64_t e, k, z, changed = 0
    for e in range(s.n_epochs):
        changed += sweep(s, e, True)
        changed += sweep(s, e, False)
    for k in range(s.n_rows):
        if s.z[s.source[k]] >= FAR:
            continue
        z = s.z[s.source[k]] + s.weight[k]
        if z < s.z[s.target[k]]:
            reach(s, s.target[k], z, s.source[k], k)
            changed += 1
            if z < -FAR:
                too_deep[0] = s.target[k]
                return changed
    return changed


cdef int64_t walk(System *s, int64_t start, int64_t *seen, int64_t name) noexcept nogil:
    """Go back from a node to what bounds it; a node of the ring that this ends in, else -1."""
    cdef int64_t node = start
    while node >= 0 and seen[node] == 0:
        seen[node] = name
        node = s.before[node]
    return node if node >= 0 and seen[node] == name else -1


cdef int64_t rings(System *s, int64_t *seen, int64_t *nodes, int64_t *first) noexcept nogil:
    """The rings of nodes that bound each other, each once; how many."""
    cdef int64_t node, at, ring, n = 0, n_nodes = 0
    for node in range(s.n):
        seen[node] = 0
    first[0] = 0
    for node in range(s.n):
        if s.before[node] < 0 or seen[node]:
            continue
        at = walk(s, node, seen, node + 1)
        if at < 0:
            continue
        first[n] = n_nodes
        ring = at
        while True:
            nodes[n_nodes] = ring
            n_nodes += 1
            ring = s.before[ring]
            if ring == at:
                break
        n += 1
        first[n] = n_nodes
    return n


cdef int64_t[::1] checked(values, int64_t n, name):
    cdef int64_t[::1] view = np.ascontiguousarray(values, dtype=np.int64)
    if view.shape[0] != n:
        raise ValueError(f"{name}: {view.shape[0]} values, not {n}")
    return view


cdef class Waits:
    """A system of nodes and rows; the arrays are copied where they are not int64.

    Args:
        first: int64[epochs + 1], where the nodes of each epoch begin, and the end of all.
        readings: int64[nodes], ascending within each epoch.
        later, earlier: int64[epochs], how much more, in 2^-52, than a reading's rise may pass between
            two instants, and how much less, of the rise.
        source, target, weight: int64[rows]: z of the target is at most that of the source + weight,
            which is below 2^61 in size.
    """

    cdef int64_t[::1] first, readings, later, earlier, source, target, weight

    def __init__(self, first, readings, later, earlier, source, target, weight):
        self.first = np.ascontiguousarray(first, dtype=np.int64)
        if self.first.shape[0] < 1 or self.first[0] != 0:
            raise ValueError("first begins with 0")
        n_epochs = self.first.shape[0] - 1
        self.readings = np.ascontiguousarray(readings, dtype=np.int64)
        n = self.readings.shape[0]
        if np.any(np.diff(first) < 0) or self.first[n_epochs] != n:
            raise ValueError("first ascends to the number of readings")
        self.later, self.earlier = checked(later, n_epochs, "later"), checked(earlier, n_epochs, "earlier")
        n_rows = len(source)
        self.source, self.target = checked(source, n_rows, "source"), checked(target, n_rows, "target")
        self.weight = checked(weight, n_rows, "weight")
        for ends in (source, target):
            if n_rows and not (0 <= np.min(ends) and np.max(ends) < n):
                raise ValueError("a row is between two nodes")
        if n_rows and np.max(np.abs(weight)) >= 1 << 61:
            raise ValueError("a weight is below 2^61 in size")

    cdef System system(self, bint backwards) noexcept:
        cdef System s
        s.n, s.n_epochs, s.n_rows = self.readings.shape[0], self.later.shape[0], self.source.shape[0]
        s.first = &self.first[0]
        s.readings = &self.readings[0] if s.n else NULL
        s.later = &self.later[0] if s.n_epochs else NULL
        s.earlier = &self.earlier[0] if s.n_epochs else NULL
        if backwards:
            s.later, s.earlier = s.earlier, s.later
        s.source = &self.source[0] if s.n_rows else NULL
        s.target = &self.target[0] if s.n_rows else NULL
        if backwards:
            s.source, s.target = s.target, s.source
        s.weight = &self.weight[0] if s.n_rows else NULL
        s.z = s.before = s.via = NULL
        return s

    def contradictions(self):
        """What contradicts itself: rings of nodes, each bounded by the next to below itself.

        A chain that bounds its first node by more than 2^62 ns counts as a ring.

        Returns:
            (first, nodes, via): int64; where each ring begins in `nodes`, and the end; the nodes, the
            one that bounds each after it; by which row, or -1 by a wait, or -2 at a chain's end.
            Without any, first is [0]: the instants can all be as the rows say.
        """
        cdef System s = self.system(False)
        cdef int64_t n = s.n, found = 0, rounds = 0, node, deep = -1, k = 0
        first, nodes = np.zeros(n + 2, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
        z, before, via = np.zeros(n + 1, dtype=np.int64), np.full(n + 1, -1), np.full(n + 1, NONE)
        seen = np.zeros(n + 1, dtype=np.int64)
        cdef int64_t[::1] first_view = first, nodes_view = nodes, z_view = z, seen_view = seen
        cdef int64_t[::1] before_view = before, via_view = via
        s.z, s.before, s.via = &z_view[0], &before_view[0], &via_view[0]
        with nogil:
            # A bound that still changes after as many rounds as there are nodes is in a ring.
            for rounds in range(n + 1):
                if not go_round(&s, &deep):
                    break
                found = rings(&s, &seen_view[0], &nodes_view[0], &first_view[0])
                if found or deep >= 0:
                    break
            if not found and deep >= 0:
                node = deep
                while node >= 0:
                    nodes_view[k] = node
                    k += 1
                    node = before_view[node]
                found, first_view[1] = 1, k
        first = first[: found + 1]
        nodes = nodes[: first[found]]
        return first, nodes, via[nodes]

    def distances(self, nodes, z, bint backwards):
        """The least bounds of z of every node, from those of some; 2^62 where there is none.

        The system has no contradiction.

        Args:
            nodes, z: int64, the nodes bounded at first, and their bounds.
            backwards: bound z of the given nodes less that of every node, not the reverse.
        """
        cdef System s = self.system(backwards)
        cdef int64_t n = s.n, rounds = 0, deep = -1
        found = np.full(n + 1, FAR, dtype=np.int64)
        found[nodes] = z
        cdef int64_t[::1] view = found
        s.z = &view[0]
        with nogil:
            for rounds in range(n + 1):
                if not go_round(&s, &deep) or deep >= 0:
                    break
        return found[:n]


def drifts(const int64_t[::1] distances, const int64_t[::1] slopes):
    """Distances (0 or more, int64 ns) times slopes (2^-52), rounded up; one slope for each."""
    cdef Py_ssize_t k, n = distances.shape[0]
    if slopes.shape[0] != n:
        raise ValueError("a slope for each distance")
    grown = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] out = grown
    with nogil:
        for k in range(n):
            out[k] = up(rise(slopes[k], <unsigned long long>distances[k]))
    return grown
