"""Files of other programs are told by name, with what to do; no trace is taken for one of them."""

import gzip
import json
import sqlite3

import pytest

from tracetime import TraceError, open_trace
from tracetime.formats.other_programs import other_program

pytest_plugins = ["cli"]

_STRACE = b"""execve("/bin/ls", ["ls"], 0x7ffd /* 67 vars */) = 0
brk(NULL) = 0x55d0
"""
_STRACE_TIME_OF_DAY = b'1234  10:11:12.123456 openat(AT_FDCWD, "/etc/ld.so.cache") = 3\n'
_STRACE_RELATIVE = b'     0.000123 openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY) = 3\n'
_DMESG_T = b"[Tue Nov 24 10:11:12 2026] Linux version 6.1.0\n"
_LOGCAT = b"02-25 10:11:12.345  1000  1001 I ActivityManager: hello\n"
_LOGCAT_BRIEF = b"I/ActivityManager( 1000): hello\n"
_SYSLOG = b"Nov 27 18:14:49 host sshd[12]: Accepted\n"
_PLANE = b"\x0a\xc0\x05\x08\x01\x12\x0d/device:TPU:0\x1a"
_PPROF = b"\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x00\x12\x01\x05"
_FIREFOX = {"meta": {"interval": 1, "product": "Firefox"}, "threads": []}
_V8 = {"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}}], "startTime": 1}
_SPEEDSCOPE = {"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": []}
_SHARED_FRAMES = {"version": "0.0.1", "shared": {"frames": []}, "profiles": []}
_HAR = {"log": {"version": "1.2", "entries": []}}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("content", "what", "then"),
    [
        (b"PERFILE2" + bytes(96), "a recording of Linux perf", "perf data convert --to-ctf"),
        (b"SIMPLEPERF\x02\x00", "a report of simpleperf", "Perfetto"),
        (b"\x10\x00\x04FxT\x16\x00", "a trace of Fuchsia", "Perfetto UI"),
        (b"\x17\x08\x44tracing6\0", "trace-cmd", "trace-cmd report"),
        (b"\x89MCAP0\r\n\x01", "an MCAP file", "CSV"),
        (b"#ROSBAG V2.0\n", "rosbag", "CSV"),
        (b"ULog\x01\x12\x35\x01", "ULog", "ulog2csv"),
        (b"ElfFile\0", "evtx", "CSV"),
        (b"LPKSHHRH", "a journal of systemd", "journalctl -o export"),
        (b"\x04\x22\x4d\x18", "lz4", "lz4 -d"),
        (b"7z\xbc\xaf\x27\x1c\0", "7z", "7z x"),
        (b"\x89HDF\r\n\x1a\n", "HDF5", "CSV"),
        (b"\x7fELF\x02", "ELF", "recorded"),
        (b"\x89PNG\r\n\x1a\n", "a picture", "trace itself"),
        (_PLANE, "XPlane", "trace.json.gz"),
        (gzip.compress(_PPROF, mtime=0), "pprof", "no times"),
        (b"\xff\xfe{\0", "UTF-16", "iconv"),
        (b"<!DOCTYPE html>\n<html>", "HTML", "ftrace"),
        (b"<!-- saved -->\n<html>", "HTML", "ftrace"),
        (b'<?xml version="1.0"?>', "XML", "CSV"),
        (_json(_FIREFOX), "Firefox", "Perfetto"),
        (gzip.compress(_json(_FIREFOX), mtime=0), "Firefox", "Perfetto"),
        (_json(_V8), "cpuprofile", "DevTools"),
        (_json(_SPEEDSCOPE), "speedscope", "chrometrace"),
        (_json(_SHARED_FRAMES), "speedscope", "chrometrace"),
        (_json({"rocprofiler-sdk-tool": []}), "rocprofv3", "pftrace"),
        (_json(_HAR), "HAR", "Perfetto"),
        (_STRACE, "strace", "strace -ttt"),
        (_STRACE_TIME_OF_DAY, "strace", "strace -ttt"),
        (_STRACE_RELATIVE, "strace", "strace -ttt"),
        (_DMESG_T, "dmesg -T", "after a suspend"),
        (_LOGCAT, "log of Android", "logcat -v year"),
        (b"--------- beginning of main\n" + _LOGCAT, "log of Android", "logcat -v year"),
        (_LOGCAT_BRIEF, "log of Android", "logcat -v year"),
        (_SYSLOG, "syslog", "RSYSLOG_FileFormat"),
    ],
)
def test_a_file_of_another_program_is_told_by_name(tmp_path, tracetime, content, what, then):
    path = tmp_path / "given"
    path.write_bytes(content)
    for command in (("clocks",), ("doctor",), ("convert", "-o", tmp_path / "events.csv")):
        code, _, err = tracetime(*command, path)
        assert code == 3
        assert f"{path}: this is " in err
        assert what in err
        assert then in err
        assert "flush" not in err


