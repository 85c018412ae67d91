"""What all tests share: where machines must have everything, a skip is a failure."""

import os

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With TRACETIME_REQUIRE_ALL=1 only the real traces, or a privilege, may be lacking.

    Neither can be installed: containers, above all, let nobody make a time namespace.
    """
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("TRACETIME_REQUIRE_ALL") == "1":
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else "")
        if "test data" not in reason and "no privilege" not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where nothing may be: {reason}"
