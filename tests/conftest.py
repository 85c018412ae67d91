"""What all tests share: the same examples; where machines must have everything, no skip."""

import gc
import os
import signal
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tracetime.graph.tube.pairs import Pairs

# A test passes or fails, each time and on each machine: the examples are the same everywhere, however
# slow it is. Hypothesis also draws constants of the modules that happen to be loaded: not here. A deep
# search (tools/deep_search.py) draws others, from its seed.
_OF_TIME_OR_SCOPE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "same",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=_OF_TIME_OR_SCOPE,
)
settings.register_profile("deep", settings.get_profile("same"), derandomize=False)
# The first of the same examples: `make test` names it.
settings.register_profile("few", settings.get_profile("same"), max_examples=25)
if "TRACETIME_SEED" in os.environ:
    settings.load_profile("deep")
else:
    settings.load_profile("same")
    providers._get_local_constants = lambda: providers.Constants()

# Programs that tests start find the helpers, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(Path(__file__).parent / "helpers"), os.environ.get("PYTHONPATH")))
)

# Whoever runs the tests may have had signals ignored, as nohup and shells' background jobs do: what
# the tests start would ignore them too.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)

_MAY_LACK = ("test data", "no privilege", "needs Python 3.12")


_OUTSIDE = {"chrome", "spark", "cluster", "endpoint"}
"""The fixtures that start what others have made: Chromium, Spark, Ray, a server of S3."""
_LARGE = 1 << 20
"""Bytes of a file that is gone through in `make test-all` only: there are smaller ones of its kind."""
_MOST_CASES = 3
"""Of a test with more cases, the first, the last and one between are no sweep."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    cases = defaultdict(list)
    for item in items:
        if _OUTSIDE.intersection(item.fixturenames):
            item.add_marker("outside")
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if any(
            isinstance(one, Path) and one.is_file() and one.stat().st_size > _LARGE for one in given
        ):
            item.add_marker("sweep")
        if not {"sweep", "outside"}.intersection(mark.name for mark in item.iter_markers()):
            cases[item.nodeid.partition("[")[0]].append(item)
    for those in cases.values():
        if len(those) > _MOST_CASES:
            kept = those[0], those[len(those) // 2], those[-1]
            for item in those:
                if item not in kept:
                    item.add_marker("sweep")
    if config.getoption("--hypothesis-profile", None) == "few":
        for function in {item.function for item in items if hasattr(item, "function")}:
            _draw_few(function)


def _draw_few(function):
    """Let a test that says how many examples it draws draw a quarter of them."""
    own = getattr(function, "_hypothesis_internal_use_settings", None)
    few = settings.get_profile("few").max_examples
    if own is not None and own.max_examples > few:
        most = max(few, own.max_examples // 4)
        function._hypothesis_internal_use_settings = settings(own, max_examples=most)


def pytest_collection_finish():
    """No later collection of garbage walks over the tests and modules, which all stay."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With TRACETIME_REQUIRE_ALL=1 only the real traces, or a privilege, may be lacking.

    Neither can be installed: containers, above all, let nobody make a time namespace. What needs a
    newer Python is tested where there is one: the matrix of ci.yml.
    """
    outcome = yield
    report = outcome.get_result()
    # Workers of pytest-xdist send what was printed as UTF-8, which has no half of a character.
    report.sections = [
        (name, text.encode("utf-8", "replace").decode()) for name, text in report.sections
    ]
    _fail_if_skipped(report)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    """The same for a file that is skipped as a whole: none of its tests is ever seen."""
    outcome = yield
    _fail_if_skipped(outcome.get_result())


def _fail_if_skipped(report):
    if report.skipped and os.environ.get("TRACETIME_REQUIRE_ALL") == "1":
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
        if not any(lacking in reason for lacking in _MAY_LACK):
            report.outcome = "failed"
            report.longrepr = f"skipped where nothing may be: {reason}"


@pytest.fixture
def written(tmp_path):
    """A function that makes a trace of its parts, and returns its path."""

    def write(parts):
        path = tmp_path / "t.pftrace"
        path.write_bytes(b"".join(parts))
        return path

    return write


@pytest.fixture
def tubes(monkeypatch):
    """Which tubes were made."""
    made = []
    make = Pairs._make

    def counted(self, a, b):
        made.append((a, b))
        return make(self, a, b)

    monkeypatch.setattr(Pairs, "_make", counted)
    return made
