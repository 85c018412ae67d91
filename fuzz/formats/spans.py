"""Calls between hosts as OTLP and as Jaeger's JSON; values that are off in type and size."""

from __future__ import annotations

import json
import re
from random import Random

_PUT = (
    b"null", b"true", b"-1", b"0", b"1e300", b'""', b'"x"', b"[]", b"{}", b"[{}]", b'"\\ud800"',
    b'"\xff"', b"9" * 30, b'"9223372036854775808"', b"[" * 3000, b'{"a":' * 300, b'"' + b"a" * 5000,
)  # fmt: skip


def samples() -> list[bytes]:
    from span_files import as_jaeger, otlp, simulated_world, two_hosts

    worlds = [simulated_world(seed, hosts=3, calls=8) for seed in range(4)]
    lines = [otlp(*world.groups) for world in worlds]
    whole = [json.dumps({"resourceSpans": world.groups}, indent=1).encode() for world in worlds[:2]]
    snake = [re.sub(rb'([a-z])([A-Z])(?=\w*": )', rb"\1_\2", one).lower() for one in lines[:1]]
    return [*lines, *whole, *snake, two_hosts(), *(as_jaeger(world.groups) for world in worlds)]


def mutate(random: Random, data: bytes) -> bytes:
    """Put another value, or another value of the file, in the place of one."""
    values = list(re.finditer(rb'(?<=: )("[^"]*"|-?\d+|\[\]|\{\})', data))
    for _ in range(random.choice((1, 1, 2, 5))):
        if not values:
            break
        one, other = random.choice(values), random.choice(values)
        put = random.choice(_PUT) if random.random() < 0.5 else other[0]
        data = data[: one.start()] + put + data[one.end() :]
        values = [value for value in values if value.end() < one.start()]
    return data
