# Track events to bytes: more than a million a second, without an object for any.
#
# Whole packets are put into a buffer that another thread empties into a file
# (formats/perfetto/write/writer.py). Every method calls Python code, if at all, before the first byte
# of its packet, and holds the GIL from there to the end: threads may share one writer without a lock.

cdef enum:
    FLAG_NEEDS_INCREMENTAL_STATE = 2
    # Room for an event but its texts and details: packet header, timestamp, clock, sequence, flags,
    # the header of interned data, and the track event with a counter's value.
    ROOM = 160
    LONGEST_NAME = 1 << 16


cdef class Track:
    """Where events go: a process, a thread, a track of its own, or a counter.

    Attributes:
        uuid: as in the trace.
        name: what it was made with, if anything.
        is_counter: whether it takes values, and nothing else.
    """

    def __init__(self, writer, uint64_t uuid, name, bint is_counter):
        self.writer = writer
        self.uuid = uuid
        self.name = name
        self.is_counter = is_counter

    def __repr__(self):
        return f"<Track {self.uuid}: {self.name}>"


cdef object LIMIT = 1 << 63

cdef Value NO_VALUE = Value(0, 0, False)

cdef class EventWriter:
    """Puts events into the buffer.

    resolve: called with a clock that is not known yet, as the caller named it; returns its
    EventClock, which is kept, or raises.
    plain: called with details that are not plain yet; returns plain ones, or raises.
    refusal: called with an error of the kernel and the timestamp; returns what is raised for it.

    Details are a tuple: category, flow, the flow that ends, arguments; each may be None. Plain ones
    are strings, whole numbers of 64 bits, tuples of these, and for arguments a dictionary of what
    `annotations` takes.
    """

    cdef PacketBuffer buffer
    cdef dict clocks
    cdef object resolve, plain, refusal, writer, forked
    # Of the packet under construction: entries of interned data, and the event's details.
    cdef Bytes data, details

    cdef EventWriter part       # a forked child's

    def __init__(self, PacketBuffer buffer not None, resolve, plain, refusal, writer):
        self.buffer = buffer
        self.clocks = {}
        self.resolve = resolve
        self.plain = plain
        self.refusal = refusal
        self.writer = writer

    def __dealloc__(self):
        free(self.data.data)
        free(self.details.data)

    cdef EventClock clock_of(self, clock):
        cdef object found
        try:
            found = self.clocks.get(clock)
        except TypeError:
            found = None
        if found is None:
            found = self.resolve(clock)
            self.clocks[clock] = found
        return <EventClock>found

    def instant(self, name, timestamp, clock, Track track not None, tuple details=None):
        """Write an instant; whether it is time to empty the buffer, as for all below."""
        return self.event(INSTANT, name, timestamp, clock, track, None, details)

    def begin(self, name, timestamp, clock, Track track not None, tuple details=None):
        """Write the beginning of a slice."""
        return self.event(SLICE_BEGIN, name, timestamp, clock, track, None, details)

    def end(self, timestamp, clock, Track track not None, tuple details=None):
        """Write the end of the slice that began last on the track."""
        return self.event(SLICE_END, None, timestamp, clock, track, None, details)

    def counter(self, value, timestamp, clock, Track track not None, tuple details=None):
        """Write a counter's value, an int in int64 or a float."""
        return self.event(COUNTER, None, timestamp, clock, track, value, details)

    def complete(self, name, start, duration, clock, Track track not None, tuple details=None):
        """Write the beginning of a slice and its end: both, or neither."""
        return self.span(name, start, duration, clock, track, details)

    def abandon(self, forked):
        """In a forked child: events go to the EventWriter that `forked` returns, if it does."""
        self.forked = forked
        self.part = None

    cdef EventWriter childs(self):
        if self.part is None:
            self.part = self.forked()
        return self.part

    cdef bint span(
        self, name, start, duration, clock, Track track, tuple details
    ) except *:
        cdef EventWriter part
        if self.forked is not None:
            part = self.childs()
            return part is not None and part.span(name, start, duration, clock, track, details)
        try:
            return self.slice(name, start, duration, clock, track, details)
        except (TimestampError, TypeError, OverflowError, UnicodeEncodeError) as error:
            raise self.refusal(error, start) from error

    cdef bint slice(
        self, name, start, duration, clock, Track track, tuple details
    ) except *:
        cdef EventClock source = self.clock_of(clock)
        cdef int64_t begin_ns, end_ns
        cdef Value none = NO_VALUE
        details = self.checked(SLICE_BEGIN, name, track, details)
        source.interval(whole(start), whole_duration(duration), &begin_ns, &end_ns)
        cdef int written = self.put(
            SLICE_BEGIN, name, begin_ns, source, track, &none, details, END_ROOM
        )
        if written:
            written |= self.put(SLICE_END, None, end_ns, source, track, &none, None, -END_ROOM)
        return written == FULL

    cdef bint event(
        self, int kind, name, timestamp, clock, Track track, value, tuple details
    ) except *:
        return self.write(kind, name, timestamp, clock, track, value, details, 0) == FULL

    cdef EventWriter process(self):
        """Which writer has this process's events; None where they are lost."""
        return self if self.forked is None else self.part

    # wide: what an event can have
    cdef int write(
        self, int kind, name, timestamp, clock, Track track, value, tuple details, int64_t kept
    ) except -1:
        """Write an event as `put` does, of which `kept` is."""
        cdef EventWriter part
        if self.forked is not None:
            part = self.childs()
            return 0 if part is None else part.write(
                kind, name, timestamp, clock, track, value, details, kept
            )
        try:
            return self.single(kind, name, timestamp, clock, track, value, details, kept)
        except (TimestampError, TypeError, OverflowError, UnicodeEncodeError) as error:
            raise self.refusal(error, timestamp) from error

    # wide: what an event can have
    cdef int single(
        self, int kind, name, timestamp, clock, Track track, value, tuple details, int64_t kept
    ) except -1:
        cdef EventClock source = self.clock_of(clock)
        cdef Value number = NO_VALUE
        cdef int64_t ns
        # Whatever may run Python's code or raise comes before `put`.
        details = self.checked(kind, name, track, details)
        if timestamp is None:
            ns = source.now()
        elif source.scaled:
            ns = source.convert(whole(timestamp))
        else:
            ns = whole(timestamp)
            if ns < 0:
                raise TimestampError(f"a timestamp is not below 0: {ns}")
        if kind == COUNTER:
            number = number_of(value)
        return self.put(kind, name, ns, source, track, &number, details, kept)

    cdef tuple checked(self, int kind, name, Track track, tuple details):
        """The details made plain; raises where the event cannot be written."""
        if track.writer is not self.writer or track.is_counter != (kind == COUNTER):
            raise TimestampError(self.wrong_track(track, kind))
        if details is not None and not (
            is_text_or_none(details[0]) and is_flow_or_none(details[1])
            and is_flow_or_none(details[2])
            and (details[3] is None or are_plain(details[3]))
        ):
            details = self.plain(details)
        cdef Py_ssize_t size
        if kind == INSTANT or kind == SLICE_BEGIN:
            if not PyUnicode_CheckExact(name):
                raise TimestampError(f"an event's name is a string, not {name!r}")
            PyUnicode_AsUTF8AndSize(name, &size)
            if size > LONGEST_NAME:
                raise TimestampError(
                    f"an event's name has {LONGEST_NAME} bytes at most, not {size}"
                )
        if self.buffer.closed:
            raise TimestampError(CLOSED)
        return details

    # wide: all of one packet
    cdef int put(  # long: nothing may interrupt the bytes
        self, int kind, name, int64_t ns, EventClock source, Track track, Value *value,
        tuple details, int64_t kept,
    ) except -1:
        """Write a packet of what was checked, unless it does not fit.

        kept: bytes to keep for what is sure to follow, which has the same below 0, and fits: if
        its details do not, they are left out.

        Returns 0 where it does not fit, FULL where it is time to empty the buffer, else WRITTEN.
        """
        cdef Sequence sequence = source.sequence
        cdef Py_ssize_t text_size = 0
        cdef uint64_t iid = 0
        if name is not None:
            PyUnicode_AsUTF8AndSize(name, &text_size)
        if kept < 0:
            self.buffer.kept += kept
        elif self.buffer.refuses(ROOM + text_size + kept):
            sequence.lose()
            return 0
        sequence.prepare()
        # Where an error breaks it off, what is interned here counts as lost.
        sequence.valid = False
        self.data.n = self.details.n = 0
        if name is not None:
            iid = sequence.intern(
                sequence.names, INTERNED_DATA_EVENT_NAMES, <str>name, &self.data
            )
        if details is not None:
            self.put_details(sequence, details)
            if self.buffer.refuses(ROOM + self.data.n + self.details.n + max(kept, 0)):
                if kept >= 0:
                    sequence.lose()
                    return 0
                # What was interned for them is forgotten.
                sequence.prepare()
                sequence.valid = False
                self.data.n = self.details.n = 0
        # The packet's length comes before it: one byte's room, more is made where it takes more.
        cdef uint8_t *start = self.buffer.reserve(ROOM + self.data.n + self.details.n)
        cdef uint8_t *body = start + 2

        cdef uint8_t inner[64]
        cdef uint8_t *p = put_number(inner, TRACK_EVENT_TYPE, <uint64_t>kind)
        p = put_number(p, TRACK_EVENT_TRACK_UUID, track.uuid)
        if iid:
            p = put_number(p, TRACK_EVENT_NAME_IID, iid)
        if kind == COUNTER:
            if value.is_real:
                p = put_double(p, TRACK_EVENT_DOUBLE_COUNTER_VALUE, value.real)
            else:
                p = put_number(p, TRACK_EVENT_COUNTER_VALUE, <uint64_t>value.count)
        cdef int64_t inner_size = p - inner

        p = put_number(body, PACKET_TIMESTAMP, <uint64_t>ns)
        p = put_number(p, PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence.id)
        if sequence.machine:
            p = put_number(p, PACKET_MACHINE_ID, sequence.machine)
        p = put_number(p, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_INCREMENTAL_STATE)
        if source.explicit:
            p = put_number(p, PACKET_TIMESTAMP_CLOCK_ID, source.clock)
        if self.data.n:
            p = put_varint(put_tag(p, PACKET_INTERNED_DATA, WIRE_BYTES), <uint64_t>self.data.n)
            memcpy(p, self.data.data, <size_t>self.data.n)
            p += self.data.n
        p = put_varint(
            put_tag(p, PACKET_TRACK_EVENT, WIRE_BYTES), <uint64_t>(inner_size + self.details.n)
        )
        memcpy(p, inner, <size_t>inner_size)
        p += inner_size
        if self.details.n:
            memcpy(p, self.details.data, <size_t>self.details.n)
            p += self.details.n
        cdef int64_t size = p - body
        cdef int header = size_of_varint(<uint64_t>size)
        if header > 1:
            memmove(start + 1 + header, body, <size_t>size)
        put_varint(put_tag(start, TRACE_PACKET, WIRE_BYTES), <uint64_t>size)
        sequence.valid = True
        if kept > 0:
            self.buffer.kept += kept
        return FULL if self.buffer.added(1 + header + size) else WRITTEN

    cdef int put_details(self, Sequence sequence, tuple details) except -1:
        """The fields of the event for plain details."""
        cdef object category = details[0]
        if category is not None:
            if PyUnicode_CheckExact(category):
                self.put_category(sequence, <str>category)
            else:
                for one in <tuple>category:
                    self.put_category(sequence, <str>one)
        self.put_flows(TRACK_EVENT_FLOW_IDS, details[1])
        self.put_flows(TRACK_EVENT_TERMINATING_FLOW_IDS, details[2])
        if details[3] is not None:
            put_annotations(
                &self.details, &self.data, sequence, TRACK_EVENT_DEBUG_ANNOTATIONS,
                <dict>details[3],
            )
        return 0

    cdef int put_category(self, Sequence sequence, str category) except -1:
        cdef uint8_t field[16]
        cdef uint64_t iid = sequence.intern(
            sequence.categories, INTERNED_DATA_EVENT_CATEGORIES, category, &self.data
        )
        put_bytes(
            &self.details, field, put_number(field, TRACK_EVENT_CATEGORY_IIDS, iid) - field
        )
        return 0

    cdef int put_flows(self, uint32_t number, flows) except -1:
        cdef uint8_t field[16]
        if flows is None:
            return 0
        if PyLong_CheckExact(flows):
            put_bytes(&self.details, field, put_fixed(field, number, <uint64_t>flows) - field)
            return 0
        for flow in <tuple>flows:
            put_bytes(&self.details, field, put_fixed(field, number, <uint64_t>flow) - field)
        return 0

    cdef wrong_track(self, Track track, int kind):
        """Why a track does not take an event."""
        if track.writer is not self.writer:
            return f"{track!r} is another recording's: make tracks with the one they are used in"
        if track.is_counter:
            return f"{track!r} is a counter: it takes counter() alone"
        return f"{track!r} is no counter: make one with counter_track()"


