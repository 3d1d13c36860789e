"""Histograms and means that aggregators add up, against a curator's: ``scripts/bench aggregated [--draws 200]``.

Populations are Dirichlet(1); each of n people holds five items of theirs. Answers are rounded at random, sums get the
exact noise shares of every aggregator, and are decoded as a release does. Measured are the earth mover's distance to
what people hold, over that of a curator's release; over what the plan predicted; and how often 95 % intervals hold.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.collect.prio3 import EdgeGroup, Edges, Prio3
from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.edge_noise import EdgeNoise
from barrow.mechanisms.sampled_sums import SampledEdgeNoise
from barrow.mechanisms.summed import SummedNoise, sum_form
from barrow.noise import Center
from barrow.noise.counts.shares import noise_shares
from barrow.noise.source import SeededSource
from barrow.planning.terms import Terms
from barrow.promises import Aggregation, Model
from barrow.questions import Histogram, Mean
from barrow.spaces import Clustered, Euclidean, Line, Space, Tree
from barrow.spaces.space import Floats
from barrow.transport.measure import measure_of
from benchmarks._timing import finish

SPACES = {
    "10x10 r .05": (Clustered.grid(10, 10, r=0.05), {2: 1.49, 3: 1.26, 5: 1.16}),
    "5x4 r .02": (Clustered.grid(5, 4, r=0.02), {2: 1.50, 3: 1.30, 5: 1.11}),
    "20x50 r .01": (Clustered.grid(20, 50, r=0.01), {2: 1.21, 3: 1.13, 5: 1.07}),
}
"""Each with the ratios to a curator's error that were measured before, by other code."""
THREE = Tree.nested([f"{c}/{a}/{i}" for c in "xyz" for a in "ab" for i in range(4)], distances=[1, 0.3, 0.1])
_HELD = 5
_TOGETHER = 50
_BUMPS = np.array([[0.25, 0.3], [0.7, 0.65], [0.35, 0.8]])
MAPS = {"map 225": (15, {2: 1.40, 3: 1.22}), "map 961": (31, {2: 1.34, 3: 1.23})}


