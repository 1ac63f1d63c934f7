"""The source's quantitative claims R1 to R14, each recomputed (spec predictability, section 4).

Every function returns curves, the claims with what was found beside what is expected, and notes. R2 and R13 also
take simulated values; R14 is timed before.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.studies import _small_table as small
from privexplorer.studies._reproduced import MOST_DIGITS, Outcome, apart, beside, side, yes_or_no
from privexplorer.studies.result import Formula, Note
from privexplorer.studies.words import listed, significant, whole

Row = tuple[str, Any, Any, Any]


@dataclass(frozen=True)
class Verdict:
    """A sentence of the source (or ours), whether it holds, and the numbers that say so."""

    text: str
    holds: bool
    evidence: str
    unclear: bool = False
    """A simulated number is so close to its limit that nothing can be said."""

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        return "cannot be told" if self.unclear else yes_or_no(self.holds)


@dataclass(frozen=True)
class Answer:
    """Curves by panel, verdicts, notes and formulas of one claim; ``low`` and ``high`` are intervals by series."""

    curves: dict[str, list[Row]]
    verdicts: tuple[Verdict, ...]
    notes: tuple[Note, ...] = ()
    formulas: tuple[Formula, ...] = ()
    intervals: dict[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict)


def numbers(values: Any, digits: int = 4) -> str:
    """Write numbers in a row."""
    return listed([significant(float(value), digits) for value in np.atleast_1d(np.asarray(values, dtype=np.float64))])


def agrees(text: str, expected: Any, found: Any, tolerance: float = 1e-3, before: str = "") -> Verdict:
    """Compare found with expected numbers: within the digits that the expected ones have."""
    want, have = np.atleast_1d(np.asarray(expected, dtype=float)), np.atleast_1d(np.asarray(found, dtype=float))
    holds = bool(np.all(np.abs(have - want) <= tolerance * np.maximum(np.abs(want), 1e-12)))
    digits = 4
    while not holds and numbers(want, digits) == numbers(have, digits) and digits < MOST_DIGITS:
        digits += 1
    return Verdict(text, holds, f"{before}Expected {numbers(want, digits)}; found {numbers(have, digits)}.")


# --- R1 to R6: information and differential privacy ----------------------------------------------------------


def belief() -> Answer:
    """R1: how far an ε-DP release may shift beliefs."""
    epsilon = np.concatenate([np.geomspace(0.1, 20.0, 60)])
    return Answer(
        {"": [("largest shift", epsilon, pr.belief_shift(epsilon), 0.0)]},
        (agrees("At ε = 20, as deployed, odds may shift by a factor e²⁰.", 4.8517e8, pr.belief_shift(20.0), 1e-4),),
        (),
        (
            Formula(
                "Shift of the odds", r"e^{\varepsilon}", r"e^{20}=4.8517\times10^{8}", "bound", "section 1; Def A.2"
            ),
        ),
    )


PRIVATE_PEOPLE = (50, 100, 200, 400, 800, 1_600)
PRIVATE_BOUNDS = {50: 0.09, 100: 0.17, 400: 0.23, 1_600: 0.245}


def private_yet_predictable(gains: FloatArray) -> Answer:
    """R2: the private family; ``gains`` are simulated, shape ``(trials, people)``."""
    people = np.unique(np.rint(np.geomspace(33, 10_000, 60)))
    bound = np.array([pr.private_yet_predictable(int(n)).bound for n in people])
    found = [pr.private_yet_predictable(n).bound for n in PRIVATE_BOUNDS]
    mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / math.sqrt(len(gains))
    exact = np.array([pr.private_yet_predictable(n).bound for n in PRIVATE_PEOPLE])
    away = float(np.max(np.abs(mean - exact) / error))
    printed = pr.laplace_scale(100, 0.1, "printed")
    return Answer(
        {
            "": [
                ("lower bound", people, bound, 0.0),
                ("simulated", np.array(PRIVATE_PEOPLE, dtype=float), mean, error),
            ]
        },
        (
            agrees(
                "The release is private, ε = N^(−1/2), yet γ is at least ¼ − 8/N.", list(PRIVATE_BOUNDS.values()),
                found, 1e-9, f"At N = {listed([whole(n) for n in PRIVATE_BOUNDS])}. ",
            ),
            Verdict(
                "A simulated attacker gains as much.", away <= 4.5,
                f"The largest of {len(exact)} differences is {apart(away, 4.5)[0]} standard errors (we allow 4.5).",
            ),
            Verdict(
                "(E11) The proof prints the noise scale ε/N.", False,
                f"At N = 100 and ε = 0.1 that is {significant(printed, 2)} and would be ε = "
                f"{1 / (100 * printed):g}; corrected to 1/(Nε) = {pr.laplace_scale(100, 0.1):g}, which is ε = 0.1.",
            ),
        ),
        (Note("The bound is empty up to N = 32, and the family needs at least N/2 people with answer 1."),),
        (
            Formula(
                "Gain of the adversary", r"\gamma\ge\left(\tfrac12-p_U\right)^2-\frac{8}{N}",
                r"N=100:\ \tfrac14-0.08=0.17", "bound", "Thm 2.5(i), erratum E11",
            ),
        ),
    )  # fmt: skip


def _enumerated(people: int, ones: int) -> tuple[float, float]:
    """Return E(p_C - p_U)² and its part without the cross term, over all shards of half of the people."""
    bits = np.r_[np.ones(ones), np.zeros(people - ones)]
    half, rate = people // 2, ones / people
    known = np.array([bits[list(shard)].mean() for shard in itertools.combinations(range(people), half)])
    rest = (ones - half * known) / (people - half)
    return float(np.mean((known - rest) ** 2)), float(np.mean((known - rate) ** 2 + (rest - rate) ** 2))


def exact_mean() -> Answer:
    """R3: the exact mean, which is not private, yet unpredictable."""
    people = np.unique(2 * np.rint(np.geomspace(4, 10_000, 50) / 2))
    gamma = np.array([pr.exact_mean_predictability(int(n), 0.5, 0.5) for n in people])
    slope = float(np.polyfit(np.log(people[-20:]), np.log(gamma[-20:]), 1)[0])
    sizes = (4, 6, 8, 10, 12)
    counted = np.array([_enumerated(n, n // 2)[0] for n in sizes])
    closed = np.array([pr.exact_mean_predictability(n, 0.5, 0.5) for n in sizes])
    total, without = _enumerated(10, 4)
    return Answer(
        {
            "": [
                ("corrected", people, gamma, 0.0),
                ("printed, cross term 0", people, gamma / 2, 0.0),
                ("all shards counted", np.array(sizes, dtype=float), counted, 0.0),
            ]
        },
        (
            agrees("γ = 1/(N − 1) for p = α = ½.", [1 / 99, 1 / 999], [
                pr.exact_mean_predictability(n, 0.5, 0.5) for n in (100, 1_000)
            ], 1e-9, "At N = 100 and 1,000. "),
            Verdict(
                "It falls like 1/N.", abs(slope + 1) < 0.01,
                f"The slope between N = {whole(people[-20])} and {whole(people[-1])} is "
                f"{significant(slope, 4)} (we allow 0.01 beside −1).",
            ),
            Verdict(
                "Counting every shard gives the same number.", bool(np.allclose(counted, closed, rtol=1e-12)),
                f"For N = 4 to 12 the largest relative difference is {np.max(np.abs(counted / closed - 1)):.0e}.",
            ),
            Verdict(
                "(E11b) The proof sets the cross term to 0.", bool(np.isclose(total, without)),
                f"N = 10, n = 5, p = 0.4: printed {significant(without, 3)}, corrected {significant(total, 3)}.",
            ),
        ),
        (),
        (
            Formula(
                "Exact mean, random shard", r"\gamma=\frac{p(1-p)}{\alpha(1-\alpha)(N-1)}", r"\frac1{N-1}", "exact",
                "Thm 2.5(ii), erratum E11b",
            ),
        ),
    )  # fmt: skip


def conversion() -> Answer:
    """R4: from mutual information to (0, δ)."""
    epsilon = np.linspace(0.0, 2.0, 201)
    delta = np.array([pr.mi_dp_to_slack(float(one)) for one in epsilon])
    first = float(epsilon[np.argmax(delta >= 1.0)])
    return Answer(
        {"": [("δ of the conversion", epsilon, delta, 0.0)]},
        (
            agrees("ε-MI-DP gives (0, √(2ε))-DP.", 0.7745966692, pr.mi_dp_to_slack(0.3), 1e-9, "At ε = 0.3. "),
            agrees("That says nothing from ε = 0.5 on.", 0.5, first, 1e-9),
        ),
        (),
        (
            Formula(
                "Conversion", r"\delta=\min(1,\sqrt{2\varepsilon})", r"\sqrt{2\times0.3}=0.7746", "bound",
                "after Thm 2.7",
            ),
        ),
    )  # fmt: skip


LOG_LOSS_GAPS = (0.28768, 0.41849, 0.46210, 0.41849, 0.28768)


def log_loss() -> Answer:
    """R5: log loss against mutual information, in full."""
    toy = pr.log_loss_toy(4, 2)
    return Answer(
        {
            "": [
                ("loss saved, this data set", toy.counts, toy.gaps, 0.0),
                ("mutual information", toy.counts, np.full(5, toy.information), 0.0),
            ]
        },
        (
            agrees(
                "Averaged over the prior, the loss saved is the mutual information.", 0.3748900964, toy.average, 1e-9
            ),
            Verdict(
                "It is the mean Kullback–Leibler divergence as well.",
                abs(toy.divergence - toy.information) < 1e-12,
                f"Divergence {significant(toy.divergence, 10)}, information {significant(toy.information, 10)}.",
            ),
            agrees("The loss saved at 0 to 4 ones.", LOG_LOSS_GAPS, toy.gaps, 2e-5),
            Verdict(
                "(E12) The identity is printed for every data set.", bool(np.allclose(toy.gaps, toy.information)),
                f"It holds on average only: single data sets give {significant(toy.gaps.min())} to "
                f"{significant(toy.largest)}, and the largest of them is γ.",
            ),
        ),
        (Note("Four yes/no records, every count equally likely, two of them known, the exact count released."),),
        (
            Formula(
                "Log loss",
                r"E_S\big[\ell(\hat\theta_C)-\ell(\hat\theta_{C,A})\big]=\mathrm{MI}\big(q(x);A\mid C\big)",
                r"0.3748900964", "exact", "Thm 2.4, erratum E12",
            ),
        ),
    )  # fmt: skip


RESPONSE = {0.1: 0.001248, 0.5: 0.03030, 1.0: 0.11094, 3.0: 0.50228}


def randomised_response() -> Answer:
    """R6: differential privacy bounds predictability in the worst case."""
    epsilon = np.geomspace(0.05, 5.0, 80)
    told = np.array([pr.randomised_response_information(float(one)) for one in epsilon])
    found = [pr.randomised_response_information(one) for one in RESPONSE]
    return Answer(
        {"": [("bound: ε", epsilon, epsilon, 0.0), ("randomised response", epsilon, told, 0.0)]},
        (
            agrees(
                "What one randomised answer tells.", list(RESPONSE.values()), found, 5e-4,
                f"At ε = {listed([f'{one:g}' for one in RESPONSE])}. ",
            ),
            Verdict(
                "It never exceeds ε.", bool(np.all(told <= epsilon)),
                f"The largest share of the bound is {apart(float(np.max(told / epsilon)), 1.0)[0]}.",
            ),
        ),
        (),
        (
            Formula(
                "Randomised response", r"h\big(\pi(1-f)+(1-\pi)f\big)-h(f),\quad f=\frac1{1+e^{\varepsilon}}",
                r"\pi=\tfrac12,\ \varepsilon=1:\ 0.11094", "exact", "Thm A.9",
            ),
        ),
    )  # fmt: skip


# --- R7 to R11: noise ----------------------------------------------------------------------------------------

LIMITS = {0.0: 1.0, 0.01: 0.97868, 0.1: 0.83453, 1.0: 0.43670, 10.0: 0.15255, 1000.0: 0.01545}


def noise_limits() -> Answer:
    """R7: between no noise and much noise."""
    summary, _ = small.regression_summary()
    levels = np.geomspace(1e-3, 1e4, 71)

    def shares(scale: Any, at: Any) -> FloatArray:
        sweep = pr.noise_sweep(summary, small.SHARD, np.eye(2), np.concatenate([[0.0], at]), noise_scale=scale)
        return np.asarray(sweep.printed[1:, 0] / sweep.printed[0, 0])

    wanted = np.array(list(LIMITS))
    paper, release = shares("paper", wanted), shares("release", wanted)
    ends = shares("paper", [1e-12, 1e12])
    return Answer(
        {
            "": [
                ("noise counted once", levels, shares("paper", levels), 0.0),
                ("noise as released", levels, shares("release", levels), 0.0),
            ]
        },
        (
            agrees(
                "γ(σ²)/γ(0) on the printed scale.", list(LIMITS.values()), paper, 4e-4,
                f"At σ² = {listed([f'{one:,g}' for one in LIMITS])}. ",
            ),
            Verdict(
                "No noise changes nothing, endless noise hides everything.",
                bool(ends[0] > 1 - 1e-9 and ends[1] < 1e-4),
                f"The ratio is 1 up to {abs(1 - ends[0]):.0e} at σ² = 10⁻¹² and {significant(ends[1], 2)} at 10¹².",
            ),
            agrees(
                "The recipe in three steps, moments, derivative and noise written down by hand, gives the bound.",
                0.1281025641, _by_hand(), 1e-8, "At σ² = 0.05. ",
            ),
            Verdict(
                "(E1) The noise counts once.", False,
                f"It is one draw for all records and weighs ν = {significant(small.SHARD.noise_multiplier, 4)} times: "
                f"at σ² = 1 printed {significant(paper[3])}, corrected {significant(release[3])}.",
            ),
        ),
        (),
        (
            Formula(
                "Attenuation", r"\frac{\gamma(\sigma^2)}{\gamma(0)}=\sqrt{1-\frac{c_0}{\rho_{cc}^2}}", "", "exact",
                "Rem 3.7, erratum E1",
            ),
        ),
    )  # fmt: skip


def _by_hand() -> float:
    """Return the bound of G5 from moments, derivative and noise alone (after Rem 3.7)."""
    derivative = np.einsum("ij,ik->jk", small.FEATURES, small.FEATURES) / small.PEOPLE
    summary = pr.moment_summary(small.QUERY, _gradients(), derivative)
    found = pr.predictability(summary, small.SHARD, 0.05 * np.eye(2), noise_scale="paper")
    return float(found.printed[0])


def free_query() -> Answer:
    """R8: a query that no moment explains costs nothing."""
    moments = np.column_stack([np.ones(small.PEOPLE), _gradients()])
    residual = small.QUERY - moments @ np.linalg.lstsq(moments, small.QUERY, rcond=None)[0]
    release = small.LINEAR.fit(small.TABLE)
    table = {**small.TABLE, "residual": residual}
    summary = pr.summarise(table, pr.column_queries(("q", "residual"), table), release)
    levels = np.concatenate([[0.0], np.geomspace(1e-3, 10.0, 40)])
    sweep = pr.noise_sweep(summary, small.SHARD, np.eye(2), levels, noise_scale="paper")
    return Answer(
        {"": [("the query", levels, sweep.printed[:, 0], 0.0), ("its residual", levels, sweep.printed[:, 1], 0.0)]},
        (
            Verdict(
                "A query uncorrelated with the gradients is free, even without noise.",
                bool(sweep.printed[0, 1] < 1e-12),
                f"γ = {sweep.printed[0, 1]:.0e} without noise, where the query itself has "
                f"{significant(sweep.printed[0, 0])}.",
            ),
        ),
        (Note("The residual of the query after regressing it on the gradients of the released regression."),),
        (
            Formula(
                "Free", r"\rho_{cc}=0\ \Rightarrow\ \gamma=0", r"\rho_{cc}(q)="
                f"{pr.noise_spectrum(summary).rho2[0] ** 0.5:.4f}", "exact", "Rem 3.7",
            ),
        ),
    )  # fmt: skip


def _gradients() -> FloatArray:
    release = small.LINEAR.fit(small.TABLE)
    return np.asarray((small.FEATURES @ release.coefficients - small.OUTCOME)[:, None] * small.FEATURES)


def all_fractions() -> Answer:
    """R9: the U over compromised fractions."""
    summary = small.mean_summary()
    fractions = np.linspace(0.04, 0.96, 93)
    sigma = 2.0 * np.eye(2)
    curves = {
        "no noise": pr.fraction_sweep(summary, small.PEOPLE, fractions),
        "noise counted once": pr.fraction_sweep(summary, small.PEOPLE, fractions, sigma, noise_scale="paper"),
        "noise as released": pr.fraction_sweep(summary, small.PEOPLE, fractions, sigma),
    }
    values = {name: sweep.printed[:, 0] for name, sweep in curves.items()}
    least = {name: float(fractions[np.argmin(y)]) for name, y in values.items()}
    lopsided = {name: float(np.max(np.abs(y / y[::-1] - 1))) for name, y in values.items()}
    fixed = ("no noise", "noise counted once")
    return Answer(
        {"": [(name, fractions, y, 0.0) for name, y in values.items()]},
        (
            Verdict(
                "The curve is least at α = ½ and symmetric.",
                all(abs(least[name] - 0.5) < 1e-9 and lopsided[name] < 1e-9 for name in fixed),
                f"Without noise it is least at α = {least['no noise']:.2f}; both sides differ by at most "
                f"{max(lopsided[name] for name in fixed):.0e}.",
            ),
            Verdict(
                "(E1) The same with noise as it is really released.", abs(least["noise as released"] - 0.5) < 1e-9,
                f"Printed: least at α = {least['noise counted once']:.2f}. Corrected: at "
                f"{least['noise as released']:.2f}, because the weight αN/(1 − α) of the noise grows with α.",
            ),
        ),
        (),
        (
            Formula(
                "Random shard", r"\gamma\le\frac{H\kappa}{\alpha(1-\alpha)N}V_q\,r", rf"N = {small.PEOPLE}", "bound",
                "Cor 3.8",
            ),
        ),
    )  # fmt: skip


def calibrated(seed: int) -> Answer:
    """R10: calibrated noise treats all queries alike."""
    asked = small.random_queries(200, seed)
    table = {**small.TABLE, "many": asked}
    release = small.LINEAR.fit(table)
    summary = pr.summarise(table, pr.column_queries(("many",), table), release)
    sandwich = summary.sandwich
    round_ = float(np.trace(sandwich)) / 2 * np.eye(2)
    levels = np.array([0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0])

    def kept(sigma: FloatArray) -> FloatArray:
        spectrum = pr.noise_spectrum(summary, sigma)
        return np.asarray(np.sqrt(spectrum.r2(levels) / spectrum.rho2))

    same, other = kept(sandwich), kept(round_)
    worst = float(np.max(np.abs(same * np.sqrt(1 + levels)[:, None] - 1)))
    rows: list[Row] = [
        ("1/√(1 + σ²)", levels, 1 / np.sqrt(1 + levels), 0.0),
        ("calibrated noise", levels, np.median(same, axis=1), 0.0),
        ("round noise", levels, np.median(other, axis=1), 0.0),
    ]
    return Answer(
        {"": rows},
        (
            Verdict(
                "Calibrated noise multiplies every query's bound by 1/√(1 + σ²).", worst < 1e-9,
                f"Over {asked.shape[1]} random queries and {levels.size} levels the largest relative difference is "
                f"{worst:.0e}.",
            ),
            Verdict(
                "(ours) Round noise of the same total variance does not.", float(np.ptp(other[4])) > 0.01,
                f"At σ² = 1 it keeps {significant(other[4].min(), 3)} to {significant(other[4].max(), 3)}.",
            ),
        ),
        (),
        (
            Formula(
                "Calibrated noise",
                r"\Sigma_\Delta=\sigma^2J^{-1}V_gJ^{-\top}\ \Rightarrow\ r=\frac{\rho_{cc}}{\sqrt{1+\sigma^2}}",
                r"\sigma^2=0.5:\ 1/\sqrt{1.5}=0.8165", "exact", "Lem 4.3",
            ),
        ),
        {
            "calibrated noise": (same.min(axis=1), same.max(axis=1)),
            "round noise": (np.quantile(other, 0.05, axis=1), np.quantile(other, 0.95, axis=1)),
        },
    )  # fmt: skip


ACCURACY = {
    "calibrated": 3.116193267,
    "bound 1": 8.619621745,
    "bound 2": 11.02697844,
    "isotropic": 11.475,
}


def accuracy() -> Answer:
    """R11: what noise costs the published regression."""
    summary, release = small.regression_summary()
    found = pr.regression_accuracy(release, small.TABLE, 0.5)
    # the same γ: what the calibrated noise leaves of r
    matched = pr.equal_predictability(summary, release.gram, summary.sandwich, np.eye(2), 1 / math.sqrt(1.5))
    names = (
        "calibrated, exact",
        "bound by mean loss",
        "bound by largest loss",
        "isotropic, same σ²",
        "isotropic, same γ",
    )
    values = [found.calibrated, found.bound_mean_loss, found.bound_max_loss, found.isotropic, matched.second_error]
    kinds = ("exact", "bound", "bound", "exact", "exact")
    rows: list[Row] = [
        (kind, [n for n, k in zip(names, kinds, strict=True) if k == kind],
         [v for v, k in zip(values, kinds, strict=True) if k == kind], 0.0)
        for kind in ("exact", "bound")
    ]  # fmt: skip
    return Answer(
        {"": rows},
        (
            agrees(
                "Excess error of calibrated noise, both its bounds, and isotropic noise, at σ² = 0.5.",
                list(ACCURACY.values()), values[:4], 1e-8,
            ),
            Verdict(
                "The exact error is below both bounds.", found.calibrated <= found.bound,
                "{} against {}.".format(*apart(found.calibrated, found.bound, 3)),
            ),
            Verdict(
                "(E14) Calibrated noise is cheaper than isotropic noise.", matched.ratio > 1,
                f"Printed, both with σ² = 0.5: {significant(found.isotropic / found.calibrated, 3)} times cheaper, but "
                "then isotropic noise hides more. Corrected, at equal γ, calibrated with σ² = 0.5: isotropic noise "
                f"costs {apart(matched.ratio, 1.0, 3)[0]} times as much here; over random queries it is a draw.",
            ),
        ),
        (),
        (
            Formula(
                "Calibrated", r"\sigma^2E\big[\mathrm{res}^2\,x^\top M^{-1}x\big]\le\sigma^2\min\Big\{"
                r"\tfrac{\max\|x\|^2}{\lambda_{\min}(M)}\hat L,\ d\,\hat L^{\max}\Big\}",
                rf"{found.calibrated:.4f}\le\min\{{{found.bound_mean_loss:.4f},\ {found.bound_max_loss:.4f}\}}",
                "bound", "Thm 4.4",
            ),
            Formula("Isotropic", r"\sigma^2\,\mathrm{tr}\,M", f"{found.isotropic:.4f}", "exact", "Lem 4.5; E14"),
        ),
    )  # fmt: skip


# --- R12, R13: families --------------------------------------------------------------------------------------


def finite_family() -> Answer:
    """R12: the price of many queries and an unknown process."""
    pairs = np.geomspace(1, 1e6, 61)
    asked = np.column_stack([small.QUERY, small.X1 > 0, small.X2 > 0, small.OUTCOME > 0])
    both = [small.mean_summary(asked, weights=w) for w in (None, 1 / (small.PEOPLE * small.LAW))]
    size = pr.sample_attack_size(8)
    family = pr.finite_family(both, size, np.diag([1.0, 2.0]))
    factors = np.array(
        [pr.finite_family(both[:1], size, np.diag([1.0, 2.0]), pairs=max(int(n), 4)).log_factor for n in pairs]
    )
    factors = np.where(pairs < 4, 1 + np.log(4 * pairs), factors)
    one = pr.finite_family([both[0].select(queries=[0])], size, np.diag([1.0, 2.0]))
    plain = pr.predictability(both[0].select(queries=[0]), size, np.diag([1.0, 2.0]), noise_scale="paper")
    return Answer(
        {
            "": [
                ("1 + ln(4|Q||W|)", pairs, 1 + np.log(4 * pairs), 0.0),
                ("computed families", np.array([1.0, 8.0]), np.array([one.log_factor, family.log_factor]), 0.0),
            ]
        },
        (
            agrees("4 queries and 2 processes: log factor and bound.", [4.465735903, 0.3100630218],
                   [family.log_factor, family.bound], 1e-9),
            agrees("One query and one process give Theorem 3.6 back.", plain.printed[0], one.bound, 1e-12),
            Verdict(
                "The price grows with the logarithm only.", bool(np.ptp(np.diff(factors[20:])) < 0.02),
                f"A million pairs cost {significant(float(factors[-1] / factors[0]), 3)} times one pair.",
            ),
        ),
        (),
        (
            Formula(
                "Finite family",
                r"\gamma\le\frac{H\,(1+\log(4|\mathcal Q||\mathcal W|))}{n_{\rm eff}}\max_{w,q}V_q\,r",
                rf"\frac{{2\times{family.log_factor:.4f}}}{{8}}\times{family.largest:.4f}={family.bound:.4f}", "bound",
                "Thm 5.1",
            ),
        ),
    )  # fmt: skip


FAMILY_RADII = np.geomspace(0.1, 100.0, 25)
FAMILY_RELEASES = {"mean of y published": (small.OUTCOME, 4.0), "mean of x published": (small.FEATURES, 1.0)}
FAMILY_GOLD = {"mean of y published": (100.63526, 223.0781305), "mean of x published": (119.4761982, 225.0261855)}


def linear_families(smoothness: float = 2.0) -> dict[str, pr.LinearFamily]:
    """Return the families of linear queries of R13."""
    out = {}
    for name, (statistic, variance) in FAMILY_RELEASES.items():
        summary = small.mean_summary(small.FEATURES, statistic)
        noise = variance * np.eye(summary.dimension)
        out[name] = pr.linear_family(summary, small.SHARD, noise, smoothness=smoothness)
    return out


def ball_families(suprema: FloatArray) -> Answer:
    """R13: bounds against simulated suprema at radius 1, shape ``(trials, 4)``: gain and product by release."""
    curves, verdicts = {}, []
    squares = FAMILY_RADII**2
    for place, (name, family) in enumerate(linear_families().items()):
        gain, product = suprema[:, 2 * place], suprema[:, 2 * place + 1]
        errors = [one.std(ddof=1) / math.sqrt(len(one)) for one in (gain, product)]
        curves[name] = [
            ("Theorem 5.2, corrected", FAMILY_RADII, [family.trace_bound(float(b)) for b in FAMILY_RADII], 0.0),
            ("Theorem A.21", FAMILY_RADII, [family.bound("l2", float(b)) for b in FAMILY_RADII], 0.0),
            (
                "Theorem 5.2, printed",
                FAMILY_RADII,
                [family.trace_bound(float(b), "printed") for b in FAMILY_RADII],
                0.0,
            ),
            ("simulated", FAMILY_RADII, gain.mean() * squares, errors[0] * squares),
        ]
        found = [family.bound("l2", 1.5), family.trace_bound(1.5)]
        verdicts.append(agrees(f"A.21 and 5.2 at B = 1.5, {name}.", FAMILY_GOLD[name], found, 1e-8))
        chain = found[0] / 2.25, found[1] / 2.25
        means = float(gain.mean()), float(product.mean())
        sides = (
            side(means[0] - means[1], math.hypot(*errors), 0.0),
            side(means[1], errors[1], chain[0]),
            side(chain[0], 0.0, chain[1]),
        )
        verdicts.append(
            Verdict(
                f"Supremum ≤ A.21 ≤ 5.2, {name}.",
                max(sides) == -1,
                f"At B = 1: {beside(means[0], errors[0], means[1])} gained, {beside(means[1], errors[1], chain[0])} as "
                "the product of errors, bounds {} and {}.".format(*apart(*chain, 3)),
                unclear=max(sides) == 0,
            )
        )
    single = linear_families(1.0)["mean of x published"]
    expected = float(suprema[:, 3].mean()) / 2 * 400
    doubt = float(suprema[:, 3].std(ddof=1)) / math.sqrt(len(suprema)) / 2 * 400
    as_printed = single.trace_bound(20.0, "printed")
    where = side(expected, doubt, as_printed)
    verdicts.append(
        Verdict(
            "(E6) Theorem 5.2 as printed, with B in place of B².", where == -1,
            f"B = 20, H = 1: printed {significant(as_printed)}, against an expected supremum of "
            f"{beside(expected, doubt, as_printed)}; corrected {whole(single.trace_bound(20.0))}.",
            unclear=where == 0,
        )
    )  # fmt: skip
    return Answer(
        curves,
        tuple(verdicts),
        (Note(pr.LIPSCHITZ_NOTE, "info", "Theorem 5.4 reads the same with L for B (E7)"),),
        (
            Formula(
                "Ball of radius B",
                r"\gamma\le\frac{4HB^2(2+\log2)}{\alpha(1-\alpha)N}\,\mathrm{tr}\,\Sigma_1"
                r"\sqrt{(\rho^1_{cc})^2-\lambda_{\min}(c_0)/\mathrm{tr}\,\Sigma_1}",
                "", "bound", "Thm 5.2 and 5.4, errata E6, E7",
            ),
            Formula(
                "General",
                r"\gamma\le\frac{H}{\alpha(1-\alpha)N}\prod_{\Sigma}\Big(\mathcal G(\Sigma^{1/2}U)+"
                r"\sqrt{2(1+\log2)\mathcal D_\Sigma}\Big)",
                "", "bound", "Thm A.21",
            ),
        ),
    )  # fmt: skip


# --- R14: time -----------------------------------------------------------------------------------------------

TIMED_PEOPLE = (20_000, 40_000, 80_000, 160_000)
TIMED_WIDTHS = (16, 32, 64, 128)
MOST_SLOPES = (1.35, 3.2)
"""Slopes in N and in d up to which a measured time counts as the claimed one."""


def _seconds(people: int, width: int) -> float:
    rng = np.random.default_rng(people + width)
    x = rng.standard_normal((people, width))
    table = {"x": x, "y": x.sum(axis=1) + rng.standard_normal(people), "q": x[:, 0] > 0}
    asked, best = pr.query_set(["q"], table), math.inf
    for _ in range(3):
        start = time.perf_counter()
        release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
        _ = pr.summarise(table, asked, release).sandwich
        best = min(best, time.perf_counter() - start)
    return best


def measured_times() -> FloatArray:
    """Time fit, sums and calibrated covariance: by people at d = 8, then by d at 5,000 people."""
    return np.array([*(_seconds(n, 8) for n in TIMED_PEOPLE), *(_seconds(5_000, d) for d in TIMED_WIDTHS)])


def upper_limit(slope: float, claimed: str, most: float) -> str:
    """Say what a measured slope shows of a claim on the most that time can grow.

    Examples
    --------
    >>> upper_limit(0.839, "d³", 3.2)
    'An upper limit alone is tested: the measured slope is 0.839, and up to 3.2 counts as d³, since times are rough.'
    """
    return (
        f"An upper limit alone is tested: the measured slope is {apart(slope, most, 3)[0]}, and up to {most:g} counts "
        f"as {claimed}, since times are rough."
    )


def times(seconds: FloatArray) -> Answer:
    """R14: how time grows."""
    people, widths = np.array(TIMED_PEOPLE, dtype=float), np.array(TIMED_WIDTHS, dtype=float)
    by_people, by_width = 1e3 * seconds[: people.size], 1e3 * seconds[people.size :]
    slopes = [
        float(np.polyfit(np.log(x), np.log(y), 1)[0]) for x, y in ((people, by_people), (widths, by_width))
    ]  # fmt: skip
    return Answer(
        {
            "people N, at d = 8": [
                ("measured", people, by_people, 0.0),
                ("slope 1", people, by_people[0] * people / people[0], 0.0),
            ],
            "features d, at N = 5,000": [
                ("measured", widths, by_width, 0.0),
                ("slope 2", widths, by_width[0] * (widths / widths[0]) ** 2, 0.0),
            ],
        },
        (
            Verdict(
                "Time grows at most like N.",
                slopes[0] < MOST_SLOPES[0],
                upper_limit(slopes[0], "N", MOST_SLOPES[0]),
            ),
            Verdict(
                "Time grows at most like d³.",
                slopes[1] < MOST_SLOPES[1],
                upper_limit(slopes[1], "d³", MOST_SLOPES[1])
                + " The terms d² and d³ show only where d is so large that nothing else takes time.",
            ),
        ),
        (
            Note(
                "These are times on the machine that runs this page, so they differ from run to run.",
                "info",
                "Measured",
            ),
        ),
        (Formula("Cost", r"O(Nd^2+d^3)", "", "shape only", "Lem 4.3"),),
    )


CLOSED: dict[str, Callable[[int], Answer]] = {
    "R1": lambda _: belief(),
    "R3": lambda _: exact_mean(),
    "R4": lambda _: conversion(),
    "R5": lambda _: log_loss(),
    "R6": lambda _: randomised_response(),
    "R7": lambda _: noise_limits(),
    "R8": lambda _: free_query(),
    "R9": lambda _: all_fractions(),
    "R10": calibrated,
    "R11": lambda _: accuracy(),
    "R12": lambda _: finite_family(),
}
"""Claims without simulation: seed to answer."""


def held(verdicts: Sequence[Verdict]) -> int:
    """Count the verdicts that hold."""
    return sum(one.holds for one in verdicts)


__all__ = [
    "CLOSED",
    "FAMILY_RADII",
    "PRIVATE_PEOPLE",
    "Answer",
    "Row",
    "Verdict",
    "agrees",
    "ball_families",
    "held",
    "linear_families",
    "measured_times",
    "numbers",
    "private_yet_predictable",
    "times",
]
