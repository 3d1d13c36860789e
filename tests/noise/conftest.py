"""A source with chosen words, and a second route to every rounded value: mpmath at the limit of the bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from barrow.noise import Center, rounded_gaussian, rounded_knorm, rounded_laplace
from barrow.noise.source import RandomSource

_PREC = 700


class ScriptedSource(RandomSource):
    """Hands out ``script``, then ``extension`` for ever.

    Every lazily extended uniform then has a known limit, whatever the order in which extensions are drawn:
    its first 63 bits followed by ``extension`` again and again.
    """

    def __init__(self, script: Sequence[int], extension: int) -> None:
        self._script = [int(w) for w in script]
        self._extension = int(extension)
        self.extensions = 0

    @property
    def private(self) -> bool:
        return False

    def words(self, count: int) -> Any:
        taken, self._script = self._script[:count], self._script[count:]
        self.extensions += count - len(taken)
        return np.array(taken + [self._extension] * (count - len(taken)), dtype=np.uint64)


def limit(word: int, extension: int) -> tuple[int, Any]:
    """The sign and the uniform that a word and its extensions converge to."""
    word, extension = int(word), int(extension)
    sign, bits = (1, word) if word < 2**63 else (-1, 2**64 - 1 - word)
    return sign, (mpmath.mpf(bits) + mpmath.mpf(extension) / (2**64 - 1)) / 2**63


def laplace_variate(word: int, extension: int) -> Any:
    sign, u = limit(word, extension)
    return -sign * mpmath.log(u)


def normal_variate(word: int, extension: int) -> Any:
    """Solves erfc(z/sqrt 2) = u by Newton's method on the concave logarithm: not the library's route."""
    sign, u = limit(word, extension)
    if u > mpmath.mpf(1) / 2:
        return sign * mpmath.sqrt(2) * mpmath.erfinv(1 - u)
    z = mpmath.sqrt(-2 * mpmath.log(u))
    for _ in range(200):
        tail = mpmath.erfc(z / mpmath.sqrt(2))
        step = (mpmath.log(tail) - mpmath.log(u)) * tail / (mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-z * z / 2))
        z += step
        if abs(step) < mpmath.mpf(2) ** (-_PREC // 2):
            break
    return sign * z


def cell(q: Fraction, z: Any, scale: Fraction, grid: Fraction) -> int:
    """floor((q + scale z)/grid + 1/2)."""
    shift, ratio = q / grid + Fraction(1, 2), scale / grid
    value = mpmath.mpf(shift.numerator) / shift.denominator
    return int(mpmath.floor(value + mpmath.mpf(ratio.numerator) / ratio.denominator * z))


def expected(
    distribution: str,
    center: Sequence[Fraction],
    scale: Fraction,
    grid: Fraction,
    words: Sequence[int],
    extension: int,
) -> list[int]:
    """The integers that ``distribution`` must release for these words."""
    with mpmath.workprec(_PREC):
        z = noise(distribution, words, extension, len(center))
        return [cell(q, x, scale, grid) for q, x in zip(center, z, strict=True)]


def noise(distribution: str, words: Sequence[int], extension: int, size: int) -> list[Any]:
    """The noise of scale 1 that these words stand for."""
    if distribution == "laplace":
        return [laplace_variate(w, extension) for w in words]
    if distribution == "gaussian":
        return [normal_variate(w, extension) for w in words]
    if distribution == "knorm2":
        radius = sum(abs(laplace_variate(w, extension)) for w in words[:size])
        g = [normal_variate(w, extension) for w in words[size:]]
        length = mpmath.sqrt(sum(y * y for y in g))
        return [radius * x / length for x in g]
    radius = sum(abs(laplace_variate(w, extension)) for w in words[: size + 1])
    return [radius * sign * u for sign, u in (limit(w, extension) for w in words[size + 1 :])]


def against(
    distribution: str, scale: Fraction, grid: Fraction, words: Sequence[int], extension: int, offsets: Any
) -> Any:
    """A center that puts entry i ``offsets[i]`` cells beyond an edge, and the cells that follow."""
    with mpmath.workprec(_PREC):
        z = noise(distribution, words, extension, len(offsets))
        exact = [Fraction(int(mpmath.floor(x * 2**300)), 2**300) for x in z]
    edges = [Fraction(2 * (i % 7) - 7, 2) for i in range(len(offsets))]
    center = [(edge + off) * grid - scale * x for edge, off, x in zip(edges, offsets, exact, strict=True)]
    cells = [int(edge + Fraction(1, 2)) - (off < 0) for edge, off in zip(edges, offsets, strict=True)]
    return center, cells


def released(
    distribution: str, center: Any, scale: Fraction, grid: Fraction, words: Sequence[int], extension: int
) -> tuple[list[int], int]:
    """What the library releases for these words, and how many words it added to them."""
    source = ScriptedSource(words, extension)
    if distribution == "laplace":
        result = rounded_laplace(center, scale, grid=grid, source=source)
    elif distribution == "gaussian":
        result = rounded_gaussian(center, scale, grid=grid, source=source)
    else:
        result = rounded_knorm(center, scale, 2 if distribution == "knorm2" else "inf", grid=grid, source=source)
    return result.integers.tolist(), source.extensions


def words_needed(distribution: str, size: int) -> int:
    return {"laplace": size, "gaussian": size, "knorm2": 2 * size, "knorminf": 2 * size + 1}[distribution]


def near_ties(distribution: str, scale: Fraction, grid: Fraction, cells: Sequence[int]) -> list[int]:
    """Words whose 63 bits hold the boundary between cells k - 1 and k, for q = 0 and each k > 0 given."""
    words = []
    with mpmath.workprec(_PREC):
        for k in cells:
            edge = (mpmath.mpf(k) - 0.5) * grid.numerator / grid.denominator * scale.denominator / scale.numerator
            u = mpmath.exp(-edge) if distribution == "laplace" else mpmath.erfc(edge / mpmath.sqrt(2))
            words.append(int(mpmath.floor(u * 2**63)))
    return words


def mismatches(
    distribution: str, center: Any, scale: Fraction, grid: Fraction, words: Sequence[int], extension: int
) -> int:
    """How many released integers differ from the second route."""
    exact = Center.of(center)
    rationals = [exact.exact_entry(i) for i in range(len(exact))]
    right = expected(distribution, rationals, scale, grid, words, extension)
    mine, _ = released(distribution, center, scale, grid, words, extension)
    return sum(a != b for a, b in zip(right, mine, strict=True))


class Route:
    """The helpers above, for tests."""

    ScriptedSource = ScriptedSource
    expected = staticmethod(expected)
    against = staticmethod(against)
    released = staticmethod(released)
    mismatches: Callable[..., int] = staticmethod(mismatches)
    near_ties = staticmethod(near_ties)
    words_needed = staticmethod(words_needed)
    limit = staticmethod(limit)
    normal_variate = staticmethod(normal_variate)


@pytest.fixture(scope="session")
def route() -> type[Route]:
    return Route
