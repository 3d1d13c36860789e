"""Names of a package that load their module on first use, so that importing one name stays quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, from a table of modules, each with the names it is asked for.

    Type checkers read the same table as imports under ``if TYPE_CHECKING``; a test keeps both equal. A name that is
    also the name of a submodule cannot be fetched so: importing the submodule would set it.

    >>> get, names = lazily("barrow", {".errors": "BarrowError DataError", "math": "tau"})
    >>> get("DataError").__module__, get("tau") > 6
    ('barrow.errors', True)
    """
    homes = {name: module for module, listed in names.items() for name in listed.split()}

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(sys.modules[package].__all__)
