"""The table that `merge` prints: a row for each file, however many tie each other."""

from __future__ import annotations

import json

from merge_worlds import kineto_ranks, trace_of

from tracetime.text import half_width

pytest_plugins = ["cli"]


def rows_of(out):
    """The rows of the table, by the name of the file."""
    head, *lines = out[out.index("file ") :].split("\n\n")[0].splitlines()
    return head, {line.split()[0]: line for line in lines}


def test_many_files_of_one_boot_have_a_row_each(tmp_path, tracetime):
    """Each is tied with all others: a line for each tie would be hundreds."""
    paths = [trace_of(tmp_path / f"{n}.pftrace") for n in range(24)]
    same = [word for path in paths[1:] for word in ("--same", f"0.pftrace,{path.name}")]
    _, out, _ = tracetime("merge", *paths, *same)
    head, rows = rows_of(out)
    assert head.split() == (
        ["file", "machine", "tied", "with", "by", "offset", "bar", "at", "most", "drift", "steps"]
    )
    assert list(rows) == [path.name for path in paths]
    assert len(out.splitlines()) < 2 * len(paths)


def test_a_row_has_the_figures_of_the_report(tmp_path, tracetime):
    paths = kineto_ranks(tmp_path, 3, ranks=3).paths
    _, out, _ = tracetime("merge", *paths)
    facts = json.loads(tracetime("merge", *paths, "--json")[1])
    _, rows = rows_of(out)
    for file in facts["files"][1:]:
        row = rows[file["name"]]
        assert "collectives" in row
        assert half_width(file["half_width_ns"]) in row
        assert half_width(file["worst_half_width_ns"]) in row
        assert file["drift_half_ppm"] > 0
        assert f"{file['drift_ppm']:+.3f} ± {file['drift_half_ppm']:.3f} ppm" in row
