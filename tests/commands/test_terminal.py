"""Nothing that a file, a name or an argument says acts on a terminal, or passes for a line of ours.

On a pseudo-terminal, for every command, stdout and stderr.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import re
import subprocess
import zipfile
from importlib import import_module
from pathlib import Path

import click
import pytest
from building import event, packet, pb, snapshot, trace, varint
from captures import Capture
from hypothesis import given
from hypothesis import strategies as st
from journals import entry
from recorded import EXTENSION, EXTENSION_FIELD
from span_files import jaeger, jaeger_process, jaeger_span, otlp, resource_spans, span
from xdf_files import XdfFile

from tracetime import commands
from tracetime.commands import SUBCOMMANDS, run
from tracetime.commands.terminal import echo
from tracetime.text import printable

pytest_plugins = ["cli", "terminals"]

MONOTONIC, BOOTTIME = 3, 6
GLOBAL = 0x8A01B2C3
HOSTILE = (
    'x"\x1b]0;title\x07\x1b[2J\x1b[8m\u202e\u2066\u200b\ufeff\x9b31m\x7f\x85\u2028\u2029'
    "\nINJECTED\rINJECTED"
)
"""A title, a bell, a cleared screen, hidden and turned text, nothing that is seen, controls of C1,
DEL, lines of its own."""

NAME = HOSTILE.replace("/", "")
ACTS = re.compile(
    "[\x07\x08\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    "|\x1b\\]|\x1b\\[2J|\x1b\\[8m|(?m:^INJECTED)|\rINJ"
)


def acts(text):
    """What acts on a terminal, of a text as it came from one: line ends are CR LF there."""
    return ACTS.findall(text.replace("\r\n", "\n"))


def named_clock_trace():
    """A recording whose extension gives a clock, and whose packets give an event, that name."""
    domain = EXTENSION["Domain"](clock_id=GLOBAL, name=HOSTILE, max_drift_ppm=10.0)
    extension = EXTENSION["TracetimeSnapshot"](domains=[domain]).SerializeToString()
    readings = snapshot({BOOTTIME: 1000, MONOTONIC: 1000, GLOBAL: 5}).SerializeToString()
    tag = varint(EXTENSION_FIELD << 3 | 2) + varint(len(extension))
    back = snapshot({BOOTTIME: 3000, MONOTONIC: 3000, GLOBAL: 2})
    track = pb.TrackDescriptor(uuid=1, name=HOSTILE)
    body = pb.TrackEvent(type=3, name=HOSTILE, track_uuid=1)
    return trace(
        readings + tag + extension,
        back,
        packet(seq=1, track_descriptor=track),
        packet(1001, MONOTONIC, 1, track_event=body),
        event(6, GLOBAL),
        event(7, 777),
    )


CUT_OFF = named_clock_trace()[:-3]


TABLE = f"{NAME}.csv"
COLUMN = HOSTILE.replace('"', "'").partition("\n")[0]


@pytest.fixture
def path(write, tmp_path):
    (tmp_path / TABLE).write_text(f'"{COLUMN}",name\n1000,"{COLUMN}"\n', newline="")
    return write(named_clock_trace(), f"{NAME}.pftrace")


READING = [
    (("convert", "{}", "-o", f"{NAME}.csv", "--with-names"), 0),
    (("convert", "{}", "-o", "o.csv", "--json"), 0),
    (("convert", "{}", "-o", f"{NAME}/o.csv"), 2),
    (("convert", "{}", "-o", "-", "--format", "csv", "--with-names"), 0),
    (("convert", "{}", "-o", "-", "--format", "csv", "--slices"), 0),
    (("convert", TABLE, "-o", "-", "--format", "csv", "--map", f"{COLUMN}:MONOTONIC", "--graph", "{}"), 0),
    (("convert", TABLE, "-o", "-", "--format", "csv", "--map", f"no{NAME}:{HOSTILE}", "--graph", "{}"), 2),
    (("bake", "{}", "-o", "-"), 2),
    (("report", "{}", "-o", "-"), 0),
    (("clocks", "{}"), 0),
    (("clocks", "{}", "--dot"), 0),
    (("clocks", "{}", "--json"), 0),
    (("at", "{}", "5", "--from", hex(GLOBAL)), 1),
    (("at", "{}", "5", "--to", hex(GLOBAL)), 0),
    (("at", "{}", "1001", "--from", "MONOTONIC", "--to", hex(GLOBAL), "--policy", "tube"), 0),
    (("doctor", "{}", "-v"), 0),
    (("doctor", "{}", "--json"), 0),
    (("doctor", "{}", "missing-" + NAME), None),
    (("report", "{}"), 0),
    (("bake", "{}", "-o", f"{NAME}.pftrace"), None),
    (("merge", "{}", "{}"), None),
    (("split", "{}", "-o", NAME), None),
    (("fleet", "doctor", "{}", f"{NAME}.txt", "-o", NAME), 2),
    (("fleet", "doctor", "{}", "-o", NAME), 0),
    (("fleet", "summary", NAME), 2),
    (("sql", "{}", "select *, 1 as \"" + HOSTILE.replace('"', '""') + '" from events', "--with-names"), 0),
    (("sql", "{}", "select name, args, [name] l from events", "--with-names", "--format", "csv"), 0),
    (("sql", "{}", "select name, 1 as \"" + HOSTILE.replace('"', '""') + '" from events', "--with-names",
      "--format", "csv"), 0),
    (("sql", "{}", "from clocks", "--json"), 0),
    (("sql", "{}", "select error(name) from events where name <> ''", "--with-names"), 2),
    (("sql", "{}", "select name::int from events where name <> ''", "--with-names"), 2),
    (("sql", "{}", "from clocks where name = '" + HOSTILE), 2),
    (("open", "{}", "--no-browser", "--timeout", "0.1"), None),
    (("record", "-o", f"{NAME}.rec", "--duration", "50ms", "--clock", "MONOTONIC"), 0),
    (("record", "-o", "r", "--clock", "MONOTONIC", "--", NAME), 127),
    (("record", "-o", "r", "--clock", "MONOTONIC", "--", "{}"), 126),
    (("calibrate", "--clock", HOSTILE), None),
    (("watch", "-n", "1", "--clock", HOSTILE), None),
    (("watch", "-n", "1", "--clock", "MONOTONIC", "--clock", "REALTIME"), 0),
    (("now", "--source", HOSTILE), 2),
    (("ping", HOSTILE), 2),
    (("serve", "--bind", HOSTILE), 2),
    (("completion", HOSTILE), 2),
    ((HOSTILE,), 2),
    (("--" + HOSTILE,), 2),
]  # fmt: skip


LIVE = {"open", "record", "calibrate", "watch", "ping", "serve", "now"}


@pytest.mark.parametrize(
    "words",
    [
        words
        for words, _ in READING
        if words[0] not in LIVE and "csv" not in words and words[0::3] != ("bake", "-")
    ],
    ids=lambda words: " ".join(words)[:40].encode("unicode_escape").decode(),
)
def test_no_name_goes_through_a_pipe_to_a_terminal(capsys, monkeypatch, path, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    run([word.format(path) if word == "{}" else word for word in words])
    assert acts("".join(capsys.readouterr())) == []


# After the test above: a fork finds what that has imported.
@pytest.mark.parametrize(
    "command", READING, ids=lambda c: " ".join(c[0])[:40].encode("unicode_escape").decode()
)
def test_nor_does_one_act_on_a_terminal(terminal, path, command):
    words, code = command
    text = terminal(*(word.format(path) if word == "{}" else word for word in words), code=code)
    assert text
    assert acts(text) == []


def test_every_command_is_run_on_a_terminal():
    assert {words[0] for words, _ in READING} >= set(SUBCOMMANDS)


def hostile_archive():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{NAME}1.pftrace", named_clock_trace())
        archive.writestr(f"{NAME}2.pftrace", named_clock_trace())
        archive.writestr(f"{NAME}.txt", "no trace")
    return made.getvalue()


def hostile_capture():
    capture = Capture()
    data = capture.section() + capture.interface(name=HOSTILE) + capture.packet(1_000_000)
    return data + capture.interface(name=HOSTILE) + capture.packet(500, on=1)


def hostile_streams():
    file = XdfFile()
    for number in (1, 2):
        # XML holds fewer characters.
        name = "".join(c for c in HOSTILE if c >= " " or c in "\r\n")
        file.stream(number, name=name, hostname=f"{name}{number}")
        file.samples(number, [1.0, None], [1, 2])
    return file.content


def hostile_process(n):
    return jaeger_process(f"{HOSTILE}{n}", hostname=f"{HOSTILE}{n}")


KINDS = {
    "threads.json": lambda: json.dumps(
        {"traceEvents": [
            {"ph": "M", "pid": 1, "tid": 2, "name": what, "args": {"name": HOSTILE}}
            for what in ("process_name", "thread_name")
        ] + [{"ph": "X", "ts": 5, "dur": 3, "pid": 1, "tid": 2, "name": HOSTILE, "cat": HOSTILE,
              "args": {HOSTILE: HOSTILE}}]}
    ).encode(),
    "otlp.json": lambda: otlp(*(
        resource_spans([span(n, 10**18 + n, 10**18 + 1000 + n, name=HOSTILE)],
                       host_name=f"{HOSTILE}{n}", service_name=f"{HOSTILE}{n}")
        for n in (1, 2)
    )),
    "jaeger.json": lambda: jaeger(
        ([jaeger_span(n, 10**15 + n, 50, process=f"p{n}", operationName=HOSTILE) for n in (1, 2)],
         {f"p{n}": hostile_process(n) for n in (1, 2)})
    ),
    "archive.zip": hostile_archive,
    "streams.xdf": hostile_streams,
    "capture.pcapng": hostile_capture,
    "journal.export": lambda: entry(
        {"__REALTIME_TIMESTAMP": 10**15, "__MONOTONIC_TIMESTAMP": 10**6, "_BOOT_ID": "0" * 32,
         "_HOSTNAME": HOSTILE, "SYSLOG_IDENTIFIER": HOSTILE, "MESSAGE": HOSTILE}, binary=True
    ),
    "events.csv": lambda: f'clock,ts,name\n"{COLUMN}",1000,"{COLUMN}"\n'.encode(),
}  # fmt: skip
"""A file of each kind that gives hostile names to what it holds."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_of_another_format_acts(capsys, monkeypatch, write, tmp_path, kind):
    monkeypatch.chdir(tmp_path)
    file = write(KINDS[kind](), kind)
    for words in (
        ["convert", file, "-o", "o.parquet"], ["convert", file, "-o", "s.csv", "--slices"],
        ["clocks", file], ["clocks", file, "--json"], ["clocks", file, "--dot"],
        ["at", file, "1s"], ["at", file, "1s", "--json"],
        ["doctor", file, "-v"], ["doctor", file, "--json"],
        ["report", file, "-o", "-"], ["bake", file, "-o", "b.pftrace"],
        ["merge", file, file], ["split", file, "-o", "parts"],
        ["sql", file, "from events", "--with-names"], ["sql", file, "from slices", "--json"],
        ["sql", file, "from clocks"], ["sql", file, "from findings"], ["sql", file, "from no"],
    ):  # fmt: skip
        code = run(words)
        out, err = capsys.readouterr()
        assert acts(out + err) == [], words
        if "--json" in words and code == 0:
            assert out.isascii() and all(c.isprintable() or c == "\n" for c in out)


