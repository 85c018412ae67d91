"""Slices of a Chrome JSON trace, event by event, with the library's JSON parser: slow and plain.

Follows Perfetto's src/trace_processor/importers/json (json_trace_tokenizer.cc, json_trace_parser.cc)
and importers/common (process_tracker.cc, track_compressor.cc), as the kernels do.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from math import trunc
from typing import Any, NamedTuple

from twin.slices import OPEN, Event, Slice, finish, start

NONE = -1
NO_DURATION = (1 << 63) - 1
FIRST_STRING = 54001
"""Where trace_processor keeps the first string of a file: the number of a tid that is a text."""


class Number(str):
    """A number as it is written."""


def parsed(text: str) -> list[list[tuple[str, Any]]]:
    """The events of a trace, each as pairs."""
    whole = json.loads(
        text, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=Number
    )
    return dict(whole)["traceEvents"] if isinstance(whole, Pairs) else whole


class Pairs(list[tuple[str, Any]]):
    """A JSON object: what it has, in order."""


def double(text: str) -> float:
    """A number as trace_processor parses it: json_parser.h, StringToDouble."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    value = float(int(whole)) + (float(int(fraction)) / 10.0 ** len(fraction) if fraction else 0.0)
    if exponent:
        value = (
            value * 10.0 ** int(exponent) if int(exponent) > 0 else value / 10.0 ** -int(exponent)
        )
    return -value if text.startswith("-") else value


def floor_ns(value: Any) -> int | None:
    """CoerceToTs: microseconds as ns, rounded as trace_processor rounds them."""
    if not isinstance(value, str):
        return None
    if set(value) <= set("-0123456789") and -(1 << 63) <= int(value) < 1 << 63:
        return int(value) * 1000
    number = double(value)
    if number == trunc(number):
        return trunc(number) * 1000
    # llround: halves away from zero.
    scaled = number * 1000.0
    down = trunc(scaled)
    return down + (1 if scaled > 0 else -1) if abs(scaled - down) >= 0.5 else down


def exact_ns(value: Any) -> int:
    """Microseconds as ns, to the nearest, halves away from zero."""
    return int((Decimal(value) * 1000).to_integral_value(ROUND_HALF_UP))


@dataclass
class JsonEvent:
    """What an event says, its strings by number."""

    phase: str = ""
    ts: int | None = None
    exact: int | None = None
    dur: int = NO_DURATION
    exact_dur: int | None = None
    pid: int = 0
    tid: int = 0
    has_pid: bool = False
    has_tid: bool = False
    pid_text: str | None = None
    tid_text: str | None = None
    name: int = NONE
    category: int = NONE
    scope: str = "t"
    id: int | None = None
    local_id: int | None = None
    global_id: int | None = None
    args: list[tuple[str, Any]] = field(default_factory=list)


