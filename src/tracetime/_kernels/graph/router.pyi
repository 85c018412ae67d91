class TangledError(Exception):
    """The clocks are tied together in too many ways to follow."""

class Router:
    """Shortest paths from every clock to one target, kept up to date as the graph grows."""

    @property
    def target(self) -> int: ...
