"""`tracetime at`: one conversion, explained; wall-clock time in and out."""

import gzip
import json
import re

import pytest
from building import event, snapshot, trace
from samples import BOOTTIME, CLOCK_SYNC, MONOTONIC, UNRESOLVED, WALL

pytest_plugins = ["cli"]


def test_at_1104_is_2104(tracetime, write):
    path = write(CLOCK_SYNC)
    code, text, err = tracetime("at", path, 1104, "--from", "MONOTONIC", "--to", "BOOTTIME")
    assert (code, err) == (0, "")
    assert text.splitlines()[0] == "MONOTONIC 1104 -> BOOTTIME 2104 ns"
    result = json.loads(tracetime("at", path, 1104, "--from", "MONOTONIC", "--json")[1])
    assert result == {
        "trace": path,
        "true_between": {"earliest": 1603, "latest": 3105},
        "from": "MONOTONIC",
        "to": "BOOTTIME",
        "value": 1104,
        "value_unit": "ns",
        "policy": "floor",
        "unit_ns": 1,
        "result": 2104,
        "unit": "ns",
        "extrapolated": "",
        "outside_ns": 0,
        "steps": [
            {
                "src": "MONOTONIC",
                "dst": "BOOTTIME",
                "snapshot_src_ns": 1100,
                "snapshot_dst_ns": 2100,
                "value_ns_before": 1104,
                "value_ns_after": 2104,
                "snapshot_index": 1,
                "snapshots": 6,
                "extrapolated": "",
                "outside_ns": 0,
                "src_unit": "ns",
                "dst_unit": "ns",
            }
        ],
    }


def test_lines_are_as_wide_as_the_screen_and_numbers_keep_their_units(
    tracetime, write, monkeypatch
):
    path = write(CLOCK_SYNC)
    args = ("at", path, 10**17 + 1104, "--from", "MONOTONIC", "--to", "BOOTTIME")
    wide, narrow = [], []
    for lines, columns in ((wide, "300"), (narrow, "80")):
        monkeypatch.setenv("COLUMNS", columns)
        lines += tracetime(*args)[1].splitlines()
    assert max(map(len, wide)) > 100
    assert max(map(len, narrow)) <= 80
    assert "\n".join(narrow).replace("\n     ", " ") == "\n".join(wide)
    assert [line for line in narrow if line.lstrip().startswith(("ns", "ms"))] == []


def test_at_from_the_trace_clock_to_wall_time_and_back(tracetime, write):
    path = write(CLOCK_SYNC)
    _, text, _ = tracetime("at", path, 2000, "--to", "REALTIME")
    assert text.splitlines()[-1] == (f"REALTIME {WALL + 2000} is 2026-08-22T14:48:40.123458789Z")
    for more in ([], ["--to", "BOOTTIME"], ["--from", "REALTIME"]):
        _, text, _ = tracetime("at", path, "2026-08-22T16:48:40.123458789+02:00", *more)
        assert text.splitlines()[0] == f"REALTIME {WALL + 2000} -> BOOTTIME 2000 ns"
    result = json.loads(tracetime("at", path, 2000, "--to", "REALTIME", "--json")[1])
    assert result["result_utc"] == "2026-08-22T14:48:40.123458789Z"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("100ns", "BOOTTIME 2100 -> MONOTONIC 1100 ns"),
        ("1.5us", "BOOTTIME 3500 -> MONOTONIC 2000 ns"),
        ("14:48:40.123458889", f"REALTIME {WALL + 2100} -> MONOTONIC 1100 ns"),
    ],
)
def test_at_takes_times_as_people_write_them(tracetime, write, text, line):
    path = write(CLOCK_SYNC)
    assert tracetime("at", path, text, "--to", "MONOTONIC")[1].splitlines()[0] == line
    clock = line.split()[0]
    assert tracetime("at", path, text, "--from", clock, "--to", "MONOTONIC")[1].startswith(line)


