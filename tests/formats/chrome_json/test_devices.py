"""GPUs of PyTorch's profiler: each is a clock, which launches and what waits for it move."""

import gzip
import json
from decimal import Decimal

import numpy as np
import pyarrow.compute as pc
import pytest
from corpus import DATA

import tracetime as tt

pytest_plugins = ["cli"]

US = 1_000
START = 1_712_195_495_000_000_000
KINETO = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}]}
HEALTHY = sorted((DATA / "other" / "json").glob("hta_*.gz"))


def event(cat, name, ts, dur, *, pid=7, tid=7, ph="X", **args):
    """An event; ts and dur in ns."""
    made = {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": Decimal(ts) / US}
    if dur is not None:
        made["dur"] = Decimal(dur) / US
    return made | {"args": args}


def launch(
    number, at, *, kernel_at, lasts=3_333, device=0, stream=5, pid=7, call="cudaLaunchKernel"
):
    """A call and its kernel."""
    return [
        event("cuda_runtime", call, at, 2_001, pid=pid, correlation=number),
        event("kernel", "k", kernel_at, lasts, pid=device, tid=stream, device=device, stream=stream,
              correlation=number),
    ]  # fmt: skip


def written(events, path, **more):
    """A file of PyTorch's profiler."""
    text = json.dumps(KINETO | more | {"traceEvents": events}, default=lambda d: f"@{d}@")
    path.write_text(text.replace('"@', "").replace('@"', ""))
    return path


@pytest.fixture
def bars(tmp_path):
    """Returns the kernels of a file by the tube: estimate, earliest and latest, None where open."""

    def made(events, category="kernel", **options):
        path = written(events, tmp_path / "trace.json")
        with tt.open_trace(path, **options) as trace:
            table, names = trace.read_all("tube"), trace.read_all(names=True)
        rows = pc.equal(names["category"].cast("string"), category)
        columns = (
            table.filter(rows)[name].to_pylist() for name in ("trace_time", "earliest", "latest")
        )
        return list(zip(*columns, strict=True))

    return made


def world(shift, *, n=200, device=0, first=0, seed=0, at=START):
    """Launches whose kernels begin 6.25 us later or more; their true begins; the last end."""
    rng = np.random.default_rng(seed)
    calls = at + np.cumsum(rng.integers(4_000, 200_000, n))
    kernels = calls + 6_251 + rng.exponential(20_000, n).astype(np.int64)
    kernels = np.maximum.accumulate(kernels + 4_000 * np.arange(n)) - 4_000 * np.arange(n)
    events = []
    for k, (call, kernel) in enumerate(zip(calls.tolist(), kernels.tolist(), strict=True)):
        events += launch(first + k, call, kernel_at=kernel + shift, device=device)
    return events, kernels


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.name.partition(".")[0])
def test_healthy_files_are_moved_by_nothing(path):
    with tt.open_trace(path) as trace:
        table = trace.read_all("tube")
    table = table.filter(pc.not_equal(table["status"].cast("string"), "as_is"))
    assert pc.all(pc.equal(table["trace_time"], table["timestamp"])).as_py()
    assert table["earliest"].null_count == table["latest"].null_count == 0


def shifted(path, to, by):
    """A file of the profiler whose GPUs' clocks are off by so many ns."""
    held = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    for one in held["traceEvents"]:
        cat = str(one.get("cat"))
        if cat == "kernel" or cat.startswith("gpu_") or (cat == "ac2g" and one["ph"] == "f"):
            one["ts"] = Decimal(one["ts"]) + Decimal(by) / US
    text = json.dumps(held, default=lambda d: f"@{d}@")
    to.write_text(text.replace('"@', "").replace('@"', ""))
    return to


