"""Predicted errors of decoded histograms: functions of public numbers that agree with real releases."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts, tree_histogram
from barrow.noise.simulation import SeededSource
from barrow.planning.references import reference_distribution
from barrow.planning.tree import decoded_error
from barrow.spaces import Clustered, Line
from barrow.transport import emd


@pytest.mark.parametrize("space", [Clustered.grid(5, 4, r=0.02), Line(0, 1, step=0.1)], ids=["clusters", "line"])
@pytest.mark.parametrize("alpha", [5, 100])
def test_the_decoded_error_is_that_of_real_releases(space, alpha):
    weights = np.round(reference_distribution(space, "zipf") * 400).astype(int)
    users = [[i] for i, often in enumerate(weights) for _ in range(often)]
    truth = weights / weights.sum()
    plan = tree_histogram(space, alpha, users=len(users))
    predicted = decoded_error(plan, reference=truth, repeats=60)
    counts, source = UserCounts.of_users(space, users), SeededSource(1)
    real = [emd(space, plan.release(counts, source=source).histogram, truth) for _ in range(60)]
    spread = np.hypot(predicted.standard_error, np.std(real) / 60**0.5)
    assert abs(np.mean(real) - predicted.mean) < 5.0 * spread
    assert predicted.mean <= plan.nearest_error_upper
    assert decoded_error(plan, reference=truth, repeats=60) == predicted


def test_local_predictions_fall_with_the_root_of_the_users():
    space = Clustered.grid(5, 4, r=0.02)
    few, many = (
        decoded_error(tree_histogram(space, 25, users=n, model="local"), reference="zipf", repeats=30, how="nearest")
        for n in (10**6, 10**8)
    )
    assert few.mean / many.mean == pytest.approx(10.0, rel=0.25)
    lone = decoded_error(tree_histogram(space, 25, users=3, model="local"), repeats=5)
    assert 0.0 < lone.mean < 1.0


def test_repeats_are_checked():
    with pytest.raises(ParameterError, match="repeats is 1"):
        decoded_error(tree_histogram(Clustered.grid(2, 2, r=0.1), 25, users=9), repeats=1)
