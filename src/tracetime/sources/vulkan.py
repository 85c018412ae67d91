"""Devices of Vulkan, by VK_KHR_calibrated_timestamps or its older form, VK_EXT_…

Specification: chapter "Calibrated timestamps" of the Vulkan specification; numbers in
`vulkan_api.py`. Timestamps of a device's work: `vulkan_queue.py`.
"""

from __future__ import annotations

import ctypes
import math
import struct
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from tracetime.clocks.ids import ClockId
from tracetime.errors import SourceError
from tracetime.sources import vulkan_api as api
from tracetime.sources.device import DOMAIN_DEVICE, DOMAIN_QPC, HOST_DOMAINS, CalibratedDevice
from tracetime.sources.names import VULKAN, named
from tracetime.sources.source import Devices, OneAtATime, Unavailable
from tracetime.sources.vulkan_queue import StampQueue

# The exact fraction that a 32-bit float of a period represents.


def exact_period(period_ns: float) -> Fraction:
    """The simplest fraction that a 32-bit float rounds to: 52.083332 is 625/12, 1.0 is 1.

    A device's period is one over its frequency, and the float that Vulkan gives
    (VkPhysicalDeviceLimits::timestampPeriod) is that, rounded. The result is the number of least
    denominator among all that round to the float (half a unit in the last place to either side,
    at most 0.06 ppm): the true one for every frequency in common use. Where it is not, it is no
    farther off than the float.

    Raises:
        SourceError: the period is no number above 0.
    """
    (value,) = struct.unpack("<f", struct.pack("<f", period_ns))
    if not (math.isfinite(value) and value > 0):
        raise SourceError(
            f"the device says that a tick lasts {period_ns} ns: its driver does not support "
            "timestamps; leave it out"
        )
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    exact = Fraction(value)
    below, above = (
        (exact + Fraction(struct.unpack("<f", struct.pack("<I", other))[0])) / 2
        if 0 < other < 0x7F80_0000
        else exact
        for other in (bits - 1, bits + 1)
    )
    denominator = simplest_between(below, above).denominator
    # Above 2^24 ns several have that denominator: take the one nearest to the float.
    return Fraction(round(exact * denominator), denominator)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator in [low, high], 0 < low <= high (continued fractions)."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    down = Fraction(low.numerator // low.denominator)
    return down + 1 / simplest_between(1 / (high - down), 1 / (low - down))


FORMS: Final = ((b"VK_KHR_calibrated_timestamps", "KHR"), (b"VK_EXT_calibrated_timestamps", "EXT"))

_PORTABILITY: Final = b"VK_KHR_portability_enumeration"
_PORTABLE_DEVICE: Final = b"VK_KHR_portability_subset"

_LIST_TRIES: Final = 8
"""A list may grow between the two calls that read it: it does not do so again and again."""


class VulkanInstance(Devices):
    """An instance of Vulkan: the devices that the installed drivers have.

    Attributes:
        devices: those whose clock can be calibrated.
        numbered: the same by their position among all.
        unavailable: the others, and why; names by position: `vulkan:0`.

    Raises:
        SourceError: no loader, no driver, or a driver that fails.
    """

    def __init__(self, library: str = api.LOADER) -> None:
        self.loader = api.Loader(library)
        self.handle = api.Handle()
        self._create()
        try:
            self.devices: list[VulkanDevice] = []
            self.numbered: dict[int, VulkanDevice] = {}
            missing: list[Unavailable] = []
            seen: dict[str, int] = {}
            for position, physical in enumerate(self._physical_devices()):
                try:
                    device = VulkanDevice(self, api.Handle(physical), seen)
                except SourceError as error:
                    missing.append(Unavailable(f"vulkan:{position}", str(error)))
                    continue
                self.devices.append(device)
                self.numbered[position] = device
            self.unavailable = tuple(missing)
        except BaseException:
            self.close()
            raise

    def function(self, name: str) -> api.Function:
        """A function of this instance."""
        return self.loader.function(self.handle, name)

    def close(self) -> None:
        """Close the devices and the instance."""
        for device in getattr(self, "devices", []):
            device.close()
        if self.handle:
            self.function("vkDestroyInstance")(self.handle, None)
            self.handle = api.Handle()

    def _create(self) -> None:
        offered = self.loader.function(None, "vkEnumerateInstanceExtensionProperties")
        names = _list_of(
            api.ExtensionProperties,
            "Vulkan's list of extensions",
            lambda count, out: offered(None, count, out),
        )
        # MoltenVK is listed only with this extension (not tested).
        portable = any(entry.name == _PORTABILITY for entry in names)
        extensions = api.strings([_PORTABILITY] if portable else [])
        application = api.make(api.ApplicationInfo, name=b"tracetime", api_version=api.API_1_1)
        info = api.make(
            api.InstanceCreateInfo,
            flags=int(portable),
            application=api.pointer(application),
            extension_count=int(portable),
            extensions=api.pointer(extensions),
        )
        create = self.loader.function(None, "vkCreateInstance")
        result = create(api.pointer(info), None, api.pointer(self.handle))
        api.check(result, "creating a Vulkan instance")

    def _physical_devices(self) -> list[int]:
        enumerate_ = self.function("vkEnumeratePhysicalDevices")
        try:
            return _list_of(
                api.Handle,
                "listing Vulkan's devices",
                lambda count, out: enumerate_(self.handle, count, out),
            )
        except SourceError as error:
            raise SourceError(
                f"{error}: one driver among several may break the list; name the right one, as in "
                "VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json (older loaders: "
                "VK_ICD_FILENAMES)"
            ) from None


