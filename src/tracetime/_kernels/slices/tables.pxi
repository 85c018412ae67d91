# What the events of slices become: slices, and the tracks, threads and processes that they are on.

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
