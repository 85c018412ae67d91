"""Readings of several clocks taken together: the input of a ClockGraph.

Here are only values and their checks: the graph finds edges, non-monotonic clocks and units that
change. The model is Perfetto's `clock_snapshot.proto`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ByClock, ClockId, ClockLike
from tracetime.clocks.int_arrays import IntArray, check_int64
from tracetime.errors import UsageError

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
MOST_SCALED_PPM: Final = 100_000 << 16
"""The largest correction of a rate that a tube can hold, in 2^-16 ppm."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A reading of one clock: one value, or a 1-d array of them in the order of the snapshots.

    Args:
        value: in ticks of the clock; an int within int64, or a 1-d array or list of them (kept
            as a read-only int64 array of its own).
        unit_ns: nanoseconds per tick, 1 or more (`unit_multiplier_ns`).
        incremental: whether timestamps in this clock are deltas (`is_incremental`).

    Raises:
        UsageError: a bool, a float, a value out of int64, an array of another shape.
    """

    value: int | npt.NDArray[np.int64]
    unit_ns: int = 1
    incremental: bool = False

    if TYPE_CHECKING:
        # Callers may give more types than the fields have.
        def __init__(
            self, value: SupportsIndex | IntArray, unit_ns: int = 1, incremental: bool = False
        ) -> None: ...

    def __post_init__(self) -> None:
        # The usual types first: a check against SupportsIndex, a protocol, takes microseconds.
        if (
            type(self.value) is int
            and INT64_MIN <= self.value <= INT64_MAX
            and type(self.unit_ns) is int
            and 1 <= self.unit_ns <= INT64_MAX
            and type(self.incremental) is bool
        ):
            return
        if not isinstance(self.incremental, bool):
            raise UsageError(f"incremental is True or False, not {self.incremental!r}")
        unit_ns = _integer(self.unit_ns, "unit_ns")
        if unit_ns < 1:
            raise UsageError(f"unit_ns is {unit_ns}: a tick lasts 1 ns or more")
        object.__setattr__(self, "value", _value(self.value))
        object.__setattr__(self, "unit_ns", unit_ns)

    @property
    def length(self) -> int | None:
        """The number of values of the array; None for a single int."""
        return None if isinstance(self.value, int) else len(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reading):
            return NotImplemented
        return (
            self.unit_ns == other.unit_ns
            and self.incremental == other.incremental
            and self.length == other.length
            and np.array_equal(self.value, other.value)
        )

    __hash__ = None  # type: ignore[assignment]


ReadingsByClock: TypeAlias = ByClock[SupportsIndex | IntArray | Reading]
"""Readings of clocks at one instant, or at as many as the arrays are long."""


class Snapshot:
    """Readings of several clocks that belong together: one snapshot, or a column of them.

    Args:
        readings: ``{clock: int, Reading or 1-d int64 array}``, in the order of the ClockSnapshot
            (the order is part of the series' identity). A clock is anything `ClockId.parse`
            takes. Either all are single values, or all are arrays of one length n: n snapshots.
        reference: the clock that the others were bracketed by, one of them; None where they were
            only read one after the other.
        half_width_ns: how far from its centre each clock may really have been read, ns of the
            reference, 0 or more, the steps of both clocks included: ``{clock: int or 1-d array}``.
            The reference's is 0 by default.
        centre_ns: when each clock was read, ns of the reference after its own reading (0 by
            default): ``{clock: int or 1-d array}``.
        frequency_scaled_ppm: by how much each clock was being run faster than its oscillator, in
            2^-16 ppm, as `adjtimex` gives it (`freq`; all it steers, MONOTONIC, BOOTTIME and
            REALTIME, by the same): ``{clock: int or 1-d array}``. The tube takes a change of it
            between two snapshots for a change of the clock's rate between them; MONOTONIC_RAW,
            the TSC and devices need none.

    Raises:
        UsageError: no clock at all, the same clock twice, a sequence-scoped clock without its
            sequence, arrays of different lengths, a width, centre or frequency of a clock that is
            not read, a width or centre without a reference, a frequency of more than 10 %, or
            what `Reading` and `ClockId.parse` refuse.
    """

    __slots__ = (
        "_centre_ns",
        "_frequency_scaled_ppm",
        "_half_width_ns",
        "_length",
        "_readings",
        "_reference",
    )

    def __init__(
        self,
        readings: ReadingsByClock,
        *,
        reference: ClockLike | None = None,
        half_width_ns: ByClock[SupportsIndex | IntArray] | None = None,
        centre_ns: ByClock[SupportsIndex | IntArray] | None = None,
        frequency_scaled_ppm: ByClock[SupportsIndex | IntArray] | None = None,
    ) -> None:
        if not isinstance(readings, Mapping):
            raise UsageError(
                f"readings is a dict of clock to value, not a {type(readings).__name__}"
            )
        parsed: dict[ClockId, Reading] = {}
        for key, value in readings.items():
            clock = ClockId.parse(key)
            if clock.is_sequence_scoped and not clock.sequence:
                raise UsageError(
                    f"clock {clock} belongs to a packet sequence: say which, as in {clock}@seq7"
                )
            if clock in parsed:
                raise UsageError(f"clock {clock} is in the snapshot twice")
            parsed[clock] = _reading(clock, value)
        if not parsed:
            raise UsageError("a snapshot needs a reading of at least one clock")
        self._length = _common_length(parsed)
        self._readings = MappingProxyType(parsed)
        self._reference = None if reference is None else ClockId.parse(reference)
        if self._reference is not None and self._reference not in parsed:
            raise UsageError(f"the reference, {self._reference}, is not read in the snapshot")
        for what, given in (("half_width_ns", half_width_ns), ("centre_ns", centre_ns)):
            if given is not None and self._reference is None:
                raise UsageError(f"{what} is relative to a reference clock: give reference=")
        self._half_width_ns = self._columns(
            "half_width_ns", half_width_ns, 0, INT64_MAX, "the half-width of {} is negative"
        )
        self._centre_ns = self._columns("centre_ns", centre_ns)
        self._frequency_scaled_ppm = self._columns(
            "frequency_scaled_ppm",
            frequency_scaled_ppm,
            -MOST_SCALED_PPM,
            MOST_SCALED_PPM,
            "the frequency of {} is off by more than 10 %: it is adjtimex's freq, in 2^-16 ppm",
        )

    def _columns(
        self,
        what: str,
        given: ByClock[SupportsIndex | IntArray] | None,
        least: int = INT64_MIN,
        most: int = INT64_MAX,
        otherwise: str = "",
    ) -> Mapping[ClockId, npt.NDArray[np.int64]]:
        """The widths, or other columns, by clock, each an array with a value a snapshot.

        Raises UsageError with `otherwise` where a value is not from least to most.
        """
        if given is None:
            return MappingProxyType({})
        columns = {}
        for key, value in given.items():
            clock = ClockId.parse(key)
            if clock not in self._readings:
                raise UsageError(f"{what} names {clock}, which is not read in the snapshot")
            taken = _value(value)
            if isinstance(taken, int):
                within = least <= taken <= most
            elif len(taken) != len(self):
                raise UsageError(f"{what} of {clock} has {len(taken)} values, not {len(self)}")
            else:
                within = taken.size == 0 or (least <= taken.min() and taken.max() <= most)
            if not within:
                raise UsageError(otherwise.format(clock))
            if isinstance(taken, int) and len(self) == 1:
                # Sampling makes dozens of these: broadcasting takes ten times as long.
                column = np.array([taken], dtype=np.int64)
                column.setflags(write=False)
            else:
                column = np.broadcast_to(np.asarray(taken, dtype=np.int64), (len(self),))
            columns[clock] = column
        return MappingProxyType(columns)

    @property
    def reference(self) -> ClockId | None:
        """The clock that the others were bracketed by, if any."""
        return self._reference

    @property
    def half_width_ns(self) -> Mapping[ClockId, npt.NDArray[np.int64]]:
        """Half-widths by clock, int64 ns, one a snapshot; only of clocks that have one."""
        return self._half_width_ns

    @property
    def centre_ns(self) -> Mapping[ClockId, npt.NDArray[np.int64]]:
        """Centres by clock, int64 ns after the reference, one a snapshot; only where given."""
        return self._centre_ns

    @property
    def frequency_scaled_ppm(self) -> Mapping[ClockId, npt.NDArray[np.int64]]:
        """Corrections of their rate by clock, int64 in 2^-16 ppm; only of clocks that have one."""
        return self._frequency_scaled_ppm

    @property
    def readings(self) -> Mapping[ClockId, Reading]:
        """The reading of each clock, in the order given; read-only."""
        return self._readings

    @property
    def clocks(self) -> tuple[ClockId, ...]:
        """The clocks, in the order given."""
        return tuple(self._readings)

    def __len__(self) -> int:
        """The number of snapshots: 1, or the length of the arrays."""
        return 1 if self._length is None else self._length

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return (
            self.clocks == other.clocks
            and self._readings == other._readings
            and self._reference == other._reference
            and _are_equal(self._half_width_ns, other._half_width_ns)
            and _are_equal(self._centre_ns, other._centre_ns)
            and _are_equal(self._frequency_scaled_ppm, other._frequency_scaled_ppm)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{str(clock)!r}: {value!r}" for clock, value in self._readings.items())
        return f"Snapshot({{{inside}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            dict(self._readings),
            self._reference,
            dict(self._half_width_ns),
            dict(self._centre_ns),
            dict(self._frequency_scaled_ppm),
        )


def single(value: Any) -> int:
    """Return a reading of a snapshot that was taken once: no column of them."""
    assert isinstance(value, int)
    return value


def _restore(
    readings: dict[ClockId, Reading],
    reference: ClockId | None,
    half_width_ns: dict[ClockId, npt.NDArray[np.int64]],
    centre_ns: dict[ClockId, npt.NDArray[np.int64]],
    frequency_scaled_ppm: dict[ClockId, npt.NDArray[np.int64]],
) -> Snapshot:
    return Snapshot(
        readings,
        reference=reference,
        half_width_ns=half_width_ns or None,
        centre_ns=centre_ns or None,
        frequency_scaled_ppm=frequency_scaled_ppm or None,
    )


def _are_equal(
    one: Mapping[ClockId, npt.NDArray[np.int64]], other: Mapping[ClockId, npt.NDArray[np.int64]]
) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(values, other[clock]) for clock, values in one.items()
    )


def _reading(clock: ClockId, value: SupportsIndex | IntArray | Reading) -> Reading:
    if isinstance(value, Reading):
        return value
    try:
        return Reading(value)
    except UsageError as error:
        raise UsageError(f"reading of {clock}: {error}") from None


def _common_length(readings: Mapping[ClockId, Reading]) -> int | None:
    lengths = {reading.length: clock for clock, reading in readings.items()}
    if len(lengths) > 1:
        found = ", ".join(
            f"{clock} has {'one value' if length is None else length}"
            for length, clock in lengths.items()
        )
        raise UsageError(f"the readings of a snapshot are of one length: {found}")
    return next(iter(lengths))


def _integer(value: Any, name: str) -> int:
    if type(value) is int and INT64_MIN <= value <= INT64_MAX:
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise UsageError(f"{name} is a whole number, not {value!r} ({type(value).__name__})")
    try:
        number = operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is a whole number, not {value!r}") from None
    if not INT64_MIN <= number <= INT64_MAX:
        raise UsageError(f"{name} {number} does not fit in int64")
    return number


def _value(value: Any) -> int | npt.NDArray[np.int64]:
    if type(value) is int:
        return _integer(value, "value")
    if not isinstance(value, np.ndarray) and isinstance(value, SupportsIndex):
        return _integer(value, "value")
    if isinstance(value, (str, bytes)) or not (
        hasattr(value, "__array__") or isinstance(value, (list, tuple))
    ):
        raise UsageError(
            f"value is a whole number or a 1-d array, not {value!r} ({type(value).__name__})"
        )
    # A list of ints may hold a bool or a number beyond int64, which NumPy accepts.
    if isinstance(value, (list, tuple)):
        value = np.array([_integer(item, "value") for item in value], dtype=np.int64)
    array: npt.NDArray[Any] = np.asarray(value)
    check_int64(array, "readings", "reading")
    own = array.astype(np.int64)
    own.setflags(write=False)
    return own
