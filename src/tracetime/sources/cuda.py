"""Devices of CUDA: the timer that a kernel reads as %globaltimer, by one that stores it.

The host brackets the kernel by MONOTONIC_RAW. Specification: "Special Registers" of the PTX
instruction set; it leaves the timer's step to the device, so that is measured.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError
from tracetime.sources.bracketed import (
    Bracket,
    BracketedDevice,
    clocks_of,
    in_words,
    is_done,
    raw_ns,
)
from tracetime.sources.names import CUDA
from tracetime.sources.source import Devices, OneAtATime, Unavailable
from tracetime.sources.tick import resolution_of_runs

# The part of CUDA's driver API that is used, through libcuda and ctypes; and CUPTI's timestamp.
#
# Handles are pointers (`c_void_p`, or ctypes cuts them to 32 bits), a device is a number.
# Signatures are those of cuda.h, with the versions that it names by macros (`_v2`). No clock is
# read here.

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
                name: _bind(loaded, name, arguments) for name, arguments in SIGNATURES.items()
            }
            uuid = next(name for name in _UUIDS if hasattr(loaded, name))
        except (OSError, AttributeError, StopIteration) as error:
            raise SourceError(
                f"{library} cannot be loaded ({error}): it comes with NVIDIA's driver, 9.2 or newer"
            ) from None
        self._functions["cuDeviceGetUuid"] = _bind(loaded, uuid, (Pointer, i32))
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
            is_known = self.call("cuGetErrorString", code, ctypes.byref(text)) == SUCCESS
            says = (
                text.value.decode(errors="replace")[:200] if is_known and text.value else "an error"
            )
            raise SourceError(f"{what} failed: {says} ({code})")

    def make(self, what: str, name: str, kind: Any, *arguments: Any) -> Any:
        """Call a function that stores something of a ctypes kind first, and return that."""
        made = kind()
        self.check(what, name, ctypes.byref(made), *arguments)
        return made


def cupti_timer(libraries: Sequence[str] = CUPTI_LIBRARIES) -> Callable[[], int] | None:
    """The reader of the clock of CUPTI's records, ns (cuptiGetTimestamp); None without CUPTI."""
    for library in libraries:
        try:
            function = _bind(ctypes.CDLL(library), "cuptiGetTimestamp", (Pointer,))
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


def _bind(library: Any, name: str, arguments: Sequence[Any]) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = i32, arguments
    return function


KERNEL: Final = b"""\
.version 6.0
.target sm_50
.address_size 64

.visible .entry stamp(.param .u64 out, .param .u32 count)
{
    .reg .pred %more;
    .reg .b32 %left;
    .reg .b64 %at, %now;

    ld.param.u64 %at, [out];
    ld.param.u32 %left, [count];
    cvta.to.global.u64 %at, %at;
NEXT:
    mov.u64 %now, %globaltimer;
    st.global.u64 [%at], %now;
    add.u64 %at, %at, 8;
    sub.u32 %left, %left, 1;
    setp.ne.u32 %more, %left, 0;
    @%more bra NEXT;
    ret;
}
"""
"""Stores so many readings, one after the other. The driver compiles it for the device."""

MOST_STAMPS: Final = 4_096
"""Enough to see the steps of a timer of 1 us: a reading takes some 20 ns."""

_RUNS: Final = 4
_READINGS: Final = 2
"""Of a calibration: the second shows whether the first was a time."""
_NAME_BYTES: Final = 256


