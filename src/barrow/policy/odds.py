"""What an epsilon means to a person: how far a 50 % suspicion can grow (docs/proofs/promises.md)."""

from __future__ import annotations

import math


def odds_upper(epsilon: float) -> float:
    """The largest probability, rounded up, to which a guess of 50 % about two data sets can grow: 1/(1+e^-eps).

    >>> round(odds_upper(0.5), 4)
    0.6225
    """
    return min(1.0, math.nextafter(1.0 / (1.0 + math.exp(-epsilon)) * (1.0 + 2.0**-50), 2.0))


def percent_up(probability: float, digits: int = 1) -> str:
    """A probability as a percentage, rounded up so that it never understates.

    >>> percent_up(0.55001), percent_up(0.5), percent_up(0.99999999)
    ('55.1 %', '50.0 %', '100 %')
    """
    scale = 10**digits
    value = math.ceil(probability * 100 * scale * (1.0 - 1e-12)) / scale
    return "100 %" if value >= 100 else f"{value:.{digits}f} %"


def odds_sentence(epsilon: float) -> str:
    """The odds of ``epsilon`` as a sentence; delta aside.

    >>> odds_sentence(0.2)
    'A 50 % suspicion can grow to at most 55.0 %.'
    >>> odds_sentence(25)
    'A 50 % suspicion can become near certainty: this is not protected.'
    """
    if epsilon > 5:
        return "A 50 % suspicion can become near certainty: this is not protected."
    return f"A 50 % suspicion can grow to at most {percent_up(odds_upper(epsilon))}."
