# The tree of tracks that descriptors define: their owners, and which tracks are merged.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_tracker.cc.

cdef enum:
    MERGE_BY_NAME = 0
    MERGE_NOT = 1
    MERGE_BY_KEY = 2

cdef enum Scope:
    SCOPE_UNKNOWN = 0
    SCOPE_THREAD = 1
    SCOPE_PROCESS = 2
    SCOPE_GLOBAL = 3

# A track as its descriptors define it, and what was made of it.
cdef struct Node:
    uint64_t uuid
    uint64_t parent
    uint64_t details                # of a counter, hashed
    int64_t pid
    int64_t tid
    uint32_t machine
    int32_t name
    int32_t merge_key
    uint8_t merge
    bint has_pid
    bint has_tid
    bint is_counter
    bint is_state
    bint separate
    bint synthetic
    # resolved
    uint8_t scope
    bint is_root
    int32_t thread
    int32_t process
    # made
    bint is_made
    int32_t track                   # or else
    int32_t set_
    int32_t track_name
    int32_t track_thread
    int32_t track_process


cdef enum:
    NONE = -1
    DEEPEST_TREE = 100          # kMaxAncestors


cdef class TrackTree:
    """The tracks of a trace by machine and uuid.

    limit: bytes that descriptors may take; what comes later is not kept, but counted as `left_out`.
    """

    cdef uint64_t seed
    cdef Strings strings
    cdef Processes processes
    cdef Tracks tracks
    cdef Node *nodes
    cdef int64_t n, capacity, limit
    cdef readonly int64_t left_out
    cdef HashTable table
    cdef HashTable roots            # threads and processes by what described them
    cdef int32_t *root_nodes
    cdef int64_t *root_keys, n_roots, root_nodes_capacity, root_keys_capacity

    def __cinit__(
        self, uint64_t seed, Strings strings not None, Processes processes not None,
        Tracks tracks not None, int64_t limit
    ):
        self.seed = seed
        self.strings = strings
        self.processes = processes
        self.tracks = tracks
        self.limit = limit

    def __dealloc__(self):
        free(self.nodes)
        free_table(&self.table)
        free_table(&self.roots)
        free(self.root_nodes)
        free(self.root_keys)

    cdef int64_t find(self, uint32_t machine, uint64_t uuid) noexcept nogil:
        cdef uint64_t hash = mix(mix(self.seed ^ uuid) ^ machine), slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot)
        while i >= 0 and (self.nodes[i].uuid != uuid or self.nodes[i].machine != machine):
            i = next_match(&self.table, hash, &slot)
        return i

    cdef int64_t enter(self, uint32_t machine, uint64_t uuid) except -2 nogil:
        """A new node without a name; NONE where there is no more room."""
        cdef Node *made
        if self.capacity * <int64_t>sizeof(Node) + bytes_of(&self.table) >= self.limit:
            self.left_out += 1
            return NONE
        grow(<void **>&self.nodes, &self.capacity, self.n + 1, sizeof(Node))
        made = &self.nodes[self.n]
        memset(made, 0, sizeof(Node))
        made.uuid = uuid
        made.machine = machine
        made.name = made.merge_key = NO_NAME
        made.thread = made.process = made.track = made.set_ = NONE
        self.n += 1
        add_index(&self.table, mix(mix(self.seed ^ uuid) ^ machine), self.n - 1)
        return self.n - 1

    cdef int reserve(self, uint32_t machine, const TrackDescriptor *track) except -1 nogil:
        """TokenizeTrackDescriptorPacket and ReserveDescriptorTrack."""
        cdef Node said, *node
        cdef ThreadDescriptor thread
        cdef ProcessDescriptor process
        cdef Span name
        cdef int64_t i
        if not track.has_uuid or <uint32_t>track.child_ordering > 3:
            return 0
        memset(&said, 0, sizeof(Node))
        said.uuid = track.uuid
        said.parent = track.parent_uuid
        name = track_name(track)
        said.name = self.strings.code_foreign(name) if is_set(name) else NO_NAME
        self.set_merging(track, &said)
        if is_set(track.thread):
            read_thread_descriptor(track.thread, &thread)
            if not thread.has_pid or not thread.has_tid:
                return 0
            said.pid, said.tid = thread.pid, thread.tid
            said.has_pid = said.has_tid = True
            said.separate = track.disallow_merging_with_system_tracks
            said.synthetic = is_sandboxed(track)
        elif is_set(track.process):
            read_process_descriptor(track.process, &process)
            if not process.has_pid:
                return 0
            said.pid = <uint32_t>process.pid
            said.has_pid = True
        elif is_set(track.counter):
            said.is_counter = True
            said.details = hash_bytes(
                self.seed, track.counter.data, track.counter.end - track.counter.data
            )
        else:
            said.is_state = is_set(track.state)
        if said.uuid == 0 and said.parent:
            return 0
        i = self.find(machine, said.uuid)
        if i < 0:
            i = self.enter(machine, said.uuid)
            if i >= 0:
                node = &self.nodes[i]
                said.machine = machine
                said.thread = said.process = said.track = said.set_ = NONE
                node[0] = said
            return 0
        node = &self.nodes[i]
        if (
            node.parent != said.parent or node.has_pid != said.has_pid or node.pid != said.pid
            or node.has_tid != said.has_tid or node.tid != said.tid
            or node.is_counter != said.is_counter or node.is_state != said.is_state
            or node.merge != said.merge or node.merge_key != said.merge_key
        ):
            # A descriptor that contradicts the first one is ignored.
            return 0
        if said.name != NO_NAME and (node.name == NO_NAME or said.merge == MERGE_NOT):
            node.name = said.name
        return 0

    cdef int set_merging(self, const TrackDescriptor *track, Node *said) except -1 nogil:
        """Set which of its siblings a track is one with."""
        cdef char[64] digits
        said.merge_key = NO_NAME
        if track.sibling_merge_behavior == 2:
            said.merge = MERGE_NOT
        elif track.sibling_merge_behavior == 3:
            said.merge = MERGE_BY_KEY
            if is_set(track.sibling_merge_key):
                said.merge_key = self.strings.code_foreign(track.sibling_merge_key)
            elif track.has_sibling_merge_key_int:
                said.merge_key = self.strings.code(<const uint8_t *>digits, snprintf(
                    digits, sizeof(digits), b"sibling_merge_key_int:%lld",
                    <long long>track.sibling_merge_key_int,
                ))
        return 0

    cdef bint is_counter(self, uint32_t machine, uint64_t uuid) noexcept nogil:
        cdef int64_t i = self.find(machine, uuid)
        return i >= 0 and self.nodes[i].is_counter

    # Resolving, once all descriptors are known

    cdef bint is_valid(self, uint32_t machine, uint64_t uuid) noexcept nogil:
        """IsTrackHierarchyValid: every ancestor is known, and the last one has no parent."""
        cdef int64_t i
        cdef int depth
        for depth in range(DEEPEST_TREE):
            if uuid == 0:
                return True
            i = self.find(machine, uuid)
            if i < 0:
                return False
            uuid = self.nodes[i].parent
        return False

    cdef int64_t root(self, int64_t key) except -1 nogil:
        """The place of the node that described a thread (key 2 * n) or process (2 * n + 1)."""
        cdef uint64_t hash = mix(self.seed ^ <uint64_t>key), slot = hash
        cdef int64_t i = next_match(&self.roots, hash, &slot)
        while i >= 0 and self.root_keys[i] != key:
            i = next_match(&self.roots, hash, &slot)
        if i < 0:
            i = self.n_roots
            grow(<void **>&self.root_keys, &self.root_keys_capacity, i + 1, sizeof(int64_t))
            grow(<void **>&self.root_nodes, &self.root_nodes_capacity, i + 1, sizeof(int32_t))
            self.root_keys[i] = key
            self.root_nodes[i] = NONE
            self.n_roots += 1
            add_index(&self.roots, hash, i)
        return i

    cdef int64_t resolve(self, uint32_t machine, uint64_t uuid) except -2 nogil:
        """ResolveDescriptorTrack: the node of a track, its owner resolved; NONE if that fails."""
        cdef int64_t at = self.find(machine, uuid), parent = NONE, root
        cdef Node *node
        cdef int32_t found
        if at >= 0 and self.nodes[at].scope:
            return at
        if at < 0:
            at = self.enter(machine, uuid)
            if at < 0:
                return NONE
            if uuid == 0:
                self.nodes[at].name = self.strings.code(<const uint8_t *>b"Default Track", 13)
        if not self.is_valid(machine, uuid):
            return NONE
        if self.nodes[at].has_tid and self.nodes[at].synthetic:
            self.nodes[at].synthetic = False
            self.nodes[at].tid = synthetic_tid(self.nodes[at].tid, self.nodes[at].pid)
        if self.nodes[at].parent:
            parent = self.resolve(machine, self.nodes[at].parent)
        node = &self.nodes[at]
        if node.has_tid:
            found = self.processes.update_thread(machine, node.tid, node.pid)
            root = self.root(2 * <int64_t>found)
            if self.root_nodes[root] != NONE and self.root_nodes[root] != at:
                # Another track describes this thread: the tid was reused.
                self.root_nodes[root] = <int32_t>at
                self.processes.start_thread(machine, node.tid)
                found = self.processes.update_thread(machine, node.tid, node.pid)
            else:
                self.root_nodes[root] = <int32_t>at
            node.thread = found
            node.process = self.processes.threads[found].process
            node.scope = SCOPE_THREAD
            node.is_root = True
        elif node.has_pid:
            found = self.processes.process(machine, node.pid)
            root = self.root(2 * <int64_t>found + 1)
            if self.root_nodes[root] != NONE and self.root_nodes[root] != at:
                self.root_nodes[root] = <int32_t>at
                found = self.processes.start_process(machine, node.pid, NO_NAME, 0, True)
            else:
                self.root_nodes[root] = <int32_t>at
            node.process = found
            node.scope = SCOPE_PROCESS
            node.is_root = True
        elif parent >= 0:
            node.scope = self.nodes[parent].scope
            node.thread = self.nodes[parent].thread
            node.process = self.nodes[parent].process
        else:
            node.scope = SCOPE_GLOBAL
        return at

    # Making tracks

    cdef int make(self, int64_t at, int32_t event_name) except -1 nogil:
        """InternDescriptorTrackImpl, of a node that was resolved."""
        cdef Node *node = &self.nodes[at]
        cdef Node *parent
        cdef TrackKey key
        cdef int64_t above = NONE
        cdef int32_t name, thread, process
        cdef uint8_t scope = SCOPE_GLOBAL
        if node.is_made:
            return 0
        if node.parent:
            above = self.resolve(node.machine, node.parent)
            if above >= 0:
                # The parent gets a track, too, even without events.
                self.make(above, NO_NAME)
                parent = &self.nodes[above]
                if parent.set_ != NONE:
                    self.tracks.first_track(
                        parent.set_, parent.track_name, parent.track_thread, parent.track_process
                    )
                scope = parent.scope
            node = &self.nodes[at]
        memset(&key, 0, sizeof(TrackKey))
        key.a = <int64_t>node.uuid
        key.b = node.machine
        node.is_made = True
        name = node.name
        if node.is_root:
            if node.scope == SCOPE_THREAD:
                if node.separate:
                    key.kind = TRACK_SEPARATE
                    node.track = self.tracks.intern(key, name, node.thread, NONE)
                else:
                    key.kind = TRACK_OF_THREAD
                    key.a = node.thread
                    key.b = 0
                    node.track = self.tracks.intern(key, NO_NAME, node.thread, NONE)
            else:
                key.kind = TRACK_OF_PROCESS
                node.track = self.tracks.intern(key, name, NONE, node.process)
            return 0
        thread = self.nodes[above].thread if scope == SCOPE_THREAD else NONE
        process = self.nodes[above].process if scope == SCOPE_PROCESS else NONE
        if node.is_counter:
            key.kind = TRACK_COUNTER
            node.track = self.tracks.intern(key, name, thread, process)
            return 0
        if name == NO_NAME:
            name = event_name
        if node.merge == MERGE_NOT or node.is_state:
            key.kind = TRACK_STATE if node.is_state else TRACK_GLOBAL
            node.track = self.tracks.intern(key, name, thread, process)
        elif scope == SCOPE_THREAD:
            self.make_merged(at, TRACK_MERGED_OF_THREAD, thread, name, thread, NONE)
        elif scope == SCOPE_PROCESS:
            self.make_merged(at, TRACK_MERGED_OF_PROCESS, process, name, NONE, process)
        else:
            self.make_merged(at, TRACK_MERGED, node.machine, name, NONE, NONE)
        return 0

    cdef int make_merged(
        self, int64_t at, TrackKind kind, int64_t owner, int32_t name, int32_t thread,
        int32_t process
    ) except -1 nogil:
        cdef Node *node = &self.nodes[at]
        cdef TrackKey key
        key.kind = kind
        key.a = owner
        key.b = <int64_t>node.parent
        key.c = node.merge
        key.d = node.merge_key if node.merge == MERGE_BY_KEY else name
        node.set_ = self.tracks.lane_set(key)
        node.track_name = name
        node.track_thread = thread
        node.track_process = process
        return 0

    cdef int32_t begin(self, int64_t at, int32_t event_name) except -1 nogil:
        """InternDescriptorTrackBegin: the track of a slice that begins."""
        cdef Node *node
        self.make(at, event_name)
        node = &self.nodes[at]
        if node.set_ == NONE:
            return node.track
        return self.tracks.begin(
            node.set_, <int64_t>node.uuid, False, node.track_name, node.track_thread,
            node.track_process,
        )

    cdef int32_t end(self, int64_t at, int32_t event_name) except -1 nogil:
        """InternDescriptorTrackEnd: of one that ends."""
        cdef Node *node
        self.make(at, event_name)
        node = &self.nodes[at]
        if node.set_ == NONE:
            return node.track
        return self.tracks.end(
            node.set_, <int64_t>node.uuid, node.track_name, node.track_thread, node.track_process
        )

    cdef int32_t instant(self, int64_t at, int32_t event_name) except -1 nogil:
        """InternDescriptorTrackInstant: of one that does both at once."""
        self.begin(at, event_name)
        return self.end(at, event_name)

    cdef int32_t legacy(self, int64_t at, int32_t event_name) except -2 nogil:
        """InternDescriptorTrackLegacy: NONE where it would share a track with others."""
        self.make(at, event_name)
        return self.nodes[at].track


cdef inline int64_t synthetic_tid(int64_t tid, int64_t pid) noexcept nogil:
    """CreateSyntheticTid: a unique tid for a thread of a sandbox with its own numbering."""
    return <int64_t>(<uint64_t>pid << 32) | tid


cdef bint is_sandboxed(const TrackDescriptor *track) noexcept nogil:
    """Whether the thread of a track has the number that its sandbox gives it."""
    cdef bint found
    return load_number(track.chrome_thread, CHROME_THREAD_IS_SANDBOXED_TID, &found) != 0