cdef inline object whole(timestamp):
    """A timestamp as an int: left to itself, Cython would cut a float's fraction off."""
    if PyLong_CheckExact(timestamp):
        return timestamp
    if PyBool_Check(timestamp):
        raise TimestampError(f"a timestamp is a whole number, not {timestamp}")
    return PyNumber_Index(timestamp)


cdef inline object whole_duration(duration):
    """A duration as an int of 64 bits."""
    if PyLong_CheckExact(duration) and -LIMIT <= duration < LIMIT:
        return duration
    if PyIndex_Check(duration) and not PyBool_Check(duration):
        duration = PyNumber_Index(duration)
        if -LIMIT <= duration < LIMIT:
            return duration
    raise TimestampError(f"a duration is a whole number within int64, not {duration!r}")


cdef Value number_of(value) except *:
    """What a counter takes, as it is written."""
    cdef Value number = NO_VALUE
    number.is_real = not PyIndex_Check(value)
    try:
        if number.is_real:
            number.real = value
        else:
            number.count = PyNumber_Index(value)
    except (TypeError, ValueError, OverflowError):
        raise TimestampError(
            f"a counter takes an int within int64 or a float, not {value!r}"
        ) from None
    return number


cdef inline bint is_text_or_none(value) noexcept:
    return value is None or is_text(value)


cdef inline bint is_flow_or_none(value) noexcept:
    return value is None or is_unsigned(value)
