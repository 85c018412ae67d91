"""`tracetime open`: open a trace in the Perfetto UI."""

from __future__ import annotations

import click

from tracetime.commands import CHECK_FAILED, DONE
from tracetime.commands.options import Seconds, json_option
from tracetime.commands.show import print_json
from tracetime.commands.terminal import echo


@click.command("open")
@click.argument("trace", type=click.Path())
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
    help="Exit with 1 if the UI has not fetched the trace by then: 500ms, or seconds.",
)
@click.option(
    "--ui",
    metavar="URL",
    help="Another UI than https://ui.perfetto.dev. Only this UI may read the trace.",
)
@json_option
def command(
    trace: str, no_browser: bool, timeout: float | None, ui: str | None, as_json: bool
) -> int:
    """Open TRACE in the Perfetto UI.

    The trace is served on 127.0.0.1, port 9001 (the only one that the UI fetches from), until the
    UI has fetched it. Nothing is uploaded, and no other file is served. Ctrl-C ends it.

    \b
    Examples:
      tracetime open trace.pftrace
      tracetime open trace.pftrace --no-browser --timeout 60
    """
    from tracetime.serve import UI, serving

    with serving(trace, ui=ui or UI) as served:
        if as_json:
            print_json({"trace": trace, "url": served.url, "link": served.link})
        else:
            echo(served.link)
        if not (no_browser or _browse(served.link)):
            echo("no browser could be started: open the link above", err=True)
        if not served.wait(timeout):
            echo(f"the UI did not fetch the trace within {timeout:g} s", err=True)
            return CHECK_FAILED
        if not as_json:
            echo("The UI has fetched the trace.")
    return DONE


def _browse(link: str) -> bool:
    import webbrowser

    return webbrowser.open_new_tab(link)
