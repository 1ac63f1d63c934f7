"""Bands lie within the axes, as far as their charts stay readable."""

from __future__ import annotations

import numpy as np

from privexplorer.figures import draw
from privexplorer.studies import catalogue
from privexplorer.studies.chart import Spread


def test_the_interval_of_an_effect_is_shown_whole():
    study = catalogue()["private-effect"]
    chart = study.chart(study.run(study.scenario()), "effect")
    low, high = draw(chart).layout.yaxis.range
    bands = [mark for mark in chart.marks() if isinstance(mark, Spread)]
    assert len(bands) == 2
    for band in bands:
        assert low < np.nanmin(band.low)
        assert np.nanmax(band.high) < high
    centre = bands[0].high[-1] - bands[0].low[-1]
    assert high - low < 25 * centre, "the narrow intervals can still be seen"
