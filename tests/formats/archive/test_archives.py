"""Archives: which members are traces, how one is named, and what hostile ones do not do."""

import gzip
import io
import json
import struct
import tarfile
import zipfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from corpus import NO_DATA, files
from journals import logged

from tracetime import TraceError, TracetimeError, UsageError, open_trace, open_traces
from tracetime.formats import split_member
from tracetime.formats.archive import archive as archives
from tracetime.formats.archive import members as archive_members

pytest_plugins = ["cli"]

ONE = trace(
    snapshot({BOOTTIME: 1000, MONOTONIC: 900}), event(950, MONOTONIC), event(960, MONOTONIC)
)
JOURNAL = b"".join(logged(k * 10**6) for k in range(3))
MANIFEST = b'{"perfetto_manifest": {"version": 1}}'
MEMBERS = {
    "one.pftrace": ONE,
    "sub/today.export": JOURNAL,
    "packed.pftrace.gz": gzip.compress(ONE),
    "README.md": b"# what this is",
    "meta.json": MANIFEST,
    "empty": b"",
}
TRACES = ["one.pftrace", "sub/today.export", "packed.pftrace.gz"]
ROWS = [2, 3, 2]


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return out.getvalue()


def tarred(members, form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return out.getvalue()


PACKERS = {
    "zip": zipped,
    "stored": lambda members: zipped(members, zipfile.ZIP_STORED),
    "tar": tarred,
    "gnu": lambda members: tarred(members, tarfile.GNU_FORMAT),
    "tar.gz": lambda members: gzip.compress(tarred(members)),
}


@pytest.fixture
def put(tmp_path):
    """Writes a file."""

    def write(content, name="a"):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return write


def rows(traces):
    with ExitStack() as stack:
        return [stack.enter_context(one).read_all().num_rows for one in traces]


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_traces_of_an_archive_are_told_by_their_bytes(put, pack):
    path = put(pack(MEMBERS))
    opened = open_traces(path)
    assert [one.path for one in opened] == [f"{path}:{name}" for name in TRACES]
    assert [one.size for one in opened] == [len(MEMBERS[name]) for name in TRACES]
    assert rows(opened) == ROWS
    for name, n in zip(TRACES, ROWS, strict=True):
        assert rows([open_trace(f"{path}:{name}")]) == [n]


def test_other_files_are_one_trace(put):
    path = put(ONE)
    assert rows(open_traces(path)) == [2]
    inside = put(zipped(MEMBERS), "b")
    assert rows(open_traces(f"{inside}:one.pftrace")) == [2]


def test_an_archive_of_one_trace_is_that_trace(put):
    path = put(zipped({"notes.txt": b"hello", "one.pftrace": ONE}))
    with open_trace(path) as opened:
        assert opened.path == f"{path}:one.pftrace"
        assert opened.read_all().num_rows == 2


def test_which_members_there_are_is_told(put):
    path = put(zipped(MEMBERS))
    with pytest.raises(UsageError, match=r"3 traces: name one, as in .*:one.pftrace; it has .*gz$"):
        open_trace(path)
    with pytest.raises(UsageError, match=r"'one.pftrac' is not in .*did you mean one.pftrace"):
        open_trace(f"{path}:one.pftrac")
    with pytest.raises(UsageError, match=r"'README.md' is no trace: it is of no known format"):
        open_trace(f"{path}:README.md")
    with pytest.raises(UsageError, match="is no archive, so it has no member 'x'"):
        open_trace(f"{put(ONE, 'b')}:x")
    with pytest.raises(UsageError, match=r"no trace \(README.md: it is of no known format\)"):
        open_traces(put(zipped({"README.md": b"# what"})))
    with pytest.raises(UsageError, match=r"has no trace \(it is empty\)"):
        open_traces(put(zipped({})))
    many = {f"{k}.pftrace": ONE for k in range(15)}
    with pytest.raises(UsageError, match=r"9.pftrace and 5 more$"):
        open_trace(put(zipped(many)))


def test_paths_with_colons(put, tmp_path):
    path = put(zipped({"a:b": ONE, "c": ONE}), "x:y")
    assert split_member(path) is None
    assert split_member(f"{path}:a:b") == (path, "a:b")
    assert rows([open_trace(f"{path}:a:b")]) == [2]
    assert split_member(f"{tmp_path}/none:a") is None
    assert split_member("a\0:b") is None
    with pytest.raises(UsageError, match="No such file"):
        open_trace(f"{tmp_path}/none:a")


def test_no_name_of_a_member_is_a_path(put, tmp_path):
    names = ["/etc/passwd", "../../outside", "C:\\x", "a\x1b[31m", "nul\\..\\.."]
    for pack in (zipped, tarred):
        path = put(pack(dict.fromkeys(names, ONE)))
        before = sorted(tmp_path.rglob("*"))
        assert len(rows(open_traces(path))) == len(names)
        assert sorted(tmp_path.rglob("*")) == before
        with pytest.raises(UsageError) as raised:
            open_trace(path)
        assert "\x1b" not in str(raised.value)


def test_links_and_folders_are_no_traces(put):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name, kind in (
            ("d", tarfile.DIRTYPE),
            ("l", tarfile.SYMTYPE),
            ("h", tarfile.LNKTYPE),
            ("p", tarfile.FIFOTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            made.addfile(info)
    path = put(out.getvalue())
    with pytest.raises(UsageError, match="l: it is a link") as raised:
        open_traces(path)
    assert "d:" not in str(raised.value)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        link = zipfile.ZipInfo("l")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/passwd")
        made.mkdir("d")
    with pytest.raises(UsageError, match=r"\(l: it is a link\)"):
        open_traces(put(out.getvalue()))


def test_archives_in_archives_are_not_unpacked(put):
    inner = zipped({"one.pftrace": ONE})
    for member in (inner, gzip.compress(tarred({"one.pftrace": ONE}))):
        path = put(zipped({"inner": member}))
        with pytest.raises(UsageError, match="inner: it is an archive itself"):
            open_traces(path)
        with pytest.raises(UsageError, match="it is an archive itself"):
            open_trace(f"{path}:inner")


def test_directories_that_are_a_trace_are_to_be_unpacked(put, tmp_path):
    path = put(zipped({"t/metadata": b"/* CTF 1.8 */", "t/channel": b"\xc1\x1f\xfc\xc1"}))
    with pytest.raises(UsageError, match="t/metadata: it is a part of a CTF trace"):
        open_traces(path)
    with pytest.raises(UsageError, match="a directory without a trace"):
        open_traces(tmp_path)


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_what_unpacking_yields_is_limited(put, pack):
    path = put(pack({"a": ONE, "zeros": b"\n" + bytes(10**6)}))
    with pytest.raises(TraceError, match="--max-expansion"):
        open_traces(path, max_expansion=500_000)
    assert len(rows_or_error(open_traces(path, max_expansion=3_000_000))) == 2


def rows_or_error(traces):
    found = []
    for one in traces:
        with one:
            try:
                found.append(one.read_all().num_rows)
            except TraceError as error:
                found.append(error)
    return found


def test_two_members_of_one_name_are_refused(put):
    twice = zipped({"a": ONE, "b": JOURNAL}).replace(b"b", b"a")
    for content in (twice, appended({"a": ONE}, {"a": JOURNAL})):
        with pytest.raises(TraceError, match="two members named 'a'"):
            open_traces(put(content))


def appended(*parts):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for members in parts:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                made.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_encrypted_members_are_told(put):
    content = bytearray(zipped({"a": ONE, "b": JOURNAL}))
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(magic) + flags] |= 1
    path = put(bytes(content))
    with pytest.raises(TraceError, match="'a' is encrypted"):
        open_traces(path)
    assert rows([open_trace(f"{path}:b")]) == [3]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_that_cannot_be_stopped_are_not_read(put, method):
    with pytest.raises(TraceError, match=f"method {method}"):
        open_traces(put(zipped({"a": ONE}, method)))


def test_members_are_limited_in_number(put, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 5)
    for pack in (zipped, tarred):
        assert len(rows(open_traces(put(pack({str(k): ONE for k in range(5)}))))) == 5
        for members in ({str(k): ONE for k in range(6)}, {f"{k}/": b"" for k in range(6)}):
            with pytest.raises(TraceError, match="more than 5 members"):
                open_traces(put(pack(members)))
    monkeypatch.setattr(archive_members, "_MOST_DIRECTORY", 100)
    with pytest.raises(TraceError, match="list of members"):
        open_traces(put(zipped({"a": ONE, "b": ONE, "c": ONE})))


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("command", ["doctor", "sql"])
def test_very_many_small_traces_are_given_some_at_a_time(
    put, tracetime, monkeypatch, command, pack
):
    monkeypatch.setattr(archives, "MOST_SMALL", 2)
    query = ["select count(*) from events"] if command == "sql" else []
    few = put(pack(dict.fromkeys("ab", ONE)), "few")
    assert tracetime(command, few, *query)[0] == 0
    many = put(pack(dict.fromkeys("abc", ONE)), "many")
    code, _, err = tracetime(command, many, *query)
    assert code == 2
    assert f"has 3 small traces, of which 2 are read at once: name one, as in {many}:a, or" in err
    assert tracetime(command, f"{many}:c", *query)[0] == 0
    # As many that are large take little beside their size.
    monkeypatch.setattr(archives, "_SMALL", 10)
    assert tracetime(command, many, *query)[0] == 0


def with_zip64_end(content):
    """The archive with the end that one of over 65,535 members has: its list's length in 64 bits."""
    end = len(content) - 22
    members, size, at = struct.unpack("<10xHII2x", content[end:])
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, members, members, size, at)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    return (
        content[:end]
        + record
        + locator
        + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, 47, 0, 0)
    )


