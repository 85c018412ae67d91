"""The help of every command: what most need on one screen, and all of it by --help-all."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import click

from tracetime.commands.terminal import echo

_OWN: Final = "Options"

_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    _OWN: (),
    "Output": ("out", "kind", "rows", "as_json"),
    "Filter": ("start", "until"),
    "Tables": ("mapped", "graph", "float_unit"),
    "Error bars": ("policy", "bars", "orders", "max_tubes", "assume_wall_clock", "collective_ends"),
    "Clocks": (
        "name",
        "max_drift_ppm",
        "wander_ppm",
        "assumed_half_width_ns",
        "ns_per_tick",
        "valid_bits",
    ),
    "Limits": ("max_expansion", "max_clocks", "memory", "allow_files"),
}
"""The parameters of each group of options, in all commands; those of no group are the first's."""

_RARE: Final = frozenset(
    {*_GROUPS["Tables"], *_GROUPS["Clocks"], *_GROUPS["Limits"]}
    | {"orders", "max_tubes", "apart", "partial_anyway"}
)
"""Parameters that --help leaves to --help-all."""

_RANGE: Final = re.compile(r"  \[[\d<=]*x[<>]=?\d+\]|; [\d<=]*x[<>]=?\d+(?=\])")
"""The limits of a number, which nobody needs before an error names them."""

_ALL: Final = "tracetime.help_all"
_THREADS: Final = "OPENBLAS_NUM_THREADS"
_WIDEST_NAME: Final = 26


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        echo(ctx.get_help())
        ctx.exit()


class Command(click.Command):
    """A command whose --help is short.

    Of its docstring, what follows a form feed is for --help-all alone.
    """

    loads_numpy = True

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _help_all(self)]

    def invoke(self, ctx: click.Context) -> object:
        if self.loads_numpy:
            _load_numpy()
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        found = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        options = {name: one for one in found for name in one.opts}
        named = args[: args.index("--")] if "--" in args else args
        for name, value in pairwise(named):
            option = options.get(name)
            if option is not None and not option.is_flag and value in options:
                text = f"{name} needs a value, and {value} is an option: {option.help}"
                raise click.UsageError(text, ctx)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        short, _, more = inspect.cleandoc(self.help or "").partition("\f")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(short + more if ctx.meta.get(_ALL) else short.rstrip())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        group_of = {name: title for title, names in _GROUPS.items() for name in names}
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in _GROUPS}
        helps = []
        for param in self.get_params(ctx):
            if not isinstance(param, click.Option) or param.hidden:
                continue
            if param.name in _RARE and not ctx.meta.get(_ALL):
                continue
            record = _record(ctx, param)
            if {"--help", "--help-all"} & {*param.opts}:
                helps.append(record)
            else:
                groups[group_of.get(param.name or "", _OWN)].append(record)
        last = [title for title in groups if groups[title]][-1:] or [_OWN]
        groups[last[0]] += helps
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_WIDEST_NAME)


def _load_numpy() -> None:
    """Load NumPy without the threads of its matrix library, which spin and have nothing to do here.

    Who has set how many there are is obeyed, and so are commands that are started from here.
    """
    if _THREADS not in os.environ:
        os.environ[_THREADS] = "1"
        import numpy  # noqa: F401

        del os.environ[_THREADS]


def _help_all(command: click.Command) -> click.Option:
    rare = any(param.name in _RARE for param in command.params)
    return click.Option(
        ["--help-all"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        hidden=not (rare or "\f" in (command.help or "")),
        callback=_show_all,
        help="Show all there is to say, and all options.",
    )


def _record(ctx: click.Context, option: click.Option) -> tuple[str, str]:
    """An option by its short name and its first long one, and its help."""
    head, text = option.get_help_record(ctx) or ("", "")
    _, _, value = head.rpartition(", ")[2].partition(" ")
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    value = value.removesuffix(" RANGE")
    short = [name for name in option.opts if not name.startswith("--")]
    long = [name for name in option.opts if name.startswith("--")]
    names = ", ".join(short[:1] + long[:1])
    return f"{names} {value}".rstrip(), _RANGE.sub("", text)
