# Whole packets on their way to the file, and the names that packet sequences have interned.
#
# Every method runs from its start to its end under the GIL and calls no Python code in between, so
# that threads may share a buffer without a lock, and a packet is never incomplete.

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    PyObject *PyDict_GetItemWithError(object table, object key) except? NULL

cdef enum:
    FLAG_INCREMENTAL_STATE_CLEARED = 1
    MOST_NAMES = 1 << 16        # to a sequence, until its names are forgotten
    MOST_NAME_BYTES = 1 << 22
    SMALLEST_BUFFER = 1 << 16


CLOSED = "the recording is closed: nothing can be added to it"


class TimestampError(ValueError):
    """What is wrong with what a caller gave; the facade makes a UsageError of it."""


cdef class PacketBuffer:
    """Whole packets on their way to the file.

    event_limit: bytes that may wait; an event beyond that is dropped.
    size_limit: bytes that may be put in over the buffer's life with events; 0 for no such limit.
    wake_at: bytes waiting at which a call says, once, that the buffer is to be emptied.
    """

    def __cinit__(self, int64_t event_limit, int64_t size_limit, int64_t wake_at):
        self.event_limit = event_limit
        self.size_limit = size_limit
        self.wake_at = wake_at

    def __dealloc__(self):
        free(self.data)

    def __len__(self):
        return self.n

    cdef uint8_t *reserve(self, int64_t size) except NULL:
        if self.n + size > self.capacity:
            grow(<void **>&self.data, &self.capacity, max(self.n + size, SMALLEST_BUFFER), 1)
        return self.data + self.n

    cdef bint refuses(self, int64_t size) noexcept:
        """Whether an event of that size is one too many."""
        size += self.kept
        return self.abandoned or self.n + self.in_flight + size > self.event_limit or (
            self.size_limit > 0 and self.total + size > self.size_limit
        )

    cdef bint added(self, int64_t size) noexcept:
        """Count what was put at the end; whether it is time to empty the buffer."""
        self.n += size
        self.total += size
        if self.n >= self.wake_at and not self.woken:
            self.woken = True
            return True
        return False

    def put(self, bytes packet not None, bint empties=True):
        """Add a packet that is never dropped; whether it is time to empty the buffer.

        empties: whether the caller acts on that; if not, the next call says so again.
        """
        cdef int64_t size = len(packet)
        cdef bint full
        if self.closed:
            raise TimestampError(CLOSED)
        if self.abandoned:
            return False
        memcpy(self.reserve(size), <const char *>packet, <size_t>size)
        full = self.added(size)
        if full and not empties:
            self.woken = False
        return full

    def has_room(self, int64_t size):
        """Whether `size_limit` leaves room for so many bytes; if not, no event fits from now on."""
        if self.closed or self.size_limit == 0 or (
            self.total + self.kept + size <= self.size_limit
        ):
            return True
        self.size_limit = max(1, min(self.size_limit, self.total))
        return False

    def close(self):
        """Take no more."""
        self.closed = True

    def abandon(self):
        """Drop all packets, now and later: nothing empties this copy."""
        self.abandoned = True
        self.n = 0
        free(self.data)
        self.data = NULL
        self.capacity = 0

    def take(self):
        """All that waits, as bytes; it counts as in flight until `written`."""
        cdef bytes taken = PyBytes_FromStringAndSize(<const char *>self.data, self.n)
        self.taken += self.n
        self.in_flight += self.n
        self.n = 0
        self.woken = False
        if self.capacity > 4 * self.wake_at:
            # Memory for a burst is freed.
            free(self.data)
            self.data = NULL
            self.capacity = 0
        return taken

    def written(self, int64_t total):
        """So many of all the bytes ever taken are in the file."""
        self.in_flight = self.taken - total
        # Who was to empty it meanwhile may have found another thread doing so.
        self.woken = False

    def go_back(self, int64_t total):
        """Give up all that came after the first `total` bytes, which are in the file."""
        self.n = self.in_flight = 0
        self.taken = self.total = total
        self.woken = False

    def lose(self, int64_t events):
        """Count as dropped events that were put in and reach no file."""
        self.dropped += events


cdef class Sequence:
    """A packet sequence: the text it has interned, and whether what went before was lost."""

    cdef PacketBuffer buffer
    cdef readonly uint32_t id
    cdef readonly uint32_t machine      # its machine_id; 0: the host
    cdef readonly uint32_t clock        # default of its timestamps; 0: each packet says
    # Interned since the state was cleared, by their numbers.
    cdef dict names, categories
    cdef dict arguments                 # names of arguments
    cdef dict strings                   # values of arguments
    cdef int64_t interned, interned_bytes
    cdef bint begun, valid, gap

    def __init__(
        self, PacketBuffer buffer not None, uint32_t id, uint32_t clock, uint32_t machine=0
    ):
        self.buffer = buffer
        self.id = id
        self.machine = machine
        self.clock = clock
        self.forget()

    cdef int forget(self) except -1:
        self.names = {}
        self.categories = {}
        self.arguments = {}
        self.strings = {}
        self.interned = 0
        self.interned_bytes = 0
        return 0

    def begin(self):
        """Start the incremental state: the sequence's first packet, or after a gap."""
        cdef bytes packet = state_packet(
            self.id, FLAG_INCREMENTAL_STATE_CLEARED, not self.begun, self.gap, self.clock,
            self.machine,
        )
        self.forget()
        self.buffer.put(packet, False)
        self.begun = True
        self.valid = True
        self.gap = False

    cdef int prepare(self) except -1:
        """Make the incremental state valid, and small."""
        if not self.valid or self.interned >= MOST_NAMES or self.interned_bytes > MOST_NAME_BYTES:
            self.begin()
        return 0

    cdef uint64_t intern(self, dict table, uint32_t field, str text, Bytes *data) except 0:
        """The number of a text in one of the tables; a new one's entry is appended to `data`.

        field: of interned_data, for that table.
        """
        cdef PyObject *found = PyDict_GetItemWithError(table, text)
        cdef Py_ssize_t size
        cdef const char *bytes_of
        cdef uint64_t iid, entry
        cdef uint8_t *p
        if found != NULL:
            return <object>found
        bytes_of = PyUnicode_AsUTF8AndSize(text, &size)
        iid = <uint64_t>len(table) + 1
        entry = <uint64_t>(1 + size_of_varint(iid) + 1 + size_of_varint(size) + size)
        grow(<void **>&data.data, &data.capacity, data.n + 16 + <int64_t>entry, 1)
        table[text] = iid
        self.interned += 1
        self.interned_bytes += size
        p = put_varint(put_tag(data.data + data.n, field, WIRE_BYTES), entry)
        p = put_number(p, INTERNED_STRING_IID, iid)
        p = put_varint(put_tag(p, INTERNED_STRING_STR, WIRE_BYTES), <uint64_t>size)
        memcpy(p, bytes_of, <size_t>size)
        data.n = p + size - data.data
        return iid

    cdef int lose(self) except -1:
        """Count an event that does not fit; what was interned for it is forgotten."""
        self.buffer.dropped += 1
        self.gap = True
        self.valid = False
        return 0
