"""Slices that end although one lies in them that does not: the plain twin of `open_slices`."""

OPEN = NONE = -1


def open_inside(slices):
    """Durations, and which hold open ones; slices: (ts, dur, parent, name, category)."""
    durations = [dur for _, dur, *_ in slices]
    holds_open = [0] * len(slices)
    for row, (ts, dur, *_) in enumerate(slices):
        if dur == OPEN:
            above = ended = [k for k in ancestors(slices, row) if durations[k] != OPEN]
            named = [k for k in above if may_end(slices[k], slices[row])]
            if named:
                outer = slices[ended[0]]
                durations[row] = outer[0] + durations[ended[0]] - ts
                above = above[: above.index(named[0]) + 1]
            for k in above:
                holds_open[k] = 1
    return durations, holds_open


def ancestors(slices, row):
    above = slices[row][2]
    while above != NONE:
        yield above
        above = slices[above][2]


def may_end(outer, inner):
    """Whether an end that says the outer may be the inner's."""
    *_, name, category = outer
    *_, inner_name, inner_category = inner
    same_name = NONE in (name, inner_name) or name == inner_name
    return same_name and category in (NONE, inner_category)
