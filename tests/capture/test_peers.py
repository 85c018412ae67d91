"""What a recording does for its peers, with peers that no network has."""

from __future__ import annotations

import os
import re
import threading

import pytest
from recorded import packets_of

import tracetime as tt
from tracetime import UsageError
from tracetime._kernels.perfetto.packets import machine_packet


class FakePeer:
    """Keeps what it gets."""

    most_files = 1

    def __init__(self, name="worker7", exchanges=1):
        self.name, self.exchanges = name, exchanges
        self.recording = None
        self.ends = 0
        # In which order peers are stopped and waited for.
        self.calls = []

    def check(self):
        pass

    def start(self, recording):
        self.recording = recording

    def stop(self):
        self.ends += 1
        self.calls.append(("stop", self.name))

    def join(self, timeout_s):
        assert 0 <= timeout_s <= 2
        self.calls.append(("join", self.name))


def machines_of(path):
    return [p.machine_id for p in packets_of(path.read_bytes()) if p.machine_id]


def test_a_peer_puts_packets_and_problems_into_the_recording(tmp_path):
    one, other = FakePeer(), FakePeer("worker8")
    with tt.record(tmp_path / "a.pftrace", peers=[one, other], interval=2) as rec:
        numbers = [peer.recording.new_machine() for peer in (one, other, one)]
        assert numbers == [1, 2, 3]
        for number in numbers:
            assert one.recording.put(machine_packet(number, "some"))
        with pytest.warns(UserWarning, match="worker8: is slow"):
            other.recording.note("is slow")
        assert (one.recording.interval_s, one.recording.target_error_ns) == (2, None)
    assert machines_of(tmp_path / "a.pftrace") == numbers
    assert [tuple(problem) for problem in rec.problems] == [("worker8", "is slow", 1)]
    assert (one.ends, other.ends) == (1, 1)


def test_after_the_end_nothing_is_put_and_nothing_is_a_problem(tmp_path):
    peer = FakePeer()
    with tt.record(tmp_path / "a.pftrace", peers=[peer]) as rec:
        pass
    assert not peer.recording.put(machine_packet(1, "late"))
    peer.recording.note("late")
    assert rec.problems == []
    assert machines_of(tmp_path / "a.pftrace") == []


def test_all_are_stopped_before_one_is_waited_for(tmp_path):
    one, other = FakePeer(), FakePeer("worker8")
    other.calls = one.calls
    with tt.record(tmp_path / "a.pftrace", peers=[one, other]):
        pass
    assert one.calls == [(do, name) for do in ("stop", "join") for name in ("worker7", "worker8")]


@pytest.mark.filterwarnings("ignore:recording")
def test_who_has_no_exchange_at_the_end_is_a_problem_unless_it_has_one(tmp_path):
    silent, failed = FakePeer(exchanges=0), FakePeer("worker8", exchanges=0)
    with tt.record(tmp_path / "a.pftrace", peers=[silent, failed, FakePeer("worker9")]) as rec:
        failed.recording.note("cannot be reached")
    rec.close()
    (of_failed, of_silent) = rec.problems
    assert tuple(of_failed) == ("worker8", "cannot be reached", 1)
    assert (of_silent.what, of_silent.times) == ("worker7", 1)
    assert re.fullmatch(r"no exchange in .*s: its clock is not tied", of_silent.message)


def test_a_peer_that_puts_while_the_recording_ends_leaves_a_whole_file(tmp_path):
    peer, stop = FakePeer(), threading.Event()
    path = tmp_path / "a.pftrace"
    put = 0

    def go_on():
        nonlocal put
        while not stop.is_set():
            put += peer.recording.put(machine_packet(1, "again"))

    with tt.record(path, peers=[peer]):
        thread = threading.Thread(target=go_on)
        thread.start()
    stop.set()
    thread.join()
    assert len(machines_of(path)) == put


def test_max_size_holds_for_peers_too(tmp_path):
    peer, path = FakePeer(), tmp_path / "a.pftrace"
    with tt.record(path, peers=[peer], max_size=20_000, interval=60) as rec:
        packet = machine_packet(1, "x" * 1000)
        n = 0
        while peer.recording.put(packet):
            n += 1
        with pytest.warns(UserWarning, match="max_size"):
            rec.snapshot()
    assert 5 < n < 20
    assert path.stat().st_size <= 20_000
    assert len(machines_of(path)) == n


def test_peers_do_not_take_the_files_that_the_recording_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_OPEN_MAX": 102}.__getitem__)
    path = tmp_path / "a.pftrace"
    peers = [FakePeer(f"worker{k}") for k in range(3)]
    with pytest.raises(UsageError, match=r"some 103 files, and .* 102: .* `ulimit -n 103` does"):
        tt.record(path, peers=peers)
    assert not path.exists()
    with tt.record(path, peers=peers[:2]):
        pass


@pytest.mark.filterwarnings("ignore:recording")
def test_a_peer_that_gets_no_thread_is_a_problem_and_the_others_are_asked(tmp_path, monkeypatch):
    one, other = FakePeer(exchanges=0), FakePeer("worker8")

    def start(recording):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(one, "start", start)
    with tt.record(tmp_path / "a.pftrace", peers=[one, other]) as rec:
        assert other.recording is not None
    assert [tuple(problem) for problem in rec.problems] == [
        ("worker7", "it is not asked: can't start new thread", 1)
    ]


@pytest.mark.parametrize(
    ("peers", "options", "says"),
    [
        ([FakePeer(), FakePeer()], {}, "worker7 is given twice"),
        (["ssh://worker7"], {}, "a peer is no text: give tracetime.Peer"),
        ("ssh://worker7", {}, "a peer is no text: give tracetime.Peer"),
        ([FakePeer()], {"interval": None}, "give an interval"),
    ],
)
def test_peers_that_cannot_be(tmp_path, peers, options, says):
    path = tmp_path / "a.pftrace"
    with pytest.raises(UsageError, match=says):
        tt.record(path, peers=peers, **options)
    assert not path.exists()
