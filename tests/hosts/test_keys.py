"""The key of the messages: a file that nobody else may use."""

import os

import pytest

from tracetime.errors import UsageError
from tracetime.hosts.addresses import read_key


def written(path, content, mode=0o600):
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_key_is_its_bytes_without_the_end_of_the_line(tmp_path):
    assert read_key(written(tmp_path / "key", b"0123456789abcdef \n")) == b"0123456789abcdef"
    assert len(read_key(written(tmp_path / "key", b"k" * 1024 + b"\n"))) == 1024


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_key_that_others_may_use_is_refused(tmp_path, mode):
    with pytest.raises(UsageError, match="chmod 600"):
        read_key(written(tmp_path / "key", b"0123456789abcdef", mode))


@pytest.mark.parametrize("content", [b"", b"0123456789abcde\n", b"k" * 1025, b"k" * 10_000])
def test_a_key_that_is_short_or_long_is_refused(tmp_path, content):
    with pytest.raises(UsageError, match="it takes 16 to 1024"):
        read_key(written(tmp_path / "key", content))


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo", 0o600)
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(UsageError, match="is not a file"):
            read_key(path)
    with pytest.raises(UsageError, match="No such file"):
        read_key(tmp_path / "none")
    with pytest.raises(UsageError, match="null"):
        read_key("a\0b")
