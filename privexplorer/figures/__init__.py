"""Charts: from the description that a study gives to a Plotly figure, its toolbar and its words."""

from __future__ import annotations

import plotly.graph_objects as go

from privexplorer.figures.sheet import sheet
from privexplorer.figures.style import Size, resolve, subtitle_problem
from privexplorer.figures.telling import describe
from privexplorer.figures.toolbar import SVG_BUTTON, config
from privexplorer.studies.chart import Chart


def draw(chart: Chart, *, compact: bool = False, presenter: bool = False) -> go.Figure:
    """Draw a chart with place-holder colours, for ``st.plotly_chart(theme="streamlit")`` or :func:`resolve`.

    Parameters
    ----------
    chart : Chart
        What to draw.
    compact : bool
        For a phone: few ticks, one panel per row.
    presenter : bool
        For a projector: larger text, 380 pixels high.

    Returns
    -------
    Figure
        Traces carry the names of the chart's marks.
    """
    text, height = (17, 380) if presenter else (14, chart.height)
    return go.Figure(sheet(chart, Size(text=text, height=height, compact=compact)))


__all__ = ["SVG_BUTTON", "config", "describe", "draw", "resolve", "subtitle_problem"]
