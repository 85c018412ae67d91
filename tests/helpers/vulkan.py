"""For tests on real Vulkan: the devices of the machine, or lavapipe where that is selected."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import pytest

from tracetime import SourceError
from tracetime.sources.vulkan import VulkanInstance

LAYER = "VK_LAYER_KHRONOS_validation"
_SETTINGS = {
    "debug_action": "VK_DBG_LAYER_ACTION_LOG_MSG",
    "report_flags": "error,warn,perf",
    "enables": "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
}
LAVAPIPE = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
_NAMED = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")


def environment() -> dict[str, str]:
    """What makes the loader take lavapipe, unless the caller's environment names a driver.

    Without it, a driver for hardware that is not there may spoil the list of devices.
    """
    if any(name in os.environ for name in _NAMED) or not LAVAPIPE:
        return {}
    return dict.fromkeys(_NAMED, str(LAVAPIPE[0]))


@functools.cache
def has_device() -> bool:
    """Whether Vulkan, in this environment, has a device that can be calibrated."""
    try:
        made = VulkanInstance()
    except SourceError:
        return False
    found = bool(made.devices)
    made.close()
    return found


class Validation:
    """What Vulkan's validation layer says of how the API is used, its synchronisation included."""

    def __init__(self, folder, monkeypatch):
        self._log = folder / "validation.txt"
        self.installed = any(
            (Path(place) / "vulkan/explicit_layer.d/VkLayer_khronos_validation.json").exists()
            for place in ("/usr/share", "/usr/local/share", "/etc")
        )
        if self.installed:
            settings = {**_SETTINGS, "log_filename": self._log}
            lines = [f"khronos_validation.{name} = {value}\n" for name, value in settings.items()]
            (folder / "vk_layer_settings.txt").write_text("".join(lines))
            monkeypatch.setenv("VK_LAYER_SETTINGS_PATH", str(folder))
            monkeypatch.setenv("VK_INSTANCE_LAYERS", LAYER)
        self._seen = 0
        self.messages()

    def messages(self):
        """Those of all processes since the last call."""
        written = self._log.read_bytes() if self._log.exists() else b""
        new, self._seen = written[self._seen :], len(written)
        return new.decode(errors="replace").splitlines()


@pytest.fixture(scope="session")
def settings_folder(tmp_path_factory):
    """One for all tests: the layer reads its settings once a process."""
    return tmp_path_factory.mktemp("validation")


@pytest.fixture
def validation(settings_folder, monkeypatch):
    """Instances that a test makes are watched, where the layer is installed."""
    return Validation(settings_folder, monkeypatch)


@pytest.fixture
def instance(monkeypatch, validation):
    """Vulkan with its devices; skips where there are none that can be calibrated.

    The validation layer must have nothing to say of what the test does.
    """
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
    assert validation.messages() == []