def test_the_list_of_members_is_limited_whichever_record_gives_its_length(put, monkeypatch):
    content = with_zip64_end(zipped({"a": ONE, "b": ONE, "c": ONE}))
    assert rows(open_traces(put(content))) == [2] * 3
    monkeypatch.setattr(archive_members, "_MOST_DIRECTORY", 100)
    with pytest.raises(TraceError, match="list of members of the zip archive is longer"):
        open_traces(put(content))


def test_damaged_members_are_told(put):
    content = zipped({"a": ONE}, zipfile.ZIP_STORED)
    at = content.index(ONE)
    path = put(content[: at + 20] + b"!" + content[at + 21 :])
    with pytest.raises(TraceError, match="'a' is cut off or damaged.*CRC"):
        open_traces(path)
    with pytest.raises(TraceError, match="list of members, which was at its end") as raised:
        open_traces(put(content[:-30]))
    # With an offset, the command line would advise --partial.
    assert raised.value.offset is None
    for damaged in (
        content.replace(b"PK\x01\x02", b"PK\x01\x03"),
        content[:-6] + struct.pack("<I", 10**6) + content[-2:],
    ):
        with pytest.raises(TraceError):
            open_traces(put(damaged))


def test_a_tar_that_is_cut_off_or_damaged_is_told(put):
    content = tarred({"a": ONE, "b": JOURNAL})
    path = put(content[: content.index(b"b\0\0\0") + 100])
    with pytest.raises(TraceError, match="no header of a member stands there") as raised:
        open_traces(path)
    assert raised.value.offset == content.index(b"b\0\0\0")
    assert rows(open_traces(path, partial=True)) == [2]
    path = put(content[: content.index(JOURNAL) + 100])
    with pytest.raises(TraceError, match="unexpected end of data"):
        open_traces(path)
    with pytest.raises(TraceError, match="'b' is cut off"):
        open_traces(path, partial=True)
    assert rows([open_trace(f"{path}:a", partial=True)]) == [2]
    broken = bytearray(content)
    broken[content.index(b"b\0\0\0") + 150] ^= 1
    with pytest.raises(TraceError, match="no header"):
        open_traces(put(bytes(broken)))
    # Without the zeros at its end it is whole.
    assert rows(open_traces(put(content[: content.index(JOURNAL) + 1024]))) == [2, 3]


