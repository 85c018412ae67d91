"""The part of the Vulkan API that is used, through its loader and ctypes.

Dispatchable handles are pointers (`c_void_p`, or ctypes cuts them to 32 bits), the others 64-bit
numbers. Layouts and numbers are those of vulkan_core.h. No clock is read here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from tracetime.errors import SourceError

LOADERS: Final = {"win32": "vulkan-1.dll", "darwin": "libvulkan.1.dylib"}
LOADER: Final = LOADERS.get(sys.platform, "libvulkan.so.1")

API_1_1: Final = (1 << 22) | (1 << 12)

ERRORS: Final = {
    -1: "out of host memory",
    -2: "out of device memory",
    -3: "a driver did not initialise",
    -4: "the device is lost",
    -6: "layer not present",
    -7: "extension not present",
    -8: "feature not present",
    -9: "incompatible driver: no Vulkan driver is installed",
    -13: "unknown error",
}
INCOMPLETE: Final = 5

u8, u32, i32, u64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64
Handle = ctypes.c_void_p
Pointer = ctypes.c_void_p
String = ctypes.c_char_p
Fields = Sequence[tuple[str, Any]]


class _Chained(ctypes.Structure):
    """A structure that begins with its type and a pointer to a further one."""

    _fields_: ClassVar[Fields] = (("sType", u32), ("pNext", Pointer))


class ApplicationInfo(_Chained):
    TYPE = 0
    _fields_ = (
        ("name", String),
        ("version", u32),
        ("engine", String),
        ("engine_version", u32),
        ("api_version", u32),
    )


class InstanceCreateInfo(_Chained):
    TYPE = 1
    _fields_ = (
        ("flags", u32),
        ("application", Pointer),
        ("layer_count", u32),
        ("layers", Pointer),
        ("extension_count", u32),
        ("extensions", Pointer),
    )


class DeviceQueueCreateInfo(_Chained):
    TYPE = 2
    _fields_ = (("flags", u32), ("family", u32), ("count", u32), ("priorities", Pointer))


class DeviceCreateInfo(_Chained):
    TYPE = 3
    _fields_ = (
        ("flags", u32),
        ("queue_count", u32),
        ("queues", Pointer),
        ("layer_count", u32),
        ("layers", Pointer),
        ("extension_count", u32),
        ("extensions", Pointer),
        ("features", Pointer),
    )


class SubmitInfo(_Chained):
    TYPE = 4
    _fields_ = (
        ("wait_count", u32),
        ("waits", Pointer),
        ("stages", Pointer),
        ("buffer_count", u32),
        ("buffers", Pointer),
        ("signal_count", u32),
        ("signals", Pointer),
    )


class MemoryAllocateInfo(_Chained):
    TYPE = 5
    _fields_ = (("size", u64), ("kind", u32))


class FenceCreateInfo(_Chained):
    TYPE = 8
    _fields_ = (("flags", u32),)


class QueryPoolCreateInfo(_Chained):
    TYPE = 11
    _fields_ = (("flags", u32), ("kind", u32), ("count", u32), ("statistics", u32))


class BufferCreateInfo(_Chained):
    TYPE = 12
    _fields_ = (
        ("flags", u32),
        ("size", u64),
        ("usage", u32),
        ("sharing", u32),
        ("family_count", u32),
        ("families", Pointer),
    )


class CommandPoolCreateInfo(_Chained):
    TYPE = 39
    _fields_ = (("flags", u32), ("family", u32))


class CommandBufferAllocateInfo(_Chained):
    TYPE = 40
    _fields_ = (("pool", u64), ("level", u32), ("count", u32))


class CommandBufferBeginInfo(_Chained):
    TYPE = 42
    _fields_ = (("flags", u32), ("inheritance", Pointer))


class MemoryBarrier(_Chained):
    TYPE = 46
    _fields_ = (("source", u32), ("destination", u32))


class CalibratedTimestampInfo(_Chained):
    """VkCalibratedTimestampInfo, the same for KHR and EXT."""

    TYPE = 1_000_184_000
    _fields_ = (("domain", u32),)


class Limits(ctypes.Structure):
    """VkPhysicalDeviceLimits; only the fields that concern timestamps have names."""

    _fields_ = (
        ("_before", u64 * 52),
        ("_also", u32),
        ("timestamps_everywhere", u32),
        ("period", ctypes.c_float),
        ("_after", u8 * 76),
    )


class PhysicalDeviceProperties(ctypes.Structure):
    """824 bytes; limits at 296, timestampPeriod at limits + 424."""

    _fields_ = (
        ("api_version", u32),
        ("driver_version", u32),
        ("vendor", u32),
        ("device", u32),
        ("kind", u32),
        ("name", ctypes.c_char * 256),
        ("cache_uuid", u8 * 16),
        ("limits", Limits),
        ("_sparse", u32 * 5),
    )


class PhysicalDeviceProperties2(_Chained):
    TYPE = 1_000_059_001
    _fields_ = (("properties", PhysicalDeviceProperties),)


class PhysicalDeviceIDProperties(_Chained):
    TYPE = 1_000_071_004
    _fields_ = (
        ("device_uuid", u8 * 16),
        ("driver_uuid", u8 * 16),
        ("luid", u8 * 8),
        ("node_mask", u32),
        ("luid_valid", u32),
    )


class QueueFamilyProperties(ctypes.Structure):
    _fields_ = (
        ("flags", u32),
        ("count", u32),
        ("timestamp_valid_bits", u32),
        ("granularity", u32 * 3),
    )


class ExtensionProperties(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 256), ("version", u32))


class MemoryRequirements(ctypes.Structure):
    _fields_ = (("size", u64), ("alignment", u64), ("kinds", u32))


Function = Callable[..., int]

_POINTERS_3: Final = (Pointer, Pointer, Pointer)
_NEW: Final = (i32, Handle, *_POINTERS_3)
"""Of what makes an object: the device, its description, an allocator (none), where it goes."""

_DESTROY: Final = (None, Handle, u64, Pointer)
"""Of what destroys one: the device, the object, an allocator (none)."""

SIGNATURES: Final[Mapping[str, tuple[Any, ...]]] = {
    "vkEnumerateInstanceExtensionProperties": (i32, *_POINTERS_3),
    "vkCreateInstance": (i32, *_POINTERS_3),
    "vkDestroyInstance": (None, Handle, Pointer),
    "vkEnumeratePhysicalDevices": (i32, Handle, Pointer, Pointer),
    "vkGetPhysicalDeviceProperties2": (None, Handle, Pointer),
    "vkGetPhysicalDeviceQueueFamilyProperties": (None, Handle, Pointer, Pointer),
    "vkGetPhysicalDeviceCalibrateableTimeDomains": (i32, Handle, Pointer, Pointer),
    "vkEnumerateDeviceExtensionProperties": (i32, Handle, *_POINTERS_3),
    "vkCreateDevice": _NEW,
    "vkDestroyDevice": (None, Handle, Pointer),
    "vkDeviceWaitIdle": (i32, Handle),
    "vkGetCalibratedTimestamps": (i32, Handle, u32, *_POINTERS_3),
    "vkGetDeviceQueue": (None, Handle, u32, u32, Pointer),
    "vkQueueSubmit": (i32, Handle, u32, Pointer, u64),
    "vkCreateFence": _NEW,
    "vkDestroyFence": _DESTROY,
    "vkResetFences": (i32, Handle, u32, Pointer),
    "vkWaitForFences": (i32, Handle, u32, Pointer, u32, u64),
    "vkCreateBuffer": _NEW,
    "vkDestroyBuffer": _DESTROY,
    "vkGetBufferMemoryRequirements": (None, Handle, u64, Pointer),
    "vkAllocateMemory": _NEW,
    "vkFreeMemory": _DESTROY,
    "vkBindBufferMemory": (i32, Handle, u64, u64, u64),
    "vkCreateQueryPool": _NEW,
    "vkDestroyQueryPool": _DESTROY,
    "vkGetQueryPoolResults": (i32, Handle, u64, u32, u32, ctypes.c_size_t, Pointer, u64, u32),
    "vkCreateCommandPool": _NEW,
    "vkDestroyCommandPool": _DESTROY,
    "vkAllocateCommandBuffers": (i32, Handle, Pointer, Pointer),
    "vkBeginCommandBuffer": (i32, Handle, Pointer),
    "vkEndCommandBuffer": (i32, Handle),
    "vkCmdResetQueryPool": (None, Handle, u64, u32, u32),
    "vkCmdWriteTimestamp": (None, Handle, u32, u64, u32),
    "vkCmdFillBuffer": (None, Handle, u64, u64, u64, u32),
    "vkCmdPipelineBarrier": (None, Handle, *3 * (u32,), *3 * (u32, Pointer)),
}
"""What each function returns, and its arguments. Extensions' are without KHR and EXT."""


