"""A wall clock that was never set begins with a default: it does not prove that a boot is another's."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merge_worlds import trace_of

import tracetime as tt
from tracetime.clocks.unset_walls import are_unset

S = 10**9
BUILT = "#1642 SMP PREEMPT Mon Apr  3 17:24:16 BST 2023"
TRUE = "2026-03-04 05:06:07"


def at(text):
    """ns of REALTIME."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * S


def two(folder, booted, kernel="6.1", version="", set_ns=0):
    """Two files of one make, 100 s apart by their BOOTTIME, whose wall clocks began alike."""
    booted_ns = at(booted) - 1_700_000_000 * S
    facts = {"kernel": kernel, "version": version, "booted_ns": booted_ns, "set_ns": set_ns}
    return [
        trace_of(folder / f"{name}.pftrace", later_ns=later_ns, **facts)
        for name, later_ns in (("a", 0), ("b", 100 * S))
    ]


@pytest.mark.parametrize(
    "booted",
    [
        "1970-01-01 00:00:00",
        "1970-01-01 00:04:10",
        "1980-01-06 00:00:00",
        "2000-01-01 00:00:03",
        "2015-06-30 17:41:02",
        "2019-12-31 23:59:58",
        "2020-01-01 00:00:00",
        "2024-11-21 00:01:30",
    ],
)
def test_a_default_that_a_boot_begins_with_proves_nothing(tmp_path, booted):
    decision = tt.merge(two(tmp_path, booted), None).boots[0]
    assert not decision.same
    assert "never set" in decision.reason


@pytest.mark.parametrize(
    "booted",
    ["2023-04-03 17:24:16", "2023-04-03 16:24:14", "2023-04-03 17:29:51", "2018-07-07 07:07:07"],
)
def test_a_boot_that_begins_when_its_kernel_was_built_or_before_proves_nothing(tmp_path, booted):
    assert not tt.merge(two(tmp_path, booted, version=BUILT), None).boots[0].same


def test_a_wall_clock_that_was_right_proves_it(tmp_path):
    assert tt.merge(two(tmp_path, TRUE, version=BUILT), None).boots[0].same


@pytest.mark.parametrize("same", [True, False])
def test_a_wall_clock_that_is_set_later_proves_by_what_it_is_then(tmp_path, same):
    """Both begin with 1970; what they are set to is one boot's only where it is the same."""
    right = at(TRUE) - at("1970-01-01")
    one, _ = two(tmp_path, "1970-01-01", set_ns=right)
    later = {"kernel": "6.1", "booted_ns": -1_700_000_000 * S, "later_ns": 100 * S}
    other = trace_of(tmp_path / "c.pftrace", set_ns=right + (0 if same else 7 * S), **later)
    assert tt.merge([one, other], None).boots[0].same == same


def test_it_is_not_assumed_to_be_right(tmp_path):
    options = {"assume_wall_clock": "20ms", "different": ["a.pftrace,b.pftrace"]}
    file = tt.merge(two(tmp_path, "1970-01-01"), None, **options).files[1]
    assert not file.ties
    assert any("it was never set" in text for text in file.looked_for)
    assert tt.merge(two(tmp_path, TRUE), None, **options).files[1].ties


def test_the_caller_and_a_boot_id_prove_it_all_the_same(tmp_path):
    paths = two(tmp_path, "1970-01-01")
    assert tt.merge(paths, None, same=["a.pftrace,b.pftrace"]).boots[0].same
    ids = [
        trace_of(tmp_path / name, kernel="6.1", boot_id=b"1" * 16, booted_ns=-1_700_000_000 * S)
        for name in ("c", "d")
    ]
    assert tt.merge(ids, None).boots[0].same


@given(st.binary(max_size=60), st.integers(-(2**62), 2**62))
def test_any_text_of_a_kernel_is_calm(text, booted):
    assert len(are_unset(np.array([booted]), [text, b"#1 Feb 30 25:61:00 2020 " + text])) == 1
