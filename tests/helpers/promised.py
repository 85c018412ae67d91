"""Every promise of a device, checked as one."""

from __future__ import annotations

from tracetime.capture.deviation_bounds import ROUNDS, Wait, sleep
from tracetime.capture.promise_checks import PROMISES, check_domains
from tracetime.capture.sample import Finding
from tracetime.sources.device import CalibratedDevice
from tracetime.sources.source import ClockSource


def check_promises(
    device: CalibratedDevice, hosts: ClockSource, *, wait: Wait = sleep
) -> list[Finding]:
    """All findings, in order; the later checks are of a device that has the domains they need."""
    found = check_domains(device)
    if found:
        return found
    for promise in PROMISES[1:]:
        found += promise.check(device, hosts, wait, ROUNDS)
    return found
