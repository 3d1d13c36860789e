"""Accounting: what a release costs. Events in, guarantees out; every bound has a side and a proof page.

What packages above ask for is loaded by these names when it is asked for; all else by the module that defines it.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.accounting.adaptive import adaptive_alpha_upper, pure_epsilon_lower, pure_mu_upper
    from barrow.accounting.calibrate import calibrate_shuffle
    from barrow.accounting.matrix_blanket import matrix_blanket_alpha_upper
    from barrow.accounting.pricing import epsilon_at, price
    from barrow.accounting.releases import compose
    from barrow.accounting.sampling import best_projection, sampled_alpha_upper, sampled_epsilon_upper
    from barrow.accounting.shuffled import ShuffledAccountant
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".adaptive": "adaptive_alpha_upper pure_epsilon_lower pure_mu_upper",
            ".calibrate": "calibrate_shuffle",
            ".matrix_blanket": "matrix_blanket_alpha_upper",
            ".pricing": "epsilon_at price",
            ".releases": "compose",
            ".sampling": "best_projection sampled_alpha_upper sampled_epsilon_upper",
            ".shuffled": "ShuffledAccountant",
        },
    )
