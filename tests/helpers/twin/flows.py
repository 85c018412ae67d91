"""Arrows of flows between slices of Chrome JSON, event by event: the plain twin of `slices.flows`.

Follows Perfetto's src/trace_processor/importers/common/flow_tracker.cc, as the kernel does.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from twin.chrome_json import (
    NO_DURATION,
    JsonEvent,
    Pairs,
    Replay,
    Strings,
    in_order,
    parsed,
    read_event,
)


class Arrow(NamedTuple):
    """From a slice to another, by their numbers."""

    out: int
    into: int
    named: bool
    name: str | None
    category: str | None


class Flows:
    """Flows by number: those of the events s, t and f have the first, others that of their bind_id."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.numbers: dict[tuple[int, int, int], int] = {}
        self.last: dict[int, int] = {}
        self.waiting: dict[int, list[int]] = {}
        self.arrows: list[Arrow] = []
        self.lost: Counter[str] = Counter()

    def take(self, number: int, event: JsonEvent, said: Pairs) -> None:
        """An event, in order of time; said: what it says of flows."""
        slices = self.replay.slices
        before = len(slices)
        self.replay.take(number, event)
        thread = self.replay.owners.update(event.tid, event.pid)
        track = self.replay.intern(("thread", id(thread)), thread)
        if len(slices) > before:
            where = slices[before].track
            for flow in reversed(self.waiting.pop(where, [])):
                self.add(flow, self.last.setdefault(flow, 0), before)
        told = dict(said)
        if event.phase in ("s", "t", "f"):
            self.take_event(event, track, told)
        elif event.phase in ("X", "B", "b", "n") and "bind_id" in told:
            if event.phase != "X" or event.dur != NO_DURATION:
                self.bind(slices[before].track if len(slices) > before else track, told)

    def take_event(self, event: JsonEvent, track: int, told: dict[str, object]) -> None:
        if "id" not in told:
            self.lost["flow_without_id"] += 1
            return
        key = (int(str(told["id"])), event.category, event.name)
        flow = self.numbers.setdefault(key, len(self.numbers))
        if event.phase == "f" and told.get("bp") != "e":
            self.waiting.setdefault(track, []).append(flow)
        else:
            self.at(flow, track, comes=event.phase != "s", goes=event.phase != "f")

    def bind(self, track: int, told: dict[str, object]) -> None:
        comes, goes = (told.get(key) is True for key in ("flow_in", "flow_out"))
        if comes or goes:
            self.at(int(str(told["bind_id"])), track, comes=comes, goes=goes)
        else:
            self.lost["flow_without_direction"] += 1

    def at(self, flow: int, track: int, *, comes: bool, goes: bool) -> None:
        """A flow at the innermost slice of a track."""
        stack = self.replay.stacks.get(track)
        if not stack:
            self.lost["flow_outside_slices"] += 1
        elif not comes:
            self.lost["flow_begun_before"] += flow in self.last
            self.last.setdefault(flow, stack[-1])
        elif flow not in self.last:
            self.lost["flow_not_begun"] += 1
        else:
            ends = sorted((self.last[flow], stack[-1]), key=self.begin)
            self.add(flow, *ends)
            if goes:
                self.last[flow] = stack[-1]

    def begin(self, number: int) -> int:
        return self.replay.slices[number].ts

    def add(self, flow: int, out: int, into: int) -> None:
        named = flow < len(self.numbers)
        _, category, name = [*self.numbers][flow] if named else (0, -1, -1)
        texts = self.replay.strings.texts
        self.arrows.append(Arrow(out, into, named, texts[name] or None, texts[category] or None))


def arrows(text: str) -> tuple[list[Arrow], Counter[str]]:
    """The arrows of a trace, and how many events of flows make none, by their reason."""
    strings = Strings()
    read = ((read_event(pairs, strings), pairs) for pairs in map(Pairs, parsed(text)))
    given = [(event, pairs) for event, pairs in read if event is not None]
    said = {id(event): pairs for event, pairs in given}
    flows = Flows(Replay(strings))
    for number, event in enumerate(in_order([event for event, _ in given], False)):
        flows.take(number, event, said[id(event)])
    return flows.arrows, +flows.lost
