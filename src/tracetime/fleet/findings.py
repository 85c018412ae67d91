"""What the doctor finds in one trace, and how its clocks run, as parts of a data set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from tracetime.analysis.survey import Survey
from tracetime.doctor import findings_of
from tracetime.fleet.clocks import SCHEMA, clocks_batch
from tracetime.sql.tables import FINDINGS, findings_batch
from tracetime.tables.output import TableOutput
from tracetime.tables.writers import ParquetTable
from tracetime.trace.trace import Trace


def write_findings(
    trace: Trace, out: Path, clocks_out: Path, *, part_of: str, tolerance_ns: int
) -> tuple[int, dict[str, Any]]:
    """Write what is wrong with the clocks of a trace, a row for each finding; and how they run.

    Returns:
        How many findings there are, and facts of the trace in the types of JSON.
    """
    survey = Survey(trace, tolerance_ns)
    findings = [one.with_names(trace.clocks.names) for one in findings_of(survey)]
    batch = findings_batch(findings)
    _write(out, FINDINGS, batch, part_of)
    clocks, left_out = clocks_batch(survey, findings)
    _write(clocks_out, SCHEMA, clocks, part_of)
    facts = {
        "trace_clock": str(trace.trace_clock),
        "severities": dict(Counter(one.severity for one in findings)),
        "codes": dict(Counter(batch["code"].to_pylist())),
        "pairs_left_out": left_out,
    }
    return batch.num_rows, facts


def _write(out: Path, schema: pa.Schema, batch: pa.RecordBatch, part_of: str) -> None:
    with TableOutput(out, part_of) as output:
        output.start(ParquetTable, schema, {})
        output.put(batch)
        output.finish({})
