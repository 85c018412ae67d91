"""What a file says of itself beside its events: its clock, and where it is from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracetime.clocks.snapshot import INT64_MAX

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_KINETO: Final = ("baseTimeNanoseconds", "deviceProperties", "distributedInfo")


@dataclass(frozen=True, slots=True)
class FileValues:
    """The values beside the events, by key.

    Attributes:
        values: as JSON; what is none, or longer than 1 MiB, is left out.
    """

    values: Mapping[str, Json]

    @classmethod
    def parse(cls, raw: Sequence[tuple[bytes, bytes, int]]) -> FileValues:
        """Of (key, text, offset), as the scanner has them; of a key twice, the last one counts."""
        values: dict[str, Json] = {}
        for key, text, _ in raw:
            try:
                values[key.decode(errors="replace")] = json.loads(text.decode(errors="replace"))
            except (ValueError, RecursionError):
                continue
        return cls(values)

    def text(self, key: str, within: str) -> str | None:
        """A text in an object."""
        outer = self.values.get(within)
        value = outer.get(key) if isinstance(outer, dict) else None
        return value if isinstance(value, str) else None

    def number(self, key: str, within: str | None = None) -> int | None:
        """An integer, at the top or in an object."""
        outer = self.values if within is None else self.values.get(within)
        value = outer.get(key) if isinstance(outer, Mapping) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def is_kineto(self) -> bool:
        """Whether PyTorch's profiler wrote the file."""
        return any(key in self.values for key in _KINETO)

    @property
    def base_ns(self) -> int | None:
        """What PyTorch's profiler has taken off each time, ns; None where it cannot be read.

        A program that writes the file anew may have made a text of it, which counts as well, or
        a float, which has lost digits.
        """
        value = self.values.get("baseTimeNanoseconds", 0)
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
        devices = self.values.get("deviceProperties")
        if isinstance(devices, list):
            names = Counter(
                one["name"]
                for one in devices
                if isinstance(one, dict) and isinstance(one.get("name"), str)
            )
            parts += [f"{count} x {name}" for name, count in names.items()]
        return ", ".join(parts)
