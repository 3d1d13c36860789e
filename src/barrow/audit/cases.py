"""Every mechanism and model, each on a space of four or so items: what ``barrow audit --all`` goes through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from barrow.audit.additive import audit_additive
from barrow.audit.books import audit_ledger, audit_samplers
from barrow.audit.edge_flows import audit_edges
from barrow.audit.itemwise import audit_amplified, audit_items, audit_sampled, frequency_result, observed_rows
from barrow.audit.limits import audit_limits
from barrow.audit.pairs import User, allowed_by, compare, known_distances, products, small_users
from barrow.audit.promised import audit_hidden_groups, audit_people, audit_promises
from barrow.audit.scopes import audit_scopes
from barrow.audit.shaped import audit_half_sphere, audit_polytope
from barrow.audit.summed import audit_sums
from barrow.audit.verdict import Finding, Tally
from barrow.errors import ParameterError
from barrow.mechanisms import AdditiveNoise, linear_noise
from barrow.mechanisms.histograms import histogram_noise
from barrow.mechanisms.strategies import strategies_for
from barrow.mechanisms.user_level.ball import BallNoise
from barrow.mechanisms.user_level.histograms import user_level_histogram
from barrow.mechanisms.user_level.noise import QueryNoise, user_level_noise
from barrow.mechanisms.user_level.subsets import SubsetSelection
from barrow.promises import Guarantee, UserLevel
from barrow.queries import Query, function, histogram, mean
from barrow.randomisers import (
    exponential,
    gkrr,
    laplace,
    mapped,
    matrix_randomiser,
    planar_laplace,
    randomised_response,
    tree_response,
)
from barrow.spaces import Clustered, Discrete, Euclidean, Line, Space, Tree

Case = Callable[[], Sequence[Finding]]
Others = Sequence[Sequence[User]]

_TWO_OTHERS: Others = [[(0,), (2,)], [(1, 2), (2,)]]


def _line() -> Line:
    return Line(0, 4, step=1, unit="h", cells=True)


def _square() -> Euclidean:
    return Euclidean([0, 0], [2, 2], step=1, unit="km")


def _clusters() -> Clustered:
    return Clustered.grid(2, 2, r=0.25)


def _tree() -> Tree:
    return Tree.nested(["a/1", "a/2", "b/3", "b/4"], distances=[1, 0.25])


# Linear queries.


def _linear(kind: str, space: Space, query: Query, sizes: Sequence[int]) -> list[Finding]:
    """One noise in both models: a user alone, and a user among three."""
    users = small_users(space.items, sizes)
    delta = "1e-3" if kind == "gaussian" else 0
    results = []
    for model, n in (("local", None), ("central", 3)):
        noise = _coarse(linear_noise(query, 2, delta, noise=kind, model=model, users=n))
        others: Others = [[]] if model == "local" else _TWO_OTHERS
        results.append(audit_additive(f"linear, {noise.name}", model, noise, query, users, others=others, alpha=2))
    return results


def _coarse(noise: AdditiveNoise) -> AdditiveNoise:
    """Gaussian noise on a coarse grid, so that every one of its cells can be looked at."""
    return replace(noise, grid=noise.scale / 2) if noise.p is None else noise


def _trees() -> list[Finding]:
    users = small_users(4, (1, 2, 3, 4))
    results = []
    for model in ("local", "central"):
        plan = histogram_noise(_clusters(), "tree", 2, users=3, model=model)
        others: Others = [[]] if model == "local" else _TWO_OTHERS[:1]
        noise, query = plan.on_outputs, plan.query
        results.append(audit_additive("tree histogram", model, noise, query, users, others=others, alpha=2))
    return results


def _multiscale() -> list[Finding]:
    line = Line(0, 8, step=1, cells=True)
    plan = histogram_noise(line, "multiscale", 2, users=2)
    users = small_users(8, (1, 2))
    others: Others = [[(0,)], [(3, 7)]]
    noise, query = plan.on_outputs, plan.query
    return [audit_additive("multiscale histogram", "central", noise, query, users, others=others, alpha=2)]


def _cells() -> list[Finding]:
    plan = histogram_noise(_square(), "cells", 2, users=3)
    return [
        audit_additive("cells", "central", plan.on_outputs, plan.query, small_users(4, (1, 2, 3)), others=_TWO_OTHERS)
    ]


def _strategies() -> list[Finding]:
    """Every way to shape noise for a workload on a square: what is released are combinations of the answers."""
    square = _square()
    request = function(square, [[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]])
    users, results = small_users(4, (1, 2, 3)), []
    for each in strategies_for(request, 2, "1e-3", users=3):
        noise = each.additive
        if isinstance(noise, AdditiveNoise) and each.factors.name != "plain" and each.p is not None:
            name = f"workload, {each.factors.name} ({noise.name})"
            results.append(audit_additive(name, "central", noise, each.query, users, others=_TWO_OTHERS, alpha=2))
    return results


# User-level baselines.


def _user_level(kind: str) -> list[Finding]:
    query = histogram(Discrete(["a", "b", "c"])) if kind == "laplace" else mean(Line(0, 3, step=1, cells=True))
    users = small_users(3, (1, 2, 3, 4, 5))
    results = []
    for model, n in (("local", None), ("central", 2)):
        delta = "1e-3" if kind == "gaussian" else 0
        built = user_level_noise(query, 1, delta, noise=kind, model=model, users=n)
        if not isinstance(built, AdditiveNoise):
            raise ParameterError(
                f"The noise is {built.name}.", allowed="Laplace or Gaussian noise", fix="noise='laplace'"
            )
        noise = _coarse(built)
        others: Others = [[]] if model == "local" else [[(1,)]]
        results.append(audit_additive(f"user level, {noise.name}", model, noise, query, users, others=others))
    return results


def _levels() -> list[Finding]:
    """Weighted levels of a tree, and groups of a line's items."""
    line = Line(0, 16, step=1, cells=True)
    results = []
    others: Others = [[(1, 3)], [(0, 0, 2)]]
    few, some = small_users(4, (1, 2, 3)), small_users(16, (1, 2))[::3]
    for name, space, users in (("levels", _clusters(), few), ("groups", line, some)):
        built = user_level_histogram(space, "levels", 1, users=2)
        results.append(
            audit_additive(f"user level, {name}", "central", built.on_outputs, built.query, users, others=others)
        )
    return results


