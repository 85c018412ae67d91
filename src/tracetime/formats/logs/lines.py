"""How programs write the lines of their logs: a row of `PROGRAMS` for each.

Python and RE2 read the patterns alike. Their groups: those of the time, and columns of names.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_FRACTION: Final = r"(?P<fraction>\d{1,9})"
_SECONDS: Final = rf"(?P<seconds>\d{{1,10}})\.{_FRACTION}"
_CLOCK_TIME: Final = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)"
_DATE: Final = (
    r"(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ]"
    rf"{_CLOCK_TIME}(?:[.,]{_FRACTION})?(?: ?(?P<zone>Z|[+-]\d\d:?\d\d))?"
)
_LOGCAT: Final = (
    r" +(?:[a-z]\w* +)?(?P<pid>\d+) +(?P<tid>\d+) [VDIWEFS] (?P<category>.*?) *: (?P<name>.*?)"
)


class Program(NamedTuple):
    """How a program writes a line.

    Attributes:
        name: what its users call such a log.
        line: its pattern.
        clock: the name of the clock of its times; None for wall time, and for seconds since 1970.
    """

    name: str
    line: str
    clock: str | None = None

    def pattern(self) -> str:
        """The pattern of a whole line, with its end."""
        return rf"^{self.line}\r?\n?$"


PROGRAMS: Final = (
    # CONFIG_PRINTK_CALLER adds who printed the line.
    Program(
        "log of the kernel",
        rf"(?:<\d+>)?\[ *{_SECONDS}\](?:\[ *[TC]\d+\])? (?P<name>.*?)",
        "log.printk",
    ),
    Program(
        "output of perf script",
        r" *(?P<process_name>\S.*?) +(?:(?P<pid>\d+)/)?(?P<tid>\d+) +(?:\[(?P<cpu>\d+)\] +)?"
        rf"{_SECONDS}: +(?:(?P<value>\d+) +)?(?P<name>[\w:.-]+?):(?: +(?P<text>.*?))?",
        "log.perf",
    ),
    Program(
        "output of strace",
        r"(?:(?:\[pid +)?(?P<tid>\d+)\]? +)?(?P<seconds>\d{10})\.(?P<fraction>\d{6}) "
        r"(?P<name>[a-z_0-9]+|[<+-][^\r\n]*)(?P<text>\(.*?)?",
    ),
    Program("log of Android", _DATE + _LOGCAT),
    Program("log of Android", rf" *(?P<seconds>\d{{10}})\.{_FRACTION}{_LOGCAT}"),
    # logcat -v monotonic
    Program("log of Android", rf" *{_SECONDS}{_LOGCAT}", "log.since_boot"),
    Program(
        "access log",
        r"(?P<category>\S+) \S+ \S+ \[(?P<day>\d\d)/(?P<month>[A-Z][a-z]{2})/(?P<year>\d{4}):"
        rf"{_CLOCK_TIME} (?P<zone>[+-]\d{{4}})\] (?P<name>.*?)",
    ),
    # Lines of RFC 5424 begin with a priority and the version.
    Program("log", rf"(?:<\d{{1,3}}>1 )?\[?{_DATE}\]?[ \t|:]+(?P<name>.*?)"),
)

_LINES: Final = re.compile(rb"[^\n]*\n?")
_FIRST_LINES: Final = 3
"""A log begins within so many lines: `--------- beginning of main` and the like stand before."""


def program_of(beginning: bytes) -> int | None:
    """Return the index of the program whose log begins so; None of what is none."""
    for line in _LINES.findall(beginning)[:_FIRST_LINES]:
        for index, program in enumerate(PROGRAMS):
            if re.match(program.pattern().encode(), line):
                return index
    return None


def is_log(beginning: bytes) -> bool:
    """Whether a file that begins so is a log whose lines have times that say the year."""
    return program_of(beginning) is not None
