"""README.md and docs/ are true: their code runs, and shows what they say that it shows."""

import gzip
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import click
import documents
import pytest
import vulkan
from documents import ROOT, blocks, claimed, commands, differs, pages, run_page
from platforms import LINUX

import tracetime
from tools.draw_pictures import PICTURES
from tools.write_house import PAGE as HOUSE
from tools.write_house import drawn
from tracetime.commands import SUBCOMMANDS, cli

PAGES = {page: (ROOT / page).read_text() for page in pages()}


def has_runnable(page):
    return any(block.runs for block in blocks(page, PAGES[page]))


# They show the clocks of such a machine.
@LINUX
@pytest.mark.parametrize("page", [page for page in PAGES if has_runnable(page)], ids=str)
def test_blocks_run_and_show_what_the_page_says(page, tmp_path, monkeypatch):
    for name, value in vulkan.environment().items():
        monkeypatch.setenv(name, value)
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_blocks_are_of_kinds_that_are_run_or_need_not_be(page):
    for block in blocks(page, PAGES[page]):
        assert block.language in ("python", "console", "json", "text", ""), block.place
        if block.language == "console":
            assert commands(block), block.place
        # What looks like a command or a program is to be run, so it says what it is.
        assert block.runs or block.language == "console" or "$ tracetime" not in block.text
        assert block.language or "import tracetime" not in block.text, block.place


# What is named


def subcommand(name):
    return cli.get_command(click.Context(cli), name)


def options(name):
    found = {"--help", "-h"}
    command = subcommand(name)
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    for parameter in (p for one in (command, *inner) for p in one.params):
        found |= {*parameter.opts, *parameter.secondary_opts}
    return found


def inline_code(text):
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [re.sub(r"\s+", " ", code) for code in re.findall(r"`([^`]+)`", prose)]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_named_in_prose_exist_with_their_options(page):
    for code in inline_code(PAGES[page]):
        words = code.split()
        if words[0] != "tracetime" or len(words) == 1 or not words[1].isalpha():
            continue
        if words[1].isupper():  # COMMAND
            continue
        assert words[1] in SUBCOMMANDS, f"{page}: `{code}`"
        given = words[: words.index("--")] if "--" in words else words
        unknown = {word for word in given if re.match("--?[a-z]", word)} - options(words[1])
        assert not unknown, f"{page}: `{code}` has {unknown}"


