"""One private answer per question and seed, and the sum of what was shown."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from privexplorer.privacy import (
    ApproxDP,
    Laplace,
    PrivateAnswer,
    PureDP,
    SpentBudget,
    release_rng,
)

ANSWER = PrivateAnswer("a1b2", "age", "entropy/plug-in/k=50", PureDP(0.5), seed=0)


def test_noise_is_pinned_for_good():
    # a change of this number changes every private answer that anybody has written down
    assert release_rng(0, "table", "column", "question", 1.0).bit_generator.random_raw() == 15360112760487764195


def test_same_labels_same_noise_other_labels_other_noise():
    labels = [
        (0, "ab", "c"),
        (0, "a", "bc"),
        (0, "abc"),
        (0, "ab", "c", ""),
        (1, "ab", "c"),
        (0, "ab", "c", 1),
        (0, "ab", "c", "1"),
        (0, "ab", "c", 1.0),
        (0, "c", "ab"),
        (-1, "ab", "c"),
        (2**80, "ab", "c"),
    ]
    draws = [release_rng(seed, *rest).random() for seed, *rest in labels]
    assert len(set(draws)) == len(labels)
    assert draws == [release_rng(seed, *rest).random() for seed, *rest in labels]
    assert release_rng(0, np.float64(0.5)).random() == release_rng(0, 0.5).random()


def test_noise_of_many_questions_is_unrelated():
    draws = np.array([release_rng(seed, "t", f"question {q}").random() for seed in range(40) for q in range(50)])
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * draws.size)
    pairs = draws.reshape(40, 50)
    assert abs(np.corrcoef(pairs[:-1].ravel(), pairs[1:].ravel())[0, 1]) < 4 / np.sqrt(39 * 50)


def test_each_part_of_an_answer_changes_its_noise():
    others = [
        dataclasses.replace(ANSWER, table="ffff"),
        dataclasses.replace(ANSWER, column="income"),
        dataclasses.replace(ANSWER, question="coverage"),
        dataclasses.replace(ANSWER, seed=1),
        dataclasses.replace(ANSWER, guarantee=PureDP(0.6)),
        dataclasses.replace(ANSWER, guarantee=ApproxDP(0.5, 0.0)),
        dataclasses.replace(ANSWER, guarantee=PureDP(0.5, neighbours="add-remove")),
    ]
    draws = [answer.rng().random() for answer in (ANSWER, *others)]
    assert len(set(draws)) == len(draws)
    assert ANSWER.rng().random() == dataclasses.replace(ANSWER).rng().random()


def test_two_levels_do_not_give_the_value_away():
    # with common noise, two answers at two scales would solve for the exact value
    truth, recovered = 4.2, []
    for seed in range(30):
        shown = []
        for epsilon in (0.5, 1.0):
            mechanism = Laplace(epsilon=epsilon)
            answer = dataclasses.replace(ANSWER, guarantee=mechanism.guarantee(), seed=seed)
            shown.append(float(mechanism.release(truth, 1.0, answer.rng())))
        recovered.append(2 * shown[1] - shown[0])
    assert np.min(np.abs(np.array(recovered) - truth)) > 1e-6


def test_budget_counts_each_different_answer_once():
    spent = SpentBudget()
    assert spent.total() == PureDP(0.0)
    for _ in range(5):
        spent = spent.show(ANSWER)
    assert spent.total() == PureDP(0.5)
    spent = spent.show(dataclasses.replace(ANSWER, seed=1))
    assert spent.total() == PureDP(1.0)
    spent = spent.show(dataclasses.replace(ANSWER, question="coverage", guarantee=PureDP(0.1)))
    assert spent.total() == PureDP(1.1)
    spent = spent.show(ANSWER)
    assert spent.total() == PureDP(1.1)
    table = spent.table()
    assert len(table.rows) == 3
    assert sum(row.epsilon for row in table.rows) == table.total.epsilon
    assert "seed 1" in table.rows[1].label
    assert "age" in table.rows[1].label


def test_order_of_showing_does_not_change_the_total():
    answers = [dataclasses.replace(ANSWER, seed=seed, guarantee=PureDP((seed + 1) / 10)) for seed in range(4)]
    totals = set()
    for order in itertools.permutations(answers):
        spent = SpentBudget()
        for answer in order:
            spent = spent.show(answer)
        totals.add(spent.total())
    assert totals == {PureDP(1.0)}


def test_budget_is_per_table():
    spent = SpentBudget().show(ANSWER).show(dataclasses.replace(ANSWER, table="ffff"))
    assert spent.about("a1b2").total() == PureDP(0.5)
    assert spent.about("none").total() == PureDP(0.0)


@pytest.mark.parametrize("redraws", [400])
def test_averaging_redraws_undoes_the_privacy(redraws):
    mechanism = Laplace(epsilon=0.5)
    answers = [dataclasses.replace(ANSWER, seed=seed) for seed in range(redraws)]
    average = np.mean([float(mechanism.release(4.2, 1.0, answer.rng())) for answer in answers])
    assert abs(average - 4.2) < 4 * mechanism.noise(1.0).std / np.sqrt(redraws)
    spent = SpentBudget()
    for answer in answers:
        spent = spent.show(answer)
    assert spent.total() == PureDP(0.5 * redraws)
