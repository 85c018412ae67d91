"""NumPy's arrays as Arrow's and back; and that nothing of ours imports pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from samples import CLOCK_SYNC

from tracetime import ClockGraph
from tracetime.clocks.int_arrays import is_any_of
from tracetime.columns.arrays import arrow_of, texts_of, values_of

DTYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@given(
    st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=40),
    st.sampled_from(DTYPES),
    st.integers(0, 9),
)
def test_arrays_go_to_arrow_and_back(rows, dtype, cut):
    values = np.array([value for value, _ in rows], dtype=dtype)
    missing = np.array([gone for _, gone in rows], dtype=bool)
    array = arrow_of(values, missing)
    assert array.equals(pa.array(values, mask=missing))
    array.validate(full=True)
    part = array.slice(cut)
    back, gone = values_of(part)
    kept = ~missing[cut:]
    assert back.dtype == dtype
    assert back[kept].tolist() == values[cut:][kept].tolist()
    assert (gone is None) == (part.null_count == 0)
    assert gone is None or gone.tolist() == missing[cut:].tolist()


@given(st.lists(st.text(max_size=9) | st.none(), max_size=9))
def test_strings_go_to_arrow(texts):
    made = texts_of(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))


@pytest.mark.parametrize("kind", ["int64", "uint64", "int32"])
def test_what_stands_under_a_null_is_not_looked_at(kind):
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC": 5, "BOOTTIME": 7})
    top = np.iinfo(kind).max
    array = arrow_of(np.array([1, top, 2], dtype=kind), np.array([False, True, False]))
    for ts in (array, pa.chunked_array([array, array.slice(1)])):
        got = graph.convert(ts, "MONOTONIC", "BOOTTIME", errors="mask").to_pylist()
        assert got == [3, None, 4, None, 4][: len(ts)]


RUNS = """
import sys
from tracetime.commands import run
for policy in ("floor", "tube"):
    assert run(["convert", sys.argv[1], "-o", sys.argv[1] + ".parquet", "--policy", policy, *sys.argv[2:]]) == 0
    assert run(["at", sys.argv[1], "1104", "--from", "MONOTONIC", "--policy", policy]) == 0
    assert run(["sql", sys.argv[1], "select to_clock(ts, 'BOOTTIME', 'MONOTONIC') from (select trace_time ts from events)", "--policy", policy]) == 0
assert run(["clocks", sys.argv[1]]) == 0
print([name for name in ("pandas", "numpy.ma") if name in sys.modules])
"""


@pytest.mark.parametrize("more", [[], ["--to", "REALTIME"], ["--with-names"]], ids=str)
def test_neither_pandas_nor_masked_arrays_are_imported(tmp_path, more):
    pytest.importorskip("pandas")
    path = tmp_path / "t.pftrace"
    path.write_bytes(CLOCK_SYNC)
    result = subprocess.run(
        [sys.executable, "-c", RUNS, str(path), *more], capture_output=True, text=True
    )
    assert (result.stderr, result.stdout.splitlines()[-1:]) == ("", ["[]"])


def test_a_recording_of_ten_clocks_needs_no_masked_arrays(tmp_path):
    program = (
        "import sys\n"
        "from tracetime.commands import run\n"
        "for args in (['doctor'], ['convert', '-o', sys.argv[2], '--policy', 'tube']):\n"
        "    run([args[0], sys.argv[1], *args[1:]])\n"
        "print('numpy.ma' in sys.modules)\n"
    )
    arguments = [str(ROOT / "demo" / "demo.pftrace"), str(tmp_path / "t.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True
    )
    assert (done.stderr, done.stdout.splitlines()[-1:]) == ("", ["False"])


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_codes_are_any_of_some_as_numpy_has_it(codes, some):
    given_codes = np.array(codes, dtype=np.uint8)
    assert is_any_of(given_codes, some).tolist() == np.isin(given_codes, some).tolist()
