"""Small fleets of traces, and what a data set of them holds."""

import contextlib
import json
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from building import BOOTTIME, MONOTONIC, event, packet, pb, snapshot, trace
from faults import NIC, Model, drifting

import tracetime as tt

FAST = {"workers": 1}
NICENESS = "RAY_worker_niceness"


@contextlib.contextmanager
def quick_workers():
    """Workers of Ray that do not wait for whatever else this machine does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NICENESS, "0")
        yield


def small_trace(n):
    """A trace of its own for each n, with n % 5 + 2 events."""
    events = [event(100 + 7 * k + n) for k in range(n % 5 + 2)]
    return trace(snapshot({BOOTTIME: 1000 + n, MONOTONIC: 500}), *events)


def machine(model, kernel="", host=""):
    """The bytes that say on what kind of machine the trace after them was recorded."""
    cpu = pb.CpuInfo(cpus=[pb.CpuInfo.Cpu(processor=model)])
    info = pb.SystemInfo(utsname=pb.Utsname(release=kernel), machine_name=host)
    return trace(packet(cpu_info=cpu), packet(system_info=info))


def drifting_trace(ppm, model, *, fault=None):
    """Twelve seconds in which a network card's clock runs faster by `ppm`, on a machine of a model."""
    made = Model()
    made.n = 12
    made.reads[NIC] = drifting(ppm, 77 * 10**9)
    if fault is not None:
        fault(made)
    return machine(model) + made.build()


def write_fleet(folder, count, corrupt=()):
    """Write traces 000.pftrace and so on; those numbers that are corrupt are cut off."""
    folder.mkdir(exist_ok=True)
    for n in range(count):
        data = small_trace(n)
        (folder / f"{n:03}.pftrace").write_bytes(data[:-3] if n in corrupt else data)
    return folder


def parts(out, table="events"):
    return sorted(path for path in Path(out, table).iterdir())


def rows(out, table="events"):
    """The rows of all parts, by trace, with every part read whole."""
    found = {}
    for path in parts(out, table):
        read = pq.read_table(path)
        names = set(read["trace"].to_pylist())
        assert len(names) <= 1
        for name in names:
            assert name not in found, "two parts of one trace"
            found[name] = read.drop_columns("trace")
    return found


def records(out, folder="log/events"):
    return [json.loads(path.read_bytes()) for path in sorted(Path(out, folder).glob("*.json"))]


def alone(path):
    """The events of one trace, as they are converted alone."""
    with tt.open_trace(path) as opened:
        return opened.read_all()


def assert_complete(out, folder, rejected=()):
    """Every trace is there once, with its own rows; those rejected have an error; nothing else."""
    paths = {str(path) for path in Path(folder).iterdir()}
    good = paths - set(rejected)
    found = rows(out)
    assert found.keys() == good
    for path in good:
        assert found[path].to_pylist() == alone(path).to_pylist()
    assert {record["uri"] for record in records(out)} == good
    assert {record["part"] for record in records(out)} == {path.name for path in parts(out)}
    assert {record["uri"] for record in records(out, "rejected/events")} == set(rejected)
    assert not list(Path(out).glob(".work/*"))


def children_of(process):
    """The processes that a process has started."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(one) for one in found]


def descendants_of(process):
    """The processes that a process has started, those that these have, and so on."""
    found = []
    for child in children_of(process):
        found.append(child)
        with contextlib.suppress(OSError):
            found += descendants_of(child)
    return found


def wait_for_work(out, chance, most):
    """Wait until some traces are finished: at random how many, and how long after that."""
    least = chance.randrange(most)
    end = time.monotonic() + 600
    while len(list(out.glob("log/events/*"))) < least and time.monotonic() < end:
        time.sleep(0.002)
    time.sleep(chance.random() * 0.05)


def all_ended(processes, within_s=20.0):
    """Wait until processes have ended; whether they have. One that nobody waits for stays a zombie."""
    end = time.monotonic() + within_s
    while any(map(_runs, processes)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _runs(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