def test_files_and_pipes_have_csv_exactly(spawn, path, tmp_path):
    words = ("sql", path, "select distinct name from events where name <> ''", "--with-names")
    with spawn(*words, "--format", "csv", stdout=subprocess.PIPE) as child:
        piped = child.stdout.read()
    assert run([*words, "-o", str(tmp_path / "names.csv")]) == 0
    assert piped == (tmp_path / "names.csv").read_bytes()
    assert list(csv.reader(io.StringIO(piped.decode(), newline="")))[1:] == [[HOSTILE]]


def test_a_terminal_gets_each_row_of_csv_on_one_line(terminal, path):
    words = ("convert", path, "-o", "-", "--format", "csv", "--with-names")
    # Progress is drawn there, too.
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", terminal(*words, code=0))
    header, *rows = (line for line in text.split("\n") if line.count(",") > 5)
    assert len(rows) == 3
    assert printable(HOSTILE.replace('"', '""')) in rows[0]
    assert {len(row) for row in csv.reader([header, *rows])} == {header.count(",") + 1}


def test_pages_show_controls_as_symbols(capsys, write):
    assert run(["report", write(KINDS["otlp.json"](), "otlp.json"), "-o", "-"]) == 0
    page = capsys.readouterr().out
    assert "REALTIME of x&quot;␛]0;title␇" in page
    assert r"\u202e\u2066\u200b\ufeff\x9b31m␡\x85\u2028\u2029␊INJECTED␍INJECTED1" in page
    assert {c for c in page if not c.isprintable()} <= set("\n")


