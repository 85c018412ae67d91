"""Times: exact from the decimal text, and as trace_processor rounds them."""

import json

import pytest
from chrome_json_twin import exact_ns, floor_ns
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import open_trace


@pytest.fixture
def read(tmp_path):
    """The rows of a file of instants, by the text of their times."""

    def of(*texts):
        path = tmp_path / "t.json"
        path.write_text("[" + ",".join(f'{{"ph":"i","ts":{text}}}' for text in texts) + "]")
        with open_trace(path) as trace:
            return trace.read_all().to_pylist()

    return of


@pytest.mark.parametrize(
    ("text", "ns", "floor"),
    [
        ("0", 0, 0),
        ("-7", -7000, -7000),
        ("1712195495541300.987", 1712195495541300987, 1712195495541301000),
        ("1712195495541300.5", 1712195495541300500, 1712195495541300480),
        ("4203669603018.756", 4203669603018756, 4203669603018756),
        ("4458676456614.905", 4458676456614905, 4458676456614906),
        ("3.0115", 3012, 3012),
        ("3.0114999", 3011, 3011),
        ("-3.0115", -3012, -3012),
        ("0.0004999", 0, 0),
        ("1e3", 1_000_000, 1_000_000),
        ("1.5E-3", 2, 2),
        ("12345e-9", 0, 0),
        ("1e-400", 0, 0),
        ('"123.5"', 123500, 123500),
        ("9223372036854775", 9223372036854775000, 9223372036854775000),
        ("9007199254740993.25", 9007199254740993250, 9007199254740992000),
    ],
)
def test_a_time_is_exact_and_floor_rounds_as_trace_processor_does(read, text, ns, floor):
    (row,) = read(text)
    assert (row["timestamp"], row["trace_time"], row["status"]) == (ns, floor, "resolved")


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        ("9223372036854776", (1 << 63) - 1),
        ("-1e300", -(1 << 63)),
        ("1e999999999999999999999", (1 << 63) - 1),
        ("1" + 400 * "0", (1 << 63) - 1),
    ],
)
def test_a_time_beyond_int64_overflows(read, text, timestamp):
    (row,) = read(text)
    assert (row["timestamp"], row["trace_time"], row["status"]) == (timestamp, None, "overflow")


@pytest.mark.parametrize(
    "text", ["null", "true", '"x"', '"1 "', "[1]", "NaN", "01", "1.", "-", '""']
)
def test_an_event_without_a_time_is_no_row(read, text):
    assert [row["packet"] for row in read(text, "5")] == [1]


numbers = st.builds(
    lambda sign, whole, part, exponent: (
        f"{sign}{whole}{'.' + part if part else ''}{'' if exponent is None else f'e{exponent}'}"
    ),
    st.sampled_from(["", "-"]),
    st.one_of(st.integers(0, 10**4), st.integers(0, 9 * 10**15)),
    st.text("0123456789", max_size=12),
    st.none() | st.integers(-20, 6),
)


@settings(max_examples=200)
@given(texts=st.lists(numbers, min_size=1, max_size=200))
def test_times_equal_those_of_the_plain_twin(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("t") / "t.json"
    path.write_text("[" + ",".join(f'{{"ph":"i","ts":{text}}}' for text in texts) + "]")
    with open_trace(path) as trace:
        rows = trace.read_all().to_pylist()
    assert len(rows) == len(texts)
    for text, row in zip(texts, rows, strict=True):
        ns, floor = exact_ns(text), floor_ns(text)
        if row["status"] == "overflow":
            assert ns is None or floor is None or abs(ns) > 9 * 10**18
        else:
            assert (text, row["timestamp"], row["trace_time"]) == (text, ns, floor)


def test_the_tube_takes_the_exact_time(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"ph":"i","ts":1712195495541300.987}]')
    with open_trace(path) as trace:
        (row,) = trace.read_all("tube").to_pylist()
    assert {row[name] for name in ("trace_time", "earliest", "latest")} == {1712195495541300987}


def test_durations_do_not_matter_to_rows(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"ph": "X", "ts": 1, "dur": "x"}]))
    with open_trace(path) as trace:
        assert trace.read_all().num_rows == 1
