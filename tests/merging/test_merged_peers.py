"""Recordings that exchanged messages with other machines merge with those machines' own."""

from __future__ import annotations

from random import Random

import pytest
from building import event, trace
from simulated_network import START, US, Network, S, steady

import tracetime as tt
from tracetime._kernels.perfetto.packets import boot_packet, snapshot_packet
from tracetime.hosts.messages import Epoch
from tracetime.hosts.ping import Pinging
from tracetime.hosts.recording import exchange_packet, machine_packets

BOOTTIME, MONOTONIC = 6, 3
NAMES = "abc"
BOOTS = [bytes([65 + n]) * 16 for n in range(3)]
# Of each machine's BOOTTIME: how far ahead of true time, and its drift.
AHEAD_NS = (0, 5 * S, -3 * S)
DRIFT_PPM = (0, 90, -40)


class Between(Network):
    """Machine `other` as machine `one` sees it over the network; time is true time."""

    def __init__(self, one, other, delay):
        super().__init__(0, 0, delay)
        self.one, self.other = one, other

    def there(self):
        return clock_ns(self.other, self.now)

    def exchange(self, request, take, timeout_s):
        made = super().exchange(request, take, timeout_s)
        return made and made._replace(
            sent_ns=clock_ns(self.one, made.sent_ns),
            returned_ns=clock_ns(self.one, made.returned_ns),
        )


def clock_ns(machine, true_ns):
    drifted = round((true_ns - START) * DRIFT_PPM[machine] / 1e6)
    return true_ns + AHEAD_NS[machine] + drifted


def file_of(
    machine, peers=(), delay=lambda: 20 * US, boots=BOOTS, seconds=60, slept_ns=None, from_ns=START
):
    """What machine recorded, with its exchanges with peers every second."""
    first = clock_ns(machine, from_ns - S)
    data = boot_packet(BOOTS[machine]) + snapshot_packet(1, BOOTTIME, [(BOOTTIME, first, 1)], b"")
    for number, other in enumerate(peers, 1):
        data += machine_packets(number, NAMES[other], boots[other], slept_ns)
        network = Between(machine, other, delay)
        network.now = from_ns
        pinging = Pinging(network, epoch=Epoch(steady))
        for _ in range(seconds):
            pinging.burst()
            network.now += S
        data += b"".join(exchange_packet(number, made) for made in pinging.rounds.exchanges)
    times = [clock_ns(machine, from_ns + k * S) for k in range(seconds)]
    return data + trace(*(event(ts, BOOTTIME) for ts in times))


def merged(tmp_path, files, **options):
    paths = []
    for name, data in files.items():
        paths.append(tmp_path / f"{name}.pftrace")
        paths[-1].write_bytes(data)
    return tt.merge(paths, tmp_path / "merged.pftrace", **options)


def off_ns(report, number, machine, first=0):
    """How far the middle's offset is from the truth, and its half-width."""
    file = report.files[number]
    middle_ns = START + 59 * S // 2
    truth_ns = clock_ns(first, middle_ns) - clock_ns(machine, middle_ns)
    assert file.half_width_ns is not None
    return abs(file.offset_ns - truth_ns), file.half_width_ns


def test_a_file_and_its_peer_s_own_are_tied_by_the_boot_that_both_say(tmp_path):
    report = merged(tmp_path, {"a": file_of(0, [1]), "b": file_of(1)})
    off, half = off_ns(report, 1, 1)
    # A round takes 43 us, of which the other side keeps 3; drift in half a second is below 1 us.
    assert off <= half < 40 * US
    (tie,) = report.files[1].ties
    assert tie.kind == "clocks"
    assert tie.said == (
        f"one boot: machine 1 of a.pftrace is the machine of b.pftrace, boot {BOOTS[1].hex()}"
    )
    assert not report.boots[0].same


def test_events_are_placed_where_the_truth_is(tmp_path):
    merged(tmp_path, {"a": file_of(0, [1]), "b": file_of(1)})
    with tt.open_trace(tmp_path / "merged.pftrace") as trace:
        table = trace.read_all()
    times = sorted(table["trace_time"].drop_null().to_pylist())
    assert len(times) == 120
    assert all(
        abs(one - other) < 100 * US for one, other in zip(times[::2], times[1::2], strict=True)
    )


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_whoever_asked_either_order_of_files_will_do(tmp_path, order):
    files = {"a": file_of(0, [1]), "b": file_of(1)}
    report = merged(tmp_path, {name: files[name] for name in order})
    off, half = off_ns(report, 1, NAMES.index(order[1]), NAMES.index(order[0]))
    assert off <= half < 40 * US


