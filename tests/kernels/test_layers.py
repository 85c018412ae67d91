"""Which kernel may use which, as `_kernels/README.md` says: other programs read no Cython."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from places import ROOT

KERNELS = ROOT / "src" / "tracetime" / "_kernels"

BELOW = {
    "common": set(),
    "graph": {"common"},
    "tube": {"common"},
    "slices": {"common"},
    "perfetto": {"common", "graph", "slices"},
    "chrome_json": {"common", "slices", "perfetto"},
    "event_baking": {"common", "perfetto", "chrome_json"},
    "journal": {"common"},
    "pcapng": {"common"},
    "capture": set(),
    "hosts": set(),
}
"""The folders that the modules of a folder may use beside their own."""


def uses_of(folder: Path) -> dict[str, set[str]]:
    """By module, declarations included, the modules it uses, all as FOLDER.NAME."""
    found: dict[str, set[str]] = {}
    for file in (*folder.rglob("*.pyx"), *folder.rglob("*.pxd")):
        if file.stem != "__init__":
            module = f"{file.parent.name}.{file.stem}"
            used = re.findall(r"^(?:from|c?import) tracetime\.(.+?) ", file.read_text(), re.M)
            found.setdefault(module, set()).update(one.removeprefix("_kernels.") for one in used)
    return {module: used - {module} for module, used in found.items()}


USES = uses_of(KERNELS)


def test_every_folder_has_its_place():
    assert {module.partition(".")[0] for module in USES} == BELOW.keys()
    assert len(USES) > 40


@pytest.mark.parametrize("module", sorted(USES))
def test_a_kernel_uses_kernels_of_folders_below(module):
    folder = module.partition(".")[0]
    assert USES[module] <= USES.keys()
    assert {one.partition(".")[0] for one in USES[module]} <= BELOW[folder] | {folder}


def test_no_kernel_uses_one_that_uses_it():
    assert len(list(TopologicalSorter(USES).static_order())) == len(USES)


def test_a_circle_would_be_noticed(tmp_path):
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.pyx").write_text(
            f"from tracetime._kernels.{tmp_path.name}.{other} cimport f\n"
        )
    with pytest.raises(CycleError):
        TopologicalSorter(uses_of(tmp_path)).prepare()
