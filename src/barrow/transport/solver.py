"""The network simplex of POT, loaded when it is first asked for, and without the rest of POT."""

from __future__ import annotations

import importlib
import os
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from barrow import heavy
from barrow.spaces.space import Floats, Ids

_QUIET = ("POT_BACKEND_DISABLE_PYTORCH", "POT_BACKEND_DISABLE_JAX", "POT_BACKEND_DISABLE_CUPY",
          "POT_BACKEND_DISABLE_TENSORFLOW")  # fmt: skip
_MOST_PIVOTS = 10**9


@dataclass(frozen=True)
class Simplex:
    """A network simplex.

    Attributes:
        module: POT's compiled module, or its module of linear programmes where that is an older one.
        compiled: Which of both it is.
    """

    module: Any
    compiled: bool

    def dense(self, supply: Floats, demand: Floats, costs: Floats) -> Floats | None:
        """The cheapest plan from everywhere to everywhere; None where it was not found."""
        with warnings.catch_warnings():  # what it warns of is in what it returns
            warnings.simplefilter("ignore", UserWarning)
            if self.compiled:
                plan, _, _, _, code = self.module.emd_c(supply, demand, costs, _MOST_PIVOTS, 1, None, None)
                return None if self.module.check_result(code) else np.asarray(plan)
            options = {"numItermax": _MOST_PIVOTS, "log": True, "check_marginals": False}
            plan, log = self.module.emd(supply, demand, costs, **options)
            return None if log.get("warning") else np.asarray(plan)

    def sparse(self, supply: Floats, demand: Floats, edges: tuple[Ids, Ids, Floats]) -> tuple[Ids, Ids, Floats] | None:
        """The cheapest plan along edges (from, to, cost), as such; None where it was not found or is not known how."""
        if not self.compiled:
            return None
        tails, heads, costs = edges
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            begins, ends, mass, _, _, _, code = self.module.emd_c_sparse(
                supply, demand, tails.astype(np.uint64), heads.astype(np.uint64), costs, _MOST_PIVOTS
            )
            if self.module.check_result(code):
                return None
        return begins.astype(np.int64), ends.astype(np.int64), np.asarray(mass)


@lru_cache(maxsize=1)
def pot() -> Simplex | None:
    """The network simplex of POT, or None where the extra ``emd`` is not installed.

    Its compiled module is all that loads, in milliseconds. Older versions load whole: their search for deep learning
    libraries is switched off meanwhile, which costs seconds and is not used.
    """
    try:
        module = heavy.network_simplex()
    except ImportError:
        return None
    if hasattr(module, "emd_c_sparse"):
        return Simplex(module, compiled=True)
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(dict.fromkeys(_QUIET, "1"))
    try:
        return Simplex(importlib.import_module("ot.lp"), compiled=False)
    except ImportError:
        return None
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
