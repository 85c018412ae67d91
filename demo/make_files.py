"""Make the small files of README.md: two ranks of a PyTorch job, and a recording of LSL.

    python demo/make_files.py [-o demo]

The clock of rank 1 is 40 ms ahead, and the GPU of rank 0 is 30 us behind its CPU: its kernels begin
before they are launched. The clock of the lab's computer is 812 s behind the recorder's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import struct
from pathlib import Path
from random import Random

STEPS = 150
RANK_1_AHEAD_US = 40_000
GPU_BEHIND_US = 30


def make_rank(rank: int) -> str:
    """A profile in which both ranks leave each all-reduce together."""
    random, events = Random(5), []
    ahead = 1_735_632_360_000_000.0 + RANK_1_AHEAD_US * rank
    for step in range(STEPS):
        ahead += 25_000 + random.gauss(0, 2000)
        waits = [random.lognormvariate(5.7, 1) for _ in range(2)]
        start = round(ahead + waits[rank], 3)
        end = round(ahead + max(waits) + 400, 3)
        head = {"ph": "X", "pid": rank, "cat": "cuda_runtime", "name": "cudaLaunchKernel"}
        args = {"correlation": step}
        events.append({**head, "tid": 1, "ts": round(start - 20, 3), "dur": 8, "args": args})
        early = GPU_BEHIND_US * (rank == 0)
        args = {**args, "Collective name": "allreduce", "In msg nelems": 1024, "Group size": 2}
        head = {"ph": "X", "pid": rank, "cat": "kernel", "name": "ncclDevKernel_AllReduce"}
        where = {"tid": 7, "ts": round(start - early, 3), "dur": round(end - start, 3)}
        events.append({**head, **where, "args": args})
    lines = ",\n".join(map(json.dumps, events))
    info = json.dumps({"backend": "nccl", "rank": rank, "world_size": 2})
    return f'{{"schemaVersion": 1, "distributedInfo": {info}, "traceEvents": [\n{lines}\n]}}\n'


def make_recording() -> bytes:
    """A minute of an amplifier and of stimuli, from one computer."""
    parts = [b"XDF:", _chunk(1, 0, b"<info><version>1.0</version></info>")]
    parts += [_header(1, "Amplifier", "EEG", "float32", 4)]
    parts += [_header(2, "Stimuli", "Markers", "string", 0)]
    for second in range(60):
        at = struct.pack("<d", 5000.0 + second)
        numbers = b"".join(b"\0" + struct.pack("<f", second + k / 4) for k in (1, 2, 3))
        parts.append(_chunk(3, 1, b"\x01\x04\x08" + at + struct.pack("<f", second) + numbers))
        if second % 5 == 0:
            offset = 812.0 + 2e-5 * second + 4e-5 * (second % 4)
            parts.append(_chunk(4, 1, at + struct.pack("<d", offset)))
        if second % 20 == 10:
            parts.append(_chunk(3, 2, b"\x01\x01\x08" + at + b"\x01\x05flash"))
    return b"".join(parts)


def _chunk(tag: int, stream: int, content: bytes) -> bytes:
    head = struct.pack("<H", tag) + (struct.pack("<I", stream) if stream else b"")
    return b"\x04" + struct.pack("<I", len(head + content)) + head + content


def _header(stream: int, name: str, kind: str, form: str, rate: int) -> bytes:
    what = f"<name>{name}</name><type>{kind}</type><channel_count>1</channel_count>"
    how = f"<nominal_srate>{rate}</nominal_srate><channel_format>{form}</channel_format>"
    text = f"<info>{what}{how}<hostname>lab-pc</hostname></info>"
    return _chunk(2, stream, text.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the small files of README.md.")
    parser.add_argument("-o", "--out", type=Path, default=Path(__file__).parent)
    out: Path = parser.parse_args().out
    for rank in range(2):
        (out / f"rank{rank}.json.gz").write_bytes(gzip.compress(make_rank(rank).encode(), mtime=0))
    (out / "lab.xdf").write_bytes(make_recording())


if __name__ == "__main__":
    main()
