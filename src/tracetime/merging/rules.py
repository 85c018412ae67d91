"""What rules of messages and of collectives share: how they are written, and asked for in SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_PART: Final = re.compile(r"(\w+)=(\S+)")


def parts_of(text: str) -> dict[str, str] | None:
    """The parts of `NAME=VALUE NAME=VALUE`; None where there is anything else."""
    return None if _PART.sub("", text).strip() else dict(_PART.findall(text))


def quoted(text: str) -> str:
    """A text within the quotes of an SQL literal."""
    return text.replace("'", "''")


def argument_columns(keys: Iterable[str]) -> str:
    """The arguments of these names as SQL columns key0, key1 and so on, each as text."""
    escaped = (quoted(key.replace("\\", "\\\\").replace('"', '\\"')) for key in keys)
    return ", ".join(
        f"""json_extract_string(args, '$."{key}"') as key{n}""" for n, key in enumerate(escaped)
    )