def test_nor_at_the_prompt(prompt, path):
    typed = (
        b"select name from events;\nselect error(name) from events where name <> '';\n"
        b".format csv\nselect name from events;\n.no\n.schema no\n.quit\n"
    )
    text = prompt("sql", path, "--with-names", typed=typed, code=0)
    assert acts(text.replace("\x1b[?2004h", "").replace("\x1b[?2004l\r", "")) == []
    assert r"INJECTED\rINJECTED" in text


@pytest.mark.parametrize("name", ["convert", "clocks", "at", "doctor", "report", "sql", "open"])
@pytest.mark.parametrize(
    "data", [None, b"no trace", b"", CUT_OFF], ids=["no", "other", "empty", "cut"]
)
def test_no_error_about_a_file_acts_either(terminal, capsys, monkeypatch, tmp_path, name, data):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tracetime.verbs.serve.PORT", 0)
    file = tmp_path / f"{NAME}.pftrace"
    if data is not None:
        file.write_bytes(data)
    more = {"convert": ["-o", "o.csv"], "at": ["1", "--to", "MONOTONIC"], "sql": ["from events"]}
    more["open"] = ["--no-browser", "--timeout", "0.05"]
    words = [name, str(file), *more.get(name, [])]
    run(words)
    assert acts("".join(capsys.readouterr())) == []
    if data is None:
        assert acts(terminal(*words)) == []


