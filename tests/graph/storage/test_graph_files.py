"""Files of graphs: written, replaced, read."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest
from saved_graphs import content

from tracetime import (
    ClockGraph,
    UsageError,
)
from tracetime.graph.storage.save import FACTS


def test_the_file_is_one_that_others_read(measured, tmp_path):
    measured.save(tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as file:
        facts = json.loads(file[FACTS])
        columns = {name: file[name] for name in file.files if name != FACTS}
    assert list(columns) == [
        "snapshot",
        "clock",
        "reading_ns",
        "centre_ns",
        "half_width_ns",
        "frequency_scaled_ppm",
    ]
    ids = [clock["id"] for clock in facts["clocks"]]
    for read in measured.readings():
        clock = ids.index(str(read.clock))
        here = (columns["clock"] == clock) & np.isin(columns["snapshot"], read.snapshots)
        assert columns["reading_ns"][here].tolist() == read.values_ns.tolist()
        assert columns["half_width_ns"][here].tolist() == read.half_width_ns.tolist()


def test_what_nothing_is_said_of_takes_no_room(indirect, tmp_path):
    indirect.save(tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as file:
        assert file.files == [FACTS, "snapshot", "clock", "reading_ns"]


def test_a_file_that_is_there_is_replaced_and_keeps_its_mode(indirect, measured, tmp_path):
    path, link = tmp_path / "graph.npz", tmp_path / "link"
    indirect.save(str(path))
    path.chmod(0o640)
    link.symlink_to(path)
    measured.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert content(ClockGraph.load(path)) == content(measured)
    assert sorted(tmp_path.iterdir()) == [path, link]


@pytest.mark.parametrize("where", ["", "none/graph.npz", "file/graph.npz", "a\0b", "x" * 300])
def test_a_file_that_cannot_be_written(indirect, tmp_path, where):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write"):
        indirect.save(tmp_path / where)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_fails_half_way_leaves_the_file_as_it_was(indirect, tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    indirect.save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tracetime.graph.storage.save._write", fail)
    with pytest.raises(UsageError, match="No space left"):
        indirect.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["", "none.arrow", "file/graph.npz", "a\0b"])
def test_a_file_that_cannot_be_read(tmp_path, where):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot read"):
        ClockGraph.load(tmp_path / where)


def test_a_device_or_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(UsageError, match=f"cannot read '{path}': it is not a file"):
            ClockGraph.load(path)
