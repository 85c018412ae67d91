"""The version, written here once; pyproject.toml and `tracetime --version` read it."""

from typing import Final

__version__: Final = "0.1.0.dev0"
