"""The parts that rules of messages and of collectives share: their text, and their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracetime.trace.slices_table import Slices
from tracetime.trace.trace import Events

_PART: Final = re.compile(r"(\w+)=(\S+)")


def parts_of(text: str) -> dict[str, str] | None:
    """The parts of `NAME=VALUE NAME=VALUE`; None where there is anything else."""
    return None if _PART.sub("", text).strip() else dict(_PART.findall(text))


def rows_of(reading: Events | Slices, columns: Sequence[str], *wanted: pc.Expression) -> pa.Table:
    """A table of the rows of a file that all conditions leave, with some columns."""
    found = [reading.schema.empty_table().select(columns)]
    for batch in reading:
        table = pa.Table.from_batches([batch.select(columns)])
        for condition in wanted:
            table = table.filter(condition)
        found.append(table)
    return pa.concat_tables(found)


def with_keys(tables: Iterable[pa.Table], keys: Iterable[str]) -> Iterator[pa.Table]:
    """Yield tables with the arguments of these names, each as text, in place of `args`."""
    import duckdb  # it takes a while to load

    texts = (key.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''") for key in keys)
    found = (f"""json_extract_string(args, '$."{key}"') as key{n}""" for n, key in enumerate(texts))
    columns = ", ".join(["* exclude (args)", *found])
    with duckdb.connect() as connection:
        for table in tables:
            yield connection.from_arrow(table).project(columns).to_arrow_table()


def times_of(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """The values of a column of times that has no nulls."""
    times: npt.NDArray[np.int64] = column.to_numpy().astype(np.int64, copy=False)
    return times
