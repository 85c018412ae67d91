"""What a recorder says that it lost."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.analysis.survey import Survey
from tracetime.doctor.finding import Finding, count


def dropped(survey: Survey) -> Iterator[Finding]:
    """Events that were never written."""
    lost, packet = survey.trace.events_dropped, survey.trace.dropped_packet
    if lost:
        yield Finding(
            "events-dropped",
            "error",
            f"the recorder dropped {count(lost, 'event')}: they are not in the trace",
            (), () if packet is None else (packet,), lost, None,
            "Events came faster than the disk took them, the disk was full, or the file reached "
            "its max_size: what did not fit was dropped and counted.",
            "Record fewer events, to a faster disk, or into a larger file (--max-size, max_size).",
        )  # fmt: skip
