"""What a file says of itself beside its events: its clock, and where it is from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from tracetime.clocks.snapshot import INT64_MAX

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_KINETO: Final = ("baseTimeNanoseconds", "deviceProperties", "distributedInfo")


class FileValues:
    """The values beside the events, by key; each is decoded once it is asked for.

    What is no JSON, or longer than 1 MiB, is left out.

    Args:
        raw: (key, text, offset), as the scanner has them; of a key twice, the last one counts.
    """

    def __init__(self, raw: Sequence[tuple[bytes, bytes, int]]) -> None:
        self._texts = {key.decode(errors="replace"): text for key, text, _ in raw}

    @cached_property
    def values(self) -> Mapping[str, Json]:
        """All of them."""
        return {key: found[0] for key in self._texts if (found := self._found(key))}

    def _found(self, key: str) -> tuple[Json] | tuple[()]:
        """A value at the top; nothing where there is none."""
        if key not in self._texts:
            return ()
        try:
            return (json.loads(self._texts[key].decode(errors="replace")),)
        except (ValueError, RecursionError):
            return ()

    def _get(self, key: str) -> Json:
        return next(iter(self._found(key)), None)

    def text(self, key: str, within: str) -> str | None:
        """A text in an object."""
        outer = self._get(within)
        value = outer.get(key) if isinstance(outer, dict) else None
        return value if isinstance(value, str) else None

    def number(self, key: str, within: str | None = None) -> int | None:
        """An integer, at the top or in an object."""
        outer = {key: self._get(key)} if within is None else self._get(within)
        value = outer.get(key) if isinstance(outer, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def is_kineto(self) -> bool:
        """Whether PyTorch's profiler wrote the file."""
        return any(self._found(key) for key in _KINETO)

    @property
    def base_ns(self) -> int | None:
        """What PyTorch's profiler has taken off each time, ns; None where it cannot be read.

        A program that writes the file anew may have made a text of it, which counts as well, or
        a float, which has lost digits.
        """
        value = next(iter(self._found("baseTimeNanoseconds")), 0)
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > INT64_MAX:
            return None
        return value

    @property
    def about(self) -> str:
        """The rank and the devices of a job of PyTorch: rank 0 of 128 (nccl), 8 x NVIDIA A100."""
        parts = []
        rank, ranks = (self.number(key, "distributedInfo") for key in ("rank", "world_size"))
        if rank is not None:
            backend = self.text("backend", "distributedInfo")
            of = "" if ranks is None else f" of {ranks}"
            parts.append(f"rank {rank}{of}" + (f" ({backend})" if backend else ""))
        devices = self._get("deviceProperties")
        if isinstance(devices, list):
            names = Counter(
                one["name"]
                for one in devices
                if isinstance(one, dict) and isinstance(one.get("name"), str)
            )
            parts += [f"{count} x {name}" for name, count in names.items()]
        return ", ".join(parts)
