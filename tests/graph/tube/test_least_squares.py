"""Least squares over the pairs of several clocks: every loop closes, asymmetries average out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tracetime.graph.tube.closing import fit


def rms(values):
    return float(np.sqrt(np.mean(values * values)))


def mesh(n):
    return np.array(list(combinations(range(n), 2)), dtype=np.int64)


def between(pairs, offsets):
    return offsets[pairs[:, 1]] - offsets[pairs[:, 0]]


def test_a_disagreement_is_shared_out_among_the_pairs_of_a_loop():
    # A-B and B-C say 10 and 20, A-C says 33: each takes 1 of the 3.
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    fitted = fit(3, pairs, np.array([[10.0], [20.0], [33.0]]), np.ones((3, 1)))
    assert fitted[:, 0] == pytest.approx([0.0, 11.0, 32.0])


def test_a_sure_pair_takes_less_of_it():
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    variances = np.array([[1e6], [1e6], [1.0]])
    fitted = fit(3, pairs, np.array([[10.0], [20.0], [33.0]]), variances)
    assert fitted[:, 0] == pytest.approx([0.0, 11.5, 33.0], abs=1e-4)


@pytest.mark.parametrize("pinned", [0, 2])
def test_estimates_that_agree_stay_as_they_are(pinned):
    rng = np.random.default_rng(5)
    pairs, offsets = mesh(6), rng.uniform(-1e6, 1e6, (6, 40))
    variances = rng.uniform(1, 1e8, (len(pairs), 40))
    fitted = fit(6, pairs, between(pairs, offsets), variances, pinned)
    assert fitted[pinned].tolist() == [0.0] * 40
    assert np.abs(fitted - (offsets - offsets[pinned])).max() < 1e-3


def test_a_chain_adds_up_its_pairs():
    pairs = np.array([[1, 0], [1, 2], [2, 3]])
    fitted = fit(4, pairs, np.array([[-5.0], [7.0], [11.0]]), np.array([[3.0], [1e4], [5e9]]))
    assert fitted[:, 0] == pytest.approx([0.0, 5.0, 12.0, 23.0])


def test_the_instants_are_fitted_each_by_itself():
    rng = np.random.default_rng(6)
    pairs = mesh(5)
    estimates = rng.normal(0, 1e3, (len(pairs), 8))
    variances = rng.uniform(1, 1e4, (len(pairs), 8))
    together = fit(5, pairs, estimates, variances)
    for k in range(8):
        alone = fit(5, pairs, estimates[:, [k]], variances[:, [k]])
        assert together[:, k] == pytest.approx(alone[:, 0], rel=1e-9)


@pytest.mark.parametrize("n", [3, 8, 20])
def test_a_full_mesh_takes_off_what_pairs_disagree_in(n):
    # Asymmetries of the pairs, each its own: least squares leaves sqrt(2 / n) of them.
    rng = np.random.default_rng(n)
    pairs = mesh(n)
    offsets = rng.uniform(-1e6, 1e6, (n, 400))
    wrong = rng.normal(0, 2_500, (len(pairs), 400))
    fitted = fit(n, pairs, between(pairs, offsets) + wrong, np.full(wrong.shape, 2_500.0**2))
    left = rms(between(pairs, fitted) - between(pairs, offsets)) / rms(wrong)
    assert left == pytest.approx(np.sqrt(2 / n), rel=0.05)
