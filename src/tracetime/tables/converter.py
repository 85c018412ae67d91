"""`convert_table` as a function of batches, which engines send to their workers."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Mapping
from typing import Any, TypeVar

import pyarrow as pa

from tracetime.clocks.ids import ClockLike
from tracetime.clocks.wall_time import FloatUnit
from tracetime.columns.arrow_tables import SupportsArrowStream, batches_of
from tracetime.columns.time_columns import WrittenUnits, learn_units
from tracetime.errors import UsageError
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_graph import ClockGraph, from_bytes, to_bytes
from tracetime.graph.tube.bars import Bars
from tracetime.tables.conversion import convert_in_units

Batch = TypeVar("Batch", pa.RecordBatch, pa.Table)


class TableConverter:
    """Converts the batches of a table that is spread over many machines.

    A callable for `map_batches` of Ray Data and `mapInArrow` of Spark. Pickled, it holds the graph
    as the bytes that `ClockGraph.save` writes; a process that gets it many times reads it once.
    No batch depends on another.

    Args:
        sample: of the table, some thousand rows: in which units its columns are written, and on
            which steps its times stand, is learnt from these rows alone. Without `bounds` an empty
            table of the same columns will do.
        graph, columns, to, policy, bars, bounds, float_unit, names: as of `convert_table`.

    Attributes:
        schema: of what it returns, a `pyarrow.Schema`; each NAME_status is text.

    Raises:
        UsageError, ConversionError: as of `convert_table`; bounds of a sample without rows.
    """

    def __init__(  # noqa: PLR0913  those of convert_table
        self,
        sample: SupportsArrowStream,
        graph: ClockGraph,
        columns: Mapping[str, ClockLike],
        *,
        to: ClockLike | None = None,
        policy: PolicyName = "floor",
        bars: Bars = "estimated",
        bounds: bool = False,
        float_unit: FloatUnit | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        rows = batches_of(sample).read_all()
        if bounds and not rows.num_rows:
            raise UsageError("bounds need a sample with rows: give some thousand of the table")
        self._graph = graph
        self._columns = dict(columns)
        self._options: dict[str, Any] = {
            "to": to,
            "policy": policy,
            "bars": bars,
            "bounds": bounds,
            "float_unit": float_unit,
            "names": names,
        }
        self._units = WrittenUnits()
        self.schema: pa.Schema = self._converted(rows.schema.empty_table()).schema
        learn_units(self._units, self._columns, rows.to_batches(), float_unit)
        self._saved = pickle.dumps((rows, to_bytes(graph), self._columns, self._options))

    def __call__(self, batch: Batch) -> Batch:
        """Return a batch, or a table, with the columns that `convert_table` adds.

        Raises:
            UsageError: it has other columns than the sample.
        """
        made = self._converted(batch)
        if made.schema != self.schema:
            raise UsageError("a batch has other columns than the sample: give one of its table")
        if isinstance(batch, pa.Table):
            return made
        columns = [column.combine_chunks() for column in made.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _converted(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        made = convert_in_units(
            rows, self._graph, self._columns, units=self._units.settled(), **self._options
        )
        # Dictionaries are for one process: Spark takes none, and blocks of Ray are joined.
        for k in range(rows.num_columns, made.num_columns):
            field = made.schema.field(k)
            if pa.types.is_dictionary(field.type):
                made = made.set_column(k, field.name, made[k].cast(field.type.value_type))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _converter_of, (self._saved,)


@functools.lru_cache(maxsize=4)
def _converter_of(saved: bytes) -> TableConverter:
    """The converter of these bytes: the same object each time that a worker gets them."""
    sample, graph, columns, options = pickle.loads(saved)
    return TableConverter(sample, from_bytes(graph), columns, **options)
