"""Basis functions: orthonormality, the constant, products and the polynomials behind them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

from privexplorer.causal.bases import Additive, BSpline, Gegenbauer, Hermite, Legendre, Linear, OneHot, Product
from privexplorer.errors import DataError, ParameterError

ONE_COLUMN = [
    Linear(),
    Legendre(-2, 3, 4),
    Legendre(-2, 3, 4, "length"),
    Hermite(5, 0.3, 1.2),
    BSpline(-2, 3, 6),
    Gegenbauer(-2, 3, 4),
]


@pytest.mark.parametrize(("measure", "length"), [("uniform", 1.0), ("length", 5.0)])
def test_legendre_is_orthonormal_on_its_range(measure: str, length: float) -> None:
    nodes, weights = leggauss(20)
    values = Legendre(-2, 3, 6, measure).evaluate(0.5 + 2.5 * nodes)  # type: ignore[arg-type]
    gram = np.einsum("n,ni,nj->ij", weights / 2 * length, values, values)
    np.testing.assert_allclose(gram, np.eye(6), atol=1e-12)


def test_gegenbauer_is_orthonormal_for_the_parabola_law() -> None:
    nodes, weights = leggauss(20)
    values = Gegenbauer(-2, 3, 6).evaluate(0.5 + 2.5 * nodes)
    np.testing.assert_allclose(
        np.einsum("n,ni,nj->ij", 0.75 * (1 - nodes**2) * weights, values, values), np.eye(6), atol=1e-12
    )


def test_hermite_is_orthonormal_for_its_normal_law() -> None:
    nodes, weights = hermegauss(20)
    values = Hermite(6, 0.3, 1.2).evaluate(0.3 + 1.2 * nodes)
    gram = np.einsum("n,ni,nj->ij", weights / weights.sum(), values, values)
    np.testing.assert_allclose(gram, np.eye(6), atol=1e-11)


@pytest.mark.parametrize("basis", [*ONE_COLUMN, OneHot(3)])
def test_the_constant_is_in_the_span(basis) -> None:
    x = [0, 2, 1, 1] if isinstance(basis, OneHot) else [-1.7, 0.0, 2.9]
    values = basis.evaluate(x)
    assert values.shape == (len(x), basis.size)
    assert len(basis.names) == basis.size == len(set(basis.names))
    np.testing.assert_allclose(values @ basis.constant, 1.0, atol=1e-13)


@pytest.mark.parametrize("basis", ONE_COLUMN[:4])
def test_polynomials_are_the_same_functions(basis) -> None:
    x = np.linspace(-2, 3, 7)
    values = np.stack([p(x) for p in basis.polynomials()], axis=1)
    np.testing.assert_allclose(values, basis.evaluate(x), atol=1e-11)


def test_products_and_sums_read_their_columns_from_left_to_right() -> None:
    x = np.array([[0.2, 1], [-0.6, 0], [0.9, 2]])
    parts = (Legendre(-1, 1, 2), OneHot(3))
    left, right = parts[0].evaluate(x[:, 0]), parts[1].evaluate(x[:, 1])
    product = Product(parts)
    values = product.evaluate(x)
    assert product.size == 6
    assert product.dimension == 2
    np.testing.assert_allclose(values[:, 4], left[:, 1] * right[:, 1])
    np.testing.assert_allclose(values @ product.constant, 1.0)
    added = Additive(parts)
    assert added.size == 4
    np.testing.assert_allclose(added.evaluate(x), np.column_stack([np.ones(3), left[:, 1], right[:, 1:]]))
    assert added.names == ("1", "x1:P1", "x2:[1]", "x2:[2]")
    np.testing.assert_allclose(added.evaluate(x) @ added.constant, 1.0)
    assert product.names[4] == "P1·[1]"


def test_splines_are_local_and_stay_at_the_ends() -> None:
    spline = BSpline(0, 1, 7)
    values = spline.evaluate([0.05, 0.95, -3.0, 0.0])
    assert (values[0, 4:] == 0).all()
    np.testing.assert_array_equal(values[2], values[3])
    centres = np.argmax(spline.evaluate(np.linspace(0, 1, 50)), axis=1)
    assert all(a <= b for a, b in pairwise(centres))


def test_linear_takes_the_columns_as_they_are() -> None:
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(Linear(2).evaluate(x), np.column_stack([np.ones(3), x]))
    assert Linear(0).evaluate(x[:, 0]).shape == (3, 1)
    with pytest.raises(ParameterError, match="one column"):
        Linear(2).polynomials()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Legendre(1, 1, 2), "low end below its high end; it is 1 to 1"),
        (lambda: Legendre(0, 1, 0), "at least 1 functions; it has 0"),
        (lambda: Hermite(2, 0, 0), "scale of the basis must be above 0"),
        (lambda: BSpline(0, 1, 3), "at least 4 functions; it has 3"),
        (lambda: BSpline(0, 1, 3, -1), "degree of the splines"),
        (lambda: Linear(-1), "at least 0; it is -1"),
        (lambda: Product(()), "at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(make, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_values_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(DataError, match=r"Codes outside the 3 public categories \(0 to 2\): 3, 7\."):
        OneHot(3).evaluate([0, 7, 3, 3])
    with pytest.raises(DataError, match="for one column"):
        Legendre(0, 1, 2).evaluate(np.zeros((2, 2)))
    with pytest.raises(DataError, match="2 columns, but the values have 3"):
        Linear(2).evaluate(np.zeros((4, 3)))


def test_plain_legendre_polynomials_are_1_at_the_upper_end():
    plain, normed = Legendre(2.0, 6.0, 4, "plain"), Legendre(2.0, 6.0, 4)
    x = np.linspace(2.0, 6.0, 7)
    np.testing.assert_allclose(plain.evaluate([6.0]), np.ones((1, 4)), rtol=1e-12)
    np.testing.assert_allclose(plain.evaluate(x) * np.sqrt([1.0, 3.0, 5.0, 7.0]), normed.evaluate(x), atol=1e-12)
    for column, power in zip(plain.evaluate(x).T, plain.polynomials(), strict=True):
        np.testing.assert_allclose(power(x), column, atol=1e-12)
    np.testing.assert_allclose(plain.evaluate(x) @ plain.constant, np.ones(7), rtol=1e-12)
