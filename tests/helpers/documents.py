"""The code blocks of README.md and docs/, and how to run them.

docs/inside/pages.md says what the marks mean.

A block is run as a reader would: in the order of its page, in a directory of the page's own that
has `demo/` and `docs/schemas/` in it, commands by bash, Python in one namespace.
"""

import ast
import builtins
import contextlib
import difflib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

from opencl_device import has_opencl
from places import ROOT
from platforms import has_bt2
from vulkan import has_device

from tools import console_blocks

LIMIT_S = 600
"""No command and no block of Python takes longer, or it hangs."""

LANGUAGES = ("python", "console", "json", "text", "")
"""What a fence may say; the first two are run."""

_MARK = re.compile(r"<!-- (not run|varies|exit code|needs): (.+?) -->")
_FENCE = re.compile(r"```(\w*)$")


def pages():
    """README.md and every page below docs, as paths from the root."""
    top = ("README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")
    found = [*(ROOT / name for name in top), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


@dataclass(frozen=True)
class Block:
    """One fenced block, and the marks that stand right before it."""

    page: Path
    line: int  # of its first line within the fence
    language: str
    text: str
    marks: dict[str, str]

    @property
    def runs(self):
        return self.language in ("python", "console") and "not run" not in self.marks

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def blocks(page, text):
    """The fenced blocks of a page, in order; AssertionError for a fence that is not understood."""
    found, marks, inside, taken = [], {}, None, []
    for number, line in enumerate(text.splitlines(), 1):
        if inside is not None:
            if line == "```":
                start, language = inside
                found.append(Block(page, start, language, "\n".join(taken) + "\n", marks))
                inside, marks = None, {}
            else:
                taken.append(line)
        elif fence := _FENCE.match(line):
            inside, taken = (number + 1, fence[1]), []
        elif mark := _MARK.fullmatch(line):
            marks[mark[1]] = mark[2]
        elif line.strip():
            assert "```" not in line, f"{page}:{number}: a fence does not start its line"
            assert not marks, f"{page}:{number}: a mark is before no block"
    assert inside is None, f"{page}: the last block does not end"
    return found


# Commands


def commands(block):
    """The commands of a console block, each with the lines expected below it."""
    try:
        return console_blocks.commands(block.text)
    except ValueError as error:
        raise AssertionError(f"{block.place}: {error}") from None


def run_console(block, directory):
    """Run a console block and compare what it shows; `make` targets need only exist."""
    listed = commands(block)
    for k, (command, expected) in enumerate(listed):
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            missing = set(words[1:]) - make_targets()
            assert not missing, f"{block.place}: no such target of make: {missing}"
            continue
        code, output = _shell(command, directory)
        exit_code = int(block.marks.get("exit code", 0)) if k == len(listed) - 1 else 0
        assert code == exit_code, f"{block.place}: $ {command}\nended with {code}\n{output}"
        if expected:
            difference = differs(expected, output.splitlines(), block.marks.get("varies"))
            assert difference is None, f"{block.place}: $ {command}\n{difference}"


def make_targets():
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def _shell(command, directory):
    """Run a command as typed in a terminal of 80 columns; returns its exit code and its output."""
    here = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",  # standard output and error in the order written
    }
    with subprocess.Popen(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output


def differs(expected, real, varies=None):
    """How output differs from what a page shows, as text; None where it does not.

    A line `...` matches any lines. varies: units whose numbers may differ ("kB, s"), or
    "numbers" for all; spaces and rules of tables are then of any length.
    """
    loose = _loosened(varies)
    want, got = [loose(line) for line in expected], [loose(line) for line in real]
    while want and not want[-1]:
        want.pop()
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n" for line in want
    )
    text = "".join(f"{line}\n" for line in got)
    if re.fullmatch(pattern + r"\n*", text):
        return None
    return "\n".join(difflib.unified_diff(want, got, "expected", "real", lineterm="", n=1))


_NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)*"
_UNITS = ("ns", "us", "ms", "s", "min", "h", "d", "B", "kB", "MB", "ppm")


def _loosened(varies):
    if varies is None:
        return str.rstrip
    if varies == "numbers":
        units = rf"(?: (?:{'|'.join(_UNITS)})\b)?"
    else:
        units = rf" (?:{'|'.join(map(re.escape, varies.split(', ')))})\b"
    number = re.compile(rf"(?<![\w.]){_NUMBER}{units}(?![\w]|\.\d)")

    def loosen(line):
        line = number.sub("#", line.rstrip())
        line = re.sub(r"#(?: #)+", "#", line)  # 3 h 25 min and 12 s are one length of time
        return re.sub(r"-{2,}", "--", re.sub(r" +", " ", line))

    return loosen


# Python


def run_python(block, namespace, directory):
    """Execute a block in a page's namespace; expressions followed by `# value` must have it."""
    tree = ast.parse(block.text)
    tree = ast.fix_missing_locations(_Checked(_comments(block.text)).visit(tree))
    ast.increment_lineno(tree, block.line - 1)
    namespace |= {"_shows": _shows, "_prints": _prints}
    with contextlib.chdir(directory), _time_limit(), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, str(block.page), "exec"), namespace)


def _comments(text):
    """The comments that follow code, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip()
    }


class _Checked(ast.NodeTransformer):
    """Hands the value of `expression  # value`, and what `print(...)  # text` says, to a check."""

    def __init__(self, comments):
        self._comments = comments

    def visit_Expr(self, node):
        comment = self._comments.get(node.end_lineno)
        if comment is None:
            return node
        call = node.value
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print":
            checked = ast.Call(ast.Name("_prints", ast.Load()), call.args, call.keywords)
            checked.args = [ast.Constant(comment), *call.args]
        elif (value := claimed(comment)) is not None:
            checked = ast.Call(ast.Name("_shows", ast.Load()), [ast.Constant(value), call], [])
        else:
            return node
        return ast.copy_location(ast.Expr(ast.copy_location(checked, call)), node)


def claimed(comment):
    """The value at the head of a comment, as text: a literal, or `array(...)` and its like.

    It ends at the first ": ". None for prose.
    """
    for text in (comment, comment.split(": ")[0]):
        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        if isinstance(node, ast.Call) or _literal(text):
            return text
    return None


def _literal(text):
    try:
        ast.literal_eval(text)
    except ValueError:
        return False
    return True


def _shows(text, value):
    printed = re.sub(r"\s+", " ", repr(value))
    if printed != text and not (_literal(text) and ast.literal_eval(text) == value):
        raise AssertionError(f"the page says {text}, and it is {printed}")


def _prints(text, *values, **options):
    printed = io.StringIO()
    builtins.print(*values, **options, file=printed)
    if printed.getvalue().strip() != text:
        raise AssertionError(f"the page says {text}, and it prints {printed.getvalue().strip()}")


@contextlib.contextmanager
def _time_limit():
    def stop(*_):
        raise TimeoutError(f"longer than {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def missing(block):
    """What a block needs and this machine lacks; None where it can run."""
    needs = block.marks.get("needs")
    known = {"vulkan": has_device, "opencl": has_opencl, "babeltrace2": has_bt2}
    assert needs is None or needs in known, f"{block.place}: it needs {needs}, which nobody knows"
    return needs if needs and not known[needs]() else None


def run_page(page, directory, text=None):
    """Run all blocks of a page that are to be run, in order, where the machine has what they need."""
    text = (ROOT / page).read_text() if text is None else text
    shutil.copytree(ROOT / "demo", directory / "demo", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs" / "schemas", directory / "docs" / "schemas")
    namespace = {"__name__": "__main__"}
    for block in blocks(page, text):
        if not block.runs or missing(block):
            continue
        if block.language == "console":
            run_console(block, directory)
            continue
        try:
            run_python(block, namespace, directory)
        except Exception as error:
            error.add_note(f"in the block at {block.place}")
            raise
