"""What errors of the library say reaches those who call it and those who type a command."""

import re

import pytest
from places import ROOT

SOURCES = sorted((ROOT / "src" / "tracetime").rglob("*.py"))
OPTIONS = ("max-clocks", "max-tubes", "max-expansion")


@pytest.mark.parametrize("option", OPTIONS)
def test_a_limit_or_choice_of_open_trace_is_named_as_argument_and_option(option):
    argument = option.replace("-", "_")
    texts = [path.read_text() for path in SOURCES if "commands" not in path.parts]
    named = [found for text in texts for found in re.findall(rf"\((?:\w+, )?--{option}\b", text)]
    assert named
    assert set(named) == {f"({argument}, --{option}"}
