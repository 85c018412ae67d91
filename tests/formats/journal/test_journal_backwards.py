"""Entries of a journal before the end of an earlier boot, against a plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracetime.formats.journal.clocks import USUAL_US, backwards


def plain(boots):
    """Entries over 1 s before the end of a boot that began before theirs, boot after boot."""
    late = set()
    for machine in {boot[:2] for boot in boots}:
        reads = [read for boot, read in boots.items() if boot[:2] == machine and read.size]
        is_reversed = sum(np.sign(int(read[2, -1]) - int(read[2, 0])) for read in reads) < 0
        latest = 0
        for _, realtime, entries in sorted(reads, key=lambda read: read[1].min()):
            late.update(entries[realtime < latest - USUAL_US].tolist())
            latest = max(latest, realtime.max())
        latest = 0
        for _, realtime, entries in sorted(
            reads, key=lambda read: -read[2].max() if is_reversed else read[2].min()
        ):
            if realtime.max() < latest - USUAL_US:
                late.update(entries.tolist())
            latest = max(latest, realtime.max())
    return sorted(late)


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.lists(st.integers(0, 9), max_size=4), st.booleans()),
        max_size=8,
    )
)
def test_entries_backwards_are_those_of_a_plain_twin(given):
    boots, n = {}, 0
    for k, (machine, seconds, falls) in enumerate(given):
        entries = np.arange(n, n + len(seconds))
        n += len(seconds)
        read = [np.arange(len(seconds)), USUAL_US * np.array(seconds, dtype=np.int64), entries]
        boots[machine, 0, k, 1] = np.array(read, dtype=np.int64)[:, :: -1 if falls else 1]
    assert backwards(boots).tolist() == plain(boots)
