"""The native kernels; everything else about the project is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# TRACETIME_SANITIZE=1 builds the kernels with AddressSanitizer (see CONTRIBUTING.md).
if os.environ.get("TRACETIME_SANITIZE"):
    flags = ["-O1", "-g", "-fsanitize=address", "-fno-omit-frame-pointer"]
    link = ["-fsanitize=address"]
else:
    flags, link = ["-O3", "-g0"], []
# A fused multiplication and addition rounds once, not twice: results would depend on the machine,
# and on whether a value is converted alone or in an array.
flags.append("-ffp-contract=off")

extensions = [
    Extension(
        ".".join(source.with_suffix("").parts[1:]),
        [str(source)],
        extra_compile_args=flags,
        extra_link_args=link,
    )
    for source in sorted(Path("src/tracetime/_kernels").rglob("*.pyx"))
]

setup(
    # One compiler for each processor.
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
    ext_modules=cythonize(
        extensions,
        include_path=["src"],
        compiler_directives={"language_level": "3", "embedsignature": True},
    ),
)
