"""ClockBound's shared memory, byte by byte: what is read, and what is refused."""

import os
import threading
import time
from pathlib import Path

import pytest
from clockbound_bytes import MAGIC, SIZE, S, memory, old_memory, vmclock
from hypothesis import given
from hypothesis import strategies as st

from tracetime.errors import NoBoundError
from tracetime.sources.time_service import clockbound
from tracetime.sources.time_service.clockbound import ClockBound
from tracetime.sources.time_service.service import TimeService
from tracetime.sources.time_service.statement import DisruptedError

NOW = 5_000 * S


@pytest.fixture
def asked(tmp_path):
    """Writes a shared memory, and asks for what it states at NOW."""

    def ask(data, device=None):
        (tmp_path / "shm0").write_bytes(data)
        if device is not None:
            (tmp_path / "vmclock0").write_bytes(device)
        source = ClockBound(str(tmp_path / "shm0"), str(tmp_path / "vmclock0"))
        return source.ask(lambda: NOW)

    return ask


def test_a_memory_of_layout_2_is_read(asked):
    said = asked(memory(now_ns=NOW, age_ns=3, lasts_ns=7, bound_ns=12_345, drift_ppb=1_000))
    assert (said.bound_ns, said.growth_ppb) == (12_345, 1_000)
    assert (said.as_of_ns, said.void_after_ns) == (NOW - 3, NOW + 7)
    assert said.holds is None


def test_a_clock_that_runs_free_is_bounded_until_the_bound_is_void(asked):
    assert asked(memory(now_ns=NOW, status=2)).bound_ns == 20_000


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (memory(now_ns=NOW, status=0), "knows no bound"),
        (memory(now_ns=NOW, bound_ns=0), "knows no bound"),
        (memory(now_ns=NOW, lasts_ns=0), "is void: .*start it"),
        (memory(now_ns=NOW, age_ns=-1), "from the future, or of another boot"),
        (memory(now_ns=NOW, bound_ns=-1), "values that no ClockBound writes"),
        (memory(now_ns=NOW, bound_ns=2**62), "values that no ClockBound writes"),
        (memory(now_ns=NOW, drift_ppb=10**9), "values that no ClockBound writes"),
        (memory(now_ns=NOW, status=4), "values that no ClockBound writes"),
        (memory(now_ns=NOW, status=-1), "values that no ClockBound writes"),
        (memory(now_ns=NOW, watched=2), "values that no ClockBound writes"),
        (memory(now_ns=NOW, generation=0), "has not written .* yet"),
        (memory(now_ns=NOW, version=0), "has not written .* yet"),
        (memory(now_ns=NOW, version=3), "layout 3 .*reads layout 2"),
        (old_memory(), "layout 1 .*update ClockBound to 2.0"),
        (memory(now_ns=NOW, magic=MAGIC[::-1]), "begins with other bytes: it is no memory"),
        (memory(now_ns=NOW)[: SIZE - 1], "cut off: it has 79 bytes of 80"),
        (memory(now_ns=NOW, size=16), "cut off: it has 16 bytes of 80"),
        (b"", "has 0 bytes"),
        (MAGIC, "has 8 bytes"),
    ],
)
def test_what_bounds_nothing_is_refused_by_its_name(asked, data, says):
    with pytest.raises(NoBoundError, match=says):
        asked(data)


def test_a_disruption_is_no_bound_of_any_source(asked):
    with pytest.raises(DisruptedError, match="was disrupted"):
        asked(memory(now_ns=NOW, status=3))


def test_a_disruption_that_only_the_device_has_counted_is_one_too(asked):
    watched = memory(now_ns=NOW, watched=1, marker=7)
    assert asked(watched, vmclock(7)).holds()
    with pytest.raises(DisruptedError, match="has not noticed yet"):
        asked(watched, vmclock(8))


@pytest.mark.parametrize(
    ("device", "says"),
    [
        (None, "cannot be read .*; let this user read it"),
        (b"", "cannot be read"),
        (bytes(104), "is no VMClock"),
        (vmclock(7, sequence=3), "is being changed"),
    ],
)
def test_a_device_that_says_nothing_is_refused(asked, device, says):
    with pytest.raises(NoBoundError, match=says):
        asked(memory(now_ns=NOW, watched=1, marker=7), device)


