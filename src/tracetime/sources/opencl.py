"""Devices of OpenCL: the clock in which they time their commands.

OpenCL 2.1 has a call for it, clGetDeviceAndHostTimer, which many drivers lack; then the device
times a small command. Either is bracketed by MONOTONIC_RAW. Specification: the OpenCL API,
"Querying Devices" and "Profiling Operations".
"""

from __future__ import annotations

import ctypes
import re
from typing import Final, Literal

from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError
from tracetime.sources import opencl_api as api
from tracetime.sources.bracketed import (
    Bracket,
    BracketedDevice,
    clocks_of,
    in_words,
    is_done,
    raw_ns,
)
from tracetime.sources.names import OPENCL
from tracetime.sources.source import Devices, Unavailable

_VERSION: Final = re.compile(r"OpenCL ([0-9]{1,3})\.([0-9]{1,3})(?: |$)", re.ASCII)
_WITH_TIMERS: Final = (2, 1)
_BYTES: Final = 4
_WORD: Final = (ctypes.c_char * _BYTES)()
"""What commands write. It stays where it is: a device that is stuck may read it at any time."""
_MOST_RESOLUTION_NS: Final = 1_000_000_000

Method = Literal["timer", "command"]


class OpenClDevice(BracketedDevice):
    """One device and its clock, `dev.tracetime.opencl.` and what identifies the device.

    That is its UUID, else its place on the PCI bus, else its name; further devices with the same
    get `.1`, `.2`.

    Args:
        opencl: the loader's functions.
        platform, device: as OpenCL lists them.
        seen: how many devices had each identity so far; this one is added.

    Attributes:
        method: how its clock is read: by clGetDeviceAndHostTimer, or by the times of a command.

    Raises:
        SourceError: it does not time commands.
    """

    most_stamps = 64

    def __init__(
        self, opencl: api.OpenCl, platform: api.Handle, device: api.Handle, seen: dict[str, int]
    ) -> None:
        self._cl, self._platform, self._device = opencl, platform, device
        label = api.text(opencl.device_info(device, api.DEVICE_NAME)) or "an OpenCL device"
        identity = self._identity(label)
        before = seen.get(identity, 0)
        seen[identity] = before + 1
        name = f"{OPENCL}.{identity}" + (f".{before}" if before else "")
        super().__init__(name, label[:100])
        self._resolution_ns = self._read_resolution()
        self._made: list[tuple[str, api.Handle]] = []
        self._stuck = False
        self.method: Method = "command"
        try:
            self._open()
            if self._times_commands():
                self.method = "timer"
        except BaseException:
            self.close()
            raise

    @property
    def resolution_ns(self) -> int:
        return self._resolution_ns

    def bracket(self) -> Bracket:
        return (self._timers() if self.method == "timer" else self._commands(1))[0]

    def _stamps(self, count: int) -> list[int]:
        """The times at which some small commands ended."""
        return self._commands(count)[1]

    def step_ticks(self) -> int:
        return max(super().step_ticks(), self._resolution_ns)

    def note(self, clock: ClockId) -> str | None:
        """The way in which its clock is read, and the host's clocks that its times show, if any."""
        shown = clocks_of(lambda: self.bracket().readings[-1], self._resolution_ns)
        same = f", which show the host's {in_words(shown)}" if shown else ""
        if self.method == "command":
            return f"{self.label}, read by the times of a command{same}"
        resolution = api.number(
            self._cl.platform_info(self._platform, api.PLATFORM_HOST_TIMER_RESOLUTION)
        )
        host = in_words(clocks_of(lambda: self._timers()[1], resolution))
        return f"{self.label}, read by clGetDeviceAndHostTimer{same}; its host timer is {host}"

    def close(self) -> None:
        made, self._made = self._made, []
        while made and not self._stuck:
            release, handle = made.pop()
            self._cl.call(release, handle)

    def _identity(self, label: str) -> str:
        uuid = self._cl.device_info(self._device, api.DEVICE_UUID)
        if len(uuid) == 16 and any(uuid):
            return uuid.hex()
        place = self._cl.device_info(self._device, api.DEVICE_PCI_BUS_INFO)
        if len(place) == ctypes.sizeof(api.PciBusInfo):
            at = api.PciBusInfo.from_buffer_copy(place)
            return f"pci-{at.domain:04x}-{at.bus:02x}-{at.device:02x}-{at.function:x}"
        return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:64] or "device"

    def _read_resolution(self) -> int:
        data = self._cl.device_info(self._device, api.DEVICE_PROFILING_TIMER_RESOLUTION)
        resolution = api.number(data)
        if not resolution <= _MOST_RESOLUTION_NS:
            raise SourceError(
                f"{self.label} says that its times are good to {resolution} ns: leave it out"
            )
        return max(resolution, 1)

    def _open(self) -> None:
        devices = (api.Handle * 1)(self._device)
        context = self._new("Context", None, 1, devices, None, None)
        self._queue = self._new("CommandQueue", context, self._device, api.PROFILING_ENABLE)
        self._buffer = self._new("Buffer", context, 0, _BYTES, None, release="MemObject")

    def _new(self, kind: str, *arguments: object, release: str | None = None) -> api.Handle:
        what = f"clCreate{kind} of {self.label}"
        handle = self._cl.make(what, f"clCreate{kind}", *arguments)
        self._made.append((f"clRelease{release or kind}", handle))
        return handle

    def _times_commands(self) -> bool:
        """Whether clGetDeviceAndHostTimer answers, in the clock in which commands are timed."""
        version = _VERSION.match(api.text(self._cl.device_info(self._device, api.DEVICE_VERSION)))
        has_both = all(self._cl.has(name) for name in api.TIMERS)
        # Drivers of an older version may have nothing where the loader looks for the function.
        if not has_both or version is None or (int(version[1]), int(version[2])) < _WITH_TIMERS:
            return False
        try:
            before_ns = self._timers()[0].readings[0]
        except SourceError:
            return False
        stamped_ns = self.stamp()[0]
        after_ns = self._timers()[0].readings[0]
        return before_ns - self._resolution_ns <= stamped_ns <= after_ns + self._resolution_ns

    def _timers(self) -> tuple[Bracket, int]:
        """The readings of the device's timer, and of the host's, ns."""
        self._check_open()
        device, host = api.u64(), api.u64()
        what = f"clGetDeviceAndHostTimer of {self.label}"
        arguments = self._device, ctypes.byref(device), ctypes.byref(host)
        before_ns = raw_ns()
        self._cl.check(what, "clGetDeviceAndHostTimer", *arguments)
        return Bracket(before_ns, [device.value], raw_ns()), host.value

    def _commands(self, count: int) -> tuple[Bracket, list[int]]:
        """The begin of the first and the end of the last of some commands, and the ends of all.

        Each writes a word to the device.
        """
        self._check_open()
        events: list[api.Handle] = []
        try:
            before_ns = raw_ns()
            for _ in range(count):
                event = api.Handle()
                where = self._queue, self._buffer, 0, 0, _BYTES, _WORD
                what = f"a command of {self.label}"
                done = 0, None, ctypes.byref(event)
                self._cl.check(what, "clEnqueueWriteBuffer", *where, *done)
                events.append(event)
            self._cl.check(f"clFlush of {self.label}", "clFlush", self._queue)
            # Commands of one queue are done in order.
            self._wait(events[-1])
            after_ns = raw_ns()
            ends = [self._time(event, api.PROFILING_END) for event in events]
            begin = self._time(events[0], api.PROFILING_START)
            return Bracket(before_ns, [begin, ends[-1]], after_ns), ends
        finally:
            for event in events if not self._stuck else ():
                self._cl.call("clReleaseEvent", event)

    def _wait(self, event: api.Handle) -> None:
        status = api.i32()
        out = ctypes.byref(status)
        what = f"waiting for {self.label}"

        def done() -> bool:
            self._cl.check(what, "clGetEventInfo", event, api.EVENT_STATUS, 4, out, None)
            return status.value <= 0

        self._stuck = not is_done(done)
        self._check_open()
        api.fail(status.value, f"a command of {self.label}")

    def _time(self, event: api.Handle, number: int) -> int:
        shown = api.u64()
        what = f"reading the times of a command of {self.label}"
        arguments = event, number, 8, ctypes.byref(shown), None
        self._cl.check(what, "clGetEventProfilingInfo", *arguments)
        return shown.value

    def _check_open(self) -> None:
        if self._stuck:
            raise SourceError(f"{self.label} has not done its work in 10 s: is it stuck?")
        if not self._made:
            raise SourceError(f"{self.label} was closed: open it again")


class OpenClDevices(Devices):
    """The devices of all installed drivers.

    Args:
        library: the loader.

    Attributes:
        numbered: those that time their commands, by their position among all.
        unavailable: the others, and why.

    Raises:
        SourceError: no loader, or no driver.
    """

    def __init__(self, library: str = api.LOADER) -> None:
        opencl = api.OpenCl(library)
        self.numbered: dict[int, OpenClDevice] = {}
        missing: list[Unavailable] = []
        seen: dict[str, int] = {}
        position = 0
        for platform in opencl.platforms():
            try:
                devices = opencl.devices(platform)
            except SourceError as error:
                missing.append(Unavailable("opencl", str(error)))
                continue
            for device in devices:
                try:
                    self.numbered[position] = OpenClDevice(opencl, platform, device, seen)
                except SourceError as error:
                    missing.append(Unavailable(f"opencl:{position}", str(error)))
                position += 1
        if not self.numbered and not missing:
            missing.append(Unavailable("opencl", "the installed drivers have no device"))
        self.unavailable = tuple(missing)
