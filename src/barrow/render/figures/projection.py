"""Equal-area projections: Lambert's azimuthal one, and Equal Earth for boxes wider than 160 degrees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from barrow.errors import ParameterError
from barrow.render.figures.svg import Floats

Box = tuple[float, float, float, float]
_WIDE = 160.0
# Šavrič, Patterson, Jenny 2018: the coefficients of Equal Earth.
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796


def checked_box(box: Sequence[float]) -> Box:
    """South, west, north, east in degrees."""
    numbers = [float(x) for x in box] if len(box) == 4 else []
    if len(numbers) == 4 and all(map(math.isfinite, numbers)):
        south, west, north, east = numbers
        if -90 <= south < north <= 90 and west < east <= west + 360:
            return south, west, north, east
    raise ParameterError(
        f"box is {tuple(box)}.",
        allowed="south, west, north, east in degrees, south below north, west below east, at most 360 wide",
        fix="box=(35, -10, 60, 30)",
    )


def wide(box: Box) -> bool:
    """Whether a box takes Equal Earth."""
    return box[3] - box[1] > _WIDE


@dataclass(frozen=True)
class MapProjection:
    """From latitude and longitude to pixels, areas kept in proportion.

    Args:
        box: What must fit.
        width: In pixels.
        most: The greatest height in pixels.
        pad: Left free at the edges.
    """

    box: Box
    width: float
    most: float
    pad: float = 4.0

    @property
    def wide(self) -> bool:
        """Whether the box takes Equal Earth."""
        return wide(self.box)

    def plane(self, lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
        """Coordinates on a sphere of radius 1."""
        south, west, north, east = self.box
        phi, lam = np.radians(lat), np.radians(np.asarray(lon) - (west + east) / 2)
        if self.wide:
            q = np.arcsin(math.sqrt(3) / 2 * np.sin(phi))
            slope = _A1 + 3 * _A2 * q**2 + q**6 * (7 * _A3 + 9 * _A4 * q**2)
            return 2 * math.sqrt(3) / 3 * lam * np.cos(q) / slope, q * (_A1 + _A2 * q**2 + q**6 * (_A3 + _A4 * q**2))
        middle = math.radians((south + north) / 2)
        sine, cosine = math.sin(middle), math.cos(middle)
        k = np.sqrt(2 / np.maximum(1e-12, 1 + sine * np.sin(phi) + cosine * np.cos(phi) * np.cos(lam)))
        return k * np.cos(phi) * np.sin(lam), k * (cosine * np.sin(phi) - sine * np.cos(phi) * np.cos(lam))

    def frame(self, box: Box | None = None) -> tuple[Floats, Floats]:
        """Latitudes and longitudes along the edge of the box, or of another one, once round."""
        south, west, north, east = self.box if box is None else box
        up, across = np.linspace(south, north, 60), np.linspace(west, east, 60)
        lat = np.concatenate([np.full(60, south), up, np.full(60, north), up[::-1]])
        lon = np.concatenate([across, np.full(60, east), across[::-1], np.full(60, west)])
        return lat, lon

    @cached_property
    def fit(self) -> tuple[float, float, float, float]:
        """Scale, shift right, shift down, and the height in pixels."""
        # A wide box may be broadest within it, at the equator: rows inside count as well.
        lat, lon = self.frame()
        rows = np.linspace(self.box[0], self.box[2], 60)
        x, y = self.plane(np.r_[lat, rows, rows], np.r_[lon, np.full(60, self.box[1]), np.full(60, self.box[3])])
        wide, tall = float(x.max() - x.min()), float(y.max() - y.min())
        scale = min((self.width - 2 * self.pad) / wide, (self.most - 2 * self.pad) / tall)
        height = scale * tall + 2 * self.pad
        return scale, self.width / 2 - scale * float(x.max() + x.min()) / 2, self.pad + scale * float(y.max()), height

    def pixels(self, lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
        """Where places are in the picture."""
        scale, right, down, _ = self.fit
        x, y = self.plane(np.asarray(lat, dtype=np.float64), np.asarray(lon, dtype=np.float64))
        return right + scale * x, down - scale * y

    def kilometres(self) -> float:
        """How many kilometres a pixel is, in the middle of the map."""
        south, west, north, east = self.box
        lat, lon = (south + north) / 2, (west + east) / 2
        step = (north - south) / 100
        _, y = self.pixels(np.array([lat - step, lat + step]), np.array([lon, lon]))
        return 2 * step * 111.195 / abs(float(y[1] - y[0]))
