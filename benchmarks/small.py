"""Time and memory for small traces that are expensive to read: `python -m benchmarks.small`.

Each command runs as a process: user and system seconds, peak memory, and how it ended. A second
argument leaves out traces without it in their names.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzz.costly import TRACES

MOST_S = 20
COMMANDS = {
    "convert": ["convert", "-o", "out.parquet"],
    "by the tube": ["convert", "-o", "out.parquet", "--policy", "tube"],
    "clocks": ["clocks"],
    "doctor": ["doctor"],
    "report": ["report", "-o", "out.html"],
}


def main() -> None:
    """Print a table in Markdown."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"| trace | MB | {' | '.join(COMMANDS)} |")
    print(f"|---|---|{'---|' * len(COMMANDS)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.pftrace")
        for name, make in TRACES.items():
            if wanted in name:
                path.write_bytes(b"".join(make()))
                cells = [_cost(folder, words) for words in COMMANDS.values()]
                row = [name, f"{path.stat().st_size / 1e6:.1f}", *cells]
                print(f"| {' | '.join(row)} |", flush=True)


def _cost(folder: str, words: list[str]) -> str:
    """What a command takes: CPU seconds, MB, and its exit code unless that is 0."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tracetime", words[0], "t.pftrace", *words[1:]],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=_limit,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode < 0:
        return f"more than {MOST_S} s"
    ended = f", exit {child.returncode}" if child.returncode else ""
    return f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss // 1024} MB{ended}"


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))


if __name__ == "__main__":
    main()
