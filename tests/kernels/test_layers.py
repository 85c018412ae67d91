"""Which kernel may use which, and which parts a module has, as `_kernels/README.md` says.

Other programs read no Cython.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from places import ROOT

KERNELS = ROOT / "src" / "tracetime" / "_kernels"

BELOW = {
    "common": set(),
    "graph": {"common"},
    "saved_graph": {"common", "graph"},
    "tube": {"common"},
    "evidence": {"common", "tube"},
    "epochs": {"tube"},
    "slices": {"common"},
    "perfetto": {"common", "graph", "slices"},
    "chrome_json": {"common", "slices", "perfetto"},
    "event_baking": {"common", "perfetto", "chrome_json"},
    "journal": {"common"},
    "pcapng": {"common"},
    "xdf": {"common"},
    "capture": set(),
    "hosts": set(),
    "merging": set(),
}
"""The rooms that the modules of a room may use beside their own."""


def parts_of(module: Path) -> list[Path]:
    """The files that a module includes."""
    names = re.findall(r'^include "(.+)"$', module.read_text(), re.M)
    return [module.parent / name for name in names]


def uses_of(folder: Path) -> dict[str, set[str]]:
    """By module, declarations and parts included, the modules it uses, as ROOM or ROOM.NAME."""
    found: dict[str, set[str]] = {}
    for file in (*folder.rglob("*.pyx"), *folder.rglob("*.pxd")):
        if file.stem != "__init__":
            module = ".".join(file.relative_to(folder).with_suffix("").parts)
            text = "".join(one.read_text() for one in (file, *parts_of(file)))
            used = re.findall(r"^(?:from|c?import) tracetime\.(.+?) ", text, re.M)
            found.setdefault(module, set()).update(one.removeprefix("_kernels.") for one in used)
    return {module: used - {module} for module, used in found.items()}


USES = uses_of(KERNELS)


def test_every_folder_has_its_place():
    assert {module.partition(".")[0] for module in USES} == BELOW.keys()
    assert len(USES) > 20


@pytest.mark.parametrize("module", sorted(USES))
def test_a_kernel_uses_kernels_of_folders_below(module):
    folder = module.partition(".")[0]
    assert USES[module] <= USES.keys()
    assert {one.partition(".")[0] for one in USES[module]} <= BELOW[folder] | {folder}


def test_no_kernel_uses_one_that_uses_it():
    assert len(list(TopologicalSorter(USES).static_order())) == len(USES)


def test_a_circle_would_be_noticed(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.pyx").write_text(f"from tracetime._kernels.{other} cimport f\n")
    with pytest.raises(CycleError):
        TopologicalSorter(uses_of(tmp_path)).prepare()


MODULES = sorted(KERNELS.rglob("*.pyx"))


def test_every_part_belongs_to_one_module():
    included = [part for module in MODULES for part in parts_of(module)]
    assert sorted(included) == sorted(KERNELS.rglob("*.pxi"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_has_at_most_3000_lines(module):
    files = (module, *parts_of(module))
    assert sum(len(file.read_text().splitlines()) for file in files) <= 3_000


SOURCES = [path for kind in ("pyx", "pxd", "pxi") for path in KERNELS.rglob(f"*.{kind}")]


def test_make_builds_again_when_a_source_of_a_kernel_changes():
    command = ["make", "--eval", "kernels: ; @echo $(KERNELS)", "kernels"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    sources = {path for path in SOURCES if path.stem != "__init__"}
    assert {ROOT / name for name in listed.split()} >= sources


def test_sources_of_kernels_are_in_the_sdist_and_not_in_the_wheel():
    kinds = {f"*{path.suffix}" for path in SOURCES}
    (line,) = re.findall(r"^recursive-include src (.+)$", (ROOT / "MANIFEST.in").read_text(), re.M)
    assert kinds <= set(line.split())
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert kinds <= set(settings["exclude-package-data"]["*"])
