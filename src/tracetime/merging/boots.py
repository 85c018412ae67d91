"""The machines of files that are one boot of one machine: its clocks are then the same clocks.

Equated only where the files prove it, or the caller says so: a wrong pair would put events at wrong
times with a narrow bar.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime.clocks.families import ONE_OSCILLATOR
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.unset_walls import are_unset
from tracetime.errors import UsageError
from tracetime.graph.clock_graph import inner
from tracetime.graph.values import Values
from tracetime.merging.boot_runs import Stretch, home_stretch, runs, stretches_of
from tracetime.merging.files import MergedFile, file_named
from tracetime.text import duration, printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_REALTIME: Final = BUILTIN_IDS["REALTIME"]

_READ_APART_NS: Final = 100_000
"""So far apart may a recorder read the two clocks of one snapshot."""

_UNSET: Final = (
    "a wall clock that was never set, but began with a default when its machine was booted, as it "
    "does in any boot, proves nothing"
)

_NO_FILE: Final = -1

_MOST_LABELS: Final = 4
"""A file that is like files of two boots is said to be so, whatever others there are."""


Pair = str | tuple[str, str]
"""Names of two files: `a,b`, or both."""

Place = tuple[int, int]
"""A machine of a file: the numbers of both."""


class BootDecision(NamedTuple):
    """Whether two files are of one boot, and why.

    Attributes:
        one: the number of a file, from 0.
        other: the number of the other.
        same: whether their clocks are the same.
        reason: why, or why not.
    """

    one: Count
    other: Count
    same: bool
    reason: str


class Boots:
    """The machines of all files, numbered anew: one number for each boot.

    Args:
        files: all of them.
        same, different: pairs of names, `a,b`, that the caller knows to be of one boot, or not.

    Attributes:
        groups: the numbers of the files of each boot, ascending.
        decisions: what ties the files of each boot, and why the first file is not of the others.
        given: the pairs of numbers that the caller or a manifest says to be of one boot.

    Raises:
        UsageError: a pair names no files, or contradicts another.
    """

    def __init__(
        self, files: Sequence[MergedFile], same: Iterable[Pair], different: Iterable[Pair]
    ) -> None:
        alike, apart = _given_pairs(files, same, True), _given_pairs(files, different, False)
        given = alike | apart
        for pair in alike.keys() & apart.keys():
            names = " and ".join(files[number].name for number in sorted(pair))
            raise UsageError(f"{names} are said to be the same machine and different ones")
        self.given: list[frozenset[int]] = []
        self._files, self._given = files, given
        self._booted = [_set_instants(file) for file in files]
        self._group = {file.number: file.number for file in files}
        parts = {file.number: [file.number] for file in files}
        ties: list[BootDecision] = []
        for one, other in sorted(_candidate_pairs(files, given, self._booted)):
            decision, is_given = self._decide(one, other)
            if is_given and decision.same:
                self.given.append(frozenset((one, other)))
            here, there = sorted((self._group[one], self._group[other]))
            if decision.same and here != there:
                ties.append(decision)
                moved = parts.pop(there)
                parts[here] += moved
                self._group.update(dict.fromkeys(moved, here))
        self.groups = [sorted(part) for part in parts.values()]
        self._check()
        others = (self.decision(files[0].number, first) for first in sorted(parts) if first)
        self.decisions = sorted([*ties, *others])
        group = self._group
        self._numbers: dict[Place, int] = {}
        by_boot: dict[object, int] = {}
        for file, machine, boot in _boots(files, group):
            self._numbers[file, machine] = by_boot.setdefault(boot, len(by_boot))

    def _next(self) -> int:
        return 1 + max(self._numbers.values(), default=-1)

    def decision(self, one: int, other: int) -> BootDecision:
        """Whether two files, of these numbers, are of one boot, and why."""
        decision, _ = self._decide(one, other)
        if not decision.same and self._group[one] == self._group[other]:
            return BootDecision(one, other, True, "both are of the boot of another file")
        return decision

    def _decide(self, one: int, other: int) -> tuple[BootDecision, bool]:
        """The decision on two files by themselves, and whether the caller or a manifest made it."""
        files = self._files[one], self._files[other]
        given = _given_decision(*files, self._given.get(frozenset((one, other))))
        found = given or _compare(*files, self._booted[one], self._booted[other])
        return BootDecision(one, other, *found), given is not None

    def _check(self) -> None:
        """Raise UsageError where A is B and B is C, but A is not C."""
        pairs = chain(
            (sorted(pair) for pair, same in self._given.items() if not same),
            *(_label_conflicts([self._files[n] for n in group]) for group in self.groups),
        )
        for one, other in pairs:
            decision, _ = self._decide(one, other)
            if not decision.same and self._group[one] == self._group[other]:
                names = " and ".join(self._files[number].name for number in (one, other))
                raise UsageError(
                    f"{names} are both of the machine of another file, but differ "
                    f"({decision.reason}): say --same or --different of each pair"
                )

    def free_number(self) -> int:
        """A number that no machine of a file has, nor will have."""
        return self._numbers.setdefault((_NO_FILE, 0), self._next())

    def machine(self, file: int, machine: int) -> int:
        """The number of a machine of a file."""
        return self._numbers[file, machine]

    def files(self, clock: ClockId) -> list[int]:
        """The numbers of the files that have a clock of the graph of all files."""
        if clock.clock not in ONE_OSCILLATOR:
            return [clock.file]
        return sorted(
            {file for (file, _), number in self._numbers.items() if number == clock.machine}
        )

    def clock(self, file: int, clock: ClockId) -> ClockId:
        """The clock of the graph of all files that a clock of one file is.

        The kernel's clocks are those of the boot; any other clock is the file's own.
        """
        machine = self._numbers.get((file, clock.machine), None)
        if machine is None:
            machine = self._numbers[file, clock.machine] = self._next()
        own = 0 if clock.clock in ONE_OSCILLATOR else file
        return ClockId(clock.clock, clock.sequence, machine, own)


def _given_pairs(
    files: Sequence[MergedFile], pairs: Iterable[Pair], same: bool
) -> dict[frozenset[int], bool]:
    found = {}
    for pair in pairs:
        names = pair.split(",") if isinstance(pair, str) else pair
        if len(names) != 2:
            raise UsageError(f"{pair!r} is not a pair of files: write A,B")
        numbers = frozenset(file_named(files, name.strip()).number for name in names)
        if len(numbers) != 2:
            raise UsageError(f"{pair!r} names one file twice")
        found[numbers] = same
    return found


def _given_decision(
    one: MergedFile, other: MergedFile, given: bool | None
) -> tuple[bool, str] | None:
    """The decision of the caller on two files, else of the manifest of both; None without."""
    if given is not None:
        return given, "you say so"
    a, b = (file.machine_names.get(file.home.machine) for file in (one, other))
    if a is None or b is None or one.manifest is not other.manifest:
        return None
    if a != b:
        return False, f"the manifest calls them {printable(a)} and {printable(b)}"
    if len({one.facts.boot_id, other.facts.boot_id} - {None, b""}) > 1:
        return None
    return True, f"the manifest calls both {printable(a)}"


def _boots(
    files: Sequence[MergedFile], group: dict[int, int]
) -> Iterator[tuple[int, int, Hashable]]:
    """Yield each machine of each file, with a key that machines of one boot share.

    Args:
        files: all of them.
        group: of each file's first machine, by number of the file.
    """
    groups: dict[Hashable, set[int]] = {}
    for file in files:
        for key in (_name_key(file, file.home.machine), file.trace.boots.get(file.home.machine)):
            groups.setdefault(key, set()).add(group[file.number])
    peers = _peers(files, group, groups)
    for file in files:
        for machine in sorted(file.machines):
            key = _name_key(file, machine)
            of_name = groups.get(key, set())
            if machine == file.home.machine:
                yield file.number, machine, group[file.number]
            elif machine not in file.machine_names:
                yield file.number, machine, peers[file.number, machine]
            elif len(of_name) == 1:
                yield file.number, machine, next(iter(of_name))
            else:
                # Where first machines of that name are of several boots, it is of none of these.
                yield file.number, machine, key


def _peers(
    files: Sequence[MergedFile], group: Mapping[int, int], groups: Mapping[Hashable, Set[int]]
) -> dict[Place, Hashable]:
    """The keys of all machines but the first of each file, by the boot that the file names.

    Evidence between one and the first is of two clocks: it is not of the first one's boot. Where
    several boots of other files have that id, it is of none of these. Of one boot, those are one
    clock between which the machine did not sleep, as far as the files tell.
    """
    keys: dict[Place, Hashable] = {}
    of_boots: dict[bytes, list[Place]] = {}
    for file in files:
        boot_ids = file.trace.boots
        for machine in file.machines - {file.home.machine}:
            boot = boot_ids.get(machine)
            of_boot = groups.get(boot, set())
            keys[file.number, machine] = file.number, machine
            if boot is not None and group[file.number] not in of_boot and len(of_boot) < 2:
                of_boots.setdefault(boot, []).append((file.number, machine))
    of_files = [stretches_of(file) if of_boots else {} for file in files]
    for boot, places in of_boots.items():
        stretches: dict[Hashable, Stretch] = {
            (file, machine): of_files[file][machine] for file, machine in places
        }
        for home in groups.get(boot, set()):
            own_files = (file for file in files if group[file.number] == home)
            stretches[home] = home_stretch(own_files)
        found = runs(stretches)
        own = {found[home]: home for home in groups.get(boot, set())}
        for place in places:
            keys[place] = own.get(found[place], (boot, found[place]))
    return keys


def _name_key(file: MergedFile, machine: int) -> Hashable:
    """The key of a machine's name, which is unique in its archive."""
    return id(file.manifest), file.machine_names.get(machine)