def test_a_disruption_ends_a_kept_bound_at_once(tmp_path):
    path, device = tmp_path / "shm0", tmp_path / "vmclock0"
    path.write_bytes(memory(watched=1, marker=7))
    device.write_bytes(vmclock(7))
    source = ClockBound(str(path), str(device))
    source.poll_ns = 60 * S
    service = TimeService(sources=[source])
    assert service.now().source == "clockbound"
    device.write_bytes(vmclock(8))
    with pytest.raises(NoBoundError, match="has not noticed yet"):
        service.now()
    path.write_bytes(memory(watched=1, marker=8))
    assert service.now().half_width_ns >= 20_000


def test_an_update_that_never_ends_is_refused(asked, monkeypatch):
    monkeypatch.setattr(clockbound, "_PAUSE_S", 0)
    with pytest.raises(NoBoundError, match="half written"):
        asked(memory(now_ns=NOW, generation=3))


def test_an_update_is_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "shm0"
    path.write_bytes(memory(now_ns=NOW, generation=3, bound_ns=1))
    done = memory(now_ns=NOW, generation=4, bound_ns=2)
    monkeypatch.setattr(clockbound.time, "sleep", lambda _: path.write_bytes(done))
    assert ClockBound(str(path)).ask(lambda: NOW).bound_ns == 2


def test_what_is_torn_is_never_taken(tmp_path, monkeypatch):
    """A writer between the two reads: they differ, and both are read again."""
    path = tmp_path / "shm0"
    old = memory(now_ns=NOW, generation=2, bound_ns=1)
    new = memory(now_ns=NOW, generation=4, bound_ns=2)
    torn = old[:48] + new[48:]
    path.write_bytes(new)
    answers = [torn, new, torn, old]
    read = os.pread

    def pread(fd, size, offset):
        return answers.pop(0) if answers else read(fd, size, offset)

    monkeypatch.setattr(clockbound.os, "pread", pread)
    assert ClockBound(str(path)).ask(lambda: NOW).bound_ns == 2
    assert not answers


def test_no_update_in_progress_is_taken_for_a_whole_one(tmp_path):
    """A thread writes as the daemon does; bound and drift of one update always agree."""
    path = tmp_path / "shm0"
    path.write_bytes(memory(bound_ns=1, drift_ppb=1))
    ended = threading.Event()

    def write():
        generation, value = 2, 1
        with path.open("r+b", buffering=0) as file:
            while not ended.is_set():
                value = value % 1_000 + 1
                update = memory(bound_ns=value, drift_ppb=value)
                for part, where in (
                    ((generation + 1).to_bytes(2, "little"), 14),
                    (update[16:50], 16),
                    (update[50:], 50),
                    ((generation + 2).to_bytes(2, "little"), 14),
                ):
                    os.pwrite(file.fileno(), part, where)
                generation = (generation + 2) % 60_000 or 2
                time.sleep(20e-6)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        source = ClockBound(str(path))
        taken, ends = [], time.monotonic() + 600
        while len({said.bound_ns for said in taken}) < 50 and time.monotonic() < ends:
            taken.append(source.ask(time.monotonic_ns))
    finally:
        ended.set()
        writer.join()
    assert all(said.bound_ns == said.growth_ppb for said in taken)
    assert len({said.bound_ns for said in taken}) == 50


def written_again(path, data):
    """As a daemon that begins anew: the file is cut to nothing first."""
    path.write_bytes(b"")
    path.write_bytes(data)


def put_in_its_place(path, data):
    path.with_suffix(".new").write_bytes(data)
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize("write", [written_again, put_in_its_place])
def test_a_file_that_the_daemon_makes_anew_is_read(tmp_path, write):
    path = tmp_path / "shm0"
    path.write_bytes(memory(now_ns=NOW, bound_ns=1))
    source = ClockBound(str(path))
    assert source.ask(lambda: NOW).bound_ns == 1
    write(path, memory(now_ns=NOW, bound_ns=2))
    said = source.ask(lambda: NOW)
    assert said.bound_ns == 2
    path.write_bytes(b"")
    assert not said.is_last()
    with pytest.raises(NoBoundError, match="has 0 bytes"):
        source.ask(lambda: NOW)
    path.unlink()
    with pytest.raises(NoBoundError, match="No such file"):
        source.ask(lambda: NOW)


