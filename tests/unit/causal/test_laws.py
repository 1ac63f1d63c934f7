from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal.laws import LAW_A, LAW_B, FiniteLaw, Points, binary_law, table_regression
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, uniform_levels
from privexplorer.errors import DataError, ParameterError


def test_parts_of_law_A_come_back() -> None:
    assert LAW_A.p_x == pytest.approx([0.5, 0.3, 0.2], rel=1e-12)
    assert LAW_A.propensity == pytest.approx([0.3, 0.5, 0.8], rel=1e-12)
    assert LAW_A.mu == pytest.approx(np.array([[0.2, 0.4, 0.7], [0.5, 0.6, 0.75]]), rel=1e-12)
    assert LAW_A.joint[1, 0, 2] == pytest.approx(0.2 * 0.2 * 0.7, rel=1e-12)
    assert LAW_A.p_v == pytest.approx(LAW_A.joint.sum(axis=2))
    assert LAW_A.smallest_cell == pytest.approx(0.2 * 0.2)
    assert LAW_B.smallest_cell == pytest.approx(0.12)
    assert LAW_A.levels == 3
    assert LAW_A.mean(LAW_A.points.y * LAW_A.points.x) == pytest.approx(
        0.3 * (0.5 * 0.4 + 0.5 * 0.6) + 2 * 0.2 * (0.2 * 0.7 + 0.8 * 0.75), rel=1e-12
    )


def test_conditional_means_with_and_without_the_treatment() -> None:
    y = LAW_A.points.y
    assert LAW_A.conditional_mean(y) == pytest.approx(LAW_A.mu, rel=1e-12)
    pi = LAW_A.propensity
    overall = (1 - pi) * LAW_A.mu[0] + pi * LAW_A.mu[1]
    assert LAW_A.conditional_mean(y, given_treatment=False) == pytest.approx(overall[None, :], rel=1e-12)


def test_two_orthogonality_identities() -> None:
    # (36), (37): m - μ is orthogonal to functions of (v₁, x); g - γ to the indicator of its cell
    rng = np.random.default_rng(0)
    m, h = rng.standard_normal((2, 2, 3)), rng.standard_normal((2, 3))
    residual = m - LAW_A.conditional_mean(m)
    assert LAW_A.mean(residual * h) == pytest.approx(0.0, abs=1e-14)
    inside = np.broadcast_to((LAW_A.points.y > 0), LAW_A.joint.shape)
    gamma = LAW_A.mean(m * inside) / LAW_A.mean(inside)
    assert LAW_A.mean((m - gamma) * inside) == pytest.approx(0.0, abs=1e-14)


def test_shown_law_by_hand() -> None:
    mechanism = AlphaIdentity(0.4, uniform_levels(3))
    expected = 0.4 * LAW_A.joint + 0.6 / 3 * LAW_A.p_v[:, :, None]
    assert LAW_A.privatised(mechanism) == pytest.approx(expected, rel=1e-12)
    assert LAW_A.shown_law(mechanism).joint == pytest.approx(expected, rel=1e-12)
    # Lem 4(vi): law of the shown value given what is published
    given = LAW_A.privatised(mechanism) / LAW_A.p_v[:, :, None]
    assert given == pytest.approx(0.4 * LAW_A.joint / LAW_A.p_v[:, :, None] + 0.2, rel=1e-12)
    skew = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
    assert LAW_A.privatised(skew)[0, 1] == pytest.approx(skew.matrix @ LAW_A.joint[0, 1], rel=1e-12)


def test_draws_follow_the_law() -> None:
    size = 40_000
    y, d, x = LAW_A.sample(size, np.random.default_rng(3))
    shares = np.zeros((2, 2, 3))
    np.add.at(shares, (y.astype(int), d, x), 1 / size)
    error = np.sqrt(LAW_A.joint / size)
    assert (np.abs(shares - LAW_A.joint) < 4 * error).all()


def test_random_laws_are_positive_and_reproducible() -> None:
    law = FiniteLaw.random(np.random.default_rng(5), levels=4, outcomes=3, concentration=0.1)
    assert law.joint.shape == (3, 2, 4)
    assert law.joint.min() > 0
    assert law.joint.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.array_equal(law.joint, FiniteLaw.random(np.random.default_rng(5), 4, 3, 0.1).joint)
    with pytest.raises(ValueError, match="read-only"):
        law.joint[0, 0, 0] = 1.0


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: FiniteLaw(np.ones((2, 3, 4)) / 24, [0, 1]), ParameterError, "two arms"),
        (lambda: FiniteLaw(np.ones((2, 2, 4)) / 15, [0, 1]), ParameterError, "add up to 1.06667"),
        (lambda: FiniteLaw(-np.ones((2, 2, 1)), [0, 1]), ParameterError, "at least 0"),
        (lambda: binary_law([1.0], [0.5], [0.2, 0.3], [0.5]), ParameterError, "one entry per"),
        (lambda: binary_law([1.0], [0.5], [1.2], [0.5]), ParameterError, "between 0 and 1"),
        (lambda: binary_law([0.5, 0.5], [0.5, 1.0], [0.2, 0.3], [0.5, 0.1]).mu, DataError, "private category 1"),
        (lambda: LAW_A.privatised(AlphaIdentity(0.5, uniform_levels(2))), ParameterError, "for 2 categories"),
        (lambda: table_regression([[1.0, 2.0]])(Points(x=np.array([2]))), ParameterError, "must be dominated"),
    ],
)
def test_refusals(make: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_tables_as_regressions() -> None:
    mu = table_regression([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    points = Points(x=np.array([0, 2, 1]), d=np.array([0, 1, 1]))
    assert mu(points).tolist() == [1.0, 6.0, 5.0]
    assert mu(points.at(d=1)).tolist() == [4.0, 6.0, 5.0]
    assert table_regression([[1.0, 2.0, 3.0]])(points).tolist() == [1.0, 3.0, 2.0]