@pytest.mark.parametrize("name", ["t.pftrace", "t.pftrace.gz"])
def test_at_a_clock_of_a_sequence(tracetime, write, name):
    data = gzip.compress(CLOCK_SYNC) if name.endswith("gz") else CLOCK_SYNC
    path = write(data, name)
    for clock in (["64", "--sequence", "7"], ["64@seq7"]):
        code, text, _ = tracetime("at", path, 6, "--from", *clock)
        assert code == 0
        first = r"64@seq7(@file1)? 6 -> BOOTTIME 6000 ns\n  true between 4998 and 7004 by .*\n"
        assert re.match(f"{first}  6 x 1000 ns = 6000 ns\n", text)
    code, _, err = tracetime("at", path, 6, "--from", "64")
    assert code == 2
    assert "--sequence" in err
    assert "this trace has it on 7" in err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["5"], 2, "--from CLOCK, --to CLOCK"),
        (["5.5", "--to", "REALTIME"], 2, "whole number"),
        (["2026-08-22", "--to", "BOOTTIME"], 2, "date and time"),
        (["2026-08-22T14:48:40Z", "--from", "MONOTONIC"], 2, "reading of REALTIME"),
        (["1s", "--from", "MONOTONIC"], 2, "is trace time, not of MONOTONIC: leave out --from"),
        (["14:48", "--from", "BOOTTIME"], 2, "reading of REALTIME"),
        (["24:48", "--to", "BOOTTIME"], 2, "hours go to 23"),
        (["0.5ns", "--to", "REALTIME"], 2, "no whole number of nanoseconds"),
        (["9223372036854775808", "--to", "REALTIME"], 2, "int64"),
        (["9" * 5000, "--to", "REALTIME"], 2, "whole number"),
        (["5", "--to", "REALTIME", "--sequence", "7"], 2, "64 to 127"),
        (["5", "--from", "777"], 1, "no snapshot has 777"),
        (["9223372036854775807", "--to", "REALTIME"], 1, "int64"),
    ],
)
def test_at_refuses(tracetime, write, args, code, message):
    got, out, err = tracetime("at", write(CLOCK_SYNC), *args)
    assert (got, out) == (code, "")
    assert message in err


def test_at_converts_by_what_a_file_cut_off_still_holds(tracetime, write):
    args = ("at", write(CLOCK_SYNC[:-1]), 1104, "--from", "MONOTONIC")
    assert tracetime(*args)[0] == 3
    code, text, _ = tracetime(*args, "--partial")
    assert (code, text.splitlines()[0]) == (0, "MONOTONIC 1104 -> BOOTTIME 2104 ns")


def test_at_takes_a_negative_time(tracetime, write):
    code, text, _ = tracetime("at", write(CLOCK_SYNC), "--to", "MONOTONIC", "--", "-5")
    assert code == 0
    assert text.startswith("BOOTTIME -5 -> MONOTONIC -1005 ns\n")


def test_at_says_why_a_clock_that_ran_backwards_does_not_convert(tracetime, write):
    code, _, err = tracetime("at", write(UNRESOLVED), 5, "--from", "MONOTONIC")
    assert code == 1
    assert "ran backwards" in err


DRIFTING = trace(
    *(snapshot({BOOTTIME: 10**10 * k, MONOTONIC: 10**10 * k + 200_000 * k}) for k in range(10)),
    event(1, MONOTONIC),
)


def test_at_by_the_tube_prints_the_bar_and_where_it_comes_from(tracetime, write):
    path = write(DRIFTING)
    args = ("at", path, 10**10 + 5_000_100_000 + 200_000, "--from", "MONOTONIC", "--policy", "tube")
    code, text, err = tracetime(*args)
    assert (code, err) == (0, "")
    assert text.startswith("MONOTONIC 15000300000 -> BOOTTIME 1500000000")
    assert "estimated bars" in text
    assert "10 snapshots" in text
    result = json.loads(tracetime(*args, "--bars", "guaranteed", "--json")[1])
    assert (result["policy"], result["bars"], result["to"]) == ("tube", "guaranteed", "BOOTTIME")
    assert result["earliest"] < result["result"] < result["latest"]
    (step,) = result["steps"]
    assert (step["src"], step["dst"], step["snapshots"]) == ("MONOTONIC", "BOOTTIME", 10)


