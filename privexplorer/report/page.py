"""A result as one HTML file: question, charts, cards, words, numbers, formulas, assumptions and provenance.

The file holds everything it needs, the chart library included, and its own security policy forbids every request.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from privexplorer.figures import SVG_BUTTON, config, describe, draw, resolve
from privexplorer.records import Scenario, Setting, extra, leaves, settings, text
from privexplorer.report.scenario_file import scenario_json
from privexplorer.report.script import snippet
from privexplorer.report.table import table_texts
from privexplorer.report.theme import theme_colours
from privexplorer.studies import study as find
from privexplorer.studies.base import Study
from privexplorer.studies.result import Card, Formula, Note, Result
from privexplorer.studies.words import shielded, unshielded

MOST_ROWS = 2_000
STATUS = {
    "exact": "exact",
    "bound": "a bound with its constants",
    "shape only": "shape only: hidden constants are set to one",
    "calibrated": "a calibrated constant of this program",
    "limit": "a limit for many records",
    "heuristic": "heuristic",
}
CAUTION = "Numbers here are for exploration, not for release: floating-point noise is not a hardened privacy mechanism."
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def to_html(result: Result, study: Study[Any] | None = None, theme: Mapping[str, Any] | None = None) -> str:
    """Write a result as one HTML file that makes no request.

    Parameters
    ----------
    result : Result
        What a study's ``run`` gave back.
    study : Study, optional
        The question; found by the result's study id if left out.
    theme : mapping, optional
        Colours, as in a theme section of the configuration; the light theme if left out.

    Returns
    -------
    str
        A complete document, about 5 MB (the chart library).
    """
    from plotly.offline import get_plotlyjs

    asked = study if study is not None else find(result.study)
    colours = theme if theme is not None else theme_colours("light")
    charts, scripts = _charts(asked, result, colours)
    parts = [
        f"<h1>{_safe(asked.question)}</h1>",
        f'<p class="lead">{_safe(asked.lead)}</p>',
        "" if result.complete else f'<p class="note">Stopped early: a draft of {result.runs:,} runs.</p>',
        *(_note(item) for item in result.notes),
        *charts,
        _cards(result.cards),
        f"<h2>What this shows</h2>{markdown(result.shows)}" if result.shows else "",
        "<h2>Settings</h2>",
        _settings(result.scenario),
        "<h2>Numbers</h2>",
        _table(asked.table(result)),
        "<h2>Formulas</h2>" + "".join(map(_formula, result.formulas)) if result.formulas else "",
        "<h2>Assumptions</h2>",
        f"<ul>{''.join(f'<li>{_inline(line)}</li>' for line in result.assumptions)}</ul><p class='soft'>{CAUTION}</p>",
        "<h2>Where the numbers come from</h2>",
        _pairs(result.provenance.items()),
        "<h3>The same numbers in Python</h3>",
        f"<pre tabindex='0'><code>{_safe(snippet(asked, result.scenario))}</code></pre>",
        "<h3>The scenario</h3>",
        f"<pre tabindex='0'><code>{_safe(scenario_json(asked, result.scenario, result))}</code></pre>",
    ]
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(asked.question)}</title>\n<style>{_style(colours)}</style>\n"
        f"<script>{get_plotlyjs()}</script>\n</head>\n<body><main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n</main>\n<script>{scripts}</script>\n<script>{SVG_BUTTON}</script>\n</body></html>\n"
    )


# ---------------------------------------------------------------- parts


def _charts(study: Study[Any], result: Result, colours: Mapping[str, Any]) -> tuple[list[str], str]:
    views = dict(study.views) or {"": ""}
    bodies, scripts = [], []
    for place, (view, words) in enumerate(views.items()):
        chart = study.chart(result, view)
        if not result.complete:
            chart = replace(chart, draft=True)
        figure = resolve(draw(chart), colours)
        alt = result.takeaway if place == 0 and result.takeaway else describe(chart)
        head = f"<h2>{_safe(words)}</h2>" if len(views) > 1 else ""
        height = int(figure.layout.height or 430)
        bodies.append(
            f'{head}<div class="chart" id="chart{place}" role="figure" aria-label="{_safe(alt)}" '
            f'style="height:{height}px"></div>'
        )
        name = f"{study.id}-{view}" if view else study.id
        spec, bar = _script_safe(figure.to_json()), _script_safe(json.dumps(config(name)))
        scripts.append(f"(() => {{const f = {spec}; Plotly.newPlot('chart{place}', f.data, f.layout, {bar});}})();")
    return bodies, "\n".join(scripts)


def _cards(cards: tuple[Card, ...]) -> str:
    boxes = "".join(
        f"<div><dt>{_safe(card.label)}</dt><dd><strong>{_safe(card.value)}</strong>"
        + (f"<span>{_safe(card.chip)}</span>" if card.chip else "")
        + (f"<small>{_safe(card.help)}</small>" if card.help else "")
        + "</dd></div>"
        for card in cards
    )
    return f'<dl class="cards">{boxes}</dl>' if boxes else ""


def _note(note: Note) -> str:
    title = note.title or ("For your eyes only" if note.level == "not-private" else "")
    head = f"<strong>{_safe(title)}.</strong> " if title else ""
    return f'<p class="note">{head}{_inline(note.text)}</p>'


def _formula(item: Formula) -> str:
    source = f" Source: {_safe(item.source)}." if item.source else ""
    numbers = f"<pre tabindex='0'><code>{_safe(item.numbers)}</code></pre>" if item.numbers else ""
    words = STATUS[item.status]
    return (
        f"<h3>{_safe(item.title)}</h3><pre tabindex='0'><code>{_safe(item.tex)}</code></pre>{numbers}"
        f"<p class='soft'>{words[:1].upper()}{words[1:]}.{source}</p>"
    )


def _settings(scenario: Scenario) -> str:
    known = {setting.name: setting for setting in settings(type(scenario))}
    return _pairs((known[name].title, setting_words(known[name], value)) for name, value in leaves(scenario))


def setting_words(setting: Setting, value: Any) -> str:
    """Say the value of one setting in words: titles of kinds and choices, yes and no, numbers with commas."""
    if setting.what != "leaf":
        kinds = value if isinstance(value, list) else [value]
        return ", ".join(setting.of[kind].title or kind for kind in kinds)
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return str((extra(setting.info).get("titles") or {}).get(value, value))
    if isinstance(value, tuple | list):
        return ", ".join(setting_words(setting, item) for item in value)
    if isinstance(value, int):
        return str(value) if setting.path.endswith("seed") else f"{value:,}"
    return text(value)


def _pairs(pairs: Any) -> str:
    rows = "".join(f"<tr><th scope='row'>{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in pairs)
    return f"<table class='pairs'><tbody>{rows}</tbody></table>"


def _table(frame: pd.DataFrame) -> str:
    head = "".join(f"<th scope='col'>{_safe(name)}</th>" for name in frame.columns)
    shown = frame.iloc[:MOST_ROWS]
    texts = table_texts(shown)
    columns = [
        [f"<td class='number'>{text}</td>" for text in texts[str(name)]]
        if str(name) in texts
        else [f"<td>{'' if value is None or value != value else _safe(value)}</td>" for value in shown[name].tolist()]
        for name in frame.columns
    ]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    rest = len(frame) - len(shown)
    more = f"<p class='soft'>{rest:,} further rows are in the CSV file.</p>" if rest > 0 else ""
    return (
        f"<div class='wide' tabindex='0'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


# ---------------------------------------------------------------- text


def _safe(value: object) -> str:
    return html.escape(str(value), quote=True)


def _script_safe(script: str) -> str:
    """Keep JSON inside a script element: no text in it may end the element or open a comment."""
    return script.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _inline(source: str) -> str:
    words = _safe(shielded(source))
    words = re.sub(r"`([^`]+)`", r"<code>\1</code>", words)
    words = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", words)
    words = re.sub(r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", r"<em>\1</em>", words)
    words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", words)
    return re.sub("[\ue000-\ue07f]", lambda found: _safe(unshielded(found[0])), words)


def markdown(source: str) -> str:
    """Turn the little Markdown that results use into HTML: paragraphs, lists, bold, italic, code.

    Examples
    --------
    >>> markdown("With **10,000 people**, a < b.")
    '<p>With <strong>10,000 people</strong>, a &lt; b.</p>'
    """
    out = []
    for block in re.split(r"\n\s*\n", source.strip()):
        lines = block.splitlines()
        if lines and all(line.lstrip().startswith("- ") for line in lines):
            out.append("<ul>" + "".join(f"<li>{_inline(line.lstrip()[2:])}</li>" for line in lines) + "</ul>")
        elif lines:
            out.append(f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>")
    return "".join(out)


def _style(colours: Mapping[str, Any]) -> str:
    paper, ink = colours["backgroundColor"], colours["textColor"]
    soft, rule, tone = colours["grayTextColor"], colours["borderColor"], colours["secondaryBackgroundColor"]
    return f"""
