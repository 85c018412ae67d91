"""The figures of a data set in words, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tracetime.fleet.figures import DataSetSummary, PairFigures, Spread, Worse
from tracetime.text import count, half_width

_COUNTED: Final = {"jumps": "jump", "open_bars": "open bar"}
"""What is counted in measures that are none of traces."""

_NAMES: Final = {
    "worst_bar_ns": "worst bar",
    "drift_ppm": "drift",
    "wander_ppm": "wander",
    "jumps": "jumps",
    "open_bars": "open bars",
    "jumping": "jumps",
}


def value_text(measure: str, value: float) -> str:
    """A value of a measure, with its unit."""
    if measure == "worst_bar_ns":
        return half_width(value)
    if measure == "drift_ppm":
        return ppm(value, signed=True)
    if measure == "wander_ppm":
        return ppm(value)
    return count(round(value), _COUNTED.get(measure, "trace"))


def ppm(value: float, *, signed: bool = False) -> str:
    """A rate: +12.3 ppm."""
    # Less than 0.001 ppm nobody measures. A sum with 0.0 is never -0.0.
    rounded = (round(float(f"{value:.3g}"), 3) if abs(value) < 1000 else round(value)) + 0.0
    text = f"{rounded:+,}" if signed and rounded else f"{rounded:,}"
    return text.removesuffix(".0") + " ppm"


def spread(measure: str, found: Spread | None) -> str:
    """The median of a measure, and the range of nearly all values: +12 ppm (+11 to +14)."""
    if found is None:
        return "-"
    middle, low, high = (value_text(measure, one) for one in (found.median, found.low, found.high))
    if low == high:
        return middle
    return f"{middle} ({low.removesuffix(' ppm')} to {high.removesuffix(' ppm')})"


def worst_bar(pair: PairFigures) -> str:
    """The median of the widest bars of traces, the widest bar, and the number of open ones."""
    found = pair.worst_bar_ns
    parts = []
    if found is not None:
        median, most = half_width(found.median), half_width(found.most)
        parts.append(median if median == most else f"{median}, most {most[2:]}")
    if pair.open_bars:
        parts.append(f"{pair.open_bars:,} open")
    return ", ".join(parts) or "-"


def pair_name(clock: str, reference: str) -> str:
    """A pair of clocks, as reports call it."""
    return f"{clock} − {reference}"


def what_is_worse(one: Worse) -> str:
    """The words for what got worse."""
    if one.code is not None:
        return f"{'more often' if one.before else 'new'}: {one.code}"
    if one.clock is None or one.reference is None:
        return "no trace of the model"
    return f"{measure_name(one.measure)} of {pair_name(one.clock, one.reference)}"


def measure_name(measure: str) -> str:
    """The name of a measure of a pair."""
    return _NAMES[measure]


def verdict(summary: DataSetSummary) -> str:
    """A sentence on a data set."""
    n = summary.traces
    parts = []
    if summary.errors:
        parts.append(f"{summary.errors:,} of {count(n, 'trace')} with errors")
    if summary.warnings:
        parts.append(f"{summary.warnings:,} of {count(n, 'trace')} with warnings")
    if not parts:
        parts.append(f"{count(n, 'trace')}, no errors or warnings")
    if summary.rejected:
        parts.append(f"{count(summary.rejected, 'more trace')} rejected")
    if summary.comparison is not None:
        worse = len(summary.comparison.worse)
        parts.append(f"{count(worse, 'thing')} worse than in {summary.comparison.against}")
    return "; ".join(parts)


def common_folder(summary: DataSetSummary) -> str:
    """The folder of all traces that a summary names, with its slash; empty where there is none."""
    named = list(_named_traces(summary))
    if not named:
        return ""
    least, most = min(named), max(named)
    same = next((k for k, c in enumerate(least) if most[k : k + 1] != c), len(least))
    folder = least[: least.rfind("/", 0, same) + 1]
    return folder if len(folder) > 1 else ""


def _named_traces(summary: DataSetSummary) -> Iterable[str]:
    worse = summary.comparison.worse if summary.comparison is not None else []
    yield from (one.trace for one in summary.findings)
    yield from (one.trace for one in summary.outliers)
    yield from (one.trace for one in worse if one.trace is not None)
    yield from (one.worst_trace for one in summary.pairs if one.worst_trace is not None)
