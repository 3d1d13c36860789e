"""Compiled parts of scipy without the packages around them, which take a tenth of a second to load.

``scipy.special`` wraps a hundred functions at every start, and ``scipy.optimize`` loads all solvers. The functions that
are wanted here sit in compiled modules below them, which load in milliseconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from itertools import accumulate
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


class _LoadedError(ImportError):
    """What is wanted has been loaded: the import of the package around it ends here."""


class _Around:
    """Stands for a package while one module below it is imported, and for no other thread.

    The import of the package fails on purpose once the module is there. Python then forgets the package, and whoever
    waited for it, or wants it later, imports it as ever; the module below it stays.

    Args:
        package: The package.
        module: The name of the module within it, which may be in a package below.
        instead: What other modules hold that the module imports and does not use here.
    """

    def __init__(self, package: str, module: str, instead: Mapping[str, Mapping[str, object]]) -> None:
        self.package, self.module, self.thread = package, module, get_ident()
        between = [package, *(f"{package}.{each}" for each in accumulate(module.split("."), "{}.{}".format))][:-1]
        self.empty, self.instead = between, instead
        self.result: ModuleType | None = None

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if get_ident() != self.thread or name not in (*self.empty, *self.instead):
            return None
        spec = ModuleSpec(name, self, is_package=name in self.empty)  # type: ignore[arg-type]  # a loader by what it has
        if name in self.empty:
            places = sys.path if path is None else path
            spec.submodule_search_locations = [str(Path(each) / name.rpartition(".")[2]) for each in places]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self.instead.get(module.__name__, {}))
        if module.__name__ != self.package:
            return
        try:
            self.result = import_module(f"{self.package}.{self.module}")
        finally:
            for name in (*self.empty[1:], *self.instead):
                sys.modules.pop(name, None)
        raise _LoadedError


def compiled(package: str, module: str, instead: Mapping[str, Mapping[str, object]] | None = None) -> ModuleType:
    """A module of a package whose own ``__init__`` is not run; run it is where the module cannot do without.

    >>> float(compiled("scipy.special", "_ufuncs").gammaln(3.0)) == float(np.log(2.0))
    True
    """
    name = f"{package}.{module}"
    if package in sys.modules or name in sys.modules:
        return import_module(name)
    around = _Around(package, module, instead or {})
    sys.meta_path.insert(0, around)
    try:
        import_module(package)
    except _LoadedError:
        pass
    except ImportError:  # built otherwise than we know: by the way that everybody takes
        around.result = None
    finally:
        sys.meta_path.remove(around)
    return import_module(name) if around.result is None else around.result


if TYPE_CHECKING:
    from scipy import linalg, optimize, sparse, spatial, special, stats
    from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree
    from scipy.spatial import cKDTree
else:
    special = compiled("scipy.special", "_ufuncs")

_GRAPHS = {
    "connected_components": "_traversal",
    "dijkstra": "_shortest_path",
    "minimum_spanning_tree": "_min_spanning_tree",
}
"""What is used of ``scipy.sparse.csgraph``, whose wrapper loads all of ``scipy.linalg``."""


_UNSEEN = ("f2py", "testing", "char", "polynomial", "ma")
"""What numpy lists and loads late, and a wrapper of scipy would load for nothing."""


def _lean(package: str) -> ModuleType:
    """A package of scipy, without what its wrapper of numpy loads because numpy lists it."""
    unseen = {name: ModuleType(f"numpy.{name}") for name in _UNSEEN if name not in vars(np)}
    vars(np).update(unseen)
    try:
        return import_module(package)
    finally:
        for name, stub in unseen.items():
            if vars(np).get(name) is stub:
                delattr(np, name)


def __getattr__(name: str) -> Any:
    """``linalg``, ``optimize``, ``sparse``, ``spatial`` and ``stats`` of scipy, its tree of points, and its graphs."""
    if name == "cKDTree":
        _lean("scipy.sparse")
        return compiled("scipy.spatial", "_ckdtree").cKDTree
    if name in _GRAPHS:
        _lean("scipy.sparse")
        return getattr(compiled("scipy.sparse.csgraph", _GRAPHS[name]), name)
    if name not in ("linalg", "optimize", "sparse", "spatial", "stats"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _lean(f"scipy.{name}")


def pava(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The increasing values nearest to ``values`` in squares, by pooling adjacent violators.

    >>> pava(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    if len(values) == 0:
        return np.zeros(0)
    result = np.array(values, dtype=np.float64)
    mass = np.ones(len(result)) if weights is None else np.array(weights, dtype=np.float64)
    pool: Any = compiled("scipy.optimize", "_pava_pybind").pava
    return np.asarray(pool(result, mass, np.full(len(result) + 1, -1, dtype=np.intp))[0])


def diagonal(values: ArrayLike, columns: int | None = None) -> Any:
    """A sparse matrix by rows with these numbers along its diagonal; scipy's own way loads numpy's masked arrays.

    >>> diagonal([1.0, 2.0], 3).toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """
    data = np.asarray(values)
    size = len(data)
    shape = (size, size if columns is None else columns)
    return _lean("scipy.sparse").csr_array((data, np.arange(size), np.arange(size + 1)), shape=shape)


def times(matrix: Any) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """A sparse matrix, by rows, as a function of a vector: what ``@`` computes, without the checks in front of it.

    They take longer than the product where there are a few thousand numbers, and decoders multiply thousands of times.

    >>> times(_lean("scipy.sparse").csr_array(np.array([[1.0, 2.0], [0.0, 3.0]])))(np.array([1.0, 1.0])).tolist()
    [3.0, 3.0]
    """
    multiply = getattr(sys.modules.get("scipy.sparse._sparsetools"), "csr_matvec", None)
    if multiply is None or getattr(matrix, "format", "") != "csr" or matrix.dtype != np.float64:
        return lambda vector: np.asarray(matrix @ vector)
    (rows, columns), starts, places, data = matrix.shape, matrix.indptr, matrix.indices, matrix.data

    def product(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        if vector.shape != (columns,) or vector.dtype != np.float64 or not vector.flags.c_contiguous:
            return np.asarray(matrix @ vector)
        result = np.zeros(rows)
        multiply(rows, columns, starts, places, data, vector, result)
        return result

    return product


def network_simplex() -> ModuleType:
    """POT's compiled network simplex; an ImportError says that POT is not installed."""

    def dist(*arguments: Any, **named: Any) -> Any:
        """What the module imports for solvers on a line: the real one, if anybody uses those."""
        return import_module("ot.utils").dist(*arguments, **named)

    return compiled("ot", "lp.emd_wrap", {"ot.utils": {"dist": dist}})
