"""Merging takes time in proportion to the files: pairs of them are not gone through."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from merge_worlds import trace_of

import tracetime as tt
from tracetime.merging import boots, collectives
from tracetime.merging.joined import JoinedTraces

S = 10**9


def files(folder, facts):
    """A file for each: (kernel, boot id, how much later its machine was booted)."""
    return [
        trace_of(folder / f"{n}.pftrace", kernel=kernel, boot_id=boot_id, booted_ns=booted_ns + 7)
        for n, (kernel, boot_id, booted_ns) in enumerate(facts)
    ]


@pytest.fixture
def compared(monkeypatch):
    """The pairs of files that are compared."""
    found = []
    compare = boots._compared

    def counted(one, other, *more):
        found.append((one.number, other.number))
        return compare(one, other, *more)

    monkeypatch.setattr(boots, "_compared", counted)
    return found


@pytest.mark.parametrize(
    "facts",
    [
        [("", b"", 0)] * 40,
        [("6.1", b"", 0)] * 40,
        [("6.1", b"", k * S) for k in range(40)],
        [("6.1", b"1" * 16, 0)] * 40,
        [("6.1", bytes([k]) * 16, 0) for k in range(1, 41)],
        [(f"6.{k}", b"", 0) for k in range(40)],
    ],
)
def test_as_many_pairs_are_compared_as_there_are_files(tmp_path, compared, facts):
    report = tt.merge(files(tmp_path, facts), None)
    assert len(report.boots) == len(facts) - 1
    assert len(compared) <= 6 * len(facts)
    assert sum(len(file.ties) for file in report.files) <= 2 * len(facts)


def test_a_file_that_is_like_two_boots_is_refused(tmp_path):
    """By its kernel and its wall clock it is of both, whose boot ids differ."""
    facts = [("6.1", b"1" * 16, 0), ("6.1", b"2" * 16, 0), ("6.1", b"", 0)]
    with pytest.raises(tt.UsageError, match="both of the machine of another file, but differ"):
        tt.merge(files(tmp_path, facts), None)


def test_a_file_that_is_said_to_be_another_is_compared_with_all(tmp_path):
    facts = [("6.1", b"1" * 16, 0)] * 4
    paths = files(tmp_path, facts)
    with pytest.raises(tt.UsageError, match="both of the machine of another file, but differ"):
        tt.merge(paths, None, different=["0.pftrace,1.pftrace"])
    apart = [f"1.pftrace,{n}.pftrace" for n in (0, 2, 3)]
    assert tt.merge(paths, None, different=apart).files[3].offset_ns == 0


def test_files_between_which_the_wall_clock_was_set_are_tied_by_one_that_spans_that(tmp_path):
    common = {"kernel": "6.1", "booted_ns": 7}
    first = trace_of(tmp_path / "a.pftrace", **common)
    over = trace_of(tmp_path / "b.pftrace", later_ns=100 * S, set_ns=3600 * S, **common)
    last = trace_of(tmp_path / "c.pftrace", kernel="6.1", booted_ns=3600 * S + 7, later_ns=200 * S)
    report = tt.merge([first, last, over], None)
    assert [file.offset_ns for file in report.files] == [0, 0, 0]
    assert all(decision.same for decision in report.boots)


FACTS = st.tuples(
    st.sampled_from(["", "6.1", "6.2"]),
    st.sampled_from([b"", b"1" * 16, b"2" * 16]),
    st.sampled_from([0, 60_000, S]),
)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.lists(FACTS, min_size=2, max_size=6))
def test_boots_are_those_that_all_pairs_give(tmp_path_factory, facts):
    paths = files(tmp_path_factory.mktemp("many"), facts)
    groups = [{n} for n in range(len(facts))]
    contradicts = False
    for one, other in combinations(range(len(facts)), 2):
        (kernel, boot, booted), (its_kernel, its_boot, its_booted) = facts[one], facts[other]
        same = bool(kernel) and kernel == its_kernel and abs(booted - its_booted) <= 100_000
        if boot == its_boot if boot and its_boot else same:
            here, there = (next(g for g in groups if n in g) for n in (one, other))
            if here is not there:
                groups.remove(there)
                here |= there
    for group in groups:
        contradicts |= len({facts[n][1] for n in group} - {b""}) > 1
    if contradicts:
        with pytest.raises(tt.UsageError, match="say --same or --different"), JoinedTraces(paths):
            pass
    else:
        with JoinedTraces(paths) as joined:
            assert sorted(joined.boots.groups) == sorted(map(sorted, groups))


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=12), st.integers(1, 12))
def test_files_with_collectives_of_a_kind_are_compared_with_the_first_that_have_it(kinds, hubs):
    """Pairs grow with the files, and what all pairs would tie is tied."""
    none = np.zeros(0, np.int64)
    found = [collectives._Collectives(none, none, [(str(key),) for key in keys]) for keys in kinds]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collectives, "_MOST_HUBS", hubs)
        pairs = collectives._pairs(found)
    every = [
        pair for pair in combinations(range(len(kinds)), 2) if {*kinds[pair[0]]} & {*kinds[pair[1]]}
    ]
    assert len(pairs) <= hubs * sum(len({*keys}) for keys in kinds)
    assert {*pairs} <= {*every}
    assert groups(len(kinds), pairs) == groups(len(kinds), every)
    if hubs >= len(kinds):
        assert pairs == every


def groups(files, pairs):
    """The least number of the files that pairs lead to from each."""
    least = list(range(files))
    for _ in least:
        for one, other in pairs:
            least[one] = least[other] = min(least[one], least[other])
    return least
