"""The demo trace and traces that the tests build, by what all formats are tried with."""

from __future__ import annotations

from random import Random


def samples() -> list[bytes]:
    from random_traces import nasty_trace

    return [nasty_trace(Random(seed)) for seed in range(20)]
