"""Commands on a trace of two machines whose messages all go one way: bars with an open side."""

import json
import re

import pytest
from building import BOOTTIME, packet, snapshot, trace
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

pytest_plugins = ["cli"]

S = 10**9
OFFSET = 890 * S
FAR = 5


def event(ts, machine, **flows):
    made = pb.TrackEvent(type=pb.TrackEvent.TYPE_INSTANT, name="x", **flows)
    return packet(ts, BOOTTIME, machine or 1, machine=machine, track_event=made)


def one_way(back=False):
    """Sixty messages; floor equates the machines, whose clocks are 890 s apart."""
    packets = [snapshot({BOOTTIME: 10 * S}, 1)]
    for k in range(60):
        at = 11 * S + k * S // 10
        ends = (
            [(at + OFFSET, FAR), (at + 20_000, None)] if back else [(at, None), (at + OFFSET, FAR)]
        )
        packets += [event(*ends[0], flow_ids=[k]), event(*ends[1], terminating_flow_ids=[k])]
    return trace(*packets, snapshot({BOOTTIME: 30 * S + OFFSET}, 2, machine=FAR))


@pytest.mark.parametrize("back", [False, True])
def test_the_report_draws_the_side_that_is_known(tracetime, write, tmp_path, back):
    page = tmp_path / "a.html"
    code, _, said = tracetime("report", write(one_way(back)), "-o", page, "--orders", "flows")
    assert code == 0, said
    text = page.read_text()
    assert "error bar of its events open to one side" in text
    assert not re.search(r"\bnan\b", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("back", [False, True])
def test_what_floor_costs_is_not_known_where_a_bar_is_open(tracetime, write, tmp_path, back):
    args = ("convert", write(one_way(back)), "-o", tmp_path / "a.parquet", "--policy", "tube")
    cost = json.loads(tracetime(*args, "--orders", "flows", "--json")[1])["floor_cost"]
    assert (cost["is_limit"], cost["clocks_untied"]) == (False, 1)
    said = " ".join(tracetime(*args, "--orders", "flows")[1].split())
    assert "how far off 1 clock can be is not known" in said


def contradictory():
    """Every message arrives 1 ms before it was sent."""
    packets = [snapshot({BOOTTIME: 10 * S}, 1)]
    for k in range(60):
        at, early = 11 * S + k * S // 10, 1_000_000
        ends = [(at, None), (at + OFFSET - early, FAR)]
        if k % 2:
            ends = [(at + OFFSET, FAR), (at - early, None)]
        packets += [event(*ends[0], flow_ids=[k]), event(*ends[1], terminating_flow_ids=[k])]
    return trace(*packets, snapshot({BOOTTIME: 30 * S + OFFSET}, 2, machine=FAR))


def test_the_report_names_messages_before_they_were_sent(tracetime, write, tmp_path):
    page = tmp_path / "a.html"
    code, _, said = tracetime("report", write(contradictory()), "-o", page, "--orders", "flows")
    assert code == 0, said
    assert "message before it was sent" in page.read_text()


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_no_order_sets_a_side_that_is_open(tracetime, write, bars):
    args = (write(contradictory()), 901_500_000_000, "--from", "BOOTTIME@machine1")
    options = ("--policy", "tube", "--bars", bars, "--orders", "flows", "--json")
    code, out, said = tracetime("at", *args, *options)
    assert code == 0, said
    (step,) = json.loads(out)["steps"]
    assert (step["earliest_by"], step["latest_by"]) == (None, None)
