# The events of a recording as its users call them: to take a call apart costs more than its bytes.
#
# The documentation of the calls is in events.pyi.

cdef str TWICE = "this span has begun already: call span() for each `with`"


cdef class Span


cdef class EventCalls:
    """Writes events; none of them is an object.

    events: puts them into the buffer.
    request_flush: called when so much waits that it is time to flush.
    tracks: called with a track that is none yet: a name, None, or something wrong; returns a Track.
    counters: called with a new counter's name; returns its Track.
    tasks: called with a task of asyncio; returns its Track.
    local: its attribute `track`, if there is one, is the calling thread's track.
    """

    cdef EventWriter events
    cdef object request_flush, tracks, counters, tasks, local
    cdef dict known_counters, modules
    # asyncio's, once something has imported it; and in a task's context a reference to it and its
    # track. A task begins with its creator's context, so that these may be another task's.
    cdef object running_loop, current_task, task_place

    def __init__(self, EventWriter events not None, request_flush, tracks, counters, tasks, local):
        self.events = events
        self.request_flush = request_flush
        self.tracks = tracks
        self.counters = counters
        self.tasks = tasks
        self.local = local
        self.known_counters = {}
        self.modules = sys.modules
        self.task_place = ContextVar("tracetime_task_place")

    @property
    def ended(self):
        """Whether the recording takes no more events."""
        return self.events.buffer.closed

    def forget_places(self, local):
        """In a forked child: its threads and counters have other tracks."""
        self.local = local
        self.known_counters = {}
        self.task_place = ContextVar("tracetime_task_place")

    # wide: what an event can have
    def instant(
        self, name, /, *, timestamp=None, clock=None, track=None, category=None, flow=None,
        end_flow=None, args=None, **more,
    ):
        """Record that something happened."""
        cdef Track place = self.place(track)
        if self.events.event(
            INSTANT, name, timestamp, clock, place, None,
            details_of(category, flow, end_flow, args, more),
        ):
            self.request_flush()

    # wide: what an event can have
    def begin(
        self, name, /, *, timestamp=None, clock=None, track=None, category=None, flow=None,
        end_flow=None, args=None, **more,
    ):
        """Record that something began, which `end` on the same track ends."""
        cdef Track place = self.place(track)
        cdef bint kept = place.depth < DEEPEST_KEPT
        cdef int written = self.events.write(
            SLICE_BEGIN, name, timestamp, clock, place, None,
            details_of(category, flow, end_flow, args, more), END_ROOM if kept else 0,
        )
        if kept:
            place.dropped &= (<uint64_t>1 << place.depth) - 1
            place.dropped |= <uint64_t>(not written) << place.depth
        place.depth += 1
        if written == FULL:
            self.request_flush()

    # wide: what an event can have
    def end(
        self, *, timestamp=None, clock=None, track=None, category=None, flow=None,
        end_flow=None, args=None, **more,
    ):
        """Record that what began last on a track has ended."""
        cdef Track place = self.place(track)
        cdef int64_t depth = max(place.depth - 1, 0)
        cdef bint kept = place.depth > 0 and depth < DEEPEST_KEPT
        if kept and place.dropped >> depth & 1:
            # The end of what is around it is yet to come.
            place.depth = depth
            return
        if self.events.write(
            SLICE_END, None, timestamp, clock, place, None,
            details_of(category, flow, end_flow, args, more), -END_ROOM if kept else 0,
        ) == FULL:
            self.request_flush()
        place.depth = depth

    # wide: what an event can have
    def counter(
        self, name, value, /, *, timestamp=None, clock=None, category=None, flow=None,
        end_flow=None, args=None, **more,
    ):
        """Record a counter's value, an int within int64 or a float."""
        cdef object place
        try:
            place = self.known_counters.get(name)
        except TypeError:
            place = None
        if place is None:
            place = name if type(name) is Track else self.counters(name)
            self.known_counters[name] = place
        if self.events.event(
            COUNTER, None, timestamp, clock, <Track>place, value,
            details_of(category, flow, end_flow, args, more),
        ):
            self.request_flush()

    # wide: what an event can have
    def complete(
        self, name, start, duration, /, *, clock=None, track=None, category=None, flow=None,
        end_flow=None, args=None, **more,
    ):
        """Record a span that was measured elsewhere."""
        cdef Track place = self.place(track)
        if self.events.span(
            name, start, duration, clock, place,
            details_of(category, flow, end_flow, args, more),
        ):
            self.request_flush()

    # wide: what an event can have
    def span(
        self, name, /, *, clock=None, track=None, category=None, flow=None, end_flow=None,
        args=None, **more,
    ):
        """A span from the beginning of a `with` to its end."""
        cdef Span made = Span.__new__(Span)
        made.calls = self
        made.name = name
        made.clock = clock
        made.where = track
        made.details = details_of(category, flow, end_flow, args, more)
        return made

    cdef Track place(self, track):
        if type(track) is Track:
            return <Track>track
        if track is None:
            track = self.task_track()
            if track is not None:
                return <Track>track
            try:
                return <Track?>self.local.track
            except AttributeError:
                pass
        return <Track?>self.tracks(track)

    cdef Track task_track(self):
        """The track of the running task; None outside of tasks."""
        cdef object task, place
        if self.running_loop is None:
            if "asyncio" not in self.modules:
                return None
            asyncio = self.modules["asyncio"]
            # Another thread may be importing it.
            self.current_task = getattr(asyncio, "current_task", None)
            self.running_loop = getattr(asyncio, "_get_running_loop", None)
            if self.running_loop is None or self.current_task is None:
                self.running_loop = None
                return None
        loop = self.running_loop()
        if loop is None:
            return None
        task = self.current_task(loop)
        if task is None:
            return None
        place = get_value(self.task_place)
        if place is None or (<tuple>place)[0]() is not task:
            place = ref(task), self.tasks(task)
            self.task_place.set(place)
        return <Track?>(<tuple>place)[1]


