# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The rows of Chrome's JSON and of systrace, one for each event that has a time."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from tracetime._kernels.chrome_json.details cimport Details
from tracetime._kernels.chrome_json.event cimport (
    TIME_KNOWN, TIME_OVERFLOWS, JsonEvent, SystraceLine,
)
from tracetime._kernels.chrome_json.observer cimport EventObserver
from tracetime._kernels.perfetto.rows cimport Row, Rows

# The numbers index KINDS of formats/chrome_json/reader.py.
cdef enum:
    KIND_EVENT = 0
    KIND_METADATA = 1
    KIND_LINE = 2

# The numbers index errors.REASONS.
cdef enum:
    RESOLVED = 0
    AS_IS = 1
    OVERFLOW = 7


cdef class EventRows(EventObserver):
    """Makes rows of events and lines.

    Args:
        clock, line_clock: the numbers of the clocks that events and lines have.
        snapshots: how many there are.
        batch_rows: of which number on a batch is full.
        details: names them; None: nobody does.

    Attributes:
        rows: those not taken.
    """

    cdef readonly Rows rows
    cdef Details details
    cdef uint32_t clock, line_clock, snapshots
    cdef int64_t batch_rows, n_records

    def __cinit__(
        self, uint32_t clock, uint32_t line_clock, uint32_t snapshots, int64_t batch_rows,
        Details details
    ):
        self.rows = Rows(batch_rows)
        self.clock = clock
        self.line_clock = line_clock
        self.snapshots = snapshots
        self.batch_rows = batch_rows
        self.details = details
        if details is not None:
            self.rows.names = details.batch

    cdef int observe(self, const JsonEvent *event) except -1 nogil:
        cdef Row row
        if event.phase == 0:
            return False
        if event.phase != c"M" and event.ts.state != TIME_KNOWN and (
            event.ts.state != TIME_OVERFLOWS
        ):
            return False
        memset(&row, 0, sizeof(Row))
        row.kind = KIND_EVENT
        row.clock = self.clock
        row.status = OVERFLOW if event.ts.state == TIME_OVERFLOWS else RESOLVED
        if event.phase == c"M":
            # What it says holds for the whole file: its time, if any, is none of an event.
            row.kind = KIND_METADATA
            row.clock = 0
            row.status = AS_IS
        row.packet = <uint64_t>event.index
        row.offset = <uint64_t>event.offset
        row.timestamp = row.source_ns = event.ts.ns
        row.trace_time = event.ts.floor_ns
        row.snapshots = self.snapshots
        self.rows.append(&row)
        if self.details is not None:
            self.details.describe(event)
        return self.is_full()

    cdef int observe_line(self, const SystraceLine *line) except -1 nogil:
        cdef Row row
        memset(&row, 0, sizeof(Row))
        row.kind = KIND_LINE
        row.clock = self.line_clock
        row.status = OVERFLOW if line.state == TIME_OVERFLOWS else RESOLVED
        row.packet = <uint64_t>line.index
        row.offset = <uint64_t>line.offset
        row.timestamp = row.source_ns = line.ns
        row.trace_time = line.floor_ns
        row.snapshots = self.snapshots
        self.rows.append(&row)
        if self.details is not None:
            self.details.describe_line(line)
        return self.is_full()

    cdef inline bint is_full(self) noexcept nogil:
        return self.rows.n >= self.batch_rows or (
            self.details is not None and self.details.batch.is_full()
        )
