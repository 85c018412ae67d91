"""`calibrate --check`: every promise of every device, and the host's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from tracetime.capture.deviation_bounds import ROUNDS, Wait, sleep
from tracetime.capture.promises import PROMISES, Promise, check_group
from tracetime.capture.sample import Finding
from tracetime.capture.sampling import Sampler
from tracetime.clocks.ids import ClockLike
from tracetime.clocks.json_facts import as_json
from tracetime.errors import SourceError
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.local import LocalClocks
from tracetime.sources.names import HOST
from tracetime.sources.source import ClockSource, Unavailable

if TYPE_CHECKING:
    from msgspec import Meta

    from tracetime.clocks.json_types import NotEmpty

_GROUP: Final = ("group", "the deviation of the host's clocks read as a group holds their ticks")


@as_json("promise says holds findings error")
class Kept(NamedTuple):
    """Whether one promise is kept.

    Attributes:
        promise: its name.
        says: the promise in words.
        findings: how it is broken.
        error: why it was not checked; null where it was.
    """

    promise: Annotated[
        str, Meta(extra_json_schema={"enum": ["group", *(one.name for one in PROMISES)]})
    ]
    says: str
    findings: tuple[Finding, ...] = ()
    error: str | None = None

    @property
    def holds(self) -> bool | None:
        """Whether it is kept; null: that was not checked."""
        return None if self.error is not None else not self.findings

    @property
    def fails(self) -> bool:
        """Whether results cannot be relied on, or nobody knows."""
        return self.error is not None or any(one.severity == "error" for one in self.findings)


class Checked(NamedTuple):
    """A device, or the host, and its promises.

    Attributes:
        name: the name of its clock; `host` for the host.
        short_name: what --clock may call it, too: `vulkan:0`.
        label: what its maker calls it.
        promises: what it promises.
    """

    name: str
    short_name: str
    label: str
    promises: Annotated[tuple[Kept, ...], NotEmpty]

    @property
    def fails(self) -> bool:
        """Whether any promise fails."""
        return any(one.fails for one in self.promises)


def check(
    clocks: Iterable[ClockLike] | None = None,
    *,
    sources: Sequence[ClockSource] | None = None,
    wait: Wait = sleep,
    rounds: int = ROUNDS,
) -> tuple[list[Checked], list[Unavailable]]:
    """Check the devices among these clocks, and the host.

    Args:
        clocks, sources: as `Sampler`; all devices if None.
        wait: waits for so many ns.
        rounds: calibrations to compare.

    Returns:
        what was checked, the host first; and which clocks are not available.

    Raises:
        UsageError: a name that is no clock.
        SourceError: a requested clock is not available.
    """
    local = LocalClocks(sources)
    try:
        if clocks is None:
            found, missing = local.everything(), [*local.unavailable]
        else:
            found, missing = [one for clock in clocks for one in local.find(clock)], []
        devices = {
            one.clock: one.source for one in found if isinstance(one.source, CalibratedDevice)
        }
        checked = [Checked(HOST, HOST, HOST, (_group(sources),))]
        for device in devices.values():
            hosts = local.find(device.host_clocks[0])[0].source if device.host_clocks else device
            kept = tuple(_kept(promise, device, hosts, wait, rounds) for promise in PROMISES)
            checked.append(Checked(device.name, local.short_name(device.name), device.label, kept))
        return checked, missing
    finally:
        local.close()


def _kept(
    promise: Promise, device: CalibratedDevice, hosts: ClockSource, wait: Wait, rounds: int
) -> Kept:
    return _settled(promise.name, promise.says, lambda: promise.check(device, hosts, wait, rounds))


def _group(sources: Sequence[ClockSource] | None) -> Kept:
    def group() -> list[Finding]:
        with Sampler([HOST] if sources is None else None, sources=sources) as sampler:
            return check_group(sampler)

    return _settled(*_GROUP, group)


def _settled(name: str, says: str, findings: Callable[[], list[Finding]]) -> Kept:
    try:
        return Kept(name, says, tuple(findings()))
    except SourceError as error:
        return Kept(name, says, error=str(error))
