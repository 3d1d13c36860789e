"""Times the pure-ldp direct-encoding client and prints the seconds for one item; runs in whatever Python has it.

Stands alone on purpose: it may run in another environment, by path.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from importlib import import_module


def seconds_per_item(k: int, items: int, repeats: int = 3) -> float:
    """Median seconds for one item of ``k`` possible ones."""
    # By name, so that type checkers do not look for a library that is not installed here.
    module = import_module("pure_ldp.frequency_oracles.direct_encoding")
    client = module.DEClient(epsilon=1, d=k)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for i in range(items):
            client.privatise(1 + i % k)
        times.append((time.perf_counter() - start) / items)
    return statistics.median(times)


if __name__ == "__main__":
    print(json.dumps({"seconds_per_item": seconds_per_item(int(sys.argv[1]), int(sys.argv[2]))}))
