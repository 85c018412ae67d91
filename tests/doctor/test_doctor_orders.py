"""What flows between machines say of their clocks, as findings."""

import math
from random import Random

import pytest
from building import BOOTTIME, MONOTONIC, packet, remote_sync, snapshot, trace
from diagnosed import findings
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from reading import opened

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, diagnose
from tracetime.doctor.finding_events import finding_events

S = 10**9
FAR = 5
OFFSET = 890 * S
ORDERS = {"one-sided", "slow-messages", "uncovered", "wrong-order", "step-between-machines"}


def event(ts, machine=None, **flows):
    made = pb.TrackEvent(type=pb.TrackEvent.TYPE_INSTANT, name="x", **flows)
    return packet(ts, BOOTTIME, machine or 1, machine=machine, track_event=made)


def message(number, at, *, back=False, takes=20_000, off=0):
    """The packets of a message that leaves at a time of the host's BOOTTIME."""
    ends = [(at, None), (at + takes + OFFSET + off, FAR)]
    if back:
        ends = [(at + OFFSET + off, FAR), (at + takes, None)]
    (sent, here), (received, there) = ends
    return [
        event(sent, here, flow_ids=[number]),
        event(received, there, terminating_flow_ids=[number]),
    ]


def of(*messages):
    return trace(
        snapshot({BOOTTIME: 10 * S}, 1),
        *(one for packets in messages for one in packets),
        snapshot({BOOTTIME: 30 * S + OFFSET}, 2, machine=FAR),
    )