@pytest.mark.sweep
@pytest.mark.parametrize("shift", [-20_000_000, -1_000_000, -50_000, 50_000])
@pytest.mark.parametrize("path", HEALTHY[:1] + HEALTHY[3:], ids=lambda path: path.name[:20])
def test_a_shifted_gpu_is_moved_back_by_the_least(path, shift, tmp_path):
    with tt.open_trace(path) as trace:
        truth, names = trace.read_all(), trace.read_all(names=True)
    with tt.open_trace(shifted(path, tmp_path / "shifted.json", shift)) as trace:
        table = trace.read_all("tube")
    work = pc.match_substring_regex(names["category"].cast("string"), "^(kernel|gpu_.*)$")
    table, at = table.filter(work), truth.filter(work)["timestamp"].to_numpy()
    off = table["trace_time"].to_numpy() - at
    assert len(np.unique(off)) == 1
    assert abs(off).max() <= (20_000 if shift < 0 else shift)
    assert (table["earliest"].fill_null(0).to_numpy() <= at).all()
    assert (table["latest"].fill_null(2**63 - 1).to_numpy() >= at).all()


@pytest.mark.parametrize("shift", [-20_000_000, -1_000_000])
def test_launches_move_a_gpu_by_the_least_and_leave_the_other_side_open(bars, shift):
    events, truth = world(shift)
    found = bars(events)
    least = min(k - t for (k, *_), t in zip(found, truth.tolist(), strict=True))
    for (estimate, earliest, latest), at in zip(found, truth.tolist(), strict=True):
        assert earliest <= at
        assert estimate - at == least
        assert latest is None
    assert -20_000 <= least <= 0


def test_of_two_gpus_the_one_that_is_off_is_moved(bars):
    events, truth = world(-1_000_000, device=1)
    well, _ = world(0, device=0, first=1000, seed=1)
    found = bars(events + well)
    moved = [estimate - at for (estimate, *_), at in zip(found, truth.tolist(), strict=False)]
    assert len(set(moved)) == 1
    assert -20_000 <= moved[0] <= 0
    starts = [int(e["ts"] * US) for e in well if e["cat"] == "kernel"]
    assert [estimate for estimate, *_ in found[len(truth) :]] == starts
    assert all(latest is not None for *_, latest in found[len(truth) :])


def test_correlations_are_of_one_process(bars):
    """Two processes number their calls alike: each has a GPU, of which one is off."""
    events, truth = world(-1_000_000, device=1, n=50)
    theirs, _ = world(0, device=2, n=30, seed=3, at=START + 5_000_000)
    for one in theirs:
        one["pid"] = 8 if one["pid"] == 7 else one["pid"]
    # Those that one process alone has tell whose a GPU is.
    found = bars(events + theirs)
    assert all(abs(e - at) <= 20_000 for (e, *_), at in zip(found, truth.tolist(), strict=False))


def wait(name, at, until, **args):
    return event("cuda_runtime", name, at, until - at, **args)


WAITS = {
    "device": wait("cudaDeviceSynchronize", START + 20_000, START + 40_000, correlation=9),
    "context": wait("cuCtxSynchronize", START + 20_000, START + 40_000, correlation=9),
    "hip": wait("hipDeviceSynchronize", START + 20_000, START + 40_000, correlation=9),
    "stream": wait("cudaStreamSynchronize", START + 20_000, START + 40_000, correlation=9, stream=5),
    "event": wait(
        "cudaEventSynchronize", START + 20_000, START + 40_000, correlation=9,
        wait_on_stream=5, wait_on_cuda_event_record_corr_id=2,
    ),
}  # fmt: skip
NO_WAITS = {
    "query": wait("cudaStreamQuery", START + 20_000, START + 40_000, correlation=9, stream=5),
    "wait event": wait("cudaStreamWaitEvent", START + 20_000, START + 40_000, correlation=9, stream=5),
    "another stream": wait("cudaStreamSynchronize", START + 20_000, START + 40_000, correlation=9, stream=6),
    "a stream unknown": wait("cudaStreamSynchronize", START + 20_000, START + 40_000, correlation=9),
    "an event unknown": wait("cudaEventSynchronize", START + 20_000, START + 40_000, correlation=9),
    "failed": wait("cudaDeviceSynchronize", START + 20_000, START + 40_000, correlation=9, status=700),
    "failed in words": wait(
        "cudaDeviceSynchronize", START + 20_000, START + 40_000, correlation=9,
        return_value="cudaErrorIllegalAddress",
    ),
    "before the launch": wait("cudaDeviceSynchronize", START - 9_000, START + 40_000, correlation=9),
    "of another process": wait("cudaDeviceSynchronize", START + 20_000, START + 40_000, pid=8),
}  # fmt: skip
RECORD = event("cuda_runtime", "cudaEventRecord", START + 10_000, 1_001, correlation=2)


