"""Timestamps that a Vulkan device writes while it works: vkCmdWriteTimestamp in command buffers.

What the device stamps is raw ticks of its clock; where they lie on the host's is a conversion
through calibrated snapshots. No clock is read here.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, Protocol

from tracetime.errors import SourceError, UsageError
from tracetime.sources import vulkan_api as api
from tracetime.sources.lock import OneAtATime

MOST_STAMPS: Final = 64
WORK_BYTES: Final = 1 << 20
"""What a unit of work fills: enough for the device to be busy for a while."""

_WAIT_NS: Final = 10_000_000_000
_TOP_OF_PIPE: Final = 0x1
_BOTTOM_OF_PIPE: Final = 0x2000
_QUERY_TIMESTAMP: Final = 2
_RESULT_64_WAIT: Final = 1 | 2
_RESETTABLE: Final = 2
_ONE_TIME: Final = 1
_TRANSFER_TARGET: Final = 2
_STAGE_TRANSFER: Final = 0x1000
_TRANSFER_WRITE: Final = 0x1000


class OpenedDevice(Protocol):
    """What a queue needs of its device.

    Attributes:
        handle: of the logical device.
        label: what messages call it.
        family: of its queue.
    """

    handle: api.Handle
    label: str
    family: int

    def function(self, name: str, *arguments: Any, returns: Any = ...) -> api.Function:
        """A function of the device."""


class StampQueue:
    """A queue of a device, with one command buffer whose timestamps are read back.

    Threads may share it: each waits for its turn.

    Args:
        device: opened, with a queue family that writes timestamps.
        physical: its physical device.

    Raises:
        SourceError: something of it cannot be made.
    """

    def __init__(self, device: OpenedDevice, physical: api.Handle) -> None:
        self._device = device
        self._made: list[tuple[str, int]] = []
        self._functions: dict[str, api.Function] = {}
        self._one = OneAtATime(f"work of {device.label}")
        self._pending = False
        self._queue = api.Handle()
        self._command = api.Handle()
        try:
            self._make(physical)
        except BaseException:
            self.close()
            raise

    def stamp(self, count: int = 2, work: int = 0) -> list[int]:
        """Submit a command buffer, wait for it, and return the timestamps written in it, raw.

        Args:
            count: how many, 1 to 64. The first is written when work begins, the others when all
                before them is done.
            work: how many times `WORK_BYTES` of memory are filled before each but the first.

        Raises:
            UsageError: count or work out of range.
            SourceError: the device fails, or takes more than 10 s; or a signal's handler asks while
                this thread's work is under way.
        """
        if not 1 <= count <= MOST_STAMPS or not 0 <= work <= 10_000:
            raise UsageError(f"count {count}, work {work}: use 1 to {MOST_STAMPS}, 0 to 10000")
        with self._one.turn():
            if not self._made:
                raise SourceError(f"{self._device.label} was closed: open it again")
            if self._pending:
                # Work that took too long: the command buffer is the device's until it is done.
                self._wait()
            self._record(count, work)
            self._submit()
            self._wait()
            return self._results(count)

    def _submit(self) -> None:
        command = api.Handle(self._command.value)
        submit = api.make(api.SubmitInfo, buffer_count=1, buffers=api.pointer(command))
        fence = api.u64(self._fence)
        self._call("vkResetFences", api.Handle, api.u32, api.Pointer)(
            self._device.handle, 1, api.pointer(fence)
        )
        self._pending = True
        result = self._call("vkQueueSubmit", api.Handle, api.u32, api.Pointer, api.u64)(
            self._queue, 1, api.pointer(submit), self._fence
        )
        if result < 0:
            self._pending = False
        api.check(result, f"submitting work to {self._device.label}")

    def _wait(self) -> None:
        """Until what was submitted is done."""
        fence = api.u64(self._fence)
        result = self._call(
            "vkWaitForFences", api.Handle, api.u32, api.Pointer, api.u32, api.u64
        )(self._device.handle, 1, api.pointer(fence), 1, _WAIT_NS)  # fmt: skip
        api.check(result, f"waiting for {self._device.label}")
        if result:
            raise SourceError(f"{self._device.label} has not done its work in 10 s: is it stuck?")
        self._pending = False

    def _results(self, count: int) -> list[int]:
        values = (api.u64 * count)()
        api.check(
            self._call(
                "vkGetQueryPoolResults",
                api.Handle, api.u64, api.u32, api.u32, ctypes.c_size_t, api.Pointer, api.u64,
                api.u32,
            )(
                self._device.handle, self._queries, 0, count, ctypes.sizeof(values),
                ctypes.addressof(values), 8, _RESULT_64_WAIT,
            ),
            f"reading timestamps of {self._device.label}",
        )  # fmt: skip
        return list(values)

    def close(self) -> None:
        """Give back what was made."""
        with self._one.turn():
            if self._made:
                self._call("vkDeviceWaitIdle", api.Handle)(self._device.handle)
            while self._made:
                name, handle = self._made.pop()
                self._call(name, api.Handle, api.u64, api.Pointer, returns=None)(
                    self._device.handle, handle, None
                )

    def _call(self, name: str, *arguments: Any, returns: Any = api.i32) -> api.Function:
        made = self._functions.get(name)
        if made is None:
            made = self._functions[name] = self._device.function(name, *arguments, returns=returns)
        return made

    def _new(self, create: str, destroy: str, info: Any) -> int:
        """Make something that has a 64-bit handle, to be destroyed at the end."""
        handle = api.u64()
        api.check(
            self._call(create, api.Handle, api.Pointer, api.Pointer, api.Pointer)(
                self._device.handle, api.pointer(info), None, api.pointer(handle)
            ),
            f"{create} of {self._device.label}",
        )
        self._made.append((destroy, handle.value))
        return int(handle.value)

    def _make(self, physical: api.Handle) -> None:
        device, family = self._device.handle, self._device.family
        self._call(
            "vkGetDeviceQueue", api.Handle, api.u32, api.u32, api.Pointer, returns=None
        )(device, family, 0, api.pointer(self._queue))  # fmt: skip
        pool = self._new(
            "vkCreateCommandPool", "vkDestroyCommandPool",
            api.make(api.CommandPoolCreateInfo, flags=_RESETTABLE, family=family),
        )  # fmt: skip
        info = api.make(api.CommandBufferAllocateInfo, pool=pool, level=0, count=1)
        api.check(
            self._call("vkAllocateCommandBuffers", api.Handle, api.Pointer, api.Pointer)(
                device, api.pointer(info), api.pointer(self._command)
            ),
            "allocating a command buffer",
        )
        self._queries = self._new(
            "vkCreateQueryPool", "vkDestroyQueryPool",
            api.make(api.QueryPoolCreateInfo, kind=_QUERY_TIMESTAMP, count=MOST_STAMPS),
        )  # fmt: skip
        self._fence = self._new("vkCreateFence", "vkDestroyFence", api.make(api.FenceCreateInfo))
        self._buffer = self._new(
            "vkCreateBuffer", "vkDestroyBuffer",
            api.make(api.BufferCreateInfo, size=WORK_BYTES, usage=_TRANSFER_TARGET),
        )  # fmt: skip
        needs = api.MemoryRequirements()
        self._call(
            "vkGetBufferMemoryRequirements", api.Handle, api.u64, api.Pointer, returns=None
        )(device, self._buffer, api.pointer(needs))  # fmt: skip
        kind = (needs.kinds & -needs.kinds).bit_length() - 1
        memory = self._new(
            "vkAllocateMemory", "vkFreeMemory",
            api.make(api.MemoryAllocateInfo, size=needs.size, kind=kind),
        )  # fmt: skip
        api.check(
            self._call("vkBindBufferMemory", api.Handle, api.u64, api.u64, api.u64)(
                device, self._buffer, memory, 0
            ),
            "binding memory",
        )

    def _record(self, count: int, work: int) -> None:
        """Write the command buffer anew."""
        begin = api.make(api.CommandBufferBeginInfo, flags=_ONE_TIME)
        api.check(
            self._call("vkBeginCommandBuffer", api.Handle, api.Pointer)(
                self._command, api.pointer(begin)
            ),
            "beginning a command buffer",
        )
        self._call(
            "vkCmdResetQueryPool", api.Handle, api.u64, api.u32, api.u32, returns=None
        )(self._command, self._queries, 0, count)  # fmt: skip
        write = self._call(
            "vkCmdWriteTimestamp", api.Handle, api.u32, api.u64, api.u32, returns=None
        )
        fill = self._call(
            "vkCmdFillBuffer", api.Handle, api.u64, api.u64, api.u64, api.u32, returns=None
        )
        between = self._call(
            "vkCmdPipelineBarrier",
            api.Handle, api.u32, api.u32, api.u32, api.u32, api.Pointer, api.u32, api.Pointer,
            api.u32, api.Pointer, returns=None,
        )  # fmt: skip
        # Fills go to the same memory: without it they may overlap.
        after_writing = api.make(
            api.MemoryBarrier, source=_TRANSFER_WRITE, destination=_TRANSFER_WRITE
        )
        barrier = api.pointer(after_writing)
        for index in range(count):
            if index:
                for turn in range(work):
                    between(
                        self._command, _STAGE_TRANSFER, _STAGE_TRANSFER, 0, 1, barrier, 0, None, 0,
                        None,
                    )  # fmt: skip
                    fill(self._command, self._buffer, 0, WORK_BYTES, turn)
            stage = _BOTTOM_OF_PIPE if index else _TOP_OF_PIPE
            write(self._command, stage, self._queries, index)
        api.check(self._call("vkEndCommandBuffer", api.Handle)(self._command), "ending it")
