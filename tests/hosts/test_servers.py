"""Real servers: over UDP on loopback, and over the pipes of a process."""

import fcntl
import io
import os
import re
import resource
import secrets
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from random import Random

import pytest
from replying import LIMIT_S

from tracetime.errors import NoBoundError, SourceError, UsageError
from tracetime.hosts.addresses import resolve, ssh_command
from tracetime.hosts.messages import LENGTH, OffsetBounds, boottime_ns, read_reply, write_request
from tracetime.hosts.ping import Pinging, ping
from tracetime.hosts.servers import UdpServer, _host, serve_pipes
from tracetime.hosts.stamps import KernelClock, StampedTimes
from tracetime.hosts.transports import PipeTransport, UdpTransport

NONCE = bytes(range(16))
BINDS = ["127.0.0.1:0", "[::1]:0"] if Path("/proc/net/if_inet6").exists() else ["127.0.0.1:0"]
MS = 1_000_000


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "ping.key"
    path.write_bytes(secrets.token_hex(16).encode())
    path.chmod(0o600)
    return path


@pytest.fixture
def serving(monkeypatch):
    """Starts `tracetime serve` with options; returns its address and the process."""
    processes = []

    def start(*options, bind="127.0.0.1:0"):
        process = subprocess.Popen(
            [sys.executable, "-m", "tracetime", "serve", "--bind", bind, *map(str, options)],
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        said = process.stderr.readline()
        return re.match(r"replying on (\S+);", said)[1], process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stderr.close()


def ask(address, data, least=1):
    """Send datagrams; return what comes back: so many replies, and what follows at once."""
    family, place = resolve(address)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect(place)
        for one in data:
            sock.send(one)
        found = []
        try:
            while True:
                sock.settimeout(LIMIT_S if len(found) < least else 0.05)
                found.append(sock.recv(4096))
        except TimeoutError:
            return found


@pytest.mark.parametrize("bind", BINDS)
def test_this_machine_is_not_ahead_of_itself(serving, bind):
    address, _ = serving(bind=bind)
    found = ping(address, bursts=2)
    assert found.earliest_ns <= 0 <= found.latest_ns
    assert abs(found.offset_ns) <= found.half_width_ns
    assert (found.host, found.rounds, found.sent) == (address, 2, 16)
    assert (found.restarts, found.void) == (0, 0)


def test_with_a_key_both_sides_need_it(serving, key_file, tmp_path):
    address, process = serving("--key-file", key_file)
    found = ping(address, bursts=1, key_file=key_file)
    assert found.earliest_ns <= 0 <= found.latest_ns
    other = tmp_path / "other"
    other.write_bytes(b"another key of sixteen bytes")
    other.chmod(0o600)
    for wrong in (None, other):
        with pytest.raises(NoBoundError, match="with the same key"):
            ping(address, bursts=1, key_file=wrong, timeout_s=0.1)
    ping(address, bursts=1, key_file=key_file)
    process.send_signal(signal.SIGTERM)
    assert process.stderr.read().startswith("16 replied, 2 malformed")


def test_who_is_not_there_does_not_reply():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        with pytest.raises(NoBoundError, match="no reply"):
            ping(f"127.0.0.1:{port}", bursts=1, timeout_s=0.05)
    with pytest.raises(NoBoundError, match="no reply"):
        ping(f"127.0.0.1:{port}", bursts=2, timeout_s=0.05)


def leads_to(monkeypatch, *places):
    """Let each name lead to these places."""

    def found(name, port, **_):
        return [(family, socket.SOCK_DGRAM, 17, "", place) for family, place in places]

    monkeypatch.setattr(socket, "getaddrinfo", found)


def test_of_the_places_of_a_name_the_one_that_replies_is_asked(serving, monkeypatch):
    address, _ = serving()
    port = int(address.rpartition(":")[2])
    nowhere, nobody = (0, ("127.0.0.1", port)), (socket.AF_INET, ("127.0.0.2", port))
    leads_to(monkeypatch, nowhere, nobody, nobody, (socket.AF_INET, ("127.0.0.1", port)))
    found = ping("worker7:9010", bursts=1, timeout_s=LIMIT_S)
    assert (found.sent, found.lost) == (8, 0)


def test_a_place_that_is_silent_gives_way_to_the_next_one(serving, monkeypatch):
    address, _ = serving()
    port = int(address.rpartition(":")[2])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.2", port))
        leads_to(monkeypatch, *((socket.AF_INET, (f"127.0.0.{k}", port)) for k in (2, 1)))
        transport = UdpTransport("worker7:9010")
        try:
            exchange = partial(transport.exchange, write_request(NONCE), read_reply)
            assert exchange(0.01) is None
            assert exchange(LIMIT_S).reply.nonce == NONCE
            # Who has replied is asked from then on, also where a reply is lost.
            assert transport.exchange(write_request(NONCE), lambda data: None, 0.01) is None
            assert exchange(LIMIT_S).reply.nonce == NONCE
            assert len(silent.recv(200)) == LENGTH
            silent.setblocking(False)
            with pytest.raises(BlockingIOError):
                silent.recv(200)
        finally:
            transport.close()


def test_where_no_other_place_can_be_connected_to_all_is_closed_once(monkeypatch):
    nobody, nowhere = (socket.AF_INET, ("127.0.0.2", 9)), (0, ("127.0.0.1", 9))
    leads_to(monkeypatch, nobody, nowhere)
    before = {*Path("/proc/self/fd").iterdir()}
    transport = UdpTransport("worker7:9010")
    # Its only place is gone meanwhile.
    transport._places[-2] = nowhere
    with pytest.raises(SourceError, match="cannot reach worker7:9010"):
        transport.exchange(write_request(NONCE), read_reply, 0.05)
    transport.close()
    assert {*Path("/proc/self/fd").iterdir()} == before


def test_a_name_that_leads_nowhere_cannot_be_reached(monkeypatch):
    leads_to(monkeypatch, (0, ("127.0.0.1", 9010)))
    with pytest.raises(SourceError, match="cannot reach worker7:9010: Address family"):
        UdpTransport("worker7:9010")


def test_replies_are_no_longer_than_requests_and_of_the_rate_that_is_given(serving):
    address, _ = serving("--per-second", 5)
    begun = time.monotonic()
    found = ask(address, [write_request(secrets.token_bytes(16)) for _ in range(40)], least=5)
    assert 5 <= len(found) <= 6 + 5 * (time.monotonic() - begun)
    assert {len(one) for one in found} == {LENGTH}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.8", False),
    ],
)
def test_who_is_limited(one, other, same):
    """An address of IPv4; of IPv6 a network of 64 bits. The port does not count."""

    def limited(address, port):
        if ":" in address:
            packed = socket.inet_pton(socket.AF_INET6, address)
            return _host(struct.pack("=HHI16sI", socket.AF_INET6, port, 0, packed, 0))
        packed = socket.inet_aton(address)
        return _host(struct.pack("=HH4s8x", socket.AF_INET, port, packed))

    assert (limited(one, 9010) == limited(other, 50_000)) == same