def test_headers_of_tar_take_no_memory(put):
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 10**8
    content = gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(10**8))
    with pytest.raises(TraceError, match="a header has 100000256 bytes"):
        open_traces(put(content))
    chain = tarfile.TarInfo("././@LongLink")
    chain.type, chain.size = tarfile.GNUTYPE_LONGNAME, 1
    one = chain.tobuf(tarfile.GNU_FORMAT) + b"x" + bytes(511)
    with pytest.raises(TracetimeError):
        open_traces(put(one * 5000))


def test_commands_take_all_traces_of_an_archive_or_one(put, tracetime, tmp_path):
    path = put(zipped(MEMBERS | {"meta.json": b""}), "a.zip")
    code, printed, err = tracetime("doctor", path, "--json")
    assert code == 0
    assert [one["trace"] for one in json.loads(printed)["traces"]] == [
        f"{path}:{n}" for n in TRACES
    ]
    assert "README.md is left out" in err
    with_manifest = put(zipped(MEMBERS), "m.zip")
    code, printed, err = tracetime("doctor", with_manifest, "--json", "--apart")
    assert (code, len(json.loads(printed)["traces"])) == (0, 3)
    assert "meta.json is left out: a perfetto_manifest: the traces stay apart" in err
    asked = "select trace, count(*) n from events group by trace order by trace"
    code, printed, err = tracetime("sql", path, asked, "--json")
    assert code == 0, err
    found = json.loads(printed)
    assert {row["trace"]: row["n"] for row in found} == {
        f"{path}:{name}": n for name, n in zip(TRACES, ROWS, strict=True)
    }
    for command, *more in (
        ("clocks",),
        ("report", "-o", tmp_path / "r.html"),
        ("convert", "-o", tmp_path / "o.csv"),
        ("at", "5", "--from", "MONOTONIC"),
    ):
        code, _, err = tracetime(command, path, *more)
        assert (code, "name one" in err) == (2, True)
        assert tracetime(command, f"{path}:one.pftrace", *more)[0] == 0
    found = json.loads(
        tracetime("sql", f"{path}:one.pftrace", "select count(*) n from events", "--json")[1]
    )
    assert [row["n"] for row in found] == [2]


