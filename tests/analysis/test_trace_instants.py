"""Where instants are in a trace: from its start, on its day, over midnight."""

import pytest
from building import event, snapshot, trace
from samples import BOOTTIME, CLOCK_SYNC, MONOTONIC, REALTIME, UNRESOLVED, WALL

from tracetime import ConversionError, UsageError, open_trace
from tracetime.analysis.trace_instants import bounds_of, trace_time_of

pytest_plugins = ["cli"]

S = 10**9
DAY = 86_400 * S
EVENING = 20_000 * DAY + 86_399 * S  # 23:59:59 of a day


def recording(first, *, seconds, start=5 * S):
    """A trace whose REALTIME reads `first` at its start, with a snapshot a second."""
    return trace(
        *(snapshot({BOOTTIME: start + n * S, REALTIME: first + n * S}) for n in range(seconds + 1)),
        event(start, BOOTTIME),
    )


@pytest.fixture
def at(write):
    opened = []

    def at(data, text):
        opened.append(open_trace(write(data)))
        return trace_time_of(opened[-1], text)

    yield at
    for one in opened:
        one.close()


@pytest.mark.parametrize(
    ("text", "trace_time"),
    [
        ("2100", 2100),
        ("0s", 2000),
        ("100ns", 2100),
        ("1.5us", 3500),
        ("14:48:40.123459289", 2500),
        ("14:48:40.123456790", 1),
        ("2026-08-22T14:48:40.123459289Z", 2500),
    ],
)
def test_worked_examples(at, text, trace_time):
    assert WALL % DAY == 53320_123_456_789
    assert at(CLOCK_SYNC, text) == trace_time


def test_a_time_of_day_is_on_the_day_of_the_start(at):
    noon = 20_000 * DAY + DAY // 2
    data = recording(noon, seconds=10)
    assert at(data, "12:00:03.5") == 5 * S + 3_500_000_000
    # Before the start, and after the end.
    assert at(data, "11:59:59") == 4 * S
    assert at(data, "12:01") == 65 * S


def test_over_midnight_a_time_of_day_is_the_first_at_or_after_the_start(at):
    data = recording(EVENING, seconds=10)
    assert at(data, "23:59:59") == 5 * S
    assert at(data, "23:59:59.5") == 5_500_000_000
    assert at(data, "00:00") == 6 * S
    assert at(data, "0:00:09") == 15 * S
    # The trace does not last until then on the next day.
    assert at(data, "00:00:09.000000001") == 15 * S + 1 - DAY


def test_over_midnight_events_say_how_long_the_trace_lasts(at):
    data = trace(snapshot({BOOTTIME: 5 * S, REALTIME: EVENING}), event(7 * S, BOOTTIME))
    assert at(data, "00:00:01") == 7 * S
    # Not that long.
    assert at(data, "00:00:02") == 8 * S - DAY


@pytest.mark.parametrize("text", ["00:00:01", "2024-10-04T23:59:59Z"])
@pytest.mark.parametrize("second", [{REALTIME: EVENING - S}, {MONOTONIC: 3}])
def test_where_wall_time_has_no_answer_the_error_names_another_way(at, text, second):
    first = {BOOTTIME: 5 * S} | ({REALTIME: EVENING} if REALTIME in second else {})
    data = trace(snapshot(first), snapshot({BOOTTIME: 6 * S} | second))
    with pytest.raises(ConversionError, match=f"'{text}' is a time of REALTIME, .*12.5s"):
        at(data, text)
    assert at(data, "1s") == 6 * S


def test_the_start_is_the_first_reading_of_the_trace_clock(write):
    with open_trace(write(recording(EVENING, seconds=10))) as opened:
        assert bounds_of(opened) == (5 * S, 15 * S)


def test_events_before_the_first_snapshot_and_after_the_last_are_within_the_trace(write):
    data = trace(*(snapshot({BOOTTIME: at * S, MONOTONIC: at * S}) for at in (5, 7)))
    early, late, far = event(2 * S, MONOTONIC), event(9 * S, MONOTONIC), event(4000 * S, MONOTONIC)
    with open_trace(write(data + trace(early, late, far))) as opened:
        assert bounds_of(opened) == (2 * S, 9 * S)
        assert trace_time_of(opened, "0s") == 2 * S


def test_the_file_is_read_once_for_its_start(write):
    begun = []
    with open_trace(write(CLOCK_SYNC)) as opened:
        opened.on_read.append(lambda *_: begun.append(1))
        for text in ("0s", "1us", "2us"):
            trace_time_of(opened, text)
        once = len(begun)
        bounds_of(opened)
        assert len(begun) == once > 0


def test_a_trace_without_snapshots_starts_with_its_first_event(write):
    data = trace(event(70, BOOTTIME), event(50, BOOTTIME), event(90, BOOTTIME), event(1, 777))
    with open_trace(write(data)) as opened:
        assert bounds_of(opened) == (50, 90)
        assert trace_time_of(opened, "7ns") == 57
        with pytest.raises(ConversionError):
            trace_time_of(opened, "14:48")


def test_what_has_no_trace_time_is_an_error(at):
    with pytest.raises(UsageError, match="no start"):
        at(trace(event(1, 777)), "1s")
    with pytest.raises(UsageError, match="int64"):
        at(CLOCK_SYNC, "9223372036.9s")
    with pytest.raises(ConversionError, match="REALTIME"):
        at(UNRESOLVED, "2026-08-22T14:48:40Z")
    with pytest.raises(ConversionError, match="REALTIME"):
        at(UNRESOLVED, "14:48:40")


def test_the_start_is_not_a_reading_of_another_clock(at):
    data = trace(snapshot({MONOTONIC: 1, BOOTTIME: 100}), event(5, MONOTONIC))
    assert at(data, "1ns") == 101