@pytest.mark.parametrize(
    ("ending", "what"), [(".nsys-rep", "Nsight Systems"), (".ncu-rep", "Nsight Compute")]
)
def test_what_its_bytes_do_not_tell_its_name_may(tmp_path, ending, what):
    path = tmp_path / f"report{ending}"
    path.write_bytes(b"\x01\x02\x03\x04")
    with pytest.raises(TraceError, match=what):
        open_trace(path)


@pytest.mark.parametrize(
    ("tables", "what"),
    [
        ("create table CUPTI_ACTIVITY_KIND_KERNEL (start int)", "Nsight Systems"),
        ("create table topics (id int, serialization_format text)", "a bag of ROS 2"),
        ("create table notes (text)", "a database of SQLite"),
    ],
)
def test_a_database_is_told_by_its_tables(tmp_path, tables, what):
    path = tmp_path / "report.sqlite"
    database = sqlite3.connect(path)
    database.execute(tables)
    database.commit()
    database.close()
    with pytest.raises(TraceError, match=what):
        open_trace(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty: nothing was recorded"),
        (gzip.compress(b"", mtime=0), "the file is empty: nothing was recorded"),
        (b"hello\n", "text of no known format"),
        (b"a,b\n1,2\n", "perhaps CSV: name its columns"),
        ("a,ü\n1,2\n".encode("latin-1"), "iconv -f CP1252"),
        (b"// x\n", "JSON has none"),
        (b"[", "Chrome's is an object with traceEvents"),
        (b"\x01\x02", "no known format (it begins with 01 02)"),
        (b'{"a": 1}', "lists the formats"),
    ],
)
def test_what_a_file_of_no_known_program_is(tmp_path, tracetime, content, what):
    path = tmp_path / "given"
    path.write_bytes(content)
    code, _, err = tracetime("clocks", path)
    assert code == 3
    assert f"{path}: " in err
    assert what in err


def test_a_short_name_is_in_the_message_too(tmp_path, tracetime, monkeypatch):
    """It stands in other words of the message as well."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_bytes(b"\n\x05x")
    assert tracetime("clocks", "t")[2].startswith("tracetime: error: t: the trace is cut off")


@pytest.mark.parametrize(
    "beginning",
    [
        b"# tracer: nop\n#\n  <idle>-0     [001] d..2   123.456789: sched_switch: prev_comm=x\n",
        b"  <idle>-0     [001]   123.456789: sched_switch: prev_comm=x\n",
        b"   my app 1-12    ( 12) [001] ....   123.456789: tracing_mark_write: B|1|x\n",
        b'{"traceEvents": [{"name": "callFrame", "ph": "B", "ts": 1}], "meta": {}}',
        b'{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}',
        b"clock,timestamp\nMONOTONIC,[1.000000]\n",
        b"__REALTIME_TIMESTAMP=1\nMESSAGE=open(x) = 3\n",
        b"\n\x04\x40\x01\x50\x02",
        b"\n\x13\x12\x11\x0a\x0f/device:init\0\0\0",
    ],
)
def test_no_trace_is_taken_for_another_programs(beginning):
    assert other_program(beginning) is None
