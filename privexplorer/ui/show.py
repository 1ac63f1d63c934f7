"""A result on screen: chart with alt text, cards, words, table, formulas, code, downloads, share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from privexplorer import report
from privexplorer.errors import PrivExplorerError, printable
from privexplorer.figures import SVG_BUTTON, config, draw
from privexplorer.figures.style import text_width
from privexplorer.records import Scenario
from privexplorer.studies.base import Study
from privexplorer.studies.result import Card, Formula, Note, Result
from privexplorer.studies.words import plain_markdown
from privexplorer.ui import link, shell, state

STATUS = {
    "exact": "exact",
    "bound": "a bound with its constants",
    "shape only": "shape only: hidden constants are set to one",
    "calibrated": "our own calibrated constant",
    "limit": "a limit for many records",
    "heuristic": "heuristic",
}
HALF_A_PHONE, HELP_WIDTH = 141, 24
"""Pixels for the words of one of two cards beside each other, 390 pixels in all; and those of the sign for help."""
LABEL_TEXT, VALUE_TEXT = 14, 25.6
"""Sizes of a card's text, in pixels."""
LONG_HEADING = 30
"""Letters of a column's heading that leave room for other columns on a phone."""
MOST_STYLED = 20_000
"""Cells of a table beyond which its numbers are shown as they are."""
CAUTION = "Numbers here are for exploration, not for release: floating-point noise is not a hardened privacy mechanism."


def theme() -> str:
    """Return the theme's name; it is part of each chart's key, since a chart keeps the colours it was drawn with."""
    return str(getattr(st.context.theme, "type", None) or "light")


def problem(error: PrivExplorerError, title: str = "This cannot be answered as it stands") -> None:
    """Show an error of ours: what is wrong and what to do."""
    body = str(error) + (f" {error.hint}" if error.hint else "")
    st.error(plain_markdown(printable(body)), title=plain_markdown(printable(title)))


def note(item: Note) -> None:
    """Show one note as an alert."""
    text = by_line(item.text)
    if item.level == "not-private":
        st.info(text, title=item.title or "For your eyes only", icon=":material/visibility:")
    elif item.level == "warning":
        st.warning(text, title=item.title or None)
    else:
        st.info(text, title=item.title or None)


def by_line(words: str) -> str:
    """Make words of several lines printable; names of columns may stand in them."""
    return "\n".join(map(printable, words.split("\n")))


def chart(study: Study[Any], result: Result, view: str, key: str) -> None:
    """Draw the chart of one view and the cards below it."""
    picture(study, result, view, key)
    cards(result)


def picture(study: Study[Any], result: Result, view: str, key: str) -> None:
    """Draw the chart of one view."""
    described = study.chart(result, view)
    if not result.complete:
        described = replace(described, draft=True)
    figure = draw(described, compact=shell.is_phone(), presenter=shell.is_presented())
    st.plotly_chart(
        figure,
        key=f"{study.id}-{view}-{key}-{theme()}",
        theme="streamlit",
        config={
            **config(f"{study.id}-{view}" if view else study.id),
            **({"displayModeBar": False} if shell.is_phone() else {}),  # it would lie on the title
        },
        alt=result.takeaway,
    )


def cards(result: Result) -> None:
    """Show at most four headline numbers."""
    if not result.cards:
        return
    chip = "" if result.complete else ", draft"
    one_by_one = shell.is_phone() and not all(fits_beside(card) for card in result.cards)
    with st.grid(len(result.cards), min_column_width=300 if one_by_one else 150):
        for card in result.cards[:4]:
            st.metric(
                card.label,
                card.value,
                (card.chip + chip if card.chip else f"{result.runs} runs")
                if not result.complete
                else card.chip or None,
                delta_color="off",
                delta_arrow="off",
                border=True,
                help=card.help or None,
            )


def fits_beside(card: Card) -> bool:
    """Whether the words of a card have room where two stand beside each other on a phone; cut words say nothing."""
    label = text_width(card.label, LABEL_TEXT) + (HELP_WIDTH if card.help else 0)
    return max(label, text_width(card.value, VALUE_TEXT)) <= HALF_A_PHONE


def words(result: Result) -> None:
    """Say in two or three sentences what the numbers show."""
    if result.shows:
        st.header("What this shows", anchor=False)
        st.markdown(by_line(result.shows))


def formula(item: Formula) -> None:
    """Show one formula: symbols first, then with the current numbers."""
    st.markdown(f"**{item.title}**")
    st.latex(item.tex)
    if item.numbers:
        st.latex(item.numbers)
    source = f" Source: {item.source}." if item.source else ""
    st.caption(f"{STATUS[item.status][:1].upper()}{STATUS[item.status][1:]}.{source}")


def readable(frame: pd.DataFrame) -> Any:
    """Write the numbers of a table as people read them; files and the table's own download keep all digits."""
    if frame.size > MOST_STYLED:
        return frame
    return frame.reset_index(drop=True).style.format(
        {
            name: partial(_looked_up, dict(zip(frame[name].tolist(), texts, strict=True)))
            for name, texts in report.table_texts(frame).items()
        },
        na_rep="–",
    )


def _looked_up(texts: Mapping[float, str], value: float) -> str:
    return texts.get(value, "–")


def seen_table(study: Study[Any], result: Result, view: str) -> pd.DataFrame:
    """Lay out the numbers of the chart on screen: the series of this view, the x axis by its name."""
    described = study.chart(result, view)
    drawn = {getattr(mark, "name", "") for mark in described.marks()}
    numbers = study.numbers(result, view)
    rows = numbers[numbers["series"].isin(drawn)]
    frame = study.table(replace(result, frame=rows) if len(rows) else result)
    if "panel" in frame.columns and len(set(frame["panel"])) == 1:
        frame = frame.drop(columns="panel")
    title = described.x.title
    if len(title) > LONG_HEADING:  # what follows a comma explains; the chart says it
        title = title.partition(",")[0]
    return frame.dropna(axis="columns", how="all").rename(columns={"x": title})