class VulkanDevice(CalibratedDevice):
    """One device and its clock, `dev.tracetime.vulkan.<deviceUUID>`.

    Further devices with the same UUID get `.1`, `.2`: lavapipe's UUID is only its version.

    Args:
        instance: keeps the loader's functions.
        physical: the physical device.
        seen: how many devices had each UUID so far; this one is added.

    Raises:
        SourceError: it has no calibrated timestamps, or lacks its own clock or one of the host.
    """

    def __init__(
        self, instance: VulkanInstance, physical: api.Handle, seen: dict[str, int]
    ) -> None:
        self._instance = instance
        self._physical = physical
        self.handle = api.Handle()
        self._queue: StampQueue | None = None
        uuid = self._describe()
        self._one = OneAtATime(f"opening a queue of {self.label}")
        before = seen.get(uuid, 0)
        seen[uuid] = before + 1
        self.name = f"{VULKAN}.{uuid}" + (f".{before}" if before else "")
        self.clock = named(self.name)
        extensions = self._extensions()
        form = next((form for form in FORMS if form[0] in extensions), None)
        if form is None:
            raise SourceError(
                f"{self.label} has neither VK_KHR_calibrated_timestamps nor VK_EXT_…: "
                "a newer driver may"
            )
        self.extension = form[0].decode()
        self._read_domains(form[1])
        self._choose_family()
        self._open([form[0], *([_PORTABLE_DEVICE] if _PORTABLE_DEVICE in extensions else [])])
        self._calibrate = instance.function(f"vkGetCalibratedTimestamps{form[1]}")
        self._infos_of: dict[tuple[ClockId, ...], Any] = {}

    def calibrate(self, clocks: Sequence[ClockId]) -> tuple[list[int], int]:
        key = tuple(clocks)
        infos = self._infos_of.get(key)
        if infos is None:
            infos = self._infos_of[key] = self._infos(key)
        if not self.handle:
            raise SourceError(f"{self.label} was closed: open it again")
        # New values for each call: threads may call at once.
        values = (api.u64 * len(key))()
        deviation = api.u64()
        result = self._calibrate(
            self.handle, len(key), infos, ctypes.addressof(values), ctypes.addressof(deviation)
        )
        api.check(result, f"reading calibrated timestamps of {self.label}")
        return [
            _qpc_ns(value) if clock == HOST_DOMAINS[DOMAIN_QPC] else value
            for clock, value in zip(key, values, strict=True)
        ], deviation.value

    def stamp(self, count: int = 1) -> list[int]:
        return self.queue.stamp(count)

    @property
    def queue(self) -> StampQueue:
        """A queue on which work is stamped, made when it is first used."""
        with self._one.turn():
            if self._queue is None:
                if not self.handle:
                    raise SourceError(f"{self.label} was closed: open it again")
                self._queue = StampQueue(self)
            return self._queue

    def function(self, name: str) -> api.Function:
        """A function of the instance or device."""
        return self._instance.function(name)

    def close(self) -> None:
        if self._queue is not None:
            self._queue.close()
            self._queue = None
        if self.handle:
            self.function("vkDestroyDevice")(self.handle, None)
            self.handle = api.Handle()

    def _describe(self) -> str:
        """Read name and period from the device's properties; returns its UUID in hex."""
        ids = api.make(api.PhysicalDeviceIDProperties)
        properties = api.make(api.PhysicalDeviceProperties2, pNext=api.pointer(ids))
        describe = self.function("vkGetPhysicalDeviceProperties2")
        describe(self._physical, api.pointer(properties))
        self.label = properties.properties.name.decode(errors="replace")
        if properties.properties.api_version < api.API_1_1:
            raise SourceError(f"{self.label} has Vulkan 1.0 only: a newer driver is needed")
        self._period_ns = properties.properties.limits.period
        return bytes(ids.device_uuid).hex()

    def _extensions(self) -> set[bytes]:
        offered = self.function("vkEnumerateDeviceExtensionProperties")
        listed = _list_of(
            api.ExtensionProperties,
            f"the extensions of {self.label}",
            lambda count, out: offered(self._physical, None, count, out),
        )
        return {entry.name for entry in listed}

    def _read_domains(self, form: str) -> None:
        list_domains = self.function(f"vkGetPhysicalDeviceCalibrateableTimeDomains{form}")
        domains: list[int] = _list_of(
            api.u32,
            f"the time domains of {self.label}",
            lambda count, out: list_domains(self._physical, count, out),
        )
        self.has_device_domain = DOMAIN_DEVICE in domains
        self.host_clocks = tuple(
            clock for number, clock in HOST_DOMAINS.items() if number in domains
        )
        # Swapchain and present-stage domains, and future ones: not an error, not used.
        self.unknown_domains = tuple(
            number for number in domains if number != DOMAIN_DEVICE and number not in HOST_DOMAINS
        )
        if not self.has_device_domain or not self.host_clocks:
            raise SourceError(
                f"{self.label} calibrates the time domains {sorted(domains)}: its own clock (0) "
                "and one of the host (1, 2, 3) are needed"
            )

    def _choose_family(self) -> None:
        """Choose a queue family that writes timestamps; the extension itself needs none."""
        list_families = self.function("vkGetPhysicalDeviceQueueFamilyProperties")
        families = _list_of(
            api.QueueFamilyProperties,
            "queue families",
            lambda count, out: list_families(self._physical, count, out) or 0,
        )
        bits = [family.timestamp_valid_bits for family in families]
        if not any(bits):
            raise SourceError(f"no queue of {self.label} writes timestamps: another device may")
        self.family = bits.index(max(bits))
        self.valid_bits = bits[self.family]
        self.ns_per_tick = exact_period(self._period_ns)

    def _open(self, extensions: list[bytes]) -> None:
        priority = ctypes.c_float(1.0)
        queue = api.make(
            api.DeviceQueueCreateInfo, family=self.family, count=1, priorities=api.pointer(priority)
        )
        names = api.strings(extensions)
        info = api.make(
            api.DeviceCreateInfo,
            queue_count=1,
            queues=api.pointer(queue),
            extension_count=len(extensions),
            extensions=api.pointer(names),
        )
        create = self.function("vkCreateDevice")
        result = create(self._physical, api.pointer(info), None, api.pointer(self.handle))
        api.check(result, f"opening {self.label}")

    def _infos(self, clocks: tuple[ClockId, ...]) -> Any:
        numbers = {clock: number for number, clock in HOST_DOMAINS.items()}
        numbers[self.clock] = DOMAIN_DEVICE
        infos = (api.CalibratedTimestampInfo * len(clocks))()
        for info, clock in zip(infos, clocks, strict=True):
            if clock != self.clock and clock not in self.host_clocks:
                raise SourceError(
                    f"{self.label} does not calibrate {clock}, but "
                    f"{', '.join(map(str, self.host_clocks))}"
                )
            info.sType = api.CalibratedTimestampInfo.TYPE
            info.domain = numbers[clock]
        return infos


def _qpc_ns(ticks: int) -> int:
    """Windows' counter in ns, like Python's `perf_counter_ns` (not tested)."""
    return ticks * 10**9 // round(1 / time.get_clock_info("perf_counter").resolution)


def _list_of(kind: Any, what: str, fill: Any) -> list[Any]:
    """The items of a list that Vulkan returns in two calls: the number first."""
    for _ in range(_LIST_TRIES):
        count = api.u32()
        api.check(fill(api.pointer(count), None), what)
        out = (kind * count.value)()
        result = fill(api.pointer(count), api.pointer(out) if count.value else None)
        api.check(result, what)
        if result != api.INCOMPLETE:
            return list(out[: count.value])
    raise SourceError(f"{what} changes all the time: try again")
