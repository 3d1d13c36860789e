"""Predicted errors of histograms against releases of whole data sets, and what the planner says and refuses."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.mechanisms import UserCounts
from barrow.mechanisms.histograms import histogram_noise
from barrow.noise.source import SeededSource
from barrow.planning import histograms
from barrow.planning.candidates import reasons
from barrow.planning.histograms import HistogramTarget, check_size, noise_within
from barrow.planning.simulate import reference_distribution, simulate
from barrow.planning.terms import Terms
from barrow.promises import Emd, Promise
from barrow.spaces import Clustered, Discrete, Earth, Euclidean, Line, NoRecords, Tree
from barrow.spaces.grids import snapping_means
from barrow.transport import emd
from tests.planning.targets import histogram_candidates, target

USERS = 2000
SPACES = {
    "clustered": Clustered.grid(4, 5, r=0.1),
    "tree": Tree.nested(
        [f"{i}/{j}/{k}" for i in range(3) for j in range(3) for k in range(3)], distances=[1, 0.4, 0.1]
    ),
    "line": Line(0, 12, unit="km", step=0.5),
    "square": Euclidean([0, 0], [1, 1], step=0.125),
}


def whole_data(space, reference, users):
    """People of one item each whose mean histogram is the reference, up to rounding."""
    held = np.floor(reference * users).astype(np.int64)
    held[int(np.argmax(held))] += users - int(held.sum())
    some = np.flatnonzero(held)
    counts = UserCounts.of(space, item=some, size=np.ones(len(some), dtype=np.int64), count=held[some], users=users)
    return counts, held / users


@pytest.mark.parametrize("name", SPACES)
def test_predicted_errors_are_those_of_releases(name):
    """Another route than the simulation of the planner: exact statistics of people, other seeds, more draws."""
    space = SPACES[name]
    request = target(space, users=USERS)
    result, _ = histogram_candidates(request, 8)
    counts, truth = whole_data(space, request.reference, USERS)
    for candidate in result:
        built = candidate.mechanism
        errors = []
        for seed in range(60):
            sample = built.noise.draw(counts.center(built.query), SeededSource(1000 + seed)).values
            errors.append(float(emd(space, built.decode(sample), truth)) * space.diameter)
        mean, wobble = np.mean(errors), np.std(errors) * (1 / np.sqrt(60) + 1 / np.sqrt(3))
        assert abs(candidate.decoded - mean) < 0.15 * mean + 4 * wobble, candidate.name
        moved = float(request.reference @ snapping_means(space)) * space.diameter
        assert max(moved, candidate.decoded) <= candidate.error <= moved + candidate.decoded


def test_the_ranking_is_by_error_and_a_wrong_noise_would_be_seen():
    """Twice the noise errs visibly more: the comparison above has power."""
    request = target(SPACES["clustered"], users=USERS)
    one, two = (histogram_candidates(request, alpha, only="tree")[0][0].error for alpha in (8, 4))
    assert two > 1.5 * one
    result, cannot = histogram_candidates(request, 8)
    assert [c.error for c in result] == sorted(c.error for c in result)
    assert set(cannot) == {"edges", "multiscale", "frequency", "paper"}
    assert set(reasons(result)) == {c.name for c in result[1:]}


@pytest.mark.parametrize("kind", ["tree", "cells"])
def test_every_candidate_has_the_guarantee_that_was_asked(kind):
    request = target(SPACES["clustered"], "1e-6", users=USERS, items=10)
    for candidate in histogram_candidates(request, 8)[0]:
        definition = candidate.guarantee.definition
        assert isinstance(definition, Emd)
        assert definition.parameters["alpha"] <= 8
        assert definition.bounded == (candidate.name in ("frequency", "paper"))
    built = histogram_noise(SPACES["clustered"], kind, 8, users=USERS)
    scale = {"tree": 1 / (8 * USERS), "cells": 2 / (0.1 * 8 * USERS)}[kind]
    assert float(built.noise.scale) == pytest.approx(scale, rel=1e-6)
    assert float(built.noise.scale) >= scale * (1 - 1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["tree", "cells"]))
def test_decoded_histograms_are_histograms(seed, kind):
    space = SPACES["clustered"]
    built = histogram_noise(space, kind, 1, users=50)
    noisy = np.random.default_rng(seed).normal(size=built.query.dimension)
    shares = built.decode(noisy)
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)
    weights = np.random.default_rng(seed).dirichlet(np.ones(space.items))
    unbiased, widths = built.shares(built.matrix @ weights)
    assert (widths > 0).all()
    quiet = histogram_noise(space, kind, 25, users=10**9)
    assert quiet.decode(quiet.matrix @ weights) == pytest.approx(weights, abs=1e-4)
    if kind == "cells":
        assert unbiased == pytest.approx(weights)


def test_references():
    space = Discrete(["a", "b", "c"])
    assert reference_distribution(space, "zipf")[0] == pytest.approx(6 / 11)
    assert reference_distribution(SPACES["square"]).sum() == pytest.approx(1.0)
    for wrong in ("mine", [1, 2], [1, -1, 1], [0, 0, 0], "mixed"):
        with pytest.raises(ParameterError, match="reference"):
            reference_distribution(space, wrong)


def test_asking_for_what_is_not_there_says_what_is():
    request = target(SPACES["clustered"], users=USERS)
    with pytest.raises(ParameterError, match="'frequency'"):
        histogram_candidates(request, 8, only="magic")
    with pytest.raises(ParameterError, match="model"):
        target(SPACES["clustered"], users=USERS, model="cloud")


def test_local_candidates():
    request = target(SPACES["clustered"], "1e-9", users=5000, items=50, model="local")
    result, _ = histogram_candidates(request, 20)
    assert {c.name for c in result} == {"tree", "cells", "frequency", "paper"}
    assert result[0].name == "tree"
    assert str(result[0].guarantee.definition).endswith("(local)")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("tree", "tree"), ("clustered", "cells"), ("line", "tree"), ("square", "cells"), ("square", "multiscale")],
)
def test_bounds_for_all_data_hold_and_say_something(name, kind):
    """With the decoder that is proven: at a point mass, the even histogram and a random one."""
    space = SPACES[name]
    users = 10**6
    built = histogram_noise(space, kind, 25, users=users, how="nearest")
    assert 0.0 < built.upper < 0.5
    for truth in (np.eye(space.items)[3], np.full(space.items, 1 / space.items), reference_distribution(space, "zipf")):
        counts, exact = whole_data(space, truth, users)
        center = counts.center(built.query)
        errors = [
            float(emd(space, built.decode(built.noise.draw(center, SeededSource(seed)).values), exact))
            for seed in range(12)
        ]
        assert np.mean(errors) < built.upper
    with pytest.raises(ParameterError, match="decode"):
        histogram_noise(space, kind, 25, users=users, how="magic")


@pytest.mark.parametrize("alpha", [25, 400])
def test_what_is_not_calibrated_would_not_have_won(alpha):
    space = Clustered.grid(3, 4, r=0.1)
    terms = Terms(space, 500, given=Fraction(alpha), delta=Fraction(1, 10**9))
    wanted = HistogramTarget(terms, reference_distribution(space), 20)
    quick, cannot = histograms.histogram_candidates(wanted, thorough=False)
    full, _ = histograms.histogram_candidates(wanted)
    assert quick[0].name == full[0].name
    assert quick[0].error == full[0].error
    assert cannot["frequency"].startswith("Even at the largest possible alpha0")
    lost = next(c for c in full if c.name == "frequency")
    assert lost.error > 1.05 * quick[0].error


def test_kept_noise():
    line = Line(0, 10, step=1)
    terms = Terms(line, 1000, (Promise("all", "anywhere", "1"),))
    built = noise_within(HistogramTarget(terms, reference_distribution(line)), "cells")
    assert float(terms.alpha) == 1.0
    assert round(float(built.event.alpha), 6) == 10.0


def test_simulate():
    built = histogram_noise(Clustered.grid(5, 4, r=0.02), "tree", 25, users=1000)
    assert 0.0 < simulate(built, np.full(20, 0.05)).mean < 0.01


def test_check_size():
    with pytest.raises(
        ParameterError,
        match=re.escape(
            "A histogram of 14,330,207 items takes about 29 min to plan.\n"
            "  allowed: at most about 1,000,000 items\n  fix:     cell = 11 takes about 15 s"
        ),
    ):
        check_size(Earth(box=(24.5, -125.0, 49.5, -66.5), cell=1))


def test_a_million_items_may_be_planned_and_people_without_records_are_no_item_too_many():
    check_size(NoRecords(Line(0, 999_999, step=1)))
    with pytest.raises(ParameterError, match="A histogram of 1,000,001 items takes about 2 min"):
        check_size(NoRecords(Line(0, 1_000_000, step=1)))
