"""One graph over the clocks of many files, and what ties them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Self

from tracetime.clocks.ids import ClockId
from tracetime.formats.ctf.reader import CtfTrace
from tracetime.graph.graph import ClockGraph
from tracetime.graph.joining import join
from tracetime.merging.boots import Boots
from tracetime.merging.collectives import PYTORCH, TogetherRule, add_collectives
from tracetime.merging.constant_offsets import add_sync
from tracetime.merging.files import MergedFile, open_files
from tracetime.merging.manifest_ties import add_manifest, machine_pairs, manifest_of
from tracetime.merging.message_ties import TCP, MessageRule, add_messages
from tracetime.merging.ties import Tie


class JoinedTraces:
    """Traces on one graph; close it, or use it in a `with`.

    Args:
        inputs: paths of traces and archives, of any format. Where the one input is an archive with
            a perfetto_manifest, its offsets and names of machines are used.
        sync: offsets that are known, `A:CLOCK=B:CLOCK+OFFSET+-HALF`.
        match: which events are messages, `send=NAME recv=NAME key=ARG,ARG`.
        together: which slices no file leaves before all have entered, `name=PATTERN key=ARG,ARG`.
        same, different: pairs of files, `A,B`, that are of one boot, or are not.

    Attributes:
        files: in the order given.
        boots: which of them are of one boot.
        graph: the clocks of all, under the ids that `clock` gives.
        ties: what ties files to each other.
        message_rules, together_rules: what messages and collectives were looked for.

    Raises:
        UsageError: fewer than two traces; an option that cannot be read or names no file.
        TraceError: a file is damaged.
    """

    def __init__(
        self,
        inputs: Iterable[str | os.PathLike[str]],
        *,
        sync: Iterable[str] = (),
        match: Iterable[str] = (),
        together: Iterable[str] = (),
        same: Iterable[str] = (),
        different: Iterable[str] = (),
    ) -> None:
        inputs = list(inputs)
        archive = os.fspath(inputs[0]) if len(inputs) == 1 else ""
        manifest = manifest_of(archive) if archive else None
        self.message_rules = [MessageRule.parse(text) for text in match]
        self.together_rules = [PYTORCH, *(TogetherRule.parse(text) for text in together)]
        self._stack = ExitStack()
        try:
            self.files: Sequence[MergedFile] = open_files(inputs, self._stack)
            alike: list[tuple[str, str]] = []
            unlike: list[tuple[str, str]] = []
            if manifest is not None:
                alike, unlike = machine_pairs(manifest, self.files, archive)
            self.boots = Boots(self.files, [*same, *alike], [*different, *unlike])
            self.graph = ClockGraph()
            for file in self.files:
                join(
                    self.graph._parts,
                    file.trace.clocks._parts,
                    partial(self.boots.clock, file.number),
                )
            self.ties = self._of_one_boot()
            if manifest is not None:
                self.ties += add_manifest(self.graph, self.files, self.boots, manifest, archive)
            for text in sync:
                self.ties.append(add_sync(self.graph, self.files, self.boots, text))
            if sum(isinstance(file.trace, CtfTrace) for file in self.files) > 1:
                self.message_rules.append(MessageRule.parse(TCP))
            for rule in self.message_rules:
                self.ties += add_messages(self.graph, self.files, self.boots, rule)
            self.ties += add_collectives(self.graph, self.files, self.boots, self.together_rules)
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

    def _of_one_boot(self) -> list[Tie]:
        return [
            Tie(decision.one, decision.other, "clocks", 1, f"one boot: {decision.reason}")
            for decision in self.boots.decisions
            if decision.same
        ]