class Crowd:
    """People with five items each, and what their answers to a table add up to."""

    def __init__(self, space: Space, people: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        shares = self.rng.dirichlet(np.ones(space.items))
        self.items = self.rng.choice(space.items, size=(people, _HELD), p=shares)
        self.truth = np.bincount(self.items.ravel(), minlength=space.items) / self.items.size

    def sums(self, table: Floats, step: float, offsets: Floats) -> Floats:
        """The sum over people of answers, rounded at random, in steps; a thousand people at a time."""
        total = np.zeros(table.shape[1])
        for some in np.array_split(self.items, -(-len(self.items) // 1000)):
            answers = table[some].mean(axis=1) / step
            total += np.floor(answers + self.rng.random(answers.shape)).sum(axis=0) - len(some) * offsets
        return total


def _table(mechanism: Any) -> Floats:
    query = mechanism.query
    values = query.table.integers
    return np.asarray(values.toarray() if query.table.sparse else values) * float(query.table.step)


def histograms(space: Space, people: int, alpha: int, draws: int) -> dict[str, dict[str, float]]:
    """Errors, predictions and coverage of a space, by the number of aggregators; 0 is a curator."""
    plans: dict[int, Any] = {0: Histogram(mechanism="tree").plan(Terms(space, people, given=Fraction(alpha)))}
    for m in (2, 3, 5):
        terms = Terms(space, people, given=Fraction(alpha), model=Model.AGGREGATED, parties=Aggregation(m))
        plans[m] = Histogram(mechanism="tree").plan(terms)
    table, measure = _table(plans[2].mechanism), measure_of(space)
    noise = plans[2].mechanism.noise
    assert isinstance(noise, SummedNoise)
    form = sum_form(plans[2].query.table, noise.step)
    offsets = np.array(form.offsets, dtype=float)
    errors: dict[int, list[float]] = {m: [] for m in plans}
    inside: dict[int, list[float]] = {m: [] for m in plans}
    for draw in range(draws):
        crowd, source = Crowd(space, people, draw), SeededSource(draw)
        true = crowd.truth @ table
        rounded = crowd.sums(table, float(noise.step), offsets)
        for m, plan in plans.items():
            if m == 0:
                values = true + crowd.rng.laplace(0.0, float(plan.noise.scale), len(true))
            else:
                added = np.sum([plan.noise.noise_share(source=source) for _ in range(m)], axis=0)
                values = (rounded + added + people * offsets) * float(noise.step) / people
            errors[m].append(measure.distance(plan.mechanism.decode(values) - crowd.truth) * space.diameter)
            shares, widths = plan.mechanism.shares(values)
            exact = true * plan.mechanism.factors
            inside[m].append(float((np.abs(shares - exact) <= widths).mean()))
    return _rows(plans, errors, inside)


def _rows(
    plans: Mapping[int, Any], errors: Mapping[int, list[float]], inside: Mapping[int, list[float]]
) -> dict[str, dict[str, float]]:
    """What was measured, by the number of aggregators."""
    curator, draws = float(np.mean(errors[0])), len(errors[0])
    return {
        str(m): {
            "error": float(np.mean(errors[m])),
            "ratio": float(np.mean(errors[m])) / curator,
            "standard_error": float(np.std(errors[m], ddof=1) / np.sqrt(draws) / np.mean(errors[m])),
            "predicted": plan.error / float(np.mean(errors[m])),
            "coverage": float(np.mean(inside[m])),
        }
        for m, plan in plans.items()
    }


def _together(noise: SampledEdgeNoise, aggregators: int, draws: int, seed: int) -> Floats:
    """What all aggregators add at the nodes in so many releases: one urn for all takes hardly longer."""
    graph, source = noise.plan.graph, SeededSource(10_000 + seed)
    ratios, honest = noise.ratios * draws, noise.parties.honest
    edges = sum(noise_shares(ratios, honest, source=source) for _ in range(aggregators))
    return np.asarray(np.reshape(edges, (draws, -1)) @ graph.incidence.T)


def maps(cells: int, people: int, alpha: int, draws: int) -> dict[str, dict[str, float]]:
    """Square maps of three bumps, by samples along edges; 0 is a curator's noise along edges, which nobody plans.

    A curator's plan is of noise round faces, so that nothing is predicted for 0.
    """
    space = Euclidean([0, 0], [1, 1], step=1 / cells)
    weights = np.exp(-((space.geometry.points[:, None] - _BUMPS[None]) ** 2).sum(axis=2) / 0.01).sum(axis=1)
    reference = (weights / weights.sum()).tolist()
    question = Histogram(mechanism="edges", spacing="items", reference=reference)
    plans: dict[int, Any] = {0: question.plan(Terms(space, people, given=Fraction(alpha)))}
    for m in (2, 3):
        terms = Terms(space, people, given=Fraction(alpha), model=Model.AGGREGATED, parties=Aggregation(m))
        plans[m] = question.plan(terms)
    alone = EdgeNoise(edge_histogram(space, alpha, users=people, blocks="edges"))
    measure = measure_of(space)
    errors: dict[int, list[float]] = {m: [] for m in plans}
    inside: dict[int, list[float]] = {m: [] for m in plans}
    for start in range(0, draws, _TOGETHER):
        many = min(_TOGETHER, draws - start)
        noise = {m: _together(plan.noise, m, many, start) for m, plan in plans.items() if m}
        for draw in range(start, start + many):
            rng, source = np.random.default_rng(draw), SeededSource(draw)
            items = rng.choice(space.items, size=(people, _HELD), p=reference)
            truth = np.bincount(items.ravel(), minlength=space.items) / items.size
            for m, plan in plans.items():
                if m == 0:
                    values = truth + alone.draw(Center.from_integers([0] * space.items), source).values
                    decoder, shares, widths = alone.plan.decoder.decode, values, alone.half_widths(1)
                else:
                    s = plan.noise.samples
                    samples = rng.multinomial(s, [1 / _HELD] * _HELD, size=people)
                    counts = np.bincount(items.ravel(), samples.ravel(), minlength=space.items)
                    values, decoder = (counts + noise[m][draw - start]) / (people * s), plan.mechanism.decode
                    shares, widths = plan.mechanism.shares(values)
                errors[m].append(measure.distance(decoder(values) - truth))
                inside[m].append(float((np.abs(shares - truth) <= widths).mean()))
    rows = _rows(plans, errors, inside)
    for m, plan in plans.items():
        rows[str(m)]["predicted"] = plan.decoded_error / space.diameter / rows[str(m)]["error"]
        rows[str(m)]["samples"] = 0 if m == 0 else plan.noise.samples
    del rows["0"]["predicted"]
    return rows


def means(people: int, alpha: int, draws: int) -> dict[str, float]:
    """How often the interval of a mean holds: answers of people on a line of 101 points."""
    line, results = Line(0, 100, unit="years", points=range(101)), {}
    for m in (2, 3, 5):
        terms = Terms(line, people, given=Fraction(alpha), model=Model.AGGREGATED, parties=Aggregation(m))
        plan = Mean().plan(terms)
        noise = plan.noise
        assert isinstance(noise, SummedNoise)
        table, form = _table(plan), sum_form(plan.query.table, noise.step)
        many = 20 * draws
        source = SeededSource(m)
        wide = SummedNoise(**{**vars(noise), "dimension": many})
        added = np.sum([wide.noise_share(source=source) for _ in range(m)], axis=0)
        off = []
        for draw in range(many):
            if draw % 20 == 0:
                crowd = Crowd(line, people, draw)
                rounded = crowd.sums(table, float(noise.step), np.array(form.offsets, dtype=float))
                true = float((crowd.truth @ table)[0])
            value = (rounded[0] + added[draw] + people * form.offsets[0]) * float(noise.step) / people
            off.append(abs(value - true) <= plan.half_width - plan.moved)
        results[str(m)] = float(np.mean(off))
    return results


def damage(space: Space, people: int, alpha: int) -> dict[str, float]:
    """The most that one report may add to all edge values, over the most that an item adds, by what is checked.

    The report that adds most is made, and proved and taken as every other; one step more is refused. Without sums of
    levels, or with one range for all numbers (the draft's SumVec), more is taken.
    """
    terms = Terms(space, people, given=Fraction(alpha), model=Model.AGGREGATED, parties=Aggregation())
    plan: Any = Histogram(mechanism="tree").plan(terms)
    form = sum_form(plan.query.table, plan.noise.step)
    honest = float(_table(plan.mechanism).sum(axis=1).max())
    groups = tuple(EdgeGroup(group.members, group.floor, group.span) for group in form.groups)
    checks = {
        "ranges and sums": Edges(form.most, groups),
        "ranges only": Edges(form.most),
        "one range": Edges((max(form.most),) * len(form.most)),
    }
    result = {}
    for name, circuit in checks.items():
        worst = _largest(circuit)
        assert _taken(circuit, worst)
        assert not any(_encoded(circuit, more) for more in _one_more(worst))
        result[name] = sum(worst) * float(form.step) / honest
    return result


def _largest(circuit: Edges) -> list[int]:
    """A report with the largest sum that the circuit allows: groups do not overlap."""
    values = list(circuit.most)
    for group in circuit.groups:
        left = group.floor + group.span
        for i in group.members:
            values[i] = min(values[i], left)
            left -= values[i]
    return values


def _one_more(values: list[int]) -> list[list[int]]:
    return [[value + (i == j) for i, value in enumerate(values)] for j in range(0, len(values), 97)]


def _encoded(circuit: Edges, values: list[int]) -> bool:
    try:
        circuit.encode(values)
    except ParameterError:
        return False
    return True


def _taken(circuit: Edges, values: list[int]) -> bool:
    """Whether two aggregators take a report."""
    prio3, nonce, key = Prio3(circuit), bytes(16), bytes(32)
    public, shares = prio3.shard(values, nonce, bytes(range(128)))
    told = [prio3.verify_init(key, i, nonce, public, share) for i, share in enumerate(shares)]
    message = prio3.decide([each.share for each in told])
    return prio3.unshard([prio3.finish(each, message) for each in told]) == values


def _print(name: str, rows: Mapping[str, Mapping[str, float]], before: Mapping[int, float]) -> None:
    for m, row in rows.items():
        known, predicted = before.get(int(m), 1.0), row.get("predicted")
        numbers = f"{row['error']:>11.3g}{row['ratio']:>8.3f}{known:>8.2f}"
        print(f"{name:14}{m:>8}{numbers}{'' if predicted is None else f'{predicted:.3f}':>11}{row['coverage']:>10.4f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--alpha", type=int, default=25)
    parser.add_argument("--only", choices=[*SPACES, *MAPS, "means", "damage"])
    given = parser.parse_args()
    results: dict[str, Any] = {}
    heads = f"{'space':14}{'m':>8}{'error':>11}{'ratio':>8}{'before':>8}{'predicted':>11}{'coverage':>10}"
    print(heads)
    for name, (space, before) in SPACES.items():
        if given.only not in (None, name):
            continue
        results[name] = histograms(space, given.people, given.alpha, given.draws)
        _print(name, results[name], before)
    for name, (cells, before) in MAPS.items():
        if given.only not in (None, name):
            continue
        results[name] = maps(cells, given.people, given.alpha, given.draws)
        _print(name, results[name], before)
    if given.only in (None, "means"):
        results["means"] = means(given.people, given.alpha, given.draws)
        print("means, coverage:", results["means"])
    if given.only in (None, "damage"):
        trees = {name: space for name, (space, _) in SPACES.items()} | {"three levels": THREE}
        results["damage"] = {name: damage(space, given.people, given.alpha) for name, space in trees.items()}
        for name, row in results["damage"].items():
            print(f"damage, {name:26}", ", ".join(f"{check} {value:.3g}" for check, value in row.items()))
    finish({"aggregated": results})


if __name__ == "__main__":
    main()
