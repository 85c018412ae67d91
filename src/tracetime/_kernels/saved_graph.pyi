from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import Engine

_Numbers = npt.NDArray[np.int64]

class State(NamedTuple):
    """Everything an engine holds, as C-contiguous arrays; clocks go by their row in `clocks`.

    clocks: [n, 8] of clock, sequence, file, machine, unit_ns, last_ns, incremental, seen.
    columns: [n, 3] of clock, hash of the list of clocks, readings: a clock in all the snapshots
        of one list.
    snapshots, readings_ns: the readings, column after column.
    series: [n, 2] of clocks, snapshots; members: the clocks of each series, one after the other.
    backwards: the clocks that ran backwards, in the order in which they did.
    packets: the packet of each snapshot.
    """

    clocks: _Numbers
    columns: _Numbers
    snapshots: npt.NDArray[np.uint32]
    readings_ns: _Numbers
    series: _Numbers
    members: _Numbers
    backwards: _Numbers
    packets: npt.NDArray[np.uint64]
    next_packet: int

def state_of(engine: Engine) -> State:
    """Everything an engine holds."""

def engine_of(state: State) -> Engine:
    """An engine of a state, which goes on as the one that it was taken from.

    Raises:
        ValueError: no snapshots lead to such a state; the message says what does not fit.
    """