def _candidate_pairs(
    files: Sequence[MergedFile], given: Mapping[frozenset[int], bool], booted: Sequence[Values]
) -> set[tuple[int, int]]:
    """The pairs of files that tell which of all are of one boot: about as many as there are files.

    Files of one boot are compared with the first of that id or name, or with one that booted at
    about the same time; of whom the caller says that he is not another, with all.
    """
    pairs = {frozenset(pair) for pair in given}
    for number in set().union(*(pair for pair, same in given.items() if not same)):
        pairs |= {frozenset((number, file.number)) for file in files}
    first: dict[Hashable, int] = {}
    for file in files:
        for label in filter(None, _labels(file)):
            pairs.add(frozenset((first.setdefault(label, file.number), file.number)))
    pairs |= set(map(frozenset, _near_boots(files, booted)))
    return {(min(pair), max(pair)) for pair in pairs if len(pair) == 2}


def _labels(file: MergedFile) -> tuple[Hashable, Hashable]:
    """The boot id of a file and the name of its machine, each None without one."""
    name = file.machine_names.get(file.home.machine)
    return file.facts.boot_id, name and (id(file.manifest), name)


def _near_boots(files: Sequence[MergedFile], booted: Sequence[Values]) -> Iterator[tuple[int, int]]:
    """Pairs of files of one make of machine that were booted at about the same time.

    Each is compared with the last one before it of the same labels, and of a few others.
    """
    spans: dict[Hashable, list[tuple[int, int, int]]] = {}
    for file, instants in zip(files, booted, strict=True):
        if not (file.facts.identity and len(instants)):
            continue
        gaps = np.flatnonzero(np.diff(instants) > _READ_APART_NS)
        begins, ends = instants[np.append(0, gaps + 1)], instants[np.append(gaps, -1)]
        spans.setdefault(file.facts.identity, []).extend(
            (begin, end, file.number)
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        )
    for of_one_make in spans.values():
        last: dict[Hashable, tuple[int, int]] = {}
        for begin, end, number in sorted(of_one_make):
            for before, other in last.values():
                if other != number and begin - before <= _READ_APART_NS:
                    yield other, number
            labels = _labels(files[number])
            last[labels] = max(last.pop(labels, (end, number)), (end, number))
            if len(last) > _MOST_LABELS:
                del last[next(iter(last))]


