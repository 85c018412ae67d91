"""The doctor: a healthy trace is left in peace, each fault put into it is the one it names."""

from pathlib import Path
from random import Random

import pytest
from faults import FAULTS, Model
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import opened

from tracetime import diagnose

PAGES = Path(__file__).parents[1] / "docs" / "findings"


def findings(data, **options):
    with opened(data, partial=True) as trace:
        return diagnose(trace, **options)


def every(found):
    for finding in found:
        yield finding
        yield from every(finding.consequences)


def test_a_healthy_trace_has_no_findings():
    assert findings(Model().build()) == []


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_the_one_primary_finding(name):
    @settings(max_examples=6, deadline=None)
    @given(st.integers(0, 2**32))
    def check(seed):
        model = Model()
        expected = FAULTS[name](model, Random(seed))
        found = findings(model.build())
        assert [finding.code for finding in found] == [expected.code], [
            (f.severity, f.code, f.title) for f in found
        ]
        if expected.packets is not None:
            assert set(found[0].packets) & set(expected.packets), (found[0], expected)

    check()
