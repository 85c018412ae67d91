"""Console blocks of the documentation: what is a command in them, and what is output.

MkDocs loads this file as a hook: commands are coloured in all their lines, copy buttons copy
commands alone, and blocks that hold no program have none.
"""

from __future__ import annotations

import html
import re
import shlex
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashLexer

_BLOCK = re.compile(r'<div class="language-(\w+) highlight">(.*?)</div>', re.S)
_CODE = re.compile(r"<code[^>]*>(.*?)</code>", re.S)
_TAG = re.compile(r"<[^>]*>")


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the lines of output below it.

    Raises:
        ValueError: there is output before the first command.
    """
    found: list[tuple[str, list[str]]] = []
    open_ended = False
    for line in text.splitlines():
        if open_ended:
            command, _ = found.pop()
            found.append((f"{command}\n{line}", []))
        elif line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
            continue
        else:
            raise ValueError("output before the first command")
        open_ended = not _whole(found[-1][0])
    return found


def _whole(command: str) -> bool:
    """Whether a shell would run it, rather than ask for more."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return not command.endswith("\\")


def on_page_content(content: str, **_: Any) -> str:
    """Hook of MkDocs: return the HTML of a page, its console blocks coloured and ready to copy."""
    return _BLOCK.sub(_for_readers, content)


def _for_readers(block: re.Match[str]) -> str:
    language, inside = block.groups()
    if language == "console":
        code = _CODE.search(inside)
        assert code is not None, "a block without code"
        found = commands(html.unescape(_TAG.sub("", code[1])))
        copied = html.escape("\n".join(command for command, _ in found))
        shown = "".join(_coloured(command, output) for command, output in found)
        inside = inside[: code.start(1)] + shown + inside[code.end(1) :]
        return f'<div class="language-console highlight" data-copy="{copied}">{inside}</div>'
    if language == "text":
        return f'<div class="language-text highlight no-copy">{inside}</div>'
    return block[0]


def _coloured(command: str, output: list[str]) -> str:
    """A command, all its lines as code, and its output."""
    code = highlight(command, BashLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")
    below = html.escape("\n".join(output), quote=False)
    return f'<span class="gp">$ </span>{code}\n' + (
        f'<span class="go">{below}</span>\n' if output else ""
    )
