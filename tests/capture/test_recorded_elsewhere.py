"""A recording whose file somebody deletes, cuts or replaces while it goes on says so."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tracetime as tt
from tracetime.formats.perfetto.write.output import _BEGINNING, TraceOutput

pytest_plugins = ["cli"]


def delete(path):
    path.unlink()


def cut(path):
    os.truncate(path, 10)


def empty(path):
    path.write_bytes(b"")


def move_away(path):
    path.rename(path.with_name("moved"))


def replace(path):
    other = path.with_name("other")
    other.write_bytes(b"something else")
    other.replace(path)


def copy_over(path):
    other = path.with_name("other")
    other.write_bytes(b"x" * 10_000)
    shutil.copyfile(other, path)


HARMS = [delete, cut, empty, move_away, replace, copy_over]


@pytest.mark.parametrize("harm", HARMS)
def test_a_flush_says_that_the_file_was_taken_away(tmp_path, harm):
    path = tmp_path / "r.pftrace"
    rec = tt.record(path)
    harm(path)
    rec.instant("lost")
    with pytest.raises(tt.UsageError, match="does not have what was recorded"):
        rec.flush()
    assert any("does not have what was recorded" in one.message for one in rec.problems)
    with pytest.raises(tt.UsageError, match="does not have what was recorded"):
        rec.close()
    assert rec.closed


@pytest.mark.parametrize("harm", HARMS)
def test_so_does_the_close_without_a_flush_before(tmp_path, harm):
    path = tmp_path / "r.pftrace"
    rec = tt.record(path)
    rec.instant("first")
    rec.flush()
    harm(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(tt.UsageError, match="does not have what was recorded"):
        rec.close()
    assert [one.what for one in rec.problems if "recorded" in one.message] == ["the file"]
    if before is not None:
        assert path.read_bytes() == before


@pytest.mark.parametrize("harm", HARMS)
def test_the_command_fails_and_says_why(tracetime, tmp_path, harm):
    path = tmp_path / "r.pftrace"
    code, _, err = tracetime(
        "record", "-o", path, "--clock", "MONOTONIC", "--",
        sys.executable, "-c", f"{HARM[harm]}".format(path=str(path)),
    )  # fmt: skip
    assert code == 2
    assert "does not have what was recorded" in err


HARM = {
    delete: "import os; os.unlink({path!r})",
    cut: "import os; os.truncate({path!r}, 10)",
    empty: "open({path!r}, 'w')",
    move_away: "import os; os.rename({path!r}, {path!r} + '.moved')",
    replace: "import os; open({path!r} + '2', 'w'); os.rename({path!r} + '2', {path!r})",
    copy_over: "open({path!r}, 'wb').write(b'x' * 10000)",
}


def test_a_file_that_stays_is_no_problem(tmp_path):
    with tt.record(tmp_path / "r.pftrace") as rec:
        for _ in range(3):
            rec.instant("event")
            rec.flush()
    assert not [one for one in rec.problems if "recorded" in one.message]


def test_a_recording_that_is_killed_before_its_first_block_is_an_empty_trace(tmp_path):
    path = tmp_path / "r.pftrace"
    code = (
        "import os, signal\n"
        "from tracetime.formats.perfetto.write.output import TraceOutput\n"
        f"TraceOutput({str(path)!r}, bytes, print)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert path.read_bytes() == _BEGINNING
    with tt.open_trace(path) as trace:
        assert sum(batch.num_rows for batch in trace.events()) == 0
        assert [finding.code for finding in tt.diagnose(trace)] == ["no-events"]


def test_such_a_file_is_recorded_into_again_without_force(tmp_path):
    path = tmp_path / "r.pftrace"
    path.write_bytes(_BEGINNING)
    taken = [b"\x0a\x00"]
    output = TraceOutput(path, lambda: taken.pop() if taken else b"", bool, overwrite=False)
    output.write()
    output.close()
    assert Path(path).read_bytes() == b"\x0a\x00"
