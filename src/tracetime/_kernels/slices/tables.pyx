# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the events of slices become: slices, and the tracks, threads and processes that they are on."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from tracetime._kernels.slices.processes cimport Processes
from tracetime._kernels.slices.stacks cimport Slices
from tracetime._kernels.slices.strings cimport NO_NAME, Strings
from tracetime._kernels.slices.tracks cimport (
    TRACK_GLOBAL_INSTANTS, TRACK_OF_THREAD, TRACK_PROCESS_INSTANTS, TrackKey, Tracks,
)

cdef enum:
    NONE = -1


cdef class SliceTables:
    """What the events of slices become.

    strings: their names. seed: of the hashes of ids. limit: of slices.
    """

    def __cinit__(self, Strings strings not None, uint64_t seed, int64_t limit):
        self.strings = strings
        self.processes = Processes(seed)
        self.tracks = Tracks(seed)
        self.slices = Slices(limit)

    cdef int32_t thread_track(self, int32_t thread) except -1 nogil:
        """InternThreadTrack: the one track that is a thread's own."""
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_OF_THREAD
        key.a = thread
        return self.tracks.intern(key, NO_NAME, thread, NONE)

    cdef int32_t global_instants(self, uint32_t machine) except -1 nogil:
        """The track of instants of a whole machine."""
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_GLOBAL_INSTANTS
        key.a = machine
        return self.tracks.intern(key, NO_NAME, NONE, NONE)

    cdef int32_t process_instants(self, int32_t process) except -1 nogil:
        """The track of instants of a process."""
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_PROCESS_INSTANTS
        key.a = process
        return self.tracks.intern(key, NO_NAME, NONE, process)
