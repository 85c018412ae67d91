"""One query to one trace, as a table of Arrow: `Trace.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from tracetime.graph.tube.bars import check_bars
from tracetime.sql.session import Session
from tracetime.sql.view import View

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.bars import Bars
    from tracetime.trace.trace import Trace


def query(trace: Trace, text: str, policy: PolicyName, bars: Bars) -> pa.Table:
    """Run statements on a trace, and return the result of the last one; see `Trace.sql`."""
    check_bars(bars)
    trace.check_open()
    with Session([trace], View(policy, bars)) as session:
        result = session.run_all(text)
        return pa.Table.from_batches(result.batches, result.schema)
