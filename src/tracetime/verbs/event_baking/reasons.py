"""The reasons why events of other formats are left out, a key and a sentence for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

REASONS: Final = {
    "no_track_event": "track events of Perfetto's cannot be such",
    "no_room": "there are too many slices",
    "counter_without_number": "a counter's value that is no number",
    "flow_outside_slices": "a flow in no slice",
    "flow_begun_before": "the begin of a flow that has begun",
    "flow_not_begun": "the end of a flow that has not begun",
    "flow_without_id": "a flow whose id is no number",
    "flow_without_direction": "a bind_id that neither comes nor goes",
    "arrow_back": "an arrow back in time, or of a slice that is left out",
}
"""What each reason says after "left out: "."""


def nonzero_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are not 0, in the order of `REASONS`."""
    return {reason: counts[reason] for reason in REASONS if counts.get(reason)}
