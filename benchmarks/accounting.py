"""How fast and how tight the shuffle accountant is: ``scripts/bench accounting``.

The last line is one JSON object: ``delta_ms`` (one exact delta(eps) at N = 1e8), ``calibrate_seconds`` (a full
calibration in a fresh process, with the libraries that it loads on first use), ``fresh_process_seconds`` (the same and
the import before it), ``growth_1e3_1e12`` (time at N = 1e12 over time at N = 1e3), ``gaussian_items_cpu_seconds``
(shuffled Gaussian noise on 100 places), and tightness figures.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable

from barrow.accounting import calibrate_shuffle
from barrow.accounting.flow import flow_alpha0_lower, flow_profile
from barrow.accounting.item_noise import shuffled_gaussian_alpha_upper
from barrow.accounting.limit import limit_black_box
from barrow.accounting.one_step import one_step_delta_upper
from barrow.accounting.theorem import theorem_alpha0_lower
from barrow.numerics import gdp_delta_upper

_COLD = """
import time
begin = time.perf_counter()
from barrow.accounting import calibrate_shuffle
ready = time.perf_counter()
calibrate_shuffle(25, "1e-12", reports=10**8, items=1000, limit=False)
print(ready - begin, time.perf_counter() - ready)
"""


def best_of(run: Callable[[], object], times: int = 5) -> float:
    """The least of several wall-clock times, in seconds."""
    results = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        results.append(time.perf_counter() - begin)
    return min(results)


def table() -> list[dict[str, float | int | str | None]]:
    """alpha0 by method over (N, m, alpha, delta)."""
    rows: list[dict[str, float | int | str | None]] = []
    print(f"{'N':>8} {'m':>7} {'alpha':>6} {'delta':>7} {'compose':>10} {'theorem':>10} {'flow':>10} {'limit':>10}")
    for n, m, alpha, delta in (
        (10**3, 10**3, 25, "1e-12"),
        (10**4, 10**4, 25, "1e-12"),
        (10**5, 10**5, 25, "1e-12"),
        (10**4, 10, 1, "1e-6"),
        (10**6, 100, 25, "1e-9"),
        (10**8, 1000, 1, "1e-12"),
        (10**8, 1000, 5, "1e-12"),
        (10**8, 1000, 10, "1e-12"),
        (10**8, 1000, 25, "1e-12"),
        (10**8, 1000, 50, "1e-12"),
        (10**12, 1000, 25, "1e-30"),
    ):
        result = calibrate_shuffle(alpha, delta, reports=n, items=m)
        theorem, flow, limit = result.methods["theorem"], result.methods["flow"], result.limit_black_box
        shown = "-" if theorem is None else f"{theorem:.5g}"
        print(f"{n:8.0e} {m:7.0e} {alpha:6} {delta:>7} {alpha / m:10.5g} {shown:>10} {flow:10.5g} {limit:10.5g}")
        rows.append({"N": n, "m": m, "alpha": alpha, "delta": delta, "theorem": theorem, "flow": flow, "limit": limit})
    return rows


def main() -> None:
    """Print a table, then one JSON line."""
    rows = table()
    delta_ms = 1e3 * best_of(lambda: one_step_delta_upper(4, reports=10**8, epsilon="0.0058"))

    def whole_chain() -> float:
        profile = flow_profile(4.4, reports=10**8, items=1000, delta="1e-12")
        return math.nan if profile is None else gdp_delta_upper(profile.mu_upper(1.0), 25.0)

    flow_ms = 1e3 * best_of(whole_chain)
    cold = subprocess.run([sys.executable, "-c", _COLD], capture_output=True, text=True, check=True).stdout.split()
    warm = best_of(lambda: calibrate_shuffle(25, "1e-12", reports=10**8, items=1000, limit=False), 3)
    with_limit = best_of(lambda: calibrate_shuffle(25, "1e-12", reports=10**8, items=1000), 2)

    def sized(n: int) -> float:
        return best_of(lambda: flow_alpha0_lower(25, reports=n, items=1000, delta="1e-12"), 3)

    growth = sized(10**12) / sized(10**3)
    one_step_growth = best_of(lambda: one_step_delta_upper(4, reports=10**12, epsilon="1e-5")) / best_of(
        lambda: one_step_delta_upper(1, reports=10**3, epsilon="0.2")
    )
    central = flow_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12")
    theorem = theorem_alpha0_lower(25, reports=10**8, items=1000, delta="1e-12")
    limit = limit_black_box(25, reports=10**8, items=1000, delta="1e-12")
    start = time.process_time()
    shuffled_gaussian_alpha_upper(1, points=100, reports=10**7, items=100, delta="1e-9")
    gaussian_items = time.process_time() - start
    print()
    print(f"shuffled Gaussian items, 100 places       {gaussian_items:8.2f} CPU s")
    print(f"one delta(eps) at N = 1e8, exact blocks   {delta_ms:8.2f} ms")
    print(f"one delta(eps) of the whole chain, N = 1e8 {flow_ms:7.2f} ms")
    print(f"calibration, cold (imports {float(cold[0]):.2f} s apart)   {float(cold[1]):8.3f} s; warm {warm:.3f} s")
    print(f"calibration with the black-box limit      {with_limit:8.3f} s")
    print(f"time at N = 1e12 over N = 1e3             {growth:8.2f}")
    print(
        json.dumps(
            {
                "delta_ms": delta_ms,
                "flow_delta_ms": flow_ms,
                "calibrate_seconds": float(cold[1]),
                "fresh_process_seconds": float(cold[0]) + float(cold[1]),
                "calibrate_warm_seconds": warm,
                "calibrate_with_limit_seconds": with_limit,
                "gaussian_items_cpu_seconds": gaussian_items,
                "growth_1e3_1e12": growth,
                "one_step_growth_1e3_1e12": one_step_growth,
                "central_flow": central,
                "central_over_theorem": central / (theorem or math.nan),
                "central_over_limit": central / (limit or math.nan),
                "local_1e3_over_limit": (rows[0]["flow"] or 0.0) / (rows[0]["limit"] or math.nan),  # type: ignore[operator]
                "rows": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