:root {{ color-scheme: light dark; }}
body {{ margin: 0; background: {paper}; color: {ink}; font: 1rem/1.6 "Source Sans 3", "Source Sans Pro", system-ui,
  sans-serif; }}
main {{ max-width: 1120px; margin: 0 auto; padding: 2rem 1rem 4rem; }}
h1, h2 {{ font-family: "Source Serif 4", "Source Serif Pro", Georgia, serif; font-weight: 600; line-height: 1.25; }}
h1 {{ font-size: 2rem; margin: 0 0 0.5rem; }}
h2 {{ font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }}
h3 {{ font-size: 1rem; margin: 1.5rem 0 0.25rem; }}
.lead {{ margin: 0 0 1.5rem; }}
.soft, small {{ color: {soft}; }}
.note {{ background: {tone}; border: 1px solid {rule}; border-radius: 0.375rem; padding: 0.75rem 1rem; }}
.chart {{ width: 100%; margin: 0.5rem 0 1rem; }}
.cards {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 1rem; margin: 1rem 0; }}
.cards div {{ border: 1px solid {rule}; border-radius: 0.375rem; padding: 0.75rem 1rem; }}
.cards dd {{ margin: 0; }}
.cards dd strong {{ display: block; font-size: 1.6rem; font-weight: 600; line-height: 1.4; }}
.cards dd span {{ background: {tone}; border-radius: 1rem; padding: 0.1rem 0.6rem; font-size: 0.875rem;
  margin-left: -0.6rem; }}
.cards small {{ display: block; margin-top: 0.4rem; }}
.wide {{ overflow-x: auto; max-height: 34rem; overflow-y: auto; border: 1px solid {rule}; border-radius: 0.375rem; }}
table {{ border-collapse: collapse; font-size: 0.9rem; }}
.wide table {{ width: 100%; }}
th, td {{ text-align: left; padding: 0.3rem 0.75rem; border-bottom: 1px solid {rule}; vertical-align: top; }}
thead th {{ position: sticky; top: 0; background: {tone}; font-weight: 600; }}
.pairs th {{ font-weight: 400; color: {soft}; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
pre {{ background: {tone}; border-radius: 0.375rem; padding: 0.75rem 1rem; overflow-x: auto; font-size: 0.85rem; }}
code {{ font-family: "Source Code Pro", ui-monospace, monospace; }}
@media print {{ .wide {{ max-height: none; overflow: visible; }} }}
"""


__all__ = ["markdown", "to_html"]
