"""Peers of recordings that reply over UDP on this machine, and over the pipes of a process."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from live import wait_for
from replying import Server

import tracetime as tt
from tracetime import ClockId, Peer, UsageError
from tracetime.hosts import peer, servers
from tracetime.hosts import peer as peers
from tracetime.hosts.messages import boottime_ns
from tracetime.hosts.peer import NO_REPLY, RESTARTED
from tracetime.sources.posix import boot_id

HERE = ClockId(6)
OTHER_BOOT = b"\x5a" * 16
needs_boot_id = pytest.mark.skipif(not boot_id(), reason="this system has no boot id")


@pytest.fixture
def server():
    found = Server()
    yield found
    if found.is_open:
        found.close()


def bar(path, at_ns, machine=1):
    """How far the machine's BOOTTIME, which is this machine's, may be ahead."""
    with tt.open_trace(path) as trace:
        found = trace.clocks.convert(
            at_ns, HERE, ClockId(6, machine=machine), policy="tube", bounds=True
        )
        return found.earliest - at_ns, found.latest - at_ns


def recorded(path, *given, until=2, **options):
    """Record until each peer has so many exchanges; returns the recording, and an instant of it."""
    with tt.record(path, ("MONOTONIC",), 0.01, peers=given, **options) as rec:
        wait_for(lambda: all(peer.exchanges >= until for peer in given))
        at_ns = boottime_ns()
    return rec, at_ns


def test_a_recording_ties_each_of_its_peers(server, tmp_path):
    other = Server()
    given = [Peer(server.address), Peer(other.address)]
    rec, at_ns = recorded(tmp_path / "a.pftrace", *given)
    other.close()
    assert rec.problems == []
    assert sorted(peer.machines for peer in given) == [[1], [2]]
    for machine in (1, 2):
        earliest, latest = bar(rec.path, at_ns, machine)
        assert earliest <= 0 <= latest
    with tt.open_trace(rec.path) as trace:
        assert [finding.code for finding in tt.diagnose(trace) if finding.severity != "info"] == []


def test_over_pipes(tmp_path, monkeypatch):
    serve = [sys.executable, "-m", "tracetime", "serve", "--stdio"]
    monkeypatch.setattr(peers, "ssh_command", lambda *_, **__: serve)
    rec, at_ns = recorded(tmp_path / "a.pftrace", Peer("ssh://worker7"))
    assert rec.problems == []
    earliest, latest = bar(rec.path, at_ns)
    assert earliest <= 0 <= latest


@pytest.mark.filterwarnings("ignore:recording")
def test_a_peer_that_cannot_be_reached_is_a_problem_and_the_recording_goes_on(
    tmp_path, monkeypatch
):
    fails = [sys.executable, "-c", "import sys; sys.exit('worker7: no such host')"]
    monkeypatch.setattr(peers, "ssh_command", lambda host, **_: fails if "ssh" in host else None)
    monkeypatch.setattr(peer, "_SOONEST_S", 0.01)
    given = [
        Peer("ssh://worker7"),
        Peer("127.0.0.1:1", timeout_s=0.05),
        Peer("no.such.host.invalid:1"),
    ]
    with tt.record(tmp_path / "a.pftrace", interval=0.01, peers=given) as rec:
        wait_for(lambda: len({problem.what for problem in rec.problems}) == 3)
        rec.instant("here")
    said = {problem.what: problem.message for problem in rec.problems}
    assert said["127.0.0.1:1"] == NO_REPLY
    assert "ended" in said["ssh://worker7"]
    assert "It says: worker7: no such host" in said["ssh://worker7"]
    assert "cannot find" in said["no.such.host.invalid:1"]
    assert [peer.exchanges for peer in given] == [0, 0, 0]
    with tt.open_trace(rec.path) as trace:
        assert trace.machines == [0]


@pytest.mark.filterwarnings("ignore:recording")
def test_a_peer_that_is_lost_and_starts_again_is_another_machine(server, tmp_path):
    peer = Peer(server.address, timeout_s=0.05)
    with tt.record(tmp_path / "a.pftrace", interval=0.01, peers=[peer]) as rec:
        wait_for(lambda: peer.exchanges > 1)
        server.close()
        wait_for(lambda: NO_REPLY in [problem.message for problem in rec.problems])
        again = Server(server.address)
        wait_for(lambda: len(peer.machines) > 1)
        # The machine is there before the exchange that it is for.
        before = peer.exchanges
        wait_for(lambda: peer.exchanges > before)
        at_ns = boottime_ns()
    again.close()
    assert peer.machines == [1, 2]
    assert {problem.message for problem in rec.problems} == {NO_REPLY, RESTARTED}
    for machine in (1, 2):
        earliest, latest = bar(rec.path, at_ns, machine)
        assert earliest <= 0 <= latest


@pytest.mark.filterwarnings("ignore:recording")
def test_the_end_does_not_wait_for_a_reply(tmp_path):
    """The peer would have a minute to reply."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        peer = Peer(f"127.0.0.1:{silent.getsockname()[1]}", timeout_s=60)
        with tt.record(tmp_path / "a.pftrace", peers=[peer]) as rec:
            silent.recv(100)
    assert not peer._thread.is_alive()
    (problem,) = rec.problems
    assert problem.what == peer.name
    assert problem.message.startswith("no exchange in ")


