"""Read mutated traces until the time is up.

    python -m fuzz [--seconds 60] [--seed N] [TRACE ...]

An input must give rows or a TraceError. Another exception, a crash, more than 20 s for an input, or
memory out of proportion is a failure: the input is kept and its name printed. A child process does
the work, so that a crash of native code is noticed. The mutated traces are the demo trace, those
that the tests build, and those given.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from fuzz.driver import ROOT, parser_of, run_child

LONGEST_S = 20  # for an input; the usual one takes milliseconds
MOST_MEMORY = 512 << 20  # above what the first input needs, bytes
EXPANSION = 64 << 20  # small, so that bombs end soon, bytes


def marked(random: Random) -> Any:
    """A packet of ftrace events that are slices, or name threads."""
    from building import pb

    def number() -> int:
        return random.choice((0, 1, 2, 3, 66, 88))

    made = pb.TracePacket(timestamp=6, trusted_packet_sequence_id=1)
    made.ftrace_events.cpu = random.randrange(3)
    for _ in range(random.randrange(6)):
        event = made.ftrace_events.event.add(timestamp=number(), pid=number())
        kind = random.choice(("print", "print", "binder", "received", "fence", "task", "free"))
        if kind == "print":
            line = (random.choice("BESFINGHC"), number(), *random.choices("ab|", k=2), number())
            event.print.buf = "|".join(map(str, line))
        elif kind == "binder":
            event.binder_transaction.debug_id = number()
            event.binder_transaction.reply = number() & 1
            event.binder_transaction.flags = number()
        elif kind == "received":
            event.binder_transaction_received.debug_id = number()
        elif kind == "fence":
            name = random.choice(("init", "emit", "signaled", "wait_start", "wait_end"))
            fence = getattr(event, f"dma_fence_{name}")
            fence.context, fence.seqno, fence.timeline = number(), number(), random.choice("ab")
        elif kind == "task":
            event.task_newtask.pid = number()
            event.task_newtask.clone_flags = random.choice((0, 0x10000))
        else:
            event.sched_process_free.pid = number()
    return made


def named(random: Random) -> bytes:  # noqa: C901  a branch for each kind of field
    """A trace with what names come from: interned data, descriptors, arguments of all kinds."""
    from building import event, pb, trace

    from fuzz.mutate import some_fields

    def filled(message: Any, depth: int) -> Any:
        """Set random fields of a message, by its schema."""
        fields = list(message.DESCRIPTOR.fields)
        for field in random.sample(fields, min(6, len(fields))):
            place = getattr(message, field.name)
            many = hasattr(place, "append")
            for _ in range(random.randrange(1, 4) if many else 1):
                if field.message_type is not None:
                    if depth:
                        filled(place.add() if many else place, depth - 1)
                    continue
                if field.cpp_type == field.CPPTYPE_STRING:
                    value: Any = "".join(random.choices('ab"\\{}[]:,1é', k=random.randrange(9)))
                    if field.type == field.TYPE_BYTES:
                        value = value.encode()
                elif field.cpp_type in (field.CPPTYPE_DOUBLE, field.CPPTYPE_FLOAT):
                    value = random.choice((0.0, 0.1, float("nan"), float("inf")))
                elif field.enum_type is not None:
                    value = random.choice(field.enum_type.values).number
                else:
                    value = random.choice((0, 1, 2, 3, 66, 88))
                place.append(value) if many else setattr(message, field.name, value)
        return message

    packets = []
    for _ in range(random.randrange(1, 12)):
        one = event(5, seq=random.randrange(1, 3), cleared=random.random() < 0.3)
        filled(one.track_event, 0)
        for _ in range(random.randrange(3)):
            filled(one.track_event.debug_annotations.add(), 4)
        if random.random() < 0.5:
            filled(one.interned_data, 1)
        if random.random() < 0.3:
            filled(one.trace_packet_defaults.track_event_defaults, 0)
        packets.append(one)
        made = pb.TracePacket(timestamp=6, trusted_packet_sequence_id=1)
        kind = random.choice(
            ("track_descriptor", "process_tree", "thread_descriptor", "android_log", "perf_sample")
        )
        filled(getattr(made, kind), 2)
        packets.append(made)
        packets.append(marked(random))
    return bytes(trace(*packets)) + some_fields(random)


def seeds(given: list[Path], random: Random) -> list[bytes]:
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from random_traces import nasty_trace
    from simulated import recorded_trace

    demo = ROOT / "demo" / "demo.pftrace"
    built = [nasty_trace(Random(random.randrange(1 << 30))) for _ in range(60)]
    built += [recorded_trace(seed) for seed in range(10)]
    built += [named(random) for _ in range(60)]
    return [demo.read_bytes(), *(path.read_bytes() for path in given), *built]


def memory() -> int:
    """Anonymous memory of this process, bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def read(path: Path, partial: bool) -> None:
    """Read a trace in every way; a TraceError is a good answer."""
    import tracetime

    try:
        with tracetime.open_trace(path, partial=partial, max_expansion=EXPANSION) as trace:
            for batch in trace.events():
                batch.validate(full=True)
            for batch in trace.events(names=True):
                batch.validate(full=True)
            for batch in trace.slices():
                batch.validate(full=True)
            assert len(trace.clocks.clocks()) >= 0
            assert len(trace.recorded_domains) >= 0
            assert trace.n_warnings >= len(trace.warnings)
    except tracetime.TraceError:
        pass


def child(arguments: argparse.Namespace) -> None:
    from fuzz.mutate import mutated

    faulthandler.enable()
    random = Random(arguments.seed)
    corpus = seeds(arguments.traces, random)
    path = arguments.input
    until = time.monotonic() + arguments.seconds
    least, runs = None, 0
    while time.monotonic() < until:
        data = mutated(random, random.choice(corpus), random.choice(corpus))
        path.write_bytes(data)
        faulthandler.dump_traceback_later(LONGEST_S, exit=True)
        read(path, partial=random.random() < 0.5)
        faulthandler.cancel_dump_traceback_later()
        runs += 1
        now = memory()
        if least is not None and now - least > MOST_MEMORY // 4:
            # Memory that only the allocator keeps does not count.
            ctypes.CDLL(None).malloc_trim(0)
            now = memory()
        least = now if least is None else least
        if now - least > MOST_MEMORY + 64 * len(data):
            raise SystemExit(f"memory grew by {now - least} bytes on {len(data)} bytes of input")
    print(
        f"{runs} inputs, {runs / max(arguments.seconds, 1e-9):.0f} a second, seed {arguments.seed}"
    )


def main() -> None:
    parser = parser_of("fuzz", __doc__)
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    arguments = parser.parse_args()
    if arguments.input is not None:
        child(arguments)
        return
    run_child("fuzz", list(map(str, arguments.traces)), arguments, "input.pftrace", "")


if __name__ == "__main__":
    main()
