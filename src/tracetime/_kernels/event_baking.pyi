import numpy as np
import numpy.typing as npt

_Codes = npt.NDArray[np.int32]
_Ints = npt.NDArray[np.int64]
_Ids = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]

class Texts:
    """A column of texts by number."""

    def __init__(self, codes: _Codes, ends: _Codes, text: npt.NDArray[np.uint8]) -> None: ...

class Details:
    """What events are: a row each."""

    def __init__(self, names: Texts, categories: Texts, args: Texts | None) -> None: ...

class Arguments:
    """Writes arguments, one object after the other."""

class Arrows:
    """The arrows between the slices of a trace, by number; each has a flow of its own."""

    written: int
    def __init__(
        self, first: int, named: npt.NDArray[np.uint8], names: Texts, categories: Texts
    ) -> None: ...

class Flows:
    """The arrows of some slices."""

    def __init__(
        self, arrows: Arrows, begins: tuple[_Ints, _Ints], endings: tuple[_Ints, _Ints]
    ) -> None: ...

def open_inside(
    ts: _Ints, dur: _Ints, parent: _Ints, name: _Codes, category: _Codes
) -> tuple[_Ints, npt.NDArray[np.uint8]]: ...

class EventPackets:
    """Writes packets; `take` gives them."""

    kept: int
    forced: int
    early: int
    def __init__(self, sequence: int, clock: int, machine: int) -> None: ...
    def __len__(self) -> int: ...
    def take(self) -> bytes: ...
    def take_written(self) -> _Ints: ...
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

class Series:
    """The numbers in arguments of counters."""

    beside: int
    def __init__(self, as_chrome: bool) -> None: ...
    def read(
        self, args: Texts
    ) -> tuple[
        npt.NDArray[np.int64],
        npt.NDArray[np.float64],
        npt.NDArray[np.int32],
        npt.NDArray[np.uint8],
    ]: ...