cdef class Span:
    """What `EventCalls.span` returns.

    After the end of the recording it records nothing: what is traced may go on.
    """

    cdef EventCalls calls
    cdef object name, clock, where
    cdef tuple details
    # While it lasts: its track, and the writer of the process in which it began.
    cdef Track track
    cdef EventWriter process
    cdef dict results

    def __enter__(self):
        cdef EventWriter events = self.calls.events
        cdef Track track
        if events.buffer.closed:
            return self
        if self.track is not None:
            raise events.refusal(TimestampError(TWICE), None)
        track = self.calls.place(self.where)
        cdef int written = events.write(
            SLICE_BEGIN, self.name, None, self.clock, track, None, self.details, END_ROOM
        )
        if written == FULL:
            self.calls.request_flush()
        if written:
            self.track = track
            self.process = events.process()
        return self

    def __exit__(self, kind, error, traceback):
        cdef EventWriter events = self.calls.events
        cdef Track track = self.track
        cdef dict results = self.results
        cdef EventWriter process = self.process
        self.track = self.results = self.process = None
        # A forked child has a copy of what its parent is in, which that one ends. And where the
        # beginning was dropped, the end would be another span's.
        if track is None or events.buffer.closed or process is not events.process():
            return
        if kind is not None:
            results = {**(results or {}), "exception": type_name(kind)}
        if events.write(
            SLICE_END, None, None, self.clock, track, None,
            None if results is None else (None, None, None, results), -END_ROOM,
        ) == FULL:
            self.calls.request_flush()

    def set(self, **args):
        """Add arguments that are known only now; they are written at the end of the span."""
        self.results = {**(self.results or {}), **args}


def type_name(kind):
    """What a type is called, with its module but for builtins."""
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


cdef inline tuple details_of(category, flow, end_flow, args, dict more):
    """What `EventWriter` takes as details; None where there is nothing to say."""
    if args is not None:
        # What is no mapping is refused with the other details.
        return category, flow, end_flow, {**args, **more} if hasattr(args, "keys") else args
    if more:
        return category, flow, end_flow, more
    if category is None and flow is None and end_flow is None:
        return None
    return category, flow, end_flow, None
