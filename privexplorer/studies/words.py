"""Numbers as people read them: significant digits, ± two standard errors, ratios, lists."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NO_BREAK = "\u00a0"


def significant(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, a comma for thousands and a true minus.

    Examples
    --------
    >>> significant(0.038249), significant(14794.7), significant(0.9996), significant(2.5e-5), significant(3.2e7)
    ('0.0382', '14,795', '1.00', '2.50×10⁻⁵', '3.20×10⁷')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "–"
    value = float(f"{value:.{digits - 1}e}") if abs(value) < 10**digits else value
    exponent = math.floor(math.log10(abs(value)) + 1e-12)
    if exponent >= 6 or exponent < -3:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa}×10{str(int(power)).translate(SUPERSCRIPT)}"
    else:
        text = f"{value:,.{max(0, digits - 1 - exponent)}f}"
    return text.replace("-", "−")


def plus_minus(value: float, error: float) -> tuple[str, str]:
    """Write a value and its ± (two standard errors), which has one digit, or two if it starts with 1.

    An error below a millionth of the value counts as none: then the value is exact but for rounding.

    Examples
    --------
    >>> plus_minus(0.03849, 0.0031), plus_minus(0.5, 0.0), plus_minus(100.05, 3e-15)
    (('0.038', '± 0.003'), ('0.500', '± 0'), ('100', '± 0'))
    """
    if not error > 1e-6 * abs(value) or not math.isfinite(error):
        return significant(value), "± 0"
    exponent = math.floor(math.log10(error))
    decimals = max(0, -exponent + (error / 10**exponent < 2))
    return f"{value:,.{decimals}f}".replace("-", "−"), f"± {error:,.{decimals}f}"


def in_tex(numbers: str) -> str:
    r"""Write the powers of ten that a formula's numbers were rounded to as TeX does, or in full up to a million.

    Examples
    --------
    >>> print(in_tex(r"\nu=3.81e+04,\ 2.007e-07"))
    \nu=38{,}100,\ 2.007\times10^{-7}
    """

    def written(found: re.Match[str]) -> str:
        power = int(found[2])
        if 0 <= power < 6:
            return f"{float(found[0]):,.0f}".replace(",", "{,}")
        return rf"{found[1]}\times10^{{{power}}}"

    return re.sub(r"(?<![\d.])(\d+(?:\.\d+)?)e([+-]\d+)", written, numbers)


def with_unit(text: str, unit: str) -> str:
    """Join a number and its unit by a space that does not break."""
    return f"{text}{NO_BREAK}{unit}" if unit else text


def whole(value: float) -> str:
    """Write a whole number with commas.

    Examples
    --------
    >>> whole(86080)
    '86,080'
    """
    return f"{round(value):,}".replace("-", "−")


def ratio(value: float) -> str:
    """Write a ratio: two digits and a times sign.

    Examples
    --------
    >>> ratio(1.649), ratio(1.0004), ratio(23.2), ratio(float("inf"))
    ('1.6×', '1.0×', '23×', '–')
    """
    if not math.isfinite(value):
        return "–"
    return f"{significant(value, 2)}×"


def percent(share: float) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> percent(0.463), percent(0.004)
    ('46%', '0.4%')
    """
    value = 100 * share
    return f"{value:.0f}%" if abs(value) >= 10 else f"{significant(value, 2 if abs(value) >= 1 else 1)}%"


def too_few_rows(found: int, needed: int) -> str:
    """Say that too few rows of a table are complete.

    Examples
    --------
    >>> too_few_rows(1, 50)
    'Only one row is complete; at least 50 people are needed.'
    """
    rows = {0: "No row is", 1: "Only one row is"}.get(found, f"Only {found} rows are")
    return f"{rows} complete; at least {needed} people are needed."


def plain_markdown(words: str) -> str:
    r"""Take from words that quote a file, a link or a table what Markdown would read as markup.

    Examples
    --------
    >>> print(plain_markdown("![a](http://x.y) *b* $c$ :red[d]"))
    \!\[a\]\(http\://x.y\) \*b\* \$c\$ \:red\[d\]
    """
    return "".join(f"\\{letter}" if letter in MARKS else letter for letter in words)


MARKS = "\\`*_[]()<>$~:!#|{}"
"""What :func:`plain_markdown` takes the meaning from."""


def shielded(markdown: str) -> str:
    r"""Replace each mark that stands after a backslash by a letter of no alphabet, so that nothing reads it as markup.

    Examples
    --------
    >>> unshielded(shielded(plain_markdown("x*1 > 0")).replace("*", ""))
    'x*1 > 0'
    """
    return re.sub(r"\\(.)", lambda found: chr(0xE000 + ord(found[1])) if found[1] in MARKS else found[0], markdown)


def unshielded(words: str) -> str:
    """Give the marks of :func:`shielded` back as themselves."""
    return re.sub("[\ue000-\ue07f]", lambda found: chr(ord(found[0]) - 0xE000), words)


GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "eps": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ",
}  # fmt: skip
RAISED = str.maketrans("-+0123456789nit", "⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹ⁿⁱᵗ")
LOWERED = str.maketrans("0123456789aeijkmnptx", "₀₁₂₃₄₅₆₇₈₉ₐₑᵢⱼₖₘₙₚₜₓ")


def typeset(plain: str) -> str:
    """Write a formula that was typed in plain letters with the signs of print; names of functions stay as they are.

    Examples
    --------
    >>> typeset("eps >= m^{gamma-1}"), typeset("masses >= 1/k over Delta_k"), typeset("alpha^2 n, sqrt(k), 2^-5")
    ('ε ≥ m^(γ−1)', 'masses ≥ 1/k over Δₖ', 'α² n, √(k), 2⁻⁵')
    >>> typeset("unbiased_delta(n, P_VZ)")
    'unbiased_delta(n, P_VZ)'
    """
    text = plain.replace(">=", "≥").replace("<=", "≤")
    text = re.sub(r"(?<![A-Za-z_])(" + "|".join(GREEK) + r")(?![A-Za-z])(?!_[A-Za-z]{2})", _greek, text)
    text = re.sub(r"\bsqrt(?=[(\s])\s?", "√", text)
    text = re.sub(r"\^(-?[0-9nit]+)(?![A-Za-z0-9.(])|\^\{(-?[0-9nit+-]+)\}", _raised, text)
    text = re.sub(r"\^\{([^{}]+)\}", lambda found: f"^({found[1].replace('-', '−')})", text)
    return re.sub(r"(?<![A-Za-z_])([A-Za-zΔα-ω])_([0-9aeijkmnptx])(?![A-Za-z0-9_])", _lowered, text)


def _greek(found: re.Match[str]) -> str:
    return GREEK[found[1]]


def _raised(found: re.Match[str]) -> str:
    return (found[1] or found[2]).translate(RAISED)


def _lowered(found: re.Match[str]) -> str:
    return found[1] + found[2].translate(LOWERED)


def listed(items: Sequence[str]) -> str:
    """Join words with commas and a final "and".

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
