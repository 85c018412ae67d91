# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Android's binder: calls between threads, as slices of both threads.

Follows Perfetto's src/trace_processor/importers/ftrace/binder_tracker.cc for transactions; commands
and locks are not read.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.wire cimport Span, load_number
from tracetime._kernels.perfetto.fields cimport *
from tracetime._kernels.perfetto.slice_log cimport *
from tracetime._kernels.slices cimport NO_NAME, OPEN

cdef enum:
    ONE_WAY = 1                 # of the flags of a transaction
    IS_CALL = 0                 # a transaction that was sent, by kind
    IS_ONE_WAY = 1
    IS_REPLY = 2


cdef int32_t category(SliceLog log) except -2 nogil:
    return log.strings.code(<const uint8_t *>b"binder", 6)


cdef int replay_transaction(SliceLog log, int32_t number, Span event) except -1 nogil:
    """BinderTracker::Transaction: the event's thread sends."""
    cdef Entry *e = &log.entries[number]
    cdef bint found
    cdef int64_t id = <int32_t>load_number(event, BINDER_DEBUG_ID, &found)
    cdef bint is_reply = <int32_t>load_number(event, BINDER_REPLY, &found) == 1
    cdef bint one_way = load_number(event, BINDER_FLAGS, &found) & ONE_WAY
    cdef int32_t track = log.tables.thread_track(log.processes.thread(e.machine, <uint32_t>e.thread))
    if is_reply:
        log.slices.finish(e.ts, track, NO_NAME, NO_NAME, number)
    elif one_way:
        log.slices.start(
            e.ts, 0, track, category(log),
            log.strings.code(<const uint8_t *>b"binder transaction async", 24), number,
        )
    else:
        log.slices.start(
            e.ts, OPEN, track, category(log),
            log.strings.code(<const uint8_t *>b"binder transaction", 18), number,
        )
    log.memos.of(MEMO_TRANSACTION, e.machine, id)[0] = (
        (IS_REPLY if is_reply else 0) | (IS_ONE_WAY if one_way else 0)
    )
    return 0


cdef int replay_received(SliceLog log, int32_t number, Span event) except -1 nogil:
    """BinderTracker::TransactionReceived: the event's thread receives."""
    cdef Entry *e = &log.entries[number]
    cdef bint found
    cdef int64_t id = <int32_t>load_number(event, BINDER_DEBUG_ID, &found)
    cdef int32_t *memo = log.memos.of(MEMO_TRANSACTION, e.machine, id)
    cdef int32_t kind = memo[0], track
    if kind == UNSET:
        return 0
    memo[0] = UNSET
    track = log.tables.thread_track(log.processes.thread(e.machine, <uint32_t>e.thread))
    if kind & IS_REPLY:
        log.slices.finish(e.ts, track, NO_NAME, NO_NAME, number)
    elif kind & IS_ONE_WAY:
        log.slices.start(
            e.ts, 0, track, category(log),
            log.strings.code(<const uint8_t *>b"binder async rcv", 16), number,
        )
    else:
        log.slices.start(
            e.ts, OPEN, track, category(log),
            log.strings.code(<const uint8_t *>b"binder reply", 12), number,
        )
    return 0
