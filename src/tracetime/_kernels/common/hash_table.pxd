# A hash table with open addressing. It finds indices; the caller keeps the keys in an array:
#
#     cdef uint64_t hash = hash_of(key), slot = hash
#     cdef int64_t i = next_match(&table, hash, &slot)
#     while i >= 0 and keys[i] != key:
#         i = next_match(&table, hash, &slot)
#
# Keys of a file are hostile: their hash starts from a random seed, so that no file can make every
# search long.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef enum:
    FEWEST_SLOTS = 8

cdef struct Slot:
    uint32_t hash           # the low bits of the key's hash
    uint32_t entry          # index + 1; 0: free

cdef struct HashTable:
    Slot *slots
    int64_t n_slots         # a power of two, at least twice the entries; or 0
    int64_t n


cdef inline uint64_t mix(uint64_t h) noexcept nogil:
    """MurmurHash3's fmix64."""
    h ^= h >> 33
    h *= <uint64_t>0xff51afd7ed558ccd
    h ^= h >> 33
    h *= <uint64_t>0xc4ceb9fe1a85ec53
    h ^= h >> 33
    return h


cdef inline int64_t next_match(
    const HashTable *table, uint64_t hash, uint64_t *slot
) noexcept nogil:
    """The next index whose key may have this hash; -1 after the last.

    slot: where the search goes on; at first the hash itself.
    """
    cdef const Slot *found
    if table.n_slots == 0:
        return -1
    while True:
        found = &table.slots[slot[0] & <uint64_t>(table.n_slots - 1)]
        if found.entry == 0:
            return -1
        slot[0] += 1
        if found.hash == <uint32_t>hash:
            return <int64_t>found.entry - 1


cdef inline void put_slot(HashTable *table, uint32_t hash, uint32_t entry) noexcept nogil:
    cdef uint64_t slot = hash
    while table.slots[slot & <uint64_t>(table.n_slots - 1)].entry:
        slot += 1
    slot &= <uint64_t>(table.n_slots - 1)
    table.slots[slot].hash = hash
    table.slots[slot].entry = entry


cdef inline int add_slots(HashTable *table) except -1 nogil:
    """Double the slots, and keep the entries."""
    cdef HashTable more
    cdef int64_t i
    more.n = table.n
    more.n_slots = 2 * table.n_slots if table.n_slots else <int64_t>FEWEST_SLOTS
    more.slots = <Slot *>calloc(<size_t>more.n_slots, sizeof(Slot))
    if more.slots == NULL:
        with gil:
            raise MemoryError
    for i in range(table.n_slots):
        if table.slots[i].entry:
            put_slot(&more, table.slots[i].hash, table.slots[i].entry)
    free(table.slots)
    table[0] = more
    return 0


cdef inline int add_index(HashTable *table, uint64_t hash, int64_t index) except -1 nogil:
    """Add the index, below 2^31, of a key that is not in the table."""
    if 2 * (table.n + 1) > table.n_slots:
        add_slots(table)
    put_slot(table, <uint32_t>hash, <uint32_t>(index + 1))
    table.n += 1
    return 0


cdef inline int64_t bytes_of(const HashTable *table) noexcept nogil:
    return table.n_slots * <int64_t>sizeof(Slot)


cdef inline void empty_table(HashTable *table) noexcept nogil:
    """Drop the entries, and keep the slots."""
    if table.n_slots:
        memset(table.slots, 0, <size_t>table.n_slots * sizeof(Slot))
    table.n = 0


cdef inline void free_table(HashTable *table) noexcept nogil:
    free(table.slots)
    table.slots = NULL
    table.n_slots = 0
    table.n = 0
