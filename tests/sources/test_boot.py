"""Which boot this machine's clocks count from."""

from uuid import UUID

import pytest

from tracetime.sources.posix import boot_id

ID = "724ff91a-08b3-4dd9-afaf-c7aa404b78b7"


@pytest.mark.parametrize(
    ("offsets", "known"),
    [
        (None, True),
        ("monotonic           0         0\nboottime            0         0\n", True),
        ("monotonic           0         0\nboottime           10         0\n", False),
        ("monotonic           0        -5\nboottime            0         0\n", False),
        ("monotonic one two\n", False),
    ],
)
def test_a_time_namespace_with_clocks_of_its_own_is_of_no_boot(tmp_path, offsets, known):
    path, of_namespace = tmp_path / "boot_id", tmp_path / "timens_offsets"
    path.write_text(ID + "\n")
    if offsets is not None:
        of_namespace.write_text(offsets)
    assert boot_id(path, of_namespace) == (UUID(ID).bytes if known else b"")


@pytest.mark.parametrize("content", [None, "", "no id\n"])
def test_a_system_without_boot_ids_has_none(tmp_path, content):
    path = tmp_path / "boot_id"
    if content is not None:
        path.write_text(content)
    assert boot_id(path, tmp_path / "missing") == b""
