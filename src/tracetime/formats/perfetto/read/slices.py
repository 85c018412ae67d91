"""The slices of a Perfetto trace, as its own importer makes them.

The kernels log what packets say (`slice_reader`), put it in order of time and replay it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.perfetto.slices import SliceLog, SliceReader, replay
from tracetime._kernels.slices import in_order
from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import AS_IS
from tracetime.formats.perfetto.schema import KINDS
from tracetime.formats.replayed_slices import (
    ARGS_LIMIT,
    MOST_ENTRIES,
    NAMES_LIMIT,
    ReplayedSlices,
    go_on,
)
from tracetime.trace.event_clocks import ClockNumbers
from tracetime.trace.events_table import CUT_OFF, EARLY, SOURCE_STATUS, SOURCE_TIME, Columns
from tracetime.trace.slice_ends import PLACED, SliceEnds
from tracetime.trace.slices_table import SliceReading

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.trace import Trace

# The readings at the events of slices: for each entry of a log, the columns that place it.

Entries = npt.NDArray[np.int32]

_OF_SOURCE: Final = {
    SOURCE_TIME: np.int64,
    SOURCE_STATUS: np.uint8,
    CUT_OFF: np.int64,
    EARLY: np.int64,
}
"""The columns that rows have where the file says what they read in its source."""
_TIMES: Final = ("trace_time", "source_ns", SOURCE_TIME)
_STATUSES: Final = ("status", SOURCE_STATUS)


class SliceReadings:
    """The readings of the entries of a log, in order.

    machines: machine_id by index, as `Trace.machines` has them.
    """

    def __init__(self, machines: list[int]) -> None:
        self._numbers = ClockNumbers((), machines)
        self._clocks: list[npt.NDArray[np.int32]] = []
        self._columns: dict[str, Any] = dict(PLACED)
        self._batches: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in PLACED}
        self._durations: list[npt.NDArray[np.int64]] = []
        self._entries = 0

    def add(self, log: SliceLog, base: int, columns: Columns) -> None:
        """Add what the log has more than before: entries of one batch of events.

        base: the number of its first event.
        """
        if not self._durations:
            self._columns |= {name: kind for name, kind in _OF_SOURCE.items() if name in columns}
            self._batches = {name: [] for name in self._columns}
        rows = log.rows(self._entries) - base
        self._append(log, len(rows))
        of_event = np.flatnonzero(rows >= 0)
        for name, parts in self._batches.items():
            parts[-1][of_event] = columns[name][rows[of_event]]
        if len(of_event):
            named = {name: parts[-1][of_event] for name, parts in self._batches.items()}
            self._clocks[-1][of_event] = self._numbers.of_rows(named)

    def add_rest(self, log: SliceLog) -> None:
        """Add the entries after the last event: nothing places them."""
        self._append(log, len(log) - self._entries)

    def _append(self, log: SliceLog, count: int) -> None:
        for name, dtype in self._columns.items():
            self._batches[name].append(np.zeros(count, dtype))
        for name in _STATUSES:
            if name in self._batches:
                self._batches[name][-1][:] = AS_IS
        self._clocks.append(np.full(count, -1, np.int32))
        self._durations.append(log.durations(self._entries))
        self._entries = len(log)

    @property
    def clocks(self) -> list[ClockId]:
        """The clocks that the events name, by number; those that name none have clock 0."""
        return self._numbers.clocks

    def numbers(self, entries: Entries) -> npt.NDArray[np.int32]:
        """The number of the clock of some entries; -1: of none."""
        numbers = np.concatenate([*self._clocks, np.full(1, -1, np.int32)])
        return numbers[entries]

    def begins(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries, and more where the source has more."""
        return {name: self._whole(name)[entries] for name in self._columns}

    def ends(self, entries: Entries) -> Columns:
        """The columns `PLACED` of some entries, where they end slices; -1: none does.

        A complete event ends its duration later, on its own clock: that comes before converting.
        """
        columns = self.begins(entries)
        durations = np.concatenate(self._durations)[entries]
        later = np.flatnonzero(durations > 0)
        fits = np.ones(len(later), np.bool_)
        for name in _TIMES:
            if name not in columns:
                continue
            before = columns[name][later]
            columns[name][later] = before + durations[later]
            fits &= columns[name][later] >= before
        for name in _STATUSES:
            if name in columns:
                columns[name][later[~fits]] = AS_IS
                columns[name][entries < 0] = AS_IS
        return columns

    def _whole(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([np.zeros(0, self._columns[name]), *self._batches[name]])


PROCESS_NAMES: Final = (
    "",
    "Browser",
    "Renderer",
    "Utility",
    "SandboxHelper",
    "PROCESS_SANDBOX_HELPER",
    "Gpu",
    "PpapiPlugin",
    "PpapiBroker",
    "Service: network.mojom.NetworkService",
    "Service: tracing.mojom.TracingService",
    "Service: storage.mojom.StorageService",
    "Service: audio.mojom.AudioService",
    "Service: data_decoder.mojom.DataDecoderService",
    "Service: chrome.mojom.UtilWin",
    "Service: proxy_resolver.mojom.ProxyResolverFactory",
    "Service: media.mojom.CdmServiceBroker",
    "Service: video_capture.mojom.VideoCaptureService",
    "Service: unzip.mojom.Unzipper",
    "Service: mirroring.mojom.MirroringService",
    "Service: patch.mojom.FilePatcher",
    "Service: chromeos.tts.mojom.TtsService",
    "Service: printing.mojom.PrintingService",
    "Service: quarantine.mojom.Quarantine",
    "Service: chromeos.local_search_service.mojom.LocalSearchService",
    "Service: chromeos.assistant.mojom.AssistantAudioDecoderFactory",
    "Service: chrome.mojom.FileUtilService",
    "Service: printing.mojom.PrintCompositor",
    "Service: paint_preview.mojom.PaintPreviewCompositorCollection",
    "Service: media.mojom.SpeechRecognitionService",
    "Service: device.mojom.XRDeviceService",
    "Service: chrome.mojom.UtilReadIcon",
    "Service: language_detection.mojom.LanguageDetectionService",
    "Service: sharing.mojom.Sharing",
    "Service: chrome.mojom.MediaParserFactory",
    "Service: qrcode_generator.mojom.QRCodeService",
    "Service: chrome.mojom.ProfileImport",
    "Service: chromeos.ime.mojom.ImeService",
    "Service: recording.mojom.RecordingService",
    "Service: shape_detection.mojom.ShapeDetectionService",
    "Extension Renderer",
    "Service: media.mojom.MediaFoundationServiceBroker",
    "PROCESS_RENDERER_TOP_WEBUI",
)

THREAD_NAMES: Final = (
    "",
    "CrProcessMain",
    "ChromeIOThread",
    "ThreadPoolBackgroundWorker&",
    "ThreadPoolForegroundWorker&",
    "ThreadPoolSingleThreadForegroundBlocking&",
    "ThreadPoolSingleThreadBackgroundBlocking&",
    "ThreadPoolService",
    "Compositor",
    "VizCompositorThread",
    "CompositorTileWorker&",
    "ServiceWorkerThread&",
    "NetworkService",
    "Chrome_ChildIOThread",
    "Chrome_IOThread",
    "CrBrowserMain",
    "CrRendererMain",
    "CrUtilityMain",
    "CrGpuMain",
    "CacheThread_BlockFile",
    "Media",
    "AudioOutputDevice",
    "AudioInputDevice",
    "GpuMemoryThread",
    "GpuVSyncThread",
    "DXVAVideoDecoderThread",
    "BrowserWatchdog",
    "WebRTC_Network",
    "Window owner thread",
    "WebRTC_Signaling",
    "WebRTC_Worker",
    "CrPPAPIMain",
    "GpuWatchdog",
    "swapper",
    "Gamepad polling thread",
    "WebCrypto",
    "Database thread",
    "Proxy Resolver",
    "Chrome_DevToolsADBThread",
    "NetworkConfigWatcher",
    "wasapi_render_thread",
    "LoaderLockSampler",
    "VSyncThread",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "MemoryInfra",
    "StackSamplingProfiler",
    "CompositorGpuThread",
)


Read: TypeAlias = "Callable[[PacketObserver], Iterator[Columns]]"

_NAMES: Final = ("packet", "ftrace_event", "sched_switch", "track_event_legacy")
_IN_SLICES: Final = [code for code, kind in enumerate(KINDS) if kind.name in _NAMES]
"""The kinds of rows that slices are made of: no line of a log, and no sample."""


def read_slices(
    trace: Trace,
    read: Read,
    reading: SliceReading,
    bars: Bars | None,
    with_args: bool,
) -> Generator[pa.RecordBatch, None, None]:
    """Read a trace from its start, and yield its slices as batches.

    Args:
        trace: an open one.
        read: reads it from its start, and gives each packet to an observer.
        reading: gets the counts of what was left out at the end.
        bars: those of the tube, None for Perfetto's own rule.
        with_args: read debug annotations, too.
    """
    readings = None if bars is None else SliceReadings(trace.machines)
    log = _read_log(read, reading, readings, ARGS_LIMIT if with_args else 0)
    slices = _replay(trace, log, reading)
    found: Mapping[str, pa.Array] = {}
    if readings is not None and bars is not None:
        ends = slices.ends(trace, readings)
        go_on(trace)
        found = slices.bounds_of(ends, trace, bars, reading)
    yield from slices.batches(found, log.args_of if with_args else None)


def read_slice_ends(trace: Trace, read: Read) -> SliceEnds | None:
    """Read a trace from its start, and return where its slices begin and end.

    None where their events name one clock, or none.
    """
    readings = SliceReadings(trace.machines)
    reading = SliceReading()
    log = _read_log(read, reading, readings, 0)
    if len([clock for clock in readings.clocks if clock.clock]) < 2:
        return None
    return _replay(trace, log, reading).ends(trace, readings)


def _read_log(
    read: Read, reading: SliceReading, readings: SliceReadings | None, args_limit: int
) -> SliceLog:
    """Read a trace, and return its entries."""
    log = SliceLog(PROCESS_NAMES, THREAD_NAMES, NAMES_LIMIT, MOST_ENTRIES, args_limit)
    base = 0
    for columns in read(SliceReader(log)):
        if readings is not None:
            readings.add(log, base, columns)
        base += len(columns["packet"])
        no_time = columns["status"] > AS_IS
        reading.unresolved += int(
            np.count_nonzero(no_time & is_any_of(columns["kind"], _IN_SLICES))
        )
        log.next_batch(len(columns["packet"]))
    if readings is not None:
        readings.add_rest(log)
    return log


def _replay(trace: Trace, log: SliceLog, reading: SliceReading) -> ReplayedSlices:
    """The slices that the entries make."""
    order = in_order(*log.order())
    go_on(trace)
    replay(log, order, len(trace.machines))
    go_on(trace)
    reading.left_out = log.left_out + log.slices.left_out
    reading.names_left_out = log.names_left_out
    reading.not_nested = log.slices.not_nested
    reading.unmatched = log.slices.unmatched
    return ReplayedSlices.of(log.tables)
