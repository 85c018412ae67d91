"""One graph over the clocks of many files, and the ties between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

from tracetime.clocks.families import ONE_OSCILLATOR
from tracetime.clocks.ids import ClockId
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.graph.joining import join
from tracetime.merging.boots import Boots
from tracetime.merging.collectives import PYTORCH, Together, TogetherRule, add_collectives
from tracetime.merging.constant_offsets import add_sync, half_width_ns
from tracetime.merging.files import MergedFile, open_files
from tracetime.merging.first_events import add_first_events
from tracetime.merging.flow_ties import add_flows_between, add_span_calls
from tracetime.merging.manifest_ties import add_manifests, manifests, reference_of
from tracetime.merging.message_ties import TCP, MessageRule, Messages, add_messages
from tracetime.merging.ties import Tie
from tracetime.merging.wall_clocks import add_wall_clocks
from tracetime.trace.trace import Trace


class OwnEvidence(NamedTuple):
    """The numbers in the graph of a file's own snapshots and orders."""

    snapshots: range
    orders: range


def machine_of(file: MergedFile, machine: int) -> str:
    """The name of a machine of a file, in words."""
    if machine == file.home.machine:
        return f"the machine of {file.name}"
    return f"machine {file.trace.machines[machine]} of {file.name}"


class MergedTraces:
    """Traces on one graph; close it, or use it in a `with`.

    Args:
        inputs: paths of traces and archives, of any format. Of an archive with a perfetto_manifest
            its offsets, names of machines and trace time are used.
        sync: offsets that are known, `A:CLOCK=B:CLOCK+OFFSET+-HALF`.
        match: which events are messages, `send=NAME recv=NAME key=ARG,ARG`.
        together: which slices no file leaves before all have entered, `name=PATTERN key=ARG,ARG`.
        same, different: pairs of files, `A,B`, that are of one boot, or are not.
        opened: called with each trace once it is open.
        collective_ends: within which time a collective ends in all files, `50us`.
        at: the first event of this name in each file is one instant.
        assume_wall_clock: how far from UTC wall clocks are whose kernel does not say it, `20ms`.
        reading: how files are opened, as `open_traces` takes it.

    Attributes:
        files: in the order given.
        left_out: what archives have that is no trace, a line each.
        reference: the clock that offsets are to, and whose it is.
        boots: which of them are of one boot.
        clocks: those of all, under the ids that `clock` gives.
        graph: the inner graph of these.
        own: of each file, what its own snapshots and orders are in the graph.
        ties: what ties files to each other.
        wall_clocks: by number of a file, why its wall clock ties it to none.
        messages, together: by rule, what messages and collectives were found.
        given: the rules that the caller gave, with their text.

    Raises:
        UsageError: fewer than two traces, without a manifest; an option that cannot be read or
            names no file.
        TraceError: a file is damaged, or a manifest breaks a rule.
    """

    # long: a step for each kind of tie
    def __init__(  # noqa: PLR0913  the options of the command
        self,
        inputs: Iterable[str | os.PathLike[str]],
        *,
        sync: Iterable[str] = (),
        match: Iterable[str] = (),
        together: Iterable[str] = (),
        same: Iterable[str] = (),
        different: Iterable[str] = (),
        collective_ends: str | None = None,
        opened: Callable[[Trace], object] | None = None,
        assume_wall_clock: str | None = None,
        at: str | None = None,
        reading: Mapping[str, Any] | None = None,
    ) -> None:
        lists = {"sync": sync, "match": match, "together": together}
        lists |= {"same": same, "different": different}
        texts = {"collective_ends": collective_ends, "assume_wall_clock": assume_wall_clock}
        self._stack = ExitStack()
        try:
            found = open_files(inputs, self._stack, opened, reading)
            self.files: Sequence[MergedFile] = found.files
            self.left_out = found.left_out
            given, assumed = self._with_ties_of_archives(lists, texts | {"at": at})
            at = assumed.pop("at")
            of_messages = {text: MessageRule.parse(text) for text in given["match"]}
            of_together = {text: TogetherRule.parse(text) for text in given["together"]}
            self.given: dict[str, MessageRule | TogetherRule] = {**of_messages, **of_together}
            message_rules = [*of_messages.values()]
            together_rules = [PYTORCH, *of_together.values()]
            ends_ns, assumed_ns = (
                None if text is None else half_width_ns(text) for text in assumed.values()
            )
            self.reference = reference_of(self.files)
            self.boots = Boots(self.files, given["same"], given["different"])
            self.clocks = ClockGraph()
            self.graph = inner(self.clocks)
            self.own = [self._join(file) for file in self.files]
            self.ties = self._of_one_boot()
            self.ties += add_manifests(self.graph, self.files, self.boots)
            self.ties += add_span_calls(self.graph, self.files, self.boots)
            if any(file.trace.options.orders for file in self.files):
                self.ties += add_flows_between(self.graph, self.files, self.boots)
            for text in given["sync"]:
                self.ties.append(add_sync(self.graph, self.files, self.boots, text))
            if at is not None:
                self.ties += add_first_events(self.graph, self.files, self.boots, at)
            if sum("tcp" in file.trace.shares for file in self.files) > 1:
                message_rules.append(MessageRule.parse(TCP))
            self.messages: dict[MessageRule, Messages] = {}
            for rule in message_rules:
                self.messages[rule] = add_messages(self.graph, self.files, self.boots, rule)
                self.ties += self.messages[rule].ties
            ties, self.wall_clocks = add_wall_clocks(self.graph, self.files, self.boots, assumed_ns)
            self.ties += ties
            self.together: dict[TogetherRule, Together] = {}
            for which in together_rules:
                self.together[which] = add_collectives(
                    self.graph, self.files, self.boots, which, ends_ns, self.reference.file
                )
                self.ties += self.together[which].ties
        except BaseException:
            self._stack.close()
            raise

    def _with_ties_of_archives(
        self, lists: Mapping[str, Iterable[str]], assumed: Mapping[str, str | None]
    ) -> tuple[dict[str, list[str]], dict[str, str | None]]:
        """Options, with those by which archives were written."""
        given, found = {name: [*texts] for name, texts in lists.items()}, {**assumed}
        for manifest, _ in manifests(self.files):
            for name, value in (manifest.ties or {}).items():
                if name in given:
                    given[name] += value
                elif name in found:
                    found[name] = found[name] or value
        return given, found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._stack.close()

    def home(self, number: int) -> ClockId:
        """The trace clock of a file, among the clocks of all."""
        return self.boots.clock(number, self.files[number].home)

    def ties_of(self, number: int) -> Sequence[Tie]:
        """The ties of a file."""
        return self._by_file.get(number, ())

    @cached_property
    def _by_file(self) -> dict[int, list[Tie]]:
        found: dict[int, list[Tie]] = {}
        for tie in self.ties:
            for number in {tie.one, tie.other}:
                found.setdefault(number, []).append(tie)
        return found

    @cached_property
    def tied(self) -> set[int]:
        """The numbers of the files that ties lead to from that of the timeline."""
        reached, left = {self.reference.file}, [self.reference.file]
        while left:
            ends = {end for tie in self.ties_of(left.pop()) for end in (tie.one, tie.other)}
            left += ends - reached
            reached |= ends
        return reached

    @property
    def timeline(self) -> ClockId:
        """The clock that offsets are to, among the clocks of all."""
        return self.boots.clock(self.reference.file, self.reference.clock)

    def _join(self, file: MergedFile) -> OwnEvidence:
        """Add the clocks and the evidence of a file to the graph, and return its numbers there."""
        graph = self.graph
        before = graph.state.version
        join(graph, inner(file.trace.clocks), partial(self.boots.clock, file.number))
        return OwnEvidence(*map(range, before, graph.state.version))

    def _of_one_boot(self) -> list[Tie]:
        """The ties from the first file that has a clock of a boot to each other such file."""
        ties, of_clocks = [], dict[ClockId, int]()
        for group in self.boots.groups:
            having = [number for number in group if self.files[number].has_kernel_clock]
            for other in having[1:]:
                reason = self.boots.decision(having[0], other).reason
                ties.append(Tie(having[0], other, "clocks", 1, f"one boot: {reason}"))
        grouped = {n: k for k, group in enumerate(self.boots.groups) for n in group}
        pairs = {
            (of_clocks.setdefault(clock, file.number), file.number)
            for file in self.files
            for clock in sorted(self._kernel_clocks(file))
        }
        for one, other in sorted(pairs):
            if grouped[one] != grouped[other]:
                ties.append(Tie(one, other, "clocks", 1, f"one boot: {self._of_both(one, other)}"))
        return ties

    def _of_both(self, one: int, other: int) -> str:
        """The reason why a machine of one file is one of the other, in words."""
        here, there = self.files[one], self.files[other]
        for machine, boot in here.trace.boots.items():
            for again, its in there.trace.boots.items():
                alike = self.boots.machine(one, machine) == self.boots.machine(other, again)
                if alike and boot == its:
                    names = machine_of(here, machine), machine_of(there, again)
                    return f"{names[0]} is {names[1]}, boot {boot.hex()}"
        return "the manifest calls a machine of both by one name"

    def _kernel_clocks(self, file: MergedFile) -> set[ClockId]:
        """The clocks of a file that another may have, too, among those of all."""
        own = (info.clock for info in file.trace.clocks.clocks())
        return {self.boots.clock(file.number, c) for c in own if c.clock in ONE_OSCILLATOR}
