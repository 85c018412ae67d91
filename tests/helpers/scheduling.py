"""Bundles of switches and wakings, of which tests make traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from building import UINT64, deltas, packet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb


class Switch(NamedTuple):
    ns: int
    cpu: int
    before: int
    """The thread that ran."""
    thread: int
    state: int = 0
    """Of the thread that ran: 0 where it stays runnable."""


class Waking(NamedTuple):
    ns: int
    cpu: int
    thread: int
    target: int


Event = Switch | Waking


def bundle(cpu: int, events: Iterable[Event], *, compact: bool = False, **fields: Any) -> Any:
    """The packet of a bundle; `fields` are those of FtraceEventBundle."""
    made = pb.FtraceEventBundle(cpu=cpu, **fields)
    events = list(events)
    if compact:
        sched = made.compact_sched
        sched.intern_table.append("thread")
        switches = [one for one in events if isinstance(one, Switch)]
        wakings = [one for one in events if isinstance(one, Waking)]
        sched.switch_timestamp.extend(deltas([one.ns for one in switches]))
        sched.waking_timestamp.extend(deltas([one.ns for one in wakings]))
        for one in switches:
            sched.switch_prev_state.append(one.state)
            sched.switch_next_pid.append(one.thread)
            sched.switch_next_prio.append(120)
            sched.switch_next_comm_index.append(0)
        for one in wakings:
            sched.waking_pid.append(one.thread)
            sched.waking_target_cpu.append(one.target)
            sched.waking_prio.append(120)
            sched.waking_comm_index.append(0)
        return packet(ftrace_events=made)
    for one in events:
        event = made.event.add(timestamp=one.ns & UINT64, pid=1)
        if isinstance(one, Waking):
            event.sched_waking.pid, event.sched_waking.target_cpu = one.thread, one.target
        else:
            switch = event.sched_switch
            switch.prev_pid, switch.next_pid = one.before, one.thread
            switch.prev_state = one.state
    return packet(ftrace_events=made)


def bundles(events: Iterable[Event], *, compact: bool = False) -> list[Any]:
    """A bundle for each CPU, in order."""
    by_cpu = defaultdict(list)
    for one in events:
        by_cpu[one.cpu].append(one)
    return [bundle(cpu, by_cpu[cpu], compact=compact) for cpu in sorted(by_cpu)]


def woken_late(
    n: int = 4, late_ns: int = 30_000, *, start: int = 0, target: int = 0
) -> list[Event]:
    """Thread 7 sleeps and runs on CPU 0, n times, 1 ms each; CPU 1 wakes it, and is ahead.

    The first time it is woken in order. 0.2 ms pass between waking and switch.
    """
    events: list[Event] = [Switch(start, 0, 0, 7), Switch(start, 1, 0, 9)]
    for k in range(n + 1):
        t = start + k * 2_000_000
        ahead = late_ns + 200_000 if k else 0
        events.append(Switch(t + 1_000_000, 0, 7, 0, state=1))
        events.append(Waking(t + 1_800_000 + ahead, 1, 7, target))
        events.append(Switch(t + 2_000_000, 0, 0, 7))
    events.append(Switch(start + 2 * (n + 1) * 1_000_000 + 1_000_000, 0, 7, 0))
    return events
