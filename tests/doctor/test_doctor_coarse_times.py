"""Times that stand on longer steps than their file could tell apart: the doctor says so."""

import json
from random import Random

import pytest
from captures import Capture
from span_files import otlp, resource_spans, span

from tracetime import diagnose, open_trace

WALL = 1_763_900_000 * 10**9
C = Capture()


def chrome_json(times):
    events = [{"ph": "i", "pid": 1, "tid": 1, "ts": f"{ns // 1000}.{ns % 1000:03}"} for ns in times]
    return json.dumps(events).encode()


def capture(times):
    return b"".join([C.section(), C.interface(resolution=9), *map(C.packet, times)])


def spans(times):
    made = [span(k, ns, ns, trace=k) for k, ns in enumerate(times, 1)]
    return otlp(resource_spans(made, host_id="a"))


def csv(times):
    rows = "".join(f"{ns},REALTIME\n" for ns in times)
    return f"timestamp,clock\n{rows}".encode()


FORMATS = {"t.json": chrome_json, "t.pcapng": capture, "s.json": spans, "t.csv": csv}


@pytest.fixture
def found(tmp_path):
    """The findings about steps of a file of 200 times that are cut off to one."""

    def of(name, step):
        random = Random(1)
        times = sorted((WALL + random.randrange(10**11)) // step * step for _ in range(200))
        path = tmp_path / name
        path.write_bytes(FORMATS[name](times))
        with open_trace(path) as trace:
            return [one for one in diagnose(trace) if "steps" in one.title]

    return of


@pytest.mark.parametrize("name", FORMATS)
def test_coarse_times_are_told(found, name):
    (one,) = found(name, 10**6)
    assert (one.code, one.severity, one.worst_ns) == ("times-rounded", "info", 10**6)
    assert one.title == "times stand on steps of up to 1 ms, which the file could tell apart"
    assert "--policy tube" in one.fix


@pytest.mark.parametrize("name", FORMATS)
def test_times_to_the_ns_are_not(found, name):
    assert found(name, 1) == []


def test_the_unit_of_a_file_is_no_finding(tmp_path):
    random = Random(1)
    times = sorted(1_763_900_000 * 10**6 + random.randrange(10**8) for _ in range(200))
    contents = {
        "t.json": json.dumps([{"ph": "i", "ts": us} for us in times]).encode(),
        "t.pcapng": b"".join([C.section(), C.interface(resolution=6), *map(C.packet, times)]),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        with open_trace(tmp_path / name) as trace:
            assert trace.coarse_step_ns == 0