def _triangle() -> Query:
    return function(Discrete(["a", "b", "c"]), [[0, 0], [4, 1], [1, 3]])


def _half_sphere() -> list[Finding]:
    line = Line(0, 3, step=1, cells=True)
    flat, one = _triangle(), mean(line)
    return [  # answers in the middle of the ball, and on both sides
        audit_half_sphere("user level, half sphere", BallNoise.of(one, 1), one, small_users(3, (1, 2, 3, 4, 5))),
        audit_half_sphere(
            "user level, half sphere (two outputs)", BallNoise.of(flat, 1), flat, small_users(3, (1, 2, 3, 4))
        ),
    ]


def _polytope() -> list[Finding]:
    query, users = _triangle(), small_users(3, (1, 2, 3, 4, 5))
    results = []
    for model, n in (("local", None), ("central", 2)):
        built = user_level_noise(query, 1, noise="polytope", model=model, users=n)
        if not isinstance(built, QueryNoise):
            raise ParameterError(f"The noise is {built.name}.", allowed="noise of the polytope", fix="noise='polytope'")
        others: Others = [[]] if model == "local" else [[(1,)]]
        results.append(audit_polytope("user level, query polytope", model, built, query, users, others))
    return results


def _subsets() -> list[Finding]:
    """Five reports of a user by subset selection: user-level DP of five times its epsilon."""
    channel, reports = SubsetSelection(4, "0.5"), 5
    rows = observed_rows(
        lambda x, source: tuple(channel.sets([x], source=source)[0].tolist()),
        4,
        cut=Fraction(1, 2**32),
        continuations=4,
    )
    users = small_users(4, (reports,))
    tally = Tally("user level, subset selection", "local")
    promised = Guarantee(UserLevel(Fraction(reports, 2), model="local"), "composition", "user level")
    apart = known_distances(Discrete(["a", "b", "c", "d"]), tuple(users))
    distributions = [products(rows.chances, user) for user in users]
    compare(tally, users, distributions, apart, allowed_by(promised), slack=rows.left * reports)
    return [tally.finding()]


