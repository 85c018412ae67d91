"""Many files on one graph: what ties them, against worlds whose truth is known."""

from __future__ import annotations

import json
import re
import zipfile

import numpy as np
import pytest
from corpus import DATA, NO_DATA
from merge_worlds import BOOTS, kineto_ranks, talk, trace_of
from places import ROOT
from scp import DESTINATION, MATCHES, SOURCE, expected, packets
from seeds import seeds

import tracetime as tt
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.report import report_of

pytest_plugins = ["cli"]

SYNCTRACES = DATA / "other" / "ctf" / "tracecompass" / "synctraces"


def truth_inside(joined, number, world, times):
    bounds = joined.clocks.convert(
        times, joined.home(number), joined.home(0), policy="tube", bounds=True
    )
    truth = world.on_first(number, times)
    return bounds, truth, (bounds.earliest <= truth) & (truth <= bounds.latest)


@pytest.mark.parametrize("seed", seeds(4))
def test_ranks_are_tied_by_their_collectives(tmp_path, seed):
    world = kineto_ranks(tmp_path, seed)
    with MergedTraces(world.paths) as joined:
        for number in range(1, len(world.paths)):
            times = np.linspace(*joined.files[number].span, 500).astype(np.int64)
            bounds, truth, inside = truth_inside(joined, number, world, times)
            assert inside.all()
            error = np.median(np.abs(bounds.estimate - truth))
            by_minimum = np.abs(world.by_minimum(number, times) - truth)
            by_wall_clock = np.abs(times - truth)
            assert error <= np.median(by_minimum) / 20
            assert error <= np.median(by_wall_clock) / 20


def test_steps_that_are_all_alike_are_refused(tmp_path):
    world = kineto_ranks(tmp_path, 1, jitter=False)
    assert not tt.merge(world.paths, None).files[1].ties


