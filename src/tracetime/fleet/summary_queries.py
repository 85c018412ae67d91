"""The figures of a data set, from its tables `clocks` and `findings`, by DuckDB.

DuckDB keeps the columns that are used, and may use the disk: thousands of traces take no more
memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from tracetime.atomic_file import open_to_read
from tracetime.errors import UsageError
from tracetime.fleet import clocks
from tracetime.fleet.figures import (
    MEASURES,
    MOST_OUTLIERS,
    SHARES,
    Comparison,
    DataSetSummary,
    FindingFigures,
    ModelFigures,
    Outlier,
    PairFigures,
    Spread,
    Worse,
)
from tracetime.fleet.options import CLOCKS
from tracetime.fleet.records import rejected_of
from tracetime.fleet.sources import filesystem, is_remote, path_or_url
from tracetime.fleet.store import Store, open_store
from tracetime.sql.tables import FINDINGS

if TYPE_CHECKING:
    import duckdb

# Changes for the worse between data sets: bars, rates, jumps, findings, lost models.

WORSE: Final = Fraction(3, 2)
"""A measure that grew by this factor is worse: less is the scatter of readings."""

LEAST_NS: Final = 1_000
"""Bars that grew by less than this are no worse: so much is the scatter of readings."""

LEAST_PPM: Final = 1.0
"""Rates that grew by less than this are no worse: temperature alone changes them by so much."""

LEAST_SHARE: Final = Fraction(1, 10)
"""What more traces have is no worse where it is less than this share of them: that is chance."""


def compare(here: DataSetSummary, there: DataSetSummary) -> Comparison:
    """Return the figures that are worse `here` than `there`, of the models that are there."""
    shared = {one.model for one in here.models} & {one.model for one in there.models}
    only_here = [one.model for one in here.models if one.model not in shared]
    worse = [*_gone(there, shared), *_findings(here, there), *_pairs(here, there)]
    return Comparison(there.dataset, worse, len(shared), only_here)


def _gone(there: DataSetSummary, shared: set[str]) -> Iterator[Worse]:
    """The models without a trace."""
    for one in there.models:
        if one.model not in shared:
            yield Worse(one.model, "traces", None, None, None, float(one.traces), 0.0, None)


def _findings(here: DataSetSummary, there: DataSetSummary) -> Iterator[Worse]:
    """Errors and warnings that none of the other traces of a model have, or fewer of them."""
    before = {one.model: one.traces for one in there.models}
    after = {one.model: one.traces for one in here.models}
    known = {(one.model, one.code, one.severity): one.traces for one in there.findings}
    for one in here.findings:
        if one.severity == "info" or one.model not in before:
            continue
        was = known.get((one.model, one.code, one.severity), 0)
        if one.severity == "warning":
            # An error that became a warning is no worse.
            was = max(was, known.get((one.model, one.code, "error"), 0))
        if not was or _more(was, before[one.model], one.traces, after[one.model]):
            yield Worse(
                one.model, "finding", None, None, one.code, float(was), float(one.traces), one.trace
            )


def _pairs(here: DataSetSummary, there: DataSetSummary) -> Iterator[Worse]:
    known = {one.key: one for one in there.pairs}
    for one in here.pairs:
        before = known.get(one.key)
        if before is not None:
            yield from _measures(one, before)
            yield from _shares(one, before)


def _measures(pair: PairFigures, before: PairFigures) -> Iterator[Worse]:
    """Bars and rates of a pair that grew."""
    model, reference, clock = pair.key
    for measure, was, now, least, trace in (
        ("worst_bar_ns", _bar(before), _bar(pair), LEAST_NS, pair.worst_trace),
        ("drift_ppm", _drift(before.drift_ppm), _drift(pair.drift_ppm), LEAST_PPM, None),
        ("wander_ppm", before.wander_ppm.high, pair.wander_ppm.high, LEAST_PPM, None),
    ):
        if was is not None and now is not None and now - was >= least and now >= WORSE * was:
            yield Worse(model, measure, reference, clock, None, was, now, trace)


def _shares(pair: PairFigures, before: PairFigures) -> Iterator[Worse]:
    """Open bars of a pair, and traces with jumps, that are more of all."""
    model, reference, clock = pair.key
    for measure, was, now, is_new in (
        ("open_bars", before.open_bars, pair.open_bars, before.open_bars == 0 < pair.open_bars),
        ("jumping", before.jumping, pair.jumping, False),
    ):
        if is_new or _more(was, before.traces, now, pair.traces):
            yield Worse(model, measure, reference, clock, None, float(was), float(now), None)


def _more(was: int, of_was: int, now: int, of_now: int) -> bool:
    """Whether a share grew."""
    before, after = Fraction(was, of_was), Fraction(now, of_now)
    return after - before >= LEAST_SHARE and after >= WORSE * before


def _bar(pair: PairFigures) -> float | None:
    return None if pair.worst_bar_ns is None else pair.worst_bar_ns.most


def _drift(drift: Spread | None) -> float | None:
    """The greatest distance from 0 of the rates of nearly all traces."""
    return None if drift is None else max(abs(drift.low), abs(drift.high))


_MEMORY: Final = "1GB"

_AT_ONCE: Final = 500
"""Parts that are open together: Arrow keeps some 60 kB of each."""

_LEAST_TRACES: Final = 5
"""Of fewer, nobody knows what is usual."""

_FAR: Final = 6
"""An outlier is so many times farther from the median than half of the traces are."""

_LEAST: Final = {"drift_ppm": 1.0, "wander_ppm": 1.0, "worst_bar_ns": 1_000.0, "jumps": 1.0}
"""And at least so far: less is the scatter of readings."""


def summary_of(
    dataset: str | os.PathLike[str], against: str | os.PathLike[str] | None = None
) -> DataSetSummary:
    """Return the figures of a data set; see `tracetime.fleet.summary`."""
    here = _figures(os.fspath(dataset))
    if against is None:
        return here
    return replace(here, comparison=compare(here, _figures(os.fspath(against))))


def _figures(named: str) -> DataSetSummary:
    import duckdb

    dataset = path_or_url(named)
    if not is_remote(dataset) and not Path(dataset).is_dir():
        raise UsageError(f"there is no data set {dataset!r}: tracetime fleet doctor makes one")
    store = open_store(dataset)
    tables = {
        CLOCKS: list(_parts(store, dataset, CLOCKS, clocks.SCHEMA)),
        "findings": list(_parts(store, dataset, "findings", FINDINGS)),
    }
    with TemporaryDirectory(prefix="tracetime-") as folder:
        limits = {"memory_limit": _MEMORY, "temp_directory": folder}
        with duckdb.connect(":memory:", config={**limits}) as con:
            try:
                for name, parts in tables.items():
                    _fill(con, name, parts)
                return _query(con, named, len(store.names(rejected_of("findings"))))
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise UsageError(
                    f"cannot read the data set {dataset!r}: {error}; what is damaged is made again "
                    "where it is removed, by tracetime fleet doctor"
                ) from error


def _parts(
    store: Store, dataset: str, table: str, schema: pa.Schema
) -> Iterator[Callable[[], ds.Dataset]]:
    """The expression that opens the parts of a table, some at once; with text as text."""
    fs, place = filesystem(dataset) if is_remote(dataset) else (None, dataset)
    names = sorted(name for name in store.names(table) if name.endswith(".parquet"))
    if not names:
        if rejected := len(store.names(rejected_of("findings"))):
            raise UsageError(
                f"all traces of the data set {dataset!r} were rejected, {rejected:,}: "
                f"{dataset}/{rejected_of('findings')} has each error"
            )
        raise UsageError(
            f"the data set {dataset!r} has no table {table}: tracetime fleet doctor makes it"
        )
    paths = [f"{place.rstrip('/')}/{table}/{name}" for name in names]
    for path in paths if fs is None else ():
        # Arrow opens them: what is written meanwhile is not to replace them.
        open_to_read(path).close()
    plain = schema.insert(0, pa.field("trace", pa.string()))
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        yield partial(ds.dataset, some, schema=plain, filesystem=fs, format="parquet")


def _fill(
    con: duckdb.DuckDBPyConnection, name: str, parts: Iterable[Callable[[], ds.Dataset]]
) -> None:
    """Fill a table from its parts, with the columns that are used."""
    con.execute(_TABLES[name])
    columns = ", ".join(column for column, *_ in con.execute(f"describe {name}").fetchall())
    for part in parts:
        con.register("some_parts", part())
        con.execute(f"insert into {name} select {columns} from some_parts")
        con.unregister("some_parts")


def _query(con: duckdb.DuckDBPyConnection, dataset: str, rejected: int) -> DataSetSummary:
    con.execute("create temp table of_model as select distinct trace, model from clocks")
    con.execute(_FINDINGS)
    models = [ModelFigures(*row) for row in con.execute(_MODELS).fetchall()]
    rank = {one.model: k for k, one in enumerate(models)}
    pairs = [_pair(row) for row in con.execute(_PAIRS).fetchall()]
    findings = [FindingFigures(*row) for row in con.execute(_BY_CODE).fetchall()]
    outliers: list[Outlier] = []
    left_out = 0
    for measure in MEASURES:
        found = [Outlier(*row) for row in con.execute(_outliers(measure)).fetchall()]
        outliers += found[:MOST_OUTLIERS]
        left_out += len(found[MOST_OUTLIERS:])
    return DataSetSummary(
        dataset,
        sum(one.traces for one in models),
        rejected,
        models,
        sorted(pairs, key=lambda one: (rank[one.model], -one.traces, one.key)),
        sorted(findings, key=lambda one: rank[one.model]),
        outliers,
        left_out,
    )


_TABLES: Final = {
    CLOCKS: """
