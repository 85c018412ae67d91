"""Merging takes time in proportion to the files: pairs of them are not gone through."""

from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from merge_worlds import trace_of

import tracetime as tt
from benchmarks.small_folders import ring
from tracetime.merging import alignment, boots, collectives, message_ties
from tracetime.merging.merged_traces import MergedTraces

pytest_plugins = ["cli"]

MS, S = 10**6, 10**9


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
    compare = boots._compare

    def counted(one, other, *more):
        found.append((one.number, other.number))
        return compare(one, other, *more)

    monkeypatch.setattr(boots, "_compare", counted)
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
        with pytest.raises(tt.UsageError, match="say --same or --different"), MergedTraces(paths):
            pass
    else:
        with MergedTraces(paths) as joined:
            assert sorted(joined.boots.groups) == sorted(map(sorted, groups))


KINDS = st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=12)


def compared_with_collectives(kinds, hubs, agree=lambda one, other: True, first=0, clocks=None):
    """The pairs of files that are compared, by the kinds of each, which it has 12 times."""
    own = [np.repeat(np.array(numbers, np.int64), 12) for numbers in kinds]
    found = [collectives._Collectives(one, one, one, one) for one in own]
    clocks = [tt.ClockId(64, n, 0) for n in clocks or range(len(kinds))]
    pairs = []

    def tie(one, other):
        pairs.append((one, other))
        return agree(one, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collectives, "_MOST_REPRESENTATIVES", hubs)
        collectives._compare(found, clocks, first, tie)
    return pairs


def with_a_kind_in_common(kinds):
    pairs = combinations(range(len(kinds)), 2)
    return [(one, other) for one, other in pairs if {*kinds[one]} & {*kinds[other]}]


@given(KINDS, st.integers(0, 11))
def test_as_many_files_with_collectives_as_may_be_representatives_are_all_compared(kinds, first):
    pairs = compared_with_collectives(kinds, len(kinds), first=first)
    assert sorted(pairs) == with_a_kind_in_common(kinds)


@given(KINDS, st.integers(1, 12))
def test_files_with_collectives_are_tied_as_all_pairs_would(kinds, hubs):
    """Each pair is compared once, and pairs grow with the files."""
    pairs = compared_with_collectives(kinds, hubs)
    every = with_a_kind_in_common(kinds)
    assert len({*pairs}) == len(pairs)
    assert {*pairs} <= {*every}
    assert groups(len(kinds), pairs) == groups(len(kinds), every)
    if hubs == 2:
        assert len(pairs) <= 2 * sum(len({*own}) for own in kinds)


@given(KINDS, st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11))), st.integers(1, 12))
def test_files_are_tied_as_all_pairs_would_where_not_all_pairs_tie(kinds, agree, hubs):
    pairs = compared_with_collectives(kinds, hubs, lambda *pair: pair in agree)
    every = with_a_kind_in_common(kinds)
    assert len({*pairs}) == len(pairs)
    assert {*pairs} <= {*every}
    assert groups(len(kinds), agree & {*pairs}) == groups(len(kinds), agree & {*every})


CHAIN = [(0, 60), *[(0, 20)] * 15, (40, 100), (80, 140)]
ROLLING = [[(step * k, step * k + 40) for k in range(files)] for step, files in [(5, 30), (15, 20)]]


@given(
    st.one_of(
        st.sampled_from([CHAIN, *ROLLING]).flatmap(st.permutations),
        st.lists(
            st.builds(lambda at, n: (at, at + n), st.integers(0, 400), st.integers(0, 90)),
            min_size=17,
            max_size=40,
        ),
    ),
    st.integers(0, 16),
)
def test_windows_of_one_job_are_tied_as_all_pairs_would(windows, first):
    def tie(one, other):
        (begin, end), (its_begin, its_end) = windows[one], windows[other]
        return min(end, its_end) - max(begin, its_begin) >= 12

    pairs = compared_with_collectives([[0]] * len(windows), 16, tie, first)
    tied = {pair for pair in pairs if tie(*pair)}
    every = {pair for pair in combinations(range(len(windows)), 2) if tie(*pair)}
    assert groups(len(windows), tied) == groups(len(windows), every)


def test_of_two_jobs_of_many_ranks_few_pairs_are_compared_in_vain():
    """All pairs of two jobs are very many, and none of them are tied."""
    ranks = 100
    pairs = compared_with_collectives([[0]] * 2 * ranks, 4, lambda *pair: len({*of_job(pair)}) == 1)
    in_vain = [pair for pair in pairs if len({*of_job(pair)}) == 2]
    assert len(in_vain) <= 4 * 2 * ranks + collectives._MOST_IN_VAIN
    assert groups(2 * ranks, {*pairs} - {*in_vain}) == [0, 1] * ranks


