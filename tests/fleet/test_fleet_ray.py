"""Ray: each trace once, whatever happens to a worker, and the same parts as the pool makes."""

import resource
import sys

import pyarrow as pa
import pytest
from fleet_faults import die_if_told, die_once, fail, take, wait
from fleets import assert_complete, parts, quick_workers, write_fleet

import tracetime as tt
from tracetime import fleet
from tracetime.fleet.ray_tasks import run_in_ray

ray = pytest.importorskip("ray", reason="Ray is not installed")

MB = 1 << 20
S = 1_000_000_000


@pytest.fixture(scope="module")
def cluster():
    """A cluster that this process is connected to; all functions use it."""
    with quick_workers():
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=100 * MB,
        )
        yield ray
        ray.shutdown()


def died(uri):
    return 0, f"dead {uri}"


def done(function, uris, memory=400 * MB, workers=None):
    return list(run_in_ray(function, uris, died, "local", workers, memory))


def test_where_nobody_listens_is_no_cluster():
    with pytest.raises(tt.UsageError, match=r"no cluster of Ray at '127\.0\.0\.1:9'"):
        list(run_in_ray(die_if_told, ["a"], died, "127.0.0.1:9", None, MB))
    with pytest.raises(tt.UsageError, match="cannot use Ray at 'nonsense'"):
        list(run_in_ray(die_if_told, ["a"], died, "nonsense", None, MB))


def test_every_trace_is_done_once_and_a_worker_does_many(cluster):
    found = done(die_if_told, map(str, range(40)))
    assert sorted(int(uri) for _, uri in found) == list(range(40))
    assert len({worker for worker, _ in found}) <= 2
    assert done(die_if_told, []) == []


def test_a_trace_that_kills_its_worker_is_rejected_and_the_others_are_done(cluster):
    uris = ["a", "kill 1", *map(str, range(6)), "z"]
    assert sorted(uri for _, uri in done(die_if_told, uris)) == sorted(
        "dead kill 1" if uri == "kill 1" else uri for uri in uris
    )


def test_a_trace_whose_worker_was_killed_by_chance_is_done(cluster, tmp_path):
    uris = [str(tmp_path / name) for name in "abc"]
    assert sorted(uri for _, uri in done(die_once, uris)) == uris


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux")
def test_a_trace_takes_no_more_memory_than_it_may_and_other_tasks_are_not_limited(cluster):
    assert sorted(done(take, ["100", "600", "100"])) == [-1, 100, 100]
    limit = ray.remote(lambda: resource.getrlimit(resource.RLIMIT_DATA))
    assert ray.get(limit.remote()) == resource.getrlimit(resource.RLIMIT_DATA)


def test_an_error_of_the_data_set_ends_the_run_as_itself(cluster):
    with pytest.raises(tt.UsageError, match=r"^no room: free some$") as raised:
        done(fail, ["no room: free some"])
    assert type(raised.value) is tt.UsageError


def test_a_task_that_no_node_has_memory_for_is_an_error(cluster):
    with pytest.raises(tt.UsageError, match=r"no node of the cluster has .* bytes.*--memory"):
        done(take, ["1"], memory=1 << 60)


def test_no_more_traces_are_handed_out_than_are_wanted(cluster):
    taken = []

    def uris():
        for n in range(9):
            taken.append(n)
            yield str(n)

    running = run_in_ray(die_if_told, uris(), died, "auto", 3, 400 * MB)
    next(running)
    assert taken == [0, 1, 2]
    running.close()


def test_the_parts_are_those_that_the_pool_makes(cluster, tmp_path):
    traces = write_fleet(tmp_path / "traces", 8, corrupt=(2, 5))
    out, other = tmp_path / "ray", tmp_path / "pool"
    summary = fleet.convert(traces, out, address="local")
    assert (summary.converted, summary.rejected) == (6, 2)
    assert_complete(out, traces, [str(traces / "002.pftrace"), str(traces / "005.pftrace")])
    fleet.convert(traces, other, workers=2)
    made = [{path.name: path.read_bytes() for path in parts(one)} for one in (out, other)]
    assert made[0] == made[1]
    again = fleet.convert(traces, out, address="local")
    assert (again.unchanged, again.rejected, again.bytes_read) == (6, 2, 0)
    assert fleet.doctor(traces, out, address="local").converted == 8
    assert fleet.slices(traces / "000.pftrace", out, address="local").converted == 1


def test_what_interrupts_a_run_ends_its_tasks(cluster, tmp_path):
    uris = [str(tmp_path / "begun"), "1", str(tmp_path / "not begun")]
    running = run_in_ray(wait, uris, died, "auto", 2, 400 * MB)
    assert next(running) == 1
    running.close()
    assert [path.name for path in tmp_path.iterdir()] == ["begun"]


def test_a_dataset_is_converted_as_a_table_is(cluster):
    data = pytest.importorskip("ray.data", reason="Ray Data is not installed")
    graph = tt.ClockGraph("MONOTONIC")
    for second in range(5):
        graph.add_snapshot({"MONOTONIC": second * S, "com.example.gpu": second * S + 7 + second})
    table = pa.table({"row": range(1000), "ticks": [n * 3_000_001 for n in range(1000)]})
    columns, how = {"ticks": "com.example.gpu"}, {"policy": "tube", "bounds": True}
    converter = tt.TableConverter(table, graph, columns, **how)
    dataset = data.from_arrow(table).repartition(3)
    converted = dataset.map_batches(converter, batch_format="pyarrow", batch_size=100)
    made = pa.concat_tables(ray.get(converted.to_arrow_refs())).sort_by("row")
    assert made.to_pylist() == tt.convert_table(table, graph, columns, **how).to_pylist()
