"""What commands load before they work: `python -m benchmarks.startup [FILE]`.

A table of the modules that each imports and how long that takes, ours and those of libraries; with
`-X importtime`, which makes it a little slower. The least of five.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_RUNS: Final = 5
_DEMO: Final = Path(__file__).parents[1] / "demo" / "demo.pftrace"
_LINE: Final = re.compile(r"^import time: +(\d+) \| +\d+ \| +([\w.]+)$", re.MULTILINE)

COMMANDS: Final = {
    "convert": ["convert", "FILE", "-o", "out.parquet"],
    "clocks": ["clocks", "FILE"],
    "at": ["at", "FILE", "0.1s", "--to", "REALTIME"],
    "doctor": ["doctor", "FILE"],
    "sql": ["sql", "FILE", "select 1"],
    "report": ["report", "FILE", "-o", "out.html"],
    "bake": ["bake", "FILE", "-o", "out.pftrace"],
}


def loaded(words: list[str]) -> dict[str, int]:
    """The modules that a command imports, and what each takes without those it imports, us."""
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-X", "importtime", "-m", "tracetime", *words]
        done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
    return {name: int(us) for us, name in _LINE.findall(done.stderr)}


def main() -> None:
    """Print a table in Markdown."""
    file = str(Path(sys.argv[1] if len(sys.argv) > 1 else _DEMO).resolve())
    print("| command | our modules | ms | other modules | ms |\n|---|---|---|---|---|")
    for command, words in COMMANDS.items():
        runs = [loaded([file if word == "FILE" else word for word in words]) for _ in range(_RUNS)]
        cells = []
        for is_ours in (True, False):
            parts = [
                [us for name, us in run.items() if name.startswith("tracetime") == is_ours]
                for run in runs
            ]
            cells += [f"{len(parts[0])}", f"{min(map(sum, parts)) / 1000:.0f}"]
        print(f"| `{command}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
