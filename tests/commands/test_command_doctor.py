"""`tracetime doctor`: text, JSON, exit codes."""

import json
from random import Random

import pytest
from building import event, snapshot, trace
from faults import FAULTS, Model
from samples import BOOTTIME

from tracetime.analysis.survey import Survey

pytest_plugins = ["cli"]


def faulty(name, seed=1):
    model = Model()
    FAULTS[name](model, Random(seed))
    return model.build()


def test_a_healthy_trace_gets_a_short_answer(tracetime, write):
    path = write(Model().build())
    code, text, err = tracetime("doctor", path)
    assert (code, err) == (0, "")
    assert text.startswith(f"{path}: the clocks are in order.\n\nError bars on BOOTTIME\n")
    result = json.loads(tracetime("doctor", path, "--json")[1])
    assert result["schema"] == 1
    (found,) = result["traces"]
    assert (found["trace"], found["findings"]) == (path, [])


def test_a_finding_says_what_why_and_what_to_do(tracetime, write):
    path = write(faulty("set_back"))
    code, text, err = tracetime("doctor", path)
    assert (code, err) == (0, "")
    assert text.startswith(f"{path}: 1 error\n\nerror: REALTIME was set back once")
    assert "[realtime-set-back]" in text
    assert " events affected; packet" in text
    assert "\n  why: " in text
    assert "\n  fix: " in text
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_what_several_files_have_alike_is_explained_once(tracetime, write):
    one, other = (write(faulty("incremental_global"), name) for name in ("a.pftrace", "b.pftrace"))
    text = tracetime("doctor", one, other)[1]
    assert text.count("[incremental-clock-not-of-a-sequence]") == 2
    assert text.count("\n  why: ") == text.count("\n  fix: ") == 1
    assert text.rpartition("why and fix: as of")[2].split()[0] == one
    alone = tracetime("doctor", other)[1]
    assert "\n  why: " in alone


def test_infos_take_a_line_each_without_verbose(tracetime, write):
    path = write(faulty("no_realtime"))
    text = tracetime("doctor", path)[1]
    assert text.startswith(f"{path}: the clocks are in order.\n\ninfo: no snapshot holds REALTIME")
    assert "why:" not in text
    assert "\n  --verbose says why, and what to do\n" in text
    verbose = tracetime("doctor", path, "--verbose")[1]
    assert "why:" in verbose
    assert "--verbose" not in verbose


def test_fail_on_sets_the_exit_code(tracetime, write):
    bad, odd, fine = (
        write(data, name)
        for data, name in (
            (faulty("set_back"), "bad"), (faulty("ad_hoc_id"), "odd"), (Model().build(), "fine"),
        )
    )  # fmt: skip
    assert tracetime("doctor", bad, "--fail-on", "error")[0] == 1
    assert tracetime("doctor", odd, "--fail-on", "error")[0] == 0
    assert tracetime("doctor", odd, "--fail-on", "warning")[0] == 1
    assert tracetime("doctor", fine, "--fail-on", "warning")[0] == 0
    assert tracetime("doctor", fine, bad, "--fail-on", "error")[0] == 1


def test_an_error_about_one_trace_is_in_its_element(tracetime, write, tmp_path):
    good, junk = write(Model().build(), "good"), write(b"PERFILE2 no trace", "junk")
    missing = str(tmp_path / "missing")
    for paths, wanted in (
        ([junk, good], 3), ([good, missing], 2), ([missing, junk, good], 3), ([junk], 3),
        ([missing], 2), ([good], 0),
    ):  # fmt: skip
        code, text, err = tracetime("doctor", *paths, "--json")
        assert (code, err) == (wanted, "")
        result = json.loads(text)
        assert result["schema"] == 1
        assert [one["trace"] for one in result["traces"]] == paths
        by_path = {one["trace"]: one for one in result["traces"]}
        assert by_path.get(good, {"findings": []})["findings"] == []
        if junk in paths:
            error = by_path[junk]["error"]
            assert list(error) == ["code", "message", "offset", "packet"]
            assert (error["code"], error["offset"], error["packet"]) == ("trace", 0, None)
            assert "Linux perf" in error["message"]
        if missing in paths:
            error = by_path[missing]["error"]
            assert (error["code"], error["offset"]) == ("usage", None)
            assert "No such file" in error["message"]


def test_a_bad_trace_does_not_hide_the_others(tracetime, write):
    good, junk = write(Model().build(), "good"), write(b"PERFILE2 no trace", "junk")
    code, text, err = tracetime("doctor", junk, good)
    assert code == 3
    assert text.startswith(f"{good}: the clocks are in order.\n")
    assert err.startswith(f"tracetime: error: {junk}: this is a recording of Linux perf")


@pytest.mark.parametrize("args", [("--tolerance", "soon"), ("--nonsense",), ("--fail-on", "all")])
def test_an_error_about_the_call_is_json_too(tracetime, write, args):
    code, text, err = tracetime("doctor", write(Model().build()), "--json", *args)
    assert (code, text) == (2, "")
    result = json.loads(err)
    assert result["schema"] == 1
    assert result["error"]["code"] == "usage"
    assert args[0] in result["error"]["message"]


def test_an_error_of_any_command_is_json_with_json(tracetime, write):
    junk = write(b"no trace")
    for words in (
        ["clocks", junk],
        ["convert", junk, "-o", junk + ".csv"],
        ["sql", junk, "from events"],
    ):
        code, _, err = tracetime(*words, "--json")
        assert code == 3
        assert json.loads(err)["error"]["offset"] == 0
    code, _, err = tracetime("at", write(Model().build()), "5", "--from", "777", "--json")
    assert (code, json.loads(err)["error"]["code"]) == (1, "conversion")
    code, _, err = tracetime("calibrate", "--clock", "123", "--json")
    assert (code, json.loads(err)["error"]["code"]) == (4, "source")
    # Of the command that is recorded it is no option of ours.
    assert tracetime("record", "-o", "/", "--", "true", "--json")[2].startswith("tracetime: error")


