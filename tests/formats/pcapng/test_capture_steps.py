"""Interfaces that count coarser than they say: bars hold the truth."""

from random import Random

import numpy as np
import pytest
from captures import Capture, pcap

from tracetime import open_trace

C = Capture()
WALL = 1_763_900_000 * 10**9


def truths(seed=1, count=400):
    random = Random(seed)
    return sorted(WALL + random.randrange(10**11) for _ in range(count))


@pytest.fixture
def bars(tmp_path):
    """The bars of the packets of a file: both sides, int64."""

    def read(content):
        path = tmp_path / "t.pcapng"
        path.write_bytes(content)
        with open_trace(path) as trace:
            table = trace.read_all("tube")
        return table["earliest"].to_numpy(), table["latest"].to_numpy()

    return read


@pytest.mark.parametrize(
    ("resolution", "step"), [(9, 1000), (9, 100), (6, 15_625_000), (9, 10**6), (6, 10**6)]
)
@pytest.mark.parametrize("rounds", [False, True])
def test_bars_hold_what_an_interface_does_not_count(bars, resolution, step, rounds):
    truth = np.array(truths())
    read = (truth + (step // 2 if rounds else 0)) // step * step
    unit = 10 ** (9 - resolution)
    packets = [C.packet(int(ns) // unit) for ns in read]
    earliest, latest = bars(b"".join([C.section(), C.interface(resolution=resolution), *packets]))
    assert np.all(earliest <= truth) and np.all(truth <= latest)
    assert np.all(latest - earliest <= 1.5 * step + unit)


def test_pcap_of_ns_may_hold_us(bars):
    truth = np.array(truths())
    stamps = [(int(ns) // 10**9, int(ns) % 10**9 // 1000 * 1000, b"x") for ns in truth]
    earliest, latest = bars(pcap(stamps, magic=0xA1B23C4D))
    assert np.all(earliest <= truth) and np.all(truth <= latest)


@pytest.mark.parametrize("resolution", [9, 7, 6, 0x8A, 0x94, 0xA0])
def test_ticks_that_an_interface_declares_are_its_bars(bars, resolution):
    ticks_per_s = (2 if resolution & 0x80 else 10) ** (resolution & 0x7F)
    truth = np.array(truths())
    packets = [C.packet(int(ns) * ticks_per_s // 10**9) for ns in truth]
    earliest, latest = bars(b"".join([C.section(), C.interface(resolution=resolution), *packets]))
    assert np.all(earliest <= truth) and np.all(truth <= latest)
    assert np.all(latest - earliest <= 10**9 // ticks_per_s + 1)


def test_an_exact_interface_stays_exact_beside_a_coarse_one(bars):
    times = truths()
    packets = [C.packet(ns if k % 2 else ns // 1000 * 1000, on=k % 2) for k, ns in enumerate(times)]
    two = C.interface(resolution=9) * 2
    earliest, latest = bars(b"".join([C.section(), two, *packets]))
    assert set((latest - earliest)[1::2].tolist()) == {0}
    assert set((latest - earliest)[::2].tolist()) == {1499}


def test_times_beyond_int64_stand_on_no_step(bars):
    packets = [C.packet(ns) for ns in truths()]
    beyond = [C.packet(k, on=1) for k in range(40)]
    mixed = [one for pair in zip(packets, beyond * 10, strict=True) for one in pair]
    interfaces = C.interface(resolution=9) + C.interface(resolution=9, offset_s=-(2**63))
    earliest, latest = bars(b"".join([C.section(), interfaces, *mixed]))
    known = ~np.isnan(earliest.astype(np.float64))
    assert known.sum() == 400
    assert np.all(earliest[known] == latest[known])
