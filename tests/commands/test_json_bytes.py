"""What --json prints, byte for byte: clients may compare it, or take it apart by lines."""

import shutil

import pytest
from corpus import OWN
from kept import check_kept
from merge_worlds import trace_of
from places import ROOT

pytest_plugins = ["cli"]

DEMO = ROOT / "demo" / "demo.pftrace"
CHROMIUM = OWN / "traces" / "chromium_small.pftrace"
SYNC = "x.pftrace:BOOTTIME=y.pftrace:BOOTTIME+250ms+-1ms"
LINES = {
    "convert": ("convert", "demo.pftrace", "-o", "out.csv"),
    "convert_tube": (
        "convert",
        "demo.pftrace",
        "-o",
        "out.csv",
        "--policy",
        "tube",
        "--to",
        "REALTIME",
    ),
    "convert_warned": ("convert", "chromium.pftrace", "-o", "out.csv", "--with-names"),
    "convert_slices": ("convert", "demo.pftrace", "-o", "out.csv", "--slices"),
    "convert_map": (
        "convert",
        "t.csv",
        "-o",
        "o.csv",
        "--graph",
        "demo.pftrace",
        "--map",
        "ts:BOOTTIME",
    ),
    "clocks": ("clocks", "demo.pftrace"),
    "at": ("at", "demo.pftrace", "18723683250240", "--from", "BOOTTIME", "--to", "REALTIME"),
    "at_tube": ("at", "demo.pftrace", "18723683250240", "--from", "BOOTTIME", "--policy", "tube"),
    "doctor": ("doctor", "demo.pftrace", "junk", "--events", "clock-without-snapshot"),
    "bake": ("bake", "demo.pftrace", "-o", "baked.pftrace"),
    "merge": ("merge", "x.pftrace", "y.pftrace", "--sync", SYNC, "-o", "merged.pftrace"),
    "merge_explained": (
        "merge",
        "x.pftrace",
        "y.pftrace",
        "--sync",
        SYNC,
        "--explain",
        "x.pftrace",
        "y.pftrace",
    ),
    "sql": ("sql", "demo.pftrace", "from clocks"),
    "error": ("at", "demo.pftrace", "5", "--from", "777"),
}


@pytest.mark.parametrize("name", LINES)
def test_what_json_prints_keeps_its_bytes(tracetime, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    shutil.copy(DEMO, "demo.pftrace")
    shutil.copy(CHROMIUM, "chromium.pftrace")
    (tmp_path / "junk").write_bytes(b"junk")
    (tmp_path / "t.csv").write_text("ts\n18723683250240\n\n")
    for one in ("x", "y"):
        trace_of(tmp_path / f"{one}.pftrace")
    _, out, err = tracetime(*LINES[name], "--json")
    check_kept("json_bytes", name, (out or err).splitlines())