def test_members_may_be_all_the_arguments_of_sql(put, tracetime, tmp_path, monkeypatch):
    path, out = put(zipped(MEMBERS)), tmp_path / "o.csv"
    monkeypatch.setattr("sys.stdin", io.StringIO("select count(*) n from events"))
    members = [f"{path}:{name}" for name in TRACES[:2]]
    assert tracetime("sql", *members, "-o", out)[0] == 0
    assert out.read_text().split() == ['"n"', "5"]


@pytest.mark.skipif(not files("manifest/*.zip"), reason=NO_DATA)
def test_real_archives_with_a_manifest():
    n = 0
    for path in (*files("manifest/*.zip"), *files("manifest/*.tar")):
        traces = open_traces(path)
        assert not any("meta" in one.path.rpartition(":")[2] for one in traces)
        n += len(rows(traces))
    assert n == 49


def test_a_damaged_member_does_not_hide_the_others(put, tracetime):
    content = zipped({"a": ONE, "b": ONE[:-3], "c": ONE}, zipfile.ZIP_STORED)
    at = content.index(ONE)
    path = put(content[: at + 20] + b"!" + content[at + 21 :])
    code, printed, err = tracetime("doctor", path)
    assert code == 3
    assert f"error: {path}:a: member 'a' is cut off or damaged" in err
    assert f"{path}:c: " in printed
    empty = put(zipped({"README": b"#"}), "empty")
    code, printed, err = tracetime("doctor", empty, path)
    assert (code, f"{path}:c: " in printed, "has no trace" in err) == (3, True, True)
    cut = tarred({"a": ONE, "b": JOURNAL})
    cut = put(cut[: cut.index(b"b\0\0\0") + 100], "cut")
    code, printed, err = tracetime("doctor", cut)
    assert (code, f"{cut}:a: " in printed) == (3, True)
    assert f"error: {cut}: the tar archive is cut off" in err
    traces = json.loads(tracetime("doctor", cut, "--json")[1])["traces"]
    assert [one["trace"] for one in traces] == [f"{cut}:a", str(cut)]
    assert "cut off" in traces[1]["error"]["message"]
    code, _, err = tracetime("sql", "--partial", cut, "select count(*) from events")
    assert (code, f"warning: {cut}: the tar archive is cut off" in err) == (0, True)


def test_a_member_without_a_name(tmp_path):
    path = tmp_path / "a.zip"
    content = zipped({"xx": ONE}, zipfile.ZIP_STORED)
    path.write_bytes(content.replace(b"xx", b"\0x"))
    with open_trace(path) as trace:
        assert trace.read_all().num_rows > 0


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_may_come_from_a_pipe(put, tracetime, monkeypatch, pack):
    path = put(pack(MEMBERS))
    by_path = tracetime("doctor", path, "--apart")
    asked = "select trace, count(*) n from events group by all order by all"
    rows_by_path = json.loads(tracetime("sql", path, asked, "--json", "--apart")[1])

    def piped(*words):
        with Path(path).open() as file:
            monkeypatch.setattr("sys.stdin", file)
            return tracetime(*words)

    assert piped("doctor", "-")[:2] == (by_path[0], by_path[1].replace(f"{path}:", "-:"))
    found = json.loads(piped("sql", "-", asked, "--json")[1])
    assert [row["n"] for row in found] == [row["n"] for row in rows_by_path]
    assert found[0]["trace"].startswith("-:")


def test_a_trace_and_what_is_none_may_come_from_a_pipe(put, tracetime, monkeypatch):
    for content, expected in ((ONE, 0), (zipped({"a.txt": b"no trace"}), 2)):
        with Path(put(content)).open() as file:
            monkeypatch.setattr("sys.stdin", file)
            code, _, err = tracetime("sql", "-", "select count(*) from events")
        assert (code, "has no trace" in err) == (expected, bool(expected))
