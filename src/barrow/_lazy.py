"""Names of a package that load their module on first use, so that importing one name stays quick."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose imports stand under ``if TYPE_CHECKING``, written once there.

    Type checkers read these imports as they stand; at run time each name is fetched from its module when it is asked
    for. A name that is also the name of a submodule cannot be fetched so: importing the submodule would set it.

    >>> import barrow.planning
    >>> barrow.planning.Terms.__module__
    'barrow.planning.terms'
    """
    homes: dict[str, str] | None = None

    def find() -> dict[str, str]:
        nonlocal homes
        if homes is None:
            spec = find_spec(package)
            source = spec.loader.get_source(package) if spec else ""  # type: ignore[union-attr]
            guarded = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
            imports = (line for node in guarded for line in node.body if isinstance(line, ast.ImportFrom))
            homes = {name.asname or name.name: line.module or "" for line in imports for name in line.names}
        return homes

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(find())
        home = None if name.startswith("__") else find().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(sys.modules[package].__all__)
