"""The network simplex of POT, loaded when it is first asked for."""

from __future__ import annotations

import importlib
import os
from functools import lru_cache
from typing import Any

_QUIET = ("POT_BACKEND_DISABLE_PYTORCH", "POT_BACKEND_DISABLE_JAX", "POT_BACKEND_DISABLE_CUPY",
          "POT_BACKEND_DISABLE_TENSORFLOW")  # fmt: skip


@lru_cache(maxsize=1)
def pot() -> Any | None:
    """POT's module of linear programmes, or None where the extra ``emd`` is not installed.

    While it loads, its search for deep learning libraries is switched off: it costs seconds and is not used.
    """
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(dict.fromkeys(_QUIET, "1"))
    try:
        return importlib.import_module("ot.lp")
    except ImportError:
        return None
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