@pytest.mark.parametrize("name", sorted(p.stem for p in PAGES if p.parent.name == "howto"))
def test_options_on_the_page_of_a_command_are_its_own(name):
    if name not in SUBCOMMANDS:
        return
    named = {
        code.split()[0].split("=")[0]
        for code in inline_code(PAGES[Path("docs/howto") / f"{name}.md"])
        if re.match("--?[a-z]", code)
    }
    assert named <= options(name)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", PAGES[page]):
        if not re.match("[a-z]+:", target):
            assert (ROOT / page.parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_to_headings_lead_somewhere(page):
    for target, heading in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", PAGES[page]):
        other = Path(os.path.normpath(page.parent / target)) if target else page
        if other in PAGES and "reference" not in other.parts:
            titles = re.findall(r"^#+ (.+)$", PAGES[other], re.M)
            assert heading in {slug(title) for title in titles}, f"{page}: {target}#{heading}"


def slug(title):
    """The anchor of a heading."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_tests_that_a_page_names_exist(page):
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGES[page]):
        assert f"def {name}(" in (ROOT / file).read_text(), f"{page}: {file}::{name}"
    for file in re.findall(r"`((?:tests|benchmarks)/[a-z_/]+\.py)", PAGES[page]):
        assert (ROOT / file).exists(), f"{page}: {file}"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_what_their_program_draws(name):
    drawn = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text()
    assert drawn == str(PICTURES[name]()), "draw them again: python -m tools.draw_pictures"


def test_every_picture_is_shown():
    shown = set(re.findall(r"\((?:\.\./)?pictures/(\w+)\.svg\)", "".join(PAGES.values())))
    assert shown == set(PICTURES) == {p.stem for p in (ROOT / "docs/pictures").iterdir()}


def test_every_page_is_in_the_site():
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert {Path("docs", page) for page in listed} == {p for p in PAGES if p.parts[0] == "docs"}
    assert len(listed) == len(set(listed))


# For who carries it on

INSIDE = [page for page in PAGES if page.parent == Path("docs/inside")]
OF_THE_CODE = [Path("CONTRIBUTING.md"), *INSIDE]
SUFFIXES = (".md", ".pxd", ".pxi", ".py", ".pyi", ".pyx", ".toml", ".txt", ".yml")


def paths_named(text):
    """The paths in the code of a text, but for `NAME` and the like and for what a build makes."""
    for code in inline_code(text):
        parts = code.rstrip("/").split("/")
        is_path = re.fullmatch(r"\w*[\w./-]+", code) and (
            "/" in code or Path(code).suffix in SUFFIXES
        )
        is_made = parts[0] in ("build", "dist", ".venv")
        is_any = re.search("CODE|MODULE|NAME|ROOM", code)
        if is_path and not is_made and not is_any:
            yield code


def missing(text):
    """The paths that are neither below the root nor below src/tracetime."""
    tops = (ROOT, ROOT / "src" / "tracetime")
    return [path for path in paths_named(text) if not any((top / path).exists() for top in tops)]


@pytest.mark.parametrize("page", OF_THE_CODE, ids=str)
def test_files_that_pages_on_the_code_name_exist(page):
    assert list(paths_named(PAGES[page]))
    assert missing(PAGES[page]) == []


def test_a_file_that_went_is_noticed():
    text = "`trace/trace.py`, `trace/went.py`, `went/`, `went.pxi`, `tests/`, `formats/NAME.py`"
    assert missing(text) == ["trace/went.py", "went/", "went.pxi"]


def test_the_house_is_drawn_from_the_rules_of_imports():
    assert HOUSE.read_text() == drawn(HOUSE.read_text()), "python tools/write_house.py"


def test_pages_on_the_code_stay_short():
    assert len(PAGES[Path("CONTRIBUTING.md")].splitlines()) <= 200
    assert all(len(PAGES[page].splitlines()) <= 80 for page in INSIDE)


def test_each_question_of_the_cookbook_is_answered_by_one_command():
    page = Path("docs/cookbook.md")
    _, *questions = re.split(r"^### (?=\d)", PAGES[page], flags=re.M)
    assert [int(question.partition(".")[0]) for question in questions] == list(range(1, 16))
    for question in questions:
        (block,) = blocks(page, question)
        ((command, output),) = commands(block)
        assert block.runs, question
        assert command.startswith("tracetime sql demo/demo.pftrace "), question
        assert output, question


def test_the_glossary_is_in_alphabetical_order():
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", PAGES[Path("docs/glossary.md")], re.M)
    assert len(terms) > 40
    assert terms == sorted(terms, key=str.lower)


def test_every_command_has_a_page():
    pages = {p.stem for p in PAGES if p.parent.name == "howto"}
    assert pages == set(SUBCOMMANDS) - {"completion"}


def test_every_public_name_is_in_the_reference():
    listed = re.findall(r"^::: tracetime\.(\w+)$", PAGES[Path("docs/reference/python.md")], re.M)
    assert sorted(listed) == sorted(set(tracetime.__all__) - {"__version__"})


# It is metadata of Arrow fields, no name of Python.
KEY = "tracetime.clock"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_names_of_python_in_prose_exist(page):
    code = "\n".join(inline_code(PAGES[page]))
    for name in set(re.findall(r"^tracetime(?:\.\w+)+", code, re.M)) - {KEY}:
        pkgutil.resolve_name(name)


def test_links_into_the_reference_lead_to_what_is_in_it():
    listed = re.findall(r"^::: (\S+)$", PAGES[Path("docs/reference/python.md")], re.M)
    for page, text in PAGES.items():
        for name in re.findall(r"\]\([^)\s]*#(tracetime\.[\w.]+)\)", text):
            assert {name, name.rpartition(".")[0]} & set(listed), f"{page}: {name}"
            assert pkgutil.resolve_name(name), f"{page}: {name}"


# The tests of the pages test what they should


def page_of(text):
    return text.replace("~~~", "```")


def run(tmp_path, text):
    run_page(Path("page.md"), tmp_path, page_of(text))


def test_a_value_that_is_not_so_fails(tmp_path):
    with pytest.raises(AssertionError, match="says 3, and it is 2"):
        run(tmp_path, "~~~python\n1 + 1  # 3\n~~~\n")


def test_what_is_printed_is_compared_wherever_it_stands(tmp_path):
    run(tmp_path, '~~~python\nwith open("demo/demo.pftrace"):\n    print("a", 1)  # a 1\n~~~\n')


def test_a_page_is_one_namespace_and_one_directory(tmp_path):
    text = (
        "~~~python\nx = 2\nopen('x', 'w').write('two')  # 3: characters\n~~~\n"
        "~~~console\n$ cat x; echo\ntwo\n~~~\n"
        "~~~python\nx * 2  # 4\n~~~\n"
    )
    run(tmp_path, text)


@pytest.mark.parametrize(
    ("comment", "value"),
    [
        ("2104", "2104"),
        ("-1: certainly before", "-1"),
        ("99_978: what it is off by, in ns", "99_978"),
        ("array([2104, 3550])", "array([2104, 3550])"),
        ("'resolved'", "'resolved'"),
        ("(1, None)", "(1, None)"),
        ("suspends, steps, resets, outliers", None),
        ("in file order", None),
        ("BOOTTIME", None),
    ],
)
def test_which_comments_claim_a_value(comment, value):
    assert claimed(comment) == value


def test_output_that_is_not_so_fails(tmp_path):
    with pytest.raises(AssertionError, match="-three"):
        run(tmp_path, "~~~console\n$ echo two\nthree\n~~~\n")


def test_a_command_that_fails_is_found_unless_the_page_says_so(tmp_path):
    text = "~~~console\n$ false\n~~~\n"
    with pytest.raises(AssertionError, match="ended with 1"):
        run(tmp_path / "1", text)
    run(tmp_path / "2", f"<!-- exit code: 1 -->\n{text}")


def test_a_block_marked_not_run_is_not(tmp_path):
    run(tmp_path, "<!-- not run: it takes a browser -->\n~~~console\n$ false\n~~~\n")


def test_a_block_runs_where_the_machine_has_what_it_needs(tmp_path, monkeypatch):
    text = "<!-- needs: vulkan -->\n~~~console\n$ false\n~~~\n"
    monkeypatch.setattr(documents, "has_device", lambda: False)
    run(tmp_path / "1", text)
    monkeypatch.setattr(documents, "has_device", lambda: True)
    with pytest.raises(AssertionError, match="ended with 1"):
        run(tmp_path / "2", text)
    with pytest.raises(AssertionError, match="needs a moon, which nobody knows"):
        run(tmp_path / "3", text.replace("vulkan", "a moon"))


def test_targets_of_make_must_exist(tmp_path):
    run(tmp_path / "1", "~~~console\n$ make demo    # shows it\n~~~\n")
    with pytest.raises(AssertionError, match="no such target"):
        run(tmp_path / "2", "~~~console\n$ make nothing\n~~~\n")


def test_a_command_goes_on_while_a_quote_is_open():
    (block,) = blocks(Path("p.md"), page_of('~~~console\n$ echo "a\n  b"\na\n  b\n$ true\n~~~\n'))
    assert commands(block) == [('echo "a\n  b"', ["a", "  b"]), ("true", [])]


def test_marks_and_fences_that_lead_nowhere_are_errors():
    with pytest.raises(AssertionError, match="before no block"):
        blocks(Path("p.md"), "<!-- varies: s -->\nprose\n")
    with pytest.raises(AssertionError, match="does not start its line"):
        blocks(Path("p.md"), page_of("- item\n  ~~~python\n  1\n  ~~~\n"))
    with pytest.raises(AssertionError, match="does not end"):
        blocks(Path("p.md"), page_of("~~~python\n1\n"))


@pytest.mark.parametrize(
    ("expected", "real", "varies", "same"),
    [
        ("a\n...\nd", "a\nb\nc\nd", None, True),
        ("a\n...\nd", "a\nd", None, True),
        ("a\n...\nd", "a\nb\nc\nd\ne", None, False),
        ("17.0 kB, 0.1 s", "17.1 kB, 12 s", None, False),
        ("17.0 kB, 0.1 s", "17.1 kB, 12 s", "kB, s", True),
        ("5 events in 17.0 kB", "6 events in 17.0 kB", "kB, s", False),
        ("REALTIME  43 ns  +0.1", "REALTIME     1.2 us  -3", "numbers", True),
        ("REALTIME  43 ns", "BOOTTIME  43 ns", "numbers", False),
        ("20778 d 3 h", "12 s", "numbers", True),
        ("LLVM 15.0.6, 256 bits", "LLVM 19.1.7, 128 bits", "numbers", True),
        ("code    n\n------  --", "code       n\n---------  ---", "numbers", True),
        ("0x93259a8e", "0x83259a8e", "numbers", False),
    ],
)
def test_output_is_compared_as_marked(expected, real, varies, same):
    assert (differs(expected.splitlines(), real.splitlines(), varies) is None) == same


def test_the_readme_is_a_screen_and_a_half():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_the_files_of_the_readme_are_what_their_program_makes(tmp_path):
    subprocess.run([sys.executable, ROOT / "demo" / "make_files.py", "-o", tmp_path], check=True)
    for made in tmp_path.iterdir():
        kept = (ROOT / "demo" / made.name).read_bytes()
        unpack = gzip.decompress if made.suffix == ".gz" else bytes
        assert unpack(made.read_bytes()) == unpack(kept)
