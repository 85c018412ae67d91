"""Chrome's JSON in its forms, PyTorch's, and text of systrace."""

from __future__ import annotations

import json
from random import Random

_LINES = """# tracer: nop
#
     kworker/0:0-13696 (  77) [000] d..3 50260.647590: sched_wakeup: comm=mmcqd/0 pid=95
          <idle>-0     [001]  50260.647602: sched_switch: prev_comm=a ==> next_comm=b
   app-7-8 (-----) [002] .... 50260.7: tracing_mark_write: B|7|name
CPU:0 [LOST 5123 EVENTS]
   app-7-8 (-----) [002] .... 50260.9: tracing_mark_write: trace_event_clock_sync: parent_ts=50.5
"""

_PIECES = (
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud83d",
    b"\xff",
    b"{" * 300,
    b"[" * 70,
    b"}",
    b"]",
    b",",
    b":",
    b'"ts":1e999999999',
    b'"ts":"1.5"',
    b'"args":{"a":NaN}',
    b'"id2":{"local":',
    b'"systemTraceEvents":"',
    b'"traceEvents":[',
    b'"\\u0070h":"\\u0058\\u0058"',
    b'"systemTraceEvents":{"events":[{},[1],',
    b"\0" * 70,
    b"/*",
    b'"metadata":{"clock-domain":"X"}',
    b'"baseTimeNanoseconds":9223372036854775807',
)


def _events() -> list[dict[str, object]]:
    events: list[dict[str, object]] = [
        {"ph": phase, "ts": 1712195495541300.987 + n, "pid": n % 3, "tid": "t", "name": phase}
        for n, phase in enumerate("BEXiIRbenSTpFstfCNODPvc()k")
    ]
    for n, event in enumerate(events):
        event |= {"id": n, "id2": {"local": "0x7"}, "dur": 0.5, "bp": "e", "args": {"a": n / 3}}
    names = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p\u00e9\0"}}
    return [names, *events]


def samples() -> list[bytes]:
    events = _events()
    chrome = {
        "traceEvents": events,
        "systemTraceEvents": _LINES,
        "metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"},
    }
    kineto = {"baseTimeNanoseconds": 10**18, "distributedInfo": {"rank": 0}, "traceEvents": events}
    return [
        json.dumps(chrome).encode(),
        json.dumps(kineto, indent=2).encode(),
        json.dumps(events).encode(),
        json.dumps(events, indent=1)[:-3].encode(),
        json.dumps({"traceEvents": _LINES}).encode(),
        _LINES.encode(),
    ]


def mutate(random: Random, data: bytes) -> bytes:
    """Put or replace what JSON gives a meaning."""
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(data) + 1)
        cut = random.choice((0, 0, 1, 4))
        data = data[:at] + random.choice(_PIECES) + data[at + cut :]
    return data
