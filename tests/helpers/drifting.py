"""Two clocks that drift: MONOTONIC_RAW against BOOTTIME."""

import numpy as np

S = 1_000_000_000
GPU = 0x8A01B2C3


def drifting(ppm=20, n=60, every=10 * S, noise=0, seed=1):
    """MONOTONIC_RAW runs `ppm` fast of BOOTTIME; read together every 10 s."""
    random = np.random.default_rng(seed)
    boottime = np.arange(n, dtype=np.int64) * every + 1000 * S
    raw = boottime + (boottime - 1000 * S) * ppm // 1_000_000 - 3 * S
    return boottime, raw + random.integers(-noise, noise + 1, n)


def truth(boottime, ppm=20):
    return boottime + (boottime - 1000 * S) * ppm // 1_000_000 - 3 * S
