"""What came of the files of a merge in the Perfetto trace of all of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from tracetime.clocks.ids import ClockId


@dataclass(slots=True)
class WrittenFile:
    """What came of the events of one file in the merged trace.

    Attributes:
        name: of the file.
        machine: the machine_id of its host in the output; 0 is that of the timeline.
        unresolved: events without a trace time.
        early: events before time 0, of the output or of their file, which Perfetto does not take.
        left_out: what else of a file that is not Perfetto's is not in the output.
        left_out_by: how much of that for which reason; docs/howto/bake.md lists them.
        carried: events that the clocks of all files do not place: they are where their file has
            them, moved with its trace clock.
        kept: events moved to the one before them, within their bars, so that they stay in order.
        forced: the same of ends of slices, beyond their bars.
        reversed: events of a packet sequence whose bars exclude the order of the file.
        moved: items that had a timestamp of their own, and now have that of their packet.
        stamped: packets that have a time of their own now, that of their items.
        rounded: timestamps whose field cannot hold the time exactly.
        set_aside: items in a field that Perfetto does not read, since it would place them wrongly.
    """

    name: str
    machine: int
    unresolved: int = 0
    early: int = 0
    left_out: int = 0
    left_out_by: dict[str, int] = field(default_factory=dict)
    carried: int = 0
    kept: int = 0
    forced: int = 0
    reversed: int = 0
    moved: int = 0
    stamped: int = 0
    rounded: int = 0
    set_aside: int = 0


@dataclass(frozen=True, slots=True)
class WrittenTrace:
    """The Perfetto trace that a merge wrote.

    Attributes:
        out: its path.
        bytes: how long it is.
        clock: which clock of the files its BOOTTIME is.
        files: one for each.
        machines: what each machine of the output is called, by its machine_id.
    """

    out: str
    bytes: int
    clock: ClockId
    files: tuple[WrittenFile, ...]
    machines: dict[int, str]

    def to_dict(self) -> dict[str, object]:
        """Return it in the types of JSON."""
        return {
            "out": self.out,
            "bytes": self.bytes,
            "clock": str(self.clock),
            "files": [asdict(file) for file in self.files],
            "machines": [
                {"machine": machine, "name": name}
                for machine, name in sorted(self.machines.items())
            ],
        }