def test_datagrams_that_are_no_requests_get_nothing(serving):
    address, process = serving()
    random = Random(2)
    bad = [random.randbytes(random.randrange(200)) for _ in range(300)]
    bad += [write_request(NONCE)[:k] for k in range(LENGTH)]
    bad += [write_request(NONCE) + b"\0"]
    parts = range(0, len(bad), 40)  # So many fit in the buffer of a socket.
    for k in parts:
        found = ask(address, [*bad[k : k + 40], write_request(NONCE)])
        assert [read_reply(one).nonce for one in found] == [NONCE]
    process.send_signal(signal.SIGINT)
    assert f"{len(parts)} replied, {len(bad)} malformed" in process.stderr.read()


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_other_machines_need_a_key(address):
    with pytest.raises(UsageError, match="give --key-file"):
        UdpServer(address)


def test_a_port_in_use_is_refused(serving):
    address, _ = serving()
    with pytest.raises(UsageError, match="in use"):
        UdpServer(address)


@pytest.mark.parametrize(
    "address", ["", "here", "127.0.0.1", ":80", "127.0.0.1:x", "127.0.0.1:65536", "::1:80", "a/b:1"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="is no ADDRESS:PORT"):
        resolve(address)


@pytest.mark.parametrize(
    ("host", "more"),
    [
        ("ssh://worker7", ["--", "worker7"]),
        ("ssh://me@worker7.example:2222", ["-p", "2222", "--", "me@worker7.example"]),
        ("ssh://[fe80::1%eth0]/", ["--", "fe80::1%eth0"]),
    ],
)
def test_ssh_starts_the_other_side(host, more):
    assert ssh_command(host) == ["ssh", "-T", *more, "tracetime", "serve", "--stdio"]


@pytest.mark.parametrize(
    "host",
    ["ssh://", "ssh://-oProxyCommand=x", "ssh://-v", "ssh://a b", "ssh://a:70000", "ssh://a;b"],
)
def test_what_ssh_would_take_for_something_else_is_refused(host):
    with pytest.raises(UsageError, match="is no ssh://"):
        ssh_command(host)


def test_over_pipes_this_machine_is_not_ahead_of_itself(tmp_path, monkeypatch):
    """With an `ssh` that runs the command here."""
    ssh = tmp_path / "ssh"
    ssh.write_text(
        f'#!/bin/sh\nwhile [ "$1" != tracetime ]; do shift; done; shift\n'
        f'exec {sys.executable} -m tracetime "$@"\n'
    )
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = ping("ssh://worker7", bursts=2)
    assert found.earliest_ns <= 0 <= found.latest_ns
    assert (found.rounds, found.lost) == (2, 0)


@pytest.mark.parametrize(
    ("command", "within_s", "says"),
    [
        (["sh", "-c", "echo Welcome; yes | head -c 500; cat"], LIMIT_S, "printed something else"),
        (["sh", "-c", "head -c 10 /dev/zero; sleep 1000"], 0.5, "stopped within a reply"),
        (["true"], LIMIT_S, "ended: does"),
    ],
)
def test_another_program_at_the_other_end_is_told(command, within_s, says):
    transport = PipeTransport(command)
    try:
        with pytest.raises(SourceError, match=says):
            while True:
                Pinging(transport, first_timeout_s=within_s).burst()
    finally:
        transport.close()


def test_who_reads_no_requests_does_not_stop_the_asking():
    transport = PipeTransport(["sleep", "1000"])
    fcntl.fcntl(transport._process.stdin, fcntl.F_SETPIPE_SZ, 4096)
    made = []

    def ask():
        for _ in range(2 * 4096 // LENGTH):
            made.append(transport.exchange(write_request(NONCE), read_reply, 0.001))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    transport.interrupt()
    assert not thread.is_alive()
    assert made == [None] * (2 * 4096 // LENGTH)
    transport.close()


def test_more_files_than_select_takes_are_open():
    """select(2) takes descriptors below 1024."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    files = []
    try:
        files += (os.dup(0) for _ in range(1024))
        transport = PipeTransport([sys.executable, "-m", "tracetime", "serve", "--stdio"])
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    try:
        assert transport._process.stdout.fileno() > 1024
        assert Pinging(transport, first_timeout_s=LIMIT_S).run(1) is not None
    finally:
        transport.close()


def test_no_such_program():
    with pytest.raises(SourceError, match="cannot start no-such-program"):
        PipeTransport(["no-such-program"])


def test_pipes_end_where_something_else_comes_in():
    replies = io.BytesIO()
    requests = write_request(NONCE) + b"something else" + write_request(NONCE)
    responder = serve_pipes(io.BytesIO(requests), replies)
    assert (responder.counts.replied, responder.counts.malformed) == (1, 1)
    assert read_reply(replies.getvalue()).nonce == NONCE


def test_without_stamps_of_the_kernel_the_bar_holds_too(monkeypatch):
    monkeypatch.setattr("tracetime.hosts.stamps._SO_TIMESTAMPING", -1)
    server = UdpServer("127.0.0.1:0")
    thread = threading.Thread(target=lambda: [server.serve_one() for _ in range(8)], daemon=True)
    thread.start()
    transport = UdpTransport(server.address)
    try:
        assert transport._socket.times is None
        found = Pinging(transport).run(1)
        assert found.earliest_ns <= 0 <= found.latest_ns
    finally:
        thread.join(600)
        transport.close()
        server.close()


@pytest.mark.parametrize(
    "given",
    [
        {"bursts": 0},
        {"bursts": 10_001},
        {"target_error_ns": 0},
        {"timeout_s": 0},
        {"timeout_s": 61},
    ],
)
def test_numbers_out_of_range_are_refused(given):
    with pytest.raises(UsageError, match=next(iter(given))):
        ping("127.0.0.1:9", **given)


class LateStamps:
    """A socket of a machine whose REALTIME is set right before it gives the stamp of a reply.

    Attributes:
        now: BOOTTIME, which is REALTIME until that is set 1 ms ahead.
        left_at: BOOTTIME when its reply left.
    """

    def __init__(self, read_ns):
        self.read_ns, self.ahead, self.set = read_ns, 0, False
        self.left_at = 0
        self.times = StampedTimes(KernelClock(self.bracket, self.was_set))

    def bracket(self):
        return OffsetBounds(self.read_ns(), -self.ahead, -self.ahead)

    def was_set(self):
        seen, self.set = self.set, False
        return seen

    def receive(self):
        return write_request(secrets.token_bytes(16)), None, self.read_ns(), bytes(16)

    def send(self, data, source):
        self.left_at = self.read_ns()
        time.sleep(0.002)
        return self.read_ns()

    def departures(self, most):
        if not most:
            return []
        self.ahead, self.set = MS, True
        return [(0, self.left_at + self.ahead)]

    def close(self):
        pass


def test_a_stamp_of_a_clock_that_was_just_set_makes_no_reply_later():
    server = UdpServer("127.0.0.1:0")
    server._socket.close()
    server._socket = stamps = LateStamps(boottime_ns)
    server.serve_one()
    left_at = stamps.left_at
    server.serve_one()
    ((_, said),) = server._left.values()
    assert said <= left_at


def test_ssh_takes_no_key(key_file):
    with pytest.raises(UsageError, match="leave the key out"):
        ping("ssh://worker7", key_file=key_file)
