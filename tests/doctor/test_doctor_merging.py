"""Very many findings that are alike are one: what it says of them all."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tracetime import ClockId, Finding
from tracetime.doctor import MOST_ALIKE, catalogue, merged
from tracetime.doctor.finding import in_order


def clock(k: int) -> ClockId:
    return ClockId(200 + k)


HOME = ClockId(6)


def finding(k: int, code: str = "c", *below: Finding, **more) -> Finding:
    given = {
        "severity": "info",
        "title": f"title {k}",
        "clocks": (HOME, clock(k)),
        "packets": (1000 - k,),
        "events": 1,
        "worst_ns": k,
        "why": f"why {k}",
        "fix": f"fix {k}",
        "consequences": below,
    } | more
    return Finding(code, **given)


def survey(used: dict[ClockId, int] | None = None) -> SimpleNamespace:
    every = {clock(k): 3 for k in range(200)} if used is None else used
    return SimpleNamespace(used=every, trace=SimpleNamespace(format="Perfetto trace"))


def test_up_to_fifty_are_listed_one_by_one():
    assert MOST_ALIKE == 50
    few = [finding(k) for k in range(50)]
    assert merged(iter(few), survey()) == few
    assert merged([], survey()) == []


def test_more_are_one_finding_with_the_worst():
    assert merged((finding(k) for k in range(51)), survey()) == [
        Finding(
            "c",
            "info",
            "250, 249, 248, 247 and 47 more: 51 findings alike, the worst: title 50",
            (HOME, *map(clock, range(51))),
            tuple(range(950, 960)),
            51,
            50,
            "Of the worst of them: why 50",
            "fix 50",
        )
    ]


@pytest.mark.parametrize("more", [{"code": "d"}, {"severity": "warning"}])
def test_alike_are_those_of_one_code_and_severity(more):
    found = [finding(k, **(more if k == 7 else {})) for k in range(51)]
    assert merged(found, survey()) == found[:7] + found[8:] + [found[7]]
    result = merged([*found, finding(60)], survey())
    assert [one.title for one in result[1:]] == ["title 7"]
    assert "51 findings alike" in result[0].title


@pytest.mark.parametrize(("used", "events"), [(1, 51), (2, 102), (4, 153)])
def test_events_are_counted_once_a_clock(used, events):
    """Three each: no more than all of those clocks have."""
    found = [finding(k, events=3) for k in range(51)]
    (result,) = merged(found, survey({clock(k): used for k in range(51)}))
    assert result.events == events


def test_findings_of_no_clock_and_of_the_same():
    (result,) = merged([finding(k, clocks=(), events=k) for k in range(51)], survey())
    assert (result.title, result.clocks) == ("51 findings alike, the worst: title 50", ())
    assert result.events == 50
    (result,) = merged([finding(k, clocks=(clock(4),), worst_ns=None) for k in range(51)], survey())
    assert result.title == "204: 51 findings alike, the worst: title 0"
    assert (result.clocks, result.events, result.worst_ns) == ((clock(4),), 3, None)


def test_the_worst_of_times_is_reported_whoever_has_it():
    found = [finding(k, events=100 - k, worst_ns=None if k == 9 else k) for k in range(51)]
    (result,) = merged(found, survey({clock(k): 100 for k in range(51)}))
    assert (result.title.rpartition(": ")[2], result.worst_ns) == ("title 0", 50)


def test_of_very_many_each_is_counted():
    assert (
        "1,051 findings alike" in merged([finding(k % 60) for k in range(1051)], survey())[0].title
    )


@pytest.mark.parametrize("n", [50, 51])
def test_what_follows_is_merged_where_it_is_much(n):
    below = [finding(k, "bd"[k % 2]) for k in range(n)]
    (result,) = merged([finding(100, "c", *below)], survey())
    ordered = below if n == 50 else below[::2] + below[1::2]
    assert list(result.consequences) == ordered
    below = [finding(k) for k in range(n)]
    (result,) = merged([finding(100, "c", *below)], survey())
    assert len(result.consequences) == (50 if n == 50 else 1)


def test_what_follows_from_those_that_are_one_is_of_it():
    found = [finding(k, "c", finding(k, "b"), *[finding(k, "d")] * (k == 3)) for k in range(51)]
    (result,) = merged(found, survey())
    assert [(one.code, one.title.partition(":")[0]) for one in result.consequences] == [
        ("b", "250, 249, 248, 247 and 47 more"),
        ("d", "title 3"),
    ]


class Counted:
    """A value of texts that counts in how many it is."""

    texts = 0

    def __str__(self):
        Counted.texts += 1
        return "BOOTTIME"


def lost(k: int) -> Finding:
    return catalogue.finding("clock-not-tied", clocks=(clock(k),), trace_clock=Counted())


def test_of_very_many_only_the_worst_has_its_texts_made():
    Counted.texts = 0
    cause = catalogue.finding("no-events").leading_to(*map(lost, range(100)))
    found = merged([*map(lost, range(500)), cause], survey())
    assert len(found) == 2
    assert Counted.texts == 2


@pytest.mark.parametrize("n", [1, 50, 51])
def test_what_is_listed_is_a_plain_finding_with_its_texts(n):
    causes = [catalogue.finding("no-events").leading_to(lost(k), lost(k)) for k in range(n)]
    found = merged([*map(lost, range(n)), *causes, causes[0].leading_to(*causes)], survey())
    for one in in_order(found):
        assert type(one) is Finding
        assert all((one.title, one.why, one.fix))
