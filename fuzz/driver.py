"""What the fuzzers share: their arguments, and the child that does the work."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def parser_of(module: str, text: str | None) -> argparse.ArgumentParser:
    """The parser of a fuzzer's arguments, with what every one has."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    parser.add_argument("--input", type=Path, help=argparse.SUPPRESS)
    return parser


def run_child(
    module: str, given: list[str], arguments: argparse.Namespace, name: str, kind: str
) -> None:
    """Run a module in a child, which writes its inputs to one file; keep the one that fails.

    Args:
        module: which is run with `--input` and these arguments before it.
        given: its own arguments.
        arguments: with seconds and seed.
        name: of the file of inputs; a failure keeps its ending.
        kind: of the inputs, in the name of the one that is kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        command = [sys.executable, "-m", module, *given]
        command += ["--seconds", str(arguments.seconds), "--seed", str(arguments.seed)]
        code = subprocess.call([*command, "--input", str(path)], cwd=ROOT)
        if code:
            kept = Path(f"fuzz-failure-{kind}{arguments.seed}{path.suffix}").absolute()
            if path.exists():
                shutil.copy(path, kept)
            raise SystemExit(f"failed (exit code {code}) with --seed {arguments.seed}: see {kept}")