def test_an_offset_that_is_given(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", BOOTS)
    sync = "a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+250ms+-1ms"
    report = tt.merge([one, other], sync=[sync])
    assert report.files[1].offset_ns == 250_000_000
    assert 1_000_000 <= report.files[1].half_width_ns < 1_100_000
    with zipfile_of(tmp_path, [one, other], sync=[sync]) as archive:
        files = json.loads(archive.read("perfetto_manifest.json"))["perfetto_manifest"]["files"]
        assert files[1]["clocks"]["offset_ns"] == 250_000_000
        assert archive.read("a.pftrace") == one.read_bytes()


def zipfile_of(folder, inputs, **options):
    tt.merge(inputs, folder / "merged.zip", **options)
    return zipfile.ZipFile(folder / "merged.zip")


@pytest.mark.parametrize("apart_ns", [0, 500_000_000])
def test_files_of_one_boot_by_the_instant_it_booted(tmp_path, apart_ns):
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1")
    other = trace_of(
        tmp_path / "b.pftrace", kernel="6.1", later_ns=100_000_000_000, booted_ns=apart_ns
    )
    report = tt.merge([one, other], None)
    assert report.boots[0].same == (not apart_ns)
    assert (report.files[1].offset_ns == 0) == (not apart_ns)


@pytest.mark.parametrize(
    ("apart_ns", "set_ns"), [(40_000_000_000, 0), (2_400_000_000_000, 7_200_000_000_000)]
)
def test_machines_booted_at_other_times_are_two(tmp_path, apart_ns, set_ns):
    """Neither a day between the recordings nor a wall clock that is set makes them one."""
    day_ns = 86_400_000_000_000
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1", set_ns=set_ns)
    other = trace_of(
        tmp_path / "b.pftrace", kernel="6.1", later_ns=day_ns - apart_ns, booted_ns=apart_ns
    )
    report = tt.merge([one, other], None)
    assert not report.boots[0].same
    assert report.files[1].offset_ns is None


def test_a_wall_clock_that_is_set_leaves_files_of_one_boot_one(tmp_path):
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1", set_ns=7_200_000_000_000)
    other = trace_of(
        tmp_path / "b.pftrace", kernel="6.1", later_ns=100_000_000_000, booted_ns=7_200_000_000_000
    )
    assert tt.merge([one, other], None).boots[0].same


@pytest.mark.parametrize("boot", [b"0" * 16, b"1" * 16])
def test_the_boot_id_decides_first(tmp_path, boot):
    one = trace_of(tmp_path / "a.pftrace", boot_id=b"0" * 16)
    other = trace_of(tmp_path / "b.pftrace", boot_id=boot, booted_ns=500_000_000)
    assert tt.merge([one, other], None).boots[0].same == (boot == b"0" * 16)


def test_another_kernel_is_another_machine(tmp_path):
    one = trace_of(tmp_path / "a.pftrace", kernel="6.1")
    other = trace_of(tmp_path / "b.pftrace", kernel="6.2")
    assert not tt.merge([one, other], None).boots[0].same
    report = tt.merge([one, other], None, same=["a.pftrace,b.pftrace"])
    assert report.boots[0].same
    assert report.files[1].offset_ns == 0


def test_files_that_nothing_ties_are_not_written(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    assert tt.merge([one, other], None).files[1].why_not
    with pytest.raises(tt.UsageError, match=r"nothing ties b\.pftrace to a\.pftrace"):
        tt.merge([one, other], tmp_path / "merged.zip")
    assert not (tmp_path / "merged.zip").exists()


def test_an_untied_file_tells_what_was_looked_for_and_an_example_that_ties_it(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    found = tt.merge([one, other], None).files[1]
    assert [text.split(":")[0] for text in found.looked_for] == [
        "one boot",
        "wall clocks",
        "wall clocks",
        "messages",
    ]
    assert "--same a.pftrace,b.pftrace" in found.advice
    sync = re.search(r"--sync (\S+)", found.advice)[1]
    assert sync == "a.pftrace:REALTIME=b.pftrace:REALTIME+0ms+-10ms"
    tied = tt.merge([one, other], None, sync=[sync]).files[1]
    assert tied.offset_ns == 0
    assert not tied.looked_for
    assert tied.advice is None


def test_a_file_given_twice_is_one_file(tmp_path):
    one = trace_of(tmp_path / "a.pftrace")
    (tmp_path / "link.pftrace").symlink_to(one)
    for again in (one, tmp_path / "link.pftrace"):
        with pytest.raises(tt.UsageError, match="are one file"):
            tt.merge([one, again], None)


def test_too_few_partners_are_told(tmp_path):
    one, other = talk(tmp_path, 5_000)
    report = tt.merge(
        [one, other], None, match=["send=ask recv=none key=id"], together=["name=ask"]
    )
    assert "--sync a.json:org.chromium.trace=b.json:org.chromium" in report.files[1].advice
    said = report.files[1].looked_for
    assert "slices ask: 40 in a.json, 0 in b.json; it takes 12 in each" in said[4]
    assert "40 ask in a.json, 0 none in a.json, 0 ask in b.json, 0 none in b.json" in said[5]


def test_no_file_is_read_again_to_tell_what_was_looked_for(tmp_path, monkeypatch):
    read = []

    def counted(reading):
        def read_counted(self, *args, **options):
            read.append(self.path)
            return reading(self, *args, **options)

        return read_counted

    for name in ("events", "slices"):
        monkeypatch.setattr(tt.Trace, name, counted(getattr(tt.Trace, name)))
    rules = {"match": ["send=ask recv=none key=id"], "together": ["name=ask"]}
    with MergedTraces(talk(tmp_path, 5_000), **rules) as joined:
        before = len(read)
        assert before
        assert report_of(joined).files[1].looked_for
        assert len(read) == before


def test_a_name_with_quotes_and_backslashes_is_found(tmp_path):
    name = "'all\"\\"
    for file in ("a.json", "b.json"):
        slices = [{"ph": "X", "pid": 1, "tid": 1, "ts": t, "dur": 1, "name": name} for t in (5, 9)]
        (tmp_path / file).write_text(json.dumps({"traceEvents": slices}))
    report = tt.merge([tmp_path / "a.json", tmp_path / "b.json"], None, together=[f"name={name}"])
    assert "2 in a.json, 2 in b.json; it takes 12 in each" in report.files[1].looked_for[4]


@pytest.mark.parametrize("early_us", [0, 5_000])
def test_messages_that_are_received_before_they_were_sent_contradict(tmp_path, early_us):
    match = ["send=ask recv=hear key=id", "send=answer recv=hear_back key=id"]
    report = tt.merge(talk(tmp_path, early_us), None, match=match)
    assert len(report.wrong_orders) == bool(early_us)
    for wrong in report.wrong_orders:
        assert wrong.kind == "wrong_order"
        assert {str(wrong.src), str(wrong.dst)} == {str(file.clock) for file in report.files}
    assert len(report.to_dict()["wrong_orders"]) == bool(early_us)


def test_the_command_prints_the_report_before_its_error(tmp_path, tracetime):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    for more in ((), ("-o", tmp_path / "merged.zip")):
        code, out, err = tracetime("merge", one, other, *more)
        assert code == 2
        assert "not by messages" in out
        assert "collectives" not in out
        assert "--same a.pftrace,b.pftrace" in err
    assert not (tmp_path / "merged.zip").exists()


def test_the_command_prints_contradicting_messages(tmp_path, tracetime):
    match = ["--match", "send=ask recv=hear key=id"]
    match += ["--match", "send=answer recv=hear_back key=id"]
    code, out, _ = tracetime("merge", *talk(tmp_path, 5_000), *match)
    assert code == 0
    assert "contradiction: between a.json and b.json" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sync": ["a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+1ms"]}, "is no offset"),
        ({"sync": ["x:BOOTTIME=b.pftrace:BOOTTIME+1ms+-1ms"]}, "none of the files"),
        ({"sync": ["a.pftrace:TSC=b.pftrace:BOOTTIME+1ms+-1ms"]}, "has no clock TSC"),
        ({"match": ["send=a"]}, "is no rule"),
        ({"together": ["key=a"]}, "is no rule"),
        ({"same": ["a.pftrace"]}, "is not a pair"),
        ({"same": ["a.pftrace,b.pftrace"], "different": ["b.pftrace,a.pftrace"]}, "said to be"),
    ],
)
def test_options_that_cannot_be_read(tmp_path, options, said):
    inputs = [trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")]
    with pytest.raises(tt.UsageError, match=said):
        tt.merge(inputs, None, **options)


@pytest.mark.sweep
@pytest.mark.skipif(not SYNCTRACES.exists(), reason=NO_DATA)
@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_two_machines_that_copy_a_file(bars):
    """Trace Compass' line is inside the bar at every message, there and back."""
    with MergedTraces([SYNCTRACES / "scp_src", SYNCTRACES / "scp_dest"]) as joined:
        assert [tie.ties for tie in joined.ties] == [24, 22]
        homes = joined.home(0), joined.home(1)
        wall = [
            int(both[2][0] - both[1][0])
            for home in homes
            for both in [joined.graph.shared(home, tt.ClockId(1, machine=home.machine))]
        ]
        ends = [(packets(path, "out"), packets(path, "in")) for path in (SOURCE, DESTINATION)]
        (out, into), (back, arrived) = ends
        keys = "seq", "ack_seq", "flags"
        there = tt.match_messages(out.keys(*keys), arrived.keys(*keys))
        returned = tt.match_messages(back.keys(*keys), into.keys(*keys))
        at = np.concatenate([out.ns[there.sent], into.ns[returned.received]])
        assert len(at) == MATCHES
        bar = joined.clocks.convert(at - wall[0], *homes, policy="tube", bounds=True, bars=bars)
        line = expected(at) - wall[1]
        assert (bar.earliest <= line).all()
        assert (line <= bar.latest).all()
        half_ns = (bar.latest - bar.earliest) / 2
        assert 137_000 < half_ns.min() < np.median(half_ns) < 151_000
        assert np.abs(bar.estimate - line).max() < 5_000


def chain_of_three(folder):
    """a and c talk to b, never to each other."""
    one, other = talk(folder)
    (folder / "c.json").write_bytes(one.read_bytes())
    return one, other, folder / "c.json"


BOTH_WAYS = ["send=ask recv=hear key=id", "send=answer recv=hear_back key=id"]


def test_the_evidence_between_two_files_that_talk(tmp_path):
    found = tt.merge(talk(tmp_path), None, match=BOTH_WAYS, explain=("a.json", "b.json")).explained
    assert [(link.ties, link.orders) for link in found.links] == [(40, 40), (40, 40)]
    assert all(2 <= link.live <= 40 for link in found.links)
    assert found.over == ()
    assert [at.where for at in found.instants] == ["start", "middle", "end", "narrowest", "worst"]
    widths = {at.where: at.most_ns - at.least_ns for at in found.instants}
    assert widths["narrowest"] == min(widths.values())
    assert widths["worst"] == max(widths.values())
    for at in found.instants:
        (step,) = at.steps
        assert step.live == sum(link.live for link in found.links)
        assert step.sources == tuple(link.said for link in found.links)
        # On b's clock: an answer was sent before it came back, what was heard was asked before.
        assert (step.earliest_by.said, step.latest_by.said) == step.sources
        number = step.earliest_by.number
        # Whole us may have been rounded up.
        assert step.earliest_by.before_ts == 1_000_000_000 + 10_007_000 * number - 500
        on_a = at.time_ns + at.offset_ns
        assert step.earliest_by.away_ns == on_a - step.earliest_by.before_ts


def test_evidence_that_leads_over_a_third_file(tmp_path):
    paths = chain_of_three(tmp_path)
    report = tt.merge(paths, None, match=BOTH_WAYS, explain=("a.json", "c.json"))
    found = report.explained
    assert found.links == ()
    assert found.over == ("a.json", "b.json", "c.json")
    assert len(found.over_links) == 4
    assert [len(at.steps) for at in found.instants] == [2] * 5
    assert "tied over b.json" in str(found)
    assert "nothing ties the two at once" in str(found)


def test_a_given_offset_is_named_as_what_the_bar_rests_on(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", BOOTS)
    sync = "a.pftrace:BOOTTIME=b.pftrace:BOOTTIME+250ms+-1ms"
    found = tt.merge([one, other], None, sync=[sync], explain=("a.pftrace", "b.pftrace")).explained
    assert found.instants[0].offset_ns == 250_000_000
    (step,) = found.instants[0].steps
    assert step.sources == (f"the given offset {sync}",)
    assert (step.orders, step.earliest_by, step.latest_by) == (0, None, None)


def test_files_that_nothing_ties_have_no_evidence(tmp_path):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace", BOOTS)
    found = tt.merge([one, other], None, explain=("b.pftrace", "a.pftrace")).explained
    assert (found.links, found.over, found.path, found.instants) == ((), (), (), ())
    assert found.why_not
    with pytest.raises(tt.UsageError, match="are one file"):
        tt.merge([one, other], None, explain=("b.pftrace", "b.pftrace"))
    with pytest.raises(tt.UsageError, match="none of the files"):
        tt.merge([one, other], None, explain=("b.pftrace", "d.pftrace"))


def test_messages_that_contradict_are_told_with_the_evidence(tmp_path):
    report = tt.merge(talk(tmp_path, 5_000), None, match=BOTH_WAYS, explain=("a.json", "b.json"))
    (said,) = report.explained.contradictions
    assert "is reversed" in said


def test_the_command_prints_the_evidence(tmp_path, tracetime):
    match = [part for rule in BOTH_WAYS for part in ("--match", rule)]
    code, out, _ = tracetime("merge", *talk(tmp_path), *match, "--explain", "a.json", "b.json")
    assert code == 0
    assert "evidence between a.json and b.json" in out
    assert "earliest by number" in out


def test_the_report_as_json_comes_even_before_an_error(tmp_path, tracetime):
    one, other = trace_of(tmp_path / "a.pftrace"), trace_of(tmp_path / "b.pftrace")
    code, out, err = tracetime("merge", one, other, "--json")
    assert code == 2
    assert json.loads(out)["files"][1]["why_not"]
    assert "nothing ties" in json.loads(err)["error"]["message"]


def test_live_orders_are_those_whose_absence_widens_a_bar(tmp_path):
    with MergedTraces(talk(tmp_path), match=BOTH_WAYS) as joined:
        parts = joined.graph
        here, there = joined.home(0), joined.home(1)
        live = set(parts.tubes.pair(here, there).live_orders().tolist())
        orders = parts.state.orders.of(here, there)
        times = np.linspace(*joined.files[1].span, 2_000).astype(np.int64)

        def bars(without):
            graph = tt.ClockGraph(domains=parts.state.domains.values())
            kept = orders.only(~np.isin(orders.numbers, list(without)))
            for first in (True, False):
                some = kept.only(kept.one_first == first)
                ends = [(some.one_ts, here), (some.other_ts, there)]
                graph.add_order(*(ends if first else ends[::-1]))
            bar = graph.convert(times, there, here, policy="tube", bars="guaranteed", bounds=True)
            return np.stack([bar.earliest, bar.latest])

        whole = bars(())
        assert (bars(set(orders.numbers.tolist()) - live) == whole).all()
        for number in sorted(live)[1:-1]:
            assert (bars({number}) != whole).any()


def test_many_pairs_of_files_that_differ_for_one_reason_are_counted(tmp_path, tracetime):
    paths = [trace_of(tmp_path / f"{n}.pftrace", kernel=f"6.{n}") for n in range(9)]
    _, out, _ = tracetime("merge", *paths, "--same", "0.pftrace,1.pftrace")
    assert "0.pftrace and 1.pftrace: one boot" in out
    assert "7 pairs of files: different machines or boots: kernel" in out
    _, out, _ = tracetime("merge", *paths[:4])
    assert "0.pftrace and 3.pftrace: different machines or boots: kernel" in " ".join(out.split())


def marked(folder, name, first_us, every_us=100_000):
    """A file of Chrome's with a marker, and 100 events that begin there."""
    marker = {"name": "start", "ph": "i", "ts": first_us, "pid": 1, "tid": 1}
    works = [
        {"name": f"w{k}", "ph": "X", "ts": first_us + k * every_us, "dur": 5, "pid": 1, "tid": 1}
        for k in range(100)
    ]
    late = {**marker, "ts": first_us + 50 * every_us}
    path = folder / name
    path.write_text(json.dumps({"traceEvents": [*works, late, marker]}))
    return path


def test_files_are_aligned_at_the_first_event_of_a_name(tmp_path):
    """Exactly there; the bars grow by the drift of both clocks, which nobody declares."""
    paths = [marked(tmp_path, "a.json", 1000), marked(tmp_path, "b.json", 5000, 100_001)]
    assert not tt.merge(paths).is_tied
    other = tt.merge(paths, at="start").files[1]
    assert abs(other.offset_ns + 4_000_000) <= other.half_width_ns
    said = "the first 'start' in both, of 2 and 2: you vouch that they are one instant"
    assert [tie.said for tie in other.ties] == [said]
    assert 1e-3 < other.worst_half_width_ns / 9.9e9 < 5e-3
    with tt.open_trace(paths[1]) as trace, tt.open_trace(paths[0]) as first:
        begun = [t.read_all()["trace_time"].to_pylist() for t in (first, trace)]
    assert min(begun[1]) - min(begun[0]) == 4_000_000
    out = tmp_path / "m.pftrace"
    tt.merge(paths, out, at="start")
    with tt.open_trace(out) as merged:
        sql = "select ts from slices where name in ('w0', 'start') order by ts"
        times = merged.sql(sql)["ts"].to_pylist()
    assert times[0] == times[1] == times[2] == times[3]


def test_files_without_the_event_or_with_one_clock_are_not_aligned(tmp_path):
    paths = [marked(tmp_path, "a.json", 1000), marked(tmp_path, "b.json", 5000)]
    with pytest.raises(tt.UsageError, match=r"a\.json has no event 'nope' with an error bar"):
        tt.merge(paths, at="nope")
    boots = [tmp_path / "a.pftrace", tmp_path / "b.pftrace"]
    for path in boots:
        path.write_bytes((ROOT / "demo" / "demo.pftrace").read_bytes())
    with pytest.raises(tt.UsageError, match="have one clock"):
        tt.merge(boots, same=["a.pftrace,b.pftrace"], at="frame 37")
