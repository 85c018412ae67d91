"""Proofs of equivalent mutants are of lines that are there."""

from places import ROOT


def test_every_proof_is_of_a_line_that_is_there():
    listed = (ROOT / "mutants" / "equivalent.txt").read_text().splitlines()
    lines = [line for line in listed if line and not line.startswith("#")]
    keys, proofs = lines[::2], lines[1::2]
    assert len(keys) == len(proofs) == len(set(keys))
    for key in keys:
        path, _, change = key.partition(": ")
        there = {line.strip() for line in (ROOT / path).read_text().splitlines()}
        parts = change.split(" -> ")
        before = [" -> ".join(parts[:n]) for n in range(1, len(parts))]
        assert there.intersection(before), key