def late_kernel(by=60_000):
    """A kernel that ends after what waits for it returns, by so many ns."""
    return [*launch(1, START, kernel_at=START + 36_667 + by), RECORD]


@pytest.mark.parametrize("name", WAITS)
def test_what_waits_for_a_gpu_moves_it_back(bars, name):
    [(estimate, earliest, latest)] = bars([*late_kernel(), WAITS[name]])
    assert estimate == pytest.approx(START + 36_667, abs=5)
    assert estimate <= latest <= estimate + 5
    assert earliest == pytest.approx(START, abs=5)


@pytest.mark.parametrize("name", NO_WAITS)
def test_what_does_not_wait_for_it_does_not(bars, name):
    [(estimate, _, latest)] = bars([*late_kernel(), NO_WAITS[name]])
    assert estimate == START + 96_667
    assert latest > estimate + 90_000


def test_the_driver_says_of_which_stream_a_call_waits(bars):
    call = NO_WAITS["a stream unknown"]
    said = event("cuda_sync", "Stream Sync", START + 20_000, 20_000, pid=0, tid=5,
                 correlation=9, stream=5)  # fmt: skip
    [(estimate, *_)] = bars([*late_kernel(), call, said])
    assert estimate == pytest.approx(START + 36_667, abs=5)


@pytest.mark.parametrize(
    ("call", "copy", "moves"),
    [
        ("cudaMemcpy", "Memcpy DtoH (Device -> Pageable)", True),
        ("hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)", True),
        ("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", False),
        ("cudaMemcpy", "Memcpy HtoD (Pageable -> Device)", False),
    ],
)
def test_a_blocking_copy_to_the_host_ends_before_its_call(bars, call, copy, moves):
    events = [
        event("cuda_runtime", call, START, 40_001, correlation=1),
        event("gpu_memcpy", copy, START + 60_003, 5_001, pid=0, tid=5, correlation=1, stream=5),
    ]
    [(estimate, *_)] = bars(events, "gpu_memcpy")
    assert estimate == pytest.approx(START + (35_000 if moves else 60_003), abs=5)


def test_one_launch_of_a_graph_has_many_kernels(bars):
    call = event("cuda_runtime", "cudaGraphLaunch", START, 2_001, correlation=1)
    kernels = [
        event("kernel", "k", START - 900_001 + 5_000 * k, 3_333, pid=0, tid=5, correlation=1)
        for k in range(10)
    ]
    found = bars([call, *kernels])
    assert [e for e, *_ in found] == pytest.approx([START + 5_000 * k for k in range(10)], abs=5)


def test_floor_and_the_events_of_the_cpu_stay_as_they_are(tmp_path):
    events, _ = world(-20_000_000, n=20)
    path = written(events, tmp_path / "t.json")
    plain = written(events, tmp_path / "plain.json")
    plain.write_text(plain.read_text().replace("deviceProperties", "properties"))
    with tt.open_trace(path) as one, tt.open_trace(plain) as other:
        assert one.read_all()["trace_time"].equals(other.read_all()["trace_time"])
        calls = pc.equal(one.read_all(names=True)["pid"], 7)
        tube = one.read_all("tube").filter(calls)
        assert tube["trace_time"].equals(tube["timestamp"])


def test_the_half_width_is_an_option(bars):
    events, truth = world(-150_000, n=20)
    wide = tt.ClockDomain("org.pytorch.gpu.0", assumed_half_width_ns=300_000)
    for found, at in zip(bars(events, domains=[wide]), truth.tolist(), strict=True):
        assert found[1] <= at <= found[2]
    assert {latest for *_, latest in bars(events)} == {None}


