"""Libraries that take long to load: each name loads on first use, so that whoever needs none of them is quick.

>>> from barrow import heavy
>>> float(heavy.special.expit(0.0))
0.5
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from flint import arb, ctx, fmpq, fmpq_mat, fmpz
    from scipy import linalg, optimize, sparse, spatial, special, stats
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "flint": "arb ctx fmpq fmpq_mat fmpz",
            "scipy": "linalg optimize sparse spatial special stats",
        },
    )
