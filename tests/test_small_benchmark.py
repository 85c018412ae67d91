"""The benchmark of small files: what its families are, and which growth it tells."""

import pytest

from benchmarks.small import exponent
from benchmarks.small_files import FAMILIES
from benchmarks.small_folders import TOGETHER
from tracetime import TraceError, open_trace


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_of_files_that_are_read_or_refused_for_a_reason(tmp_path, name):
    family = FAMILIES[name]
    path = tmp_path / f"t.{family.ending}"
    path.write_bytes(family.make(7))
    if family.ending == "zip":
        with pytest.raises(TraceError, match="two members named 'a'"):
            open_trace(path)
        return
    with open_trace(path) as trace:
        trace.read_all()
        assert trace.clocks.clocks() or trace.read_all().num_rows or "empty" in name


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_grows_with_its_parts(name):
    few, many = (len(FAMILIES[name].make(n)) for n in (20, 200))
    assert 8 * few < many + 10_000


@pytest.mark.parametrize("name", TOGETHER)
def test_files_that_are_expensive_together_grow_with_their_parts_and_are_read(tmp_path, name):
    sizes = []
    for n in (200, 400):
        folder = tmp_path / str(n)
        folder.mkdir()
        paths = TOGETHER[name].make(folder, n)
        sizes.append(sum(path.stat().st_size for path in paths))
    assert 2 * sizes[0] < sizes[1] + 10_000
    if paths[0].suffix == ".json":
        with open_trace(paths[0]) as trace:
            assert trace.read_all().num_rows


def test_costs_of_sizes_that_are_thrice_the_last_tell_the_power():
    assert exponent([1, 3, 9], 1) == pytest.approx(1)
    assert exponent([1, 9, 81], 1) == pytest.approx(2)
    assert exponent([5, 7, 13], 1) == pytest.approx(1)
    assert exponent([1.0, 1.0, 1.1], 1) == 0