create temp table clocks (
    trace varchar, model varchar, reference varchar, clock varchar, drift_ppm double,
    wander_ppm double, worst_bar_ns double, jumps bigint
)
""",
    "findings": """
create temp table findings (trace varchar, code varchar, severity varchar, worst_ns bigint)
""",
}

_FINDINGS: Final = """
create temp table found as
select trace, model, code, severity, worst_ns from findings join of_model using (trace)
"""

_MODELS: Final = """
select model, count(*),
    count(*) filter (trace in (select trace from found where severity = 'error')),
    count(*) filter (trace in (select trace from found where severity = 'warning'))
from of_model group by model order by count(*) desc, model
"""

_BY_CODE: Final = """
select model, code, severity, count(distinct trace), count(*), max(worst_ns),
    coalesce(arg_max(trace, worst_ns), min(trace))
from found group by model, code, severity
order by case severity when 'error' then 0 when 'warning' then 1 else 2 end,
    count(distinct trace) desc, code
"""

_PAIRS: Final = f"""
select model, reference, clock, count(distinct trace),
    quantile_cont(drift_ppm, {list(SHARES)}), quantile_cont(wander_ppm, {list(SHARES)}),
    quantile_cont(worst_bar_ns, {list(SHARES)}), arg_max(trace, worst_bar_ns),
    count(*) filter (worst_bar_ns is null), sum(jumps)::bigint,
    count(distinct trace) filter (jumps > 0)
