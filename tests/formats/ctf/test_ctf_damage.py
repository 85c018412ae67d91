"""CTF traces that are cut off, damaged or hostile."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from ctf_files import Clock, Event, Packet, Trace, simple
from platforms import WITH_BT2

from tracetime import TraceError, UsageError, diagnose, open_trace
from tracetime.formats import trace_folder

pytestmark = WITH_BT2

THREE = Trace({"c": [Packet([Event(at), Event(at + 1)]) for at in (10, 20, 30)]})


def timestamps(folder, partial=True):
    with open_trace(folder, partial=partial) as trace:
        read = trace.read_all(names=True)["timestamp"].to_pylist()
        return read, trace.truncated


def refused(folder, match):
    with open_trace(folder) as trace, pytest.raises(TraceError, match=match):
        trace.read_all()
    with open_trace(folder) as trace, pytest.raises(TraceError, match=match):
        trace.clocks  # noqa: B018


def edited(folder, *changes):
    """Edit the metadata."""
    text = (folder / "metadata").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "metadata").write_text(text)
    return folder


def test_ctf_2_is_told(tmp_path):
    simple(10).write(tmp_path)
    (tmp_path / "metadata").write_bytes(b'\x1e{"type":"preamble","version":2}\n')
    refused(tmp_path, r"CTF 2, which babeltrace2 reads from its version 2.1 on: .*ctf-1.8\)")
    with pytest.raises(UsageError, match="is one file of a CTF trace"):
        open_trace(tmp_path / "metadata")


@pytest.mark.parametrize(
    ("cycles", "freq"), [(1 << 63, 10**9), ((1 << 64) - 1, 10**9), (1 << 62, 1000), (1 << 62, 1)]
)
def test_an_event_at_no_time_of_int64_is_damage(tmp_path, cycles, freq):
    """babeltrace2 looks at the times of packets, where they have any."""
    packets = [Packet([Event(5), Event(cycles)]), Packet([Event(6)])]
    Trace({"c": packets}, Clock(freq=freq, offset_s=0)).write(tmp_path)
    edited(tmp_path, ("stamp timestamp_begin; stamp timestamp_end", "u64 _begin; u64 _end"))
    said = f"stream {tmp_path / 'c'} has an event at {cycles} cycles of its clock; get a whole copy"
    with pytest.raises(TraceError, match=said):
        timestamps(tmp_path, partial=False)
    read, truncated = timestamps(tmp_path)
    assert read == [5 * 10**9 // freq]
    assert str(truncated).startswith(said)


def test_a_stream_that_is_cut_off_keeps_its_whole_packets(tmp_path):
    stream = THREE.write(tmp_path) / "c"
    whole = stream.read_bytes()
    length = len(whole) // 3
    for size, kept in (
        (3 * length - 5, [10, 11, 20, 21]),
        (2 * length + 30, [10, 11, 20, 21]),
        (2 * length - 1, [10, 11]),
        (length - 1, []),
    ):
        stream.write_bytes(whole[:size])
        refused(tmp_path, "c")
        found, error = timestamps(tmp_path)
        assert (found, type(error)) == (kept, TraceError), size


def test_the_other_streams_are_read_beside_one_that_is_cut_off(tmp_path):
    packets = {name: [Packet([Event(at)])] for name, at in (("a", 1), ("b", 2), ("c", 3))}
    Trace(packets).write(tmp_path)
    with (tmp_path / "b").open("r+b") as stream:
        stream.truncate(60)
    refused(tmp_path, "in an unexpected state")
    found, error = timestamps(tmp_path)
    assert (found, str(error).startswith(f"{tmp_path}: ")) == ([1, 3], True)


def test_the_other_traces_are_read_beside_one_that_is_damaged(tmp_path):
    for name, at in (("a", 1), ("b", 2), ("c", 3)):
        simple(at).write(tmp_path / name)
    (tmp_path / "b" / "metadata").write_text("/* CTF 1.8 */ nonsense")
    refused(tmp_path, "metadata")
    assert timestamps(tmp_path)[0] == [1, 3]


def test_what_follows_the_damage_in_a_stream_is_left_out(tmp_path):
    stream = Trace({"c": [Packet([Event(1), Event(2, kind=9), Event(3)])]}).write(tmp_path)
    refused(stream, "No event class")
    found, error = timestamps(tmp_path)
    assert (found, "event-class-id=9" in str(error)) == ([1], True)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("/* CTF 1.8 */", "/* CTF 1.8 */ {", "metadata"),
        ("freq = 1000000000", "freq = 0", "Invalid clock class frequency: freq=0"),
        ("u32 magic;", "u32 magic[4294967295];", "`magic` member is not an integer"),
        ("string _text;", "u64 _text[4611686018427387904];", "babeltrace2 ended"),
        (
            "string _text;",
            f"{'struct {' * 5000} u8 a; {'} x; ' * 5000}",
            "Cannot create the metadata AST",
        ),
    ],
)
def test_hostile_metadata_are_refused(tmp_path, old, new, match):
    refused(edited(simple(5).write(tmp_path), (old, new)), match)


def test_events_without_a_byte_end(tmp_path):
    packet = Packet([Event(at) for at in range(1, 10)])
    folder = Trace({"c": [packet]}, names=("one",)).write(tmp_path)
    edited(
        folder,
        ("event.header := struct { u32 id; stamp timestamp; };", ""),
        ("fields := struct { u64 _number; string _text; };", "fields := struct { u8 _none[0]; };"),
    )
    refused(folder, "more than 1[0-9]{4} events, more than its bits")


def test_a_long_sequence_of_nothing_ends(tmp_path):
    # As many elements of no size as the file claims: they take the memory of the worker alone.
    event = Event(5, number=2**60)
    folder = edited(
        Trace({"c": [Packet([event])]}).write(tmp_path),
        ("string _text;", "struct { u8 _none[0]; } _nothing[_number];"),
    )
    refused(folder, "babeltrace2 ended")


@pytest.mark.parametrize(
    ("counts", "dropped", "said"),
    [((0, 2**63 - 1), 2**63 - 1, []), ((9, 2), 2, ["does not say how many (2 times)"])],
)
def test_a_count_of_dropped_events_that_falls_is_no_count(tmp_path, counts, dropped, said):
    packets = [Packet([Event(at)], discarded=n) for at, n in enumerate(counts, 1)]
    with open_trace(Trace({"c": packets}).write(tmp_path)) as trace:
        assert trace.events_dropped == dropped
        messages = [warning.message for warning in trace.warnings]
    assert [text in message for text, message in zip(said, messages, strict=True)] == [True] * len(
        said
    )


def test_packets_that_are_missing_are_told(tmp_path):
    packets = [Packet([Event(at)], number=number) for at, number in ((1, 0), (2, 3), (3, 5))]
    with open_trace(Trace({"c": packets}).write(tmp_path)) as trace:
        (warning,) = trace.warnings
        assert (trace.events_dropped, warning.packet) == (3, 1)
        assert warning.message.startswith("3 packets missing: nobody knows how many events")
        (found,) = (one for one in diagnose(trace) if one.code == "events-dropped")
    assert found.packets == (1,)


@pytest.fixture
def reading(tmp_path):
    """A process that has begun to read a long trace with "partial", and its worker."""
    events = [Event(at) for at in range(1, 300_000)]
    folder = Trace({"c": [Packet(events), Packet(events)]}).write(tmp_path / "t")
    (tmp_path / "tmp").mkdir()
    code = (
        "import sys, tracetime as tt\n"
        "with tt.open_trace(sys.argv[1], partial=True) as trace:\n"
        "    try:\n"
        "        print('begun', flush=True)\n"
        "        print(trace.read_all().num_rows, trace.truncated)\n"
        "    except KeyboardInterrupt:\n"
        "        sys.exit(130)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, folder],
        stdout=subprocess.PIPE,
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
        start_new_session=True,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"begun\n"
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    until(lambda: children.read_text() and list((tmp_path / "tmp").iterdir()))
    worker = int(children.read_text().split()[0])
    # It reads what is asked of it first.
    until(lambda: len(list(Path(f"/proc/{worker}/task").iterdir())) > 1)
    yield parent, worker
    parent.kill()
    parent.wait()
    parent.stdout.close()


def until(condition):
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def has_ended(worker):
    try:
        return Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_worker_that_is_killed_is_damage(reading):
    parent, worker = reading
    os.kill(worker, signal.SIGKILL)
    said = parent.stdout.read()
    assert b"babeltrace2 was killed, by hand or for want of memory" in said


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)]
)
def test_no_worker_and_no_file_outlives_the_reader(reading, tmp_path, number, code):
    parent, worker = reading
    if number == signal.SIGINT:
        # As a terminal sends it: to both.
        os.killpg(parent.pid, number)
    else:
        parent.send_signal(number)
    assert parent.wait() == code
    until(lambda: has_ended(worker))
    until(lambda: not list((tmp_path / "tmp").iterdir()))


def test_names_are_made_printable(tmp_path):
    folder = edited(simple(5).write(tmp_path), ('"sched_switch"', '"a\\033[2Jb"'))
    with open_trace(folder) as trace:
        assert trace.read_all(names=True)["name"].to_pylist() == ["a\x1b[2Jb"]


def test_the_worker_leaves_nothing_behind(tmp_path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    folder = THREE.write(tmp_path / "t")
    (folder / "c").write_bytes((folder / "c").read_bytes()[:-1])
    timestamps(folder)
    assert list(temporary.iterdir()) == []


def test_a_folder_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_folder, "_MOST_FILES", 5)
    for number in range(6):
        (tmp_path / str(number)).write_bytes(b"")
    with pytest.raises(UsageError, match="more than 5 files"):
        open_trace(tmp_path)


def test_a_folder_that_links_to_itself_is_read_once(tmp_path):
    folder = simple(5).write(tmp_path / "t")
    (folder / "again").symlink_to(folder)
    assert timestamps(tmp_path, partial=False)[0] == [5]


def test_files_that_vanish_are_told(tmp_path):
    folder = simple(5, clock=Clock(offset_s=0)).write(tmp_path / "t")
    with open_trace(folder) as trace:
        shutil.rmtree(folder)
        with pytest.raises(TraceError, match="does not contain a metadata file"):
            trace.read_all()


@pytest.mark.parametrize("name", ["c", "metadata", "index", "new"])
def test_links_out_of_the_folder_are_not_followed(tmp_path, name):
    folder = THREE.write(tmp_path / "t")
    outside = tmp_path / "outside"
    if (folder / name).exists():
        (folder / name).rename(outside)
    elif name == "index":
        outside.mkdir()
    else:
        outside.write_bytes((folder / "c").read_bytes())
    (folder / name).symlink_to(outside)
    for partial in (False, True):
        # Without metadata there is no trace.
        with pytest.raises(UsageError, match="link out of|without a trace"):
            open_trace(folder, partial=partial)


def test_links_within_the_folder_are(tmp_path):
    folder = THREE.write(tmp_path / "t")
    (folder / "c").rename(tmp_path / "t" / "d")
    (folder / "c").symlink_to("d")
    (folder / "d").rename(folder / ".d")
    (folder / "c").unlink()
    (folder / "c").symlink_to(".d")
    (tmp_path / "named").symlink_to(folder)
    assert timestamps(tmp_path / "named") == timestamps(folder)
    assert timestamps(folder)[0]