class Strings:
    """Strings by number, which trace_processor uses as a tid or pid: where they lie in its table."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.texts: dict[int, str] = {NONE: ""}
        self.end = FIRST_STRING

    def number(self, text: str) -> int:
        if text not in self.numbers:
            self.numbers[text] = self.end
            self.texts[self.end] = text
            self.end += len(text.encode()) + 5
        return self.numbers[text]


def uint32(value: Any) -> int:
    """CoerceToUint32."""
    number = int(value) if set(value) <= set("-0123456789") else trunc(double(value))
    return number if 0 <= number < 1 << 32 else 0


def read_event(pairs: Pairs, strings: Strings) -> JsonEvent | None:
    """ParseTraceEventContents; None where it is dropped."""
    event = JsonEvent()
    for key, value in pairs:
        if key in ("pid", "tid"):
            read_owner(event, key, value, strings)
        elif key in ("id", "bind_id", "id2"):
            read_ids(event, key, value, strings)
        else:
            read_field(event, key, value, strings)
    if event.ts is None and event.phase == "M":
        event.ts, event.exact = 0, 0
    if not event.phase or event.phase == "P" or event.ts is None or event.ts < 0:
        return None
    if event.tid == 0 and event.pid != 0 and event.tid_text is None:
        event.tid = event.pid
    return event


def read_field(event: JsonEvent, key: str, value: Any, strings: Strings) -> None:
    text = value if isinstance(value, str) and not isinstance(value, Number) else None
    if key == "ph":
        event.phase = (text or "")[:1]
    elif key == "ts":
        event.ts = floor_ns(value)
        event.exact = None if event.ts is None else exact_ns(value)
    elif key == "dur" and isinstance(value, str):
        event.dur, event.exact_dur = floor_ns(value), exact_ns(value)
    elif key == "cat":
        event.category = strings.number(text) if text else NONE
    elif key == "name":
        event.name = strings.number(text) if text else NONE
    elif key == "s":
        event.scope = text if text in ("p", "g") else "t"
    elif key == "args" and isinstance(value, Pairs):
        event.args = value


def read_owner(event: JsonEvent, key: str, value: Any, strings: Strings) -> None:
    if not isinstance(value, str):
        return
    if isinstance(value, Number):
        number, text = uint32(value), getattr(event, f"{key}_text")
    else:
        number, text = strings.number(value), value
    setattr(event, key, number)
    setattr(event, f"{key}_text", text)
    setattr(event, f"has_{key}", True)


def read_ids(event: JsonEvent, key: str, value: Any, strings: Strings) -> None:
    if key == "id":
        event.id = read_id(value, strings)
    elif key == "bind_id":
        read_id(value, strings)
    elif isinstance(value, Pairs):
        for kind, number in value:
            if kind == "local":
                event.local_id = read_id(number, strings)
            elif kind == "global":
                event.global_id = read_id(number, strings)


def read_id(value: Any, strings: Strings) -> int | None:
    """ExtractId."""
    if isinstance(value, Number):
        return int(value) if set(value) <= set("-0123456789") else None
    return strings.number(value) if isinstance(value, str) else None


def in_order(events: list[JsonEvent], exact: bool) -> list[JsonEvent]:
    """TraceSorter: by time; of one time, once there is a complete event, ends come first.

    Then complete events, the longest first, then all others. What lies before all that is sorted
    so keeps its order; not so by exact times.
    """
    if exact and any(event.phase == "X" for event in events):
        return sorted(events, key=sort_key)
    slow, latest, from_ts = False, 0, None
    for i, event in enumerate(events):
        slow = slow or event.phase == "X"
        if event.ts > latest or (not slow and event.ts == latest):
            latest = event.ts
        elif i:
            from_ts = event.ts if from_ts is None else min(from_ts, event.ts)
    if from_ts is None:
        return events
    before = [event for event in events if event.ts < from_ts]
    after = [event for event in events if event.ts >= from_ts]
    key = sort_key if slow else (lambda event: event.ts)
    return before + sorted(after, key=key)


def sort_key(event: JsonEvent) -> tuple[int, int]:
    if event.phase == "E":
        return event.ts, -(1 << 63)
    most = (1 << 63) - 1
    if event.phase != "X":
        return event.ts, most
    key = most - event.dur
    return event.ts, key - (1 << 64) if key > most else key


@dataclass
class Thread:
    tid: int
    process: Process | None = None
    name: int = NONE


@dataclass
class Process:
    pid: int
    name: int = NONE


class Processes:
    """ProcessTracker, as far as these traces use it: nothing in them ends."""

    def __init__(self) -> None:
        self.processes: dict[int, Process] = {}
        self.tids: dict[int, list[Thread]] = {}

    def thread(self, tid: int) -> Thread:
        """GetOrCreateThread."""
        threads = self.tids.setdefault(tid, [])
        if not threads:
            threads.append(Thread(tid))
        return threads[-1]

    def process(self, pid: int) -> Process:
        """GetOrCreateProcess."""
        if pid not in self.processes:
            self.processes[pid] = Process(pid)
            self.update(pid, pid)
        return self.processes[pid]

    def update(self, tid: int, pid: int) -> Thread:
        """UpdateThread."""
        process = self.process(pid)
        threads = self.tids.setdefault(tid, [])
        for thread in reversed(threads):
            if thread.process in (None, process):
                threads.remove(thread)
                break
        else:
            thread = Thread(tid)
        threads.append(thread)
        thread.process = thread.process or process
        return thread


class Track(NamedTuple):
    name: int
    thread: Thread | None
    process: Process | None


@dataclass
class Lane:
    """A track that asynchronous events share, one cookie at a time."""

    cookie: tuple[int, int]
    track: int | None = None
    nested: int = 0


@dataclass
class Spill:
    """A track for complete events that cross others: what is open on it."""

    track: int
    ends: list[int] = field(default_factory=list)


class Replay:
    """JsonTraceParser: events in order of time become slices."""

    def __init__(self, strings: Strings) -> None:
        self.strings = strings
        self.owners = Processes()
        self.tracks: list[Track] = []
        self.interned: dict[tuple[Any, ...], int] = {}
        self.sets: dict[tuple[Any, ...], list[Lane]] = {}
        self.first_names: dict[tuple[Any, ...], int] = {}
        self.spills: dict[int, list[Spill]] = {}
        self.slices: list[Slice] = []
        self.stacks: dict[int, list[int]] = {}
        self.spilled: list[JsonEvent] = []

    def make(self, name: int, thread: Thread | None, process: Process | None) -> int:
        self.tracks.append(Track(name, thread, process))
        return len(self.tracks) - 1

    def intern(self, key: tuple[Any, ...], thread: Any = None, process: Any = None) -> int:
        if key not in self.interned:
            self.interned[key] = self.make(NONE, thread, process)
        return self.interned[key]

    def start(self, event: JsonEvent, number: int, track: int, name: int, dur: int) -> bool:
        """Whether it fits on its track."""
        happening = Event("", event.ts, track, name, event.category)
        return start(self.slices, self.stacks.setdefault(track, []), happening, number, dur)

    def finish(self, event: JsonEvent, number: int, track: int) -> None:
        happening = Event("", event.ts, track, event.name, event.category)
        finish(self.slices, self.stacks.setdefault(track, []), happening, number)

    def take(self, number: int, event: JsonEvent) -> None:
        """ParseJsonPacket."""
        if event.pid_text is not None:
            self.owners.process(event.pid).name = event.pid
        if event.tid_text is not None:
            self.owners.thread(event.tid).name = event.tid
        thread = self.owners.update(event.tid, event.pid)
        own = ("thread", id(thread))
        name = event.name if event.name != NONE else self.strings.number("[No name]")
        if event.phase == "B":
            self.start(event, number, self.intern(own, thread), name, OPEN)
        elif event.phase == "E":
            self.finish(event, number, self.intern(own, thread))
        elif event.phase == "X":
            self.complete(number, event, thread, self.intern(own, thread), name)
        elif event.phase in ("b", "e", "n"):
            self.asynchronous(number, event, name)
        elif event.phase in ("i", "I", "R"):
            self.instant(number, event, self.intern(own, thread), name)
        elif event.phase == "M":
            self.name_owner(event, thread)

    def instant(self, number: int, event: JsonEvent, track: int, name: int) -> None:
        if event.scope == "g":
            self.start(event, number, self.intern(("global",)), event.name, 0)
        elif event.scope == "p" and event.has_pid:
            process = self.owners.process(event.pid)
            track = self.intern(("process", id(process)), None, process)
            self.start(event, number, track, event.name, 0)
        elif event.scope == "t" and event.has_tid:
            self.start(event, number, track, name, 0)

    def complete(
        self, number: int, event: JsonEvent, thread: Thread, track: int, name: int
    ) -> None:
        if event.dur == NO_DURATION or event.dur < 0:
            return
        if self.start(event, number, track, name, event.dur):
            return
        self.spilled.append(event)
        end = event.ts + event.dur
        lanes = self.spills.setdefault(id(thread), [])
        for lane in lanes:
            while lane.ends and lane.ends[-1] <= event.ts:
                lane.ends.pop()
            if not lane.ends or end <= lane.ends[-1]:
                break
        else:
            lane = Spill(self.make(NONE, thread, None))
            lanes.append(lane)
        lane.ends.append(end)
        self.start(event, number, lane.track, name, event.dur)

    def asynchronous(self, number: int, event: JsonEvent, name: int) -> None:
        """InternLegacyAsyncTrack."""
        found = event.id if event.id is not None else event.global_id
        if not event.has_pid or (found is None and event.local_id is None):
            return
        process = self.owners.process(event.pid)
        owner = None
        if found is None:
            found, owner = event.local_id, id(process)
        cookie = (event.category, found)
        first = self.first_names.setdefault((owner, cookie), event.name)
        lanes = self.sets.setdefault((owner, first), [])
        lane = next((one for one in lanes if one.cookie == cookie), None)
        if lane is None:
            lane = next((one for one in lanes if one.nested == 0), None)
        if lane is None:
            lane = Lane(cookie)
            lanes.append(lane)
        lane.cookie = cookie
        if lane.track is None:
            lane.track = self.make(event.name, None, None if owner is None else process)
        if event.phase == "b":
            lane.nested += 1
            self.start(event, number, lane.track, name, OPEN)
        elif event.phase == "e":
            lane.nested = max(lane.nested - 1, 0)
            self.finish(event, number, lane.track)
        else:
            self.start(event, number, lane.track, event.name, 0)

    def name_owner(self, event: JsonEvent, thread: Thread) -> None:
        for key, value in event.args:
            if key != "name" or not isinstance(value, str) or isinstance(value, Number):
                continue
            kind = self.strings.texts[event.name]
            if not value:
                continue
            if kind == "thread_name":
                thread.name = self.strings.number(value)
            elif kind == "process_name":
                self.owners.process(event.pid).name = self.strings.number(value)


def replayed(text: str, exact: bool = False) -> Replay:
    """What a trace becomes; exact: by the times as they are written, not as they are rounded."""
    strings = Strings()
    read = (read_event(Pairs(pairs), strings) for pairs in parsed(text))
    events = [event for event in read if event is not None]
    if exact:
        for event in events:
            event.ts = event.exact
            event.dur = NO_DURATION if event.exact_dur is None else event.exact_dur
    replay = Replay(strings)
    for number, event in enumerate(in_order(events, exact)):
        replay.take(number, event)
    return replay


def slices(text: str) -> list[dict[str, Any]]:
    """The slices of a trace, as rows of the table of trace_processor."""
    replay = replayed(text)
    return [row(replay, number, one) for number, one in enumerate(replay.slices)]


def row(replay: Replay, number: int, one: Slice) -> dict[str, Any]:
    track, texts = replay.tracks[one.track], replay.strings.texts
    thread = track.thread
    process = track.process if thread is None else thread.process
    return {
        "id": number,
        "ts": one.ts,
        "dur": one.dur,
        "depth": one.depth,
        "parent": one.parent,
        "name": texts[one.name],
        "category": texts[one.category],
        "track_name": texts[track.name],
        "tid": NONE if thread is None else thread.tid,
        "thread_name": "" if thread is None else texts[thread.name],
        "pid": NONE if process is None else process.pid,
        "process_name": "" if process is None else texts[process.name],
    }
