"""Each program of examples/ runs, and records and prints what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import tracetime as tt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(example: str, *arguments: str, timeout: float = 600) -> str:
    """Run an example as a user does, and return what it prints."""
    return subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=timeout,
    ).stdout


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the web service prints, and its recording."""
    path = tmp_path_factory.mktemp("service") / "service.pftrace"
    return run("web_service.py", str(path)), path


def slices(path: Path, where: str) -> list[dict]:
    with tt.open_trace(path) as trace:
        return trace.sql(f"select * from slices where {where}").to_pylist()


def test_every_request_to_the_web_service_is_a_span_with_its_status(
    service: tuple[str, Path],
) -> None:
    requests = slices(service[1], "category = 'http'")
    assert len(requests) == 200
    paths = sorted(json.loads(span["args"])["path"] for span in requests)
    assert paths == sorted(f"/{'page' if n % 4 else 'thumbnail'}/{n}" for n in range(200))
    missing = [span for span in requests if json.loads(span["args"]).get("exception") is not None]
    assert {json.loads(span["args"])["path"] for span in missing} == {
        f"/page/{n}" for n in range(0, 200, 7) if n % 4
    }
    assert all(span["dur"] > 0 and span["depth"] == 0 for span in requests)


def test_requests_that_take_turns_keep_their_own_spans(service: tuple[str, Path]) -> None:
    requests = {span["id"]: span for span in slices(service[1], "category = 'http'")}
    queries = slices(service[1], "name = 'query'")
    assert len(queries) == 150
    assert len({span["parent"] for span in queries}) == 150
    for span in queries:
        request = requests[span["parent"]]
        assert request["track"] == span["track"]
        assert request["ts"] <= span["ts"]
        assert span["ts"] + span["dur"] <= request["ts"] + request["dur"]
    together = sum(
        a["ts"] < b["ts"] < a["ts"] + a["dur"] for a in requests.values() for b in requests.values()
    )
    assert together > 200, "requests did not overlap, so this test shows nothing"


def test_the_web_service_records_its_log_and_its_threads(service: tuple[str, Path]) -> None:
    warnings = slices(service[1], "name = 'page %d is missing'")
    assert len(warnings) == len([n for n in range(0, 200, 7) if n % 4])
    drawn = slices(service[1], "name = 'draw'")
    assert len(drawn) == 50
    assert all(span["thread_name"].startswith("asyncio_") for span in drawn)


def test_the_web_service_prints_where_the_time_of_requests_went(
    service: tuple[str, Path],
) -> None:
    for word in ("GET /page/{number}", "GET /thumbnail/{number}", "wait for the connection"):
        assert word in service[0]


def test_kernels_of_the_training_loop_begin_after_their_submit(tmp_path: Path) -> None:
    path = tmp_path / "training.pftrace"
    printed = run("training_loop.py", str(path))
    assert "forward" in printed
    assert "before_their_submit" in printed
    with tt.open_trace(path) as trace:
        spans = trace.slices("tube").read_all().to_pylist()
    submits = {json.loads(s["args"])["step"]: s for s in spans if s["name"] == "submit"}
    waits = [s for s in spans if s["name"] == "wait for the GPU"]
    kernels = [s for s in spans if s["track_name"] == "GPU"]
    assert len(submits) == len(waits) == 40
    assert len(kernels) == 80
    for kernel in kernels:
        assert kernel["clock"] == "com.example.gpu"
        step = json.loads(kernel["args"])["step"]
        wait = waits[step]
        # The host's clock surrounds the kernel, so its bar has to reach between the two.
        assert kernel["latest"] >= submits[step]["earliest"]
        assert kernel["end_earliest"] <= wait["end_latest"]


def test_the_notebook_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    environment = {**os.environ, "JUPYTER_PLATFORM_DIRS": "1", "IPYTHONDIR": str(tmp_path)}
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}})
    client.execute(env=environment)
    shown = {
        cell["source"]: "".join(
            str(output.get("data", {}).get("text/html", "")) + str(output.get("text", ""))
            for output in cell["outputs"]
        )
        for cell in notebook.cells
        if cell["cell_type"] == "code"
    }
    assert (tmp_path / "notebook.pftrace").exists()
    by_thread = next(html for source, html in shown.items() if "group by all" in source)
    for word in ("consumer 0", "consumer 2", "work", "wait", "make"):
        assert word in by_thread
    bars = next(html for source, html in shown.items() if "dur_error_ns" in source)
    assert "wall_time" in bars
    assert "data-root-id" in next(html for source, html in shown.items() if "plot(" in source)


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
