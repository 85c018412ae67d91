"""Random Chrome JSON: slices of threads and asynchronous ones, instants, counters, flows, names.

`chrome_json(random.Random(seed))` gives the text of a seed. Events come in any order of time; names are
few, so that ends name outer slices and slices lie in others of their name. No `id2.global` is a text: the
engine of v52 holds such a one for another than the same text as an `id`; newer ones do not.
"""

from __future__ import annotations

from random import Random
from typing import Any

from json_slicing import document, event

_OWNERS = ((1, 1), (1, 2), (2, 3), (2, 0), (3, "worker"), ("app", 4))
_NAMES = ("a", "b", "c", "", None)
_CATEGORIES = ("x", "y", "x,y", None)
_IDS = (1, 2, "0x1", "2", "zz")


def chrome_json(some: Random) -> str:
    """The text of a trace."""
    kinds = some.choice(("XsfC", "BEBEsftI", "BEXstf", "XBEbensttffCi", "bensf", "BEX"))
    pace = some.choice((1, 4, 40))
    owners = some.sample(_OWNERS, some.choice((1, 2, 6)))
    events = [
        _event(some, some.choice(kinds), pace, some.choice(owners))
        for _ in range(some.choice((10, 30, 80)))
    ]
    names = [_name(some) for _ in range(some.randrange(4))]
    return document(*names, *events)


def _event(some: Random, phase: str, pace: int, owner: tuple[Any, Any]) -> str:
    fields: dict[str, Any] = {"pid": owner[0], "tid": owner[1], "cat": some.choice(_CATEGORIES)}
    name = some.choice(_NAMES)
    if phase == "X":
        fields["dur"] = some.randrange(10 * pace) / 4
    if phase in "bensft":
        kind = "id" if phase in "sft" else some.choice(("id", "id", "local", "global"))
        fields |= (
            {"id": some.choice(_IDS)} if kind == "id" else {"id2": {kind: some.choice((1, 2))}}
        )
        fields["cat"] = fields["cat"] or "x"
    if phase == "f":
        fields["bp"] = some.choice(("e", None))
    if phase in "XBbn" and some.random() < 0.3:
        fields["bind_id"] = some.choice((1, "0x12", "0x7"))
        fields |= {key: some.random() < 0.5 for key in ("flow_out", "flow_in")}
    if phase in "iI":
        fields["s"] = some.choice("gpt")
    if phase == "C":
        return event(phase, some.randrange(400) / 4, name or "mem", **fields, args=_values(some))
    if some.random() < 0.4 and phase not in "sft":
        fields["args"] = _arguments(some, "nm" if phase in "Ee" else "nmli")
    return event(phase, some.randrange(100 * pace) / 4, name, **fields)


def _values(some: Random) -> dict[str, Any]:
    values = (1, 2.5, "3.5", "x", 7)
    return {key: some.choice(values) for key in some.sample(("value", "used", "free"), 2)}


def _arguments(some: Random, keys: str) -> dict[str, Any]:
    """Begins and ends of one slice have their arguments together: a key is of one kind."""
    kinds = {"n": (1, -2, 2.5), "m": ("text", "", True), "l": ([1, "b"],), "i": ({"side": 3},)}
    return {key: some.choice(kinds[key]) for key in some.sample(keys, 2)}


def _name(some: Random) -> str:
    pid, tid = some.choice(_OWNERS)
    kind = some.choice(("thread_name", "process_name"))
    args = {"name": some.choice(("main", "pool", "renderer"))}
    return event("M", None, kind, pid=pid, tid=tid, args=args)
