"""Files of other formats than Perfetto's with trouble in their clocks, and healthy twins of them.

`FILES` has what the first finding has to say of each kind; a kind is made in any size.
`python tests/helpers/broken_files.py` prints how the doctor does.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from captures import Capture

Events = list[dict[str, Any]]
WALL_US = 1_760_000_000_000_000
WALL_NS = 1000 * WALL_US
S, MS = 1_000_000_000, 1_000_000
SIZES = (30, 100, 400)


class File(NamedTuple):
    """A kind of trouble: what makes a file of a size, and what the first finding has to say."""

    make: Callable[[int], bytes]
    code: str
    says: str


def document(events: Events, **beside: Any) -> bytes:
    """A trace in Chrome's JSON."""
    return json.dumps({"traceEvents": events, **beside}).encode()


def slices(n: int, begin_us: float, every_us: float = 2001.25, pid: int = 1) -> Events:
    """Slices of a thread."""
    return [
        {"ph": "X", "name": "f", "pid": pid, "tid": 1, "ts": begin_us + every_us * k, "dur": 900.5}
        for k in range(n)
    ]


def flows(n: int, later_us: float, way: str = "sf") -> bytes:
    """Flows from one process to another, whose clock is ahead by so much less 100 us."""
    found: Events = []
    random = Random(n)
    for k in range(n):
        at = 5_000_000 + 2000 * k + random.randrange(300) + 0.125
        there = at + 100 + later_us
        found += [
            {"ph": "X", "name": "run", "pid": 1, "tid": 1, "ts": at - 20, "dur": 300.5},
            {"ph": "X", "name": "work", "pid": 2, "tid": 2, "ts": there, "dur": 200.5},
        ]
        flow = {"cat": "a", "name": "x", "id": k}
        if way == "sf":
            found += [
                {"ph": "s", "pid": 1, "tid": 1, "ts": at, **flow},
                {"ph": "f", "bp": "e", "pid": 2, "tid": 2, "ts": there, **flow},
            ]
        else:
            found[-2] |= {"bind_id": hex(k), "flow_out": True}
            found[-1] |= {"bind_id": hex(k), "flow_in": True}
    return document(found)


def profile(
    n: int,
    *,
    call_us: float = 0,
    kernel_us: float = 0,
    names: str = "cpu_op cuda_runtime kernel",
    begin_us: int = WALL_US,
    **beside: Any,
) -> bytes:
    """A file of PyTorch's profiler, whose calls and kernels are ahead by so much."""
    operator, call, kernel = names.split()
    found: Events = []
    for k in range(n):
        at = begin_us + 52 * k
        of_operator = {"External id": k + 1}
        found += [
            {"cat": operator, "name": "aten::add", "tid": 77, "ts": at, "dur": 30},
            {"cat": call, "name": "cudaLaunchKernel", "tid": 77, "ts": at + 9, "dur": 6},
            {"cat": kernel, "name": "k", "pid": 0, "tid": "stream 7", "ts": at + 20, "dur": 20},
        ]
        found[-3]["args"] = of_operator
        found[-2]["args"] = of_operator | {"correlation": k + 1}
        found[-1]["args"] = {"correlation": k + 1}
        found[-2]["ts"] += call_us
        found[-1]["ts"] += kernel_us
    return document([{"ph": "X", "pid": 77} | one for one in found], **beside)


def wrapped(n: int) -> bytes:
    odd = {"ph": "X", "name": "copy", "pid": 5, "tid": 0, "dur": 359}
    at = (2**64 + (WALL_US + 7000) * 1000) // 1000
    return document([*slices(n, WALL_US), odd | {"ts": at}, odd | {"ts": at + 9}])


def capture(n: int, at: Callable[[int], int], resolution: int = 9, interfaces: int = 1) -> bytes:
    """A capture of n packets, 10 ms apart, on interfaces in turn; at: of a time, what it reads."""
    made = Capture()
    file = made.section()
    file += b"".join(made.interface(resolution=resolution) for _ in range(interfaces))
    for k in range(n):
        file += made.packet(at(WALL_NS + 10 * MS * k + 7 * k), on=k % interfaces)
    return file


