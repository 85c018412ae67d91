"""What `import tracetime` offers, and what it must not load for it."""

import inspect
import os
import pkgutil
import re
import subprocess
import sys
import zlib
from importlib import metadata

import pytest
from places import ROOT
from samples import CLOCK_SYNC

import tracetime
from benchmarks.startup import COMMANDS, loaded
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


LIST = ROOT / "tests" / "data" / "public.txt"


def signature(function):
    """The parameters of a function with their defaults, whatever they are annotated with."""
    try:
        known = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    bare = [one.replace(annotation=one.empty) for one in known.parameters.values()]
    return re.sub(r" at 0x\w+", "", str(inspect.Signature(bare)))


def described(name, kind):
    """The lines of the list on a public name: itself, and the public members of a class."""
    if not inspect.isclass(kind):
        return [name + (signature(kind) if callable(kind) else "")]
    own = {k: v for base in reversed(kind.__mro__[:-1]) for k, v in vars(base).items()}
    members = [
        f"{name}.{member}{signature(getattr(kind, member)) if callable(value) else ''}"
        for member, value in sorted(own.items())
        if member[0] != "_" and getattr(base_of(kind, member), "__module__", "")[:9] == "tracetime"
    ]
    return [
        f"class {name}" + ("" if kind.__init__ is object.__init__ else signature(kind)),
        *members,
    ]


def base_of(kind, member):
    return next(base for base in kind.__mro__ if member in vars(base))


def test_public_names_and_signatures_are_those_of_the_list():
    """KEEP_ANSWERS=1 writes the list. What changes in it is told in CHANGELOG.md first."""
    names = [(name, getattr(tracetime, name)) for name in sorted(tracetime.__all__)]
    names += [(f"fleet.{n}", getattr(tracetime.fleet, n)) for n in sorted(tracetime.fleet.__all__)]
    lines = [line for name, kind in names for line in described(name, kind)]
    told = zlib.crc32((ROOT / "CHANGELOG.md").read_bytes())
    first, *kept = LIST.read_text().splitlines() if LIST.exists() else [""]
    if os.environ.get("KEEP_ANSWERS") == "1" and kept != lines:
        assert first != f"# CHANGELOG.md {told:08x}", "say in CHANGELOG.md what changes"
        LIST.write_text("\n".join([f"# CHANGELOG.md {told:08x}", *lines, ""]))
        kept = lines
    assert kept == lines


def test_exported_names_are_exactly_those_of_the_table():
    assert set(tracetime.__all__) == {*tracetime._HOMES, "__version__"}


def test_what_is_listed_is_what_people_need(tmp_path):
    """The types of results are there, and not listed; of a trace, its facts are below `facts`."""
    assert set(dir(tracetime)) - {"__doc__", "__all__", "fleet"} < set(tracetime.__all__)
    assert len(dir(tracetime)) <= 45
    path = tmp_path / "t.pftrace"
    path.write_bytes(CLOCK_SYNC)
    with tracetime.open_trace(path) as trace:
        listed = [name for name in dir(trace) if name[0] != "_"]
        assert len(listed) <= 25
        assert all(hasattr(trace, name) for name in listed)
        assert {"odd_events", "late_snapshots"} <= {*dir(trace.facts)}
        assert trace.facts.odd_events == trace.odd_events
        with pytest.raises(AttributeError, match="no fact"):
            _ = trace.facts.sql


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
    "args",
    [["--version"], ["--help"], ["convert", "--help"], ["sql", "--help"], ["completion", "bash"]],
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


MOST_LOADED = {"convert": 113, "clocks": 104, "at": 107, "doctor": 155, "sql": 89, "report": 183}
"""Modules of the package that commands load: each costs a millisecond or two of every call."""


@pytest.mark.parametrize("command", MOST_LOADED)
def test_commands_load_no_more_modules_than_they_need(command):
    words = [
        str(ROOT / "demo" / "demo.pftrace") if word == "FILE" else word
        for word in COMMANDS[command]
    ]
    found = [name for name in loaded(words) if name.partition(".")[0] == "tracetime"]
    assert "tracetime.graph" in found
    assert len(found) <= MOST_LOADED[command], sorted(found)


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
