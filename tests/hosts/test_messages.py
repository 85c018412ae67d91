"""The messages of an exchange: what is written is read back, and nothing else is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.hosts.messages import (
    LENGTH,
    Reply,
    read_reply,
    read_request,
    write_reply,
    write_request,
)

KEY = b"0123456789abcdef"
NONCE = bytes(range(16))
BOOT = bytes(range(100, 116))

keys = st.none() | st.binary(min_size=16, max_size=64)
nonces = st.binary(min_size=16, max_size=16)
stamps = st.integers(-(2**63), 2**63 - 1)
eight = st.binary(min_size=8, max_size=8)
replies = st.builds(Reply, nonces, eight, stamps, stamps, eight, stamps, nonces, stamps)


def test_a_request_byte_by_byte():
    assert write_request(NONCE) == b"ttEx\x03\x01\0\0" + NONCE + bytes(80)


def test_a_reply_byte_by_byte():
    written = write_reply(Reply(NONCE, b"epoch_id", 1, 2, b"earlier_", -3, BOOT, 4))
    numbers = (n.to_bytes(8, "big", signed=True) for n in (1, 2, -3, 4))
    received, replied, before, suspended = numbers
    head = b"ttEx\x03\x02\0\0" + NONCE + b"epoch_id"
    assert written == head + received + replied + b"earlier_" + before + BOOT + suspended + bytes(
        16
    )


@given(nonces, keys)
def test_a_request_is_read_with_its_key(nonce, key):
    written = write_request(nonce, key)
    assert len(written) == LENGTH
    assert read_request(written, key) == nonce
    assert read_reply(written, key) is None


@given(replies, keys)
def test_a_reply_is_read_with_its_key_and_as_long_as_a_request(reply, key):
    written = write_reply(reply, key)
    assert len(written) == len(write_request(reply.nonce, key))
    assert read_reply(written, key) == reply
    assert read_request(written, key) is None


@pytest.mark.parametrize("key", [None, b"fedcba9876543210"])
def test_what_another_key_signed_is_no_message(key):
    assert read_request(write_request(NONCE, KEY), key) is None
    assert read_request(write_request(NONCE, key), KEY) is None
    reply = Reply(NONCE, bytes(8), 1, 2)
    assert read_reply(write_reply(reply, KEY), key) is None
    assert read_reply(write_reply(reply, key), KEY) is None


@given(st.integers(0, LENGTH * 8 - 1), replies)
def test_each_bit_is_signed(bit, reply):
    for written, read in (
        (write_request(reply.nonce, KEY), read_request),
        (write_reply(reply, KEY), read_reply),
    ):
        changed = bytearray(written)
        changed[bit // 8] ^= 1 << bit % 8
        assert read(bytes(changed), KEY) is None


@given(st.binary(max_size=2 * LENGTH), keys)
def test_other_bytes_are_no_message(data, key):
    assert read_request(data, key) is None
    assert read_reply(data, key) is None


@given(st.binary(max_size=8), st.integers(0, LENGTH))
def test_a_length_of_its_own_is_no_message(more, end):
    written = write_request(NONCE)
    for data in (written[:end], written + more):
        assert read_request(data) == (NONCE if data == written else None)


def test_messages_of_version_1_are_none():
    """Its request had 80 bytes; as a part of ours, or filled up to our length, it is none either."""
    first = b"ttEx\x01\x01\0\0" + NONCE + bytes(56)
    for data in (first, first + bytes(LENGTH - len(first))):
        assert read_request(data) is None
    reply = bytearray(write_reply(Reply(NONCE, bytes(8), 1, 2)))
    reply[4] = 1
    assert read_reply(bytes(reply)) is None


@given(st.integers(24, LENGTH - 1), st.integers(1, 255))
def test_a_request_with_anything_after_its_nonce_is_none(place, byte):
    """Whoever has no key cannot send us bytes of a reply either."""
    data = bytearray(write_request(NONCE))
    data[place] = byte
    assert read_request(bytes(data)) is None
