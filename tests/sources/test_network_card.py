"""Which PTP clock a network interface stamps with: the bytes of ethtool's call, and the kernel's."""

import ctypes
import errno
import os
import struct
import sys
from functools import partial
from pathlib import Path

import pytest
from ptp_device import World

from tracetime.errors import SourceError
from tracetime.sources import local, ptp
from tracetime.sources.local import LocalClocks
from tracetime.sources.ptp import PtpClock, PtpClocks
from tracetime.sources.ptp_ioctl import CardStamps, card_stamps, cards_of_clock, clock_of_card

SOFTWARE, ALL_HARDWARE = 0b0001_1010, 0b0100_0101
CARDS = {"eth0": (0, ALL_HARDWARE), "eth0.7": (0, SOFTWARE), "wlan0": (-1, SOFTWARE)}


def ethtool(fd, request, data):
    """The kernel's side: struct ifreq in, struct ethtool_ts_info out."""
    assert (request, len(data)) == (0x8946, 40)
    name, address = struct.unpack_from("@16sP", data)
    (command,) = struct.unpack("=I", ctypes.string_at(address, 4))
    assert command == 0x41
    card = name.rstrip(b"\0").decode()
    if card == "tap0":
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")
    if card not in CARDS:
        raise OSError(errno.ENODEV, "No such device")
    number, stamps = CARDS[card]
    info = struct.pack("=IIiI3II3I", command, stamps, number, 3, 0, 0, 0, 0x5FFF, 0, 0, 0)
    assert len(info) == 44
    ctypes.memmove(address, info, len(info))
    return 0


@pytest.mark.parametrize(
    ("card", "stamps"),
    [
        ("eth0", CardStamps(0, sent=True, received=True)),
        ("eth0.7", CardStamps(0, sent=False, received=False)),
        ("wlan0", CardStamps(None, sent=False, received=False)),
    ],
)
def test_a_card_says_its_clock_and_what_it_stamps(card, stamps):
    assert card_stamps(card, ethtool) == stamps


@pytest.mark.parametrize(("only", "sent", "received"), [(0b100_0001, 1, 0), (0b100_0100, 0, 1)])
def test_cards_may_stamp_one_direction(monkeypatch, only, sent, received):
    monkeypatch.setitem(CARDS, "eth0", (0, only))
    assert card_stamps("eth0", ethtool) == (0, sent, received)


@pytest.mark.parametrize(
    ("card", "says"),
    [
        ("eth9", "eth9: there is no such network interface: `ip link` lists them"),
        ("tap0", r"tap0: its driver does not say which clock it has \(Operation not supported\)"),
        ("wlan0", "wlan0 has no PTP hardware clock: the host stamps its packets"),
        ("a-name-of-16-let", "'a-name-of-16-let' is no network interface"),
        ("", "'' is no network interface"),
        ("e\0", "is no network interface"),
    ],
)
def test_a_card_without_a_clock_is_named(card, says):
    with pytest.raises(SourceError, match=says):
        clock_of_card(card, ethtool)


def test_the_cards_of_a_clock(tmp_path):
    for name in (*CARDS, "tap0", "a-very-long-name-of-a-file"):
        (tmp_path / name).mkdir()
    assert cards_of_clock(0, ethtool, tmp_path) == ["eth0", "eth0.7"]
    assert cards_of_clock(1, ethtool, tmp_path) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux has it")
class TestLinux:
    def test_the_loopback_has_no_clock(self):
        assert card_stamps("lo").clock is None
        with pytest.raises(SourceError, match="lo has no PTP hardware clock"):
            LocalClocks().find("ptp:lo")

    def test_every_interface_answers_or_says_why_not(self):
        for path in Path("/sys/class/net").iterdir():
            try:
                number = card_stamps(path.name).clock
            except SourceError as error:
                assert "its driver does not say" in str(error)
            else:
                assert number is None or Path(f"/sys/class/ptp/ptp{number}").exists()

    def test_an_interface_that_is_not_there(self):
        with pytest.raises(SourceError, match="there is no such network interface"):
            LocalClocks().find("ptp:nowhere0")

    def test_no_descriptor_is_left_open(self):
        def count():
            return sum(1 for _ in os.scandir("/proc/self/fd"))

        before = count()
        card_stamps("lo")
        assert count() == before


@pytest.fixture
def machine(tmp_path, monkeypatch):
    (tmp_path / "ptp0").touch()
    world = World()
    made = partial(PtpClocks, tmp_path, tmp_path, world.ioctl, world.pair)
    monkeypatch.setattr(local, "PtpClocks", made)
    monkeypatch.setattr(local, "clock_of_card", partial(clock_of_card, ioctl=ethtool))
    clocks = LocalClocks()
    yield clocks
    clocks.close()


@pytest.mark.parametrize("name", ["ptp:eth0", "PTP:eth0.7"])
def test_a_clock_is_found_by_its_interface(machine, name):
    ((found, _, _),) = machine.find(name)
    assert found == "dev.tracetime.ptp.0"
    assert machine.short_name(found) == "ptp:0"


def test_a_clock_says_whose_it_is(tmp_path, monkeypatch):
    (tmp_path / "ptp0").touch()
    monkeypatch.setattr(ptp, "cards_of_clock", lambda number, ioctl: ["eth0", "eth1"][number:])
    world = World()
    clock = PtpClock(0, folder=tmp_path, names=tmp_path, ioctl=world.ioctl, pair=world.pair)
    assert clock.note(clock.clock) == (
        "a PTP hardware clock, the clock of eth0 and eth1, read by PTP_SYS_OFFSET_PRECISE"
    )
    clock.close()
