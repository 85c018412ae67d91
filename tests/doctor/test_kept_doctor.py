"""What the doctor finds in small traces stays what it was: codes, places, events, times and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from random import Random

import pytest
from faults import FAULTS, Model
from kept import check_kept
from random_traces import nasty_trace
from reading import opened

from tracetime import Finding, TraceError, diagnose

SEEDS = 3
WITH_ANOTHER = 3
NASTY = [f"nasty {n}" for n in range(8)]


def faulty(seed: str, *names: str) -> bytes:
    """A minute of clocks with these faults, one put in after the other."""
    model, random = Model(), Random(seed)
    for name in names:
        FAULTS[name](model, random)
    return model.build()


def traces(group: str) -> Iterator[tuple[str, bytes]]:
    if group in NASTY:
        for n in range(20):
            yield f"{group} {n}", nasty_trace(Random(f"{group} {n}"))
        return
    for seed in range(SEEDS):
        yield f"{group} {seed}", faulty(f"{group} {seed}", group)
    found = 0
    for other in Random(group).sample(sorted(FAULTS), len(FAULTS)):
        # Some faults cannot be put into what others have left.
        with suppress(TypeError, KeyError, ValueError):
            yield f"{group} and {other}", faulty(group + other, group, other)
            found += 1
        if found == WITH_ANOTHER:
            return


def reported(data: bytes, tolerances: bool = True) -> list[str]:
    """The findings of a trace, a line each, and how severe they are by other tolerances."""
    with opened(data, partial=True) as trace:
        try:
            found = diagnose(trace)
        except TraceError as error:
            return [str(error)]
    reported = list(lines(found, ""))
    worst_ns = next((one.worst_ns for one in found if one.worst_ns), None)
    if worst_ns is not None and tolerances:
        for tolerance_ns in (worst_ns - 1, worst_ns):
            with opened(data, partial=True) as trace:
                again = diagnose(trace, tolerance_ns)
            reported.append(f"by {tolerance_ns} ns: {' '.join(severities(again))}")
    return reported


def lines(found: Sequence[Finding], indent: str) -> Iterator[str]:
    for one in found:
        # Only a hash of the prose is kept: it shows whether the prose changed.
        prose = sha256(f"{one.why}\n{one.fix}".encode()).hexdigest()[:8]
        clocks = " ".join(map(str, one.clocks))
        yield (
            f"{indent}{one.severity} {one.code}: {one.title} | {clocks} | "
            f"{' '.join(map(str, one.packets))} | {one.events} | {one.worst_ns} | {prose}"
        )
        yield from lines(one.consequences, indent + "  ")


def severities(found: Sequence[Finding]) -> Iterator[str]:
    for one in found:
        yield f"{one.code}={one.severity}:{one.events}"
        yield from severities(one.consequences)


@pytest.mark.parametrize("group", [*FAULTS, *NASTY])
def test_findings_of_small_traces(group):
    check_kept("doctor", group, {name: reported(data) for name, data in traces(group)})
