"""The Lipschitz constant over all pairs of 10,000 items: seconds and peak memory, in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

ITEMS, OUTPUTS, COORDINATES = 10_000, 10, 50


def measure() -> dict[str, float]:
    """Runs this file in a fresh process, whose peak memory is that of nothing else."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"\nLipschitz constants in l1, l2 and l-infinity over all pairs of {ITEMS:,} items, {OUTPUTS} outputs: "
        f"{figures['lipschitz_seconds']:.2f} s, peak {figures['lipschitz_peak_gib']:.2f} GiB"
    )
    return figures


def main() -> None:
    """Builds an embedding and ten similarities, and finds their constants in three norms in one pass."""
    import numpy as np

    from barrow.queries import similarity
    from barrow.spaces import Embedding

    rng = np.random.default_rng(0)
    space = Embedding([f"word {i}" for i in range(ITEMS)], rng.normal(size=(ITEMS, COORDINATES)))
    query = similarity(space, rng.normal(size=(OUTPUTS, COORDINATES)))
    start = time.perf_counter()
    result = query.constants([1, 2, "inf"])
    seconds = time.perf_counter() - start
    if {c.method for c in result} != {"all pairs"}:
        raise RuntimeError(f"the constants came by {[c.method for c in result]}, not by all pairs")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # kibibytes on Linux
    print(json.dumps({"lipschitz_seconds": round(seconds, 3), "lipschitz_peak_gib": round(peak, 3)}))


if __name__ == "__main__":
    main()
