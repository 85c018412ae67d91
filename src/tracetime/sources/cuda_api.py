"""The part of CUDA's driver API that is used, through libcuda and ctypes; and CUPTI's timestamp.

Handles are pointers (`c_void_p`, or ctypes cuts them to 32 bits), a device is a number. Signatures
are those of cuda.h, with the versions that it names by macros (`_v2`). No clock is read here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tracetime.errors import SourceError

LIBRARY: Final = "libcuda.so.1"
CUPTI_LIBRARIES: Final = ("libcupti.so.13", "libcupti.so.12", "libcupti.so")

SUCCESS: Final = 0
NOT_READY: Final = 600
HOST_ALLOC_MAPPED: Final = 0x01 | 0x02
"""CU_MEMHOSTALLOC_PORTABLE and _DEVICEMAP: memory of the host that the device writes."""
STREAM_NON_BLOCKING: Final = 1

_UUIDS: Final = ("cuDeviceGetUuid_v2", "cuDeviceGetUuid")
"""The first also tells the parts of a GPU that is split (MIG) apart; older drivers lack it."""

u32, i32, u64, size = ctypes.c_uint32, ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t
Handle = ctypes.c_void_p
Pointer = ctypes.c_void_p

SIGNATURES: Final[Mapping[str, tuple[Any, ...]]] = {
    "cuInit": (u32,),
    "cuGetErrorString": (i32, Pointer),
    "cuDeviceGetCount": (Pointer,),
    "cuDeviceGet": (Pointer, i32),
    "cuDeviceGetName": (Pointer, i32, i32),
    "cuDevicePrimaryCtxRetain": (Pointer, i32),
    "cuDevicePrimaryCtxRelease_v2": (i32,),
    "cuCtxPushCurrent_v2": (Handle,),
    "cuCtxPopCurrent_v2": (Pointer,),
    "cuModuleLoadData": (Pointer, Pointer),
    "cuModuleUnload": (Handle,),
    "cuModuleGetFunction": (Pointer, Handle, ctypes.c_char_p),
    "cuMemHostAlloc": (Pointer, size, u32),
    "cuMemHostGetDevicePointer_v2": (Pointer, Pointer, u32),
    "cuMemFreeHost": (Pointer,),
    "cuStreamCreate": (Pointer, u32),
    "cuStreamQuery": (Handle,),
    "cuStreamDestroy_v2": (Handle,),
    "cuLaunchKernel": (Handle, *[u32] * 6, u32, Handle, Pointer, Pointer),
}
"""The arguments of each function; all return CUresult."""


class Cuda:
    """libcuda with its functions, initialised.

    Raises:
        SourceError: it is not installed, lacks a function, or finds no device.
    """

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            loaded = ctypes.CDLL(library)
            self._functions = {
                name: _typed(loaded, name, arguments) for name, arguments in SIGNATURES.items()
            }
            uuid = next(name for name in _UUIDS if hasattr(loaded, name))
        except (OSError, AttributeError, StopIteration) as error:
            raise SourceError(
                f"{library} cannot be loaded ({error}): it comes with NVIDIA's driver, 9.2 or newer"
            ) from None
        self._functions["cuDeviceGetUuid"] = _typed(loaded, uuid, (Pointer, i32))
        self.check("starting CUDA", "cuInit", 0)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function, and return its error code."""
        return int(self._functions[name](*arguments))

    def check(self, what: str, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            SourceError: it returns an error; `what` names the call.
        """
        code = self.call(name, *arguments)
        if code != SUCCESS:
            text = ctypes.c_char_p()
            told = self.call("cuGetErrorString", code, ctypes.byref(text)) == SUCCESS
            says = text.value.decode(errors="replace")[:200] if told and text.value else "an error"
            raise SourceError(f"{what} failed: {says} ({code})")

    def make(self, what: str, name: str, kind: Any, *arguments: Any) -> Any:
        """Call a function that stores something of a ctypes kind first, and return that."""
        made = kind()
        self.check(what, name, ctypes.byref(made), *arguments)
        return made


def cupti_timer(libraries: Sequence[str] = CUPTI_LIBRARIES) -> Callable[[], int] | None:
    """Reads the clock of CUPTI's records, ns (cuptiGetTimestamp); None where there is no CUPTI."""
    for library in libraries:
        try:
            function = _typed(ctypes.CDLL(library), "cuptiGetTimestamp", (Pointer,))
        except (OSError, AttributeError):
            continue

        def read() -> int:
            shown = u64()
            code = int(function(ctypes.byref(shown)))  # noqa: B023  it returns at once
            if code != SUCCESS:
                raise SourceError(f"cuptiGetTimestamp failed ({code})")
            return shown.value

        return read
    return None


def _typed(library: Any, name: str, arguments: Sequence[Any]) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = i32, arguments
    return function
