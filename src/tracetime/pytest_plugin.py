"""A plugin of pytest: with `--tracetime FILE` it records a span for each test and each fixture.

The fixture `check_trace` fails a test where the clocks of a trace are broken.

Workers of pytest-xdist join the recording. pytest loads it for every run, so that it imports little
until it is to record.
"""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tracetime import Recorder, Span


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("tracetime").addoption(
        "--tracetime",
        metavar="FILE",
        help="record a trace with a span for each test and each fixture",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record, if that is wanted."""
    path = config.getoption("tracetime")
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:
        recording = pickle.loads(worker[_KEY]) if _KEY in worker else None
    else:
        recording = _record(path) if path else None
    if recording is not None:
        if worker is not None:
            recording.process_track(name=worker["workerid"])
        config.pluginmanager.register(_Recording(recording), "tracetime recording")


_KEY = "tracetime_recording"


def _record(path: str) -> Recorder:
    import tracetime

    try:
        return tracetime.record(path)
    except tracetime.TracetimeError as error:
        raise pytest.UsageError(f"--tracetime: {error}") from error


@pytest.fixture(scope="session")
def check_trace() -> Callable[..., None]:
    """A function that fails a test where the doctor finds that a trace's clocks are broken.

    Its arguments are the path, and the least severity that fails: "error" or "warning".
    """
    from tracetime import diagnose, open_trace
    from tracetime.doctor import SEVERITIES

    def check(path: str | os.PathLike[str], severity: str = "error") -> None:
        failing = SEVERITIES[: SEVERITIES.index(severity) + 1]
        with open_trace(path) as trace:
            found = [one for one in diagnose(trace) if one.severity in failing]
            shown = [one.with_names(trace.clocks.names) for one in found]
        if shown:
            texts = (f"{one.severity}: {one.title} [{one.code}]\n  {one.fix}" for one in shown)
            pytest.fail("\n".join([f"the clocks of {path} are broken", *texts]), pytrace=False)

    return check


class _Recording:
    """The hooks of a run that is recorded."""

    def __init__(self, recording: Recorder) -> None:
        self._recording = recording
        self._test: Span | None = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        with self._recording.span(item.nodeid, category="test") as self._test:
            yield
        self._test = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        # A test has passed unless its setup, its call or its teardown did not.
        if self._test is not None and (report.when == "call" or not report.passed):
            self._test.set(outcome=_outcome(report))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, None]:
        name = f"{fixturedef.argname}"
        teardown = self._recording.span(
            f"{name} teardown", category="fixture", scope=fixturedef.scope
        )
        if _has_teardown(fixturedef.func):
            fixturedef.addfinalizer(lambda: teardown.__exit__(None, None, None))
        with self._recording.span(name, category="fixture", scope=fixturedef.scope) as span:
            outcome = yield
            if outcome.excinfo is not None:
                from tracetime._kernels.perfetto.writer import type_name

                span.set(exception=type_name(outcome.excinfo[0]))
        if outcome.excinfo is None and _has_teardown(fixturedef.func):
            # The last finalizer runs first.
            fixturedef.addfinalizer(teardown.__enter__)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Let a worker of pytest-xdist have its part of the recording."""
        node.workerinput[_KEY] = pickle.dumps(self._recording)

    def pytest_unconfigure(self) -> None:
        self._recording.close()


def _outcome(report: Any) -> str:
    """The outcome as pytest counts it: its report calls an expected failure `skipped`."""
    if hasattr(report, "wasxfail"):
        return "xpassed" if report.passed else "xfailed"
    return str(report.outcome)


def _has_teardown(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
