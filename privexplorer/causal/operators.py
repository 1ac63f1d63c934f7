"""Operator of a mechanism on functions of (v, x), its inverse and adjoint, and the inequalities between norms.

Holds Ex. 1, (13), (14), (16), (22), Lems 1, 3, 4(iv) and 5 of locally_private_inference. Tables have the private
category on the last axis; laws ``p_vx[..., v, x]`` may have leading axes (many laws at once). A finite mechanism acts
on functions by the transpose of its matrix: (Qk)(v, x) = Σ_z Q[z, x] k(v, z).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    Values,
    checked_matrix,
    posterior_kept,
)
from privexplorer.errors import ParameterError

Finite = AlphaIdentity | FiniteMechanism

_RANK = 1e-10


# --- operators ----------------------------------------------------------------------------------------------------


def apply(mechanism: Finite, k: ArrayLike) -> FloatArray:
    """E[k(V, Z) | V = v, X = x]: table (..., z) to (..., x) (16)."""
    return np.asarray(np.einsum("...z,zx->...x", np.asarray(k, dtype=np.float64), mechanism.finite().matrix))


def invert(mechanism: Finite, h: ArrayLike) -> FloatArray:
    """Undo ``apply``: table (..., x) to (..., z) (Lem 3(iv), (vi)).

    Examples
    --------
    >>> skew = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
    >>> invert(skew, [1.0, -2.0, 5.0]).round(9).tolist()
    [2.5, -7.5, 7.5]
    """
    return mechanism.finite().invert(h)


def mix(mechanism: Finite, p_vx: ArrayLike) -> FloatArray:
    """Law of (V, Z): (..., x) to (..., z) (11)."""
    return np.asarray(np.einsum("zx,...x->...z", mechanism.finite().matrix, np.asarray(p_vx, dtype=np.float64)))


def unmix(matrix: ArrayLike, p_vz: ArrayLike) -> FloatArray:
    """Law of (V, X) from that of (V, Z): (..., z) to (..., x) (13), (14); least squares for tall matrices.

    Parameters
    ----------
    matrix : (Z, X) array_like
        Columns are the conditional laws; Z may exceed X.

    Raises
    ------
    ParameterError
        If the matrix lacks full column rank: then the law of (V, X) is not determined.
    """
    given = checked_matrix(matrix)
    shown = np.asarray(p_vz, dtype=np.float64)
    if not is_identified(given):
        raise ParameterError(
            "The mechanism cannot be inverted: what people show does not determine the law of the private column. "
            "It must show at least as many categories as there are, with columns none of which is a mix of others.",
            field="mechanism",
        )
    inverse = np.linalg.inv(given) if given.shape[0] == given.shape[1] else np.linalg.pinv(given)
    return np.asarray(np.einsum("xz,...z->...x", inverse, shown))


def is_identified(matrix: ArrayLike) -> bool:
    """Whether a matrix (Z, X) has full column rank, so that its mixture can be undone (Ex. 1)."""
    given = checked_matrix(matrix)
    return bool(np.linalg.matrix_rank(given) == given.shape[1])


def adjoint(mechanism: Finite, h: ArrayLike, p_vx: ArrayLike) -> FloatArray:
    """E[h(V, X) | V, Z]: tables h and p_vx (..., x) to (..., z) (Lem 3(ii)); 0 where z cannot be shown."""
    table = np.asarray(p_vx, dtype=np.float64)
    top = mix(mechanism, table * np.asarray(h, dtype=np.float64))
    bottom = mix(mechanism, table)
    return np.asarray(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0), dtype=np.float64)


def adjoint_by_posterior(mechanism: AlphaIdentity, h: ArrayLike, p_vx: ArrayLike) -> FloatArray:
    """Return the same through Lem 4(vii): k(v, z)·h(v, z) + (1 - k(v, z))·E[h | V = v], k = P(kept | v, z)."""
    table, values = np.asarray(p_vx, dtype=np.float64), np.asarray(h, dtype=np.float64)
    kept = posterior_kept(mechanism, table)
    mean = (table * values).sum(axis=-1, keepdims=True) / table.sum(axis=-1, keepdims=True)
    return np.asarray(kept * values + (1.0 - kept) * mean)


def signed_weights(mechanism: Finite, z: ArrayLike) -> FloatArray:
    """Signed imputation: weights (n, J) of records that show codes z; each row adds up to one."""
    return mechanism.finite().signed_weights(z)


def signed_imputation(mechanism: AlphaIdentity) -> tuple[float, Values, FloatArray]:
    """Signed imputation for values of any kind: weight of a record's own value, points, and their weights.

    Returns
    -------
    own : float
        1/a, for the value that the record shows.
    points, weights : arrays
        Nodes of the noise law and -(1 - a)/a times their weights; ``own`` plus the sum of ``weights`` is 1.
    """
    points, weights = mechanism.nodes()
    factor = 1.0 / mechanism.keep_probability
    return factor, points, -(factor - 1.0) * weights


# --- norms and inequalities ---------------------------------------------------------------------------------------


def norm(h: ArrayLike, law: ArrayLike, power: float = 2.0) -> FloatArray:
    """L_p norm of tables (..., V, J) under laws of that shape: shape (...)."""
    values = np.abs(np.asarray(h, dtype=np.float64)) ** power * np.asarray(law, dtype=np.float64)
    return np.asarray(values.sum(axis=(-2, -1)) ** (1.0 / power))


def largest(h: ArrayLike) -> FloatArray:
    """Largest absolute entry over the last two axes."""
    return np.asarray(np.abs(np.asarray(h, dtype=np.float64)).max(axis=(-2, -1)))


def norm_with_noise(h: ArrayLike, p_vx: ArrayLike, noise: ArrayLike) -> FloatArray:
    """‖h‖∩ = ‖h‖ under the law plus ‖h‖ under (law of v) × noise (section 1.5)."""
    table = np.asarray(p_vx, dtype=np.float64)
    product = table.sum(axis=-1, keepdims=True) * np.asarray(noise, dtype=np.float64)
    return norm(h, table) + norm(h, product)


@dataclass(frozen=True, eq=False)
class Inequality:
    """One inequality left <= right, for one law or many.

    Attributes
    ----------
    name, source : str
        What it says, and its label.
    left, right : float arrays
        Both sides; shape () for one law.
    """

    name: str
    source: str
    left: FloatArray
    right: FloatArray

    @property
    def slack(self) -> FloatArray:
        """Right minus left, relative to the right."""
        return np.asarray((self.right - self.left) / np.where(self.right > 0, self.right, 1.0))

    @property
    def holds(self) -> BoolArray:
        """Whether it holds up to rounding (1e-12 relative)."""
        return np.asarray(self.slack >= -1e-12)


def inequalities(mechanism: Finite, p_vx: ArrayLike, h: ArrayLike, k: ArrayLike) -> tuple[Inequality, ...]:
    """All norm inequalities of section 1.5 that apply to the mechanism.

    Parameters
    ----------
    mechanism : AlphaIdentity or FiniteMechanism
        Over J categories.
    p_vx : (..., V, J) array_like
        Laws of (V, X).
    h, k : (..., V, J) array_like
        Functions of (v, x) and of (v, z).
    """
    table, hx, kz = (np.asarray(a, dtype=np.float64) for a in (p_vx, h, k))
    shown = mix(mechanism, table)
    forward, back = apply(mechanism, kz), invert(mechanism, hx)
    out = [Inequality("Noise averages: ‖Qk‖ ≤ ‖k‖", "Lem 3(i)", norm(forward, table), norm(kz, shown))]
    if isinstance(mechanism, AlphaIdentity):
        out += _of_kept_values(mechanism, table, hx, kz, shown, forward, back)
    else:
        reach = float(np.abs(mechanism.inverse).sum(axis=0).max())
        out.append(
            Inequality("Inverse, largest value: weights of one record", "derived", largest(back), reach * largest(hx))
        )
    matrix = mechanism.finite().matrix
    for power in (1.0, 2.0, 4.0):
        plain, noisy = norm(hx, table, power), norm(hx, shown, power)
        for name, source, least in (
            ("smallest entry", "Lem 5", float(matrix.min())),
            ("smallest diagonal entry", "derived", float(np.diagonal(matrix).min())),
        ):
            if least > 0:
                words = f"Truth against shown, power {power:g}: {name} of the matrix"
                out.append(Inequality(words, source, plain, least ** (-1.0 / power) * noisy))
    return tuple(out)


def _of_kept_values(
    mechanism: AlphaIdentity,
    table: FloatArray,
    hx: FloatArray,
    kz: FloatArray,
    shown: FloatArray,
    forward: FloatArray,
    back: FloatArray,
) -> list[Inequality]:
    keep = mechanism.keep_probability
    noise = mechanism.noise.nodes()[1]
    stretch = (2.0 - keep) / keep
    out = [
        Inequality("Inverse, largest value: (2 - a)/a", "Lem 3(vi)", largest(back), stretch * largest(hx)),
        Inequality(
            "Inverse against both norms: (2 - a)/a",
            "Lem 3(vi)",
            norm(back, shown),
            stretch * norm_with_noise(hx, table, noise),
        ),
    ]
    if keep < 1:
        spread = np.sqrt(1.0 - keep)
        factor = np.sqrt(keep) + keep / spread + 2.0 * spread
        out.append(
            Inequality(
                "Noise averages in both norms",
                "Lem 3(v)",
                norm_with_noise(forward, table, noise),
                factor * norm(kz, shown),
            )
        )
    out += [
        Inequality(
            f"Truth against shown, power {power:g}: a^(-1/p)",
            "Lem 4(iv)",
            norm(hx, table, power),
            keep ** (-1.0 / power) * norm(hx, shown, power),
        )
        for power in (1.0, 2.0, 4.0)
    ]
    second, at_shown = norm(back, shown) ** 2, norm(hx, shown) ** 2
    out += [
        Inequality("Variance of an undone weight: 2(2 - a)/a²", "derived", second, 2.0 * stretch / keep * at_shown),
        Inequality("Variance of an undone weight: 4/a²", "Prop. 3", second, 4.0 / keep**2 * at_shown),
    ]
    return out


def inverse_norm(mechanism: Finite, p_vx: ArrayLike) -> float:
    """Largest ‖Q⁻¹h‖ (under what is shown) over ‖h‖ = 1 (under the truth): finite for positive laws (Lem 5).

    It grows without bound as a cell of the law tends to 0 in which noise keeps landing. Derived: the largest singular
    value over v of diag(√p_vz) W' diag(1/√p_vx); checked in tests/unit/causal/test_operators.py.
    """
    table = np.asarray(p_vx, dtype=np.float64)
    table = table.reshape(-1, table.shape[-1])
    if np.any(table <= 0):
        return float("inf")
    shown = mix(mechanism, table)
    blocks = np.sqrt(shown)[:, :, None] * mechanism.finite().inverse.T / np.sqrt(table)[:, None, :]
    return float(np.linalg.norm(blocks, 2, axis=(1, 2)).max())


# --- tangent space (Lem 1) ----------------------------------------------------------------------------------------


def adjoint_matrix(matrix: ArrayLike, p_vx: ArrayLike) -> FloatArray:
    """Matrix of the adjoint on functions of the supported (v, x), in orthonormal coordinates of both laws.

    Parameters
    ----------
    matrix : (Z, X) array_like
        Columns are the conditional laws; it may be singular or not square.
    p_vx : (..., X) array_like
        Law; every axis but the last is v.

    Returns
    -------
    (V·Z, support) float array
    """
    given = checked_matrix(matrix)
    table = np.asarray(p_vx, dtype=np.float64)
    table = table.reshape(-1, table.shape[-1])
    shown = np.einsum("zx,vx->vz", given, table)
    roots = np.divide(1.0, np.sqrt(shown), out=np.zeros_like(shown), where=shown > 0)
    count, width = table.shape
    out = np.zeros((count, given.shape[0], count, width))
    for v in range(count):
        out[v, :, v, :] = given * np.sqrt(table[v])[None, :] * roots[v][:, None]
    return out.reshape(count * given.shape[0], count * width)[:, table.reshape(-1) > 0]


def tangent_basis(matrix: ArrayLike, p_vx: ArrayLike) -> FloatArray:
    """Orthonormal basis (V·Z, rank) of the private tangent space, functions multiplied by √p_vz (Lem 1(i))."""
    table = np.asarray(p_vx, dtype=np.float64).reshape(-1)
    root = np.sqrt(table[table > 0] / table.sum())
    full = adjoint_matrix(matrix, p_vx)
    centred = full - np.einsum("ij,j->i", full, root)[:, None] * root[None, :]
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(left[:, sizes > _RANK * max(1.0, float(sizes[0]))])


def tangent_rank(matrix: ArrayLike, p_vx: ArrayLike) -> int:
    """Dimension of the private tangent space: V·J - 1 for positive laws exactly if the matrix is invertible (Lem 1).

    Examples
    --------
    >>> law = np.full((4, 3), 1 / 12)
    >>> tangent_rank([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]], law)
    11
    """
    return int(tangent_basis(matrix, p_vx).shape[1])


__all__ = [
    "Finite",
    "Inequality",
    "adjoint",
    "adjoint_by_posterior",
    "adjoint_matrix",
    "apply",
    "inequalities",
    "inverse_norm",
    "invert",
    "is_identified",
    "largest",
    "mix",
    "norm",
    "norm_with_noise",
    "signed_imputation",
    "signed_weights",
    "tangent_basis",
    "tangent_rank",
    "unmix",
]
