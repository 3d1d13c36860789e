"""Randomisers as plain data (TOML, JSON), and the one that suits a space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from barrow.errors import plain_table, reading, unknown_name
from barrow.numerics import Exact
from barrow.randomisers.exponential import exponential, planar_laplace
from barrow.randomisers.family import even_clusters
from barrow.randomisers.laplace import laplace
from barrow.randomisers.mapped import MappedRandomiser
from barrow.randomisers.matrix import MOST_ENTRIES, MatrixRandomiser, matrix_randomiser
from barrow.randomisers.mixture import gkrr, randomised_response, tree_response
from barrow.randomisers.randomiser import Randomiser
from barrow.spaces import Space

RANDOMISERS: dict[str, Callable[[Space, Exact], Randomiser]] = {
    "gkrr": gkrr,
    "tree": tree_response,
    "response": randomised_response,
    "exponential": exponential,
    "planar_laplace": planar_laplace,
    "laplace": laplace,
}
"""Every kind of randomiser that a space and alpha0 determine, by its name in plain data."""
_MATRICES = ("exponential", "planar_laplace")
"""These have a probability for each pair of items."""


def suited(space: Space) -> str:
    """The kind of randomiser that suits a space, if nobody names one.

    >>> from barrow.spaces import Clustered, Discrete
    >>> suited(Clustered.grid(2, 2, r=0.1)), suited(Discrete(["a", "b"]))
    ('gkrr', 'response')
    """
    small = space.items**2 <= MOST_ENTRIES
    # Where nothing else is left, "exponential" refuses and says what to do.
    return next((name for name in space.geometry.randomisers if small or name not in _MATRICES), "exponential")


def family_of_spec(space: Space, spec: Mapping[str, Any] | str | None = None) -> str | None:
    """The family that the randomiser of plain data will have at ordinary alpha0, where it has one, without making it.

    The randomiser itself has the last word (:attr:`Randomiser.family`): at an extreme alpha0 it may keep no name.

    >>> from barrow.spaces import Discrete
    >>> family_of_spec(Discrete(["a", "b"])), family_of_spec(Discrete(["a", "b"]), "exponential")
    ('krr:2', None)
    """
    named = suited(space) if spec is None else spec
    if not isinstance(named, str):
        if named.get("kind") == "mapped":
            return family_of_spec(space, named.get("inner"))
        named = str(named.get("kind"))
    if named not in ("gkrr", "tree", "response") or (named == "response" and not space.geometry.equidistant):
        return None
    even = even_clusters(space)
    return None if even is None else even.name


def randomiser_from_spec(space: Space, alpha0: Exact, spec: Mapping[str, Any] | str | None = None) -> Randomiser:
    """The randomiser that plain data describe, at ``alpha0``; the one that suits the space by default.

    Args:
        space: The public space.
        alpha0: The privacy parameter of one report, at most.
        spec: The name of a kind, or a table with ``kind``; ``matrix`` needs ``matrix`` (probabilities) or ``weights``
            (whole numbers of the sum 2^62), ``mapped`` needs ``inner`` and ``answers``.

    >>> from barrow.spaces import Discrete
    >>> randomiser_from_spec(Discrete(["a", "b"]), 1).kind
    'response'
    >>> randomiser_from_spec(Discrete(["a", "b"]), 1, "gkr")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The kind of randomiser is 'gkr'. Did you mean 'gkrr'?
      allowed: gkrr, tree, response, exponential, planar_laplace, laplace, matrix, mapped
      fix:     kind = "gkrr"
    """
    named = suited(space) if spec is None else spec
    rest: dict[str, Any] = {"kind": named} if isinstance(named, str) else plain_table(named, "The randomiser")
    name = str(rest.pop("kind", None)).replace("-", "_")
    with reading(
        f"The randomiser {name!r}",
        allowed="kind alone; matrix (or weights) and labels for a matrix; inner and answers for mapped",
        fix='randomiser = "exponential"',
    ):
        if name == "matrix":
            if "weights" in rest:
                rest["weights"] = np.array(rest["weights"], dtype=np.int64)
                return MatrixRandomiser(space, alpha0=alpha0, **rest)
            return matrix_randomiser(space, rest.pop("matrix"), alpha0=alpha0, **rest)
        if name == "mapped":
            inner = randomiser_from_spec(space, alpha0, rest.pop("inner", None))
            return MappedRandomiser(inner, **rest)
        make = RANDOMISERS.get(name)
        if make is not None:
            return make(space, alpha0, **rest)
    known, own = [*RANDOMISERS, "matrix", "mapped"], f'kind = "{suited(space)}"'
    raise unknown_name(f"The kind of randomiser is {name!r}.", name, known, fix='kind = "{}"', otherwise=own)
