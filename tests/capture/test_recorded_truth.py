"""A recording of this machine's real clocks, read back: every event lies where it was.

What is true of an event is the reference, read before and after its own clock is.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from recorded import packets_of

import tracetime as tt
from tracetime import ClockId, Sampler, SourceError, open_trace
from tracetime._kernels.capture import read_one

EVENTS = 6_000
# Not the COARSE ones: a kernel's tick may come later than any that was watched.
POSIX = ["MONOTONIC_RAW", "MONOTONIC", "BOOTTIME", "REALTIME", "TAI"]
BOOTTIME = ClockId(6)


@pytest.fixture
def sampler():
    """This machine's fine clocks, with the time stamp counter where there is one."""
    try:
        made = Sampler([*POSIX, "TSC"])
    except SourceError:
        try:
            made = Sampler(POSIX)
        except SourceError as error:
            pytest.skip(f"not Linux: {error}")
    with made:
        yield made


@pytest.mark.parametrize("interval", [0.01, 0.25])
def test_every_true_time_lies_within_its_bar(tmp_path, sampler, interval):
    """BOOTTIME, which is trace time, is read with each; raw ticks of the counter among them."""
    path = tmp_path / "out.pftrace"
    codes = {clock: sampler.source(clock).native_code(clock) for clock in sampler.domains}
    clocks = list(codes)
    before, after = (np.empty(EVENTS, dtype=np.int64) for _ in range(2))
    with tt.record(path, interval=interval, sampler=sampler) as rec:
        track = rec.track("events")
        for n in range(EVENTS):
            clock = clocks[n % len(clocks)]
            before[n] = read_one(codes[BOOTTIME])
            value = read_one(codes[clock])
            after[n] = read_one(codes[BOOTTIME])
            rec.instant("event", timestamp=value, clock=clock, track=track)
            # Over a second: many of the short intervals, some of the long ones.
            if n % 60 == 0:
                time.sleep(0.01)
        taken = rec.snapshots
    with open_trace(path) as trace:
        assert trace.trace_clock == BOOTTIME
        tube, floor = trace.read_all("tube"), trace.read_all("floor")
        assert trace.clocks.clocks()[0].snapshots == rec.snapshots >= taken >= 2
    assert Counter(tube["clock"].to_pylist()).keys() == {clock.clock for clock in clocks}
    assert set(tube["status"].to_pylist()) == {"resolved"} == set(floor["status"].to_pylist())
    earliest, latest = tube["earliest"].to_numpy(), tube["latest"].to_numpy()
    # The event's instant lies somewhere from before to after: a bar that misses that is wrong.
    missed = np.flatnonzero((earliest > after) | (before > latest))
    assert not len(missed), [
        (str(clocks[n % len(clocks)]), int(earliest[n] - after[n]), int(before[n] - latest[n]))
        for n in missed[:10].tolist()
    ]
    # BOOTTIME itself needs no conversion, the others have bars as narrow as they were read.
    widths = latest - earliest
    own = tube["clock"].to_numpy() == BOOTTIME.clock
    assert (widths[own] == 0).all() and (widths[~own] > 0).all()
    # The floor's rule: the offset of the snapshot before, so off by what clocks drift since. The
    # estimates say how fast that is.
    estimates = tube["trace_time"].to_numpy()
    off = np.abs(floor["trace_time"].to_numpy() - estimates)
    # 500 ppm of slewing, and 100 of a counter's rate, over the time since; a wide bracket at most.
    gaps = _since_the_snapshot_before(path, before)
    assert (off <= gaps * 6e-4 + widths + 100_000).all()


def _since_the_snapshot_before(path, at_ns):
    taken = np.array(
        [
            next(c.timestamp for c in packet.clock_snapshot.clocks if c.clock_id == BOOTTIME.clock)
            for packet in packets_of(path.read_bytes())
            if packet.HasField("clock_snapshot")
        ]
    )
    return at_ns - taken[np.maximum(np.searchsorted(taken, at_ns, side="right") - 1, 0)]
