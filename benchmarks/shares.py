"""What secure sums cost in CPU time: a client's proofs, and one aggregator's check of a report in blocks of 64."""

from __future__ import annotations

import os
import time

from barrow.collect.prio3 import EdgeGroup, Edges, Prio3, l1_bound_sum
from benchmarks._timing import finish

BLOCK = 64


def tree(clusters: int, inner: int, high: int, low: int) -> tuple[Edges, list[int]]:
    """A clustered space's circuit, and somebody with everything in one place."""
    upper, lower = tuple(range(clusters)), tuple(range(clusters, clusters * (inner + 1)))
    groups = (
        EdgeGroup(upper, high - clusters + 1, 2 * clusters - 2),
        EdgeGroup(lower, max(0, low - len(lower) + 1), 2 * len(lower) - 2),
    )
    values = [0] * (clusters * (inner + 1))
    values[0], values[clusters] = high, low
    return Edges((high + 1,) * clusters + (low + 1,) * (clusters * inner), groups), values


def measured(circuit: Edges, values: list[int], rounds: int = 5) -> dict[str, float]:
    """Milliseconds of a client, of a check (the slower of both aggregators), and of deciding and adding; bytes."""
    prio3, key = Prio3(circuit, 2, os.urandom(32)), os.urandom(32)
    best = {"client": 1e9, "check": 1e9, "decide and add": 1e9}
    for _ in range(rounds):
        reports = []
        start = time.process_time()
        for _ in range(16):
            nonce = os.urandom(16)
            reports.append((nonce, *prio3.shard(values, nonce, os.urandom(prio3.random_size))))
        best["client"] = min(best["client"], (time.process_time() - start) / 16)
        reports *= BLOCK // 16
        states, slowest = [], 0.0
        for index in (0, 1):
            start = time.process_time()
            states.append(prio3.verify_block(key, index, [(n, public, shares[index]) for n, public, shares in reports]))
            slowest = max(slowest, (time.process_time() - start) / BLOCK)
        best["check"] = min(best["check"], slowest)
        pairs = [(a, b) for a, b in zip(*states, strict=True) if a is not None and b is not None]
        start = time.process_time()
        messages = prio3.decide_block([[a.share, b.share] for a, b in pairs])
        prio3.add([prio3.finish(a, m) for (a, _), m in zip(pairs, messages, strict=True) if m is not None])
        best["decide and add"] = min(best["decide and add"], (time.process_time() - start) / BLOCK)
    figures = {f"{name} ms": round(1e3 * value, 3) for name, value in best.items()}
    return {**figures, "report bytes": prio3.leader_size + prio3.helper_size + prio3.public_size}


def main() -> None:
    """Print a line for each circuit, and all figures as JSON."""
    figures: dict[str, float] = {}
    cases = {
        "110 edges": tree(10, 10, 1696, 89),
        "1,020 edges": tree(20, 50, 1768, 18),
        "map of 225 cells": (l1_bound_sum(225, 1023), [1023] + [0] * 224),
        "map of 961 cells": (l1_bound_sum(961, 1023), [1023] + [0] * 960),
    }
    for name, (circuit, values) in cases.items():
        result = measured(circuit, values)
        print(f"{name:18}", result)
        figures |= {f"{name}: {what}": value for what, value in result.items()}
    finish(figures)


if __name__ == "__main__":
    main()
