"""The part of the OpenCL API that is used, through its loader and ctypes.

Handles are pointers (`c_void_p`, or ctypes cuts them to 32 bits). Numbers are those of CL/cl.h and
CL/cl_ext.h. No clock is read here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tracetime.errors import SourceError

LOADER: Final = "libOpenCL.so.1"

PLATFORM_VERSION: Final = 0x0901
PLATFORM_HOST_TIMER_RESOLUTION: Final = 0x0905
DEVICE_PROFILING_TIMER_RESOLUTION: Final = 0x1025
DEVICE_NAME: Final = 0x102B
DEVICE_VERSION: Final = 0x102F
DEVICE_UUID: Final = 0x106A
DEVICE_PCI_BUS_INFO: Final = 0x410F
ALL_DEVICES: Final = 0xFFFFFFFF
PROFILING_ENABLE: Final = 1 << 1
EVENT_STATUS: Final = 0x11D3
PROFILING_START: Final = 0x1282
PROFILING_END: Final = 0x1283

_NO_PLATFORM: Final = -1001
_NO_DEVICE: Final = -1
_MOST_BYTES: Final = 1 << 16
"""Of an answer: the longest, a list of extensions, has some KB."""
_MOST_ENTRIES: Final = 1 << 10

ERRORS: Final = {
    -1: "no device",
    -2: "the device is not available",
    -5: "out of resources",
    -6: "out of host memory",
    -7: "no times of this command",
    -30: "invalid value",
    -33: "invalid device",
    -36: "invalid command queue",
    -59: "invalid operation",
    _NO_PLATFORM: "no OpenCL driver is installed (Debian: pocl-opencl-icd, or that of the device)",
}

u32, i32, u64, size = ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64, ctypes.c_size_t
Handle = ctypes.c_void_p
Pointer = ctypes.c_void_p

SIGNATURES: Final[Mapping[str, tuple[Any, ...]]] = {
    "clGetPlatformIDs": (i32, u32, Pointer, Pointer),
    "clGetPlatformInfo": (i32, Handle, u32, size, Pointer, Pointer),
    "clGetDeviceIDs": (i32, Handle, u64, u32, Pointer, Pointer),
    "clGetDeviceInfo": (i32, Handle, u32, size, Pointer, Pointer),
    "clCreateContext": (Handle, Pointer, u32, Pointer, Pointer, Pointer, Pointer),
    "clReleaseContext": (i32, Handle),
    "clCreateCommandQueue": (Handle, Handle, Handle, u64, Pointer),
    "clReleaseCommandQueue": (i32, Handle),
    "clCreateBuffer": (Handle, Handle, u64, size, Pointer, Pointer),
    "clReleaseMemObject": (i32, Handle),
    "clEnqueueWriteBuffer": (
        *(i32, Handle, Handle, u32, size, size, Pointer),
        *(u32, Pointer, Pointer),
    ),
    "clFlush": (i32, Handle),
    "clGetEventInfo": (i32, Handle, u32, size, Pointer, Pointer),
    "clGetEventProfilingInfo": (i32, Handle, u32, size, Pointer, Pointer),
    "clReleaseEvent": (i32, Handle),
}
"""Of each function: what it returns, and its arguments. All are of OpenCL 1.0."""

TIMERS: Final[Mapping[str, tuple[Any, ...]]] = {
    "clGetDeviceAndHostTimer": (i32, Handle, Pointer, Pointer),
    "clGetHostTimer": (i32, Handle, Pointer),
}
"""The signatures of functions of OpenCL 2.1, which a loader may lack."""


class PciBusInfo(ctypes.Structure):
    """cl_device_pci_bus_info_khr."""

    _fields_: ClassVar = [(name, u32) for name in ("domain", "bus", "device", "function")]


class OpenCl:
    """The loader library with its functions.

    Raises:
        SourceError: it is not installed, or lacks a function.
    """

    def __init__(self, library: str = LOADER) -> None:
        try:
            loaded = ctypes.CDLL(library)
            self._functions = {name: _bind(loaded, name, SIGNATURES[name]) for name in SIGNATURES}
        except (OSError, AttributeError) as error:
            raise SourceError(
                f"{library} cannot be loaded ({error}): install the OpenCL loader and the driver "
                "of the device (Debian: apt-get install ocl-icd-libopencl1 pocl-opencl-icd)"
            ) from None
        for name, signature in TIMERS.items():
            if hasattr(loaded, name):
                self._functions[name] = _bind(loaded, name, signature)

    def has(self, name: str) -> bool:
        """Whether the loader has a function of `TIMERS`."""
        return name in self._functions

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function that returns an error code, and return that."""
        return int(self._functions[name](*arguments))

    def check(self, what: str, name: str, *arguments: Any) -> None:
        """Call a function that returns an error code.

        Raises:
            SourceError: the code is not 0; `what` names the call.
        """
        fail(self.call(name, *arguments), what)

    def make(self, what: str, name: str, *arguments: Any) -> Handle:
        """Call a function that returns a handle, and takes the address of an error code last.

        Raises:
            SourceError: it fails; `what` names the call.
        """
        code = i32()
        made = self._functions[name](*arguments, ctypes.byref(code))
        fail(code.value, what)
        if not made:
            raise SourceError(f"{what} failed: the driver returned nothing")
        return Handle(made)

    def platforms(self) -> list[Handle]:
        """The drivers that are installed.

        Raises:
            SourceError: none is.
        """
        return self._list_handles("listing OpenCL's platforms", "clGetPlatformIDs")

    def devices(self, platform: Handle) -> list[Handle]:
        """The devices of a driver; none if it has none now.

        Raises:
            SourceError: it fails.
        """
        return self._list_handles(
            "listing OpenCL's devices", "clGetDeviceIDs", platform, ALL_DEVICES
        )

    def _list_handles(self, what: str, name: str, *arguments: Any) -> list[Handle]:
        count = u32()
        code = self.call(name, *arguments, 0, None, ctypes.byref(count))
        if code == _NO_DEVICE:
            return []
        fail(code, what)
        entries = (Handle * min(count.value, _MOST_ENTRIES))()
        if not len(entries):
            return []
        self.check(what, name, *arguments, len(entries), entries, None)
        return [Handle(entry) for entry in entries if entry]

    def platform_info(self, platform: Handle, number: int) -> bytes:
        """One property of a platform; nothing if it has none of this number."""
        return self._info("clGetPlatformInfo", platform, number)

    def device_info(self, device: Handle, number: int) -> bytes:
        """One property of a device; nothing if it has none of this number."""
        return self._info("clGetDeviceInfo", device, number)

    def _info(self, name: str, owner: Handle, number: int) -> bytes:
        length = size()
        if self.call(name, owner, number, 0, None, ctypes.byref(length)):
            return b""
        if not 0 < length.value <= _MOST_BYTES:
            return b""
        out = ctypes.create_string_buffer(length.value)
        return b"" if self.call(name, owner, number, length.value, out, None) else out.raw


def fail(code: int, what: str) -> None:
    """Raise SourceError for an error code that is not 0; `what` names the call."""
    if code:
        raise SourceError(f"{what} failed: {ERRORS.get(code, 'an error')} ({code})")


def number(answer: bytes) -> int:
    """A number that a property holds, in this machine's byte order; 0 if it holds none."""
    return int.from_bytes(answer, sys.byteorder) if len(answer) <= 8 else 0


def text(answer: bytes) -> str:
    """The text that a property holds, up to its end."""
    return answer.partition(b"\0")[0].decode(errors="replace").strip()


def _bind(library: Any, name: str, signature: tuple[Any, ...]) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = signature[0], signature[1:]
    return function