def details(study: Study[Any], scenario: Scenario, result: Result, view: str) -> None:
    """Show the tabs: table, formula, assumptions, code, download; only the open one is filled."""
    parts: dict[str, Callable[[], None]] = {
        "Table": lambda: table_tab(study, result, view),
        "Formula": lambda: formula_tab(result),
        "Assumptions": lambda: assumptions_tab(result),
        "Code": lambda: code_tab(study, scenario),
        "Download": lambda: download_tab(study, scenario, result),
    }
    # what lies in a closed tab would still be sent, and loaded by the browser before the chart
    for tab, fill in zip(st.tabs(list(parts), key=f"{study.id}:tabs", on_change="rerun"), parts.values(), strict=True):
        if tab.open:
            with tab:
                fill()
    st.html(f"<script>{SVG_BUTTON}</script>", unsafe_allow_javascript=True)


def table_tab(study: Study[Any], result: Result, view: str) -> None:
    """Show the numbers of the chart."""
    frame = seen_table(study, result, view)
    if shell.is_phone():
        st.space("small")  # a touch screen always shows the table's tools, which would lie on the tabs
    st.dataframe(
        readable(frame),
        hide_index=True,
        placeholder="–",
        alt=f"Numbers of the chart: {result.takeaway}",
    )


def formula_tab(result: Result) -> None:
    """Show every formula, in symbols and with the current numbers."""
    for item in result.formulas:
        formula(item)


def assumptions_tab(result: Result) -> None:
    """Show what the numbers rest on and where they came from."""
    for line in result.assumptions:
        st.markdown(f"- {line}")
    st.caption(CAUTION)
    st.caption("; ".join(f"{name} {value}" for name, value in result.provenance.items()))


def code_tab(study: Study[Any], scenario: Scenario) -> None:
    """Show Python code that gives the same digits."""
    st.code(report.snippet(study, scenario), language="python")
    st.caption("Runs with the package alone and gives the same digits.")


def download_tab(study: Study[Any], scenario: Scenario, result: Result) -> None:
    """Offer numbers, scenario, script and report."""
    offers: tuple[tuple[str, str, str, Callable[[], str]], ...] = (
        ("Numbers, CSV", "csv", "text/csv", lambda: report.to_csv(result)),
        ("Scenario, JSON", "json", "application/json", lambda: report.scenario_json(study, scenario, result)),
        ("Python script", "py", "text/x-python", lambda: report.snippet(study, scenario)),
        ("Report, HTML", "html", "text/html", lambda: report.to_html(result, study)),
    )
    with st.container(horizontal=True):
        for title, ending, mime, data in offers:
            name = f"{report.file_stem(result)}.{ending}"
            st.download_button(title, data, name, mime, key=f"{study.id}:{ending}", on_click="ignore")
    if not result.complete:
        st.warning(
            f"Numbers and report hold a draft of {result.runs:,} runs; scenario and script ask for all runs and "
            "give other numbers."
        )
    if any(item.level == "not-private" for item in result.notes):
        st.warning("These files hold numbers of your table that are **not private** beside the private answers.")
    st.caption("The chart itself: the camera in its toolbar saves PNG, the button beside it SVG.")
    st.caption(CAUTION)


def bill(result: Result) -> None:
    """Add up what the private answers of this session have cost the table on screen."""
    answers = result.extra.get("answers", ())
    if not answers:
        return
    spent = state.pay(answers).about(answers[0].table)
    table = spent.table()
    shown = len(spent.answers)
    if shown > len(answers):
        st.warning(
            f"This session has shown **{shown} private answers** about this table; together they cost "
            f"**{spent.total()}**. "
            "Every further answer about the same people, on another column or question or from a new draw of the "
            "noise, adds to what they have lost; the average of many draws undoes the privacy.",
            title="Each answer spends privacy" if table.total.delta else "Each answer spends ε",
        )
    with st.expander(f"Privacy spent on this table: {spent.total()}"):
        rows = [(row.label, str(row.epsilon), str(row.delta)) for row in table.rows]
        total = table.total
        # a δ of 1 promises nothing; the sum may be more
        rows.append((total.label, str(total.epsilon), str(total.delta) if total.delta <= 1 else "1 (the sum is more)"))
        frame = pd.DataFrame(rows, columns=["Answer", "ε", "δ"])
        if not table.total.delta:
            frame = frame.drop(columns="δ")
        several = "1 private answer" if shown == 1 else f"{shown} private answers, together"
        st.dataframe(frame, hide_index=True, alt=f"{several} {spent.total()}")
        st.caption("Counted since this page was loaded; what was shown before a reload comes on top.")


def share(scenario: Scenario, page: Mapping[str, str], table: tuple[str, str] | None) -> None:
    """Show the link that restores this view, and say what is in it."""
    box = st.expander("Share this view", icon=":material/link:", key="share", on_change="rerun")
    if not box.open:  # a closed box would still make the browser load its parts before the chart
        return
    with box:
        st.code(link.absolute(scenario, page), language=None, wrap_lines=True)
        st.caption("Whoever opens this link sees the same numbers, to the last digit with the same versions.")
        if table is not None:
            digest, column = (plain_markdown(printable(part)) for part in table)
            names = f"the column's name (“{column}”)" if column else "the names of the chosen columns"
            st.caption(
                f"The link holds {names} and a fingerprint of the file ({digest}), never the data. "
                "Whoever guesses the file can confirm the guess with the fingerprint."
            )