def both_ways(n=60, *, start=11 * S, step=S // 10, off=lambda at: 0):
    return [
        message(k, start + k * step, back=k % 2 == 1, off=off(start + k * step)) for k in range(n)
    ]


def found_in(*messages, codes=ORDERS, **options):
    with opened(of(*messages), orders="flows") as read:
        return {f.code: f for f in every(diagnose(read, **options)) if f.code in codes}


def every(found):
    for one in found:
        yield one
        yield from every(one.consequences)


def test_healthy_messages_say_how_well_clocks_are_known_and_no_more():
    found = found_in(*both_ways())
    assert set(found) == {"slow-messages"}
    slow = found["slow-messages"]
    assert (slow.severity, slow.worst_ns) == ("info", pytest.approx(20_000, rel=0.05))
    assert slow.title == (
        "BOOTTIME and BOOTTIME@machine1: the fastest way there and back takes 40.9 us: no bar below "
        "± 20.4 us"
    )


def test_without_being_asked_the_doctor_does_not_look_at_flows():
    assert {f.code for f in every(findings(of(*both_ways())))} & ORDERS == set()


@pytest.mark.parametrize("directed", [True, False])
def test_flows_that_do_not_say_which_end_came_first(directed):
    lost = [event(12 * S, None, flow_ids=[500]), event(12 * S + OFFSET, FAR, flow_ids=[500])]
    every_one = [*both_ways(), lost] if directed else [lost]
    found = found_in(*every_one, codes={"undirected-flows"})["undirected-flows"]
    assert found.severity == ("info" if directed else "warning")
    flows = "61 flows" if directed else "1 flow"
    assert found.title.startswith(f"1 of {flows} between machines is no evidence")
    assert found_in(*both_ways(), codes={"undirected-flows"}) == {}


def test_slow_beyond_the_tolerance():
    found = found_in(*both_ways(), tolerance_ns=10_000)
    assert found["slow-messages"].severity == "warning"


def test_messages_that_go_one_way():
    found = found_in(*both_ways()[::2])
    assert set(found) == {"one-sided"}
    assert found["one-sided"].severity == "warning"
    assert found["one-sided"].title == (
        "all 30 messages go from BOOTTIME to BOOTTIME@machine1: one side of the error bars is open"
    )


def test_a_single_message():
    found = found_in(both_ways()[0])
    assert found["one-sided"].title.startswith(
        "one message goes from BOOTTIME to BOOTTIME@machine1:"
    )


def test_a_message_with_the_wrong_partner():
    wrong = [
        *message(1000, 13 * S + 1234, takes=-2_310_000),
        *message(1001, 15 * S + 1234, takes=-400_000),
    ]
    found = found_in(*both_ways(), wrong)
    assert set(found) == {"slow-messages", "wrong-order"}
    one = found["wrong-order"]
    assert one.severity == "warning"
    assert one.title.startswith("2 of 32 messages from BOOTTIME to BOOTTIME@machine1 arrive up to")
    assert one.title.endswith("while those around them do not: wrong matches? Left out: #30, #31")
    assert one.worst_ns == pytest.approx(2_310_000, rel=0.1)
    assert one.events == 4
    assert "No error bar allows this." in one.why
    assert str(13 * S + 1234) in one.why


@pytest.mark.parametrize("first", [20_000, -2_310_000])
def test_of_two_messages_sent_at_once_the_wrong_one_is_named(first):
    """They are one bound, which is left out; one of them was received after it was sent."""
    takes = (first, 20_000 - 2_310_000 - first)
    both = [m for k in (0, 1) for m in message(1000 + k, 13 * S + 2000, takes=takes[k])]
    one = found_in(*both_ways(), both)["wrong-order"]
    assert one.title.startswith("1 of 32 messages from BOOTTIME to BOOTTIME@machine1 arrives up to")
    assert "before it was sent, while those around it do not: a wrong match?" in one.title
    assert one.title.endswith(f"Left out: #{30 + takes.index(-2_310_000)}")
    assert "No error bar allows this. With it goes what has the same reading: 1 more" in one.why


def test_the_events_of_a_wrong_order_are_named():
    wrong = message(1000, 13 * S + 2000, takes=-2_310_000)
    with opened(of(*both_ways(), wrong), orders="flows") as read:
        (one,) = (f for f in every(diagnose(read)) if f.code == "wrong-order")
        rows = [row for batch in finding_events(read, {0: one}) for row in batch.to_pylist()]
    assert {row["timestamp"] for row in rows} == {
        13 * S + 2000,
        13 * S + 2000 - 2_310_000 + OFFSET,
    }


def test_a_clock_that_steps():
    found = found_in(*both_ways(off=lambda at: 0 if at < 14 * S else 5_000_000))
    step = found["step-between-machines"]
    assert step.severity == "error"
    assert step.worst_ns == pytest.approx(5_000_000, rel=0.2)
    assert "wrong-order" not in found


def test_messages_in_a_small_part_of_the_trace():
    late = [event(1000 * S, None)], [event(12 * S + 1, None)]
    found = found_in(*both_ways(), *late)
    uncovered = found["uncovered"]
    assert uncovered.severity == "warning"
    assert "messages span 5.9 s of the trace's" in uncovered.title
    assert "at its end" in uncovered.title


def sync(at, off):
    """A RemoteClockSync by which floor knows the client `off` ns wrongly."""
    rounds = [
        ({BOOTTIME: at + k * 100_000 + OFFSET + off}, {BOOTTIME: at + k * 100_000 + 50_000})
        for k in range(2)
    ]
    return [packet(machine=FAR, remote_clock_sync=remote_sync(rounds))]


def test_floor_places_messages_before_they_were_sent():
    """Floor takes the middle of a round trip of which one way took nearly all."""
    found = found_in(sync(10 * S + 5, -40_000), *both_ways(), codes={"messages-reversed"})
    one = found["messages-reversed"]
    assert one.severity == "warning"
    assert one.worst_ns == pytest.approx(20_000, abs=5_000)
    assert one.title.startswith("30 of 30 messages from BOOTTIME@machine1 to BOOTTIME arrive")
    assert "a shift within them puts each of these messages in order" in one.why
    assert found_in(sync(10 * S + 5, 0), *both_ways(), codes={"messages-reversed"}) == {}


@pytest.mark.parametrize(
    ("fast", "wrong", "said"),
    [
        (
            30,
            3,
            "The error bars allow a correction of 30 of 33: no shift within them puts the others",
        ),
        (0, 3, "The error bars allow no correction: no shift within them puts any of these"),
        (1, 0, "The error bars allow a correction: a shift within them puts it in order."),
    ],
)
def test_how_many_of_the_messages_error_bars_put_in_order(fast, wrong, said):
    """Floor is 80 us off: a message of 20 us seems to arrive early, one of 200 us does not.

    The worst are matched with the wrong partner: no shift puts these in order.
    """
    messages = [
        message(k, 11 * S + k * S // 10, back=k % 2 == 1, takes=20_000 if k < 2 * fast else 200_000)
        for k in range(60)
    ]
    messages += [message(1000 + k, 12 * S + k * S + 7, takes=-2_000_000) for k in range(wrong)]
    found = found_in(sync(10 * S + 5, 80_000), *messages, codes={"messages-reversed"})
    assert said in found["messages-reversed"].why


def test_a_bar_that_is_open_allows_any_correction():
    """Floor takes the two clocks for one, of which one is 5 s behind."""
    there = both_ways(off=lambda at: -OFFSET - 5 * S)[::2]
    found = found_in(*there, codes={"messages-reversed"})
    assert "a shift within them puts each" in found["messages-reversed"].why


def test_without_error_bars_no_correction_is_promised(monkeypatch):
    def refuse(*_, **options):
        if options.get("bounds"):
            raise ConversionError("no bars", "no_path")
        return convert(*_, **options)

    convert = ClockGraph.convert
    monkeypatch.setattr(ClockGraph, "convert", refuse)
    found = found_in(sync(10 * S + 5, 80_000), *both_ways(), codes={"messages-reversed"})
    why = found["messages-reversed"].why
    assert why.endswith("The two clocks have no error bars that could allow a correction.")


def test_clocks_that_wander():
    """The rate swings by 19 ppm in 20 s."""

    def swings(at):
        return int(3e4 * math.sin(2 * math.pi * at / (20 * S)))

    found = found_in(*both_ways(600, step=S // 20, off=swings), codes={"wander"})["wander"]
    assert found.severity == "info"
    assert found.title.startswith(
        "BOOTTIME and BOOTTIME@machine1 wander by more than the 1 ppm assumed: "
    )
    assert found_in(*both_ways(600, step=S // 20), codes={"wander"}) == {}


WAYS = ((0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2))


def of_three(slower_ns, ways=WAYS):
    """Messages between each two of three machines; those from the first to the second are slow."""
    machines, ids = [None, FAR, FAR + 1], iter(range(10_000))
    packets = []
    for k in range(200):
        for one, other in ways:
            at, number = 11 * S + k * S // 20 + one * 1_000_003 + other * 2_000_003, next(ids)
            takes = 20_000 + (slower_ns if (one, other) == (0, 1) else 0)
            packets += [
                event(at + one * OFFSET, machines[one], flow_ids=[number]),
                event(at + takes + other * OFFSET, machines[other], terminating_flow_ids=[number]),
            ]
    return packets


def test_three_clocks_that_do_not_add_up():
    found = found_in(of_three(300_000), codes={"loop"})["loop"]
    assert found.severity == "info"
    assert found.worst_ns == pytest.approx(150_000, rel=0.1)
    assert len(found.clocks) == 3
    assert found.title.endswith("a path is slower one way")
    assert found_in(of_three(300_000), codes={"loop"}, tolerance_ns=100_000)["loop"].severity == (
        "warning"
    )
    assert found_in(of_three(0), codes={"loop"}) == {}


def test_a_declared_wander_that_messages_exceed():
    """The rate swings by 9.4 ppm in 20 s; 1 ppm is declared. A rate that changes once does not."""

    def swings(at):
        return int(3e4 * math.sin(2 * math.pi * at / (20 * S)))

    def found_by(off):
        declared = [ClockDomain(ClockId(BOOTTIME, machine=k), wander_ppm=0.5) for k in (0, 1)]
        data = of(*both_ways(600, step=S // 20, off=off))
        with opened(data, orders="flows", domains=declared) as read:
            return [f for f in every(diagnose(read)) if f.code == "wander"]

    (found,) = found_by(swings)
    assert found.severity == "warning"
    assert "than the 1 ppm declared: " in found.title
    assert 5 < float(found.title.split()[-2]) < 9.5
    assert "may miss the truth" in found.why
    assert found_by(lambda at: 0) == []
    assert found_by(lambda at: max(at - 26 * S, 0) // 20_000) == []


def test_a_rate_that_few_messages_leave_open_is_no_wander():
    """Delays of tens of us over 6 s: bars are made for 5 ppm, and nothing wanders."""
    delays = Random(3)
    few = [
        message(k, 11 * S + k * S // 10, back=k % 2 == 1, takes=20_000 + delays.randrange(100_000))
        for k in range(60)
    ]
    assert found_in(*few, codes={"wander"}) == {}


def test_what_floor_says_of_a_machine_that_messages_alone_tie_follows_from_that():
    with opened(of(*both_ways()), orders="flows") as read:
        (one,) = (f for f in diagnose(read) if f.code == "machine-not-synchronised")
    assert one.title == "machine 1: messages alone relate its clocks to BOOTTIME"
    assert one.severity == "error"
    assert "places these events by the messages" in one.why
    assert "gives these events no time" not in one.why
    assert "`--policy tube --orders flows`" in one.fix
    below = {effect.code for effect in one.consequences}
    assert below == {"messages-reversed", "used-after-last-snapshot"}


def test_flows_are_suggested_where_they_were_not_asked_for():
    (one,) = (f for f in findings(of(*both_ways())) if f.code == "machine-not-synchronised")
    assert "gives these events no time" in one.why
    assert "where events of one flow are on both machines" in one.fix
    with opened(of(), orders="flows") as read:
        untied = [f for f in diagnose(read) if f.code == "machine-not-synchronised"]
    assert not any("flow" in f.fix for f in untied)


def test_messages_that_tie_a_clock_without_snapshots():
    """A clock of the far machine in no snapshot; that machine's BOOTTIME is synchronised."""
    codes = {"clock-without-snapshot"}
    packets = [
        one
        for k, packets in enumerate(both_ways())
        for one in (packets[0], packets[1])
        if one.HasField("track_event")
    ]
    for one in packets:
        if one.machine_id == FAR:
            one.timestamp_clock_id = 77
    found = found_in(sync(10 * S + 5, 0), packets, codes=codes)["clock-without-snapshot"]
    assert "`--policy tube` places its events" in found.why
    with opened(of(sync(10 * S + 5, 0), packets)) as read:
        (without,) = (f for f in every(diagnose(read)) if f.code in codes)
    assert "places its events" not in without.why


def test_one_way_between_two_clocks_is_closed_by_others_of_their_machines():
    """Messages there are received in MONOTONIC, which a snapshot relates to BOOTTIME."""
    there, back = (
        [message(k + base, 11 * S + k * S // 10, back=bool(base)) for k in range(60)]
        for base in (0, 100)
    )
    for packets in there:
        packets[1].timestamp_clock_id = MONOTONIC
    tie = [snapshot({BOOTTIME: 12 * S + OFFSET, MONOTONIC: 12 * S + OFFSET}, 3, machine=FAR)]
    assert found_in(tie, *there, *back, codes={"one-sided"}) == {}
    assert len(found_in(tie, *there, codes={"one-sided"})) == 1


def test_slow_messages_one_way_are_no_loop_that_disagrees():
    there_alone = tuple(way for way in WAYS if way != (1, 0))
    assert found_in(of_three(300_000, there_alone), codes={"loop"}) == {}


def test_a_size_beyond_int64_is_its_end():
    """Sent at the end of time, received at its start."""
    sent = event(2**63 - 2, None, flow_ids=[9000])
    packets = [sent, event(5, FAR, terminating_flow_ids=[9000])]
    with opened(of(*both_ways(), packets), orders="flows") as read:
        found = [f.worst_ns for f in every(diagnose(read)) if f.code == "messages-reversed"]
    assert max(found) == 2**63 - 1


def test_messages_that_all_contradict_each_other_leave_no_bar_to_tell():
    """Every message arrives 1 ms before it was sent: no stretch has both directions."""
    early = [message(k, 11 * S + k * S // 10, back=k % 2 == 1, takes=-1_000_000) for k in range(60)]
    found = found_in(*early)
    assert "slow-messages" not in found
    assert {"wrong-order", "step-between-machines"} <= set(found)


def test_messages_that_contradict_the_machines_synchronisation():
    early = [message(k, 11 * S + k * S // 10, back=k % 2 == 1, takes=-3_000_000) for k in range(60)]
    limits = found_in(sync(10 * S + 5, 0), *early, sync(17 * S, 0), codes={"round-trip-limits"})
    assert all(found.worst_ns >= 0 for found in limits.values())


def test_a_clock_that_is_set_back_makes_no_message_wrong():
    """The host's, along which messages are sorted: it reads half a second twice."""
    after = 14 * S
    sent = both_ways(600, step=S // 100)
    for packets in sent:
        for one in packets:
            if one.machine_id != FAR and one.timestamp >= after:
                one.timestamp -= S // 2
    found = found_in(*sent)
    assert "wrong-order" not in found
    step = found["step-between-machines"]
    assert abs(step.worst_ns - S // 2) < S // 1_000
