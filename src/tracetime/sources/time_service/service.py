"""`TimeService`: bounds of true time from the best time service of this machine.

A statement is about REALTIME at one moment, the anchor. From there the answers go on by
MONOTONIC_RAW, which nothing steers: whatever becomes of REALTIME, they hold what was stated. That
REALTIME was set or the machine suspended ends the statement all the same: the service has not
measured since, or UTC has had a leap second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import index
from typing import Any, Final, Literal, NamedTuple

from tracetime._kernels.capture import JUMP_NS, LONGEST_NS, Anchor
from tracetime.errors import NoBoundError, UsageError
from tracetime.sources.source import OneAtATime
from tracetime.sources.time_service.chrony import Chrony
from tracetime.sources.time_service.clockbound import ClockBound
from tracetime.sources.time_service.ptp4l import Ptp4l
from tracetime.sources.time_service.statement import (
    PPB,
    WALL_CLOCKS,
    DisruptedError,
    Kernel,
    Statement,
    TimeSource,
    TrueTime,
    WallClock,
)
from tracetime.text import duration

# The clocks that true time is told by: this machine's, or others in their place.


class ClockReaders(NamedTuple):
    """Readers of the clocks, in ns each.

    Attributes:
        realtime_ns, monotonic_ns: REALTIME and MONOTONIC: the program that keeps the time steers
            both, and steps REALTIME alone.
        raw_ns: MONOTONIC_RAW, which nothing steers.
        tai_ns: TAI.
        sleep: waits so many seconds.
        codes: the numbers of MONOTONIC_RAW, REALTIME and MONOTONIC for `clock_gettime`, by which a
            kernel reads them; None where only the above read them.
    """

    realtime_ns: Callable[[], int]
    monotonic_ns: Callable[[], int]
    raw_ns: Callable[[], int]
    tai_ns: Callable[[], int]
    sleep: Callable[[float], object] = time.sleep
    codes: tuple[int, int, int] | None = None


def _reader(name: str, instead: Callable[[], int]) -> Callable[[], int]:
    """Reads a clock by its name in the module time; without such a clock, another one."""
    number: Any = getattr(time, name, None)
    return instead if number is None else partial(time.clock_gettime_ns, number)


def _codes() -> tuple[int, int, int] | None:
    names = ("CLOCK_MONOTONIC_RAW", "CLOCK_REALTIME", "CLOCK_MONOTONIC")
    raw, real, mono = (getattr(time, name, None) for name in names)
    return None if raw is None or real is None or mono is None else (raw, real, mono)


HOST_CLOCKS: Final = ClockReaders(
    time.time_ns,
    time.monotonic_ns,
    _reader("CLOCK_MONOTONIC_RAW", time.monotonic_ns),
    _reader("CLOCK_TAI", time.time_ns),
    codes=_codes(),
)


SourceName = Literal["clockbound", "chrony", "ptp4l", "adjtimex"]
SOURCES: Final[dict[SourceName, Callable[[], TimeSource]]] = {
    "clockbound": ClockBound,
    "chrony": Chrony,
    "ptp4l": Ptp4l,
    "adjtimex": Kernel,
}
"""Best first."""

_NS: Final = 1_000_000_000
_TRIES: Final = 5
_STEERED: Final = 8
"""chronyd changes the rate of REALTIME by up to 1/12."""
_CLOSE_NS: Final = 2_000
_LONGEST_SLEEP_NS: Final = _NS
_ANCHOR_NS: Final = 4_000_000
"""An unchanged statement is anchored anew after that: it has widened by 2 us at 500 ppm."""
_UNSTEADY: Final = "REALTIME is being set all the time, or this process hardly runs; try again"


class _ClockReadings(NamedTuple):
    """The clocks at nearly one instant, read in the order of the fields."""

    before_ns: int
    raw_ns: int
    real_ns: int
    after_ns: int

    @property
    def width_ns(self) -> int:
        return self.after_ns - self.before_ns

    def steps_from(self, other: _ClockReadings) -> bool:
        """Whether REALTIME less MONOTONIC, which steering leaves alone, has changed between."""
        return (
            self.real_ns - self.before_ns < other.real_ns - other.after_ns
            or self.real_ns - self.after_ns > other.real_ns - other.before_ns
        )


class TimeService:
    """A bound of true time by the statements of this machine's time service.

    It keeps the service's last statement and widens it by the drift since: a call that asks nobody
    takes half a microsecond. Threads may share it, and a forked child may go on with it.

    Args:
        source: the one to use: `clockbound`, `chrony`, `ptp4l` or `adjtimex`; None for the best one
            that states a bound, in this order.
        sources: others in their place, best first.
        clocks: others than this machine's.

    Raises:
        UsageError: there is no such source.
    """

    def __init__(
        self,
        source: SourceName | None = None,
        *,
        sources: Sequence[TimeSource] | None = None,
        clocks: ClockReaders = HOST_CLOCKS,
    ) -> None:
        if source is not None and source not in SOURCES:
            raise UsageError(f"there is no source {source!r} of time: use {', '.join(SOURCES)}")
        if sources is None:
            sources = [make() for name, make in SOURCES.items() if source in (None, name)]
        self._sources = tuple(sources)
        self._clocks = clocks
        self._kept: Anchor[TrueTime] | None = None
        self._last: _ClockReadings | None = None
        self._refused: dict[str, tuple[int, NoBoundError]] = {}
        self._doubted: dict[str, str] | None = None
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._turns = OneAtATime("asking for the time")

    @property
    def refusals(self) -> dict[str, str]:
        """The sources that stated no bound when they were last asked, and why not."""
        return {name: str(error) for name, (_, error) in self._refused.items()}

    def now(self, clock: WallClock = "REALTIME") -> TrueTime:
        """Bounds of true time at an instant within this call.

        Args:
            clock: `REALTIME` for UTC, or `TAI`, which has no leap seconds.

        Raises:
            NoBoundError: no source states a bound, or the kernel does not know TAI.
            UsageError: there is no such clock.
        """
        if clock not in WALL_CLOCKS:
            raise UsageError(f"there is no wall clock {clock!r}: use {' or '.join(WALL_CLOCKS)}")
        kept = self._kept
        if kept is not None and (now := kept.now(clock, False)) is not None:
            return now if kept.tai_ns else _utc(now)
        for _ in range(_TRIES):
            kept = self._ask(kept)
            if (now := kept.now(clock, True)) is not None:
                return now if kept.tai_ns else _utc(now)
        raise NoBoundError(_UNSTEADY)

    def at(self, raw_ns: int, realtime_ns: int) -> TrueTime:
        """Bounds of true time when this machine's clocks read these, together, a moment ago.

        Args:
            raw_ns: the reading of MONOTONIC_RAW.
            realtime_ns: that of REALTIME: it says whether the machine was suspended since.

        Raises:
            NoBoundError: no source states a bound now, or REALTIME was set since, or the machine
                suspended.
        """
        self.now()
        kept = self._kept
        if kept is None:
            raise NoBoundError(_UNSTEADY)
        age_ns = raw_ns - kept.raw_ns
        estimate_ns = kept.real_ns + age_ns
        if abs(realtime_ns - estimate_ns) >= abs(age_ns) // _STEERED + JUMP_NS:
            raise NoBoundError("REALTIME was set, or the machine suspended, since it was read")
        half_ns = kept.half_ns + abs(age_ns) * kept.drift_ppb // PPB + 1
        return TrueTime(
            estimate_ns - half_ns,
            estimate_ns,
            estimate_ns + half_ns,
            "REALTIME",
            kept.source,
            kept.age_ns + age_ns,
        )

    def wait_past(
        self, t_ns: int, timeout: float | None = None, clock: WallClock = "REALTIME"
    ) -> TrueTime:
        """Wait until `t_ns` is certainly past, on every machine whose bounds hold.

        Args:
            t_ns: ns since 1970.
            timeout: seconds to wait at most; None for as long as it takes.
            clock: what `t_ns` is of.

        Returns:
            The first bounds whose `earliest_ns` is after `t_ns`.

        Raises:
            NoBoundError: no source states a bound, now or while this waits.
            TimeoutError: `t_ns` may not be past after `timeout`.
            UsageError: an argument is out of range.
        """
        try:
            t_ns = index(t_ns)
        except TypeError:
            raise UsageError(f"t_ns is {t_ns!r}: give whole ns since 1970") from None
        if timeout is not None and not (isinstance(timeout, (int, float)) and timeout >= 0):
            raise UsageError(f"timeout is {timeout!r}: give seconds from 0 on, or None")
        clocks = self._clocks
        begun_ns = clocks.monotonic_ns()
        while True:
            now = self.now(clock)
            if now.earliest_ns > t_ns:
                return now
            wait_s = min(t_ns + 1 - now.earliest_ns, _LONGEST_SLEEP_NS) / _NS
            if timeout is not None:
                left_s = timeout - (clocks.monotonic_ns() - begun_ns) / _NS
                if left_s <= 0:
                    missing = duration(t_ns + 1 - now.earliest_ns)
                    raise TimeoutError(f"{t_ns} is past in {missing} at the earliest: wait longer")
                wait_s = min(wait_s, left_s)
            clocks.sleep(wait_s)

    def _ask(self, failed: Anchor[TrueTime] | None) -> Anchor[TrueTime]:
        """Ask the sources for a statement; another thread may have done so."""
        if self._pid != os.getpid():
            # A forked child has none of the threads that may hold the lock.
            self._begin()
        with self._turns.turn():
            if self._kept is None or self._kept is failed:
                self._kept = None
                self._kept = self._best()
            return self._kept

    def _best(self) -> Anchor[TrueTime]:
        """The anchored statement of the best source that has one.

        Raises:
            NoBoundError: none has.
        """
        self._notice_steps(self._read())
        errors = []
        for source in self._sources:
            now_ns = self._clocks.monotonic_ns()
            again_ns, error = self._refused.get(source.name, (now_ns, None))
            if error is None or now_ns >= again_ns:
                try:
                    kept = self._anchor(source)
                except NoBoundError as refused:
                    error = refused
                    self._refused[source.name] = (now_ns + source.retry_ns, refused)
                else:
                    self._refused.pop(source.name, None)
                    return kept
            if isinstance(error, DisruptedError):
                raise error
            errors.append(f"{source.name}: {error}")
        raise NoBoundError(
            "nothing bounds how far this machine's clock is off\n" + "\n".join(errors)
        )

    def _anchor(self, source: TimeSource) -> Anchor[TrueTime]:
        """The statement of a source, and the clocks right after it.

        Raises:
            NoBoundError: it states no bound, or has not measured since REALTIME was set.
        """
        for _ in range(_TRIES):
            before = self._read()
            statement = source.ask(self._clocks.monotonic_ns)
            after = self._read()
            # A statement made in between may be of either side of a step.
            if not self._notice_steps(before) and not self._notice_steps(after):
                self._check_doubt(source.name, statement)
                return self._keep(source, statement, before, after)
        raise NoBoundError(_UNSTEADY)

    def _keep(
        self,
        source: TimeSource,
        statement: Statement,
        before: _ClockReadings,
        after: _ClockReadings,
    ) -> Anchor[TrueTime]:
        age_ns = max(after.after_ns - statement.as_of_ns, 0)
        # While the service answered, it may have begun to steer.
        monotonic_ns = after.before_ns - before.before_ns
        steered_ns = abs(monotonic_ns - (after.raw_ns - before.raw_ns))
        half_ns = (
            statement.bound_ns
            + age_ns * statement.growth_ppb // PPB
            + 1
            + steered_ns
            + after.width_ns
        )
        # The rate of MONOTONIC may differ from that of MONOTONIC_RAW, but not by a factor of 2.
        left_ns = min(max(statement.void_after_ns - after.after_ns, 0) // 2, LONGEST_NS)
        tai_ns = self._clocks.tai_ns() - after.real_ns
        clocks = self._clocks
        return Anchor(
            TrueTime,
            (clocks.raw_ns, clocks.realtime_ns, clocks.monotonic_ns),
            clocks.codes,
            source.name,
            after.raw_ns,
            after.real_ns,
            after.real_ns - (after.before_ns + after.after_ns) // 2,
            half_ns,
            age_ns,
            statement.drift_ppb,
            source.poll_ns,
            after.raw_ns + min(source.poll_ns, left_ns),
            after.raw_ns + min(_ANCHOR_NS if statement.is_last else 0, left_ns),
            after.raw_ns + left_ns,
            (tai_ns + _NS // 2) // _NS * _NS,
            statement.holds,
            statement.is_last or _unknown,
        )

    def _check_doubt(self, name: str, statement: Statement) -> None:
        """Refuse a measurement that a service made before REALTIME was set."""
        doubted = self._doubted
        if doubted is not None and doubted.setdefault(name, statement.mark) == statement.mark:
            raise NoBoundError(
                "REALTIME was set, or the machine suspended, since it has measured; "
                "wait until it measures again"
            )

    def _notice_steps(self, reading: _ClockReadings) -> bool:
        """Whether REALTIME was set since the last reading; if so, doubt all statements."""
        stepped = self._last is not None and reading.steps_from(self._last)
        if stepped:
            self._doubted = {}
        self._last = reading
        return stepped

    def _read(self) -> _ClockReadings:
        """Read the clocks close together."""
        clocks = self._clocks
        closest = None
        for _ in range(_TRIES):
            reading = _ClockReadings(
                clocks.monotonic_ns(), clocks.raw_ns(), clocks.realtime_ns(), clocks.monotonic_ns()
            )
            if closest is None or reading.width_ns < closest.width_ns:
                closest = reading
            if closest.width_ns < _CLOSE_NS:
                break
        assert closest is not None
        return closest


def _unknown() -> bool:
    return False


def _utc(now: TrueTime) -> TrueTime:
    """The bounds, checked to be of UTC: the kernel may not know how far TAI is from it.

    Raises:
        NoBoundError: it is said to be TAI.
    """
    if now.clock == "TAI":
        raise NoBoundError(
            "the kernel does not know how far TAI is from UTC; give chronyd the directive "
            "`leapsectz right/UTC`, or ntpd a leapfile"
        )
    return now
