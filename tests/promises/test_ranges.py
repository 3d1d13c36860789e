"""What a promise costs for additive noise: alpha tau min(q + 2 rho, B/ell), from shifts of real records."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import barrow as bw
from barrow.queries import density, mean
from barrow.questions.prices import charges

space = bw.Line(0, 100, unit="km", step=1, cells=True)
near = density(space, bandwidth="5 km")
RHO = space.snapping_upper


def answer(query, records) -> np.ndarray:
    table = query.table.floats()
    rows = (table.toarray() if query.table.sparse else table)[space.encode(np.asarray(records))]
    return rows.mean(axis=0) * float(query.step)


@pytest.mark.parametrize("query", [mean(space), near], ids=["mean", "density"])
@pytest.mark.parametrize("norm", [1, 2])
def test_a_share_that_moves_shifts_the_answer_by_no_more(query, norm):
    draw = np.random.default_rng(7)
    ell, ratio, nearly = query.lipschitz_upper(norm), float(query.range_ratio(norm)), 0.0
    for _ in range(300):
        items = int(draw.integers(1, 30))
        moved = int(draw.integers(1, items + 1))
        records = draw.uniform(0, 100, items)
        other = records.copy()
        scale = draw.choice([0.5, 3.0, 40.0])
        other[:moved] = np.clip(records[:moved] + draw.normal(0, scale, moved), 0, 100)
        tau, q = moved / items, float(np.abs(other - records)[:moved].mean()) / 100
        shift = np.linalg.norm(answer(query, records) - answer(query, other), norm)
        bound = ell * tau * min(q + 2 * RHO, ratio)
        assert shift <= bound * (1 + 1e-9)
        nearly = max(nearly, shift / bound)
    assert nearly > 0.5  # the bound is not far from what records do


def test_all_records_far_away_attain_the_range():
    ell, ratio = near.lipschitz_upper(1), float(near.range_ratio(1))
    shift = np.abs(answer(near, [10.5] * 3) - answer(near, [80.5] * 3)).sum()
    assert ratio < 0.1
    assert shift == pytest.approx(ell * ratio, rel=0.15)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("share", ["1/30", "1/3", "all"])
def test_noise_loses_what_is_charged(noise, share):
    study = bw.Study(space, [(share, "20 km", "0.5")], users=50, delta=1e-6)
    plan = study.plan(bw.Density(bandwidth="5 km", noise=noise))
    (charged,) = charges(plan)
    tau = float(study.promises[0].share)
    assert charged <= Fraction(1, 2)  # else a release would be refused
    assert plan.alpha > study.alpha  # and larger than what holds whatever is asked
    # The largest shift that such a change can cause, all along one output: the worst direction for either noise.
    p = 1 if noise == "laplace" else 2
    shift = near.lipschitz_upper(p) * tau * min(0.2 + 2 * RHO, float(near.range_ratio(p))) / 50
    scale = float(plan.noise.scale)
    one = stats.laplace(scale=scale) if noise == "laplace" else stats.norm(scale=scale)

    def excess(x: float) -> float:
        return max(one.pdf(x) - math.exp(float(charged)) * one.pdf(x - shift), 0.0)

    lost = integrate.quad(excess, -40 * scale, 40 * scale, points=[0.0, shift], limit=500)[0]
    assert lost <= float(plan.guarantee.delta) + 1e-9
    if noise == "laplace":  # four fifths of the charge would not be enough: the bound is tight
        assert charged > Fraction(49, 100)
        less = 0.8 * float(charged)
        assert math.exp(less) < one.pdf(0.0) / one.pdf(-shift)
