from collections.abc import Iterable, Sequence

def series_hash(keys: Iterable[Sequence[int]]) -> int:
    """Perfetto's hash of a snapshot's clocks, (clock, sequence, file, machine) each, in order."""

class TangledError(Exception):
    """The clocks are tied together in too many ways to follow."""

class TooManyClocksError(Exception):
    """Snapshots name more clocks than `Engine.most_nodes`."""

class Engine:
    """Clocks by node number, their snapshots, and conversions with Perfetto's 8-entry cache."""

    most_nodes: int

class Router:
    """Shortest paths from every clock to one target, kept up to date as the graph grows."""