def arguments():
    for name in SUBCOMMANDS:
        for param in import_module(f"tracetime.commands.{name}").command.params:
            if isinstance(param, click.Argument) or not (param.is_flag or param.count):
                yield name, param


@pytest.mark.parametrize(
    ("name", "param"), list(arguments()), ids=lambda value: getattr(value, "name", value)
)
def test_no_argument_acts(capsys, monkeypatch, write, tmp_path, name, param):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr("tracetime.verbs.serve.PORT", 0)
    words = {
        "convert": ["t.pftrace", "-o", "o.csv"], "at": ["t.pftrace", "1000", "--from", "MONOTONIC"],
        "record": ["-o", "r", "--duration", "1ms", "--clock", "MONOTONIC"],
        "calibrate": ["-n", "2", "--seconds", "0", "--clock", "MONOTONIC"],
        "watch": ["-n", "1", "--clock", "MONOTONIC", "--clock", "REALTIME"],
        "sql": ["t.pftrace", "select 1"], "completion": [], "now": [], "serve": [],
        "ping": ["127.0.0.1:1", "--bursts", "1", "--timeout", "10ms"],
        "open": ["t.pftrace", "--no-browser", "--timeout", "0.01"],
    }.get(name, ["t.pftrace"])  # fmt: skip
    write(named_clock_trace())
    given = [HOSTILE] if isinstance(param, click.Argument) else [param.opts[-1], HOSTILE]
    for value in (given, [given[-2], f"MONOTONIC={HOSTILE}"] if len(given) > 1 else given):
        run([name, *words, *value])
        out, err = capsys.readouterr()
        assert acts(out + err) == []


