"""How fast files merge into one Perfetto trace, and the memory that takes.

    python -m benchmarks.merge_speed TRACE [--files 100] [--megabytes 2000]

The files are copies of one Perfetto trace, each tied to the first by an offset of its own; with
--megabytes, of as many of its first packets as together have so many. The merge is a process of its
own; the memory is that of it and of the processes that it starts, each page shared out among those
that have it (PSS of /proc), looked at ten times a second.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import tracetime as tt


def beginning(trace: Path, out: Path, size: int) -> Path:
    """Write the first packets of a raw trace, `size` bytes of them at most."""
    data = trace.read_bytes()
    end = 0
    while end < len(data):
        after, length, shift = end + 1, 0, 0
        while data[after] & 0x80:
            length |= (data[after] & 0x7F) << shift
            after, shift = after + 1, shift + 7
        after += 1 + (length | data[after] << shift)
        if after > size:
            break
        end = after
    out.write_bytes(data[:end])
    return out


def copies(trace: Path, folder: Path, files: int) -> list[Path]:
    """Files of the content of one: links would be taken for one file."""
    paths = [folder / f"{number}.pftrace" for number in range(files)]
    for path in paths:
        shutil.copyfile(trace, path)
    return paths


def memory_of(pid: int) -> int:
    """The bytes of a process and of those that it has started; 0 of one that has ended."""
    pss = 0
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                pss += memory_of(int(child))
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        pss += next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return pss


def peak_of(process: subprocess.Popen[bytes]) -> int:
    """The most memory that a process takes until it ends."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of(process.pid))
        time.sleep(0.1)
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.merge_speed", description=__doc__)
    parser.add_argument("trace", type=Path, metavar="TRACE")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--megabytes", type=int, help="of all files together")
    arguments = parser.parse_args()
    with tt.open_trace(arguments.trace) as trace:
        clock = trace.trace_clock
    with tempfile.TemporaryDirectory() as name:
        source = arguments.trace
        if arguments.megabytes is not None:
            size = arguments.megabytes * 1_000_000 // arguments.files
            source = beginning(source, Path(name) / "beginning.pftrace", size)
        paths = copies(source, Path(name), arguments.files)
        syncs = [
            part
            for number, path in enumerate(paths[1:], 1)
            for part in ("--sync", f"{paths[0].name}:{clock}={path.name}:{clock}+{number}s+-1ms")
        ]
        pairs = combinations([path.name for path in paths], 2)
        apart = [part for pair in pairs for part in ("--different", ",".join(pair))]
        command = [sys.executable, "-m", "tracetime", "merge", *map(str, paths), *syncs, *apart]
        out = Path(name) / "merged.pftrace"
        started = time.perf_counter()
        with subprocess.Popen([*command, "-o", str(out)], stdout=subprocess.DEVNULL) as process:
            peak = peak_of(process)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit("the merge failed")
        size = sum(path.stat().st_size for path in paths)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime
        print(
            f"{len(paths)} files, {size / 1e6:.0f} MB in {seconds:.1f} s: "
            f"{size / 1e6 / seconds:.0f} MB/s, {size / 1e6 / cpu:.0f} MB per s of CPU, "
            f"{peak / 1e6:.0f} MB at most; {out.stat().st_size / 1e6:.0f} MB written"
        )


if __name__ == "__main__":
    main()
