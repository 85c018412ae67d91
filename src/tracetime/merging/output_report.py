"""The outcome of a merge for each file, in the Perfetto trace of all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document, as_json

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, LeftOutReason


@dataclass(slots=True)
class WrittenFile:
    """The outcome for the events of one file in the merged trace.

    Attributes:
        name: its name.
        machine: the machine_id of its host; 0 is that of the timeline.
        unresolved: events without a trace time.
        early: events before time 0, of the output or of the file.
        left_out: what else of a file of another format is not in the output.
        left_out_by: how much of that for each reason.
        carried: events where the file itself has them, moved with its trace clock.
        kept: events moved to the one before them, within their bars.
        forced: ends of slices moved so beyond their bars.
        reversed: events whose bars exclude the order of their file.
        moved: items that have the timestamp of their packet now.
        stamped: packets that have a time of their own now.
        rounded: timestamps whose field cannot hold the time exactly.
        set_aside: items in a field that Perfetto does not read.
    """

    name: str
    machine: Count
    unresolved: Count = 0
    early: Count = 0
    left_out: Count = 0
    left_out_by: dict[LeftOutReason, Count] = field(default_factory=dict)
    carried: Count = 0
    kept: Count = 0
    forced: Count = 0
    reversed: Count = 0
    moved: Count = 0
    stamped: Count = 0
    rounded: Count = 0
    set_aside: Count = 0


class MachineName(NamedTuple):
    """A machine of the merged trace.

    Attributes:
        machine: its machine_id in the output; 0 is the host.
        name: as a manifest calls it, else the files that it is in.
    """

    machine: Count
    name: str


@as_json("out bytes clock files _machines")
@dataclass(frozen=True, slots=True)
class WrittenTrace(Document):
    """The Perfetto trace that a merge wrote.

    Attributes:
        out: its path.
        bytes: how long it is.
        clock: which clock of the files its BOOTTIME is.
        files: what came of each file, in order.
        machines: what its machines are called.
    """

    out: str
    bytes: Count
    clock: ClockId
    files: tuple[WrittenFile, ...]
    machines: dict[int, str]

    @property
    def _machines(self) -> list[MachineName]:
        """The names of its machines, by machine_id."""
        return [MachineName(*named) for named in sorted(self.machines.items())]
