"""What a data set says of the clocks of its traces: quantiles, outliers, and what got worse."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from building import event, trace
from faults import NIC, S
from fleets import FAST, drifting_trace, machine, parts, write_fleet

import tracetime as tt
from tracetime import fleet
from tracetime.fleet import summary_queries
from tracetime.fleet.figures import DataSetSummary, ModelFigures, PairFigures, Spread
from tracetime.fleet.summary_html import page
from tracetime.fleet.summary_queries import compare
from tracetime.fleet.summary_text import common_folder, ppm, verdict, what_is_worse, worst_bar

NAME = str(tt.ClockId(NIC))
DRIFTS = [10, 11, 12, 13, 14, 15, 16, 17, 18, 90]


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Traces are done in this process, which starts at once."""
    monkeypatch.setattr(fleet, "run_in_pool", lambda function, uris, *_, **__: map(function, uris))


def data_set(place, contents):
    """Examine traces, named by their numbers."""
    folder = place / "traces"
    folder.mkdir(parents=True)
    for n, content in enumerate(contents):
        (folder / f"{n:03}.pftrace").write_bytes(content)
    fleet.doctor(folder, place / "out", **FAST)
    return place / "out"


def steps(size):
    def fault(model):
        plain = model.reads[NIC]
        model.reads[NIC] = lambda t: plain(t) + (t > model.time(5)) * size

    return fault


def sparse(model):
    """Nobody knows what the clocks did for most of the time."""
    model.without = set(range(2, 11))


@pytest.fixture(scope="module")
def fleet_of_ten(tmp_path_factory):
    return tmp_path_factory.mktemp("ten")


@pytest.fixture
def ten(fleet_of_ten):
    """Ten machines of one model, the last of which drifts far; and one of another."""
    place = fleet_of_ten / "out"
    if not place.exists():
        data_set(fleet_of_ten, [*(drifting_trace(n, "A55") for n in DRIFTS), trace(event(5))])
    return place


def pair_of(summary, model="A55", clock=NAME):
    (found,) = (one for one in summary.pairs if (one.model, one.clock) == (model, clock))
    return found


def test_quantiles_are_those_of_the_traces(ten):
    summary = fleet.summary(ten)
    assert (summary.traces, summary.rejected) == (11, 0)
    assert [(one.model, one.traces) for one in summary.models] == [("A55", 10), ("unknown", 1)]
    found = pair_of(summary)
    assert (found.reference, found.traces, found.jumps, found.open_bars) == ("BOOTTIME", 10, 0, 0)
    expected = np.quantile(DRIFTS, [0, 0.05, 0.5, 0.95, 1])
    assert found.drift_ppm == pytest.approx(tuple(expected), abs=0.01)
    assert found.worst_bar_ns.least > 0
    assert found.worst_trace.endswith(".pftrace")


def test_a_trace_far_from_the_others_is_an_outlier_by_name(ten):
    (outlier,) = fleet.summary(ten).outliers
    assert (outlier.clock, outlier.measure) == (NAME, "drift_ppm")
    assert outlier.trace.endswith("009.pftrace")
    assert outlier.value == pytest.approx(90, abs=0.01)
    assert outlier.usual == pytest.approx(14.5, abs=0.01)


def test_of_few_traces_none_is_an_outlier(tmp_path):
    out = data_set(tmp_path, [drifting_trace(n, "A55") for n in (10, 10, 10, 90)])
    assert fleet.summary(out).outliers == []


def test_outliers_beyond_the_most_are_counted(ten, monkeypatch):
    monkeypatch.setattr(summary_queries, "MOST_OUTLIERS", 0)
    summary = fleet.summary(ten)
    assert (summary.outliers, summary.outliers_left_out) == ([], 1)


def test_findings_are_counted_by_model_and_the_worst_is_named(tmp_path):
    faults = [steps(S), steps(3600 * S), None]
    contents = [drifting_trace(5, "A55", fault=one) for one in faults]
    summary = fleet.summary(data_set(tmp_path, [*contents, machine("A78") + trace(event(5))]))
    (stepped,) = (one for one in summary.findings if one.code == "clock-stepped")
    assert (stepped.model, stepped.traces, stepped.findings) == ("A55", 2, 2)
    assert stepped.worst_ns == pytest.approx(3600 * S, rel=1e-6)
    assert stepped.trace.endswith("001.pftrace")
    assert (summary.models[0].model, summary.models[0].traces) == ("A55", 3)
    assert summary.errors + summary.warnings >= 2
    assert (pair_of(summary).jumps, pair_of(summary).jumping) == (2, 2)