def test_two_files_are_tied_over_a_third_machine_that_both_asked(tmp_path):
    report = merged(tmp_path, {"a": file_of(0, [2]), "b": file_of(1, [2])})
    off, half = off_ns(report, 1, 1)
    assert off <= half < 80 * US
    assert report.files[1].ties[0].said == (
        f"one boot: machine 1 of a.pftrace is machine 1 of b.pftrace, boot {BOOTS[2].hex()}"
    )


def test_loops_close_the_bar(tmp_path):
    """From a to c at once is slow; over b it is fast."""
    random = Random(1)

    def slow():
        return 400 * US + int(random.expovariate(1 / (100 * US)))

    direct = {"a": file_of(0, [2], slow), "c": file_of(2)}
    off, wide = off_ns(merged(tmp_path, direct), 1, 2)
    assert off <= wide
    assert wide > 350 * US
    both = {"a": file_of(0, [2], slow), "b": file_of(1, [0, 2]), "c": file_of(2)}
    off, half = off_ns(merged(tmp_path, both), 2, 2)
    assert off <= half < 80 * US


def test_a_suspended_peer_s_machines_are_one_boot(tmp_path):
    """Its two machines of one file are that one machine of the other's."""
    report = merged(tmp_path, {"a": file_of(0, [1, 1]), "b": file_of(1)})
    off, half = off_ns(report, 1, 1)
    assert off <= half < 40 * US


@pytest.mark.parametrize("more_ns", [0, -40 * US, 40 * US, 2 * S, -S])
def test_a_peer_asked_before_its_own_recording_is_one_clock_if_it_did_not_sleep(tmp_path, more_ns):
    """Told by how long it had slept in its boot, each time."""
    asked, later_ns = file_of(0, [1], slept_ns=7 * S), 3600 * S
    first = clock_ns(1, START + later_ns)
    readings = [(BOOTTIME, first, 1), (MONOTONIC, first - 7 * S - more_ns, 1)]
    own = boot_packet(BOOTS[1]) + snapshot_packet(1, BOOTTIME, readings, b"")
    own += trace(*(event(first + k * S, BOOTTIME) for k in range(60)))
    files = {"a": asked, "b": own}
    if abs(more_ns) < S:
        report = merged(tmp_path, files)
        assert report.files[1].half_width_ns is not None
        off = report.files[1].offset_ns - (clock_ns(0, START + later_ns) - first)
        assert abs(off) <= report.files[1].worst_half_width_ns
    else:
        with pytest.raises(tt.UsageError, match="nothing ties"):
            merged(tmp_path, files)


@pytest.mark.parametrize(("slept_ns", "are_tied"), [((0, 0), True), ((0, S), False)])
def test_a_peer_that_two_asked_at_different_times(tmp_path, slept_ns, are_tied):
    files = {
        "a": file_of(0, [1], slept_ns=slept_ns[0]),
        "c": file_of(2, [1], slept_ns=slept_ns[1], from_ns=START + 1000 * S),
    }
    if are_tied:
        assert merged(tmp_path, files).files[1].half_width_ns is not None
    else:
        with pytest.raises(tt.UsageError, match="nothing ties"):
            merged(tmp_path, files)


def test_without_the_boot_nothing_ties_them(tmp_path):
    no_boots = [b""] * 3
    files = {"a": file_of(0, [1], boots=no_boots), "b": file_of(1)}
    with pytest.raises(tt.UsageError, match="nothing ties b.pftrace to a.pftrace"):
        merged(tmp_path, files)


def test_a_boot_that_several_files_of_different_machines_have_proves_nothing(tmp_path):
    files = {"a": file_of(0, [1]), "b": file_of(1), "c": file_of(1)}
    with pytest.raises(tt.UsageError, match="nothing ties b.pftrace to a.pftrace"):
        merged(tmp_path, files, different=["b.pftrace,c.pftrace"])


def test_a_peer_that_says_this_file_s_own_boot_is_another_machine(tmp_path):
    """Whoever lies so makes no clock two."""
    data = file_of(0, [1], boots=[BOOTS[0]] * 3)
    report = merged(tmp_path, {"a": data, "b": file_of(0)})
    assert report.files[1].offset_ns == 0
    assert report.boots[0].same
