"""Bokeh's figures in an HTML page: an element for each, and its JSON."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

from tracetime.reporting.markup import Html, data, tag
from tracetime.reporting.models import Model, document

# The action of page.js, the sign on the button, and its label.
_BUTTONS: Final = (
    ("in", "+", "Zoom in"),
    ("out", "−", "Zoom out"),
    ("left", "◀", "Earlier"),
    ("right", "▶", "Later"),
    ("reset", "All", "Show all"),
)


class Figures:
    """The figures of a page: `place` returns the element of each, `blocks` their JSON."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._blocks: list[Html] = []

    def place(
        self,
        name: str,
        figure: Model,
        caption: str,
        readout: dict[str, Any],
        *,
        zoomable: bool = True,
        key: Html | None = None,
    ) -> Html:
        """Add a figure; return the element it is drawn into, with its buttons.

        Args:
            name: the unique id of the element.
            figure: of one panel, or a column of them.
            caption: the picture in words.
            readout: what readout.js says at a place.
            zoomable: whether buttons and keys zoom it along time.
            key: the legend of its lines and marks.
        """
        target = f"{name}-canvas"
        doc = document(figure, self._numbers)
        item = {"target_id": target, "root_id": doc["roots"][0]["id"], "doc": doc}
        drawn = {"item": item, "readout": readout}
        self._blocks.append(data(drawn, class_="figure", data_figure=name))
        panels = vars(figure).get("children", [figure])
        height = sum(panel.height for panel in panels)
        buttons = _buttons(name) if zoomable else None
        return tag(
            "figure",
            tag("div", key, buttons, class_="above") if key or buttons else None,
            tag(
                "div",
                tag("div", id=target, class_="canvas", role="img", aria_label=caption),
                class_="frame",
                style=f"min-height:{height}px",
                tabindex="0",
                data_keys=name if zoomable else None,
                role="group",
                aria_label="Picture; comma and full stop read its values"
                + ("; + and − zoom, arrows move, 0 shows all" if zoomable else ""),
            ),
            tag("figcaption", caption),
            id=name,
        )

    def blocks(self) -> list[Html]:
        """Return the JSON of all figures."""
        return self._blocks


def _buttons(name: str) -> Html:
    """Return the buttons that zoom and move a figure."""
    buttons = [
        tag(
            "button",
            sign,
            type="button",
            data_act=act,
            data_figure=name,
            title=label,
            aria_label=f"{label}: {name}",
        )
        for act, sign, label in _BUTTONS
    ]
    return tag("div", buttons, class_="tools")
