"""The kernel of sampling against its twin, on sweeps; and on the clocks of this machine."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms import LINUX
from twin import sampling as twin

from tracetime._kernels import capture as sampling
from tracetime._kernels.capture import Brackets


def arrays(rows, m):
    return [np.zeros((rows, m), dtype=np.int64) for _ in range(3)]


@st.composite
def sweeps(draw, group=False):
    m = draw(st.integers(1, 5))
    tries = draw(st.integers(1, 5))
    size = tries * (m + 1) if group else tries * (2 * m - 1)
    start = draw(st.sampled_from([0, 10**18, -(10**18)]))
    # Mostly ahead, at times back: the reference may be a clock that is set.
    gaps = draw(st.lists(st.integers(-50, 400), min_size=size, max_size=size))
    taken = [start + sum(gaps[: k + 1]) for k in range(size)]
    drift = draw(st.lists(st.sampled_from([0.0, 2e-4, 1e-3, 0.05]), min_size=m, max_size=m))
    extra = draw(st.lists(st.integers(0, 50), min_size=m, max_size=m))
    return m, tries, taken, drift, extra


@given(sweeps())
def test_brackets_are_those_of_the_twin(given_sweeps):
    m, tries, taken, drift, extra = given_sweeps
    kernel = Brackets([0] * m, drift, extra, tries)
    assert kernel.reads == len(taken)
    out = arrays(1, m)
    assert kernel.fill_from(np.array([taken], dtype=np.int64), *out) == -1
    assert [column[0].tolist() for column in out] == list(
        twin.snapshot(taken, m, tries, drift, extra)
    )


@given(sweeps(group=True))
def test_the_group_is_that_of_the_twin(given_sweeps):
    m, tries, taken, drift, extra = given_sweeps
    kernel = Brackets([0] * m, drift, extra, tries)
    readings, deviation = np.zeros((1, m), dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert kernel.group(readings, deviation, np.array([taken], dtype=np.int64)) == -1
    expected, width = twin.group(taken, m, tries)
    assert int(deviation[0]) == width
    if expected is not None:
        assert readings[0].tolist() == expected


def test_a_row_of_readings_is_a_snapshot():
    kernel = Brackets([0, 0], [0.0, 0.0], [0, 7], 1)
    out = arrays(2, 2)
    kernel.fill_from(np.array([[100, 5, 130], [200, 6, 221]], dtype=np.int64), *out)
    readings, centre, half = (column.tolist() for column in out)
    assert readings == [[100, 5], [200, 6]]
    assert centre == [[0, 15], [0, 10]]
    assert half == [[0, 22], [0, 18]]


@pytest.mark.parametrize(
    "arguments",
    [
        ([], [], [], 1),
        ([1], [0.0], [0], 0),
        ([1], [0.0, 0.0], [0], 1),
        ([1] * 65, [0.0] * 65, [0] * 65, 1),
    ],
)
def test_what_cannot_be_is_refused(arguments):
    with pytest.raises(ValueError, match="clocks|try"):
        Brackets(*arguments)


def test_shapes_that_do_not_fit_are_refused():
    kernel = Brackets([0, 0], [0.0, 0.0], [0, 0], 2)
    with pytest.raises(ValueError, match="column"):
        kernel.fill(*arrays(1, 3))
    with pytest.raises(ValueError, match="readings have a row"):
        kernel.fill_from(np.zeros((1, 3), dtype=np.int64), *arrays(1, 2))
    with pytest.raises(ValueError, match="readings have a row"):
        kernel.group(arrays(1, 2)[0], np.zeros(1, dtype=np.int64), np.zeros((1, 3), dtype=np.int64))


@LINUX
def test_real_clocks_lie_between_what_python_reads_around_them():
    import time

    codes = [4, 1, 0, 7, 11, 5, 6]
    kernel = Brackets(codes, [0.0] * 7, [0] * 7, 10)
    out = arrays(3, 7)
    before = [time.clock_gettime_ns(code) for code in codes]
    assert kernel.fill(*out) == -1
    after = [time.clock_gettime_ns(code) for code in codes]
    readings, centre, half = out
    assert (readings >= before).all()
    assert (readings <= after).all()
    assert (half >= 0).all()
    # Each bracket lies within the call too.
    assert (readings[:, :1] + centre - half >= before[0]).all()
    assert (readings[:, :1] + centre + half <= after[0]).all()


@LINUX
def test_a_clock_that_is_none_is_named_by_its_place():
    assert Brackets([4, 1, 77, 0], [0.0] * 4, [0] * 4, 3).fill(*arrays(1, 4)) == 2
    assert Brackets([77, 1], [0.0] * 2, [0] * 2, 3).fill(*arrays(1, 2)) == 0
    assert sampling.read_one(77) is None
    assert not sampling.read_column(77, np.zeros(3, dtype=np.int64), False)
    readings, deviation = np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert Brackets([4, 77], [0.0] * 2, [0] * 2, 3).group(readings, deviation) == 1


@LINUX
def test_the_group_of_real_clocks():
    readings, deviation = np.zeros((4, 3), dtype=np.int64), np.zeros(4, dtype=np.int64)
    assert Brackets([4, 1, 7], [0.0] * 3, [0] * 3, 5).group(readings, deviation) == -1
    assert (deviation >= 0).all()
    assert (np.diff(readings, axis=0) > 0).all()


@LINUX
def test_one_kernel_serves_threads_at_once():
    kernel = Brackets([4, 1, 7], [0.0] * 3, [1] * 3, 10)
    bad = []

    def work():
        out = arrays(200, 3)
        if (
            kernel.fill(*out) != -1
            or (out[2][:, 1:] < 1).any()
            or (np.diff(out[0][:, 1]) < 0).any()
        ):
            bad.append(out)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not bad
