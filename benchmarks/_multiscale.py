"""Maps at equal privacy: densities at several scales against one bandwidth and against the histogram of the cells.

32 x 32 cells of the unit square, distances divided by its diagonal, alpha = 25. Nine populations of three kinds:
mixtures of Gaussian clusters, check-ins (places of Zipf popularity around towns), and roads. The error is the exact EMD
between the map and the population, its mean over the populations, each with its own seeded noise.

Every competitor gets its best reading in hindsight: the bandwidth and the decoder with the least mean error. Two
figures are given for one bandwidth: against its densities as they are released (shares at the centres, projected to the
simplex), and against the best of two deconvolutions of them, its own decoder among them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from barrow.mechanisms import AdditiveNoise, linear_noise
from barrow.mechanisms.decoding.grid import nearest_in_simplex
from barrow.mechanisms.multiscale import chosen_scales, map_of
from barrow.noise import Center
from barrow.noise.source import SeededSource
from barrow.queries import MultiscaleQuery, multiscale
from barrow.spaces import Euclidean
from barrow.transport import emd

ALPHA = 25
SIDE = 32
SQUARE = Euclidean([0, 0], [1, 1], step=1 / SIDE)
SINGLE = ["0.353554", "0.176777", "0.0883884", "0.0441942"]
"""1/2, 1/4, 1/8 and 1/16 of the side, as shares of the diagonal."""


class _Numbers:
    """Replayable uniforms and normals."""

    def __init__(self, seed: int) -> None:
        self._source = SeededSource(seed)

    def uniform(self, low: float, high: float, count: int) -> Any:
        return low + (high - low) * (self._source.words(count) / 2.0**64)

    def normal(self, count: int) -> Any:
        a, b = self.uniform(1e-12, 1, count), self.uniform(0, 1, count)
        return np.sqrt(-2.0 * np.log(a)) * np.cos(2.0 * np.pi * b)


def clusters(seed: int) -> Any:
    """Two to five Gaussian clusters with deviations of 0.03 to 0.15 of the side."""
    draw, weights = _Numbers(seed), np.zeros(SQUARE.items)
    for _ in range(2 + int(draw.uniform(0, 4, 1)[0])):
        middle, width, size = draw.uniform(0.1, 0.9, 2), draw.uniform(0.03, 0.15, 1)[0], draw.uniform(0.3, 1, 1)[0]
        bump = np.exp(-((SQUARE.points - middle) ** 2).sum(axis=1) / (2.0 * width**2))
        weights += size * bump / bump.sum()
    return weights / weights.sum()


def check_ins(seed: int) -> Any:
    """150 places with popularity 1/i^0.9 around four towns, and a tenth of all anywhere."""
    draw = _Numbers(seed)
    towns = draw.uniform(0.1, 0.9, 8).reshape(4, 2)
    town = np.searchsorted([0.5, 0.75, 0.9], draw.uniform(0, 1, 150))
    away = draw.normal(300).reshape(150, 2) * 0.08 * draw.uniform(0.3, 2, 150)[:, None]
    places = SQUARE.encode(np.clip(towns[town] + away, 0.0, 0.999))
    weights = np.bincount(places, weights=1.0 / np.arange(1, 151) ** 0.9, minlength=SQUARE.items)
    return 0.9 * weights / weights.sum() + 0.1 / SQUARE.items


def roads(seed: int) -> Any:
    """Four straight roads, and one person in twenty anywhere."""
    draw = _Numbers(seed)
    weights = np.zeros(SQUARE.items)
    along = np.linspace(0, 1, 400)[:, None]
    for _ in range(4):
        ends = draw.uniform(0, 0.999, 4).reshape(2, 2)
        road = np.bincount(SQUARE.encode(ends[0] + along * (ends[1] - ends[0])), minlength=SQUARE.items)
        weights += road * draw.uniform(0.3, 1, 1)[0]
    return 0.95 * weights / weights.sum() + 0.05 / SQUARE.items


def populations() -> list[Any]:
    """Three of each kind."""
    return [kind(1000 + 10 * i + j) for i, kind in enumerate((clusters, check_ins, roads)) for j in range(3)]


def errors(users: int, query: MultiscaleQuery, noise: AdditiveNoise, people: list[Any]) -> dict[str, float]:
    """The mean EMD error by each reading of what is released."""
    zero = Center.from_integers(np.zeros(query.dimension, dtype=np.int64))
    table = query.table.floats() * float(query.step)
    matrix, result = table.T.tocsr(), dict[str, list[float]]()
    for i, truth in enumerate(people):
        noisy = truth @ table + noise.draw(zero, SeededSource(7919 * users + i)).values
        maps = {
            method: map_of(query, matrix, noisy, deviation=noise.deviation, method=method).weights
            for method in ("smooth", "nearest")
        }
        if len(query.levels) == 1:
            maps["as released"] = as_released(query, noisy)
        for name, weights in maps.items():
            result.setdefault(name, []).append(float(emd(SQUARE, weights, truth)))
    return {name: float(np.mean(values)) for name, values in result.items()}


def as_released(query: MultiscaleQuery, noisy: Any) -> Any:
    """The shares of one bandwidth, projected to the simplex, at the cells nearest to their centres."""
    level = query.levels[0]
    shares = nearest_in_simplex(noisy / level.weight)
    places = SQUARE.points if level.query.places is None else np.clip(level.query.places, 0.0, 0.999)
    weights = np.bincount(SQUARE.encode(places), weights=shares, minlength=SQUARE.items)
    return weights / weights.sum()


def single(bandwidth: str, users: int, people: list[Any]) -> dict[str, float]:
    """The errors of one bandwidth, with its own constant."""
    query = multiscale(SQUARE, bandwidths=[bandwidth])
    return errors(users, query, linear_noise(query, ALPHA, noise="laplace", users=users), people)


def compare(users: int, people: list[Any]) -> dict[str, float]:
    """Mean errors: ours, the best single bandwidth as released and decoded, and the cells under their best decoder."""
    ours = chosen_scales(SQUARE, ALPHA, users)
    each = [single(bandwidth, users, people) for bandwidth in SINGLE]
    cells = single("cells", users, people)
    result = {
        "multiscale": errors(users, ours, linear_noise(ours, ALPHA, users=users), people)["smooth"],
        "single": min(result["as released"] for result in each),
        "single_decoded": min(min(result["smooth"], result["nearest"]) for result in each),
        "identity": min(cells.values()),
    }
    text = ", ".join(f"{name} {value:.5f}" for name, value in result.items())
    shares = {level.name: float(level.share) for level in ours.levels}
    print(f"{users:>9,} users: {text}; shares {shares}")
    return result


def figures() -> dict[str, float]:
    """The others' mean EMD error divided by ours, at 1e3, 1e4 and 1e5 users."""
    people = populations()
    outcome: dict[str, float] = {}
    for users in (10**3, 10**4, 10**5):
        result = compare(users, people)
        ours = result.pop("multiscale")
        outcome |= {f"pyramid_n{users}_vs_{name}": round(value / ours, 3) for name, value in result.items()}
    return outcome


if __name__ == "__main__":
    print(json.dumps(figures()))
