"""A released map in a terminal: drawn from released values and public numbers only, so it costs nothing."""

from __future__ import annotations

import numpy as np

from barrow.errors import ParameterError
from barrow.questions import Answer
from barrow.questions.estimates import estimate
from barrow.questions.releasing import places_of
from barrow.spaces.space import Floats

SHADES = ((0.1, "█"), (0.03, "▓"), (0.01, "▒"), (0.0, "░"))
"""The shade of a share above each of these; a share within the noise is left blank."""


def heat_map(plan: Answer, values: Floats, *, width: int = 64) -> list[str]:
    """The lines of a picture of a released density on Earth, north on top, with its axes and its key.

    A place is drawn only if its share is above what the noise alone reaches anywhere with probability 5 %. Rows
    without any such place are left out at the top and at the bottom.

    Args:
        plan: What was released: a density on a box of the Earth.
        values: Its released values.
        width: How many columns the box is wide.

    >>> from barrow.spaces import Earth
    >>> from barrow.study import Study
    >>> space = Earth(box=(0, 0, 20, 10), cell=100)
    >>> plan = Study(space, alpha=100, users=10**6).plan("density(bandwidth='400 km')")
    >>> values = np.zeros(plan.query.dimension)
    >>> values[0], values[6] = 0.5, 0.02
    >>> for line in heat_map(plan, values, width=12):
    ...     print(line)
        7°N  ▒▒▒
        3°N
        0°N  ███
             0°E
             ░ above the noise   ▒ above 1 %   ▓ above 3 %   █ above 10 %
    """
    box, places, noise = plan.terms.space.records_space.geometry.box, places_of(plan), estimate(plan).threshold
    if box is None or places is None or noise is None:
        raise ParameterError(
            f"The release is not a map: {plan.description}.",
            allowed="a density on a box of the Earth",
            fix="density(bandwidth='400 km')",
        )
    _, west, _, east = box
    lon = west + (east - west) * (np.arange(width) + 0.5) / width
    samples = []
    for lat in np.unique(places[:, 0])[::-1]:
        row = np.flatnonzero(places[:, 0] == lat)
        nearest = row[np.abs(places[row, 1][None, :] - lon[:, None]).argmin(axis=1)]
        line = "".join(_shade(share, noise) for share in values[nearest].tolist())
        samples.append(f"{_degrees(lat, 'NS'):>7}  {line}".rstrip())
    seen = [i for i, line in enumerate(samples) if len(line) > 7] or [0]
    key = "   ".join(f"{sign} above {f'{100 * share:.0f} %' if share else 'the noise'}" for share, sign in SHADES[::-1])
    return [*samples[seen[0] : seen[-1] + 1], f"{'':9}{_axis(west, east, width)}", f"{'':9}{key}"]


def standing_out(plan: Answer, values: Floats) -> int:
    """How many released shares are above what the noise alone reaches anywhere with probability 5 %."""
    threshold = estimate(plan).threshold
    return 0 if threshold is None else int((values > threshold).sum())


def _shade(share: float, noise: float) -> str:
    if share <= noise:
        return " "
    return next(sign for least, sign in SHADES if share > least)


def _degrees(angle: float, signs: str) -> str:
    return f"{abs(angle):.0f}°{signs[0] if angle >= 0 else signs[1]}"


def _axis(west: float, east: float, width: int) -> str:
    """Longitudes that are multiples of 30 degrees, each beginning at its column."""
    line = ""
    for mark in range(-180, 181, 30):
        column = int((mark - west) / (east - west) * width)
        text = _degrees(mark, "EW")
        if west <= mark <= east and len(line) <= column and column + len(text) <= width:
            line = f"{line:<{column}}{text}"
    return line
