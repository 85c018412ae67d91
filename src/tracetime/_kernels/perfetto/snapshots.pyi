from typing import Self

from tracetime._kernels.perfetto.exchange_rounds import ExchangeRounds
from tracetime._kernels.perfetto.remote import RemoteSyncs
from tracetime._kernels.perfetto.snapshot_extensions import SnapshotExtensions
from tracetime._kernels.perfetto.timeline import Timeline

class Snapshots:
    """Adds the snapshots of a trace to its clocks."""

    extensions: SnapshotExtensions
    remote: RemoteSyncs
    rounds: ExchangeRounds
    n_stray_syncs: int

    def __new__(cls, timeline: Timeline) -> Self: ...
