"""The counter of 64-bit Arm: built for it and run under qemu, and its source on played readings."""

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

import tracetime as tt
from tracetime._kernels import capture as kernel
from tracetime.errors import SourceError
from tracetime.sources import tsc
from tracetime.sources.names import CNTVCT, named
from tracetime.sources.tsc import ArmCounterSource

PROGRAM = Path(__file__).parents[1] / "helpers" / "arm_counter_main.c"
HEADER = Path(kernel.__file__).parent / "capture"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
CLOCK = named(CNTVCT)
HZ = 62_500_000


def built(compiler, program, *options):
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", *options, f"-I{HEADER}"]
    subprocess.run([*command, "-o", program, PROGRAM], check=True)
    return program


def printed(*command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_the_counter_of_arm_goes_by_the_rate_that_it_says(tmp_path):
    missing = [name for name in (COMPILER, EMULATOR) if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed")
    program = built(COMPILER, tmp_path / "program", "-static")
    (is_there, hz), *reads = printed(EMULATOR, program)
    assert is_there == 1
    assert hz >= 1_000_000
    assert len(reads) == 10
    before, ticks, after = zip(*reads, strict=True)
    passed_ns = Fraction((ticks[-1] - ticks[0]) * 10**9, hz)
    tick_ns = Fraction(10**9, hz)
    # qemu's counter is REALTIME, which NTP may slew by 500 ppm against MONOTONIC_RAW.
    assert passed_ns * Fraction(1_001, 1_000) + tick_ns >= before[-1] - after[0]
    assert passed_ns * Fraction(999, 1_000) - tick_ns <= after[-1] - before[0]
    assert sorted(ticks) == list(ticks)


def test_other_processors_have_none(tmp_path):
    if kernel.arm_counter_hz():
        pytest.skip("this is an Arm processor")
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    assert printed(built(compiler, tmp_path / "program"))[0] == [0, 0]
    assert kernel.read_one(kernel.ARM_COUNTER_CODE) is None
    source = ArmCounterSource()
    assert source.clocks == {}
    assert source.native_code(CLOCK) is None
    assert source.unavailable == ((CNTVCT, "only 64-bit Arm processors have it, with a rate"),)
    with pytest.raises(SourceError, match="not the counter"):
        source.read(CLOCK)
    with pytest.raises(SourceError, match=r"cntvct is not available here: only 64-bit Arm"):
        tt.Sampler(["CNTVCT"])


@pytest.fixture
def play(monkeypatch):
    """A counter that steps by 5 ticks, and counts so many a second against MONOTONIC_RAW."""

    def played(counted_hz):
        class Measured:
            def __init__(self, code):
                assert code == kernel.ARM_COUNTER_CODE

            def end(self):
                return Fraction(10**9, counted_hz)

        def read_column(code, out, vary):
            assert (code, vary) == (kernel.ARM_COUNTER_CODE, True)
            out[:] = [1_000 + 5 * at * at for at in range(len(out))]
            return True

        monkeypatch.setattr(tsc, "arm_counter_hz", lambda: HZ)
        monkeypatch.setattr(tsc, "RateMeasurement", Measured)
        monkeypatch.setattr(tsc, "read_column", read_column)
        monkeypatch.setattr(tsc, "read_one", lambda code: 42)
        return ArmCounterSource()

    return played


def test_its_rate_is_exact(play):
    source = play(HZ + 6_000)
    assert dict(source.clocks) == {CNTVCT: CLOCK}
    domain = source.domain(CLOCK)
    assert (domain.name, domain.ns_per_tick, domain.tick_ns) == (CNTVCT, Fraction(16), 80.0)
    assert (domain.valid_bits, domain.disciplined, domain.max_drift_ppm) == (64, False, 100.0)
    assert source.domain(CLOCK) is domain
    assert source.native_code(CLOCK) == kernel.ARM_COUNTER_CODE
    assert source.read(CLOCK) == 42
    assert source.unavailable == ()
    assert source.note(CLOCK) is None


@pytest.mark.parametrize(("driver", "shared"), [("arch_sys_counter", True), ("tsc", False)])
def test_it_shares_the_crystal_of_the_kernels_clocks(play, monkeypatch, driver, shared):
    monkeypatch.setattr(tsc, "drives_the_kernel", lambda counter: counter == driver)
    oscillator = play(HZ).domain(CLOCK).oscillator
    assert (oscillator == tsc.HOST_OSCILLATOR) is shared


@pytest.mark.parametrize("counted_hz", [24_000_000, HZ * 1_002 // 1_000])
def test_a_rate_that_the_firmware_has_wrong_is_measured(play, counted_hz):
    source = play(counted_hz)
    assert source.domain(CLOCK).ns_per_tick == Fraction(10**9, counted_hz)
    assert source.note(CLOCK) == (
        f"the processor says 62500000 ticks a second, and it counts {counted_hz}, which is used"
    )
