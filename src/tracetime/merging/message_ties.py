"""Messages between files: events that one file sent and another received."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.errors import UsageError
from tracetime.graph.graph import ClockGraph
from tracetime.matching import match_messages
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile, of_file
from tracetime.merging.rules import argument_columns, parts_of, quoted
from tracetime.merging.ties import Tie
from tracetime.text import count, printable

TCP: Final = "send=inet_sock_local_out recv=inet_sock_local_in key=seq,ack_seq,flags"
"""LTTng's events of TCP packets: matched without an option."""


class MessageRule(NamedTuple):
    """Which events are the two ends of a message.

    Attributes:
        send, receive: their names.
        keys: the arguments that tell messages apart.
    """

    send: str
    receive: str
    keys: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> MessageRule:
        """Read `send=NAME recv=NAME key=ARG,ARG`.

        Raises:
            UsageError: it is not of this form.
        """
        parts = parts_of(text)
        if parts is None or set(parts) != {"send", "recv", "key"}:
            raise UsageError(
                f"{text!r} is no rule: write send=EVENT recv=EVENT key=ARGUMENT,ARGUMENT"
            )
        return cls(parts["send"], parts["recv"], tuple(parts["key"].split(",")))


class Messages(NamedTuple):
    """What was found of the messages of a rule.

    Attributes:
        ties: between files.
        counts: by number of a file, how many it has sent and received.
    """

    ties: list[Tie]
    counts: list[tuple[int, int]]


class _Ends(NamedTuple):
    """One end of messages in a file: when it was at the earliest and at the latest, and its key."""

    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]
    keys: tuple[pa.Array, ...]


def add_messages(
    graph: ClockGraph, files: Sequence[MergedFile], boots: Boots, rule: MessageRule
) -> Messages:
    """Add each message from one file to another as an order: it is received after it was sent.

    A key that occurs twice at an end is left out. Times are those of the trace clock, with their
    bars: what was sent after its earliest time was received before its latest.

    Raises:
        UsageError: as `Trace.sql`.
        TraceError: a file is damaged.
    """
    sent = [_ends(file, rule.send, rule.keys) for file in files]
    received = [_ends(file, rule.receive, rule.keys) for file in files]
    ties = []
    senders = [number for number, ends in enumerate(sent) if len(ends.earliest)]
    receivers = [number for number, ends in enumerate(received) if len(ends.latest)]
    for one, other in product(senders, receivers):
        clocks = [boots.clock(n, files[n].home) for n in (one, other)]
        here, there = sent[one], received[other]
        if clocks[0] == clocks[1]:
            continue
        match = match_messages(here.keys, there.keys)
        if not len(match.sent):
            continue
        first = graph._parts.state.version[1]
        graph.add_order(
            before=(here.earliest[match.sent], clocks[0]),
            after=(there.latest[match.received], clocks[1]),
        )
        said = f"{count(len(match.sent), 'message')} {printable(rule.send)}"
        left_out = match.repeated_sent + match.repeated_received
        ties.append(
            Tie(
                one,
                other,
                "messages",
                len(match.sent),
                f"{said} to {printable(rule.receive)} by {', '.join(rule.keys)}"
                + (f"; {left_out} with a key that occurs twice left out" if left_out else ""),
                orders=range(first, graph._parts.state.version[1]),
            )
        )
    pairs = zip(sent, received, strict=True)
    return Messages(ties, [(len(here.keys[0]), len(there.keys[0])) for here, there in pairs])


def ties_nothing(files: Sequence[MergedFile], rule: MessageRule, found: Messages) -> str:
    """Why the messages of a rule tie no files, in words."""
    counts = zip(*found.counts, strict=True)
    ends = [
        f"{sum(n)} {printable(name)}"
        for n, name in zip(counts, (rule.send, rule.receive), strict=True)
    ]
    return (
        f"{' and '.join(ends)} in all {len(files)} files; none has a partner in another machine's "
        f"by {printable(', '.join(rule.keys))}"
    )


def why_no_messages(
    one: MergedFile, other: MergedFile, rule: MessageRule, counts: Sequence[tuple[int, int]]
) -> str:
    """Why the messages of a rule do not tie two files, in words; counts: of `Messages`."""
    found = [
        f"{n} {printable(name)} in {printable(file.name)}"
        for file in (one, other)
        for n, name in zip(counts[file.number], (rule.send, rule.receive), strict=True)
    ]
    return f"{', '.join(found)}; none has a partner by {printable(', '.join(rule.keys))}"


def _ends(file: MergedFile, name: str, keys: Sequence[str]) -> _Ends:
    with of_file(file.name):
        table = file.trace.sql(
            f"select earliest, latest, {argument_columns(keys)} from events "
            f"where name = '{quoted(name)}' and machine = {file.home.machine} "
            "and earliest is not null and latest is not null",
            policy="tube",
        )
    earliest, latest, *found = (column.combine_chunks() for column in table.columns)
    return _Ends(
        earliest.to_numpy(zero_copy_only=False).astype(np.int64),
        latest.to_numpy(zero_copy_only=False).astype(np.int64),
        tuple(found),
    )
