"""Queries on spaces with coordinates: means, similarities and linear functions of an embedding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.numerics import Exact
from barrow.queries.quantised import quantise, vector_norm
from barrow.queries.query import ClosedForm, Query, check_step, step_argument
from barrow.spaces import Space
from barrow.spaces.checks import finite_array
from barrow.spaces.space import Floats


def mean(space: Space, *, step: Exact | None = None) -> Query:
    """The mean of the items' coordinates: on a line, in Euclidean space, or of the vectors of an embedding.

    Args:
        space: A line, a Euclidean space or an embedding, with a public grid.
        step: The public grid of the coordinates; 50 bits of the largest by default.

    >>> from barrow.spaces import Line
    >>> mean(Line(0, 100, unit="years", step=1)).description
    'the mean over people of the mean of their items (years)'
    """
    points = _points(space, "mean")
    dimension = points.shape[1]
    per_distance = _per_distance(space)

    def bound(p: float) -> float:
        return per_distance * max(1.0, float(dimension ** (1.0 / p - 0.5))) * (1.0 + 2.0**-48)

    grid = space.geometry.lattice
    unit = "" if grid is None else space.unit
    query = Query(
        space,
        "mean",
        unit,
        f"the mean over people of the mean of their items{f' ({unit})' if unit else ''}",
        quantise(points, step=step),
        step_argument(step),
        ClosedForm(bound, tight=grid is not None),
        lambda: ["mean"] if dimension == 1 else [f"mean of coordinate {j + 1}" for j in range(dimension)],
        between=(-math.inf, math.inf) if grid is None else (grid.low, grid.high),
    )
    return check_step(query, step)


def similarity(
    space: Space,
    vectors: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    step: Exact | None = None,
) -> Query:
    """The mean similarity of people's items to public query vectors: inner products; cosines for angular embeddings.

    Args:
        space: An embedding or a Euclidean space.
        vectors: One query vector for each output, as rows.
        names: What the query vectors are called.
        step: The public grid of the similarities.

    >>> from barrow.spaces import Embedding
    >>> words = Embedding(["cat", "dog", "car"], [[1, 0], [0.8, 0.6], [-1, 0]], metric="angular")
    >>> query = similarity(words, [[1, 0], [0, 2]], names=["pets", "north"])
    >>> query.outputs, (query.table.integers[1] * float(query.step)).round(6).tolist()
    (('similarity to pets', 'similarity to north'), [0.8, 0.6])
    """
    rows = given = finite_array(vectors, "vectors", ndim=2)
    if space.geometry.angular:
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        if (lengths == 0.0).any():
            raise ParameterError(
                "A query vector is zero and has no direction.", allowed="vectors that are not zero", fix="drop it"
            )
        rows = rows / lengths
    labels = [f"vector {j + 1}" for j in range(len(rows))] if names is None else [str(x) for x in names]
    what = "cosine" if space.geometry.angular else "inner product"
    return _linear(
        space,
        rows,
        kind="similarity",
        names=[f"similarity to {x}" for x in labels],
        description=f"the mean over people of their items' {what} with {len(rows)} query vector{'s' * (len(rows) > 1)}",
        arguments={"vectors": given.tolist(), "names": labels},
        step=step,
    )


def linear_embedding(
    space: Space,
    matrix: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    unit: str = "",
    step: Exact | None = None,
) -> Query:
    """A linear embedding query: the mean over people of F phi(x), phi being the items' vectors.

    Its Lipschitz constant in the 2-norm is at most ||F||_2 times the diameter (Section 6.1).

    >>> from barrow.spaces import Embedding
    >>> space = Embedding(["a", "b"], [[0.0, 0.0], [1.0, 1.0]])
    >>> linear_embedding(space, [[1, 1]]).dimension
    1
    """
    rows = finite_array(matrix, "matrix", ndim=2)
    labels = [f"output {j + 1}" for j in range(len(rows))] if names is None else [str(x) for x in names]
    many = "1 linear function" if len(rows) == 1 else f"{len(rows)} linear functions"
    return _linear(
        space,
        rows,
        kind="linear_embedding",
        names=labels,
        description=f"the mean over people of {many} of their items' vectors",
        arguments={"matrix": rows.tolist(), "names": labels, "unit": unit},
        step=step,
        unit=unit,
    )


def spectral_norm_upper(matrix: Floats) -> float:
    """An upper bound on the largest singular value, within 1e-9 of it.

    Singular values come from an algorithm whose backward error is a small multiple of the size times 2^-53; a slack
    of 2^-30 covers every matrix that fits in memory (docs/proofs/lipschitz.md).
    """
    return float(np.linalg.norm(matrix, 2)) * (1.0 + 2.0**-30)


def _linear(
    space: Space,
    rows: Floats,
    *,
    kind: str,
    names: Sequence[str],
    description: str,
    arguments: dict[str, object],
    step: Exact | None,
    unit: str = "",
) -> Query:
    points = _points(space, kind)
    if rows.shape[1] != points.shape[1]:
        raise ParameterError(
            f"The query has {rows.shape[1]} columns, but the items have {points.shape[1]} coordinates.",
            allowed=f"{points.shape[1]} columns",
            fix="check the embedding from which the query vectors come",
        )
    if len(names) != len(rows):
        raise ParameterError(
            f"There are {len(names)} names for {len(rows)} outputs.", allowed="as many", fix="one name for each"
        )
    lengths = np.sqrt((rows**2).sum(axis=1))
    largest = float(np.sqrt((points**2).sum(axis=1)).max())
    evaluation = float(lengths.max()) * largest * (points.shape[1] + 4) * 2.0**-52
    query = Query(
        space,
        kind,
        unit,
        description,
        quantise(points @ rows.T, step=step, evaluation_error=evaluation),
        {**arguments, **step_argument(step)},
        ClosedForm(_operator_bound(rows, lengths, _per_distance(space)), tight=False),
        lambda: names,
    )
    return check_step(query, step)


def _operator_bound(rows: Floats, lengths: Floats, per_distance: float) -> Callable[[float], float]:
    """||F v||_p <= min(norm of the rows' lengths, d^(1/p-1/2) ||F||_2) ||v||_2."""
    spectral = spectral_norm_upper(rows)

    def bound(p: float) -> float:
        by_rows = vector_norm(lengths, p) * (1.0 + 2.0**-30)
        by_spectrum = spectral * max(1.0, float(len(rows) ** (1.0 / p - 0.5)))
        return min(by_rows, by_spectrum) * per_distance * (1.0 + 2.0**-40)

    return bound


def _per_distance(space: Space) -> float:
    """How far points may be apart in the Euclidean norm, per normalised distance of the space."""
    if space.geometry.angular:
        return space.diameter * math.pi / 180.0 * (1.0 + 2.0**-40)  # a chord is not longer than its arc
    return space.diameter


def _points(space: Space, kind: str) -> Floats:
    if space.geometry.flat:
        return space.geometry.points
    what = "A mean" if kind == "mean" else "An inner product"
    if space.geometry.periodic:
        raise ParameterError(
            f"{what} does not exist on the {space.kind} space, a {'sphere' if space.geometry.on_earth else 'circle'}: "
            f"the middle of two points is not unique there.",
            allowed="a line, a Euclidean space or an embedding",
            fix="histogram, density, region or distance" if space.geometry.on_earth else "circular_mean",
        )
    raise ParameterError(
        f"{what} needs coordinates, and the items of the {space.kind} space have none.",
        allowed="a line, a Euclidean space or an embedding",
        fix="histogram, distance or function",
    )


def direction(space: Space, *, step: Exact | None = None) -> Query:
    """The mean over people of the mean of (cos t, sin t), t the angle of an item.

    A chord is no longer than its arc, and half a turn is the distance 1, so the Lipschitz constant in the 2-norm is pi
    (docs/proofs/circular.md).

    Args:
        space: A circle with a public grid, or with names.
        step: The public grid of the values; 50 bits by default.
    """
    grid = space.geometry.lattice if space.geometry.periodic else None
    if grid is None:
        raise ParameterError(
            f"Directions need a circle, but the space is a {space.kind}.",
            allowed="a circle, such as hours, weekdays or months",
            fix="kind = 'mean', or a circle for this column",
        )
    angles = 2.0 * math.pi * np.asarray(space.geometry.places) / float(grid.high[0])
    return check_step(
        Query(
            space,
            "direction",
            "",
            "the mean over people of the mean direction of their items",
            quantise(np.stack([np.cos(angles), np.sin(angles)], axis=1), step=step),
            step_argument(step),
            ClosedForm(lambda p: math.pi * max(1.0, 2.0 ** (1.0 / p - 0.5)) * (1.0 + 2.0**-48)),
            lambda: ["cosine", "sine"],
        ),
        step,
    )
