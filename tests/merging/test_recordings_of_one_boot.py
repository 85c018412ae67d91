"""Recordings of this machine say which boot they are of, and merge without options."""

from __future__ import annotations

import pytest
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime.sources.posix import boot_id

needs_boot_id = pytest.mark.skipif(not boot_id(), reason="this system has no boot id")


def recorded(path, **options):
    with tt.record(path, interval=None, **options) as rec:
        rec.instant("here")
    return path


def facts_of(path):
    with tt.open_trace(path) as trace:
        return trace.machine_facts()


@needs_boot_id
def test_two_recordings_of_this_machine_are_of_one_boot(tmp_path):
    one, other = (recorded(tmp_path / f"{name}.pftrace") for name in "ab")
    assert facts_of(one).boot_id == facts_of(other).boot_id == boot_id()
    report = tt.merge([one, other], None)
    assert report.boots[0].same
    assert report.files[1].offset_ns == 0
    assert report.files[1].half_width_ns == 0


@needs_boot_id
def test_the_id_of_another_boot_keeps_them_apart(tmp_path):
    one, other = (recorded(tmp_path / f"{name}.pftrace") for name in "ab")
    content = other.read_bytes()
    assert content.count(boot_id()) == 1
    other.write_bytes(content.replace(boot_id(), b"\x5a" * 16))
    assert not tt.merge([one, other], None).boots[0].same


def test_clocks_that_are_not_this_machines_are_of_no_boot(tmp_path):
    path = recorded(tmp_path / "a.pftrace", sampler=Machine(usual_clocks()))
    assert facts_of(path).boot_id == b""
