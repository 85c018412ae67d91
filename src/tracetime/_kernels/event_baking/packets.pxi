# Packets of track events from columns: slices, instants and counters of a trace that is written.
#
# Every packet says all of itself: names and categories are not interned, and clocks are named. So
# packets of many sequences can lie in one file in any order.

cdef enum:
    NO_TYPE = 0                 # TrackEvent.Type
    SLICE_BEGIN = 1
    SLICE_END = 2
    INSTANT = 3
    COUNTER = 4
    # trace_processor makes the thread that a sequence describes an argument of its other events.
    NO_SEQUENCE = 0

# A slice that has not ended.
cdef struct OpenSlice:
    int64_t end                 # where it ends; INT64_LOW: nowhere
    int64_t end_latest          # until when it can have ended
    int64_t closing             # its name and category in `closings`, as fields of its end
    int64_t closing_size        # 0: its end needs none, as no open slice lies in it
    int32_t below               # the slice that it lies in, or the next free one
    bint written
    int64_t row                 # which it is

# An event that was written: of a row given to `put_slices` and the others, and its time.
cdef struct Written:
    int64_t row, ns
    int64_t is_end

cdef struct OpenTrack:
    int64_t reached             # the time of its last event
    int32_t top
    int32_t height


cdef class EventPackets:
    """Writes packets; `take` gives them.

    sequence: their packet sequence. clock: what timestamps are read in. machine: its machine_id;
    0 for the host.

    Attributes:
        kept: begins and ends that came to the one before them on their track, within their bars.
        forced: the same beyond their bars.
        early: slices before time 0, which Perfetto does not take: they are left out.
    """

    cdef readonly int64_t kept, forced, early
    cdef uint32_t sequence, clock, machine
    cdef Bytes out, body, closings, inner
    cdef Arguments arguments
    cdef OpenTrack *tracks
    cdef int64_t n_tracks, tracks_capacity
    cdef OpenSlice *slices
    cdef int64_t n_slices, slices_capacity
    cdef int32_t free_slice
    cdef const uint64_t[::1] uuids
    cdef Written *written
    cdef int64_t n_written, written_capacity
    cdef int64_t row            # of the event at hand
    cdef bint is_end
    cdef int64_t n_rows         # slices of the batches before

    def __init__(self, uint32_t sequence, uint32_t clock, uint32_t machine):
        self.sequence, self.clock, self.machine = sequence, clock, machine
        self.free_slice = NONE
        self.arguments = Arguments()

    def __dealloc__(self):
        free(self.out.data)
        free(self.body.data)
        free(self.closings.data)
        free(self.inner.data)
        free(self.tracks)
        free(self.slices)
        free(self.written)

    def __len__(self):
        return self.out.n

    def take(self):
        """The packets since the last time."""
        packets = (<char *>self.out.data)[:self.out.n] if self.out.n else b""
        self.out.n = 0
        return packets

    def take_written(self):
        """The events since the last time, as int64[3, n] in the order in which they are written.

        Their row, their time, and whether they end a slice. Slices are counted over all batches, what
        else is put from its own first row.
        """
        made = np.empty((3, self.n_written), np.int64)
        cdef int64_t[:, ::1] out = made
        cdef int64_t i
        for i in range(self.n_written):
            out[0, i] = self.written[i].row
            out[1, i] = self.written[i].ns
            out[2, i] = self.written[i].is_end
        self.n_written = 0
        return made

    def put_tracks(self, uint64_t first, const uint64_t[::1] parents, Texts names not None):
        """Write tracks of such names, numbered from first, that are merged with no others.

        parents: the tracks that they are within; 0 for none.
        """
        cdef int64_t i, n = parents.shape[0]
        if n != names.codes.shape[0]:
            raise IndexError("columns have one length")
        with nogil:
            for i in range(n):
                self.put_track(first + <uint64_t>i, parents[i], names.of(i))

    # wide: the columns of slices
    def put_slices(
        self, const int64_t[::1] ts, const int64_t[::1] dur, const int64_t[::1] latest,
        const int64_t[::1] end_latest, const uint8_t[::1] holds_open, const int32_t[::1] depth,
        const int32_t[::1] track, const uint64_t[::1] uuids, Details details not None, Flows flows,
    ):
        """Begin slices, and end those before them on their tracks.

        Slices of a track come in the order in which they begin, what holds others before them.

        ts, dur: ns; dur is -1 of those that do not end. latest, end_latest: until when each can
        have begun and ended. holds_open: whether it ends, and one that does not lies in it.
        track: from 0; uuids: of every track so far.
        """
        cdef int64_t i, n = ts.shape[0]
        if not n == dur.shape[0] == latest.shape[0] == depth.shape[0] == track.shape[0]:
            raise IndexError("columns have one length")
        if not n == details.names.codes.shape[0] == end_latest.shape[0] == holds_open.shape[0]:
            raise IndexError("columns have one length")
        if flows is not None and not n == flows.ends.shape[0] == flows.ending_ends.shape[0]:
            raise IndexError("columns have one length")
        for i in range(n):
            if not 0 <= track[i] < uuids.shape[0]:
                raise IndexError("there are not so many tracks")
        self.uuids = uuids
        self.make_tracks(uuids.shape[0])
        with nogil:
            for i in range(n):
                self.end_until(track[i], depth[i], ts[i])
                self.row = self.n_rows + i
                self.begin(track[i], ts[i], dur[i], latest[i], end_latest[i])
                if self.tracks[track[i]].reached < 0:
                    self.early += 1
                    continue
                if holds_open[i]:
                    self.keep_closing(details, i, track[i])
                self.start_body(SLICE_BEGIN, uuids[track[i]])
                self.put_details(details, i)
                if flows is not None:
                    flows.put(i, self.tracks[track[i]].reached, &self.body)
                self.finish(self.tracks[track[i]].reached)
                if flows is not None:
                    self.put_named_flows(flows, i, self.tracks[track[i]].reached, uuids[track[i]])
        self.n_rows += n

    def end_all(self):
        """End the slices that end, on all tracks."""
        cdef int64_t i
        with nogil:
            for i in range(self.n_tracks):
                self.end_until(<int32_t>i, 0, INT64_LOW)

    def put_instants(
        self, const int64_t[::1] ts, const uint64_t[::1] uuids, Details details not None
    ):
        """Write instants; ts: ns. uuids: of the track of each."""
        cdef int64_t i, n = ts.shape[0]
        if not n == uuids.shape[0] == details.names.codes.shape[0]:
            raise IndexError("columns have one length")
        with nogil:
            for i in range(n):
                self.start_body(INSTANT, uuids[i])
                self.put_details(details, i)
                self.row = i
                self.finish(ts[i])

    def put_values(
        self, const int64_t[::1] ts, const uint64_t[::1] uuids, const double[::1] values
    ):
        """Write values of counters; ts: ns. uuids: of the track of each."""
        cdef int64_t i, n = ts.shape[0]
        cdef uint8_t field[16]
        if not n == uuids.shape[0] == values.shape[0]:
            raise IndexError("columns have one length")
        with nogil:
            for i in range(n):
                self.start_body(COUNTER, uuids[i])
                put_bytes(
                    &self.body, field,
                    put_double(field, TRACK_EVENT_DOUBLE_COUNTER_VALUE, values[i]) - field,
                )
                self.row = i
                self.finish(ts[i])

    # Slices that are open

    cdef int make_tracks(self, int64_t n) except -1 nogil:
        grow(<void **>&self.tracks, &self.tracks_capacity, n, sizeof(OpenTrack))
        while self.n_tracks < n:
            self.tracks[self.n_tracks].reached = INT64_LOW
            self.tracks[self.n_tracks].top = NONE
            self.tracks[self.n_tracks].height = 0
            self.n_tracks += 1
        return 0

    cdef int end_until(self, int32_t track, int32_t height, int64_t ns) except -1 nogil:
        """End slices until so many are open; where one has no end, a later one ends it at ns."""
        cdef OpenTrack *t = &self.tracks[track]
        cdef OpenSlice *slice
        cdef int32_t top
        cdef int64_t end
        while t.height > height:
            top = t.top
            slice = &self.slices[top]
            end = slice.end if slice.end != INT64_LOW else ns
            t.top = slice.below
            t.height -= 1
            slice.below = self.free_slice
            self.free_slice = top
            if end == INT64_LOW or not slice.written:
                continue
            self.reach(t, end, slice.end_latest)
            self.start_body(SLICE_END, self.uuids[track])
            put_bytes(&self.body, self.closings.data + slice.closing, slice.closing_size)
            self.row, self.is_end = slice.row, True
            self.finish(t.reached)
            self.is_end = False
        return 0

    cdef void reach(self, OpenTrack *t, int64_t ns, int64_t latest) noexcept nogil:
        """Go to an event of a track: not before the last one, whatever its bar."""
        if ns < t.reached:
            if latest < t.reached:
                self.forced += 1
            else:
                self.kept += 1
        t.reached = max(t.reached, ns)

    cdef int begin(
        self, int32_t track, int64_t ts, int64_t dur, int64_t latest, int64_t end_latest
    ) except -1 nogil:
        """Open a slice: not before the last event of its track, which is `reached` then."""
        cdef OpenTrack *t = &self.tracks[track]
        cdef int32_t place = self.free_slice
        self.reach(t, ts, latest)
        if place == NONE:
            grow(
                <void **>&self.slices, &self.slices_capacity, self.n_slices + 1, sizeof(OpenSlice)
            )
            place = <int32_t>self.n_slices
            self.n_slices += 1
        else:
            self.free_slice = self.slices[place].below
        self.slices[place].end = INT64_LOW if dur < 0 else saturating_add(ts, dur)
        self.slices[place].end_latest = end_latest
        self.slices[place].closing = self.slices[place].closing_size = 0
        self.slices[place].below = t.top
        self.slices[place].written = t.reached >= 0
        self.slices[place].row = self.row
        t.top = place
        t.height += 1
        return 0

    cdef int keep_closing(self, Details details, int64_t row, int32_t track) except -1 nogil:
        """Keep what the end of the slice on top says: which of those that are open it ends."""
        cdef OpenSlice *slice = &self.slices[self.tracks[track].top]
        slice.closing = self.closings.n
        self.body.n = 0
        self.put_texts(details.names.of(row), details.categories.of(row))
        put_bytes(&self.closings, self.body.data, self.body.n)
        slice.closing_size = self.body.n
        return 0

    # Packets

    cdef int put_track(self, uint64_t uuid, uint64_t parent, Span name) except -1 nogil:
        cdef uint8_t fields[2 * (LONGEST_TAG + LONGEST_VARINT)]
        cdef uint8_t *p = put_number(fields, TRACK_DESCRIPTOR_UUID, uuid)
        if parent:
            p = put_number(p, TRACK_DESCRIPTOR_PARENT_UUID, parent)
        self.body.n = self.inner.n = 0
        put_bytes(&self.body, fields, p - fields)
        put_content(&self.body, TRACK_DESCRIPTOR_NAME, name)
        p = put_number(
            fields, TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR, SIBLING_MERGE_BEHAVIOR_NONE
        )
        put_bytes(&self.body, fields, p - fields)
        put_content(&self.inner, PACKET_TRACK_DESCRIPTOR, span(&self.body))
        p = put_number(fields, PACKET_TRUSTED_PACKET_SEQUENCE_ID, NO_SEQUENCE)
        if self.machine:
            p = put_number(p, PACKET_MACHINE_ID, self.machine)
        put_bytes(&self.inner, fields, p - fields)
        return put_content(&self.out, TRACE_PACKET, span(&self.inner))

    cdef int start_body(self, int type, uint64_t uuid) except -1 nogil:
        cdef uint8_t fields[2 * (LONGEST_TAG + LONGEST_VARINT)]
        cdef uint8_t *p = put_number(fields, TRACK_EVENT_TYPE, <uint64_t>type)
        p = put_number(p, TRACK_EVENT_TRACK_UUID, uuid)
        self.body.n = 0
        return put_bytes(&self.body, fields, p - fields)

    cdef int finish(self, int64_t ns) except -1 nogil:
        """Append the packet of the event in `body`."""
        cdef uint8_t head[5 * (LONGEST_TAG + LONGEST_VARINT)]
        cdef uint8_t frame[LONGEST_TAG + LONGEST_VARINT]
        cdef uint8_t *p = put_number(head, PACKET_TIMESTAMP, <uint64_t>ns)
        cdef uint8_t *q
        p = put_number(p, PACKET_TRUSTED_PACKET_SEQUENCE_ID, self.sequence)
        if self.machine:
            p = put_number(p, PACKET_MACHINE_ID, self.machine)
        p = put_number(p, PACKET_TIMESTAMP_CLOCK_ID, self.clock)
        p = put_varint(put_tag(p, PACKET_TRACK_EVENT, WIRE_BYTES), <uint64_t>self.body.n)
        q = put_varint(
            put_tag(frame, TRACE_PACKET, WIRE_BYTES), <uint64_t>((p - head) + self.body.n)
        )
        put_bytes(&self.out, frame, q - frame)
        put_bytes(&self.out, head, p - head)
        put_bytes(&self.out, self.body.data, self.body.n)
        grow(
            <void **>&self.written, &self.written_capacity, self.n_written + 1, sizeof(Written)
        )
        self.written[self.n_written].row = self.row
        self.written[self.n_written].ns = ns
        self.written[self.n_written].is_end = self.is_end
        self.n_written += 1
        return 0

    cdef int put_details(self, Details details, int64_t row) except -1 nogil:
        cdef Span text
        self.put_texts(details.names.of(row), details.categories.of(row))
        if details.args is not None:
            text = details.args.of(row)
            if text.data != NULL and text.end > text.data:
                self.arguments.put(text, &self.body)
        return 0

    cdef int put_texts(self, Span name, Span category) except -1 nogil:
        if name.data != NULL:
            put_content(&self.body, TRACK_EVENT_NAME, name)
        if category.data != NULL:
            put_content(&self.body, TRACK_EVENT_CATEGORIES, category)
        return 0

    cdef int put_named_flows(
        self, Flows flows, int64_t row, int64_t ns, uint64_t uuid
    ) except -1 nogil:
        """The flows with names, as events of their own within the slice that has just begun.

        They are those of Chrome's: no other has a name. A step ends at the slice around it.
        """
        cdef int64_t i, one
        for i in range(flows.ends[row - 1] if row else 0, flows.ends[row]):
            self.put_named_flow(flows, flows.numbers[i], c"s", ns, uuid)
        for i in range(flows.ending_ends[row - 1] if row else 0, flows.ending_ends[row]):
            one = flows.ending_numbers[i]
            if flows.arrows.begun[one] <= ns:
                self.put_named_flow(flows, one, c"t", ns, uuid)
        return 0

    cdef int put_named_flow(
        self, Flows flows, int64_t one, uint8_t phase, int64_t ns, uint64_t uuid
    ) except -1 nogil:
        cdef uint8_t fields[2 * (LONGEST_TAG + LONGEST_VARINT)]
        cdef uint8_t *p = put_number(fields, LEGACY_EVENT_PHASE, phase)
        if not flows.arrows.named[one]:
            return 0
        p = put_number(p, LEGACY_EVENT_UNSCOPED_ID, flows.arrows.first + <uint64_t>one)
        self.start_body(NO_TYPE, uuid)
        self.put_texts(flows.arrows.names.of(one), flows.arrows.categories.of(one))
        self.inner.n = 0
        put_bytes(&self.inner, fields, p - fields)
        put_content(&self.body, TRACK_EVENT_LEGACY_EVENT, span(&self.inner))
        return self.finish(ns)
