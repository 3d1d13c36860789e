"""Names of places: how far and in which direction the nearest large city is, from the bundled list."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import StringIO

import numpy as np

from barrow.numerics.exact import near
from barrow.numerics.places import Floats
from barrow.spaces.sphere import unit_vectors

_RADIUS_KM = 6371.0088
_FAR_KM = 3000.0
"""Beyond so many kilometres a city says nothing: coordinates do."""
_VAGUE_KM = 1.5
"""Where a city's middle is, is not known better: nearer than this there is no distance and no direction."""
_LEAST = ((1.0, 0.05), (4.0, 0.1))
"""Up to so many degrees cities of so many millions tell places apart; on larger maps those of ``LARGE``."""
LARGE, _AROUND = 0.2, 1.5
_MANY = 2_000
"""Places that are compared with all cities at once."""
_WINDS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


@dataclass(frozen=True, eq=False)
class Cities:
    """Large cities of the world, the largest first."""

    names: tuple[str, ...]
    lat: Floats
    lon: Floats
    millions: Floats


@cache
def cities() -> Cities:
    """The bundled list.

    >>> cities().names[0]
    'Tokyo'
    """
    text = files("barrow.render.figures").joinpath("cities.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(StringIO(text))
    names, *numbers = zip(*rows, strict=True)
    return Cities(names, *(np.array(column, dtype=np.float64) for column in numbers))


def place_name(lat: float, lon: float, digits: int = 1) -> str:
    """A place by its coordinates, with so many decimals.

    >>> place_name(40.74, -73.99)
    '40.7°N 74°W'
    """

    def written(degrees: float) -> str:
        return f"{abs(round(degrees, digits)):.{digits}f}".rstrip("0").rstrip(".")

    east = (lon + 180) % 360 - 180
    return f"{written(lat)}°{'S' if lat < 0 else 'N'} {written(east)}°{'W' if east < 0 else 'E'}"


def place_digits(lat: Floats, lon: Floats) -> int:
    """Decimals that tell places of one map apart: the smaller the map, the more."""
    size = max(float(np.ptp(lat)), float(np.ptp(lon)))
    return 1 if size >= 40 else 2 if size >= 4 else 3


def place_names(lat: Floats, lon: Floats, reach: float = 0.0) -> list[str]:
    """What places are called: the nearest large city, with distance and direction; coordinates where that is not one.

    Args:
        lat: Latitudes.
        lon: Longitudes.
        reach: So many kilometres from a city a place is still called by its name alone.

    >>> place_names(np.array([48.86, 48.86, -50.0]), np.array([2.35, 2.5, -120.0]), reach=5)
    ['Paris', '11 km E of Paris', '50°S 120°W']
    >>> place_names(np.array([48.857, 48.93, 48.797]), np.array([2.351, 2.36, 2.13]))
    ['near Paris', 'near Saint-Denis', 'near Versailles']
    """
    lat, lon = np.asarray(lat, dtype=np.float64), np.asarray(lon, dtype=np.float64)
    parts = [slice(k, k + _MANY) for k in range(0, len(lat), _MANY)]
    names = [name for part in parts for name in _near(lat[part], lon[part], reach)]
    digits = place_digits(lat, lon) if len(lat) > 1 else 1
    twice = {name for name, count in Counter(names).items() if count > 1}
    return [
        place_name(a, b, digits) if name == "" else f"{name} ({place_name(a, b, digits)})" if name in twice else name
        for name, a, b in zip(names, lat.tolist(), lon.tolist(), strict=True)
    ]


def _near(lat: Floats, lon: Floats, reach: float) -> list[str]:
    known = _told_apart(lat, lon)
    here, there = (unit_vectors(np.stack(both, axis=1)) for both in ((lat, lon), (known.lat, known.lon)))
    chords = sum((np.subtract.outer(a, b) ** 2 for a, b in zip(here.T, there.T, strict=True)), np.array(0.0))
    away = 2 * _RADIUS_KM * np.arcsin(np.minimum(np.sqrt(chords) / 2, 1.0))
    # A large city counts for more than a small one beside it.
    best = np.argmin(away / np.sqrt(np.maximum(known.millions, 0.1))[None, :] ** 0.5, axis=1)
    held = np.where(away <= reach, known.millions[None, :], 0.0)  # of several within a cell the largest
    best = np.where(held.max(axis=1) > 0.0, held.argmax(axis=1), best)
    rows, p, q = np.arange(len(lat)), np.radians(lat), np.radians(known.lat[best])
    turn = np.radians(lon - known.lon[best])
    up = np.sin(p) * np.cos(q) - np.cos(p) * np.sin(q) * np.cos(turn)
    wind = np.round(np.degrees(np.arctan2(np.cos(p) * np.sin(turn), up)) / 45).astype(int) % 8
    return [
        known.names[city]
        if far <= reach
        else ""
        if far > _FAR_KM
        else f"near {known.names[city]}"
        if far < _VAGUE_KM
        else f"{near(far, 'km', digits=2)} {_WINDS[w]} of {known.names[city]}"
        for city, far, w in zip(best.tolist(), away[rows, best].tolist(), wind.tolist(), strict=True)
    ]


def _told_apart(lat: Floats, lon: Floats) -> Cities:
    """The cities that places may be named by: all large ones, and on a small map those around it."""
    known, size = cities(), max(float(np.ptp(lat)), float(np.ptp(lon)))
    least = next((millions for most, millions in _LEAST if size <= most), LARGE)
    east = (known.lon - float(lon.min()) + 180.0) % 360.0 - 180.0
    wide = _AROUND / max(float(np.cos(np.radians(np.abs(lat).max()))), 0.1)
    around = (known.lat >= lat.min() - _AROUND) & (known.lat <= lat.max() + _AROUND)
    around &= (east >= -wide) & (east <= np.ptp(lon) + wide) & (known.millions >= least)
    kept = np.flatnonzero(around | (known.millions >= LARGE))
    names = tuple(known.names[k] for k in kept.tolist())
    return Cities(names, known.lat[kept], known.lon[kept], known.millions[kept])
