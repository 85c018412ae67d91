"""Models of BokehJS, each as what is set of it: Bokeh's own take longer to make than all else.

`document` is the JSON of them that Bokeh writes, less what BokehJS has by default.
"""

from __future__ import annotations

import gzip
import math
from base64 import b64encode
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tracetime.errors import UsageError


class Model:
    """A model of a kind: its attributes are those of BokehJS that are set."""

    __slots__ = ("__dict__", "kind")

    def __init__(self, kind: str, /, **attributes: Any) -> None:
        self.kind = kind
        vars(self).update(attributes)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class Column(str):
    """The name of the column of the data that has a value for each point."""

    __slots__ = ()


def check_bokeh() -> Path:
    """Return the folder of Bokeh, which is not loaded.

    Raises:
        UsageError: it is not installed.
    """
    found = find_spec("bokeh")
    if found is None or found.origin is None:
        raise UsageError(
            "pictures need Bokeh, which is not installed: pip install 'tracetime[report]'"
        )
    return Path(found.origin).parent


def bokeh_js() -> str:
    """Return BokehJS' core, minified; widgets and TeX are not used."""
    return (check_bokeh() / "server" / "static" / "js" / "bokeh.min.js").read_text("utf-8")


def document(root: Model, numbers: Iterator[int]) -> dict[str, Any]:
    """Return the JSON of a document, whose models have ids by these numbers."""
    roots = [_json(root, {}, numbers)]
    return {"version": version("bokeh"), "title": "tracetime", "roots": roots}


def as_bokeh(root: Model) -> Any:
    """Return a model of Bokeh's own, checked by it."""
    check_bokeh()
    import_module("bokeh.plotting")
    reader = import_module("bokeh.core.serialization").Deserializer()
    return reader.deserialize(_json(root, {}, count(1)))


_FINITE: Final = {math.inf: "+inf", -math.inf: "-inf"}


def _json(what: Any, known: dict[int, str], numbers: Iterator[int]) -> Any:
    """Return a value as Bokeh writes it; known: the ids of models that are written."""
    if isinstance(what, Model):
        if id(what) in known:
            return {"id": known[id(what)]}
        known[id(what)] = name = f"p{next(numbers)}"
        attributes = {key: _json(one, known, numbers) for key, one in vars(what).items()}
        return {"type": "object", "name": what.kind, "id": name, "attributes": attributes}
    if isinstance(what, np.ndarray):
        packed = gzip.compress(what.astype("<f8").tobytes(), 6, mtime=0)
        data = {"type": "bytes", "data": b64encode(packed).decode()}
        form = {"shape": list(what.shape), "dtype": "float64", "order": "little"}
        return {"type": "ndarray", "array": data, **form}
    if isinstance(what, Column):
        return {"type": "field", "field": str(what)}
    if isinstance(what, dict):
        entries = [[key, _json(one, known, numbers)] for key, one in what.items()]
        return {"type": "map", "entries": entries}
    if isinstance(what, (list, tuple)):
        return [_json(one, known, numbers) for one in what]
    if isinstance(what, float) and not math.isfinite(what):
        return {"type": "number", "value": _FINITE.get(what, "nan")}
    return what
