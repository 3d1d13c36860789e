"""A histogram by additive noise decodes its own exact values."""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.histograms import histogram_noise
from barrow.spaces import Line


def test_histogram_noise():
    built = histogram_noise(Line(0, 8, step=1, cells=True), "cells", 25, users=1000)
    assert built.decode(built.matrix @ np.eye(8)[3]).round(9).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
