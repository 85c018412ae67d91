"""chronyd's bound, by `chronyc -c tracking`: a process of some ms, so its answer is kept.

https://chrony-project.org/doc/4.3/chronyc.html has the rule of the bound, under `tracking`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Final

from tracetime.errors import NoBoundError
from tracetime.sources.time_service.statement import MOST_BOUND_NS, PPB, Statement
from tracetime.text import printable

CHRONYC: Final = ("chronyc", "-c", "-n", "tracking")
_FIELDS: Final = 14
_ID, _REF_TIME, _OFFSET, _FREQUENCY, _RESIDUAL, _SKEW, _DELAY, _DISPERSION, _LEAP = (
    (0, 3, 4, 7, 8, 9, 10, 11, 13)
)  # fmt: skip
_NUMBER: Final = re.compile(r"[-+]?\d{1,18}\.\d{1,18}", re.ASCII)
_LOCAL: Final = "7F7F0101"
_NOTHING: Final = "00000000"
_TOLERANCE_PPB: Final = 15_000
"""What NTP counts on of a clock whose frequency is corrected: PHI of RFC 5905."""
_ROUNDED_NS: Final = 3
"""chronyc prints whole ns: of the offset, of the dispersion, and of the delay."""
_TIMEOUT_S: Final = 2.0
_RETRY_NS: Final = 5_000_000_000
_RETRY_SILENT_NS: Final = 60_000_000_000
"""Whoever asks waits for the timeout: a recording does so once a minute."""
_QUOTED: Final = 200


class Chrony:
    """A reader of chronyd's bound.

    Args:
        command: prints the tracking of chronyd as CSV.
    """

    name = "chrony"
    poll_ns = 1_000_000_000

    def __init__(self, command: Sequence[str] = CHRONYC) -> None:
        self._command = tuple(command)
        self.retry_ns = _RETRY_NS

    def ask(self, monotonic_ns: Callable[[], int]) -> Statement:
        """The present statement of chronyd; see `TimeSource.ask`."""
        asked_ns = monotonic_ns()
        return tracking_statement(self._answer(), asked_ns)

    def _answer(self) -> str:
        self.retry_ns = _RETRY_NS
        try:
            done = subprocess.run(
                self._command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                env={**os.environ, "LC_ALL": "C"},
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise NoBoundError(f"cannot run chronyc ({reason}); install chrony") from None
        except subprocess.TimeoutExpired:
            self.retry_ns = _RETRY_SILENT_NS
            raise NoBoundError(
                f"chronyc has not answered for {_TIMEOUT_S:g} s; restart chronyd"
            ) from None
        text = done.stdout.decode("ascii", "replace").strip()
        if done.returncode:
            message = text or done.stderr.decode("ascii", "replace").strip()
            raise NoBoundError(f"chronyc says {_quoted(message)}; start chronyd")
        return text


def tracking_statement(line: str, asked_ns: int) -> Statement:
    """The statement in a line of `chronyc -c tracking`.

    The clock is off by |system time| + root dispersion + root delay / 2 at most.

    Args:
        asked_ns: MONOTONIC, before chronyd was asked.

    Raises:
        NoBoundError: chronyd is not synchronised, or the line is no such line.
    """
    fields = line.split(",")
    if len(fields) != _FIELDS:
        raise _unknown(line)
    if fields[_LEAP] == "Not synchronised" or fields[_ID] == _NOTHING:
        raise NoBoundError("chronyd is not synchronised; wait, or see `chronyc sources`")
    if fields[_ID] == _LOCAL:
        raise NoBoundError(
            "chronyd serves this machine's own clock (its directive `local`), which bounds "
            "nothing; give it a server, or see `chronyc sources`"
        )
    if fields[_LEAP] not in ("Normal", "Insert second", "Delete second"):
        raise _unknown(line)
    offset, frequency, residual, skew, delay, dispersion = (
        abs(_number(fields[i], line))
        for i in (_OFFSET, _FREQUENCY, _RESIDUAL, _SKEW, _DELAY, _DISPERSION)
    )
    seconds = offset + dispersion + delay / 2
    bound_ns = _up(seconds * 1_000_000_000) + _ROUNDED_NS
    # A chronyd that may not steer the clock (-x) leaves it as fast as its oscillator is.
    drift_ppb = _up((frequency + residual + skew) * 1_000) + _TOLERANCE_PPB
    if bound_ns > MOST_BOUND_NS or drift_ppb > PPB:
        raise NoBoundError(f"chronyd's bound is beyond use: {_quoted(line)}; restart chronyd")
    return Statement(bound_ns, asked_ns, drift_ppb, drift_ppb, fields[_REF_TIME])


def _number(text: str, line: str) -> Decimal:
    if _NUMBER.fullmatch(text) is None:
        raise _unknown(line)
    return Decimal(text)


def _up(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))


def _unknown(line: str) -> NoBoundError:
    return NoBoundError(f"chronyc prints what chrony 4 does not: {_quoted(line)}; update chrony")


def _quoted(text: str) -> str:
    return f'"{printable(text[:_QUOTED])}"'
