"""Real XDF files: all are read, and what pyxdf reads is what is read."""

import numpy as np
import pytest
from corpus import DATA, NO_DATA

from tracetime import diagnose, open_trace

FILES = DATA / "other" / "xdf"
if not FILES.is_dir():
    pytest.skip(NO_DATA, allow_module_level=True)
pyxdf = pytest.importorskip("pyxdf")

ROWS = {
    "clock_resets": 27_990,
    "data_with_clock_resets": 27_990,
    "empty_streams": 11,
    "minimal": 18,
    "twochannel_string_marker": 2,
}
named = pytest.mark.parametrize("name", ROWS)


def test_no_file_is_left_out():
    assert {path.stem for path in FILES.glob("*.xdf")} == set(ROWS)


@named
def test_timestamps_and_values_are_those_of_pyxdf(name):
    path = FILES / f"{name}.xdf"
    streams, _ = pyxdf.load_xdf(path, synchronize_clocks=False, dejitter_timestamps=False)
    with open_trace(path) as trace:
        table = trace.read_all(names=True)
    assert table.num_rows == ROWS[name]
    for stream in streams:
        rows = table.filter(np.array(table["track"]) == stream["info"]["stream_id"])
        stamps = np.array(stream["time_stamps"])
        assert np.abs(rows["timestamp"].to_numpy() / 1e9 - stamps).max(initial=0) < 1e-9
        series = stream["time_series"]
        if isinstance(series, list):
            assert rows["name"].to_pylist() == [row[0] for row in series]
        else:
            assert rows["value"].to_pylist() == series[:, 0].astype(float).tolist()


@pytest.mark.parametrize("name", ["clock_resets", "data_with_clock_resets"])
def test_samples_of_a_host_that_started_anew_are_all_placed(name):
    with open_trace(FILES / f"{name}.xdf") as trace:
        table = trace.read_all("tube")
        findings = diagnose(trace)
    assert set(table["status"].to_pylist()) == {"resolved"}
    widths = table["latest"].to_numpy() - table["earliest"].to_numpy()
    assert widths.min() > 0 and widths.max() < 700_000
    # The host was away from 948 s to 1,221 s of the recorder's clock.
    seconds = table["trace_time"].to_numpy() / 1e9
    assert ((seconds < 949) | (seconds > 1_221)).all()
    assert sorted(finding.code for finding in findings) == ["clock-reset", "no-realtime"]


def test_a_healthy_recording_has_no_findings():
    with open_trace(FILES / "empty_streams.xdf") as trace:
        assert [finding.code for finding in diagnose(trace)] == ["no-realtime"]
