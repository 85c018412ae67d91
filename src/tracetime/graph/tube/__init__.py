"""The tube policy (docs/error-bars.md).

One pair of clocks: `evidence.py` (intervals of the offset) and `limits.py` (drift, wander) go in;
`segments.py` cuts where the offset broke, `runs.py` where its rate changed; `tube.py` converts,
with bars, in both directions, `stretches.py` prepares the other one; `findings.py` lists the
discontinuities. The loops are kernels (`_kernels/evidence/` and `tube/`). A graph: `pairs.py` makes
the tubes, `paths.py` finds the paths, `policy.py` converts along them.
"""
