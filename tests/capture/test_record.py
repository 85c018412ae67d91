"""What `record` takes and refuses: paths, numbers, clocks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from live import Live
from platforms import WITH_BOOTTIME
from recorded import split
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import SourceError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"interval": 0}, "interval"),
        ({"interval": float("nan")}, "interval"),
        ({"interval": None, "target_error_ns": 5}, "target"),
        ({"target_error_ns": 0}, "target"),
        ({"target_error_ns": 5, "shortest_interval": 9, "longest_interval": 1}, "shortest"),
        ({"flush_interval": 0}, "flush_interval"),
        ({"max_size": 5}, "max_size"),
        ({"buffer_bytes": 5}, "buffer_bytes"),
        ({"buffer_bytes": 2**70}, "buffer_bytes"),
        ({"flush_bytes": "1M"}, "flush_bytes"),
        ({"max_size": "1M"}, "max_size"),
        ({"target_error_ns": "1us"}, "target_error_ns"),
        ({"longest_interval": float("inf")}, "longest_interval"),
        ({"shortest_interval": "1ms"}, "shortest_interval"),
        ({"clocks": ["MONOTONIC"]}, "either"),
    ],
)
def test_wrong_arguments_are_usage_errors(path, options, says):
    with pytest.raises(UsageError, match=says):
        tt.record(path, sampler=Machine(usual_clocks()), **options)
    assert not path.exists()


@pytest.mark.parametrize("wrong", [{"interval": "100ms"}, {"flush_interval": "1s"}])
def test_seconds_are_numbers(path, wrong):
    with pytest.raises(UsageError, match=r"use 0\.001 to 86400 seconds"):
        tt.record(path, sampler=Live(), **wrong)
    assert not path.exists()


@pytest.mark.parametrize("target", [float("nan"), float("inf"), 0])
def test_a_target_that_is_no_time_is_refused(path, target):
    with pytest.raises(UsageError, match="target_error_ns"):
        tt.record(path, ["MONOTONIC"], target_error_ns=target)


def test_a_target_that_cannot_be_written_is_a_usage_error(tmp_path):
    machine = Machine(usual_clocks())
    os.mkfifo(tmp_path / "pipe")
    for target, says in (
        (tmp_path, "it is not a file"),
        (tmp_path / "pipe", "it is not a file"),
        ("/dev/null", "it is not a file"),
        (tmp_path / "none" / "x", "No such file or directory; give another path"),
        (tmp_path / "\0", "null"),
    ):
        with pytest.raises(UsageError, match=f"cannot write .*{says}"):
            tt.record(target, sampler=machine)
    # A sampler of one's own stays open.
    assert not machine.closed


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda rec: rec.counter(["c"], 1), "a counter is a name"),
        (lambda rec: rec.track(["t"]), "a track's name is a string"),
        (lambda rec: rec.track("t", ["parent"]), "a parent is a track"),
        (lambda rec: rec.counter_track("c", 5), "a counter's unit is a string"),
        (lambda rec: tt.record(5, sampler=Machine(usual_clocks())), "path is a string"),
        (lambda rec: tt.record(rec.path, clocks=3.5), "clocks are names"),
        (lambda rec: tt.calibrate(["MONOTONIC"], "5"), "use 1 to"),
        (lambda rec: tt.calibrate(["MONOTONIC"], seconds="1s"), "0 to 3600"),
    ],
)
def test_wrong_types_are_usage_errors(path, act, says):
    with (
        tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec,
        pytest.raises(UsageError, match=says),
    ):
        act(rec)


def test_a_path_may_be_bytes(path):
    tt.record(os.fsencode(path), interval=None, sampler=Machine(usual_clocks())).close()
    assert split(path.read_bytes())


@WITH_BOOTTIME
def test_devices_are_opened_only_on_request(tmp_path, monkeypatch):
    opened = []

    def driver(self):
        opened.append("a driver, which takes memory and time")
        raise SourceError("no driver here")

    monkeypatch.setattr("tracetime.sources.vulkan.VulkanInstance.__init__", driver)
    with tt.record(tmp_path / "host.pftrace", interval=None) as rec:
        assert {"MONOTONIC", "BOOTTIME", "REALTIME"} <= set(rec.clocks)
    with tt.record(
        tmp_path / "named.pftrace", ["host", "TAI", "MONOTONIC"], interval=None
    ) as named:
        assert named.clocks.keys() == rec.clocks.keys()
    assert not opened
    with pytest.raises(SourceError, match="no driver here"):
        tt.record(tmp_path / "gpu.pftrace", ["host", "vulkan"])
