from typing import Self

PROCESS: int
THREAD: int
CUSTOM: int
COUNTER: int

_Rate = tuple[int, int]
_KernelNumbers = tuple[int, int, int, int, int, int, int, int]

def state_packet(
    sequence: int, flags: int, first: bool, dropped: bool, clock: int, machine: int = 0
) -> bytes: ...
def track_packet(
    sequence: int,
    uuid: int,
    parent: int,
    kind: int,
    name: str | None,
    pid: int,
    tid: int,
    unit: str | None,
    machine: int = 0,
) -> bytes: ...
def snapshot_packet(
    sequence: int, primary: int, clocks: list[tuple[int, int, int]], extension: bytes
) -> bytes: ...
def encode_domain(
    clock: int,
    name: str | None,
    rate: _Rate | None,
    valid_bits: int,
    oscillator: str | None,
    tick_ns: float,
    max_drift_ppm: float | None,
    wander_ppm: float | None,
    disciplined: bool,
) -> bytes: ...
def encode_extension(
    reference: int | None,
    centres: list[int],
    halves: list[int],
    raws: list[int],
    kernel_clock: _KernelNumbers | None,
    domains: list[bytes],
    events_dropped: int,
    wall_bound: tuple[int, int, int] | None = None,
) -> bytes: ...
def boot_packet(boot_id: bytes, machine: int = 0, suspended_ns: int | None = None) -> bytes: ...
def baked_packet(policy: int, carried: bytes | None = None, machine: int = 0) -> bytes: ...
def remote_sync_packet(
    machine: int,
    clock: int,
    synced_clocks: list[tuple[int, int]],
    rounds: list[tuple[int, int, int, int]],
) -> bytes: ...
def machine_packet(machine: int, name: str) -> bytes: ...
def decode_extension(
    data: bytes,
) -> (
    tuple[
        int | None,
        list[int],
        list[int],
        list[int],
        _KernelNumbers | None,
        list[bytes],
        int,
        tuple[int, int, int] | None,
    ]
    | None
): ...
def decode_domain(data: bytes) -> tuple[object, ...] | None: ...
def whole_packets(data: bytes | memoryview, end: int) -> int: ...
def events_in(data: bytes | memoryview) -> int: ...
def carries_readings(beginning: bytes) -> bool: ...

class Sealer:
    def __new__(cls, policy: int, machine: int = 0) -> Self: ...
    def write(self, data: bytes) -> bytes: ...
    def seal(self) -> bytes: ...

def stripped(data: bytes) -> bytes: ...
