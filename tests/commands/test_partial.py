"""With --partial every command tells what comes before the place where a file is damaged."""

import gzip
import json

import pytest
from building import compressed, event, packet, pb, snapshot, trace
from places import ROOT

pytest_plugins = ["cli"]

BOOTTIME, MONOTONIC = 6, 3

BEFORE = (
    *(snapshot({BOOTTIME: 1000 * n, MONOTONIC: 900 * n}) for n in range(1, 20)),
    *(event(1000 + n, MONOTONIC) for n in range(50)),
)
OTHER = packet(seq=1, track_descriptor=pb.TrackDescriptor(uuid=1, name="t"))
"""Neither a snapshot nor an event."""

BROKEN = {
    "event in a clock of no sequence": event(5, 64, seq=None),
    "snapshot of a clock of no sequence": snapshot({64: (1, 1, False), BOOTTIME: 5}, seq=None),
    "state of no sequence": packet(5, 3, None, needs_state=True, track_event=pb.TrackEvent(type=3)),
    "compressed twice": compressed([compressed(BEFORE)]),
    "no zlib": pb.TracePacket(compressed_packets=b"junk"),
    "no field": b"\xff\xff",
}
SEQUENCES = ("event in a clock of no sequence", "snapshot of a clock of no sequence")


@pytest.mark.parametrize("before", [BEFORE, (OTHER,), ()], ids=["events", "others", "nothing"])
@pytest.mark.parametrize("name", BROKEN)
def test_what_comes_before_is_reported(tracetime, write, tmp_path, name, before):
    path = write(trace(*before, BROKEN[name], *BEFORE))
    n_events = 50 if before is BEFORE else 0
    out = tmp_path / "o.csv"
    code, text, _ = tracetime("convert", path, "-o", out, "--partial", "--json")
    result = json.loads(text)
    assert (code, result["rows"], result["truncated"]["packet"]) == (0, n_events, len(before))
    assert tracetime("clocks", path, "--partial")[0] == 0

    page = tmp_path / "r.html"
    code, text, _ = tracetime("report", path, "-o", page, "--partial", "--json")
    assert code == 0
    (finding,) = [f for f in json.loads(text)["findings"] if f["severity"] == "error"]
    wanted = "sequence-clock-without-sequence" if name in SEQUENCES else "trace-truncated"
    assert (finding["code"], finding["packets"]) == (wanted, [len(before)])
    assert finding["title"] in page.read_text().replace("&#x27;", "'")

    (one,) = json.loads(tracetime("doctor", path, "--json")[1])["traces"]
    assert finding in one["findings"]
    sql = f"select code from findings where code = '{wanted}'"
    assert tracetime("sql", path, sql, "--partial", "--format", "csv")[1].count(wanted) == 1


@pytest.mark.parametrize("data", [b"", b"no trace", b"{}", b"PK\x03\x04"])
@pytest.mark.parametrize("command", [("doctor",), ("report", "--partial")])
def test_what_is_no_trace_is_no_part_of_one(tracetime, write, tmp_path, monkeypatch, command, data):
    monkeypatch.chdir(tmp_path)
    name, *more = command
    code, _, err = tracetime(name, write(data), *more)
    assert code == 3
    assert "tracetime: error" in err
    assert [path.name for path in tmp_path.iterdir()] == ["t.pftrace"]


@pytest.mark.parametrize("name", ["rank0.json.gz", "lab.xdf"])
def test_partial_is_taken_by_all_and_not_advised_again(tracetime, tmp_path, name):
    content = (ROOT / "demo" / name).read_bytes()
    path = tmp_path / name.removesuffix(".gz")
    path.write_bytes((gzip.decompress(content) if name.endswith(".gz") else content)[:-50])
    assert "Give --partial" in tracetime("clocks", path)[2]
    for command in ((), ("doctor",), ("convert", "-o", tmp_path / "o.csv")):
        name, *more = (*command[:1], path, *command[1:])
        code, out, err = tracetime(name, *more, "--partial")
        assert code == 0
        assert "cut off" in out + err
        assert "--partial)" not in out + err
        assert "Give --partial" not in out + err