def test_rejected_traces_are_counted(tmp_path):
    traces = write_fleet(tmp_path / "traces", 2)
    (traces / "junk.pftrace").write_bytes(b"junk")
    fleet.doctor(traces, tmp_path / "out", **FAST)
    summary = fleet.summary(tmp_path / "out")
    assert (summary.traces, summary.rejected) == (2, 1)
    assert "1 more trace rejected" in verdict(summary)


# Compared with another


@pytest.fixture
def before(tmp_path):
    return data_set(tmp_path / "before", [drifting_trace(n, "A55") for n in (10, 12, 14)])


def worse(tmp_path, before, contents):
    return fleet.summary(data_set(tmp_path / "after", contents), against=before).comparison


def test_the_same_is_not_worse(before):
    found = fleet.summary(before, against=before).comparison
    assert (found.worse, found.models, found.only_here) == ([], 1, [])


def test_drift_that_grew_is_worse_and_less_is_not(tmp_path, before):
    (one,) = worse(tmp_path, before, [drifting_trace(n, "A55") for n in (-10, -12, -40)]).worse
    assert (one.measure, one.clock, one.model) == ("drift_ppm", NAME, "A55")
    assert (one.before, one.after) == pytest.approx((13.8, 37.2), abs=0.05)
    shutil.rmtree(tmp_path / "after")
    assert not worse(tmp_path, before, [drifting_trace(n, "A55") for n in (3, 4, 15)]).worse


def test_a_wider_bar_is_worse(tmp_path, before):
    after = [drifting_trace(10, "A55"), drifting_trace(12, "A55", fault=sparse)]
    found = worse(tmp_path, before, after).worse
    (one,) = (one for one in found if one.measure == "worst_bar_ns" and one.clock == NAME)
    assert one.after >= 1.5 * one.before
    assert one.trace.endswith("001.pftrace")


def test_a_finding_that_no_trace_of_the_model_had_is_worse(tmp_path, before):
    contents = [drifting_trace(12, "A55", fault=steps(3600 * S)), drifting_trace(12, "A55")]
    found = worse(tmp_path, before, [*contents, drifting_trace(12, "new", fault=steps(S))])
    (one,) = (one for one in found.worse if one.measure == "finding")
    assert (one.model, one.code, one.before, one.after) == ("A55", "clock-stepped", 0, 1)
    assert one.trace.endswith("000.pftrace")
    assert (found.models, found.only_here) == (1, ["new"])


def test_a_finding_of_many_more_traces_is_worse_and_of_a_few_more_is_not(tmp_path):
    stepped, calm = drifting_trace(12, "A55", fault=steps(S)), drifting_trace(12, "A55")
    before = data_set(tmp_path / "before", [stepped, *[calm] * 10])
    found = worse(tmp_path, before, [*[stepped] * 2, *[calm] * 10]).worse
    assert not [one for one in found if one.measure in ("finding", "jumping")]
    shutil.rmtree(tmp_path / "after")
    found = worse(tmp_path, before, [*[stepped] * 4, *[calm] * 7]).worse
    by_measure = {one.measure: one for one in found}
    assert by_measure.keys() >= {"finding", "jumping"}
    assert what_is_worse(by_measure["finding"]) == "more often: clock-stepped"
    assert (by_measure["finding"].before, by_measure["finding"].after) == (1, 4)
    jumping = by_measure["jumping"]
    assert (jumping.before, jumping.after, jumping.clock) == (1, 4, NAME)
    assert what_is_worse(jumping) == f"jumps of {NAME} − BOOTTIME"


def test_a_model_without_a_trace_any_more_is_worse(tmp_path, before):
    found = worse(tmp_path, before, [drifting_trace(12, "A78")])
    (one,) = found.worse
    assert (one.measure, one.model, one.before, one.after) == ("traces", "A55", 3, 0)
    assert what_is_worse(one) == "no trace of the model"
    assert (found.models, found.only_here) == (0, ["A78"])


def summed(pair):
    """The figures of a data set of ten traces of one model, with one pair."""
    model = ModelFigures("A55", 10, 0, 0)
    return DataSetSummary("there", 10, 0, [model], [pair], [], [], 0)


