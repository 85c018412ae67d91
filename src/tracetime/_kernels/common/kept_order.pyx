# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Estimates of the events of packet sequences, moved forward so that they keep the file's order."""

from libc.stdint cimport INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from tracetime._kernels.common.hash_table cimport (
    HashTable, add_index, free_table, mix, next_match,
)
from tracetime._kernels.common.memory cimport grow


# How far the events of a packet sequence have come.
cdef struct Reached:
    uint64_t key            # machine and packet sequence
    int64_t floor           # the latest time by floor
    int64_t estimate        # of those in order


cdef class Sequences:
    """How far each packet sequence has come. seed: of hashes; random.

    Attributes:
        kept, reversed: see `analysis.kept_order.KeptOrder`.
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