def half(n: int, by: int) -> Callable[[int], int]:
    """The first half of n packets is behind by so much."""
    return lambda t: t if t >= WALL_NS + n // 2 * 10 * MS else t - by


def in_turn(by: int, every: int = 2) -> Callable[[int], int]:
    """Each second packet is ahead by so much."""
    return lambda t: t + by * ((t - WALL_NS) // (10 * MS) % every == 1)


CAPTURES: dict[str, File] = {
    **{
        f"packets_jump_{name}": File(
            lambda n, by=by: capture(n, half(n, by)), "odd-times", f"jumps forward by {says}"
        )
        for name, by, says in (
            ("56_d", 56 * 86_400 * S, "56 d"),
            ("2_h", 7200 * S, "2 h"),
            ("56_y", WALL_NS - 40 * S, "203.. d"),
        )
    },
    **{
        f"packets_set_back_{name}": File(
            lambda n, by=by: capture(n, half(n, -by)), "stream-backwards", says
        )
        for name, by, says in (("10_s", 10 * S, "up to 9.99 s"), ("1_h", 3600 * S, "1 h|59 min"))
    },
    **{
        f"packets_of_two_clocks_{name}": File(
            lambda n, by=by: capture(n, in_turn(by)), "odd-times", f"two clocks.*{says}"
        )
        for name, by, says in (
            ("tai", 37 * S, "37 s ahead, as TAI"),
            ("2_s", 2 * S, "2.01 s"),
            ("3_d", 3 * 86_400 * S, "3 d"),
        )
    },
    **{
        f"interfaces_apart_{name}": File(
            lambda n, by=by: capture(n, in_turn(by), interfaces=2), "odd-times", f"({says}) ahead"
        )
        for name, by, says in (
            ("tai", 37 * S, "37 s"),
            ("2_s", 2 * S, "1.99 s|2 s"),
            ("1970", -WALL_NS + 500 * S, "20370 d 8 h"),
        )
    },
    "packets_at_0": File(lambda n: capture(n, lambda t: 0), "odd-times", "no packet has a time"),
    "packets_alike": File(lambda n: capture(n, lambda t: WALL_NS), "odd-times", "the same"),
    "packets_in_uptime": File(
        lambda n: capture(n, lambda t: t - WALL_NS + 5000 * S),
        "odd-times",
        "all .*1970: 1 h 23 min",
    ),
    "packets_in_us_called_ns": File(
        lambda n: capture(n, lambda t: t // 1000), "odd-times", "1,000 times.*2025-10-09.*tsresol"
    ),
    "packets_in_ms_called_us": File(
        lambda n: capture(n, lambda t: t // MS, 6), "odd-times", "1,000 times.*2025-10-09.*tsresol"
    ),
    "packets_in_ns_called_us": File(lambda n: capture(n, lambda t: t, 6), "odd-times", "tsresol"),
}

HEADER = {"deviceProperties": [{"id": 0, "name": "V100"}]}
OF_2021 = "Operator Runtime Kernel"
CAUSE = "effect-before-cause"
ODD = "odd-times"
FILES: dict[str, File] = {
    "flows_back_by_46_ms": File(lambda n: flows(n, -46_000), CAUSE, "arrive before they leave.*45"),
    "flows_back_by_1_ms": File(
        lambda n: flows(n, -1_100), CAUSE, "arrive before they leave.* 1 ms"
    ),
    "flows_of_slices_back": File(
        lambda n: flows(n, -3_100, "bind"), CAUSE, "arrive before they leave.*2.98 ms"
    ),
    "calls_end_late": File(
        lambda n: profile(n, call_us=20, kernel_us=20, **HEADER), CAUSE, "end up to 5 us"
    ),
    "calls_begin_early": File(
        lambda n: profile(n, call_us=-12, **HEADER), CAUSE, "begin up to 3 us before the op"
    ),
    "calls_after_their_operators": File(
        lambda n: profile(n, call_us=400, kernel_us=400, **HEADER), CAUSE, "end up to 385 us"
    ),
    "kernels_early": File(lambda n: profile(n, kernel_us=-111, **HEADER), CAUSE, "100 us before"),
    "kernels_early_in_2021": File(
        lambda n: profile(n, kernel_us=-111, names=OF_2021, **HEADER), CAUSE, "100 us before"
    ),
    "kernels_early_without_header": File(
        lambda n: profile(n, kernel_us=-111), CAUSE, "100 us before"
    ),
    "wrapped_at_2_64": File(wrapped, ODD, r"2 events 2\^64 ns too late.*2025-10-09"),
    "ns_as_us": File(
        lambda n: document(slices(n, 12, 10**9), beginningOfTime=WALL_US * 1000), ODD, "1,000 times"
    ),
    "ns_since_1970_as_us": File(
        lambda n: document([*slices(n, WALL_US), *slices(4, WALL_US * 1000, pid=2)]),
        ODD,
        "4 events in ns since 1970",
    ),
    **{
        f"times_at_0_{k}": File(
            lambda n, k=k: document([*slices(n, WALL_US), *slices(k, 0, 0)]),
            ODD,
            f"{k} events? at 0",
        )
        for k in (1, 5)
    },
    "two_units": File(
        lambda n: document([*slices(n, WALL_US), *slices(n, WALL_US // 1000, 2.125)]),
        ODD,
        "two units",
    ),
    "seconds_beside_us": File(
        lambda n: document([*slices(n, WALL_US), *slices(6, WALL_US / 10**6, 0.125)]),
        ODD,
        "in s|two units",
    ),
    "uptime_beside_us": File(
        lambda n: document([*slices(n, WALL_US), *slices(6, 88_000_000_000)]), ODD, "6 events"
    ),
    **CAPTURES,
}

HEALTHY: dict[str, Callable[[int], bytes]] = {
    "flows": lambda n: flows(n, 0),
    "flows_of_slices": lambda n: flows(n, 50, "bind"),
    "flows_that_take_no_time": lambda n: flows(n, -100),
    "profile": lambda n: profile(n, **HEADER),
    "profile_of_2021": lambda n: profile(n, names=OF_2021, **HEADER),
    "profile_without_header": lambda n: profile(n),
    "profile_that_begins_at_0": lambda n: profile(n, begin_us=0),
    "viztracer": lambda n: document(
        slices(n, 8_199_570), viztracer_metadata={"baseTimeNanoseconds": WALL_US * 1000}
    ),
    "compiler": lambda n: document(slices(n, 0), beginningOfTime=WALL_US),
    "capture": lambda n: capture(n, lambda t: t),
    "capture_of_two_interfaces": lambda n: capture(n, in_turn(3 * MS), interfaces=2),
    "capture_of_a_pause": lambda n: capture(n, half(n, 20 * S)),
    "viewer_in_ns": lambda n: document(slices(n, 12), displayTimeUnit="ns"),
}


def judge(name: str, size: int) -> tuple[str, str]:
    """Whether the first finding is right, misleading, or the doctor calm; and what it says."""
    from diagnosed import findings

    file = FILES.get(name)
    made = HEALTHY[name](size) if file is None else file.make(size)
    usual = ("no-realtime", "rate-unproven", "no-snapshots", "times-rounded")
    found = [one for one in findings(made) if one.code not in usual]
    says = f"{found[0].severity} [{found[0].code}] {found[0].title}" if found else ""
    if file is None:
        return "loud" if found else "silent", says
    if not found:
        return "calm", says
    is_right = found[0].code == file.code and re.search(file.says, found[0].title)
    return "right" if is_right else "misleading", says


def main() -> None:
    """Print a table of how the doctor does."""
    verdicts = Counter[str]()
    for name in (*FILES, *HEALTHY):
        for size in SIZES:
            verdict, says = judge(name, size)
            verdicts[verdict] += 1
            sys.stdout.write(f"{name:36} {size:4}  {verdict:10} {says}\n")
    sys.stdout.write(f"{dict(verdicts)}\n")


if __name__ == "__main__":
    main()
