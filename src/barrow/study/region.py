"""The unbiased shares of a finished release, from which regions get intervals: post-processing, free of charge."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import edge_histogram
from barrow.mechanisms.histogram_regions import ReleasedShares
from barrow.numerics import exact, exact_text, float_up
from barrow.questions.plan import Rows
from barrow.spaces import Space


def released_shares(statement: Mapping[str, Any], tables: Mapping[str, Rows], space: Space) -> ReleasedShares:
    """What a central histogram published beside its decoded values, with the noise that its statement names.

    Args:
        statement: The release's statement.
        tables: Its tables.
        space: The study's space.
    """
    said = statement.get("parameters", {})
    kind, noise = said.get("mechanism"), said.get("noise")
    known = kind == "edges" or (kind in ("tree", "cells") and noise in ("Laplace", "Gaussian"))
    if not known or said.get("model", "central") != "central":
        raise ParameterError(
            "The release is no central histogram along edges, along a tree or of cells.",
            allowed="a histogram whose statement says mechanism 'edges', 'tree' or 'cells'",
            fix="mechanism = 'edges' in the question of another release",
        )
    shares = np.array([row["share"] for row in tables.get("unbiased", [])], dtype=np.float64)
    scale, grid = Fraction(exact(said["scale"])), Fraction(exact(said["grid"]))
    alike = (space, space.held, space.with_no_records)  # as the study says it, or as the question was answered on it
    space = next((one for one in alike if one.digest == said["space"]), space)
    if said["space"] != space.digest:
        raise _another()
    if kind != "edges":
        return ReleasedShares(space, kind, shares, float_up(scale), float_up(grid), noise == "Gaussian")
    query = said["query"]
    spacing = query.get("spacing") if isinstance(query, Mapping) else None
    alpha = exact(statement["event"]["alpha"])
    plan = edge_histogram(space, alpha, users=int(statement["people"]), spacing=spacing, grid=grid)
    if exact_text(plan.scale) != said["scale"] or plan.query.to_spec() != query or len(shares) != plan.graph.nodes:
        raise _another()
    return ReleasedShares(space, "edges", shares, float_up(scale), float_up(grid), plan=plan)


def _another() -> ParameterError:
    return ParameterError(
        "The space is not the one that the values were released on.",
        allowed="the study of the release, unchanged",
        fix="--study with the study file that the release was made from",
    )
