"""Clock ids: their names and scopes, as text and back.

The numbers are those of Perfetto's `protos/perfetto/common/builtin_clock.proto`, the scopes those
of `clock_snapshot.proto` (ClockSnapshot.Clock.clock_id).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar, Final, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar

from tracetime._kernels.common.hashed import Hashed, fnv_1a
from tracetime.errors import UsageError
from tracetime.text import did_you_mean

BUILTIN_CLOCKS: Final[dict[int, str]] = {
    1: "REALTIME",
    2: "REALTIME_COARSE",
    3: "MONOTONIC",
    4: "MONOTONIC_COARSE",
    5: "MONOTONIC_RAW",
    6: "BOOTTIME",
    9: "TSC",
    10: "PERF",
    11: "TRACE_FILE",
}
"""Names of the builtin clocks, by id."""

BUILTIN_IDS: Final[dict[str, int]] = {name: number for number, name in BUILTIN_CLOCKS.items()}
"""Ids of the builtin clocks, by name."""

FIRST_SEQUENCE_CLOCK: Final = 64
FIRST_GLOBAL_CLOCK: Final = 128
FIRST_HASHED_CLOCK: Final = 0x8000_0000
"""The first ids of one packet sequence's clocks, of global clocks, and of hashes of names."""

OWN_PREFIX: Final = "dev.tracetime."
"""Names of clocks that tracetime records, and that Perfetto has no number for, begin with this."""

_OWN_CLOCKS: Final = ("cntvct", "qpc", "tai", "tsc", "uptime_raw")
_OWN_DEVICES: Final = ("vulkan", "opencl", "cuda")


def short_name(name: str, others: Iterable[str]) -> str:
    """What a clock of ours is called: `TSC`, `ptp:0`, `vulkan:0` of one device alone."""
    if not name.startswith(OWN_PREFIX):
        return name
    own = name.removeprefix(OWN_PREFIX)
    kind, _, which = own.partition(".")
    if own in _OWN_CLOCKS:
        return own.upper()
    if kind == "ptp" and which:
        return f"ptp:{which}"
    alike = kind in _OWN_DEVICES and sum(o.startswith(f"{OWN_PREFIX}{kind}.") for o in others)
    return f"{kind}:0" if alike == 1 else name


UINT32_MAX: Final = 0xFFFF_FFFF

_set = object.__setattr__

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+")
_DECIMAL_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]*")
_SUFFIX = re.compile(r"(seq|machine|file)(0[xX][0-9a-fA-F]+|[0-9]+)", re.IGNORECASE)
_FIELDS = {"seq": "sequence", "machine": "machine", "file": "file"}

_FORMS = (
    f"a clock is a name ({', '.join(BUILTIN_IDS)}), a number (6, 0x8a01b2c3), a name with dots "
    "(com.example.gpu), or 64 to 127 with their sequence (64@seq7); each also @machine2, @file1"
)


def clock_id(name: str) -> int:
    """Return the id of the named global clock `name`, such as ``com.example.gpu``.

    The id is the 32-bit FNV-1a hash of the UTF-8 name with the top bit set, as Perfetto's
    `docs/concepts/clock-sync.md` defines. Builtin names are not special here:
    ``clock_id("MONOTONIC")`` is a hash, ``ClockId.parse("MONOTONIC")`` is clock 3.

    Raises:
        UsageError: `name` is empty or not a string.
    """
    if not isinstance(name, str) or not name:
        raise UsageError(f"a clock name is a string that is not empty, not {name!r}")
    try:
        data = name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"clock name {name!r} cannot be written in UTF-8") from None
    return fnv_1a(data) | FIRST_HASHED_CLOCK


Scope: TypeAlias = Literal["builtin", "sequence", "global"]


