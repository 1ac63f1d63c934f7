from __future__ import annotations

import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.properties.remez import (
    HIGHEST_DEGREE,
    _solution,
    entropy_term,
    evaluate,
    remez,
    scaled_polynomial_values,
)


@pytest.mark.parametrize("degree", [1, 2, 3, 9, 11, 17, 24])
def test_the_error_alternates_with_one_size(degree: int) -> None:
    best = remez(degree)
    assert best.degree == degree
    assert best.coefficients[0] == best.error
    assert best.points.size == degree + 2
    assert (best.points[0], best.points[-1]) == (0.0, 1.0)
    off = evaluate(best, best.points) - entropy_term(best.points)
    signs = np.where(np.arange(degree + 2) % 2 == 0, 1.0, -1.0)
    np.testing.assert_allclose(off, signs * best.error, atol=2e-14)
    fine = np.linspace(0.0, 1.0, 5001) ** 2
    assert np.abs(evaluate(best, fine) - entropy_term(fine)).max() <= best.error + 2e-14


def test_degree_one_in_closed_form() -> None:
    best = remez(1)
    assert best.error == pytest.approx(1 / (2 * np.e), rel=1e-15)
    assert abs(best.coefficients[1]) < 1e-25


def test_evaluation_agrees_with_the_coefficients_where_they_are_tame() -> None:
    best, x = remez(6), np.linspace(0, 1, 101)
    np.testing.assert_allclose(evaluate(best, x), np.polynomial.polynomial.polyval(x, best.coefficients), atol=1e-13)


def test_inner_sums_are_exact_at_high_degree() -> None:
    degree, interval, cutoff = 24, 12.5, 40
    exact = _solution(degree)[1]
    found = scaled_polynomial_values(degree, interval, cutoff)
    for count in (0, 1, 7, 24, 40):
        total, falling = 0, 1
        for power in range(degree + 1):
            total += exact[power] * falling / exact[0].context.mpf(interval) ** power
            falling *= count - power
        assert found[count] == pytest.approx(float(total * interval), rel=1e-14)


def test_scaled_squares_settle() -> None:
    assert 9 * remez(3).error == pytest.approx(0.2192, abs=1e-4)
    assert 400 * remez(20).error == pytest.approx(0.22669, abs=1e-5)


@pytest.mark.parametrize("degree", [0, HIGHEST_DEGREE + 1, -3, 2.5, True, np.nan, np.inf, "3", None])
def test_bad_degrees_are_refused(degree: float) -> None:
    with pytest.raises(ParameterError, match="degree of the polynomial must be"):
        remez(degree)  # type: ignore[arg-type]
