"""The abilities of some formats: floors above ask a trace for them, and know no format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tracetime.graph.arguments import PolicyName
from tracetime.trace.events_table import Columns

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver
    from tracetime.trace.flows import FlowEvents

Shared = Literal["calls", "collectives", "flows", "tcp"]
"""What two files may both have a part of: spans and their parents, PyTorch's collectives, flows of
track events, packets of TCP."""

UNKNOWN_MODEL: Final = "unknown"
"""The model of a machine that a trace does not tell."""


class MachineFacts(NamedTuple):
    """The facts of a trace on its first machine.

    Attributes:
        model: of an Android device its maker, product and system on a chip; else the CPU that most
            of its CPUs are; else the system and the architecture; else `UNKNOWN_MODEL`.
        kernel: its release; empty where the trace does not say.
        host: its name; empty where the trace does not say.
        boot_id: of the boot, as Linux gives it; empty where the trace does not say.
        identity: kernel, its version, number of CPUs, host name; empty where the trace does not
            say.
    """

    model: str = UNKNOWN_MODEL
    kernel: str = ""
    host: str = ""
    boot_id: bytes = b""
    identity: tuple[bytes, ...] = ()


class PacketFile(Protocol):
    """The packets of Perfetto that a file consists of."""

    @property
    def is_compressed(self) -> bool:
        """Whether the file is compressed."""

    @property
    def is_sorted_in_parts(self) -> bool:
        """Whether Perfetto hands events on before it has read the whole file.

        It does with what was written while it was recorded, and drops what comes later in the file
        and is earlier in time (TraceSorter::SortAndExtractEventsUntilAllocId).
        """

    @property
    def stray_field(self) -> int | None:
        """The first byte in the file of no packet, which is skipped; None without any."""

    def uncompressed(self) -> IO[bytes]:
        """The content as a file, to be closed; a temporary one if the trace is compressed.

        Raises:
            TraceError: it cannot be read; with `partial`, the file holds what can be read.
            UsageError: there is no room for the temporary file.
        """

    def observed(
        self, observer: PacketObserver, progress: Callable[[int], None] | None = None
    ) -> Iterator[Columns]:
        """Read the file from its start, and give each packet to an observer, before its rows."""

    def in_source(self) -> Callable[[Columns], Columns]:
        """What gives the columns of each batch, in turn, what they read in the file's sources."""


class TraceAbilities:
    """The abilities of a trace that only some formats have, with defaults for the others.

    Attributes:
        shares: what events of two files of this format may be parts of.
        perfetto_reads: as what Perfetto itself reads files of this format; None where it does not.
        rows_are_of_slices: whether each row is of one of its slices, which say what it is.
        FORMAT: what its users call such a file.
        ROW: what they call a row.
    """

    shares: ClassVar[frozenset[Shared]] = frozenset()
    perfetto_reads: ClassVar[Literal["json", "packets"] | None] = None
    rows_are_of_slices: ClassVar[bool] = False
    FORMAT: ClassVar[str] = "trace"
    ROW: ClassVar[str] = "event"

    @property
    def packets(self) -> PacketFile | None:
        """The packets of a Perfetto trace; None of any other."""
        return None

    @property
    def baked_by(self) -> PolicyName | None:
        """The policy by which `bake` has put the events on the trace clock; None where not."""
        return None

    def machine_facts(self) -> MachineFacts:
        """Read the facts of the first machine from the beginning of the file."""
        return MachineFacts()

    @property
    def boots(self) -> dict[int, bytes]:
        """The boot ids that the machines' clocks count from: 16 bytes, by `ClockId.machine`.

        Of the machines of which tracetime recorded it.
        """
        return {}

    @property
    def suspended_ns(self) -> dict[int, int]:
        """The times that machines were suspended in those boots, ns, where the file says so."""
        return {}

    def kernel_reads(self) -> npt.NDArray[np.int64]:
        """The reports of adjtimex(2) at recorded snapshots, int64[6, n], in file order.

        Number of the snapshot, machine index, status (STA_ bits), state, maxerror_us, esterror_us.
        """
        return np.empty((6, 0), dtype=np.int64)

    def wall_bounds(self) -> npt.NDArray[np.int64]:
        """The bounds of REALTIME by time services at snapshots, int64[5, n], in file order.

        Number of the snapshot, machine index, UTC less REALTIME at least and at most (ns), and the
        number of the service (`time_service` of formats/perfetto/extension.py).
        """
        return np.empty((5, 0), dtype=np.int64)

    def calls(self) -> dict[str, npt.NDArray[Any]] | None:
        """Read the file: the calls between its spans and those of other files; None without any."""
        return None

    def flow_events(self) -> FlowEvents | None:
        """Read the file: its events in flows that may pass through other files, too.

        None of a format without flows.
        """
        return None
