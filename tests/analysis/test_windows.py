"""Values counted within spans of marks, as one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime._kernels.common.columns import sum_within
from tracetime.analysis.groups import Counts

VALUES = st.integers(-20, 20)
ENDS = st.tuples(VALUES, VALUES)


@given(
    st.lists(st.tuples(st.sets(VALUES), st.lists(VALUES), st.lists(ENDS)), min_size=1, max_size=4)
)
def test_values_are_counted_once_wherever_spans_hold_them(lists):
    """Ends that are no marks are moved to one."""
    marks = [sorted(given) for given, _, _ in lists]
    starts = np.cumsum([0, *map(len, marks)])
    counts = Counts(np.array([m for one in marks for m in one], dtype=np.int64), starts)
    for which, (_, values, _) in enumerate(lists):
        counts.add(np.full(len(values), which), np.array(values, dtype=np.int64))
    for which, (of_list, values, spans) in enumerate(lists):
        ends = [(low, high) for low, high in spans if {low, high} <= of_list]
        held = [v for v in values if any(low <= v <= high for low, high in ends)]
        assert counts.within(which, ends) == len(held)
        assert counts.within(which, np.array(ends, dtype=np.int64).reshape(-1, 2)) == len(held)


@pytest.mark.parametrize(("counts", "width"), [(4, 2), (6, 2), (5, 1)])
def test_counts_that_are_not_of_these_marks_are_refused(counts, width):
    with pytest.raises(ValueError, match="a list has its counts"):
        sum_within(np.arange(2), np.zeros(counts, np.int64), np.zeros((1, width), np.int64))