class Loader:
    """The loader library, and the functions that it returns.

    Raises:
        SourceError: it is not installed.
    """

    def __init__(self, library: str = LOADER) -> None:
        try:
            self._library: Any = ctypes.CDLL(library)
            self._address = self._library.vkGetInstanceProcAddr
        except (OSError, AttributeError) as error:
            raise SourceError(
                f"{library} cannot be loaded ({error}): install the Vulkan loader and the driver "
                "of the device (Debian: apt-get install libvulkan1 mesa-vulkan-drivers)"
            ) from None
        self._address.argtypes = [Handle, String]
        self._address.restype = ctypes.c_void_p

    def function(self, instance: Handle | None, name: str) -> Function:
        """A function of the API, typed by `SIGNATURES`.

        Raises:
            SourceError: the loader or driver has no such function.
        """
        address = self._address(instance, name.encode())
        if not address:
            raise SourceError(f"Vulkan's {name} is missing: the loader or driver is too old")
        signature = SIGNATURES[name.removesuffix("KHR").removesuffix("EXT")]
        call: Function = ctypes.CFUNCTYPE(*signature)(address)
        return call


def check(result: int, what: str) -> None:
    """Raise SourceError for a VkResult below 0; `what` names the call."""
    if result < 0:
        raise SourceError(f"{what} failed: {ERRORS.get(result, 'an error')} ({result})")


def make(kind: type[Any], /, **fields: Any) -> Any:
    """A structure with its sType and these fields; all others are zero."""
    return kind(sType=kind.TYPE, **fields)


def pointer(thing: Any) -> Pointer:
    """The address of an object as void*. The caller keeps the object alive while it is used."""
    return ctypes.cast(ctypes.pointer(thing), Pointer)


def strings(names: list[bytes]) -> Any:
    """A C array of strings."""
    return (String * max(len(names), 1))(*names)
