"""Files of other programs, which no format reads: what they are by how they begin, and what to do.

A row of the table says how such files begin. A row for JSON or text asks for more than one mark of
its program, since a trace that can be read must never be taken for another's file.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final, NamedTuple

from tracetime.errors import TraceError
from tracetime.text import printable

_CSV: Final = "write its times as CSV, and name their columns by tracetime convert --map"


class _Program(NamedTuple):
    """The files of one program.

    Attributes:
        what: they are.
        then: what to do.
        begins: how they begin.
    """

    what: str
    then: str
    begins: re.Pattern[bytes]


def _bytes(what: str, then: str, *magic: bytes) -> _Program:
    """Return a program whose files begin with these bytes."""
    return _Program(what, then, re.compile(b"|".join(map(re.escape, magic))))


def _json(what: str, then: str, keys: bytes) -> _Program:
    """Return a program whose files are JSON that begins so, behind the first brace."""
    space = keys.replace(b" ", rb"\s*")
    return _Program(what, then, re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*" + space, re.DOTALL))


def _lines(what: str, then: str, line: bytes) -> _Program:
    """Return a program whose files are text with such lines, the first one or two or the third."""
    return _Program(what, then, re.compile(rb"(?:[^\n]*\n){0,2}" + line, re.DOTALL))


_PERF: Final = "write it as CTF (perf data convert --to-ctf DIRECTORY), and give the directory"
_COMMON_TRACE: Final = "record the same with Perfetto, beside the clocks of the machine"
_ROSBAG: Final = f"a bag of ROS is not read: {_CSV}"
_NSYS: Final = (
    "write its tables as Parquet (nsys export --type parquetdir), and name the columns of one by "
    "tracetime convert --map"
)
_UNPACK: Final = "gzip, zstd, xz, bzip2, zip and tar are read: unpack it"

_PROGRAMS: Final = (
    _bytes("a recording of Linux perf (perf.data)", _PERF, b"PERFILE2", b"PERFFILE"),
    _bytes("a report of simpleperf", _COMMON_TRACE, b"SIMPLEPERF"),
    _bytes(
        "a trace of Fuchsia (fxt)",
        "trace_processor and the Perfetto UI read it",
        b"\x10\x00\x04FxT\x16\x00",
    ),
    _bytes(
        "a recording of trace-cmd (trace.dat)",
        "write it as text (trace-cmd report FILE > FILE.txt), which is read",
        b"\x17\x08\x44tracing",
    ),
    _bytes("an MCAP file", f"it is not read: {_CSV}", b"\x89MCAP0\r\n"),
    _bytes("a bag of ROS 1 (rosbag)", _ROSBAG, b"#ROSBAG V"),
    _bytes("a log of PX4 (ULog)", "write it as CSV (ulog2csv FILE)", b"ULog\x01\x12\x35"),
    _bytes("an event log of Windows (evtx)", f"it is not read: {_CSV}", b"ElfFile\0"),
    _bytes(
        "a journal of systemd in its own form",
        "export it (journalctl -o export --file FILE > NAME.export)",
        b"LPKSHHRH",
    ),
    _bytes("an lz4 file", f"{_UNPACK} (lz4 -d FILE)", b"\x04\x22\x4d\x18"),
    _bytes("a 7z archive", f"{_UNPACK} (7z x FILE)", b"7z\xbc\xaf\x27\x1c"),
    _bytes("a RAR archive", f"{_UNPACK} (unrar x FILE)", b"Rar!\x1a\x07"),
    _bytes("a file of HDF5", f"it is not read: {_CSV}", b"\x89HDF\r\n\x1a\n"),
    _bytes("a program or library (ELF)", "give what it recorded", b"\x7fELF"),
    _bytes("a picture", "give the trace itself", b"\x89PNG\r\n", b"\xff\xd8\xff"),
    _bytes("a PDF", "give the trace itself", b"%PDF-"),
    _Program(
        "SQLite, of Nsight Systems",
        _NSYS,
        re.compile(rb"SQLite format 3\0.*(?:CUPTI_ACTIVITY|TARGET_INFO|StringIds)", re.DOTALL),
    ),
    _Program(
        "SQLite, a bag of ROS 2",
        _ROSBAG,
        re.compile(rb"SQLite format 3\0.*(?:serialization_format|topic_id)", re.DOTALL),
    ),
    _bytes("a database of SQLite", f"it is not read: {_CSV}", b"SQLite format 3\0"),
    # Protobuf whose first field has the tag of Perfetto's packets.
    _Program(
        "an XPlane of JAX or TensorFlow (xplane.pb)",
        "give the trace.json.gz that the profiler writes beside it",
        # A plane, with its number, and its name.
        re.compile(
            rb"(?s:\n[\x80-\xff]{0,4}[\x00-\x7f](?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12[\x01-\x7f])"
            rb"(?:/(?:host|device):|Task Environment|/(?:job|replica|task):)"
        ),
    ),
    _Program(
        "a profile of pprof",
        "it counts samples and keeps no times of theirs: there is nothing to put on a timeline",
        # Types of values, each two indices of strings.
        re.compile(rb"(?s:\n[\x02-\x08]\x08[\x80-\xff]?[\x01-\x7f]\x10[\x80-\xff]?[\x01-\x7f])"),
    ),
    _Program(
        "text in UTF-16",
        "save it as UTF-8 (iconv -f UTF-16 -t UTF-8)",
        re.compile(rb"\xff\xfe|\xfe\xff|[{\[]\0|\0[{\[]"),
    ),
    _Program(
        "HTML",
        "give the data it shows: of systrace's reports, the text of ftrace in them",
        re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html)", re.I | re.S),
    ),
    _Program("XML", f"it is not read: {_CSV}", re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:\?xml|!--)")),
    _json(
        "a profile of Firefox",
        _COMMON_TRACE,
        rb'"meta" : \{(?=.{0,3000}(?:"product" : "|preprocessedProfileVersion|"geckoProfile))',
    ),
    _json(
        "a CPU profile of V8 (cpuprofile)",
        "save a trace of the panel Performance of DevTools, which is JSON of Chrome",
        rb'"(?:nodes" : \[|head" : \{)(?=.{0,3000}"callFrame)',
    ),
    _json(
        "a profile of speedscope",
        "it knows no clock: let the profiler write JSON of Chrome (py-spy: --format chrometrace)",
        rb'(?=.{0,3000}"(?:\$schema" : "https?://www\.speedscope\.app|shared" : \{ "frames"))',
    ),
    _json(
        "JSON of rocprofv3",
        "let it write Perfetto's form (rocprofv3 --output-format pftrace)",
        rb'"rocprofiler-sdk-tool" :',
    ),
    _json("a log of HTTP requests (HAR)", _COMMON_TRACE, rb'"log" : \{ "(?:version|creator)"'),
    _lines(
        "the output of strace without times of a day",
        "write them (strace -ttt)",
        rb" *(?:(?:\[pid +)?\d+\]? +)?(?:[\d:.]+ +)?[a-z_0-9]{2,20}\([^\n]*\) += -?(?:\d|0x|\?)",
    ),
    _lines(
        "a log of the kernel (dmesg -T)",
        "its times are made of those since boot, and off after a suspend: give those of dmesg, or "
        "export the journal (journalctl -k -o export > NAME.export)",
        rb"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] \S",
    ),
    _lines(
        "a log of Android whose times lack the year",
        "write it (logcat -v year -v zone, or -v epoch)",
        rb"(?:\d\d-\d\d \d\d:\d\d:\d\d\.\d+ +(?:\S+ +)?\d+ +\d+ [VDIWEFS] "
        rb"|[VDIWEF]/[^\n(]+\( *\d+\): )",
    ),
    _lines(
        "a log of syslog whose times lack the year and the zone",
        "write them (rsyslog: RSYSLOG_FileFormat; journalctl -o short-iso-precise)",
        rb"(?:<\d+>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\n:]+: ",
    ),
)


def other_program(beginning: bytes) -> str | None:
    """Return what a file of another program is, and what to do; None where it is not known.

    beginning: its first bytes, uncompressed; 4096 of them, or fewer.
    """
    found = next((one for one in _PROGRAMS if one.begins.match(beginning)), None)
    return None if found is None else f"{found.what}: {found.then}"


_ENDINGS: Final = {
    ".nsys-rep": ("a report of Nsight Systems", _NSYS),
    ".qdrep": ("a report of Nsight Systems", _NSYS),
    ".ncu-rep": ("a report of Nsight Compute", "it has no timeline: profile with Nsight Systems"),
    ".etl": ("an event trace of Windows", f"it is not read: {_CSV}"),
}
"""Of names, for files whose beginning says nothing."""

_BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_LIST: Final = "`tracetime FILE --help` lists the formats that are read"


def refuse(beginning: bytes, path: str) -> TraceError:
    """Return the error that says what a file of no format is, as far as its beginning tells."""
    if not beginning:
        return TraceError("the file is empty: nothing was recorded", 0).of(printable(path))
    known = other_program(beginning)
    by_name = _ENDINGS.get(PurePath(path).suffix.lower())
    if known is None and by_name is not None:
        known = ": ".join(by_name)
    if known is None:
        known = f"{_kind(beginning)}; {_LIST}"
    return TraceError(f"this is {known}", 0).of(printable(path))


def _kind(beginning: bytes) -> str:
    """Return what a file of no known program is."""
    line = beginning[:200].partition(b"\n")[0]
    if beginning[:2] in (b"//", b"/*"):
        return "text that begins with a comment: JSON has none, so remove it if this is JSON"
    if beginning.lstrip()[:1] in (b"{", b"["):
        return (
            "JSON, but of no trace: Chrome's is an object with traceEvents, or an array of events"
        )
    if _BINARY.search(beginning[:200]):
        return f"a file of no known format (it begins with {beginning[:8].hex(' ')})"
    if b"," not in line:
        return "text of no known format"
    if line.isascii():
        return (
            "text, perhaps CSV: name its columns `clock` and `timestamp`, or say what they are by "
            "tracetime convert --map"
        )
    return (
        "text that is no UTF-8, perhaps CSV: save it as UTF-8 (of Windows and Excel: "
        "iconv -f CP1252 -t UTF-8), and name its columns `clock` and `timestamp`"
    )
