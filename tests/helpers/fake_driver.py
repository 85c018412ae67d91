"""Drivers of devices that are not here: C libraries that answer byte by byte, and fail on demand."""

import ctypes
import shutil
import subprocess
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "fake_drivers"
OPTIONS = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]


class FakeDriver:
    """A fake driver in a library of this process, with the settings that its source names.

    Attributes:
        path: of the library.
    """

    def __init__(self, path):
        self.path = str(path)
        self._library = ctypes.CDLL(self.path)
        self._library.fake_get.restype = ctypes.c_longlong
        self._library.fake_reset()

    def set(self, **values):
        for name, value in values.items():
            self._library.fake_set(name.encode(), ctypes.c_longlong(value))

    def fail(self, function, code, at=0):
        """Let a function fail from its call number `at` on, counted from 1."""
        self.set(**{f"{function}#": 0, f"{function}@": at, function: code})

    def get(self, name):
        return self._library.fake_get(name.encode())

    def error_ns(self, ticks, host_ns):
        """How far a reading of the device is from when the host has it, its step left out."""
        rate = 1 + Fraction(self.get("ppm"), 10**6)
        # The driver reckons ppm in whole ms of MONOTONIC_RAW.
        whole = abs(self.get("ppm"))
        early = (ticks - self.get("ahead_ns") - whole) / rate - host_ns
        late = (ticks + self.get("step_ns") + whole - self.get("ahead_ns")) / rate
        return max(early, host_ns - late, 0)


@contextmanager
def opened(devices):
    """The first of some devices, which are closed at the end."""
    try:
        yield devices.numbered[0]
    finally:
        devices.close()


def reason(devices):
    """Why the one device is not available."""
    assert not devices.numbered
    (entry,) = devices.unavailable
    return entry.reason


def library(source, folder):
    """The path of a fake driver's library, compiled."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    path = folder / f"lib{source}.so"
    command = [compiler, *OPTIONS, "-o", path, FOLDER / f"{source}.c"]
    subprocess.run(command, check=True)
    return path
