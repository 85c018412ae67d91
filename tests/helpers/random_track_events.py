"""Random Perfetto traces of track events: slices that nest, counters and flows, on several clocks.

`track_events(random.Random(seed))` gives the trace of a seed. Each slice has a name that no other has.
"""

from __future__ import annotations

from random import Random
from typing import Any

from building import BOOTTIME, MONOTONIC, Packet, packet, pb, snapshot, trace

S = 1_000_000_000
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_OWN = 64
_APART = {BOOTTIME: 0, MONOTONIC: 5 * S, _OWN: 9 * S}
"""By how much clocks are behind BOOTTIME."""


class _Maker:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.now = 100 * S
        self.packets: list[Packet] = []
        self.depth: dict[int, int] = {}
        self.tracks: dict[int, list[int]] = {1: [], 2: []}
        self.counters: dict[int, list[int]] = {1: [], 2: []}
        self.defaults: dict[int, int] = {}
        self.begun = 0
        self.flows: list[int] = []

    def build(self) -> bytes:
        for sequence in (1, 2):
            own = {_OWN: (self.reading(_OWN) // 1000, 1000, False)}
            read = {clock: self.reading(clock) for clock in (BOOTTIME, MONOTONIC)}
            self.defaults[sequence] = self.random.choice((BOOTTIME, MONOTONIC))
            default = packet(seq=sequence, cleared=True, default_clock=self.defaults[sequence])
            self.packets += [snapshot(read | own, sequence), default]
            self.describe(sequence)
        for _ in range(self.random.randint(20, 60)):
            self.now += self.random.choice((0, 1_000, 40_000, 3_000_000))
            self.event(self.random.choice((1, 2)))
        return trace(*self.packets)

    def reading(self, clock: int) -> int:
        return self.now - _APART[clock]

    def describe(self, sequence: int) -> None:
        """A process, threads, tracks of each, and counters of each."""
        base, pid = 100 * sequence, 10 * sequence
        put = self.descriptor
        put(sequence, base, process=pb.ProcessDescriptor(pid=pid, process_name=f"app {sequence}"))
        for n in (1, 2):
            thread = pb.ThreadDescriptor(pid=pid, tid=pid + n, thread_name=f"worker {n}")
            put(sequence, base + n, thread=thread)
        put(sequence, base + 3, parent_uuid=base, name="requests")
        put(sequence, base + 4, name="everywhere")
        self.tracks[sequence] = [base, base + 1, base + 2, base + 3, base + 4]
        counter = pb.CounterDescriptor(unit_name="B", is_incremental=sequence == 2)
        put(sequence, base + 5, parent_uuid=base, name="memory", counter=counter)
        put(sequence, base + 6, name="load", counter=pb.CounterDescriptor(unit_multiplier=3))
        self.counters[sequence] = [base + 5, base + 6]

    def descriptor(self, sequence: int, uuid: int, **fields: Any) -> None:
        made = pb.TrackDescriptor(uuid=uuid, **fields)
        self.packets.append(packet(seq=sequence, track_descriptor=made))

    def event(self, sequence: int) -> None:
        kind = self.random.choice((_BEGIN, _BEGIN, _BEGIN, _END, _END, _INSTANT, _COUNTER))
        if kind == _COUNTER:
            value = {"counter_value": self.random.randint(0, 1 << 40)}
            uuid = self.random.choice(self.counters[sequence])
            if uuid % 100 == 6 and self.random.random() < 0.5:
                value = {"double_counter_value": self.random.random()}
            self.put(sequence, type=kind, track_uuid=uuid, **value)
            return
        uuid = self.random.choice(self.tracks[sequence])
        if kind == _END:
            if self.depth.get(uuid):
                self.depth[uuid] -= 1
                self.put(
                    sequence, type=kind, track_uuid=uuid, debug_annotations=self.arguments("end")
                )
            return
        self.depth[uuid] = self.depth.get(uuid, 0) + (kind == _BEGIN)
        self.begun += 1
        categories = self.random.choice(((), ("a",), ("a", "b")))
        self.put(
            sequence,
            type=kind,
            track_uuid=uuid,
            name=f"slice {self.begun}",
            categories=categories,
            debug_annotations=self.arguments("begin"),
            **self.arrows(),
        )

    def arguments(self, name: str) -> list[Any]:
        values: tuple[dict[str, Any], ...] = (
            {"int_value": self.random.randint(-5, 5)},
            {"bool_value": True},
            {"double_value": self.random.random()},
            {"string_value": "text"},
            {"array_values": [pb.DebugAnnotation(uint_value=7)]},
            {"dict_entries": [pb.DebugAnnotation(name="in.side", string_value="x")]},
        )
        chosen = self.random.sample(values, self.random.choice((0, 0, 1, 2)))
        return [pb.DebugAnnotation(name=f"{name} {k}", **value) for k, value in enumerate(chosen)]

    def arrows(self) -> dict[str, list[int]]:
        """Of flows that are open, or of a new one."""
        draw = self.random.random()
        if draw < 0.2 or (draw < 0.5 and not self.flows):
            self.flows.append(self.begun)
            return {"flow_ids": [self.begun]}
        if draw < 0.4:
            return {"flow_ids": [self.random.choice(self.flows)]}
        if draw < 0.5:
            return {"terminating_flow_ids": [self.flows.pop()]}
        return {}

    def put(self, sequence: int, **fields: Any) -> None:
        clock = self.random.choice((None, BOOTTIME, MONOTONIC, _OWN))
        if clock is None:
            reading = self.reading(self.defaults[sequence])
        else:
            reading = self.reading(clock) // (1000 if clock == _OWN else 1)
        event = pb.TrackEvent(**fields)
        self.packets.append(packet(reading, clock, sequence, needs_state=True, track_event=event))


def track_events(random: Random) -> bytes:
    return _Maker(random).build()
