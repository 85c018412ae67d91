"""Bokeh's figures in an HTML page: a place for each, and its JSON."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tracetime.reporting.markup import Html, data, tag
from tracetime.reporting.plot import Bokeh


class Figures:
    """Bokeh's figures on their way into the page: a place for each, and its JSON."""

    def __init__(self) -> None:
        Bokeh()
        self._document: Any = import_module("bokeh.document").Document
        self._version: str = import_module("bokeh").__version__
        self._blocks: list[Html] = []

    def place(
        self, name: str, figure: Any, told: str, *, zoomable: bool = True, key: Html | None = None
    ) -> Html:
        """Take a figure in; returns where it will be drawn, with its buttons.

        Args:
            name: unique; the id of its place.
            told: the picture in words.
            zoomable: along time, by buttons and keys.
            key: what its lines and marks are.
        """
        target = f"{name}-canvas"
        self._blocks.append(data(self._item(figure, target), class_="figure", data_figure=name))
        panels = getattr(figure, "children", None) or [figure]
        height = sum(panel.height for panel in panels)
        buttons = tag(
            "div",
            (
                tag("button", sign, type="button", data_act=act, data_figure=name,
                    title=says, aria_label=f"{says}: {name}")
                for act, sign, says in (
                    ("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("left", "◀", "Earlier"),
                    ("right", "▶", "Later"), ("reset", "All", "Show all"),
                )
            ),
            class_="tools",
        ) if zoomable else None  # fmt: skip
        return tag(
            "figure",
            tag("div", key, buttons, class_="above") if key or buttons else None,
            tag(
                "div",
                tag("div", id=target, class_="canvas", role="img", aria_label=told),
                class_="frame",
                style=f"min-height:{height}px",
                tabindex="0" if zoomable else None,
                data_keys=name if zoomable else None,
                role="group" if zoomable else None,
                aria_label="Picture; + and − zoom, arrows move, 0 shows all" if zoomable else None,
            ),
            tag("figcaption", told),
            id=name,
        )

    def _item(self, figure: Any, target: str) -> dict[str, Any]:
        """What Bokeh.embed.embed_item takes: bokeh.embed.json_item in a third of its time."""
        document = self._document()
        document.add_root(figure)
        return {
            "target_id": target,
            "root_id": figure.id,
            "doc": document.to_json(deferred=False),
            "version": self._version,
        }

    def blocks(self) -> list[Html]:
        """The JSON of all figures."""
        return self._blocks
