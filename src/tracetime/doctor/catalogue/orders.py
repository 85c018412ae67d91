"""Findings about what happened before what.

The checks are in `orders.py` and `contradictions.py`.
"""

from __future__ import annotations

from typing import Final

from tracetime.doctor.catalogue.row import Kind, Row

_MESSAGES: Final = (
    "A message leaves before it arrives, so each bounds the two clocks from one side: how far "
    "apart they are at most, or at least."
)

ROWS: Final = (
    Row(
        "effect-before-cause",
        {"warning": "", "error": "beyond the tolerance"},
        "By their times, threads run on one CPU before another CPU wakes them, kernels of a GPU "
        "before the call that launches them, calls outside the operator that makes them, or flows "
        "arrive before they leave.",
        title="{woken}{launched}{late}{early}{flow}",
        why="{woken_why}{launched_why}{outside_why}{flow_why}",
        fix="{woken_fix}{launched_fix}{outside_fix}{flow_fix}",
        parts={
            "woken": "CPUs disagree: threads run up to {worst} before they are woken ({times})",
            "woken_why": (
                "A thread that sleeps is woken before it runs again. Thread {tid} runs on CPU "
                "{cpu} from {ns} ns (packet {packet}), and the waking on CPU {waking_cpu} has "
                "{waking_ns} ns (packet {waking_packet}). Both are readings of {clock}, which each "
                "CPU reads by itself: the CPUs disagree by that much at least. Snapshots do not "
                "relate them, so no policy corrects this, and error bars do not include it."
            ),
            "woken_fix": (
                "Times of different CPUs are good to {worst} at best: compare events of one CPU. "
                "Record with ftrace's clock boot or mono, and a clock source that all CPUs share "
                "(see the kernel's log for an unstable TSC, and current_clocksource in /sys)."
            ),
            "launched": (
                "CPU and GPU disagree: {kernels} of {all_kernels} begin up to {worst} before the "
                "call that launched them"
            ),
            "launched_why": (
                "A kernel begins after the call of the runtime that launched it has begun; the two "
                "have one correlation. The kernel of event {packet} begins at {ns} ns, its call "
                "(event {call_packet}) at {call_ns} ns. A GPU stamps by a clock of its own, which "
                "the profiler has put on the CPU's: it is off by that much at least. By floor it "
                "stays there. By the tube the clock of a device is moved by the least that all "
                "calls and kernels allow, and bars hold what they leave open: {moved}."
            ),
            "launched_fix": (
                "Convert with --policy tube. Or record anew by a current "
                "PyTorch and driver: a profile that runs for long, or whose wall clock was set "
                "meanwhile, is off by more."
            ),
            "late": (
                "calls and operators disagree: {calls} of {all_calls} end up to {worst} after the "
                "operator that made them"
            ),
            "early": (
                "calls and operators disagree: {calls} of {all_calls} begin up to {worst} before "
                "the operator that made them"
            ),
            "outside_why": (
                "An operator returns after the calls of the runtime that it makes on its thread; "
                "the two have one External id. The call of event {packet} lies outside the "
                "operator of event {outer_packet}; half of these calls are off by {usual} or more. "
                "The profiler stamps calls by another clock than operators (CUPTI and roctracer "
                "have clocks of their own), and has converted one of them wrongly."
            ),
            "outside_fix": (
                "Compare calls with kernels, and operators with operators: between the two, times "
                "are good to {worst} at best. Record anew by a current PyTorch and driver."
            ),
            "flow": "{flows} of {all_flows} arrive before they leave, by up to {worst}",
            "flow_why": (
                "What a flow begins with happens before what it ends with. The one that begins "
                "with event {begun} ends with event {ended}; half of these run back by {usual} or "
                "more. The two ends were stamped by two clocks, which are apart by that much at "
                "least, or one of them was converted wrongly. Bars do not hold that."
            ),
            "flow_fix": (
                "Find which of the two ends is stamped by another clock, and relate the two where "
                "the trace is recorded. By a median of {usual} is a first guess."
            ),
        },
        kinds={
            "launched": Kind(parts=("launched", "launched_why", "launched_fix"), beyond="error"),
            "late": Kind(parts=("late", "outside_why", "outside_fix"), beyond="error"),
            "early": Kind(parts=("early", "outside_why", "outside_fix"), beyond="error"),
            "flows": Kind(parts=("flow", "flow_why", "flow_fix"), beyond="error"),
        },
    ),
    Row(
        "hosts-disagree",
        {"info": "", "warning": "beyond the tolerance"},
        "Messages arrive before they were sent, as the wall clocks of two machines read.",
        title=(
            "{wrong} from {before} to {after} {arrive} up to {worst} before they were sent, as "
            "the two clocks read"
        ),
        why=(
            "Each machine keeps wall time by itself. The message sent at {sent} on {before} is "
            "received at {received} on {after}: {after} is behind by {worst} at least. What takes "
            "the two for one clock shows effects before their causes, or moves them."
        ),
        fix=(
            "Convert with `--policy tube`, which takes them for two clocks. Synchronise the "
            "machines (NTP, PTP) for the next recording."
        ),
    ),
    Row(
        "loop",
        {"info": "", "warning": "beyond the tolerance"},
        "The estimates of three clocks do not add up: messages are slower one way than the other.",
        title="{one}, {other} and {third} disagree by {worst}: a path is slower one way{more}",
        why=(
            "From the first of them over the second to the third, the estimates lead somewhere "
            "else than directly, by that much all the time. Error bars hold either way: messages "
            "that are slower one way than the other shift an estimate within them. Two clocks do "
            "not show it, a third does."
        ),
        fix=(
            "Look for what delays messages one way: a queue, an interrupt, another route. The fit "
            "over all clocks shares the disagreement out."
        ),
        parts={"more": ", and {number}"},
    ),
    Row(
        "messages-against-snapshots",
        {"warning": "", "error": "beyond the tolerance, where events depend on it"},
        "Messages between two clocks contradict what snapshots, or a RemoteClockSync, say of them.",
        title="{clocks}: {wrong:,} of {messages} contradict {synced}{read} by up to {worst}",
        why=(
            "Messages and {synced}{read} each agree among themselves, and no drift within the "
            "limits of the two clocks fits both: half of these messages arrive {half} or more too "
            "early. Nothing tells which are right: the tube follows those that are denser, or now "
            "the ones and now the others, so its error bars may miss the truth, and where "
            "messages go one way they are open."
        ),
        fix=(
            "Check which clock stamps the ends of the messages, and which end comes first. "
            "Without `--orders flows`, or these orders, the bars are those of {synced}{read}."
        ),
        parts={"synced": "the RemoteClockSync", "read": "the snapshots"},
    ),
    Row(
        "messages-reversed",
        {"warning": "", "error": "beyond the tolerance"},
        "Perfetto's rule places messages before they were sent.",
        title="{wrong} from {clocks_to} {one}{many}, by floor",
        why=(
            "The one sent at {sent} on {before} and received at {received} on {after} arrives "
            "{worst} too early on {trace_clock}. Floor knows the two clocks by their snapshots "
            "alone. {corrected}{all_corrected}{partly}{uncorrected}{no_bars}"
        ),
        fix=(
            "Convert with `--policy tube --orders flows`: every message that error bars allow is "
            "in order there."
        ),
        parts={
            "one": "arrives up to {worst} before it was sent",
            "many": "arrive up to {worst} before they were sent",
            "corrected": "The error bars allow a correction: a shift within them puts it in order.",
            "all_corrected": (
                "The error bars allow a correction: a shift within them puts each of these "
                "messages in order."
            ),
            "partly": (
                "The error bars allow a correction of {allowed}: no shift within them puts the "
                "others in order (see wrong-order)."
            ),
            "uncorrected": (
                "The error bars allow no correction: no shift within them puts any of these "
                "messages in order (see wrong-order)."
            ),
            "no_bars": "The two clocks have no error bars that could allow a correction.",
        },
    ),
    Row(
        "one-sided",
        {"warning": "", "info": "where no events depend on it"},
        "All messages between two clocks go one way.",
        title="{all_go} from {before} to {after}: one side of the error bars is open",
        why=(
            f"{_MESSAGES} {{after}} may be behind by any amount more than shown: nothing bounds "
            "how long the messages took."
        ),
        fix="One message back closes the bar, or a greatest delay that is known of the messages.",
    ),
    Row(
        "slow-messages",
        {"info": "", "warning": "beyond the tolerance"},
        "The fastest messages there and back limit how well two clocks are known.",
        title=(
            "{clocks}: the fastest way there and back takes {round_trip}: no bar below ± {worst}"
        ),
        why=(
            f"{_MESSAGES} Of the time there and back, nobody knows which part each way took, so "
            "bars are half of it wide at least."
        ),
        fix=(
            "Exchange more messages: the fastest ones decide. A least delay that is known of them "
            "narrows the bars by as much."
        ),
    ),
    Row(
        "step-between-machines",
        {"warning": "", "error": "beyond the tolerance, where events depend on it"},
        "Messages before and after an instant contradict each other: a clock stepped.",
        title="{clocks}: messages contradict each other from one time on{by}",
        why=(
            "No drift within the limits of the two clocks fits the messages on both sides of "
            "{at} ns on {clock}: one of the clocks was set, or messages are wrongly matched and "
            "the evidence does not tell the two apart."
        ),
        fix=(
            "Check the two clocks around that time, and how messages are matched. Error bars hold "
            "on both sides, and are wider between them."
        ),
        parts={"by": ", by up to {worst}"},
    ),
    Row(
        "uncovered",
        {"info": "", "warning": "beyond the tolerance"},
        "Messages span a small part of the trace: outside it, error bars are wide.",
        title=(
            "{clocks}: messages span {span} of the trace's {whole}: at its {side} the bar is +- "
            "{worst}, {times} times as wide"
        ),
        why=(
            f"{_MESSAGES} Before the first message and after the last one, the clocks drift "
            "apart by any rate that their limits and the messages allow."
        ),
        fix="Exchange messages from the start of the recording to its end.",
    ),
    Row(
        "undirected-flows",
        {"info": "", "warning": "where no flow says which of its events came first"},
        "Flows between machines do not say which of their events came first.",
        title="{undirected:,} of {flows} between machines {are} no evidence: which end came first?",
        why=(
            "An id in flow_ids begins a flow or passes it on, and Perfetto takes the order from "
            "the times. As evidence for these times that would be circular. Ids that begin or "
            "terminate twice are of several flows."
        ),
        fix=(
            "Give the id in terminating_flow_ids of the last event (or a legacy flow_direction), "
            "and use each id for one flow."
        ),
    ),
    Row(
        "wander",
        {"info": "", "warning": "where a wander is declared"},
        "The rates of two clocks change more than was assumed, or declared.",
        title="{clocks} wander by more than the {limit} ppm {assumed}{declared}: {found} ppm",
        why=(
            "Messages show that the rate between the two clocks changes by more than "
            "{assumed_why}{declared_why}"
        ),
        fix=(
            "Exchange messages more often, or find what changes the rate (temperature, NTP that "
            "steers). {assumed_fix}{declared_fix}"
        ),
        parts={
            "assumed": "assumed",
            "declared": "declared",
            "assumed_why": (
                "their kind usually does. Error bars are made for what was found, and are wider "
                "for it."
            ),
            "declared_why": (
                "was declared. Estimated error bars rest on what was declared, so they may miss "
                "the truth; guaranteed ones do not."
            ),
            "assumed_fix": "Where the wander is known, declare it: `--wander-ppm`.",
            "declared_fix": "Declare more: `--wander-ppm`.",
        },
    ),
    Row(
        "wrong-order",
        {"warning": "", "error": "where half of the messages or more are left out"},
        "Messages arrive before they were sent, while those around them do not.",
        title=("{wrong:,} of {messages} from {before} to {after} {one}{many}? Left out: {numbers}"),
        why=(
            "An effect before its cause: {example}{not_allowed}{beside} The other messages "
            "agree with each other, so these are taken for wrong: matched with the wrong "
            "partner, stamped by a clock that stepped back, or with both ends exchanged."
        ),
        fix=(
            "Check how these messages are matched (an id that is used twice), and their "
            "timestamps. Error bars do not use them."
        ),
        parts={
            "up_to": " up to {worst}",
            "one": (
                "arrives{up_to} before it was sent, while those around it do not: a wrong match"
            ),
            "many": (
                "arrive{up_to} before they were sent, while those around them do not: wrong matches"
            ),
            "not_allowed": " No error bar allows this.",
            "beside": " With it goes what has the same reading: {beside} that bars do allow.",
        },
    ),
)