def test_severities_have_one_name(tracetime, write):
    data = trace(*(snapshot({BOOTTIME: k, 130: k}) for k in (1000, 2000)))
    path = write(data)
    result = json.loads(tracetime("doctor", path, "--json")[1])["traces"][0]["findings"]
    severities = {finding["severity"] for finding in result}
    assert severities == {"warning", "info"}
    text = tracetime("doctor", path)[1].partition("Error bars on")[0]
    assert {
        line.split(":")[0] for line in text.splitlines()[2:] if line[:1].isalpha()
    } == severities
    assert text.splitlines()[0] == f"{path}: 1 warning, 1 info"


def test_the_tolerance_is_a_time(tracetime, write):
    path = write(Model().build())
    code, _, err = tracetime("doctor", path, "--tolerance", "soon")
    assert code == 2
    assert "write it as 100us" in err
    assert "snapshots-too-sparse" in tracetime("doctor", path, "--tolerance", "5us")[1]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("doctor", ()),
        ("report", ("-o", "r.html")),
        ("report", ()),
        ("convert", ("-o", "\u202e\x1b[31m\nerror: all.csv")),
        ("sql", ("--partial", "from events")),
        ("sql", ("\u202e\x1b[31m",)),
    ],
)
def test_a_hostile_name_of_a_file_stays_on_its_line(
    tracetime, write, tmp_path, monkeypatch, command, more
):
    monkeypatch.chdir(tmp_path)
    path = write(Model().build()[:-1], "\x1b[31mfine\u202e\nerror: all is lost")
    partial = () if command in ("doctor", "sql") else ("--partial",)
    _, text, err = tracetime(command, path, *partial, *more)
    text += err
    assert r"\u202e" in text.replace("\n", "").replace(" ", "")
    assert not set("\x1b\u202e") & set(text)
    assert not any(line.startswith("error: all") for line in text.splitlines())


@pytest.mark.parametrize(
    "args", [("watch", "-n", 1, "--interval"), ("calibrate", "-n", 1, "--seconds")]
)
def test_nan_is_no_number_of_seconds(tracetime, args):
    code, _, err = tracetime(*args, "nan")
    assert code == 2
    assert "'nan' is not a number of seconds" in err


def test_many_findings_of_one_kind_are_folded(tracetime, write):
    """Twelve counters that each began again: five are result, with how many more there are."""
    counters = range(0x80000001, 0x8000000D)
    path = write(
        trace(
            *(
                snapshot({BOOTTIME: k * 10**9, counter: value})
                for counter in counters
                for k, value in ((1, 10**12), (2, 10**9))
            )
        )
    )
    text = tracetime("doctor", path)[1]
    assert text.count("was reset once [clock-reset]") == 5
    assert "info: 7 more [clock-reset]; --verbose prints them\n" in text
    verbose = tracetime("doctor", path, "--verbose")[1]
    assert verbose.count("was reset once [clock-reset]") == 12
    assert "--verbose" not in verbose
    findings = json.loads(tracetime("doctor", path, "--json")[1])["traces"][0]["findings"]
    assert [finding["code"] for finding in findings].count("clock-reset") == 12


def test_the_events_of_a_finding(tracetime, write):
    path = write(faulty("clock_without_snapshot"))
    code, text, err = tracetime("doctor", path, "--events", "clock-without-snapshot")
    assert (code, err) == (0, "")
    head, names, _, *lines, total = text.splitlines()
    assert head.startswith(f"{path}: clock-without-snapshot: {len(lines)} events")
    assert total == f"({len(lines)} rows)"
    assert names.split()[:3] == ["packet", "kind", "item"]
    options = ("--events", "clock-without-snapshot", "--json")
    (result,) = json.loads(tracetime("doctor", path, *options)[1])["traces"]
    (found,) = (one for one in result["findings"] if one["code"] == "clock-without-snapshot")
    assert len(result["events"]) == found["events"] == len(lines)
    assert {row["status"] for row in result["events"]} == {"unknown_source_clock"}


def test_a_list_of_events_takes_no_bars(tracetime, write, monkeypatch):
    path = write(Model().build())
    monkeypatch.setattr(Survey, "widest_bars", lambda self: pytest.fail("they are not printed"))
    assert tracetime("doctor", path, "--events", "clock-without-snapshot")[0] == 0


def test_a_finding_that_a_trace_has_not_has_no_events(tracetime, write):
    path = write(Model().build())
    code, text, _ = tracetime("doctor", path, "--events", "suspend")
    assert (code, text) == (0, f"{path}: suspend: there is no such finding\n")
    late = write(faulty("snapshots_late"))
    (found,) = json.loads(tracetime("doctor", late, "--json")[1])["traces"][0]["findings"]
    _, text, _ = tracetime("doctor", late, "--events", "snapshots-late")
    assert f": snapshots-late: {found['events']} events\n" in text


def test_events_of_what_is_no_finding(tracetime, write):
    code, _, err = tracetime("doctor", write(Model().build()), "--events", "supend")
    assert code == 2
    assert "there is no finding 'supend': did you mean suspend" in err


def test_many_events_of_a_finding_are_cut(tracetime, write):
    path = write(trace(snapshot({BOOTTIME: 1}), *(event(n, 777) for n in range(120))))
    _, text, _ = tracetime("doctor", path, "--events", "clock-without-snapshot")
    assert "120 events; --json has all, these are the first" in text
    assert text.endswith("(100 rows)\n")
