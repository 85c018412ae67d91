"""For tests on real OpenCL: the devices of the machine, or the processors by pocl."""

import functools

import pytest

from tracetime.errors import SourceError
from tracetime.sources.opencl import OpenClDevices


@functools.cache
def has_opencl() -> bool:
    """Whether OpenCL has a device here."""
    try:
        devices = OpenClDevices()
    except SourceError:
        return False
    devices.close()
    return bool(devices.numbered)


@pytest.fixture
def opencl_device():
    """Skips where there is no OpenCL device."""
    if not has_opencl():
        pytest.skip("an OpenCL device (apt-get install pocl-opencl-icd)")
