"""How slices nest, event by event, with a list for the stack of each track: slow and plain.

Follows Perfetto's src/trace_processor/importers/common/slice_tracker.cc, as the kernel does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

OPEN = -1
DEEPEST = 512


class Event(NamedTuple):
    """What happens on a track: "begin", "end", "complete" or "begin_saturating"."""

    operation: str
    ts: int
    track: int = 0
    name: int = -1
    category: int = -1
    dur: int = 0


@dataclass
class Slice:
    ts: int
    dur: int
    depth: int
    parent: int
    track: int
    name: int
    category: int
    begin: int
    end: int

    @property
    def stop(self) -> int:
        return self.ts + self.dur


def nested(events: Iterable[Event]) -> list[Slice]:
    """The slices that events in order of time make."""
    slices: list[Slice] = []
    stacks: dict[int, list[int]] = {}
    for number, event in enumerate(events):
        stack = stacks.setdefault(event.track, [])
        if event.operation == "end":
            finish(slices, stack, event, number)
        elif event.operation == "begin_saturating":
            if not stack:
                event = event._replace(category=-1)
                start(slices, stack, event, number, OPEN)
        elif event.operation == "begin":
            start(slices, stack, event, number, OPEN)
        elif event.dur >= 0:
            start(slices, stack, event, number, event.dur)
    return slices


def start(slices: list[Slice], stack: list[int], event: Event, number: int, dur: int) -> bool:
    """Begin a slice, or add a complete one; False where it crosses one that is open."""
    if not close(slices, stack, event.ts, dur):
        return False
    if len(stack) >= DEEPEST:
        return True
    parent = stack[-1] if stack else -1
    end = -1 if dur == OPEN else number
    made = Slice(
        event.ts, dur, len(stack), parent, event.track, event.name, event.category, number, end
    )
    stack.append(len(slices))
    slices.append(made)
    return True


def finish(slices: list[Slice], stack: list[int], event: Event, number: int) -> None:
    close(slices, stack, event.ts, OPEN)
    for place in reversed(range(len(stack))):
        one = slices[stack[place]]
        if (
            one.dur == OPEN
            and event.category in (-1, one.category)
            and (-1 in (event.name, one.name) or event.name == one.name)
        ):
            one.dur, one.end = event.ts - one.ts, number
            if place == len(stack) - 1:
                stack.pop()
            return


def close(slices: list[Slice], stack: list[int], ts: int, dur: int) -> bool:
    """Take what is over off a stack; whether what comes fits on it."""
    open_above = False
    for place in reversed(range(len(stack))):
        one = slices[stack[place]]
        if one.dur == OPEN:
            open_above = True
        elif open_above:
            if ts > one.stop:
                for inner in stack[place + 1 :]:
                    slices[inner].dur, slices[inner].end = one.stop - slices[inner].ts, one.end
                del stack[place:]
                open_above = False
        elif one.stop < ts or (one.stop == ts and not one.dur == dur == 0):
            stack.pop()
        elif dur != OPEN and ts < one.stop < ts + dur:
            return False
    return True


def in_order(ts: Sequence[int], queues: Sequence[int]) -> list[int]:
    """The order in which Perfetto's sorter hands events on: see trace_sorter.cc."""
    waiting = {
        queue: sorted((i for i in range(len(ts)) if queues[i] == queue), key=lambda i: ts[i])
        for queue in sorted(set(queues))
    }
    order: list[int] = []
    while waiting:
        first = min(waiting, key=lambda queue: (ts[waiting[queue][0]], queue))
        others = [ts[waiting[queue][0]] for queue in waiting if queue != first]
        limit = min(others, default=max(ts))
        while waiting[first] and ts[waiting[first][0]] <= limit:
            order.append(waiting[first].pop(0))
        if not waiting[first]:
            del waiting[first]
    return order
