"""`calibrate --check`: which promises of which device hold."""

from __future__ import annotations

import json
from functools import partial

import pytest
from test_promises import device
from vulkan import instance, settings_folder, validation  # noqa: F401 - fixtures

from tracetime import SourceError, UsageError
from tracetime.capture import promise_checks
from tracetime.capture.promise_checks import PROMISES
from tracetime.sources import local
from tracetime.sources.fake import DeviceFaults, FakeClock, FakeDevice
from tracetime.sources.opencl import OpenClDevices

pytest_plugins = ["cli"]

ALL = [promise.name for promise in PROMISES]


def check(faults=None, **options):
    made, hosts, time = device(faults, **options)
    found, _ = promise_checks.check(sources=[hosts, made], wait=time.pass_ns)
    return found


def broken(one):
    return [kept.promise for kept in one.promises if kept.holds is not True]


def test_every_promise_of_every_device_is_checked():
    made, hosts, time = device()
    second = FakeDevice(
        time,
        FakeClock("dev.tracetime.vulkan.second", 9),
        list(made._hosts.values()),
        DeviceFaults(stamp_back_ns=500),
    )
    (host, one, other), missing = promise_checks.check(
        sources=[hosts, made, second], wait=time.pass_ns
    )
    assert not missing
    assert [kept.promise for kept in host.promises] == ["group"]
    assert [kept.promise for kept in one.promises] == ALL
    assert broken(host) == broken(one) == []
    assert not one.fails
    assert broken(other) == ["stamp_order"]
    assert other.fails


@pytest.mark.parametrize(
    ("faults", "promises", "fails"),
    [
        (DeviceFaults(deviation_ns=52), ["tick"], False),
        (DeviceFaults(garbage_bits=40), ["claims", "device_clock"], True),
        (DeviceFaults(host_shift_ns=50_000), ["host_clocks", "across"], True),
        (DeviceFaults(rate_ppb=-600_000_000), ["rates", "across"], True),
        (DeviceFaults(lost_at=1), ALL[1:], True),
    ],
)
def test_broken_promises_are_listed_by_name(faults, promises, fails):
    _, one = check(faults)
    assert set(promises) <= set(broken(one))
    assert one.fails is fails
    if faults.lost_at is None:
        assert all(kept.error is None for kept in one.promises)
    else:
        # Nobody knows: that is no "holds".
        assert [kept.holds for kept in one.promises] == [True, *[None] * (len(ALL) - 1)]
        assert "lost" in one.promises[1].error


def test_a_device_without_a_clock_of_the_host_breaks_the_first():
    _, one = check(hosts=[])
    assert not one.promises[0].holds
    assert one.fails


def test_only_requested_devices_are_checked():
    made, hosts, time = device()
    name = made.name
    found, _ = promise_checks.check([name], sources=[hosts, made], wait=time.pass_ns)
    assert [one.name for one in found] == ["host", name]
    found, _ = promise_checks.check(["MONOTONIC"], sources=[hosts, made], wait=time.pass_ns)
    assert [one.name for one in found] == ["host"]
    with pytest.raises(SourceError):
        promise_checks.check(["com.example.nowhere"], sources=[hosts, made])
    with pytest.raises(UsageError):
        promise_checks.check(["nonsense"], sources=[hosts, made])


def test_the_command_says_which_hold(tracetime, monkeypatch):
    real = promise_checks.check

    def faked(faults):
        made, hosts, time = device(faults)
        monkeypatch.setattr(
            promise_checks, "check", lambda clocks: real(sources=[hosts, made], wait=time.pass_ns)
        )

    faked(None)
    code, out, err = tracetime("calibrate", "--check")
    assert (code, err) == (0, "")
    assert "host: 1 of 1 promise holds" in out
    assert f"{len(ALL)} of {len(ALL)} promises hold" in " ".join(out.split())
    faked(DeviceFaults(stamp_back_ns=500))
    code, out, err = tracetime("calibrate", "--check")
    assert (code, err) == (1, "")
    assert f"{len(ALL) - 1} of {len(ALL)} promises hold" in " ".join(out.split())
    assert "no     stamps of one submission do not fall" in out
    assert "error: dev.tracetime.vulkan.fake: " in out
    code, out, err = tracetime("calibrate", "--check", "--json")
    report = json.loads(out)
    assert (code, err) == (1, "")
    assert [one["name"] for one in report["checked"]] == ["host", "dev.tracetime.vulkan.fake"]
    (bad,) = [one for one in report["checked"][1]["promises"] if not one["holds"]]
    assert bad["promise"] == "stamp_order"
    assert bad["findings"][0]["code"] == "stamps_fall"
    faked(DeviceFaults(deviation_ns=52))
    code, out, _ = tracetime("calibrate", "--check")
    assert (code, "warning: " in out) == (0, True)
    faked(DeviceFaults(lost_at=1))
    code, out, _ = tracetime("calibrate", "--check")
    assert code == 1
    assert "?      deviations are not below" in out
    assert "not checked: " in out


def test_real_devices_are_checked(tracetime, instance):  # noqa: F811
    code, out, _ = tracetime("calibrate", "--check", "--clock", "vulkan", "--json")
    report = json.loads(out)
    assert [one["name"] for one in report["checked"][1:]] == [one.name for one in instance.devices]
    for one in report["checked"][1:]:
        assert [kept["promise"] for kept in one["promises"]] == ALL
        assert all(kept["error"] is None for kept in one["promises"])
    assert code in (0, 1)  # as the devices and the load of the machine will have it


def test_without_a_device_the_command_says_so(tracetime, tmp_path, monkeypatch):
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(name, str(tmp_path / "none.json"))
    nowhere = partial(OpenClDevices, "libOpenCL-of-nowhere.so.1")
    monkeypatch.setattr(local, "OpenClDevices", nowhere)
    code, out, err = tracetime("calibrate", "--check")
    assert (code, err) == (0, "")
    assert "No device was checked." in out
    assert "not available: vulkan: " in out
    assert "not available: opencl: " in out
    assert tracetime("calibrate", "--check", "--clock", "vulkan")[0] == 4
