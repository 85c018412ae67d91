"""Types of values printed as JSON, where Python's say less: ranges of numbers, choices of words.

The members of a class are annotated with them. They are loaded when schemas are made, and by type
checkers: no command needs them, nor msgspec for them.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from tracetime.errors import REASONS

Count = Annotated[int, Meta(ge=0)]
"""A whole number from 0. An `int` is one of 64 bits: a time, or a difference of times."""

FromOne = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0)]
NotEmpty: Final = Meta(min_length=1)

IsoTime = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$")
]
Status = Annotated[str, Meta(extra_json_schema={"enum": list(REASONS)})]
FindingCode = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/finding_code"})]
LeftOutReason = Annotated[str, Meta(extra_json_schema={"$ref": "#/$defs/left_out_reason"})]
FaultCode = Annotated[str, Meta(pattern="^[a-z_]+$")]