def test_at_takes_what_is_said_of_clocks(tracetime, write):
    args = ("at", write(DRIFTING), 10**10, "--from", "MONOTONIC", "--policy", "tube", "--json")
    narrow = json.loads(tracetime(*args, "--assume-half-width", "MONOTONIC=10ns")[1])
    wide = json.loads(tracetime(*args, "--assume-half-width", "MONOTONIC=1ms")[1])
    assert (narrow["steps"][0]["half_width_ns"], wide["steps"][0]["half_width_ns"]) == (10, 10**6)
    assert wide["latest"] - wide["earliest"] > narrow["latest"] - narrow["earliest"]


def test_at_knows_a_clock_by_the_name_it_is_given(tracetime, write):
    path = write(trace(snapshot({BOOTTIME: 5, 0x8A01B2C3: 7}), event(1)))
    args = ("at", path, 7, "--from", "com.example.gpu")
    assert tracetime(*args)[0] == 1
    code, text, _ = tracetime(*args, "--clock-name", "0x8a01b2c3=com.example.gpu")
    assert (code, text.splitlines()[0]) == (0, "com.example.gpu 7 -> BOOTTIME 5 ns")


def test_at_refuses_bars_without_the_tube(tracetime, write):
    code, _, err = tracetime("at", write(DRIFTING), 5, "--to", "MONOTONIC", "--bars", "estimated")
    assert code == 2
    assert "--policy tube" in err


def test_at_warns_of_limits_that_floor_takes_no_part_in(tracetime, write):
    args = ("at", write(CLOCK_SYNC), 1104, "--from", "MONOTONIC", "--max-drift-ppm", "MONOTONIC=5")
    args += ("--wander-ppm", "MONOTONIC=2", "--clock-name", "MONOTONIC=mono")
    code, text, err = tracetime(*args)
    assert (code, text.splitlines()[0]) == (0, "MONOTONIC 1104 -> BOOTTIME 2104 ns")
    assert err == (
        "warning: the floor policy does not use --max-drift-ppm, --wander-ppm: give --policy tube\n"
    )
    assert tracetime(*args, "--policy", "tube")[::2] == (0, "")


def test_at_refuses_floor_of_a_clock_whose_declared_rate_it_does_not_use(tracetime, write):
    args = ("at", write(CLOCK_SYNC), 1104, "--from", "MONOTONIC", "--clock-rate", "MONOTONIC=2GHz")
    code, _, err = tracetime(*args)
    assert code == 2
    assert "MONOTONIC counts ticks of 0.5 ns, and the floor policy takes each for 1 ns" in err
    assert tracetime(*args, "--policy", "tube")[::2] == (0, "")


def test_near_says_which_wrap_of_a_short_counter(tracetime, write):
    second = 10**9
    path = write(
        trace(
            *(
                snapshot({BOOTTIME: (1000 + k) * second, 0x8A01B2C3: (k * second + 5) % 2**31})
                for k in range(20)
            )
        )
    )
    args = ("at", path, (9 * second + 5) % 2**31, "--from", "0x8a01b2c3", "--policy", "tube",
             "--valid-bits", "0x8a01b2c3=31")  # fmt: skip
    code, _, err = tracetime(*args)
    assert code == 1
    assert "say near which time" in err
    for near in (1009 * second + 20, "9s"):
        code, text, _ = tracetime(*args, "--near", near, "--json")
        assert abs(json.loads(text)["result"] - 1009 * second) < 10


def test_near_is_for_the_tube(tracetime, write):
    code, _, err = tracetime("at", write(CLOCK_SYNC), 1104, "--from", "MONOTONIC", "--near", 5)
    assert code == 2
    assert "--policy tube" in err
