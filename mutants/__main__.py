"""Draw mutants, run the tests that cover each, and print those that no test notices.

    python -m mutants [--sample 200] [--seed 1] [--only graph/tube] [--jobs 2] [--budget 60]

Exits with 1 where fewer than --bar of them (90 %) are noticed.
"""

from __future__ import annotations

import argparse
import queue
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants.covering import WORK, Covering, copied
from mutants.population import Mutant, sample
from mutants.trying import noticed_by


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", type=int, default=200, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only files with this in their path")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests a mutant")
    parser.add_argument("--bar", type=float, default=0.9, help="the share that must be noticed")
    options = parser.parse_args()
    drawn = sample(options.sample, options.seed, options.only)
    covering = Covering.found()
    trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for n in range(options.jobs):
        trees.put(copied(WORK / f"job-{n}"))

    def tried(mutant: Mutant) -> tuple[Mutant, str | None, int]:
        tests = covering.tests(mutant, options.budget)
        if not tests:
            return mutant, None, 0
        tree = trees.get()
        try:
            return mutant, noticed_by(tree, mutant, tests, 4 * options.budget + 60), len(tests)
        finally:
            trees.put(tree)

    survivors, done = [], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutant, by, n_tests in pool.map(tried, drawn):
            done += 1
            if by is None:
                survivors.append(mutant)
                print(f"SURVIVED ({n_tests} tests) {mutant.path}:{mutant.line}\n{mutant.key}")
            else:
                print(f"noticed {mutant.path}:{mutant.line} {mutant.after!r} by {by}")
            sys.stdout.flush()
            print(f"{done}/{len(drawn)}, {len(survivors)} survived", end="\r", file=sys.stderr)
    noticed = len(drawn) - len(survivors)
    print(f"{noticed} of {len(drawn)} mutants noticed ({noticed / len(drawn):.1%})")
    return int(noticed < options.bar * len(drawn))


if __name__ == "__main__":
    sys.exit(main())