def open_files():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_one_file_is_open_however_often_it_is_asked(tmp_path):
    path = tmp_path / "shm0"
    source, before = ClockBound(str(path)), open_files()
    for bound_ns in range(1, 20):
        put_in_its_place(path, memory(now_ns=NOW, bound_ns=bound_ns))
        assert source.ask(lambda: NOW).bound_ns == bound_ns
        assert open_files() == before + 1
    del source
    assert open_files() == before


def test_a_program_that_closes_all_descriptors_goes_on(tmp_path):
    path, other = tmp_path / "shm0", tmp_path / "other"
    path.write_bytes(memory(now_ns=NOW))
    other.write_bytes(bytes(SIZE))
    source = ClockBound(str(path))
    said = source.ask(lambda: NOW)
    fd = source._file._fd
    os.close(fd)
    assert not said.is_last()
    opened = os.open(other, os.O_RDONLY)
    try:
        assert opened == fd
        assert not said.is_last()
        assert source.ask(lambda: NOW).is_last()
        del said, source
        assert os.pread(opened, SIZE, 0) == bytes(SIZE)
    finally:
        os.close(opened)


@pytest.mark.parametrize("cut", [0, 15, SIZE - 1])
def test_a_word_is_the_last_until_any_byte_of_the_memory_changes(tmp_path, cut):
    path = tmp_path / "shm0"
    data = memory(now_ns=NOW)
    path.write_bytes(data)
    said = ClockBound(str(path)).ask(lambda: NOW)
    assert said.is_last()
    os.truncate(path, cut)
    assert not said.is_last()
    for at in (0, 14, 48, SIZE - 8):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert not said.is_last()
    path.write_bytes(data)
    assert said.is_last()


def test_what_the_daemon_writes_is_in_the_next_answer(tmp_path):
    path = tmp_path / "shm0"
    path.write_bytes(memory(bound_ns=1_000_000))
    source = ClockBound(str(path))
    source.poll_ns = 0
    service = TimeService(sources=[source])
    for _ in range(20):
        path.write_bytes(memory(bound_ns=1_000_000))
        assert 1_000_000 < service.now().half_width_ns < 100_000_000
        path.write_bytes(memory(bound_ns=100_000_000))
        assert service.now().half_width_ns > 100_000_000
        path.write_bytes(memory(status=3))
        with pytest.raises(NoBoundError, match="was disrupted"):
            service.now()


def test_a_daemon_that_is_not_there(tmp_path):
    with pytest.raises(NoBoundError, match=r"No such file .*start ClockBound's daemon"):
        ClockBound(str(tmp_path / "shm0")).ask(lambda: NOW)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(NoBoundError, match="cannot be read"):
        ClockBound(str(tmp_path / "fifo")).ask(lambda: NOW)


def test_another_time_namespace_is_refused(asked, monkeypatch):
    monkeypatch.setattr(clockbound, "in_time_namespace", lambda: True)
    with pytest.raises(NoBoundError, match="time namespace"):
        asked(memory(now_ns=NOW))


WHOLE = memory(now_ns=NOW, watched=1)


@given(
    st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=80).map(lambda tail: WHOLE[: SIZE - len(tail)] + tail),
        st.tuples(st.integers(0, SIZE - 1), st.binary(min_size=1, max_size=8)).map(
            lambda at: WHOLE[: at[0]] + at[1] + WHOLE[at[0] + len(at[1]) :]
        ),
    )
)
def test_any_bytes_are_a_bound_or_a_clear_error(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    path, device = folder / "any-shm0", folder / "any-vmclock0"
    path.write_bytes(data)
    device.write_bytes(vmclock(0))
    source = ClockBound(str(path), str(device))
    clockbound._PAUSE_S, kept = 0, clockbound._PAUSE_S
    try:
        said = source.ask(lambda: NOW)
    except NoBoundError as error:
        assert ";" in str(error) or "time namespace" in str(error)
    else:
        assert 0 < said.bound_ns <= 10**18
        assert said.as_of_ns <= NOW < said.void_after_ns
    finally:
        clockbound._PAUSE_S = kept