def _label_conflicts(files: Sequence[MergedFile]) -> Iterator[tuple[int, int]]:
    """Pairs of files that have boot ids, or names in one manifest, which differ."""
    ids: dict[Hashable, list[int]] = {}
    names: dict[int, dict[Hashable, list[int]]] = {}
    for file in files:
        boot, name = _labels(file)
        if boot:
            ids.setdefault(boot, []).append(file.number)
        if name:
            names.setdefault(id(file.manifest), {}).setdefault(name, []).append(file.number)
    for by_label in (ids, *names.values()):
        for here, there in combinations(by_label.values(), 2):
            yield from product(here, there)


def _compare(one: MergedFile, other: MergedFile, here: Values, there: Values) -> tuple[bool, str]:
    """The decision on two files by their boot ids, else by the instants of `_set_instants`."""
    ours, theirs = one.facts, other.facts
    if ours.boot_id and theirs.boot_id:
        if ours.boot_id == theirs.boot_id:
            return True, f"both were recorded in boot {ours.boot_id.hex()}"
        return False, "their boot ids differ"
    if not ours.identity or not theirs.identity:
        return False, "nothing in the files says that they are of one boot"
    if ours.identity != theirs.identity:
        return False, "kernel, CPUs or host name differ"
    if not len(here) or not len(there):
        known = all(len(boot_instants(file)) for file in (one, other))
        return False, _UNSET if known else "a file lacks snapshots of BOOTTIME and REALTIME"
    apart = _least_difference(here, there)
    text = duration(apart)
    if apart > _READ_APART_NS:
        return False, f"REALTIME - BOOTTIME differs by {text}: booted at other times"
    return True, f"one kernel and host, and REALTIME - BOOTTIME agrees to {text}"


def _set_instants(file: MergedFile) -> Values:
    """The `boot_instants` of a file by a wall clock that had been set."""
    booted = boot_instants(file)
    return booted[~are_unset(booted, file.facts.identity)]


def boot_instants(file: MergedFile) -> Values:
    """The values of REALTIME - BOOTTIME in the snapshots of a file, ascending.

    Linux slews both clocks together: the difference is the same during a boot, until REALTIME is
    set.
    """
    pair = (ClockId(number, machine=file.home.machine) for number in (_BOOTTIME, _REALTIME))
    _, boottime, realtime = inner(file.trace.clocks).shared(*pair)
    return np.unique(realtime - boottime)


def _least_difference(here: Values, there: Values) -> int:
    """The least difference between a number of one ascending list and one of another."""
    after = np.searchsorted(there, here)
    above = there[np.minimum(after, len(there) - 1)]
    below = there[np.maximum(after - 1, 0)]
    return int(np.min(np.minimum(np.abs(above - here), np.abs(here - below))))