class CudaDevice(BracketedDevice):
    """One device and its clock, `dev.tracetime.cuda.` and its UUID. Threads may share it.

    Args:
        cuda: the driver's functions.
        position: of the device, as CUDA counts.

    Raises:
        SourceError: it cannot run the kernel, or its timer stands still.
    """

    most_stamps = MOST_STAMPS

    def __init__(self, cuda: Cuda, position: int) -> None:
        self._cuda = cuda
        what = f"opening CUDA's device {position}"
        self._device = int(cuda.make(what, "cuDeviceGet", i32, position).value)
        kind = ctypes.c_char * _NAME_BYTES
        label = cuda.make(what, "cuDeviceGetName", kind, _NAME_BYTES, self._device)
        uuid = cuda.make(what, "cuDeviceGetUuid", ctypes.c_uint8 * 16, self._device)
        name = label.value.decode(errors="replace")[:100] or "a CUDA device"
        super().__init__(f"{CUDA}.{bytes(uuid).hex()}", name)
        self._one = OneAtATime(f"work of {self.label}")
        self._made: list[tuple[str, Any]] = []
        self._context: Handle | None = None
        self._stuck = False
        self._step_ns = 1
        try:
            self._open()
            self._step_ns = self._measure_step()
        except BaseException:
            self.close()
            raise

    @property
    def resolution_ns(self) -> int:
        return self._step_ns

    def bracket(self) -> Bracket:
        return self._launch(_READINGS)

    def _stamps(self, count: int) -> list[int]:
        """The readings of one kernel."""
        return self._launch(count).readings

    def step_ticks(self) -> int:
        return self._step_ns

    def note(self, clock: ClockId) -> str | None:
        """The way in which its clock is read, and the clock of the host in CUPTI's records."""
        timer = cupti_timer()
        says = f"{self.label}, read by a kernel that stores %globaltimer"
        if timer is None:
            return says
        try:
            return f"{says}; CUPTI's timestamps are of {in_words(clocks_of(timer))}"
        except SourceError as error:
            return f"{says}; CUPTI gives no timestamps: {error}"

    def close(self) -> None:
        context, self._context = self._context, None
        if context is None:
            return
        made, self._made = self._made, []
        # What a stuck kernel may still use is left to the end of the process, as is that of a
        # device that was lost.
        if not self._stuck:
            with contextlib.suppress(SourceError), self._one.turn(), self._current(context):
                while made:
                    release, handle = made.pop()
                    self._cuda.call(release, handle)
            self._cuda.call("cuDevicePrimaryCtxRelease_v2", self._device)

    def _open(self) -> None:
        what = f"opening {self.label}"
        new = self._cuda.make
        self._context = new(what, "cuDevicePrimaryCtxRetain", Handle, self._device)
        with self._current(self._context):
            self._stream = new(what, "cuStreamCreate", Handle, STREAM_NON_BLOCKING)
            self._made.append(("cuStreamDestroy_v2", self._stream))
            words = MOST_STAMPS * ctypes.sizeof(u64)
            memory = new(what, "cuMemHostAlloc", Pointer, words, HOST_ALLOC_MAPPED)
            self._made.append(("cuMemFreeHost", memory))
            self._words = (u64 * MOST_STAMPS).from_address(memory.value)
            self._out = new(what, "cuMemHostGetDevicePointer_v2", u64, memory, 0)
            compiling = f"compiling a kernel for {self.label}"
            module = new(compiling, "cuModuleLoadData", Handle, KERNEL)
            self._made.append(("cuModuleUnload", module))
            self._kernel = new(compiling, "cuModuleGetFunction", Handle, module, b"stamp")

    @contextmanager
    def _current(self, context: Handle) -> Iterator[None]:
        """A context that makes the device's context that of this thread."""
        self._cuda.check(f"using {self.label}", "cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self._cuda.call("cuCtxPopCurrent_v2", ctypes.byref(Handle()))

    def _launch(self, count: int) -> Bracket:
        with self._one.turn():
            if self._stuck:
                raise SourceError(f"{self.label} has not done its work in 10 s: is it stuck?")
            if self._context is None:
                raise SourceError(f"{self.label} was closed: open it again")
            with self._current(self._context):
                return self._run(count)

    def _run(self, count: int) -> Bracket:
        # The kernel writes them; what it does not write is no time.
        ctypes.memset(self._words, 0, count * ctypes.sizeof(u64))
        number = u32(count)
        arguments = (Pointer * 2)(ctypes.addressof(self._out), ctypes.addressof(number))
        one_thread = (1,) * 6
        what = f"a kernel of {self.label}"

        def done() -> bool:
            code = self._cuda.call("cuStreamQuery", self._stream)
            if code not in (SUCCESS, NOT_READY):
                self._cuda.check(what, "cuStreamQuery", self._stream)
            return code == SUCCESS

        before_ns = raw_ns()
        launch = self._kernel, *one_thread, 0, self._stream, arguments, None
        self._cuda.check(what, "cuLaunchKernel", *launch)
        if not is_done(done):
            self._stuck = True
            raise SourceError(f"{self.label} has not done its work in 10 s: is it stuck?")
        after_ns = raw_ns()
        return Bracket(before_ns, self._words[:count], after_ns)

    def _measure_step(self) -> int:
        runs = [np.array(self.stamp(MOST_STAMPS), dtype=np.uint64) for _ in range(_RUNS)]
        # Differences fit, whatever the times.
        step_ns = resolution_of_runs([np.diff(run).astype(np.int64) for run in runs])
        if step_ns is None:
            raise SourceError(
                f"the timer of {self.label} stands still: leave it out, or update its driver"
            )
        return step_ns


class CudaDevices(Devices):
    """The devices that NVIDIA's driver has.

    Args:
        library: the driver.

    Attributes:
        numbered: those that can be read, by their position.
        unavailable: the others, and why.

    Raises:
        SourceError: no driver, or no device.
    """

    def __init__(self, library: str = LIBRARY) -> None:
        cuda = Cuda(library)
        count = cuda.make("listing CUDA's devices", "cuDeviceGetCount", i32).value
        self.numbered: dict[int, CudaDevice] = {}
        missing: list[Unavailable] = []
        for position in range(count):
            try:
                self.numbered[position] = CudaDevice(cuda, position)
            except SourceError as error:
                missing.append(Unavailable(f"cuda:{position}", str(error)))
        if count <= 0:
            missing.append(Unavailable("cuda", "the driver has no device"))
        self.unavailable = tuple(missing)
