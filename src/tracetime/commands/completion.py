"""`tracetime completion`: the script by which a shell completes `tracetime` on the tab key."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tracetime.commands.help import Command
from tracetime.commands.terminal import echo


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes tracetime in SHELL.

    \b
    For this shell only:
      eval "$(tracetime completion bash)"
    For all later shells:
      tracetime completion bash >> ~/.bashrc
      tracetime completion zsh >> ~/.zshrc
      tracetime completion fish > ~/.config/fish/completions/tracetime.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(ctx.find_root().command, {}, "tracetime", "_TRACETIME_COMPLETE")
    # Not by source(), which for bash first runs bash to check its version.
    echo(script.source_template % script.source_vars())


command.loads_numpy = False