# The one function


def test_everything_printed_passes_one_function():
    allowed = {"terminal.py"}
    for file in Path(commands.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "click.echo", "click.secho", "sys.stdout.write"):
                assert file.name in allowed, f"{file.name}:{node.lineno} {called}"


@given(st.text())
def test_what_is_printed_has_no_character_that_acts(text):
    lines = printable(text, lines=True)
    assert all(c.isprintable() or c in "\n\t" for c in lines)
    assert printable(lines, lines=True) == lines
    assert printable(text).isprintable()
    assert lines == text or not all(c.isprintable() or c in "\n\t" for c in text)


@pytest.mark.parametrize(
    ("name", "value", "styled"),
    [
        ("NO_COLOR", "1", False),
        ("NO_COLOR", "", True),
        ("TERM", "dumb", False),
        ("TERM", "xterm", True),
    ],
)
def test_no_styles_where_the_environment_says_so(capsys, monkeypatch, name, value, styled):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    echo("\x1b[1merror\x1b[0m: \x07", styled=True)
    assert capsys.readouterr().out == (
        "\x1b[1merror\x1b[0m: \\x07\n" if styled else "error: \\x07\n"
    )


def test_styles_that_are_ours_stay_and_others_do_not(capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    echo("\x1b[1m\x1b[31merror\x1b[0m: \x1b[2J\x07", styled=True)
    # click takes styles away where no terminal is.
    assert capsys.readouterr().out == "error: \\x1b[2J\\x07\n"
    echo("\x1b[31mred")
    assert capsys.readouterr().out == "\\x1b[31mred\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_lacks_a_character_gets_its_escape(spawn, write, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    data = trace(snapshot({BOOTTIME: 1, MONOTONIC: 2}))
    words = (
        "clocks",
        write(data),
        "--clock-name",
        "MONOTONIC=gr\u00fc\u00df \u2028\u65e5".replace("\u2028", ""),
    )
    with spawn(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        out, err = child.communicate()
    assert (child.returncode, err) == (0, b"")
    wanted = "gr\u00fc\u00df \u65e5".encode(encoding, "backslashreplace")
    assert wanted in out


def test_a_fault_of_ours_acts_as_little(capsys):
    try:
        raise RuntimeError(HOSTILE)
    except RuntimeError as error:
        commands._print_fault(type(error), error, error.__traceback__)
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert ACTS.findall(err.replace("\nINJECTED", "")) == []


def test_dot_takes_every_name(tracetime, write):
    out = tracetime("clocks", write(named_clock_trace()), "--dot")[1]
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', out)
    assert any(text.startswith(r"x\"\\x1b]0;title") for text in strings)
    # Without its strings nothing is left but the language.
    assert re.fullmatch(r"[\s\w{}\[\]=;,>-]*", re.sub(r'"(?:[^"\\]|\\.)*"', "", out))


def test_what_graphviz_reads_is_the_name(tracetime, write):
    name = r'a"b\n\\" -> c; evil'
    path = write(trace(snapshot({BOOTTIME: 1, MONOTONIC: 2})))
    out = tracetime("clocks", path, "--dot", "--clock-name", f"MONOTONIC={name}")[1]
    labels = [
        re.sub(r"\\(.)", r"\1", text) for text in re.findall(r'label="((?:[^"\\]|\\.)*)"', out)
    ]
    assert name in labels


def test_a_clock_is_not_named_so_on_the_command_line(tracetime, write):
    code, _, err = tracetime("clocks", write(named_clock_trace()), "--clock-name", f"6={HOSTILE}")
    assert code == 2
    assert "com.example.gpu" in err
