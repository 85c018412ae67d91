"""The doctor's catalogue: every row has a check or notes, and a page, and each gives its row's texts
what they ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from string import Formatter

import pytest

from tools.write_findings import LIST, PAGES, listed, page
from tracetime import ClockId, doctor, formats
from tracetime.doctor import nesting
from tracetime.doctor.catalogue import CATALOGUE, finding, jumps, odd_times, told
from tracetime.doctor.catalogue.by_format import fix_in
from tracetime.doctor.catalogue.events import FAR_CAUSES
from tracetime.formats.chrome_json.reader import ChromeJsonTrace
from tracetime.formats.ctf.reader import CtfTrace
from tracetime.formats.journal.reader import JournalTrace
from tracetime.formats.table.reader import TableTrace
from tracetime.formats.xdf.xdf_trace import XdfTrace
from tracetime.trace import flows

CHECKS = {
    path.stem: ast.parse(path.read_text())
    for path in sorted(Path(doctor.__file__).parent.glob("*.py"))
    if path.stem not in ("nesting", "finding")
}
FORMATS = [
    ast.parse(path.read_text())
    for path in (*Path(formats.__file__).parent.rglob("*.py"), Path(flows.__file__))
]
"""Where notes are made."""
OF_THE_FINDING = {"clock", "clocks", "events", "worst"}
JUMPS = {row.code for row in jumps.ROWS} - {"suspend"}
"""What `jumps.py` makes one way: which of them it is, is known when it runs."""


def literals(tree: ast.AST) -> set[str]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in nodes if isinstance(node.value, str)}


def codes_of(module: str, node: ast.expr) -> set[str]:
    """The codes that the first argument of a call can be."""
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.IfExp):
        return codes_of(module, node.body) | codes_of(module, node.orelse)
    if isinstance(node, ast.Name) and node.id.isupper():
        return {getattr(import_module(f"tracetime.doctor.{module}"), node.id)}
    if isinstance(node, ast.Subscript):
        name = ast.unparse(node.value)
        return set(getattr(import_module(f"tracetime.doctor.{module}"), name).values())
    assert module == "jumps", ast.unparse(node)
    return JUMPS


def calls() -> Iterator[tuple[str, str, set[str]]]:
    """(module, code, names of the values given) of every finding that is made."""
    for module, tree in CHECKS.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in (
                "finding",
                "_finding",
            ):
                continue
            given = {keyword.arg for keyword in node.keywords}
            is_code = isinstance(node.args[0], ast.Constant)
            # What only hands on what it is given.
            if None in given or (ast.unparse(node.func) == "_finding" and not is_code):
                continue
            for code in sorted(codes_of(module, node.args[0])):
                yield module, code, {name for name in given if name}


CALLS = list(calls())


def fields(*texts: str) -> set[str]:
    found = chain.from_iterable(map(Formatter().parse, texts))
    return {name for _, name, _, _ in found if name is not None}


def noted() -> dict[str, set[str]]:
    """The values that notes of each code have."""
    found: dict[str, set[str]] = {code: set() for code, row in CATALOGUE.items() if row.kinds}
    for tree in FORMATS:
        named = literals(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                for code in found.keys() & named:
                    found[code] |= keys
    return found


NOTED = noted()
SAID = set().union(*map(literals, FORMATS))


def test_every_check_names_a_row_and_every_row_has_a_check_or_notes():
    assert {code for _, code, _ in CALLS} | set(NOTED) == set(CATALOGUE)
    assert set(NOTED) <= SAID


@pytest.mark.parametrize("code", NOTED)
def test_notes_give_what_the_texts_of_their_row_ask_for(code):
    row = CATALOGUE[code]
    given = OF_THE_FINDING | {"kind_why", "kind_fix"} | NOTED[code] | set(row.parts)
    for name, kind in row.kinds.items():
        assert not name or name in SAID
        assert {kind.severity, kind.beyond} - {None} <= set(row.severities)
        assert set(kind.parts) <= set(row.parts)
        assert fields(*(row.parts[part] for part in kind.parts), kind.why, kind.fix) <= given
    if code not in {made for _, made, _ in CALLS}:
        assert fields(row.title, row.why, row.fix) <= given


def test_a_code_is_in_one_row():
    subjects = ("events", "files", "jumps", "machines", "odd_times", "orders", "rates", "snapshots")
    modules = [import_module(f"tracetime.doctor.catalogue.{name}") for name in subjects]
    rows = [row for module in modules for row in module.ROWS] + list(odd_times.SPAN_ROWS)
    assert sorted(row.code for row in rows) == sorted(CATALOGUE)


@pytest.mark.parametrize(("module", "code", "given"), CALLS)
def test_a_check_gives_what_the_texts_of_its_row_ask_for(module, code, given):
    row = CATALOGUE[code]
    queried = fields(row.title, row.why, row.fix)
    assert queried <= OF_THE_FINDING | set(row.parts) | given
    every = NOTED.get(code, set()).union(*(names for _, other, names in CALLS if other == code))
    assert fields(*row.parts.values()) <= OF_THE_FINDING | set(row.parts) | every


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_part_is_in_a_text_and_a_check_asks_for_it(code):
    row = CATALOGUE[code]
    assert set(row.parts) <= fields(row.title, row.why, row.fix, *row.parts.values())
    modules = {module for module, other, _ in CALLS if other == code}
    asked = chain.from_iterable(kind.parts for kind in row.kinds.values())
    assert set(row.parts) <= set(asked).union(*(literals(CHECKS[module]) for module in modules))


def test_every_cause_of_events_far_away_is_found_somewhere():
    assert set(FAR_CAUSES) <= literals(CHECKS["far_events"]) | literals(CHECKS["other_clock"])


def test_what_leads_to_what_is_said_of_codes_that_there_are():
    codes = chain.from_iterable(chain(*pair) for pair in nesting._LEADS_TO)
    assert {*codes, *nesting._ANYWHERE} - {nesting._TOO_LARGE} <= set(CATALOGUE)


def test_the_list_in_the_documentation_is_the_catalogue():
    assert LIST.read_text() == listed(LIST.read_text()), "python tools/write_findings.py"


def test_every_page_of_a_finding_begins_with_its_row():
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(CATALOGUE)
    for row in CATALOGUE.values():
        text = (PAGES / f"{row.code}.md").read_text()
        assert text == page(row, text), f"{row.code}: python tools/write_findings.py"
        sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
        assert sections["Why"].strip(), row.code
        assert sections["What to do"].strip(), row.code


def test_a_finding_has_the_texts_of_its_row():
    clock, other = ClockId(1), ClockId(3)
    found = finding(
        "realtime-set-back",
        clocks=(clock, other),
        packets=[9, 4, 9],
        events=2,
        worst_ns=1500,
        parts=("by", "up_to"),
        often="twice",
        size="1.5 us",
    )
    found = told(found)
    row = CATALOGUE["realtime-set-back"]
    assert (found.code, found.severity, found.packets) == (row.code, "info", (4, 9))
    assert (found.clocks, found.events, found.worst_ns) == ((clock, other), 2, 1500)
    assert found.title == "REALTIME was set back twice, by up to 1.5 us"
    assert found.why == "The wall clock was set back, by hand or by NTP."
    assert found.fix == row.fix
    lost = finding(row.code, "error", clocks=(clock,), parts=("lost",), often="once", size="")
    lost = told(lost)
    assert (lost.severity, lost.title) == ("error", "REALTIME was set back once")
    assert lost.why == found.why + row.parts["lost"]


def test_a_finding_of_no_row_is_refused():
    with pytest.raises(KeyError):
        finding("no-such-code")


def test_no_fix_names_a_function_of_the_library():
    for row in CATALOGUE.values():
        assert "add_order" not in row.fix + "".join(row.parts.values())


@pytest.mark.parametrize("cls", [ChromeJsonTrace, XdfTrace, CtfTrace, TableTrace, JournalTrace])
def test_who_takes_no_snapshots_is_told_of_none(cls):
    """In the words of the format: not "Record ClockSnapshots" to those who record spikes."""
    for code in ("no-snapshots", "used-after-last-snapshot", "snapshots-too-sparse"):
        fix = fix_in(code, cls.FORMAT)
        assert fix is not None
        assert "napshot" not in fix
        assert fix.endswith(".")


@pytest.mark.parametrize("code", ["machine-not-synchronised", "clock-reset", "no-realtime"])
def test_who_records_streams_of_lsl_is_told_of_no_messages_and_bits(code):
    row, fix = CATALOGUE[code], fix_in(code, XdfTrace.FORMAT)
    assert fix is not None
    assert fix != row.fix
    for word in ("--orders", "--valid-bits", "napshot", "cable"):
        assert word not in fix
