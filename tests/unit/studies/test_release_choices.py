"""Choices of what is published and what has leaked: each is a form, a link and a script, with the right numbers."""

from __future__ import annotations

import ast
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.records import dump, extra, load, validated
from privexplorer.report.script import snippet
from privexplorer.studies import study
from privexplorer.studies._release_choices import PublishedCount, PublishedRate
from privexplorer.studies.predictability import ATTACKER, GAIN, PRINTED, PredictabilityScenario

STUDY: Any = study("predictability")


def series(result: Any, panel: str, name: str) -> Any:
    frame = result.frame
    return frame[(frame["panel"] == panel) & (frame["series"] == name)]


def through_link_and_script(scenario: Any) -> None:
    """A choice is the same after a link, and a script names it."""
    parts = parse_qs(urlencode(dump(scenario)), keep_blank_values=True)
    assert validated(PredictabilityScenario, load(PredictabilityScenario, parts, set())) == scenario
    ast.parse(snippet(STUDY, scenario))


def test_a_count_is_its_rate_times_the_people() -> None:
    """Same information: with noise N times as large every gain agrees, simulated ones too."""
    condition: Any = {"column": "pressure", "sign": ">", "value": "140"}
    rate = PredictabilityScenario(published=PublishedRate(**condition), noise=pr.Isotropic(std=0.001), trials=16)
    count = PredictabilityScenario(published=PublishedCount(**condition), noise=pr.Isotropic(std=2.0), trials=16)
    one, many = STUDY.run(rate), STUDY.run(count)
    for name in (PRINTED, GAIN, ATTACKER):
        assert series(many, "fraction", name)["y"].to_numpy() == pytest.approx(
            series(one, "fraction", name)["y"].to_numpy(), rel=1e-6
        )
    assert "the number of people with pressure" in many.shows
    asked = STUDY.prepare(count, None).asked
    assert asked.sensitivity[:2] == (1.0, 1.0)
    assert asked.summary.parameters[0] == np.round(asked.summary.parameters[0]) > 100
    through_link_and_script(count)
    assert ("publish", "count") in dump(count)


def test_the_right_arm_of_the_curve_can_be_clicked() -> None:
    """A slider with even steps to 0.95; the answer there is the curve's, above the one at its mirror image."""
    what = extra(PredictabilityScenario.model_fields["compromised"])
    assert (what["scale"], what["low"], what["high"], what["key"]) == ("linear", 0.01, 0.95, "compromised")
    far, near = (PredictabilityScenario(compromised=at, noise=pr.NoNoise(), trials=16) for at in (0.95, 0.5))
    gains = [float(STUDY.moment(one, STUDY.prepare(one, None).asked).now.gain[0]) for one in (far, near)]
    assert gains[0] / gains[1] == pytest.approx(0.25 / (0.95 * 0.05), rel=1e-9)
