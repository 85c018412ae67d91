"""What `import tracetime` offers, and what it must not load for it."""

import pkgutil
import re
import subprocess
import sys
from importlib import metadata

import pytest
from places import ROOT

import tracetime
from tracetime.graph import FUNCTIONS, upper

HEAVY = (
    "numpy",
    "pyarrow",
    "rich",
    "google.protobuf",
    "perfetto",
    "importlib.metadata",
    "duckdb",
    "http.server",
    "bokeh",
)


# long: one name a line
def test_exported_names_are_exactly_those_of_the_interface():
    assert sorted(tracetime.__all__) == [
        "BakeSummary",
        "BootDecision",
        "Bounds",
        "Calibration",
        "ClockCalibration",
        "ClockDomain",
        "ClockGraph",
        "ClockId",
        "ClockInfo",
        "ClockLike",
        "ClockSource",
        "ClockStep",
        "ConversionError",
        "Count",
        "Curves",
        "EarlyKernels",
        "Explanation",
        "FileReport",
        "Finding",
        "FlowCounts",
        "Hop",
        "Inconsistency",
        "KernelClock",
        "LateSnapshots",
        "Margin",
        "MatchedMessages",
        "MergeReport",
        "MeshHop",
        "NoBoundError",
        "OddEvents",
        "OffsetShift",
        "OrdersInfo",
        "Outside",
        "PairDiscontinuity",
        "PairEvidence",
        "Peer",
        "PingResult",
        "Problem",
        "Reading",
        "Readings",
        "Recorder",
        "Report",
        "Sample",
        "Sampler",
        "SeriesInfo",
        "SharedPid",
        "Snapshot",
        "SnapshotFault",
        "SourceError",
        "Span",
        "SplitPart",
        "SplitSummary",
        "Suspend",
        "TableConverter",
        "Tie",
        "TimeService",
        "Trace",
        "TraceClockMove",
        "TraceError",
        "TraceWarning",
        "TracetimeError",
        "Track",
        "TrueTime",
        "TubeExplanation",
        "TubeHop",
        "Unavailable",
        "UnusedBounds",
        "UsageError",
        "WallBound",
        "WallClockBounds",
        "WallClockContradiction",
        "WrittenFile",
        "WrittenTimes",
        "WrittenTrace",
        "__version__",
        "bake",
        "calibrate",
        "clock_id",
        "convert_table",
        "diagnose",
        "join_parts",
        "match_messages",
        "merge",
        "now",
        "open_trace",
        "open_traces",
        "ping",
        "record",
        "register_format",
        "report",
        "split",
        "wait_past",
    ]
    assert set(tracetime.__all__) == {*tracetime._HOMES, "__version__"}
    assert set(tracetime.__all__) <= set(dir(tracetime))


@pytest.mark.parametrize("name", tracetime.__all__)
def test_every_exported_name_is_there(name):
    assert getattr(tracetime, name) is not None


@pytest.mark.parametrize(
    "imports",
    [
        "import tracetime.reporting",
        "import tracetime.reporting.page, tracetime.commands.report",
        "from tracetime import report, reporting",
        "import tracetime.commands.report; from tracetime.reporting import report",
        "import tracetime; tracetime.report; import tracetime.reporting.facts",
        "",
    ],
)
def test_report_is_a_function_whatever_was_imported_before(imports):
    code = f"{imports}\nimport tracetime\nprint(type(tracetime.report).__name__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "function\n"


def test_no_public_name_is_that_of_a_module():
    """Importing the module would put it in the name's place."""
    modules = {module.name for module in pkgutil.iter_modules(tracetime.__path__)}
    assert not modules & set(tracetime.__all__)


def test_star_import_brings_exactly_these():
    names = {}
    exec("from tracetime import *", names)
    assert set(tracetime.__all__) == names.keys() - {"__builtins__"}


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = tracetime.nope


@pytest.mark.parametrize("verb", [tracetime.diagnose, lambda path: tracetime.report(path, "x")])
def test_a_path_is_no_open_trace(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tracetime.UsageError, match=r"a str is no open trace: .*open_trace\(path\)"):
        verb("t.pftrace")
    assert not list(tmp_path.iterdir())


def test_the_version_is_the_installed_one():
    assert metadata.version("tracetime") == tracetime.__version__


def test_the_changelog_says_what_the_version_becomes():
    release, dev, _ = tracetime.__version__.partition(".dev")
    heading = f"## [Unreleased]\n\nTo become {release}.\n" if dev else f"\n## [{release}] - 20"
    assert heading in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "args", [["--version"], ["--help"], ["convert", "--help"], ["sql", "--help"]]
)
def test_nothing_heavy_is_loaded_for_what_needs_none(args):
    # Only what tracetime itself brings in counts: site packages may start with more.
    program = (
        "import sys; before = set(sys.modules)\n"
        "from tracetime.commands import run\n"
        f"code = run({args!r})\n"
        f"print([name for name in {HEAVY!r} if name in set(sys.modules) - before])\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


MOST_LOADED = 125
"""Modules of the package that `convert` loads: each costs a millisecond or two of every call."""


def test_convert_loads_no_more_modules_than_it_needs(tmp_path):
    args = ["-m", "tracetime", "convert", ROOT / "demo" / "demo.pftrace", "-o", tmp_path / "o.csv"]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *args], capture_output=True, text=True, check=True
    )
    loaded = set(re.findall(r"\| +(tracetime[\w.]*)$", done.stderr, re.MULTILINE))
    assert "tracetime.verbs.convert" in loaded
    assert len(loaded) <= MOST_LOADED, sorted(loaded)


def test_methods_find_functions_of_upper_floors_and_loading_their_classes_loads_none():
    assert all(callable(upper(name)) for name in FUNCTIONS)
    program = (
        "import sys; from tracetime import ClockGraph, Trace\n"
        f"print([name for name in {sorted(FUNCTIONS.values())} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_recording_does_not_wait_for_arrow():
    program = "import sys, tracetime.capture.record, tracetime.capture.sampling; "
    done = subprocess.run([sys.executable, "-c", program + "sys.exit('pyarrow' in sys.modules)"])
    assert done.returncode == 0
