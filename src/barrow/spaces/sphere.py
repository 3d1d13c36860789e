"""Great-circle geometry that keeps its relative accuracy from metres to antipodes."""

from __future__ import annotations

import math

import numpy as np

from barrow.spaces.geometry import Floats

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG)."""
HALF_CIRCUMFERENCE_KM = 20015.1145
"""pi times the radius, rounded up: the largest distance on Earth (12,437 miles)."""


def great_circle(lat_a: Floats, lon_a: Floats, lat_b: Floats, lon_b: Floats) -> Floats:
    """Central angles, in radians, between points given in degrees.

    With h = sin^2(dlat/2) + cos cos sin^2(dlon/2) and g = sin^2((lat_a+lat_b)/2) + cos cos cos^2(dlon/2) one has
    h + g = 1, and both are sums of non-negative terms, so 2 atan2(sqrt h, sqrt g) has no cancellation: h is accurate
    for close points and g for antipodes.
    """
    half = math.pi / 360.0
    cosines = np.cos(lat_a * (2 * half)) * np.cos(lat_b * (2 * half))
    turn = (lon_a - lon_b) * half
    h = np.sin((lat_a - lat_b) * half) ** 2 + cosines * np.sin(turn) ** 2
    g = np.sin((lat_a + lat_b) * half) ** 2 + cosines * np.cos(turn) ** 2
    return np.asarray(2.0 * np.arctan2(np.sqrt(h), np.sqrt(g)))


def unit_vectors(places: Floats) -> Floats:
    """Vectors of length 1 from rows of latitude and longitude in degrees."""
    lat, lon = np.radians(places[:, 0]), np.radians(places[:, 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def box_diameter_upper(south: float, west: float, north: float, east: float) -> float:
    """An upper bound, in radians, on the distance of two points of a box of latitudes and longitudes.

    At fixed latitudes distance grows with the difference of longitudes, so only the full width matters. For a width
    of at most 90 degrees the cosine of the distance is A cos(lat - lat*) with |lat - lat*| <= 180 degrees for either
    latitude, so it is least at an end: corners are enough. For wider boxes the latitudes are gridded, and distance
    changes by at most the change of latitude (docs/proofs/geography.md).
    """
    width = east - west
    if width >= 180.0:
        return math.pi
    count = 2 if width <= 90.0 else 1025
    latitudes = np.linspace(south, north, count)
    zero, full = np.array(0.0), np.array(width)
    far = float(great_circle(latitudes[:, None], zero, latitudes[None, :], full).max())
    slack = 0.0 if width <= 90.0 else math.radians((north - south) / (count - 1))
    return min(math.pi, (far + slack) * (1.0 + 2.0**-40))
