"""The native kernels; everything else about the project stands in pyproject.toml."""

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
# Else machines that can fuse a multiplication and an addition round otherwise than those that
# cannot, and a value in a long array otherwise than one alone.
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
    ext_modules=cythonize(
        extensions,
        include_path=["src"],
        compiler_directives={"language_level": "3", "embedsignature": True},
    )
)
