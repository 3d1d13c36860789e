"""Item-wise release at the paper's scale: exact GKRR from counts against numpy's inexact draws and pure-ldp.

1e5 users of 1e3 items each, k = 1000 items in 20 clusters of 50. Ours is exact and from the operating system's
entropy; numpy's per-item randomised response and its multinomials are neither. pure-ldp runs on fewer items, in an
environment of its own, and is scaled per item.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from barrow.local.client import Survey
from barrow.local.report import Report
from barrow.local.server import Server
from barrow.mechanisms import item_wise
from barrow.randomisers import gkrr
from barrow.spaces import Clustered
from barrow.study import Study
from benchmarks._timing import finish, interleaved, median_seconds

_CLUSTERS, _INSIDE, _R, _ALPHA0 = 20, 50, 0.05, 4.4
_USERS, _ITEMS = 10**5, 10**3
_TOTAL = _USERS * _ITEMS
_PIECE = 10**5
_PEER = Path(__file__).with_name("_pure_ldp.py")
_PEER_HOME = Path.home() / ".cache" / "barrow-bench" / "pure-ldp"
_PEER_ITEMS = 100_000


def _peer_python() -> str:
    """A Python that has pure-ldp: this one, or one in an environment of its own outside the repository."""
    if importlib.util.find_spec("pure_ldp") is not None:
        return sys.executable
    python = _PEER_HOME / "bin" / "python"
    if not (_PEER_HOME / "ready").exists():
        print(f"Installing pure-ldp into {_PEER_HOME} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_PEER_HOME)], check=True)
        # pure-ldp does not name all that it imports.
        names = ["pure-ldp", "scikit-learn", "statsmodels", "matplotlib", "seaborn"]
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *names], check=True)
        (_PEER_HOME / "ready").touch()
    return str(python)


def _peer_seconds(k: int) -> float:
    """Seconds that the pure-ldp client takes for one item."""
    done = subprocess.run(
        [_peer_python(), str(_PEER), str(k), str(_PEER_ITEMS)], capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1])["seconds_per_item"])


def _shares() -> tuple[float, float]:
    """The probabilities of staying and of going anywhere in the cluster."""
    a, inside = np.exp(_ALPHA0), np.exp((1 - _R) * _ALPHA0)
    z = a + (_INSIDE - 1) * inside + (_CLUSTERS - 1) * _INSIDE
    return float((a - inside) / z), float(_INSIDE * (inside - 1) / z)


def _per_item(items: NDArray[np.uint16], rng: np.random.Generator) -> NDArray[np.uint16]:
    """Plain randomised response of every item by vectorised numpy: floats, no cryptographic randomness, no clusters.

    It does less than GKRR does, so the comparison favours it.
    """
    blind = rng.integers(0, _CLUSTERS * _INSIDE, len(items), dtype=np.uint16)
    return np.where(rng.random(len(items), dtype=np.float32) < _shares()[0], items, blind)


def _all_items(items: NDArray[np.uint16], rng: np.random.Generator) -> None:
    for _ in range(_TOTAL // _PIECE):
        _per_item(items, rng)


def _from_counts(held: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """GKRR of all items by numpy's binomials and multinomials: inexact, and no cryptographic randomness."""
    stay, cluster = _shares()
    same = rng.binomial(held, stay)
    near = rng.binomial(held - same, cluster / (1 - stay))
    pooled = near.reshape(_CLUSTERS, _INSIDE).sum(axis=1)
    spread = rng.multinomial(pooled, np.full(_INSIDE, 1 / _INSIDE)).ravel()
    far = int((held - same - near).sum())
    k = _CLUSTERS * _INSIDE
    return np.asarray(same + spread + rng.multinomial(far, np.full(k, 1 / k)))


def draws() -> dict[str, float]:
    """Seconds for 1e8 items, ours and the others', and the memory that ours takes."""
    space = Clustered.grid(_CLUSTERS, _INSIDE, r=_R)
    k = space.items
    plan = item_wise(gkrr(space, _ALPHA0), items=_ITEMS, users=_USERS, delta="1e-12")
    rng = np.random.default_rng(1)
    held = rng.multinomial(_TOTAL, rng.dirichlet(np.ones(k)))
    items = rng.integers(0, k, _PIECE, dtype=np.uint16)
    seconds = interleaved(
        {
            "exact, from counts": lambda: plan.release(held),
            "numpy, from counts": lambda: _from_counts(held, rng),
        },
        rounds=7,
    )
    seconds["numpy, per item"] = median_seconds(lambda: _all_items(items, rng), repeats=3)
    seconds["pure-ldp, per item"] = _peer_seconds(k) * _TOTAL
    ours = seconds["exact, from counts"]
    tracemalloc.start()
    plan.release(held)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{_TOTAL:,} items, k = {k:,}, GKRR with alpha0 = {_ALPHA0} (median seconds)")
    for name, value in seconds.items():
        print(f"  {name:22}{value:12.5f}{value / ours:12.1f} x ours")
    print(f"  (pure-ldp: {_PEER_ITEMS:,} items, scaled) ours holds at most {peak / 2**20:.1f} MiB")
    return {
        "gkrr_seconds": round(ours, 5),
        "gkrr_vs_numpy_per_item": round(seconds["numpy, per item"] / ours, 2),
        "gkrr_vs_numpy_multinomial": round(ours / seconds["numpy, from counts"], 2),
        "gkrr_vs_pure_ldp": round(seconds["pure-ldp, per item"] / ours, 1),
        "gkrr_peak_mib": round(peak / 2**20, 2),
    }


def aggregation() -> dict[str, float]:
    """Reports of 100 items each that a server reads from JSON and counts in a second."""
    space = Clustered.grid(_CLUSTERS, _INSIDE, r=_R)
    study = Study(space, alpha=400, delta="1e-9", model="local", questions=["items(items=100)"])
    survey = Survey(study)
    digest = survey.digest
    rng = np.random.default_rng(2)
    number = 5000
    values = np.sort(rng.integers(0, 1000, (number, 100)), axis=1).tolist()
    texts = [Report(digest, f"{i:032x}", tuple(row)).to_text() for i, row in enumerate(values)]

    def read() -> None:
        server = Server(survey)
        server.add_all(texts)
        if server.n != number:
            raise RuntimeError("a report was refused")

    rate = number / median_seconds(read, repeats=5)
    print(f"aggregation: {rate:,.0f} reports of 100 items per second")
    return {"aggregate_reports_per_second": round(rate)}


def main() -> None:
    """Prints every section, then all figures as one line of JSON."""
    finish({**draws(), **aggregation()})


if __name__ == "__main__":
    main()
