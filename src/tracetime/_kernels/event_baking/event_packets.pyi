import numpy as np
import numpy.typing as npt

from tracetime._kernels.event_baking.flows import Flows
from tracetime._kernels.event_baking.texts import Details, Texts

_Ints = npt.NDArray[np.int64]
_Codes = npt.NDArray[np.int32]
_Ids = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]

class EventPackets:
    """Writes packets; `take` gives them."""

    kept: int
    forced: int
    early: int
    def __init__(self, sequence: int, clock: int, machine: int) -> None: ...
    def __len__(self) -> int: ...
    def take(self) -> bytes: ...
    def put_tracks(self, first: int, parents: _Ids, names: Texts) -> None: ...
    def put_slices(
        self,
        ts: _Ints,
        dur: _Ints,
        latest: _Ints,
        end_latest: _Ints,
        holds_open: _Bytes,
        depth: _Codes,
        track: _Codes,
        uuids: _Ids,
        details: Details,
        flows: Flows | None,
    ) -> None: ...
    def end_all(self) -> None: ...
    def put_instants(self, ts: _Ints, uuids: _Ids, details: Details) -> None: ...
    def put_values(self, ts: _Ints, uuids: _Ids, values: npt.NDArray[np.float64]) -> None: ...