@total_ordering
@dataclass(frozen=True, slots=True)
class ClockId(Hashed):
    """One clock: its number, and the scope in which that number means something.

    Ordered as Perfetto orders its search: by clock, sequence, file, machine.

    Args:
        clock: 1..63 builtin, 64..127 of one packet sequence, 128..2^32-1 global; 0 in a packet
            that names no clock.
        sequence: `trusted_packet_sequence_id`, for 64..127 only. 0 = not known (yet).
        machine: index of the machine, in order of appearance; 0 is the host.
        file: index of the file in an archive of several; 0 is the first.

    Raises:
        UsageError: a field is no integer or out of uint32, or a sequence is given for a clock
            that is not sequence-scoped.
    """

    clock: int
    sequence: int = 0
    machine: int = 0
    file: int = 0

    _hashed_by: ClassVar = ("clock", "sequence", "machine", "file")
    # Explicit: `dataclass` would make a slow one, and a trace of 10^5 clocks needs millions.
    __hash__ = Hashed.__hash__

    def __post_init__(self) -> None:
        for name in ("clock", "sequence", "machine", "file"):
            value = getattr(self, name)
            if type(value) is not int:
                object.__setattr__(self, name, value := _as_int(value, name))
            if not 0 <= value <= UINT32_MAX:
                raise UsageError(f"{name} {value} is out of range: it takes 0 to {UINT32_MAX}")
        if self.sequence and not self.is_sequence_scoped:
            raise UsageError(
                f"clock {_base(self.clock)} is not scoped to a sequence: only 64 to 127 are; "
                f"leave @seq{self.sequence} out"
            )

    @classmethod
    def parse(cls, text: ClockLike | SupportsIndex) -> ClockId:
        """Return the clock that `text` names, or the ClockId that it is.

        Takes names in any case (``monotonic``), numbers (``6``, ``"6"``, ``"0x8a01b2c3"``), names
        with a dot (by `clock_id`), and the suffixes ``@seq7``, ``@machine2``, ``@file1``. 64 to
        127 may come without a sequence, where another argument supplies it: `is_sequence_scoped`.

        Raises:
            UsageError: none of these, or a number out of uint32.
        """
        if isinstance(text, ClockId):
            return text
        if not isinstance(text, str):
            return cls(_as_int(text, "clock"))
        base, *suffixes = text.strip().split("@")
        scope: dict[str, int] = {}
        for suffix in suffixes:
            match = _SUFFIX.fullmatch(suffix)
            field = _FIELDS[match[1].lower()] if match else ""
            if match is None or field in scope:
                raise UsageError(f"cannot read {'@' + suffix!r} in clock {text!r}: {_FORMS}")
            scope[field] = _number(match[2])
        return cls(_parse_base(base, text), **scope)

    @classmethod
    def of_trace(cls, clock: int, sequence: int, machine: int, file: int) -> ClockId:
        """The clock of these numbers, which are uint32 and need no check."""
        made = cls.__new__(cls)
        _set(made, "clock", clock)
        _set(made, "sequence", sequence)
        _set(made, "machine", machine)
        _set(made, "file", file)
        return made

    @property
    def scope(self) -> Scope:
        """`builtin`, `sequence` or `global`: where this clock's number has a meaning."""
        if self.clock < FIRST_SEQUENCE_CLOCK:
            return "builtin"
        return "sequence" if self.clock < FIRST_GLOBAL_CLOCK else "global"

    @property
    def is_sequence_scoped(self) -> bool:
        """Whether the number, 64 to 127, has no meaning without a packet sequence."""
        return FIRST_SEQUENCE_CLOCK <= self.clock < FIRST_GLOBAL_CLOCK

    def __reduce__(self) -> tuple[type[ClockId], tuple[int, int, int, int]]:
        return ClockId, (self.clock, self.sequence, self.machine, self.file)

    def __repr__(self) -> str:
        return f"ClockId.parse({str(self)!r})"

    def __str__(self) -> str:
        text = _base(self.clock)
        if self.sequence:
            text += f"@seq{self.sequence}"
        if self.machine:
            text += f"@machine{self.machine}"
        if self.file:
            text += f"@file{self.file}"
        return text

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ClockId):
            return NotImplemented
        return self.order() < other.order()

    def order(self) -> tuple[int, int, int, int]:
        """The sort key of clocks: faster for many of them than their own comparison."""
        return self.clock, self.sequence, self.file, self.machine


ClockLike: TypeAlias = ClockId | str | int
"""A clock as callers may give it: a ClockId, or anything that `ClockId.parse` makes one of."""

V_co = TypeVar("V_co", covariant=True)


class ByClock(Protocol[V_co]):
    """Values by clock: a dict, or other Mapping, whose keys are ClockLike."""

    # Not Mapping: its keys have one type, and a dict of names is no Mapping of ClockLike.
    def items(self) -> Iterable[tuple[ClockLike, V_co]]: ...


def _base(clock: int) -> str:
    """Write a clock's number: by name, in hex where it is a hash, else in decimal."""
    name = BUILTIN_CLOCKS.get(clock)
    if name is not None:
        return name
    return f"0x{clock:08x}" if clock >= FIRST_HASHED_CLOCK else str(clock)


def _parse_base(base: str, text: str) -> int:
    number = BUILTIN_IDS.get(base.upper())
    if number is not None:
        return number
    if _NUMBER.fullmatch(base):
        return _number(base)
    # 6.5 has a dot, too, and is a mistake rather than a name.
    if "." in base and not _DECIMAL_FRACTION.fullmatch(base):
        return clock_id(base)
    near = did_you_mean(base, BUILTIN_IDS)
    raise UsageError(f"{text!r} is not a clock{near or ':'} {_FORMS}")


def hashed_name(text: object) -> str | None:
    """The name in a text for `ClockId.parse`, where its hash is the clock's number; else None."""
    if not isinstance(text, str):
        return None
    base = text.strip().partition("@")[0]
    hashed = "." in base and base.upper() not in BUILTIN_IDS
    return base if hashed else None


def is_clock(text: str) -> bool:
    """Whether a text is the name or the number of a clock."""
    try:
        ClockId.parse(text)
    except UsageError:
        return False
    return True


def _number(digits: str) -> int:
    # Python refuses to parse more than 4300 digits; nothing that long is in range anyway.
    if len(digits) > 32:
        raise UsageError(f"{digits[:16]}... is out of range: it takes 0 to {UINT32_MAX}")
    return int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)


def _as_int(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise UsageError(f"{name} {value!r} is a {type(value).__name__}, not a number; {_FORMS}")
    try:
        return operator.index(value)
    except TypeError:  # NumPy's bool has __index__, and refuses.
        raise UsageError(f"{name} {value!r} is not a whole number; {_FORMS}") from None
