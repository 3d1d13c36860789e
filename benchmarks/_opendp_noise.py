"""Times OpenDP's exact vector samplers and prints the seconds as JSON; runs in whatever Python has OpenDP.

Stands alone on purpose: it may run in another environment, by path.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable


def seconds(scale: float, size: int, repeats: int) -> dict[str, float]:
    """Median seconds for ``size`` integers with Laplace and with Gaussian noise of ``scale``."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    draws: dict[str, Callable[[list[int]], object]] = {
        "laplace": dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale),
        "gaussian": dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale),
    }
    zeros = [0] * size
    medians = {}
    for name, draw in draws.items():
        draw(zeros[:1000])
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            draw(zeros)
            times.append(time.perf_counter() - start)
        medians[name] = statistics.median(times)
    return medians


if __name__ == "__main__":
    print(json.dumps(seconds(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