def test_arrows_are_bound_after_moving(tmp_path):
    events, _ = world(-20_000_000, n=5)
    for number in range(5):
        call, kernel = events[2 * number : 2 * number + 2]
        for one, phase in ((call, "s"), (kernel, "f")):
            flow = {**one, "ph": phase, "cat": "ac2g", "name": "ac2g", "id": number, "bp": "e"}
            del flow["dur"]
            events.append(flow)
    path = written(events, tmp_path / "t.json")
    with tt.open_trace(path) as trace:
        for policy, bound in (("floor", 0), ("tube", 5)):
            _, arrows = trace.slices(policy)._read_with_arrows()
            assert len(arrows.columns["out"]) == bound


def test_durations_are_right_but_for_the_drift(tmp_path):
    events, _ = world(-20_000_000, n=5)
    with tt.open_trace(written(events, tmp_path / "t.json")) as trace:
        table = trace.slices("tube").read_all()
    kernels = table.filter(pc.equal(table["category"].cast("string"), "kernel"))
    assert set(kernels["dur"].to_pylist()) == {3_333}
    assert set(kernels["latest"].to_pylist()) == {None}
    assert 1 <= max(kernels["dur_error_ns"].to_pylist()) <= 5


def test_the_doctor_says_by_how_much_the_tube_moves_it(tmp_path):
    events, _ = world(-20_000_000, n=20)
    path = written(events, tmp_path / "t.json")
    with tt.open_trace(path) as trace:
        [finding] = [f for f in tt.diagnose(trace) if f.code == "effect-before-cause"]
    assert "org.pytorch.gpu.0 by 20 ms" in finding.why


def test_work_without_a_time_moves_nothing(bars):
    """Kernels whose time was lost are at 0."""
    events, kernels = world(0, n=60)
    for one in events[90:110:2]:
        one["ts"] = Decimal(0)
    found = bars(events)
    assert found[:45] == [(at, *found[k][1:]) for k, at in enumerate(kernels[:45].tolist())]
    assert all(earliest <= at <= latest for at, earliest, latest in found[:45])


@pytest.mark.parametrize("by_ns", [-20_000_000, -1_000_000])
@pytest.mark.parametrize(
    "which", [slice(0, 50), slice(100, 120), slice(150, None), slice(7, None, 40)]
)
def test_where_a_part_alone_is_off_the_rest_stays_and_bars_hold_both(bars, by_ns, which):
    """A stretch whose GPU's clock is off, or kernels with the numbers of other calls."""
    healthy, kernels = world(0)
    events = [dict(one) for one in healthy]
    off = events[1::2][which]
    for one in off:
        one["ts"] += Decimal(by_ns) / US
    found = bars(events)
    assert len(found) == len(kernels)
    for at, (_, earliest, latest) in zip(kernels.tolist(), found, strict=True):
        assert earliest <= at <= latest
    rest = [k for k in range(len(kernels)) if k not in range(len(kernels))[which]]
    assert all(found[k][0] == kernels[k] for k in rest)


def test_the_overview_tells_what_is_assumed_and_what_is_open(tmp_path, tracetime):
    """Kernels that begin before their launches leave a side open, in what is baked from them, too."""
    healthy, early = (
        written(world(shift)[0], tmp_path / f"{shift}.json") for shift in (0, -20_000_000)
    )
    told = tracetime(healthy)[1]
    assert "Is its time right? Yes" in told
    assert "(org.pytorch.gpu.0; ± 100 us of it assumed)" in told
    told = tracetime(early)[1]
    assert "Is its time right? No" in told
    assert "error bar is open to one side (org.pytorch.gpu.0)" in told
    assert "tracetime bake" in told
    tracetime("bake", early, "-o", tmp_path / "baked.pftrace", "--policy", "tube")
    told = tracetime(tmp_path / "baked.pftrace")[1]
    assert "Is its time right? Nothing speaks against it; how far off it is, is open.\n" in told
    assert "error bar is open to one side (org.pytorch.gpu.0)" in told