_MATRIX = [[9, 3, 3, 1], [3, 9, 1, 3], [3, 1, 9, 3], [1, 3, 3, 9]]


def _matrix() -> Any:
    return matrix_randomiser(_square(), [[x / 16 for x in row] for row in _MATRIX])


def _mapped() -> Any:
    return mapped(randomised_response(Discrete(["a", "b", "c", "d"]), 1), lambda label: label in "ab")


CASES: dict[str, Case] = {
    "Laplace": lambda: _linear("laplace", _line(), mean(_line()), (1, 2, 3, 4)),
    "Laplace, two outputs": lambda: [
        replace(f, mechanism="linear, Laplace (two outputs)")
        for f in _linear("laplace", _square(), mean(_square()), (1, 2, 3, 4))
    ],
    "l2": lambda: _linear("l2", _square(), mean(_square()), (1, 2, 3, 4)),
    "linf": lambda: _linear("linf", _square(), mean(_square()), (1, 2, 3, 4)),
    "l3": lambda: _linear("3", _square(), mean(_square()), (1, 2, 3, 4)),
    "Gaussian": lambda: _linear(
        "gaussian", Line(0, 3, step=1, cells=True), mean(Line(0, 3, step=1, cells=True)), (1, 2, 3, 4, 5)
    ),
    "tree histogram": _trees,
    "multiscale histogram": _multiscale,
    "cells": _cells,
    "strategies": _strategies,
    "edge noise": lambda: audit_edges("edge noise", _line()),
    "edge noise, cycles": lambda: audit_edges("edge noise, cycles", _square()),
    "response": lambda: audit_items("items, randomised response", randomised_response(Discrete("abcd"), 1)),
    "gkrr": lambda: audit_items("items, GKRR", gkrr(_clusters(), 2)),
    "tree": lambda: audit_items("items, tree response", tree_response(_tree(), "1/2")),
    "exponential": lambda: audit_items("items, exponential", exponential(_line(), 2)),
    "planar_laplace": lambda: audit_items("items, planar Laplace", planar_laplace(_square(), 1)),
    "laplace items": lambda: audit_items(
        "items, Laplace", laplace(Euclidean([0], [4], step=1), 2), cut=Fraction(1, 2**24)
    ),
    "matrix": lambda: audit_items("items, matrix", _matrix()),
    "mapped": lambda: audit_items("items, mapped", _mapped()),
    "frequency": lambda: audit_items("frequency", gkrr(_clusters(), 1), result=frequency_result),
    "sampled": lambda: audit_sampled("sampled items", exponential(_line(), 1), samples=3, sizes=(1, 2, 3, 4)),
    "sampled, radius": lambda: audit_sampled(
        "sampled items, radius",
        exponential(_line(), 1),
        samples=3,
        sizes=(1, 2, 3, 4),
        radius="1/10",
        delta="1e-3",
    ),
    "amplified": lambda: [
        audit_amplified(
            "items, amplified", randomised_response(Discrete("ab"), "1/2"), model=model, items=m, users=n, delta="1e-4"
        )
        for model, m, n in (("local", 60, 1), ("shuffle", 30, 60), ("central", 30, 60))
    ],
    "user level Laplace": lambda: _user_level("laplace"),
    "user level Gaussian": lambda: _user_level("gaussian"),
    "user level levels": _levels,
    "user level half sphere": _half_sphere,
    "user level polytope": _polytope,
    "user level subset": _subsets,
    "samplers": lambda: [audit_samplers()],
    "ledger": lambda: [audit_ledger()],
    "limits": lambda: [audit_limits()],
    "promises": audit_promises,
    "scopes": audit_scopes,
    "whole people": audit_people,
    "secure sums": audit_sums,
    "hidden groups": audit_hidden_groups,
}
"""Every audit by its name."""
