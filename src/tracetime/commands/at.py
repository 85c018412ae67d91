"""`tracetime at`: convert one timestamp from one clock of a trace to another, and explain it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from tracetime.clocks.families import WALL
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.wall_time import format_wall_time, looks_like_wall_time, parse_wall_time
from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.limits import domains_of, limit_options, warn_of_absent_in, warn_of_unused
from tracetime.commands.options import (
    Clock,
    clock_in,
    json_option,
    policy_options,
    trace_options,
)
from tracetime.commands.show import print_json
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.explanation import Explanation
    from tracetime.graph.tube.bars import Bars
    from tracetime.graph.tube.explanation import TubeExplanation
    from tracetime.trace import Trace

REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_INTEGER = re.compile(r"[+-]?\d+(_\d+)*", re.ASCII)


@click.command("at")
@trace_options
@click.argument("value", metavar="TIME")
@click.option("--from", "src", type=Clock(), help="The clock that TIME is a reading of.")
@click.option("--to", "dst", type=Clock(), help="The clock to convert to.")
@click.option(
    "--sequence",
    type=click.IntRange(1, 2**32 - 1),
    help="The packet sequence of a clock numbered 64 to 127.",
)
@click.option(
    "--near",
    type=int,
    metavar="NS",
    help="Roughly when that was, in trace time: for a counter that wraps, it says which wrap.",
)
@policy_options
@limit_options
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if TIME is outside the snapshots that convert it.",
)
@json_option
def command(  # noqa: PLR0913  a parameter for each option
    trace: str,
    reading: dict[str, Any],
    value: str,
    src: ClockId | None,
    dst: ClockId | None,
    sequence: int | None,
    near: int | None,
    policy: PolicyName,
    bars: Bars,
    strict: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Convert one TIME from a clock to another, and explain how.

    TIME is what the clock read, in its own unit (ns for most), or for REALTIME a date and time in
    ISO 8601. For an incremental clock it is the absolute value. Put -- before a TIME below 0.

    A clock is a name (MONOTONIC), a number (6, 0x8a01b2c3), a name with dots (com.example.gpu) or
    64@seq7. Give --from, --to or both: the other one is the trace clock.

    The result is in ns, whatever the unit of its clock. With --policy tube it has an error bar, and
    says what that rests on. Only the tube converts to a clock that counts ticks (TSC, or one with
    --clock-rate), and the result is in ticks. If TIME is outside the snapshots, the output says how
    far.

    \b
    Examples:
      tracetime at trace.pftrace 1104 --from MONOTONIC --to BOOTTIME
      tracetime at trace.pftrace 868258201186 --to REALTIME
      tracetime at trace.pftrace 2026-08-22T14:48:40.123456789Z --to MONOTONIC
      tracetime at trace.pftrace 870001 --from 64 --sequence 7
      tracetime at trace.pftrace 1104 --from MONOTONIC --policy tube
      tracetime at trace.pftrace 7021 --from 0x8a01b2c3 --policy tube \\
        --valid-bits 0x8a01b2c3=36 --near 868258201186
    """
    from tracetime.formats import open_trace

    domains = domains_of(limits)
    with open_trace(trace, **reading, domains=domains) as opened:
        warn_of_absent_in(opened.clocks, domains)
        if policy != "tube":
            warn_of_unused(limits)
        explanation = _explain(opened, value, src, dst, sequence, near, policy, bars)
    if as_json:
        print_json(_facts(trace, explanation))
    else:
        echo(str(explanation))
        ends = (explanation.src, explanation.value), (explanation.dst, explanation.result)
        for clock, ns in ends:
            if clock.clock in WALL:
                echo(f"{clock} {ns} is {format_wall_time(ns)}")
    return CHECK_FAILED if strict and explanation.outside is not None else DONE


def _explain(  # noqa: PLR0913  the options of the command that concern the conversion
    trace: Trace,
    text: str,
    src: ClockId | None,
    dst: ClockId | None,
    sequence: int | None,
    near: int | None,
    policy: PolicyName,
    bars: Bars,
) -> Explanation | TubeExplanation:
    value, wall_time = _value(text)
    if wall_time:
        src = REALTIME if src is None else src
        if src.clock not in WALL:
            raise UsageError(
                f"a date and time is a reading of REALTIME, not of {src}: leave out --from"
            )
    if src is None and dst is None:
        raise UsageError("give the clock to convert from or to: --from CLOCK, --to CLOCK or both")
    if sequence and not any(
        clock is not None and clock.is_sequence_scoped and not clock.sequence
        for clock in (src, dst)
    ):
        raise UsageError("--sequence is for a clock numbered 64 to 127 without @seq: none is given")
    if near is not None and policy != "tube":
        raise UsageError("only the tube distinguishes wraps: give --policy tube, too")
    from tracetime.graph.ticks import refuse_floor_into_ticks

    graph = trace.clocks
    source = trace.trace_clock if src is None else clock_in(graph, src, sequence)
    target = trace.trace_clock if dst is None else clock_in(graph, dst, sequence)
    if policy == "floor":
        refuse_floor_into_ticks(graph, source, target)
    return graph.explain(
        value,
        source,
        target,
        policy=policy,
        bars=bars,
        near=None if near is None else (near, trace.trace_clock),
    )


def _value(text: str) -> tuple[int, bool]:
    """Return the number that `text` means, and whether it is a date and time."""
    if looks_like_wall_time(text):
        return parse_wall_time(text), True
    if _INTEGER.fullmatch(text) is None or len(text) > 40:
        raise UsageError(
            f"cannot read {text!r} as a time: give a whole number, or for REALTIME a date and "
            "time such as 2026-08-22T14:48:40.123456789Z"
        )
    return int(text), False


def _facts(trace: str, explanation: Explanation | TubeExplanation) -> dict[str, Any]:
    from tracetime.graph.tube.explanation import TubeExplanation

    facts: dict[str, Any] = {
        "trace": trace,
        "from": str(explanation.src),
        "to": str(explanation.dst),
        "value": explanation.value,
        "value_unit": explanation.value_unit,
    }
    if isinstance(explanation, TubeExplanation):
        facts |= {
            "policy": "tube",
            "bars": explanation.bars,
            "basis": explanation.basis,
            "result": explanation.result,
            "unit": explanation.unit,
            "earliest": explanation.earliest,
            "latest": explanation.latest,
        }
    else:
        facts |= {
            "unit_ns": explanation.unit_ns,
            "result": explanation.result,
            "unit": explanation.unit,
        }
    outside = explanation.outside
    facts["extrapolated"] = "" if outside is None else outside.side
    facts["outside_ns"] = 0 if outside is None else outside.ns
    facts["steps"] = [
        step._asdict() | {"src": str(step.src), "dst": str(step.dst)} for step in explanation.steps
    ]
    if explanation.src.clock in WALL:
        facts["value_utc"] = format_wall_time(explanation.value)
    if explanation.dst.clock in WALL:
        facts["result_utc"] = format_wall_time(explanation.result)
    return facts
