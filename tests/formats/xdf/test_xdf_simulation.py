"""Eleven streams of simulated hosts: every sample lies in its bar, whatever the pings missed.

Clocks drift and wander, pings take longer one way than the other, the recorder repeats the last
offset and dates it up to 2 s later, one host starts anew, one goes away.
"""

import numpy as np
import pytest
from seeds import seeds
from xdf_files import XdfFile

from tracetime import diagnose, open_trace

SECONDS = 450
# Of each host: ppm of its rate, when it started by the recorder's clock, s, and its streams.
HOSTS = {
    "recorder": (0.0, 0.0, 2),
    "eeg": (18.0, -350_000.0, 2),
    "eyes": (-31.0, 812.5, 1),
    "stimuli": (4.0, -12.0, 3),
    "anew": (9.0, -90_000.0, 2),
    "gone": (-12.0, 100.0, 1),
}
ANEW_S, GONE_S = 233.0, 310.0


class Host:
    """`read(t)`: its clock at times of the recorder's, s; it may have started anew."""

    def __init__(self, name, random):
        ppm, started, _ = HOSTS[name]
        wander = random.normal(0, 0.02, SECONDS + 60)
        self._offset = np.cumsum(ppm + np.cumsum(wander)) * 1e-6
        self._started, self._anew = started, ANEW_S if name == "anew" else np.inf

    def read(self, t):
        t = np.asarray(t, float)
        drift = np.interp(t, np.arange(SECONDS + 60), self._offset)
        return np.where(t < self._anew, t - self._started, t - self._anew + 2.0) + drift


def lasts(name, t):
    """Whether a host is there at a time."""
    return not (name == "gone" and t > GONE_S) and not (name == "anew" and 220 < t < ANEW_S)


def measured(host, t, random):
    """The offset that a ping measures: off by half of what one way takes longer."""
    there, back = 60e-6 + random.exponential(20e-6, 2)
    return float(t - host.read(t)) + (there - back) / 2


def recording(seed):
    """The file, and when each sample was taken, by its stream, s of the recorder's clock."""
    random = np.random.default_rng(seed)
    file, truth, streams = XdfFile(), {}, {}
    for name, (_, _, n) in HOSTS.items():
        host = Host(name, random)
        for _ in range(n):
            number = len(streams) + 1
            streams[number] = [name, host, None, random.uniform(0, 5)]
            file.stream(number, f"{name} {number}", hostname=name, srate=50)
            truth[number] = []
    for t in np.arange(0.0, SECONDS, 0.5):
        for number, stream in streams.items():
            name, host, last, phase = stream
            if lasts(name, t):
                taken = t + np.sort(random.uniform(0, 0.5, 5))
                file.samples(number, host.read(taken), range(5))
                truth[number] += taken.tolist()
            if (t + 0.25 - phase) % 5 < 0.5:
                # liblsl measures every 2 s, and LabRecorder asks it when it likes.
                asked, at = t + 0.5, t + 0.5 - random.uniform(0, 2)
                if last is None or (lasts(name, at) and lasts(name, at - 0.5)):
                    stream[2] = last = measured(host, max(0.0, at), random)
                file.offset(number, asked - last, last)
    return file, truth


@pytest.mark.parametrize("seed", seeds(2))
def test_every_sample_of_eleven_streams_lies_in_its_bar(tmp_path, seed):
    file, truth = recording(seed)
    path = tmp_path / "t.xdf"
    path.write_bytes(file.content)
    with open_trace(path) as trace:
        table = trace.read_all("tube", names=True)
        found = {finding.code: finding for finding in diagnose(trace)}
        reset = [trace.clocks.name(clock) for clock in found["clock-reset"].clocks]
    assert set(found) == {"clock-reset", "no-realtime"}
    assert reset == ["lsl.anew@machine5"]
    assert set(table["status"].to_pylist()) == {"resolved"}
    stream = table["track"].to_numpy()
    earliest, latest = (table[name].to_numpy() for name in ("earliest", "latest"))
    assert len(truth) == 11
    for number, taken in truth.items():
        at, rows = np.rint(np.array(taken) * 1e9), stream == number
        outside = (at < earliest[rows]) | (at > latest[rows])
        assert not outside.any(), (number, int(outside.sum()))
        # Where the host is measured, the bar says something.
        assert np.median(latest[rows] - earliest[rows]) < 1_000_000
