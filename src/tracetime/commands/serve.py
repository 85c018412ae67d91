"""`tracetime serve`: reply to `tracetime ping` of other machines."""

from __future__ import annotations

import sys

import click

from tracetime.commands.help import Command
from tracetime.commands.terminal import echo
from tracetime.errors import UsageError


@click.command("serve", cls=Command)
@click.option(
    "--bind",
    "address",
    metavar="ADDRESS:PORT",
    help="Reply over UDP: 127.0.0.1:9010; port 0 for any free one.",
)
@click.option("--stdio", is_flag=True, help="Reply on the standard output, as `ping ssh://` asks.")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False),
    help="A key of 16 bytes or more that both sides have; nobody else may read the file.",
)
@click.option(
    "--per-second",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="How many replies each address gets.",
)
def command(address: str | None, stdio: bool, key_file: str | None, per_second: int) -> None:
    """Reply to `tracetime ping` of other machines, until Ctrl-C.

    `tracetime ping ssh://HOST` starts it by itself. Over UDP, any address but this machine's own
    (127.0.0.1, ::1) needs a key; replies are never longer than requests.

    \b
    Examples:
      (umask 077; head -c 32 /dev/urandom | base64 > ping.key)
      tracetime serve --bind 192.0.2.7:9010 --key-file ping.key
      tracetime serve --bind 127.0.0.1:9010
    """
    if stdio == (address is not None):
        raise UsageError("give --bind ADDRESS:PORT, or --stdio")
    if stdio:
        _serve_pipes(key_file)
        return
    from tracetime.hosts.addresses import read_key
    from tracetime.hosts.servers import UdpServer

    assert address is not None
    server = UdpServer(address, None if key_file is None else read_key(key_file), per_second)
    echo(f"replying on {server.address}; Ctrl-C ends it", err=True)
    try:
        server.serve()
    finally:
        echo(server.says, err=True)
        server.close()


def _serve_pipes(key_file: str | None) -> None:
    from tracetime.hosts.servers import serve_pipes

    if key_file is not None:
        raise UsageError("--stdio takes no key: ssh has authenticated the other side")
    responder = serve_pipes(sys.stdin.buffer, sys.stdout.buffer)
    if responder.counts.malformed:
        raise UsageError("what came in is no request: let `tracetime ping ssh://HOST` start this")
