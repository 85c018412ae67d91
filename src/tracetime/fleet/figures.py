"""The figures of a data set on the clocks of its traces, by model of machine and pair of clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

from tracetime.clocks.json_facts import Document
from tracetime.doctor import Severity

if TYPE_CHECKING:
    from msgspec import Meta

    from tracetime.clocks.json_types import Count, FindingCode

MEASURES: Final = ("drift_ppm", "wander_ppm", "worst_bar_ns", "jumps")
"""The columns of the table of clocks that are summed up, and looked through for outliers."""

COMPARED: Final = (
    "worst_bar_ns",
    "drift_ppm",
    "wander_ppm",
    "open_bars",
    "jumping",
    "finding",
    "traces",
)
"""What a data set is compared by with another."""

SHARES: Final = (0.0, 0.05, 0.5, 0.95, 1.0)
"""The quantiles of a `Spread`."""


class Spread(NamedTuple):
    """Quantiles of a measure: the least, those of 5, 50 and 95 %, and the greatest.

    Attributes:
        least: the least.
        low: that of 5 %.
        median: the median.
        high: that of 95 %.
        most: the greatest.
    """

    least: float
    low: float
    median: float
    high: float
    most: float


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The traces of one model of machine.

    Attributes:
        model: the model of the machine, as the traces tell it; or unknown.
        traces: how many traces are of it.
        errors: how many of them have a finding that is an error.
        warnings: how many of them have a finding that is a warning.
    """

    model: str
    traces: Count
    errors: Count
    warnings: Count


@dataclass(frozen=True, slots=True)
class PairFigures:
    """A pair of clocks in the traces of one model.

    Attributes:
        model: the model of the machine, as the traces tell it; or unknown.
        reference: the clock that the other is measured against.
        clock: the other; clocks that each packet sequence has share a name.
        traces: how many traces have the pair.
        drift_ppm: how much faster the clock runs, ppm; null where no trace tells.
        wander_ppm: how far its rate strays, ppm.
        worst_bar_ns: the widest bar of each trace, its half-width in ns; null where all are open to
            one side.
        worst_trace: the trace with the widest bar; null where none is known.
        open_bars: how many rows have a bar that is open to one side.
        jumps: how many jumps there are in all.
        jumping: how many traces have any.
    """

    model: str
    reference: str
    clock: str
    traces: Count
    drift_ppm: Spread | None
    wander_ppm: Spread
    worst_bar_ns: Spread | None
    worst_trace: str | None
    open_bars: Count
    jumps: Count
    jumping: Count

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the pair in any data set."""
        return self.model, self.reference, self.clock


@dataclass(frozen=True, slots=True)
class FindingFigures:
    """The findings of one code and severity in the traces of one model.

    Attributes:
        model: the model of the machine, as the traces tell it; or unknown.
        code: their kind.
        severity: how bad they are.
        traces: how many traces have any.
        findings: how many there are.
        worst_ns: by how much time at most, ns; null where there is no such figure.
        trace: the trace where that is.
    """

    model: str
    code: FindingCode
    severity: Severity
    traces: Count
    findings: Count
    worst_ns: int | None
    trace: str


@dataclass(frozen=True, slots=True)
class Outlier:
    """A trace in which a pair of clocks is far from what it is in the other traces of its model.

    Attributes:
        model: the model of the machine, as the traces tell it; or unknown.
        reference: the clock that the other is measured against.
        clock: the other; clocks that each packet sequence has share a name.
        measure: what is measured.
        trace: the path or the URL of a trace.
        value: the measure in this trace.
        usual: its median over the traces of the model.
    """

    model: str
    reference: str
    clock: str
    measure: Annotated[str, Meta(extra_json_schema={"enum": list(MEASURES)})]
    trace: str
    value: float
    usual: float


@dataclass(frozen=True, slots=True)
class Worse:
    """A figure that is worse in a data set than in the one it is compared with.

    Attributes:
        model: the model of the machine, as the traces tell it; or unknown.
        measure: what is worse: worst_bar_ns, the widest bar of all traces; drift_ppm, the greater
            distance from 0 of its 5 and 95 %; wander_ppm, its 95 %; open_bars, how many are open to
            one side; jumping, the traces with jumps; finding, the traces that have it; traces, of a
            model that has none any more.
        reference: of the pair; null of what has none.
        clock: of the pair; null of what has none.
        code: the kind of the finding; else null.
        before: the measure there.
        after: the same here.
        trace: a trace that shows it, of a bar or a finding; else null.
    """

    model: str
    measure: Annotated[str, Meta(extra_json_schema={"enum": list(COMPARED)})]
    reference: str | None
    clock: str | None
    code: FindingCode | None
    before: float
    after: float
    trace: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A data set compared with another.

    Attributes:
        against: the other, as it was named.
        worse: what is worse.
        models: how many models both have: others are not compared.
        only_here: models that the other has not.
    """

    against: str
    worse: list[Worse]
    models: Count
    only_here: list[str]


@dataclass(frozen=True, slots=True)
class DataSetSummary(Document):
    """The figures of a data set on the clocks of its traces.

    Attributes:
        dataset: the data set, as it was named.
        traces: how many traces the doctor has examined.
        rejected: how many it could not read.
        models: the models of the machines, those with most traces first.
        pairs: pairs of clocks, by model.
        findings: findings, by model and the worst first.
        outliers: traces that are far from most traces of their model, the farthest first.
        outliers_left_out: how many more outliers there are.
        comparison: what is worse than in another data set; null without --against.
    """

    dataset: str
    traces: Count
    rejected: Count
    models: list[ModelFigures]
    pairs: list[PairFigures]
    findings: list[FindingFigures]
    outliers: list[Outlier]
    outliers_left_out: Count
    comparison: Comparison | None = None

    @property
    def errors(self) -> int:
        """The number of traces with a finding that is an error."""
        return sum(one.errors for one in self.models)

    @property
    def warnings(self) -> int:
        """The number of traces with a finding that is a warning."""
        return sum(one.warnings for one in self.models)


MOST_OUTLIERS: Final = 20
"""Of each measure: nobody looks at more traces, and the worst come first."""
