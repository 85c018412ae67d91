"""What traces of very many machines may take: work is counted, there are no timings."""

import subprocess
import sys
from importlib import import_module

import pytest
from building import BOOTTIME, event, snapshot, trace
from hypothesis import given
from hypothesis import strategies as st
from reading import opened

from fuzz import costly
from tracetime import ClockId, TraceError
from tracetime.commands import show
from tracetime.graph.contents import Contents
from tracetime.graph.tube.machines import Machines

pytest_plugins = ["cli"]

COLLECTIONS = """
import gc, sys
from tracetime.commands import main
seen = []
gc.callbacks.append(lambda phase, info: seen.append(phase))
sys.argv = ["tracetime", "convert", *sys.argv[1:]]
try:
    main()
except SystemExit:
    print(len(seen) // 2, file=sys.stderr)
"""


def test_a_command_seldom_collects_garbage(write, tmp_path):
    path = write(b"".join(costly.machines_synced(4000)))
    done = subprocess.run(
        [sys.executable, "-c", COLLECTIONS, path, "-o", str(tmp_path / "o.parquet")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stderr) < 10


def test_what_floor_costs_needs_no_list_of_all_snapshots(tracetime, write, tmp_path, monkeypatch):
    path = write(b"".join(costly.machines_synced(300)))
    monkeypatch.setattr(Contents, "series", lambda self: pytest.fail("all of them"))
    code, text, _ = tracetime("convert", path, "-o", tmp_path / "o.parquet")
    assert code == 0
    assert "BOOTTIME@machine300" in text


@pytest.mark.parametrize("command", ["clocks", "convert"])
def test_only_rows_that_are_printed_are_made(command, tracetime, write, tmp_path, monkeypatch):
    path = write(b"".join(costly.machines_synced(50)))
    made = []
    module = import_module(f"tracetime.commands.{command}")
    monkeypatch.setattr(show, "MOST_ROWS", 5)
    cells = module._clock_cells
    monkeypatch.setattr(module, "_clock_cells", lambda *row: made.append(row) or cells(*row))
    options = ["-o", tmp_path / "o.parquet"] if command == "convert" else []
    code, text, _ = tracetime(command, path, *options)
    assert code == 0
    assert "and 47 more lines (--json has all)" in text
    assert len(made) == 5


LINKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=12)


@given(LINKS, LINKS)
def test_machines_are_tied_that_links_lead_between(bounded, read):
    def clocks(links):
        return [(ClockId(BOOTTIME, machine=a), ClockId(BOOTTIME, machine=b)) for a, b in links]

    machines = Machines(lambda: clocks(read), clocks(bounded), lambda one, other: True)
    groups = [{machine} for machine in range(13)]
    for a, b in bounded + read:
        joined = next(g for g in groups if a in g) | next(g for g in groups if b in g)
        groups = [g for g in groups if not g & joined] + [joined]
    for a in range(13):
        for b in range(13):
            tied = machines.are_tied(ClockId(BOOTTIME, machine=a), ClockId(BOOTTIME, machine=b))
            assert tied == any({a, b} <= group for group in groups)


def test_a_snapshot_of_more_readings_than_clocks_are_allowed_is_refused():
    """However often it repeats them: each takes memory before it is known for a repetition."""
    repeated = costly.snapshot([(BOOTTIME, 5)] * 50)
    data = trace(snapshot({BOOTTIME: 5}), event(7)) + repeated
    with opened(data, max_clocks=50) as t:
        t.read_all()
        assert [fault.clock for fault in t.faults] == [ClockId(BOOTTIME)]
    with (
        opened(data, max_clocks=49) as t,
        pytest.raises(TraceError, match=r"more than 49 clocks.*\(max_clocks, --max-clocks\)"),
    ):
        t.read_all()
