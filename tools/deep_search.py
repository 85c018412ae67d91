"""Look for examples that break a test, by random seeds, until the time is up: make test-deep.

python -m tools.deep_search --seconds 3600 [--seed N] [-- ARGUMENTS OF PYTEST]

One run after the other, each from a seed of its own, which it prints: the tests that draw examples,
file by file in random order. The same seed draws the same again.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import pytest

SEED: Final = "TRACETIME_SEED"
"""The seed of a run, in the environment: tests/conftest.py and tests/helpers/seeds.py."""


class Search:
    """A plugin of pytest: of all tests those that draw examples, as long as there is time."""

    def __init__(self, seed: int, end: float) -> None:
        self.seed = seed
        self.end = end
        self.is_over = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files: dict[Path, list[pytest.Item]] = {}
        for item in items:
            if self.draws(item):
                files.setdefault(item.path, []).append(item)
        in_order = list(files.values())
        random.Random(self.seed).shuffle(in_order)
        items[:] = [item for tests in in_order for item in tests]

    def draws(self, item: pytest.Item) -> bool:
        """Whether a test draws examples: by hypothesis, or from seeds of tests/helpers/seeds.py."""
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        return hasattr(getattr(item, "obj", None), "hypothesis") or (
            parameters.get("seed", 0) >= self.seed
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Leave out what is left once the time is up: True says that a test has been run."""
        return True if self.is_over else None

    def pytest_runtest_logfinish(self) -> None:
        self.is_over = time.monotonic() > self.end


def once(seed: int, seconds: float, more: list[str]) -> int:
    """Run in this process; return pytest's exit code."""
    os.environ[SEED] = str(seed)
    options = [f"--hypothesis-seed={seed}", "-q", "--tb=short", "-p", "no:cacheprovider"]
    return pytest.main([*options, *more], plugins=[Search(seed, time.monotonic() + seconds)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, help="of the first run (default: a random one)")
    parser.add_argument("--once", action="store_true", help="one run, in this process")
    parser.add_argument("more", nargs="*", help="arguments of pytest")
    options = parser.parse_args()
    seed = options.seed or secrets.randbelow(10**9) + 10**6
    if options.once:
        return once(seed, options.seconds, options.more)
    left, end = options.seconds, time.monotonic() + options.seconds
    failed = []
    while left >= 0:
        print(f"seed {seed}: make test-deep DEEP_SEED={seed}", flush=True)
        command = [sys.executable, "-m", "tools.deep_search", "--once", f"--seed={seed}"]
        done = subprocess.run([*command, f"--seconds={left}", "--", *options.more])
        if done.returncode:
            failed.append(seed)
        seed += 10**6
        left = end - time.monotonic()
    print(f"seeds that found something: {failed}" if failed else "nothing was found")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
