"""Findings about times, and spans of distributed traces, that cannot be right as the file has them.

Notes of the formats make them: formats/chrome_json/odd_times.py, formats/pcapng/odd_times.py and
formats/spans/calls.py find them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracetime.doctor.catalogue.row import Kind, Row

_KINDS: Final[Mapping[str, Kind]] = {
    "zero": Kind(
        "warning",
        "They were written without a time, or by a clock that was not running yet. All the others "
        "are far from there, so nobody can say when they were.",
        "Leave them out (`where timestamp > 0`), and mend the program that wrote them.",
    ),
    "units": Kind(
        "warning",
        "Both are far from 0, and a power of 1,000 apart: two programs, or two parts of one, write "
        "their times in different units into one file. Which of the two is right the file does not "
        "say; Chrome's JSON counts microseconds.",
        "Write all times in microseconds. Until then read the two apart, by `timestamp`.",
    ),
    "in_ns": Kind(
        "warning",
        "Chrome's JSON counts microseconds, whatever displayTimeUnit says: that is how a viewer "
        "writes times. Every viewer shows these 1,000 times as long as they are.",
        "Divide `ts`, `dur` and beginningOfTime by 1,000 in the program that writes them.",
    ),
    "wrapped": Kind(
        "error",
        "A program that computes times in 64 bits without sign turns a small one below 0 into one "
        "near 2^64, 584 years later. int64 ns do not hold it, so these events have no time.",
        "Take 2^64 ns off these times, and mend the program that wrote them.",
    ),
    "as_us": Kind(
        "error",
        "Chrome's JSON counts microseconds. As such these times are beyond int64 ns, so the events "
        "have no time.",
        "Divide them by 1,000 in the program that writes them.",
    ),
    "apart": Kind(
        "warning",
        "The packets of both are read as those of one clock, UTC. A network card stamps by a clock "
        "of its own, which may be set to TAI, or not at all; another machine has another clock. "
        "Bars do not hold that.",
        "Set the clock of the card by that of the system (phc2sys), or move the times of one "
        "interface: `editcap -t SECONDS`.",
    ),
    "mixed": Kind(
        "error",
        "They stand in one interface, and are read as those of one clock, UTC. A card stamps what "
        "it receives by a clock of its own, and the system stamps what it sends: only one of the "
        "two is set to UTC. Bars do not hold that.",
        "Let one clock stamp both directions (tcpdump -j host), or set the clock of the card by "
        "that of the system (phc2sys).",
    ),
    "equal": Kind(
        "warning",
        "Whatever wrote the file kept no times, so nothing says when the packets came.",
        "Capture again with a program that stamps packets, or convert from the first file.",
    ),
    "early": Kind(
        "warning",
        "They were stamped by a clock that counts from the boot of a machine, or was never set, or "
        "they count a longer unit than the interface says (if_tsresol). Nothing else in the file "
        "says when they were.",
        "Add what the times lack (`editcap -t SECONDS`), or write the unit that they count "
        "(if_tsresol).",
    ),
    "late": Kind(
        "error",
        "The interface says that its times count a longer unit than they do (if_tsresol), so they "
        "are beyond int64 ns: the packets have no time.",
        "Write the unit that they count (if_tsresol: 9 for ns).",
    ),
    "forward": Kind(
        "info",
        "Nothing came for far longer than all the rest of the capture lasts; or the clock was set "
        "meanwhile, as of a machine that found its time server: then what comes before is dated "
        "too early.",
        "Where the clock was set, move the packets before it: `editcap -A START -B STOP -t "
        "SECONDS`.",
    ),
    "joined": Kind(
        "warning",
        "Two captures were joined into one file, though they were recorded at the same time or in "
        "the other order. Where two machines recorded them, their clocks differ, and the packets "
        "of both are read as those of one; where one did, packets may be there twice.",
        "Read each capture alone, and put them side by side by `tracetime merge`.",
    ),
}

ROWS: Final = (
    Row(
        "odd-times",
        {
            "warning": "",
            "error": "where an interface has packets of two clocks, or events have no time",
            "info": "where a long pause may be a clock that was set",
        },
        "Times in the file can be read, but cannot be meant as they stand.",
        title="{what}",
        why="{kind_why}",
        fix="{kind_fix}",
        kinds=_KINDS,
    ),
)

_IDS: Final = "A parent on another host says which of the two hosts' times is the earlier one."
_MEND: Final = "Mend the instrumentation that wrote them."
_COLLECT: Final = "Collect the spans of whole traces, each once."

_SPAN_KINDS: Final[Mapping[str, Kind]] = {
    "hostless": Kind(
        "warning",
        "Nothing but the name of a service says what these spans were read on. Replicas of a "
        "service on several machines have a clock each, and count as one: bars can miss.",
        "Let the SDK's resource detectors write `host.id` or `host.name`.",
    ),
    "beginless": Kind(
        "warning",
        "They lack their begin, or it is null or 0. They stand in 1970, and say nothing of clocks.",
        _MEND,
    ),
    "long_ago": Kind(
        "warning",
        "Times of spans are nanoseconds since 1970 (Jaeger: microseconds). In another unit they "
        "are decades ago; so are those of a machine whose clock has not been set since it booted.",
        "Write times in the unit of the format, and start once the clock is set.",
    ),
    "early": Kind(
        "warning",
        "A child begins after its parent, and these two are of one host, whose clock both read: it "
        "was set back in between, the two did not read it in the same way, or the host is several "
        "that share a name.",
        "Look at the first of them. What the host's own clock read is off by as much there.",
    ),
    "reversed": Kind(
        "warning",
        "The host's clock was set back while these spans lasted, or their times are wrong. They "
        "count as of no length, and their ends say nothing of clocks.",
        "Time spans with a clock that is never set.",
    ),
    "repeated": Kind(
        "info", f"{_IDS} Which span is meant by an id that several have is not known.", _COLLECT
    ),
    "looped": Kind("info", "No span can begin before itself.", _MEND),
    "orphaned": Kind(
        "info",
        f"{_IDS} Without it these spans say nothing of clocks: it was not sampled, not yet "
        "finished, or lost.",
        _COLLECT,
    ),
    "outlasting": Kind(
        "info",
        "The server ends its span after the client has the answer, or the client did not wait for "
        "it. That the server began before the client's span ended is then taken only from calls "
        "that have the status of a response: bars may be open to one side.",
        "Have the client's instrumentation write `http.response.status_code`, or the server's end "
        "its span when it answers.",
    ),
    "endless": Kind("info", "They had not ended when they were written.", _COLLECT),
}

SPAN_ROWS: Final = (
    Row(
        "odd-spans",
        {
            "warning": "where bars or times can be wrong for it",
            "info": "where spans only say less of clocks",
        },
        "Spans have times that cannot be right, or lack what says something of clocks.",
        title="{what}",
        why="{kind_why}",
        fix="{kind_fix}",
        kinds=_SPAN_KINDS,
    ),
)
