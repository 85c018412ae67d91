from libc.stdint cimport int32_t, int64_t, uint8_t

from tracetime._kernels.perfetto.slice_log cimport Entry, Legacy, SliceLog

# A track event that is being replayed.
cdef struct Event:
    Entry *entry
    Legacy *legacy              # NULL: it has none
    int32_t number              # of the entry
    int64_t node                # of its track, or -1
    int32_t thread              # or -1
    int32_t process
    bint by_thread              # the track is that of its thread
