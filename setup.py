"""The native kernels; everything else about the project is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CPUS = os.cpu_count() or 1
KERNELS = Path("src/tracetime/_kernels")
# What Cython's modules have in common, views of memory most of all, is compiled once.
SHARED = "tracetime._kernels._cython"
# -O3 puts reading a field and converting a value into the loops that do so for each event;
# elsewhere it costs time to compile, and gains none.
HOT = {
    "chrome_json.reader",
    "common.columns",
    "common.json",
    "evidence",
    "graph",
    "merging",
    "perfetto.clocks",
    "perfetto.importer",
    "perfetto.names",
    "tube",
}
# What runs once for a file or a snapshot gains nothing by more than -O1.
COLD = {"_cython", "hosts", "perfetto.packets", "perfetto.parts", "saved_graph"}

# TRACETIME_SANITIZE=1 builds the kernels with AddressSanitizer (see docs/inside/tests.md).
SANITIZE = bool(os.environ.get("TRACETIME_SANITIZE"))
SANITIZED = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"]


def extension(source: Path) -> Extension:
    """The module of a source."""
    name = ".".join(source.relative_to(KERNELS).with_suffix("").parts)
    level = "-O3" if name in HOT else "-O1" if name in COLD else "-O2"
    flags = SANITIZED if SANITIZE else [level, "-g0"]
    return Extension(
        f"tracetime._kernels.{name}",
        [str(source)],
        # A fused multiplication and addition rounds once, not twice: results would depend on the
        # machine, and on whether a value is converted alone or in an array.
        extra_compile_args=[*flags, "-ffp-contract=off"],
        extra_link_args=["-fsanitize=address"] if SANITIZE else [],
    )


# Where processes are not forked (macOS), each that translates imports this file anew.
if __name__ == "__main__":
    sources = sorted(KERNELS.rglob("*.pyx"))
    setup(
        # One compiler for each processor.
        options={"build_ext": {"parallel": CPUS}},
        ext_modules=cythonize(
            [*map(extension, sources), extension(KERNELS / "_cython.c")],
            nthreads=CPUS,
            shared_utility_qualified_name=SHARED,
            include_path=["src"],
            compiler_directives={"language_level": "3", "embedsignature": True},
        ),
    )
