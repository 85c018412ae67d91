"""What a data set says of the clocks of all its traces, by model of machine and pair of clocks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

from tracetime.doctor import Severity

MEASURES: Final = ("drift_ppm", "wander_ppm", "worst_bar_ns", "jumps")
"""The columns of the table of clocks that are summed up, and looked through for outliers."""

SHARES: Final = (0.0, 0.05, 0.5, 0.95, 1.0)
"""The quantiles of a `Spread`."""


class Spread(NamedTuple):
    """Quantiles of a measure: the least, those of 5, 50 and 95 %, and the greatest."""

    least: float
    low: float
    median: float
    high: float
    most: float


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """The traces of one model of machine.

    Attributes:
        model: as the table of clocks has it.
        traces: how many there are.
        errors, warnings: how many of them have a finding of this severity.
    """

    model: str
    traces: int
    errors: int
    warnings: int


@dataclass(frozen=True, slots=True)
class PairFigures:
    """A pair of clocks in the traces of one model.

    Attributes:
        model, reference, clock: the clock is measured against the reference.
        traces: how many have the pair.
        drift_ppm, wander_ppm, worst_bar_ns: over these traces; drift and bar None where none tells.
        worst_trace: the trace with the widest bar; None where none is known.
        open_bars: how many rows have a bar that nothing bounds on one side.
        jumps: how many there are in all.
        jumping: how many traces have any.
    """

    model: str
    reference: str
    clock: str
    traces: int
    drift_ppm: Spread | None
    wander_ppm: Spread
    worst_bar_ns: Spread | None
    worst_trace: str | None
    open_bars: int
    jumps: int
    jumping: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it in any data set."""
        return self.model, self.reference, self.clock


@dataclass(frozen=True, slots=True)
class FindingFigures:
    """The findings of one code and severity in the traces of one model.

    Attributes:
        model, code, severity: of the findings, those that follow from others included.
        traces: how many have any.
        findings: how many there are.
        worst_ns: by how much time at most; None where there is no such figure.
        trace: where that is.
    """

    model: str
    code: str
    severity: Severity
    traces: int
    findings: int
    worst_ns: int | None
    trace: str


@dataclass(frozen=True, slots=True)
class Outlier:
    """A trace in which a pair of clocks is far from what it is in the other traces of its model.

    Attributes:
        model, reference, clock: the pair.
        measure: which of `MEASURES`.
        trace: its name.
        value, usual: the measure there, and the median.
    """

    model: str
    reference: str
    clock: str
    measure: str
    trace: str
    value: float
    usual: float


@dataclass(frozen=True, slots=True)
class Worse:
    """What is worse in a data set than in the one it is compared with.

    Attributes:
        model: of the machines.
        measure: worst_bar_ns, drift_ppm (the greater distance from 0 of its 5 and 95 %), wander_ppm
            (95 %), open_bars (how many), jumping (traces with jumps), finding (traces that have
            it), traces (of a model that has none any more).
        reference, clock: the pair; None of a finding and of a model.
        code: of a finding; else None.
        before, after: the measure there and here.
        trace: one that shows it, of a bar or a finding; else None.
    """

    model: str
    measure: str
    reference: str | None
    clock: str | None
    code: str | None
    before: float
    after: float
    trace: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A data set compared with another.

    Attributes:
        against: the other, as it was named.
        worse: what is worse here.
        models: how many models both have: the clocks of others are not compared.
        only_here: the models that the other does not have.
    """

    against: str
    worse: list[Worse]
    models: int
    only_here: list[str]


@dataclass(frozen=True, slots=True)
class DataSetSummary:
    """What a data set says of the clocks of its traces.

    Attributes:
        dataset: as it was named.
        traces: how many the doctor has examined.
        rejected: how many it could not read.
        models: those with most traces first.
        pairs: by model in this order, and by how many traces have them.
        findings: by model in this order, the worst first.
        outliers: by measure, the farthest first: the first `MOST_OUTLIERS` of each measure.
        outliers_left_out: how many more there are.
        comparison: with another data set, if it was asked for.
    """

    dataset: str
    traces: int
    rejected: int
    models: list[ModelFigures]
    pairs: list[PairFigures]
    findings: list[FindingFigures]
    outliers: list[Outlier]
    outliers_left_out: int
    comparison: Comparison | None = None

    @property
    def errors(self) -> int:
        """How many traces have a finding that is an error."""
        return sum(one.errors for one in self.models)

    @property
    def warnings(self) -> int:
        """How many traces have a finding that is a warning."""
        return sum(one.warnings for one in self.models)

    def to_dict(self) -> dict[str, Any]:
        """The summary in the types of JSON."""
        return _plain(self)  # type: ignore[no-any-return]


MOST_OUTLIERS: Final = 20
"""Of each measure: nobody looks at more traces, and the worst come first."""


def _plain(value: Any) -> Any:
    if isinstance(value, Spread):
        return value._asdict()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value
