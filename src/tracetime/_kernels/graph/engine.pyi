from collections.abc import Iterable, Sequence

def series_hash(keys: Iterable[Sequence[int]]) -> int:
    """Perfetto's hash of a snapshot's clocks, (clock, sequence, file, machine) each, in order."""

class TooManyClocksError(Exception):
    """Snapshots name more clocks than `Engine.most_nodes`."""

class Engine:
    """Clocks by node number, and their snapshots."""

    most_nodes: int
