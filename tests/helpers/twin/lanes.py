"""Spans that share out tracks, one after the other: the plain twin of `slices.lanes`."""

MOST_LANES = 64


def in_lanes(spans, have_parents):
    """Lanes, depths and what is beneath; spans: (begin, end, group, parent), in order."""
    lanes = []  # of each its group and its stack of spans
    found = []
    for number, (begin, end, group, parent) in enumerate(spans):
        lane = None
        if have_parents and 0 <= parent < number and spans[parent][2] == group:
            lane = found[parent][0]
            stack = opened(lanes[lane][1], spans, begin, parent)
            if stack[-1:] != [parent] or spans[parent][1] < end:
                lane = None
        ours = [k for k, (whose, _) in enumerate(lanes) if whose == group]
        for k in ours[:MOST_LANES] if lane is None else ():
            stack = opened(lanes[k][1], spans, begin, None)
            if not stack or (not have_parents and end <= spans[stack[-1]][1]):
                lane = k
                break
        if lane is None:
            lane = len(lanes)
            lanes.append((group, []))
        stack = lanes[lane][1]
        found.append((lane, len(stack), stack[-1] if stack else -1))
        stack.append(number)
    return [list(column) for column in zip(*found, strict=True)] or [[], [], []]


def opened(stack, spans, begin, parent):
    """A lane without what has ended."""
    while stack and (
        spans[stack[-1]][1] < begin or (spans[stack[-1]][1] == begin and stack[-1] != parent)
    ):
        stack.pop()
    return stack
