"""`tracetime completion`: the script that makes a shell complete `tracetime` on the tab key."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tracetime.commands.terminal import echo


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    For this shell only:
      eval "$(tracetime completion bash)"
    For good:
      tracetime completion bash >> ~/.bashrc
      tracetime completion zsh >> ~/.zshrc
      tracetime completion fish > ~/.config/fish/completions/tracetime.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(ctx.find_root().command, {}, "tracetime", "_TRACETIME_COMPLETE")
    # BashComplete.source() would first run bash to see how old it is; the script is the same.
    echo(script.source_template % script.source_vars())
