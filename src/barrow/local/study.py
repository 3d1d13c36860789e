"""What everybody in a local study agrees on: space, query, alpha, delta, noise and grid; all public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from barrow.errors import ParameterError
from barrow.local.plain import check_kind, digest_of
from barrow.mechanisms import AdditiveNoise, linear_noise
from barrow.numerics import Exact, exact, exact_text
from barrow.privacy import Guarantee
from barrow.privacy.definitions import positive, probability
from barrow.queries import Query, query_from_spec
from barrow.spaces import space_from_spec

STUDY_VERSION = 1
_KIND = "local study"
_KEYS = {"barrow", "version", "space", "query", "alpha", "delta", "noise", "grid", "scale"}


@dataclass(frozen=True, eq=False)
class LocalStudy:
    """One question asked of many people, each of whom adds their own noise.

    Args:
        query: What is asked.
        alpha: Privacy loss per unit of EMD.
        delta: 0 for pure noise; above 0, Gaussian noise is considered too.
        noise: ``"auto"``, ``"laplace"``, ``"l2"``, ``"linf"``, the order of a norm, or ``"gaussian"``.
        grid: The public grid of the reports; the power of two nearest to scale/1024 by default.

    >>> from barrow.queries import distance_to
    >>> from barrow.spaces import Line
    >>> study = LocalStudy(distance_to(Line(0, 10, unit="km", step=1), 3), alpha=25)
    >>> study.noise.name, study.digest.startswith("sha256:"), study_from_json(study.to_json()).digest == study.digest
    ('Laplace', True, True)
    """

    query: Query
    alpha: Fraction
    delta: Fraction
    noise: AdditiveNoise

    def __init__(
        self,
        query: Query,
        alpha: Exact,
        delta: Exact = 0,
        *,
        noise: str | Exact = "auto",
        grid: Exact | None = None,
    ) -> None:
        object.__setattr__(self, "query", query)
        object.__setattr__(self, "alpha", positive(alpha, "alpha"))
        object.__setattr__(self, "delta", probability(delta))
        chosen = linear_noise(query, alpha, delta, noise=noise, model="local", grid=grid)
        object.__setattr__(self, "noise", chosen)

    @property
    def guarantee(self) -> Guarantee:
        """What each person is promised, with the worst case; a function of the study alone."""
        from barrow.accounting import price

        return price(self.noise.event)

    @property
    def public(self) -> tuple[str, ...]:
        """What is public, and what a report reveals beside its values."""
        space = self.query.space
        return (
            f"the space ({space.kind}, {space.items:,} items, diameter {space.diameter:.6g} {space.unit}".rstrip()
            + ")",
            f"the question: {self.query.description}",
            f"alpha = {float(self.alpha):.6g} and delta = {float(self.delta):.6g}",
            f"the noise: {self.noise.name} of scale {float(self.noise.scale):.6g}, on a grid of "
            f"{float(self.noise.grid):.6g} {self.query.unit}".rstrip(),
            "who reports, when, and how many do: the guarantee is about the values of a report only",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`study_from_json` reads back; other languages need nothing else to write a client."""
        return {**self._agreed, "scale": exact_text(self.noise.scale)}

    @property
    def _agreed(self) -> dict[str, Any]:
        return {
            "barrow": _KIND,
            "version": STUDY_VERSION,
            "space": self.query.space.to_spec(),
            "query": self.query.to_spec(),
            "alpha": exact_text(self.alpha),
            "delta": exact_text(self.delta),
            "noise": self.noise.p or "gaussian",
            "grid": exact_text(self.noise.grid),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical plain data without the scale, which follows from them up to rounding."""
        return digest_of(self._agreed)


def study_from_json(data: Mapping[str, Any]) -> LocalStudy:
    """The study that plain data describe; the scale is computed anew, and must be the one stated.

    >>> study_from_json({"barrow": "something else"})
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: This is not a local study of version 1.
      allowed: exactly the keys alpha, barrow, delta, grid, noise, query, scale, space, version
      fix:     write it with LocalStudy(...).to_json()
    """
    check_kind(data, _KIND, STUDY_VERSION, _KEYS, "LocalStudy")
    query = query_from_spec(space_from_spec(data["space"]), data["query"])
    study = LocalStudy(query, data["alpha"], data["delta"], noise=data["noise"], grid=data["grid"])
    stated = exact(data["scale"], "scale")
    if abs(stated - study.noise.scale) > study.noise.scale / 10**9:
        raise ParameterError(
            f"The study states the scale {float(stated):.9g}, but its query needs {float(study.noise.scale):.9g}.",
            allowed="the scale that follows from space, query, alpha and delta",
            fix="ask whoever made the study; do not report to it",
        )
    return study
