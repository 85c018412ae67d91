"""One graph over the clocks of many files, and what ties them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from tracetime.clocks.ids import ClockId
from tracetime.formats.ctf.reader import CtfTrace
from tracetime.graph.graph import ClockGraph
from tracetime.graph.joining import join
from tracetime.merging.boots import BootDecision, Boots
from tracetime.merging.collectives import PYTORCH, Together, TogetherRule, add_collectives
from tracetime.merging.constant_offsets import add_sync, half_width_ns
from tracetime.merging.files import MergedFile, of_file, open_files
from tracetime.merging.manifest_ties import add_manifest, machine_pairs, manifest_of
from tracetime.merging.message_ties import TCP, MessageRule, Messages, add_messages
from tracetime.merging.ties import Tie
from tracetime.merging.wall_clocks import add_wall_clocks
from tracetime.trace import Trace


class OwnEvidence(NamedTuple):
    """The numbers in the graph of a file's own snapshots and orders."""

    snapshots: range
    orders: range


class JoinedTraces:
    """Traces on one graph; close it, or use it in a `with`.

    Args:
        inputs: paths of traces and archives, of any format. Where the one input is an archive with
            a perfetto_manifest, its offsets and names of machines are used.
        sync: offsets that are known, `A:CLOCK=B:CLOCK+OFFSET+-HALF`.
        match: which events are messages, `send=NAME recv=NAME key=ARG,ARG`.
        together: which slices no file leaves before all have entered, `name=PATTERN key=ARG,ARG`.
        same, different: pairs of files, `A,B`, that are of one boot, or are not.
        opened: called with each trace once it is open.
        assume_wall_clock: how far from UTC wall clocks are whose kernel does not say it, `20ms`.
        reading: how files are opened, as `open_traces` takes it.

    Attributes:
        files: in the order given.
        boots: which of them are of one boot.
        graph: the clocks of all, under the ids that `clock` gives.
        own: of each file, what its own snapshots and orders are in the graph.
        ties: what ties files to each other.
        wall_clocks: by number of a file, why its wall clock ties it to none.
        messages, together: by rule, what messages and collectives were found.
        given: the rules that the caller gave, with their text.

    Raises:
        UsageError: fewer than two traces; an option that cannot be read or names no file.
        TraceError: a file is damaged.
    """

    def __init__(  # noqa: PLR0913  the options of the command
        self,
        inputs: Iterable[str | os.PathLike[str]],
        *,
        sync: Iterable[str] = (),
        match: Iterable[str] = (),
        together: Iterable[str] = (),
        same: Iterable[str] = (),
        different: Iterable[str] = (),
        opened: Callable[[Trace], object] | None = None,
        assume_wall_clock: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        inputs = list(inputs)
        archive = os.fspath(inputs[0]) if len(inputs) == 1 else ""
        with of_file(archive):
            manifest = manifest_of(archive) if archive else None
        of_messages = {text: MessageRule.parse(text) for text in match}
        of_together = {text: TogetherRule.parse(text) for text in together}
        self.given: dict[str, MessageRule | TogetherRule] = {**of_messages, **of_together}
        message_rules = [*of_messages.values()]
        together_rules = [PYTORCH, *of_together.values()]
        assumed_ns = None if assume_wall_clock is None else half_width_ns(assume_wall_clock)
        self._stack = ExitStack()
        try:
            self.files: Sequence[MergedFile] = open_files(inputs, self._stack, opened, reading)
            alike: list[tuple[str, str]] = []
            unlike: list[tuple[str, str]] = []
            if manifest is not None:
                alike, unlike = machine_pairs(manifest, self.files, archive)
            self.boots = Boots(self.files, [*same, *alike], [*different, *unlike])
            self.graph = ClockGraph()
            self.own = [self._join(file) for file in self.files]
            self.ties = self._of_one_boot()
            if manifest is not None:
                self.ties += add_manifest(self.graph, self.files, self.boots, manifest, archive)
            for text in sync:
                self.ties.append(add_sync(self.graph, self.files, self.boots, text))
            if sum(isinstance(file.trace, CtfTrace) for file in self.files) > 1:
                message_rules.append(MessageRule.parse(TCP))
            self.messages: dict[MessageRule, Messages] = {}
            for rule in message_rules:
                found = add_messages(self.graph, self.files, self.boots, rule)
                self.messages[rule] = found
                self.ties += found.ties
            ties, self.wall_clocks = add_wall_clocks(self.graph, self.files, self.boots, assumed_ns)
            self.ties += ties
            self.together: dict[TogetherRule, Together] = {}
            for which in together_rules:
                self.together[which] = add_collectives(self.graph, self.files, self.boots, which)
                self.ties += self.together[which].ties
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def home(self, number: int) -> ClockId:
        """The trace clock of a file, among the clocks of all."""
        return self.boots.clock(number, self.files[number].home)

    def _join(self, file: MergedFile) -> OwnEvidence:
        """Add what a file knows of its clocks."""
        parts = self.graph._parts
        before = parts.state.version
        join(parts, file.trace.clocks._parts, partial(self.boots.clock, file.number))
        return OwnEvidence(*map(range, before, parts.state.version))

    def _of_one_boot(self) -> list[Tie]:
        return [
            Tie(decision.one, decision.other, "clocks", 1, f"one boot: {decision.reason}")
            for decision in self.boots.decisions
            if decision.same and self._share_a_clock(decision)
        ]

    def _share_a_clock(self, decision: BootDecision) -> bool:
        """Whether two files of one boot have clocks of the kernel's: these are one."""
        ends = (self.files[number] for number in (decision.one, decision.other))
        return all(file.has_kernel_clock for file in ends)