def of_job(pair):
    return [number % 2 for number in pair]


def test_files_of_too_few_collectives_are_not_compared():
    one = np.zeros(11, np.int64)
    found = [collectives._Collectives(one, one, one, one)] * 3
    collectives._compare(found, [tt.ClockId(64, n, 0) for n in range(3)], 0, pytest.fail)


def test_most_files_with_collectives_are_compared_with_two():
    for files in (50, 100):
        pairs = compared_with_collectives([[0]] * files, 16)
        assert len(pairs) == 2 * files - 3
    # Those of one clock are compared for what they say of it together.
    clocks = [n // 8 for n in range(64)]
    pairs = compared_with_collectives([[0]] * 64, 16, clocks=clocks)
    assert {(one, 60) for one in range(16)} <= {*pairs}


def test_the_file_of_the_timeline_and_one_with_the_most_collectives_are_representatives():
    kinds = [[0] * (9 if n == 7 else 5) for n in range(40)]
    pairs = compared_with_collectives(kinds, 16, first=30)
    assert {pair for pair in pairs if 25 in pair} == {(25, 30), (7, 25)}


def times(seed, n):
    """When n collectives of a job ended, us."""
    return np.cumsum(50_000 + np.random.default_rng(seed).integers(0, 3_000, n))


def job(folder, windows, set_from=None):
    """Files of one job, each of some collectives; the clock of the last is set from one on."""
    met = times(1, max(end for _, end in windows))
    files = [met[first:end] for first, end in windows]
    return files_of_jobs(folder, files, set_from)


def files_of_jobs(folder, files, set_from=None):
    """Files of Chrome's JSON, each of collectives that ended at some times, us."""
    random, paths = np.random.default_rng(2), []
    for n, met in enumerate(files):
        begins = met - random.integers(500, 1_500, len(met))
        offset = np.full(len(met), 1_000_000 * n)
        if set_from is not None and n == len(files) - 1:
            offset[set_from:] += 20_000
        leaves = met + random.integers(0, 5, len(met))
        spans = zip((begins + offset).tolist(), (leaves - begins).tolist(), strict=True)
        events = [
            {"ph": "X", "pid": 1, "tid": 1, "name": "meet", "ts": ts, "dur": dur}
            for ts, dur in spans
        ]
        paths.append(folder / f"{n}.json")
        paths[-1].write_text(json.dumps({"traceEvents": events}))
    return paths


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_what_two_long_files_share_ties_a_short_one_to_both(tmp_path, order):
    """The long ones share too little of all that they have to be tied to each other."""
    common, first, last = times(1, 300), 140, 200
    shared = common[first:last]
    files = [shared]
    for seed in (2, 3):
        own = times(seed, 300)
        before = own[:first] - own[first - 1] + shared[0] - 51_000
        after = own[last:] - own[last] + shared[-1] + 51_000
        files.append(np.concatenate([before, shared, after]))
    paths = files_of_jobs(tmp_path, [files[k] for k in order])
    report = tt.merge(paths, None, together=["name=meet"])
    assert all(file.half_width_ns is not None for file in report.files)


@pytest.mark.sweep
def test_bars_to_the_timeline_are_those_that_all_pairs_give(tmp_path, monkeypatch):
    paths = job(tmp_path, [(0, 16)] * 24)
    reports = []
    for hubs in (16, 24):
        monkeypatch.setattr(collectives, "_MOST_REPRESENTATIVES", hubs)
        reports.append(tt.merge(paths, None, together=["name=meet"]))
    few, every = (
        [(file.offset_ns, file.half_width_ns, file.worst_half_width_ns) for file in report.files]
        for report in reports
    )
    assert few == every
    few, every = (sum(len(file.ties) for file in report.files) // 2 for report in reports)
    assert (few, every) == (2 * 24 - 3, 24 * 23 // 2)


def test_a_clock_that_is_set_after_most_files_end_is_told(tmp_path):
    """That is told by the one file of the first ones that lasts as long."""
    paths = job(tmp_path, [(0, n) for n in [30] * 9 + [80] + [30] * 10 + [80]], set_from=60)
    report = tt.merge(paths, None, together=["name=meet"])
    (step,) = report.steps
    assert (step.file, step.against) == (20, (9,))
    assert step.least_ns <= 20 * MS <= step.most_ns


@pytest.mark.sweep
@pytest.mark.parametrize("windows", [CHAIN, *ROLLING, ROLLING[1][::-1]])
def test_files_that_share_collectives_only_with_later_ones_are_placed(tmp_path, windows):
    report = tt.merge(job(tmp_path, windows), None, together=["name=meet"])
    for n, file in enumerate(report.files):
        assert file.offset_ns is not None
        assert abs(file.offset_ns + n * S) <= file.worst_half_width_ns


def test_files_of_another_job_are_said_to_be_tied_to_others(tmp_path, tracetime):
    windows = [(0, 40)] * 10 + [(50, 90)] * 10
    paths = job(tmp_path, windows)
    report = tt.merge(paths, None, together=["name=meet"])
    apart = report.files[10:]
    assert {file.why_not for file in apart} == {"its ties lead to other files"}
    for file in apart:
        assert file.ties
        assert any("not clear which of one are which of the other" in o for o in file.looked_for)
    code, out, _ = tracetime("merge", *paths, "--together", "name=meet")
    assert code == 2
    assert "nothing ties it to the first file: its ties lead to other files" in out


def test_files_of_too_many_collectives_are_said_not_to_be_searched(tmp_path, monkeypatch):
    for module in (alignment, collectives):
        monkeypatch.setattr(module, "MOST", 79)
    report = tt.merge(job(tmp_path, [(0, 40)] * 2), None, together=["name=meet"])
    (why,) = (text for text in report.files[1].looked_for if "slices meet" in text)
    assert why.endswith("which are which is searched among up to 79 of both")


MESSAGES = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a", "b", None])), max_size=6),
    min_size=3,
    max_size=3,
)


def ends_of(files):
    """One end of the messages of some files, by the keys of each."""
    keys = [key for keys in files for key in keys]
    of = np.repeat(np.arange(len(files)), [*map(len, files)])
    columns = (pa.chunked_array([pa.array(column)]) for column in keys_of(keys))
    return message_ties._Ends(of, np.arange(len(keys)), tuple(columns))


def keys_of(keys):
    return (
        pa.array([str(key[0]) for key in keys], pa.string()),
        pa.array([key[1] for key in keys], pa.string()),
    )


RULE = message_ties.MessageRule("send", "receive", ("seq", "host"))


@given(MESSAGES, MESSAGES)
def test_messages_of_all_files_are_matched_as_those_of_each_two(sent, received):
    found = {
        (one, other): (ours.tolist(), theirs.tolist(), left_out)
        for one, other, ours, theirs, left_out in message_ties._match_files(
            ends_of(sent), ends_of(received), RULE
        )
    }
    begins = [np.cumsum([0, *map(len, side)]) for side in (sent, received)]
    expected = {}
    for one, other in product(range(3), repeat=2):
        match = tt.match_messages(keys_of(sent[one]), keys_of(received[other]))
        if len(match.sent):
            expected[one, other] = (
                (match.sent + begins[0][one]).tolist(),
                (match.received + begins[1][other]).tolist(),
                match.repeated_sent + match.repeated_received,
            )
    assert found == expected
    assert [*found] == sorted(found)


def test_messages_are_matched_in_proportion_to_them_and_their_matches(monkeypatch):
    """All keys are numbered at once; one that all files have twice at both ends is none."""
    number_keys, calls = message_ties.number_keys, []
    monkeypatch.setattr(
        message_ties, "number_keys", lambda *keys: calls.append(1) or number_keys(*keys)
    )
    twice = [[(0, "a")] * 1_000] * 300
    once = [[(n, "b")] for n in range(300)]
    files = [one + other for one, other in zip(twice, once, strict=True)]
    found = [*message_ties._match_files(ends_of(files), ends_of(files[::-1]), RULE)]
    assert [(one, other) for one, other, *_ in found] == [(n, 299 - n) for n in range(300)]
    assert calls == [1]


def test_a_key_that_too_many_files_have_at_both_ends_is_refused():
    files = ends_of([[(0, "a")]] * 1_000)
    with pytest.raises(tt.UsageError, match=r"1,000,000 matches by seq, host, more than 36,096"):
        next(message_ties._match_files(files, files, RULE))


def groups(files, pairs):
    """The least number of the files that pairs lead to from each."""
    least = list(range(files))
    for _ in least:
        for one, other in pairs:
            least[one] = least[other] = min(least[one], least[other])
    return least


@pytest.mark.parametrize(("most", "tables"), [(1 << 16, [12]), (25, [3, 3, 3, 3])])
def test_the_arguments_of_many_files_are_read_by_few_queries(tmp_path, monkeypatch, most, tables):
    """What each file has is the same."""
    asked = []
    projected = message_ties._projected

    def counted(connection, several, columns):
        asked.extend([len(several)] if '"id"' in columns else [])
        return projected(connection, several, columns)

    monkeypatch.setattr(message_ties, "_projected", counted)
    monkeypatch.setattr(message_ties, "_ROWS_AT_ONCE", most)
    report = tt.merge(ring(tmp_path, 60, files=6), None, match=["send=send recv=recv key=id"])
    assert asked == tables
    assert {tie.ties for file in report.files for tie in file.ties} == {10}
    assert [len(file.ties) for file in report.files] == [2] * 6
