"""The seeds of tests that draw their examples by `random`: fixed ones, but in a deep search."""

import os


def seeds(n: int) -> range:
    """n seeds: 0 and up; in a deep search (make test-deep) those from the seed of its run."""
    first = int(os.environ.get("TRACETIME_SEED", 0))
    return range(first, first + n)
