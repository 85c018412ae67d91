"""The tube policy for one pair of clocks (design: error-bars.md).

`evidence.py` (what snapshots say of the offset) and `limits.py` (what the clocks may do) go in;
`segments.py` cuts where the offset broke, `runs.py` where its rate changed; `tube.py` converts,
with bars, in both directions, `inverse.py` prepares the other one; `findings.py` tells what was
found. The loops are kernels: `_kernels/tube/sweep.pyx`, `smoother.pyx`, `bars.pyx`, `tube.pyx`,
`inverse.pyx`.
"""

from tracetime.graph.tube.bars import Bars
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.findings import Discontinuity
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Converted, Tube

__all__ = ["Bars", "Converted", "Discontinuity", "Evidence", "Limits", "Tube"]
