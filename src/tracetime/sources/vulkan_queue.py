"""Timestamps that a Vulkan device writes while it works: vkCmdWriteTimestamp in command buffers.

The timestamps are raw ticks of the device's clock; calibrated snapshots convert them to the host's.
No clock is read here.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, Protocol

from tracetime.errors import SourceError, UsageError
from tracetime.sources import vulkan_api as api
from tracetime.sources.source import OneAtATime

MOST_STAMPS: Final = 64
"""The size of the query pool, which is made once."""

WORK_BYTES: Final = 1 << 20
"""The memory that a unit of work fills: enough to keep the device busy for some us."""

_WAIT_NS: Final = 10_000_000_000
"""Far longer than any work that is submitted here: a device that takes it is stuck."""
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
    """The part of a device that its queue uses.

    Attributes:
        handle: of the logical device.
        label: its name in messages.
        family: of its queue.
    """

    handle: api.Handle
    label: str
    family: int

    def function(self, name: str) -> api.Function:
        """A function of the device."""


class StampQueue:
    """A queue of a device, with one command buffer whose timestamps are read back.

    Threads may share it: each waits for its turn.

    Args:
        device: opened, with a queue family that writes timestamps.

    Raises:
        SourceError: a part of it cannot be made.
    """

    def __init__(self, device: OpenedDevice) -> None:
        self._device = device
        self._made: list[tuple[str, int]] = []
        self._functions: dict[str, api.Function] = {}
        self._one = OneAtATime(f"work of {device.label}")
        self._pending = False
        self._queue = api.Handle()
        self._command = api.Handle()
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def stamp(self, count: int = 2, work: int = 0) -> list[int]:
        """Submit a command buffer, wait for it, and return the timestamps written in it, raw.

        Args:
            count: how many, 1 to 64. The first is written when work begins, the others when all
                work before them is done.
            work: how many times `WORK_BYTES` of memory are filled before each but the first.

        Raises:
            UsageError: count or work out of range.
            SourceError: the device fails, or takes more than 10 s; or a signal's handler calls
                this while it interrupts this thread's work.
        """
        if not 1 <= count <= MOST_STAMPS or not 0 <= work <= 10_000:
            raise UsageError(f"count {count}, work {work}: use 1 to {MOST_STAMPS}, 0 to 10000")
        with self._one.turn():
            if not self._made:
                raise SourceError(f"{self._device.label} was closed: open it again")
            if self._pending:
                # Earlier work took too long: the device uses the command buffer until it is done.
                self._wait()
            self._record(count, work)
            self._submit()
            self._wait()
            return self._results(count)

    def _submit(self) -> None:
        command = api.Handle(self._command.value)
        submit = api.make(api.SubmitInfo, buffer_count=1, buffers=api.pointer(command))
        fence = api.u64(self._fence)
        self._call("vkResetFences", self._device.handle, 1, api.pointer(fence))
        self._pending = True
        result = self._call("vkQueueSubmit", self._queue, 1, api.pointer(submit), self._fence)
        if result < 0:
            self._pending = False
        api.check(result, f"submitting work to {self._device.label}")

    def _wait(self) -> None:
        """Wait until the submitted work is done."""
        fence = api.u64(self._fence)
        result = self._call(
            "vkWaitForFences", self._device.handle, 1, api.pointer(fence), 1, _WAIT_NS
        )
        api.check(result, f"waiting for {self._device.label}")
        if result:
            raise SourceError(f"{self._device.label} has not done its work in 10 s: is it stuck?")
        self._pending = False

    def _results(self, count: int) -> list[int]:
        values = (api.u64 * count)()
        size, address, stride = ctypes.sizeof(values), ctypes.addressof(values), 8
        result = self._call(
            "vkGetQueryPoolResults",
            self._device.handle,
            self._queries,
            0,
            count,
            size,
            address,
            stride,
            _RESULT_64_WAIT,
        )
        api.check(result, f"reading timestamps of {self._device.label}")
        return list(values)

    def close(self) -> None:
        """Destroy what was made."""
        with self._one.turn():
            if self._made:
                self._call("vkDeviceWaitIdle", self._device.handle)
            while self._made:
                name, handle = self._made.pop()
                self._call(name, self._device.handle, handle, None)

    def _call(self, name: str, *arguments: Any) -> int:
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._device.function(name)
        return function(*arguments)

    def _new(self, create: str, destroy: str, info: Any) -> int:
        """Make something that has a 64-bit handle, to be destroyed at the end."""
        handle = api.u64()
        result = self._call(
            create, self._device.handle, api.pointer(info), None, api.pointer(handle)
        )
        api.check(result, f"{create} of {self._device.label}")
        self._made.append((destroy, handle.value))
        return int(handle.value)

    def _make(self) -> None:
        device, family = self._device.handle, self._device.family
        self._call("vkGetDeviceQueue", device, family, 0, api.pointer(self._queue))
        pool_info = api.make(api.CommandPoolCreateInfo, flags=_RESETTABLE, family=family)
        pool = self._new("vkCreateCommandPool", "vkDestroyCommandPool", pool_info)
        info = api.make(api.CommandBufferAllocateInfo, pool=pool, level=0, count=1)
        result = self._call(
            "vkAllocateCommandBuffers", device, api.pointer(info), api.pointer(self._command)
        )
        api.check(result, "allocating a command buffer")
        query_info = api.make(api.QueryPoolCreateInfo, kind=_QUERY_TIMESTAMP, count=MOST_STAMPS)
        self._queries = self._new("vkCreateQueryPool", "vkDestroyQueryPool", query_info)
        self._fence = self._new("vkCreateFence", "vkDestroyFence", api.make(api.FenceCreateInfo))
        buffer_info = api.make(api.BufferCreateInfo, size=WORK_BYTES, usage=_TRANSFER_TARGET)
        self._buffer = self._new("vkCreateBuffer", "vkDestroyBuffer", buffer_info)
        needs = api.MemoryRequirements()
        self._call("vkGetBufferMemoryRequirements", device, self._buffer, api.pointer(needs))
        kind = (needs.kinds & -needs.kinds).bit_length() - 1
        memory_info = api.make(api.MemoryAllocateInfo, size=needs.size, kind=kind)
        memory = self._new("vkAllocateMemory", "vkFreeMemory", memory_info)
        result = self._call("vkBindBufferMemory", device, self._buffer, memory, 0)
        api.check(result, "binding memory")

    def _record(self, count: int, work: int) -> None:
        """Write the command buffer anew."""
        begin = api.make(api.CommandBufferBeginInfo, flags=_ONE_TIME)
        result = self._call("vkBeginCommandBuffer", self._command, api.pointer(begin))
        api.check(result, "beginning a command buffer")
        self._call("vkCmdResetQueryPool", self._command, self._queries, 0, count)
        # All work fills the same memory: without a barrier it may overlap.
        after_writing = api.make(
            api.MemoryBarrier, source=_TRANSFER_WRITE, destination=_TRANSFER_WRITE
        )
        for index in range(count):
            if index:
                for turn in range(work):
                    self._fill(turn, api.pointer(after_writing))
            stage = _BOTTOM_OF_PIPE if index else _TOP_OF_PIPE
            self._call("vkCmdWriteTimestamp", self._command, stage, self._queries, index)
        api.check(self._call("vkEndCommandBuffer", self._command), "ending it")

    def _fill(self, turn: int, barrier: api.Pointer) -> None:
        """Record one unit of work, after what was written before it."""
        stages = _STAGE_TRANSFER, _STAGE_TRANSFER
        # One barrier of memory; none of buffers, none of images.
        barriers = 1, barrier, 0, None, 0, None
        self._call("vkCmdPipelineBarrier", self._command, *stages, 0, *barriers)
        self._call("vkCmdFillBuffer", self._command, self._buffer, 0, WORK_BYTES, turn)
