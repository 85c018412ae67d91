"""Fixes mend: what a finding says to do is done to the file, and the finding goes.

No worse one comes in its place. Fixes that are options are taken from the text as it is; those that
change what a program writes are done to the packets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import broken_traces
import pytest
from broken_traces import APP, KINDS, SENSOR, START, Recording, S
from building import BOOTTIME, MONOTONIC, REALTIME
from click.testing import CliRunner
from faults import FAULTS, Model
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracetime.commands import cli
from tracetime.doctor.finding import SEVERITIES

OPTION = re.compile(r"`[^`]*?(--(?:clock-rate|valid-bits|assume-half-width) [^\s`]+)")


class Told(NamedTuple):
    """What is told of a code: its worst severity, and what to do."""

    severity: str
    fix: str


def found_by(path: Any, *options: str) -> dict[str, Told]:
    """The findings of a file by code, consequences included."""
    ran = CliRunner().invoke(cli, ["doctor", str(path), "--json", *options])
    every, found = json.loads(ran.stdout)["traces"][0]["findings"], {}
    while every:
        one = every.pop()
        every += one["consequences"]
        told = Told(one["severity"], one["fix"])
        found[one["code"]] = min(found.get(one["code"], told), told, key=_rank)
    return found


def _rank(told: Told) -> int:
    return SEVERITIES.index(told.severity)


def check_mended(before: dict[str, Told], after: dict[str, Told], code: str) -> None:
    """A finding went, or is an info that has another fix, and no worse one came."""
    assert code in before
    worst = min(map(_rank, before.values()))
    assert all(_rank(told) >= worst for told in after.values()), after
    if code in after:
        assert after[code].severity == "info"
        assert after[code].fix != before[code].fix


def check_options(path: Any, code: str) -> None:
    before = found_by(path)
    options = OPTION.findall(before[code].fix)
    assert options
    after = found_by(path, *[part for option in options for part in option.split(" ")])
    check_mended(before, after, code)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["counter_wraps", "ticks_for_ns", "tsc", "disagree"])
def test_options_that_a_fix_names_mend(tmp_path, name, seed):
    model, path = Model(), tmp_path / "t.pftrace"
    code = FAULTS[name](model, Random(seed)).code
    path.write_bytes(model.build())
    check_options(path, code)


@pytest.mark.parametrize("hertz", [1_000, 32_768, 1_000_000, 19_200_000, 2_445_000_000])
def test_the_rate_that_a_fix_names_can_be_read_and_mends(tmp_path, hertz):
    random, path = Random(hertz), tmp_path / "t.csv"
    times = [10 * k * S + random.randrange(S) for k in range(40)]
    rows = [f"{1_700_000_000 * S + t},{5_000_000 + t * hertz // S}" for t in times]
    path.write_text("\n".join(["realtime_ns,com.mcu_ticks", *rows]))
    check_options(path, "rate-not-nominal")


def _each(change: Callable[[Any], None]) -> Callable[[bytes], bytes]:
    """Change each packet of a trace."""

    def changed(data: bytes) -> bytes:
        trace = pb.Trace.FromString(data)
        for packet in trace.packet:
            change(packet)
        return trace.SerializeToString()

    return changed


def _named(sequence: int, clock: int) -> Callable[[bytes], bytes]:
    """timestamp_clock_id of the packets of a sequence."""

    def change(packet: Any) -> None:
        if packet.trusted_packet_sequence_id == sequence and packet.HasField("track_event"):
            packet.timestamp_clock_id = clock

    return _each(change)


def _local(behind: int) -> Callable[[bytes], bytes]:
    """ftrace_clock of the bundles, with what it read beside BOOTTIME."""

    def change(packet: Any) -> None:
        if packet.HasField("ftrace_events"):
            bundle = packet.ftrace_events
            bundle.ftrace_clock = pb.FTRACE_CLOCK_LOCAL
            bundle.ftrace_timestamp, bundle.boot_timestamp = START - behind, START

    return _each(change)


def _scaled(clock: int, factor: int) -> Callable[[bytes], bytes]:
    """Timestamps of a clock in the unit of its snapshots."""

    def change(packet: Any) -> None:
        if packet.timestamp_clock_id == clock:
            packet.timestamp *= factor

    return _each(change)


WRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "app_says_boottime_slept_100_s": _named(APP, MONOTONIC),
    "app_says_monotonic_slept_100_s": _named(APP, BOOTTIME),
    "app_says_monotonic_slept_3_s": _named(APP, BOOTTIME),
    "app_says_monotonic_is_unix": _named(APP, REALTIME),
    "sensor_says_boottime_is_monotonic": _named(SENSOR, MONOTONIC),
    "ftrace_behind_100_ms": _local(100_000_000),
    "ftrace_behind_5_s": _local(5 * S),
    "ftrace_behind_80_s": _local(80 * S),
    "sensor_in_us": _scaled(broken_traces.SENSOR_CLOCK, 1000),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_fix_says_to_write_mends(tmp_path, name):
    recording, path = Recording(Random(2), 12), tmp_path / "t.pftrace"
    KINDS[name].make(recording)
    data, code = recording.bytes(), KINDS[name].code
    path.write_bytes(data)
    before = found_by(path)
    path.write_bytes(WRITTEN[name](data))
    check_mended(before, found_by(path), code)
