"""For tests on real Vulkan: devices of the machine, or lavapipe's where it is told to be used."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tracetime import SourceError
from tracetime.sources.vulkan import VulkanInstance

LAVAPIPE = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
_NAMED = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")


def environment() -> dict[str, str]:
    """What makes the loader take lavapipe, unless the caller's environment names a driver.

    Without it, a driver for hardware that is not there may spoil the list of devices.
    """
    if any(name in os.environ for name in _NAMED) or not LAVAPIPE:
        return {}
    return dict.fromkeys(_NAMED, str(LAVAPIPE[0]))


@pytest.fixture
def instance(monkeypatch):
    """Vulkan with its devices; skips where there are none that can be calibrated."""
    if not sys.platform.startswith("linux"):
        pytest.skip("tested on Linux")
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    try:
        made = VulkanInstance()
    except SourceError as error:
        pytest.skip(f"no Vulkan: {error}")
    if not made.devices:
        why = "; ".join(entry.reason for entry in made.unavailable)
        made.close()
        pytest.skip(f"no Vulkan device with calibrated timestamps: {why or 'none at all'}")
    yield made
    made.close()
