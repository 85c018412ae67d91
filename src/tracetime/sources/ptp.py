"""PTP hardware clocks, `/dev/ptpN`: those of network cards, and that of a hypervisor.

The kernel reads such a clock together with REALTIME, which may be set in between. So REALTIME is
itself read with MONOTONIC_RAW, before and after, and a clock is given together with that.

A cross timestamp has MONOTONIC_RAW itself, but that of the machine: in a time namespace a process
reads another one.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np

from tracetime._kernels.capture import Brackets
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import SourceError
from tracetime.sources import ptp_ioctl as calls
from tracetime.sources.names import PTP, named
from tracetime.sources.posix import CODES
from tracetime.sources.ptp_ioctl import cards_of_clock
from tracetime.sources.source import Device, Devices, Together, Unavailable
from tracetime.sources.tick import common_resolution

_T = TypeVar("_T")

MONOTONIC_RAW: Final = ClockId(BUILTIN_IDS["MONOTONIC_RAW"])
CROSS_DEVIATION_NS: Final = 1_000
"""What is granted to a cross timestamp, of which the kernel states no bound: PCIe's Precision Time
Measurement and the counters that it latches are some 100 ns apart."""

_FOLDER: Final = Path("/dev")
_NAMES: Final = Path("/sys/class/ptp")
_DEVICE: Final = re.compile(r"ptp([0-9]{1,3})", re.ASCII)
_TRIES: Final = 5
_PAIR_TRIES: Final = 10
_SLEWED_PPM: Final = 500
_STEP_CALLS: Final = 20


class HostOffset(NamedTuple):
    """A reading of MONOTONIC_RAW, and the offset of REALTIME from it, within `half_ns`."""

    raw_ns: int
    ahead_ns: int
    half_ns: int


def read_pair() -> HostOffset:
    """Read REALTIME between two readings of MONOTONIC_RAW.

    Raises:
        SourceError: they cannot be read.
    """
    pair = Brackets([CODES["MONOTONIC_RAW"], CODES["REALTIME"]], [0.0] * 2, [1] * 2, _PAIR_TRIES)
    readings, centre, half = (np.empty((1, 2), dtype=np.int64) for _ in range(3))
    if pair.fill(readings, centre, half) >= 0 or half[0, 1] < 0:
        raise SourceError("MONOTONIC_RAW and REALTIME cannot be read together here")
    raw_ns = int(readings[0, 0] + centre[0, 1])
    return HostOffset(raw_ns, int(readings[0, 1]) - raw_ns, int(half[0, 1]))


class PtpClock(Device):
    """One PTP hardware clock, `dev.tracetime.ptp.N`.

    Args:
        number: N of its device.
        folder: has the devices.
        names: has what drivers call them.
        ioctl: makes the calls.
        pair: reads REALTIME with MONOTONIC_RAW.

    Attributes:
        method: the best call that it has: `precise`, `extended` or `plain`.

    Raises:
        SourceError: it cannot be opened or read.
    """

    def __init__(
        self,
        number: int,
        *,
        folder: Path = _FOLDER,
        names: Path = _NAMES,
        ioctl: calls.Ioctl = calls.linux_ioctl,
        pair: Callable[[], HostOffset] = read_pair,
    ) -> None:
        self._number = number
        self.name = f"{PTP}.{number}"
        self.clock = named(self.name)
        self._path = folder / f"ptp{number}"
        self._names = names / f"ptp{number}" / "clock_name"
        self._ioctl = ioctl
        self._pair = pair
        self._domain: ClockDomain | None = None
        self._fd: int | None = None
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise SourceError(
                f"{self._path} cannot be opened ({error.strerror}): let this user read it"
            ) from None
        try:
            self.method = self._best_method()
        except BaseException:
            self.close()
            raise

    def domain(self, clock: ClockId) -> ClockDomain:
        self._own(clock)
        if self._domain is None:
            # ptp4l steers it, or phc2sys, as NTP does REALTIME.
            self._domain = ClockDomain(
                clock, self.name, self._tick_ns(), oscillator=self.name, disciplined=True
            )
        return self._domain

    def note(self, clock: ClockId) -> str | None:
        try:
            label = self._names.read_text(errors="replace").strip()[:100]
        except OSError:
            label = "a PTP hardware clock"
        cards = cards_of_clock(self._number, self._ioctl)
        of = f", the clock of {' and '.join(cards)}" if cards else ""
        return f"{label}{of}, read by PTP_SYS_OFFSET{_SUFFIXES[self.method]}"

    def partners(self, clock: ClockId) -> tuple[ClockId, ...]:
        self._own(clock)
        return (MONOTONIC_RAW,)

    def read_together(self, clock: ClockId, partner: ClockId) -> Together:
        self._own(clock)
        if partner != MONOTONIC_RAW:
            raise SourceError(f"{self.name} is read together with MONOTONIC_RAW, not {partner}")
        if self.method == "precise":
            cross = self._call(self._read_cross)
            return Together(cross.device_ns, cross.raw_ns, CROSS_DEVIATION_NS)
        for _ in range(_TRIES):
            first = self._pair()
            bracket = calls.narrowest(self._call(_READERS[self.method]))
            read = _by_raw(bracket, first, self._pair())
            if read is not None:
                return read
        raise SourceError("REALTIME is being set or slewed fast: try again when it is not")

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _best_method(self) -> str:
        """The first call that answers: some cards have cross timestamps, but no PCIe that has.

        Raises:
            SourceError: none does.
        """
        precise: Callable[[calls.Ioctl, int], object] = self._read_cross
        for method, read in (("precise", precise), *_READERS.items()):
            try:
                self._call(read)
            except SourceError as error:
                failed = error
            else:
                return method
        raise failed

    def _read_cross(self, ioctl: calls.Ioctl, fd: int) -> calls.Cross:
        """A cross timestamp by this call, in the MONOTONIC_RAW of this process.

        Raises:
            OSError: the device has none.
            SourceError: the answer is none.
        """
        first = self._pair()
        cross = calls.read_precise(ioctl, fd)
        last = self._pair()
        since_ns = first.raw_ns - first.half_ns - CROSS_DEVIATION_NS
        until_ns = last.raw_ns + last.half_ns + CROSS_DEVIATION_NS
        if not since_ns <= cross.raw_ns <= until_ns:
            raise SourceError(
                f"{self._path} says that MONOTONIC_RAW was {cross.raw_ns} in a call from "
                f"{since_ns} to {until_ns}: leave it out, or record outside of this time namespace"
            )
        return cross

    def _tick_ns(self) -> float:
        """The common step of its readings, ns; 1 where they show none."""
        if self.method == "precise":
            column = [self._call(self._read_cross).device_ns for _ in range(_STEP_CALLS)]
        else:
            read = _READERS[self.method]
            column = [one.device_ns for _ in range(_STEP_CALLS) for one in self._call(read)]
        steps = np.array([after - before for before, after in pairwise(column)], dtype=np.int64)
        return common_resolution(steps) or 1.0

    def _call(self, read: Callable[[calls.Ioctl, int], _T]) -> _T:
        try:
            return read(self._ioctl, self._descriptor())
        except OSError as error:
            raise self._failed(error) from None

    def _descriptor(self) -> int:
        if self._fd is None:
            raise SourceError(f"{self._path} was closed: open it again")
        return self._fd

    def _failed(self, error: OSError) -> SourceError:
        return SourceError(
            f"{self._path} cannot be read as a PTP hardware clock ({error.strerror}): leave it out"
        )

    def _own(self, clock: ClockId) -> None:
        if clock != self.clock:
            raise SourceError(f"{clock} is not the clock of {self._path}, {self.name}")


_READERS: Final = {"extended": calls.read_extended, "plain": calls.read_plain}
_SUFFIXES: Final = {"precise": "_PRECISE", "extended": "_EXTENDED", "plain": ""}


def _by_raw(bracket: calls.DeviceBracket, first: HostOffset, last: HostOffset) -> Together | None:
    """A reading against MONOTONIC_RAW; None if REALTIME was set between the two pairs."""
    slew_ns = math.ceil((last.raw_ns - first.raw_ns) * _SLEWED_PPM / 1_000_000)
    if abs(last.ahead_ns - first.ahead_ns) > first.half_ns + last.half_ns + slew_ns:
        return None
    # A step that the half-widths hide may come at any moment: each end has what it may be ahead.
    least_ns = min(pair.ahead_ns - pair.half_ns for pair in (first, last)) - slew_ns
    most_ns = max(pair.ahead_ns + pair.half_ns for pair in (first, last)) + slew_ns
    since_ns, until_ns = bracket.before_ns - most_ns, bracket.after_ns - least_ns
    host_ns = (since_ns + until_ns) // 2
    return Together(bracket.device_ns, host_ns, until_ns - host_ns)


class PtpClocks(Devices):
    """The PTP hardware clocks of this machine.

    Args:
        folder: has the devices.
        names: has what drivers call them.
        ioctl: makes the calls.
        pair: reads REALTIME with MONOTONIC_RAW.

    Attributes:
        numbered: those that can be read, by number.
        unavailable: the others, and why.
    """

    def __init__(
        self,
        folder: Path = _FOLDER,
        names: Path = _NAMES,
        ioctl: calls.Ioctl = calls.linux_ioctl,
        pair: Callable[[], HostOffset] = read_pair,
    ) -> None:
        self.numbered: dict[int, PtpClock] = {}
        missing = []
        matches = (_DEVICE.fullmatch(path.name) for path in folder.glob("ptp*"))
        for number in sorted(int(match[1]) for match in matches if match):
            try:
                self.numbered[number] = PtpClock(
                    number, folder=folder, names=names, ioctl=ioctl, pair=pair
                )
            except SourceError as error:
                missing.append(Unavailable(f"ptp:{number}", str(error)))
        if not self.numbered and not missing:
            missing.append(Unavailable("ptp", f"no PTP hardware clock: no {folder}/ptp0"))
        self.unavailable = tuple(missing)