@pytest.mark.filterwarnings("ignore:recording")
def test_the_end_ends_a_script_in_the_place_of_ssh_and_what_it_runs(tmp_path, monkeypatch):
    """What it runs keeps the pipe open."""
    pid = tmp_path / "pid"
    waits = f"echo $$ > {pid}.part; mv {pid}.part {pid}; exec sleep 1000"
    monkeypatch.setattr(peers, "ssh_command", lambda *_, **__: ["sh", "-c", f"({waits}); true"])
    peer = Peer("ssh://worker7")
    with tt.record(tmp_path / "a.pftrace", peers=[peer]):
        wait_for(pid.exists)
    # It would wait for 60 s for a reply.
    peer._thread.join(600)
    assert not peer._thread.is_alive()


def test_a_forked_child_asks_nobody_and_the_parent_goes_on(server, tmp_path):
    peer = Peer(server.address)
    with tt.record(tmp_path / "a.pftrace", interval=0.01, peers=[peer]) as rec:
        wait_for(lambda: peer.exchanges > 1)
        pid = os.fork()
        if pid == 0:
            rec.instant("in the child")
            rec.close()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        n = peer.exchanges
        wait_for(lambda: peer.exchanges > n + 1)
    assert [problem for problem in rec.problems if problem.what == peer.name] == []
    assert b"in the child" in Path(rec.path).read_bytes()


@needs_boot_id
def test_the_boot_of_another_machine_is_in_the_trace_and_this_one_s_is_not(tmp_path, monkeypatch):
    same = Server()
    monkeypatch.setattr(servers, "boot_id", lambda: OTHER_BOOT)
    other = Server()
    given = [Peer(same.address), Peer(other.address)]
    rec, _ = recorded(tmp_path / "a.pftrace", *given)
    same.close()
    other.close()
    (machine,) = given[1].machines
    with tt.open_trace(rec.path) as trace:
        assert trace.boots == {0: boot_id(), trace.machines.index(machine): OTHER_BOOT}


@needs_boot_id
def test_the_other_machine_s_own_recording_merges_without_options(tmp_path, monkeypatch):
    monkeypatch.setattr(servers, "boot_id", lambda: OTHER_BOOT)
    server = Server()
    other = tmp_path / "b.pftrace"
    with tt.record(other, interval=0.01) as there:
        there.instant("b")
        with tt.record(
            tmp_path / "a.pftrace", interval=0.01, peers=[peer := Peer(server.address)]
        ) as here:
            wait_for(lambda: peer.exchanges > 2)
            here.instant("a")
        there.instant("b")
    server.close()
    other.write_bytes(other.read_bytes().replace(boot_id(), OTHER_BOOT))
    report = tt.merge([here.path, other], tmp_path / "merged.pftrace")
    assert not report.boots[0].same
    (tie,) = (tie for tie in report.files[1].ties if tie.kind == "clocks")
    assert (
        tie.said
        == f"one boot: machine 1 of a.pftrace is the machine of b.pftrace, boot {OTHER_BOOT.hex()}"
    )
    found = report.files[1]
    assert abs(found.offset_ns) <= found.half_width_ns


@pytest.mark.parametrize(
    ("host", "says"), [("worker7", "no ADDRESS:PORT"), ("ssh://-v", "no ssh://"), ("a:70000", "no")]
)
def test_what_is_no_host_is_refused_at_once(host, says):
    with pytest.raises(UsageError, match=says):
        Peer(host)


def test_a_peer_is_of_one_recording(server, tmp_path):
    peer = Peer(server.address)
    recorded(tmp_path / "a.pftrace", peer)
    path = tmp_path / "b.pftrace"
    with pytest.raises(UsageError, match="is of another recording: make a new one"):
        tt.record(path, peers=[peer])
    assert not path.exists()


def test_a_host_that_is_written_in_two_ways_is_given_twice(tmp_path):
    for one, other in (("127.0.0.1:1", "udp://127.0.0.1:1"), ("ssh://a", "ssh://a/")):
        with pytest.raises(UsageError, match="is given twice"):
            tt.record(tmp_path / "a.pftrace", peers=[Peer(one), Peer(other)])


def test_keys_are_for_udp(tmp_path):
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    key.chmod(0o600)
    Peer("127.0.0.1:1", key_file=key)
    with pytest.raises(UsageError, match="ssh needs no key"):
        Peer("ssh://worker7", key_file=key)
    with pytest.raises(UsageError, match="timeout_s is 0"):
        Peer("127.0.0.1:1", timeout_s=0)
