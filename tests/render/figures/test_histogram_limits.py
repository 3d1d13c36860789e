"""Bands of histograms: about what stands out, not about limits of what does not."""

from __future__ import annotations

import numpy as np

from barrow.render.figures import histogram


def test_limits_of_single_bins_do_not_hide_the_shape():
    shares = np.exp(-np.arange(200) / 40.0)
    shares /= shares.sum()
    limits = {"low": np.zeros(200), "high": shares + 0.3}
    figure = histogram(np.arange(201), shares, **limits)
    assert 'class="reach"' not in figure.svg
    assert "No single one of 200 values stands out from the noise: each is at most 33 %" in figure.description
    limits["low"] = np.where(np.arange(200) < 3, 0.9 * shares, 0.0)
    limits["high"] = np.where(np.arange(200) < 3, 1.1 * shares, limits["high"])
    some = histogram(np.arange(201), shares, **limits)
    assert some.svg.count('class="reach"') == 1  # a band about the three that stand out
    assert "197 of 200 values cannot be distinguished from 0" in some.description
