"""Traces and data sets at URLs: a server of S3, as far as moto is one."""

import json

import pytest
from fleets import FAST, drifting_trace, small_trace, write_fleet

import tracetime as tt
from tracetime import fleet
from tracetime.fleet.options import Options
from tracetime.fleet.part import convert_one
from tracetime.fleet.sources import find_sources

s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
server = pytest.importorskip("moto.server", reason="moto is not installed")


@pytest.fixture(scope="module")
def endpoint():
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(endpoint, monkeypatch, request):
    """An empty bucket, as the environment of any process names it."""
    for name, value in (
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ACCESS_KEY_ID", "testing"),
        ("AWS_SECRET_ACCESS_KEY", "testing"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    fs = s3fs.S3FileSystem()
    name = f"bucket-{abs(hash(request.node.name)):x}"
    fs.mkdir(name)
    yield fs, name
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def here(monkeypatch):
    """Traces are done in this process, which starts at once."""
    monkeypatch.setattr(fleet, "run_in_pool", lambda function, uris, *_, **__: map(function, uris))


def upload(bucket, folder):
    fs, name = bucket
    for path in sorted(folder.iterdir()):
        fs.put_file(str(path), f"{name}/traces/{path.name}")
    return f"s3://{name}/traces"


def objects(bucket):
    fs, name = bucket
    fs.invalidate_cache()
    return {path.removeprefix(f"{name}/"): fs.cat_file(path) for path in fs.find(name)}


def test_a_pool_converts_traces_of_a_bucket_into_it(bucket, tmp_path):
    traces = upload(bucket, write_fleet(tmp_path / "traces", 4, corrupt=(2,)))
    out = f"s3://{bucket[1]}/fleet"
    summary = fleet.convert(traces, out, workers=2)
    assert (summary.converted, summary.rejected) == (3, 1)
    found = objects(bucket)
    parts = [name for name in found if name.startswith("fleet/events/")]
    assert len(parts) == 3
    fleet.convert(tmp_path / "traces", tmp_path / "local", **FAST)
    local = {path.read_bytes() for path in (tmp_path / "local" / "events").iterdir()}
    assert {rows_of(found[name]) for name in parts} == {rows_of(content) for content in local}
    assert {trace_of(found[name]) for name in parts} == {
        f"{traces}/{n:03}.pftrace" for n in (0, 1, 3)
    }
    (rejected,) = (v for k, v in found.items() if k.startswith("fleet/rejected/"))
    assert json.loads(rejected)["uri"] == f"{traces}/002.pftrace"


def rows_of(content):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(content))
    return str(table.drop_columns("trace").to_pylist())


def trace_of(content):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (name,) = set(pq.read_table(pa.BufferReader(content))["trace"].to_pylist())
    return name


def test_a_second_run_reads_no_trace_and_a_changed_one_has_its_new_rows_alone(
    here, bucket, tmp_path
):
    fs, name = bucket
    traces = upload(bucket, write_fleet(tmp_path / "traces", 3))
    out = f"s3://{name}/fleet"
    fleet.convert(traces, out)
    before = objects(bucket)
    again = fleet.convert(traces, out)
    assert (again.unchanged, again.bytes_read) == (3, 0)
    assert objects(bucket) == before
    fs.pipe_file(f"{name}/traces/001.pftrace", small_trace(8))
    assert fleet.convert(traces, out).converted == 1
    parts = {k: v for k, v in objects(bucket).items() if k.startswith("fleet/events/")}
    assert len(parts) == 3
    assert len(parts.keys() & before.keys()) == 2


def test_patterns_directories_and_single_objects_are_named_alike(bucket, tmp_path):
    traces = upload(bucket, write_fleet(tmp_path / "traces", 3))
    every = [f"{traces}/{n:03}.pftrace" for n in range(3)]
    for uris in ([traces], [f"{traces}/*.pftrace"], every, [every[0], traces]):
        found = list(find_sources(uris))
        assert [source.uri for source in found] == every
        assert all(source.stamp and source.size for source in found)


def test_a_data_set_in_a_bucket_is_no_trace_of_its_own(here, bucket, tmp_path):
    fs, name = bucket
    upload(bucket, write_fleet(tmp_path / "traces", 2))
    fs.pipe_file(f"{name}/.hidden/trace", b"junk")
    for _ in range(2):
        assert fleet.convert(f"s3://{name}", f"s3://{name}/fleet").traces == 2
    # In the same place, too.
    for _ in range(2):
        assert fleet.convert(f"s3://{name}/traces", f"s3://{name}/traces").traces == 2


def test_an_object_may_have_the_name_of_a_pattern(bucket):
    fs, name = bucket
    fs.pipe_file(f"{name}/[x]?.pftrace", small_trace(1))
    (source,) = find_sources([f"s3://{name}/[x]?.pftrace"])
    assert source.uri == f"s3://{name}/[x]?.pftrace"


def test_a_bucket_that_cannot_be_written_is_an_error(here, bucket, tmp_path, monkeypatch):
    traces = write_fleet(tmp_path / "traces", 1)
    with pytest.raises(tt.UsageError, match=r"cannot write 's3://no-such/x': The specified bucket"):
        fleet.convert(traces, "s3://no-such/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(tt.UsageError, match=r"cannot read 's3://any/x': Could not connect"):
        fleet.convert(traces, "s3://any/x")


def test_what_is_not_there_is_an_error(here, bucket, tmp_path):
    name = bucket[1]
    with pytest.raises(tt.UsageError, match="there is no file in"):
        list(find_sources([f"s3://{name}/none/*.pftrace"]))
    out = str(tmp_path / "fleet")
    record = convert_one(f"s3://{name}/none.pftrace", out, Options("events"))
    assert record.error["code"] == "usage"
    assert record.error["message"].startswith(f"cannot read 's3://{name}/none.pftrace'")
    assert not record.final


def test_errors_name_the_object_and_not_its_copy(bucket, tmp_path):
    fs, name = bucket
    fs.pipe_file(f"{name}/photo.jpg", b"\xff\xd8\xff\xe0 no trace")
    out = str(tmp_path / "fleet")
    record = convert_one(f"s3://{name}/photo.jpg", out, Options("slices"))
    assert record.error is not None
    assert str(tmp_path) not in record.error["message"]


def test_a_url_of_no_known_kind_is_an_error(tmp_path):
    with pytest.raises(tt.UsageError, match="cannot read 'nope://x/y'"):
        list(find_sources(["nope://x/y"]))


def test_the_summary_of_a_bucket_is_that_of_a_directory(here, bucket, tmp_path):
    fs, name = bucket
    folder = tmp_path / "traces"
    folder.mkdir()
    for n in range(4):
        (folder / f"{n:03}.pftrace").write_bytes(drifting_trace(10 + n, "A55"))
    fleet.doctor(folder, tmp_path / "local", **FAST)
    fs.put(str(tmp_path / "local"), f"{name}/fleet", recursive=True)
    local = fleet.summary(tmp_path / "local")
    remote = fleet.summary(f"s3://{name}/fleet", against=tmp_path / "local")
    assert local.pairs
    assert remote.pairs == local.pairs
    assert (remote.comparison.worse, remote.comparison.models) == ([], 1)
