"""The descent behind entropic fits, against dense BFGS and a known minimum."""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.decoding.entropic import EntropicDual, _Past, descend


def test_descend():
    seen = []

    def bowl(x):
        seen.append(float(x @ x))
        return (float(x @ x), 2.0 * x)

    descend(bowl, np.array([3.0, -1.0]), enough=lambda: seen[-1] < 1e-20, most=100)
    assert seen[-1] < 1e-20


def test_the_past_steps_speak_for_the_inverse_that_bfgs_updates():
    """Against the dense update H' = (1 - rsy') H (1 - rys') + rss', from the scaled identity and the steps kept."""
    rng, memory, size = np.random.default_rng(5), 3, 5
    curvature = np.diag([1.0, 2.0, 3.0, 5.0, 8.0]) + 0.1
    past, pairs, gradient = _Past(memory, size), [], rng.normal(size=size)
    assert past.newton(gradient) is gradient
    for _ in range(8):  # the table goes round twice
        moved = rng.normal(size=size)
        past.add(moved, curvature @ moved)
        past.add(moved, -moved)  # along which the gradient falls: not remembered
        pairs = [*pairs, (moved, curvature @ moved)][-memory:]
        moved, change = pairs[-1]
        inverse = np.eye(size) * (moved @ change) / (change @ change)
        for s, y in pairs:
            turned = np.eye(size) - np.outer(s, y) / (s @ y)
            inverse = turned @ inverse @ turned.T + np.outer(s, s) / (s @ y)
        np.testing.assert_allclose(past.newton(gradient), inverse @ gradient, rtol=1e-10, atol=1e-12)


def test_entropic_dual():
    def same(x):
        return x

    fit = EntropicDual(np.array([0.75, 0.5]), same, same, same, same, np.array([0.5, 0.5]), 1.0).fit(1e-06, 0.001)
    assert fit.weights.round(3).tolist() == [0.625, 0.375]
