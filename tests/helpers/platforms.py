"""What a test needs of the system it runs on; elsewhere it skips, and says so."""

import os
import sys
import time

import pytest

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux has it")
WITH_BOOTTIME = pytest.mark.skipif(
    not hasattr(time, "CLOCK_BOOTTIME"), reason="a machine without BOOTTIME"
)
WITH_FDATASYNC = pytest.mark.skipif(
    not hasattr(os, "fdatasync"), reason="a system that waits for its disk by another call"
)