PAIR = PairFigures(
    "A55",
    "BOOTTIME",
    NAME,
    traces=10,
    drift_ppm=Spread(0, 0, 1, 2, 3),
    wander_ppm=Spread(0, 1, 1, 2, 9),
    worst_bar_ns=Spread(1e3, 1e3, 2e3, 3e3, 3e3),
    worst_trace="a",
    open_bars=0,
    jumps=0,
    jumping=0,
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"open_bars": 1}, [("open_bars", 0, 1)]),
        ({}, {"open_bars": 10, "worst_bar_ns": None}, [("open_bars", 0, 10)]),
        ({"open_bars": 1}, {"open_bars": 1}, []),
        ({"open_bars": 4}, {"open_bars": 5}, []),
        ({"open_bars": 4}, {"open_bars": 6}, [("open_bars", 4, 6)]),
        ({}, {"wander_ppm": Spread(0, 1, 1, 3, 9)}, [("wander_ppm", 2, 3)]),
        ({}, {"wander_ppm": Spread(0, 1, 1, 2.9, 99)}, []),
        ({"jumping": 1}, {"jumping": 2}, [("jumping", 1, 2)]),
        ({"jumping": 8}, {"jumping": 10}, []),
    ],
)
def test_what_is_worse_of_a_pair(before, after, expected):
    there, here = (summed(replace(PAIR, **changed)) for changed in (before, after))
    found = compare(here, there).worse
    assert [(one.measure, one.before, one.after) for one in found] == expected


def test_bars_that_are_open_are_told():
    assert worst_bar(PAIR) == "± 2 us, most 3 us"
    assert worst_bar(replace(PAIR, open_bars=2)) == "± 2 us, most 3 us, 2 open"
    assert worst_bar(replace(PAIR, open_bars=10, worst_bar_ns=None)) == "10 open"
    assert "2 open" in page(summed(replace(PAIR, open_bars=2)))


def test_models_that_only_one_data_set_has_are_told_where_nothing_is_worse(tmp_path, before):
    content = [drifting_trace(12, "A55"), drifting_trace(12, "A78")]
    after = data_set(tmp_path / "after", content)
    text = page(fleet.summary(after, against=before))
    assert "Nothing, of 1 model that both have." in text
    assert "only this data set has them: A78" in text


# What cannot be summed up


def test_what_is_no_data_set_of_the_doctor_is_an_error(tmp_path):
    with pytest.raises(tt.UsageError, match="there is no data set .*none.: tracetime fleet doctor"):
        fleet.summary(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    traces = write_fleet(tmp_path / "traces", 1)
    fleet.convert(traces, tmp_path / "out", **FAST)
    with pytest.raises(tt.UsageError, match="has no table clocks: tracetime fleet doctor makes it"):
        fleet.summary(tmp_path / "out")


def test_a_data_set_whose_traces_were_all_rejected_says_so(tmp_path):
    out = data_set(tmp_path, [b"junk", b"rubbish"])
    with pytest.raises(tt.UsageError, match=r"all traces of .* rejected, 2: .*rejected/findings"):
        fleet.summary(out)


def test_a_damaged_part_is_an_error(tmp_path):
    out = data_set(tmp_path, [drifting_trace(10, "A55")])
    parts(out, "clocks")[0].write_bytes(b"PAR1 no more")
    with pytest.raises(tt.UsageError, match="cannot read the data set"):
        fleet.summary(out)


def test_names_are_values_whatever_they_are(tmp_path):
    """Quotes, stars and brackets in a path are no pattern and no SQL."""
    place = tmp_path / "o'brien [a-z]* <b>"
    out = data_set(place, [drifting_trace(10, "<i>A'55")])
    summary = fleet.summary(out)
    assert summary.models[0].model == "<i>A'55"
    text = page(summary)
    assert "<i>" not in text
    assert "&lt;i&gt;A&#x27;55" in text


# In words


def test_the_page_has_it_all_and_loads_nothing(ten, before, tmp_path):
    summary = fleet.summary(ten, against=before)
    size = fleet.summary_page(summary, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert size == (tmp_path / "page.html").stat().st_size < 200_000
    for said in ("Worse than in", "Pairs of clocks", "009.pftrace", "+90 ppm", "A55", NAME):
        assert said in text
    assert "src=" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_the_page_needs_no_bokeh(ten, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bokeh", None)
    assert fleet.summary_page(fleet.summary(ten), tmp_path / "page.html")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (12.345, "+12.3 ppm"),
        (-0.0001, "0 ppm"),
        (-0.00234, "-0.002 ppm"),
        (-5, "-5 ppm"),
        (123456.7, "+123,457 ppm"),
    ],
)
def test_a_drift_has_its_sign(value, said):
    assert ppm(value, signed=True) == said


def test_traces_are_named_below_the_folder_that_all_have(ten):
    summary = fleet.summary(ten)
    assert common_folder(summary) == str(ten.parent / "traces") + "/"
    assert verdict(summary).startswith("11 traces, no errors")