from clocks where clock is not null group by model, reference, clock
"""


def _pair(row: tuple[Any, ...]) -> PairFigures:
    model, reference, clock, traces, drift, wander, bar, *counts = row
    return PairFigures(
        model,
        reference,
        clock,
        traces,
        None if drift is None else Spread(*drift),
        Spread(*wander),
        None if bar is None else Spread(*bar),
        *counts,
    )


def _outliers(measure: str) -> str:
    """The traces whose measure is far from that of the others, each with its farthest row.

    Only a drift may be too low: of bars, wander and jumps, less is better.
    """
    away = f"abs({measure} - usual)" if measure == "drift_ppm" else f"{measure} - usual"
    return f"""
with usual as (
    select model, reference, clock, median({measure}) as usual, mad({measure}) as spread
    from clocks where {measure} is not null and clock is not null
    group by model, reference, clock having count(distinct trace) >= {_LEAST_TRACES}
),
away as (
    select model, reference, clock, trace, {measure} as value, usual, {away} as far, spread
    from clocks join usual using (model, reference, clock)
)
select model, reference, clock, '{measure}', trace, arg_max(value, far), any_value(usual)
from away where far >= {_LEAST[measure]} and far > {_FAR} * spread
group by model, reference, clock, trace
order by max(far / greatest(spread, {_LEAST[measure]})) desc, trace, clock
"""
