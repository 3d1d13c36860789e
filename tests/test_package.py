"""The package itself: quick to import, a tested list of public names, every one of them with a doctest."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import barrow

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "barrow"
HEAVY = ("scipy.stats", "ot", "duckdb", "pandas", "polars", "pyarrow", "pyspark", "torch", "flint", "rich")

PUBLIC = [
    "Answer",
    "BarrowError",
    "Budget",
    "Circle",
    "CircularMean",
    "Client",
    "Clustered",
    "Comparison",
    "Covariates",
    "Data",
    "DataError",
    "Density",
    "Discrete",
    "DiscreteEmd",
    "Distance",
    "Earth",
    "Embedding",
    "Emd",
    "Euclidean",
    "Finite",
    "Frequency",
    "Function",
    "Graph",
    "Grouping",
    "Guarantee",
    "Hexagons",
    "Histogram",
    "ItemMetric",
    "Items",
    "Ledger",
    "Line",
    "Mean",
    "MissingExtraError",
    "Model",
    "ParameterError",
    "Person",
    "Policy",
    "Product",
    "Projection",
    "Promise",
    "Quantile",
    "Question",
    "Region",
    "Release",
    "Report",
    "Scale",
    "Server",
    "Similarity",
    "Source",
    "Space",
    "Spread",
    "Study",
    "Total",
    "Tree",
    "UserLevel",
    "Week",
    "__version__",
    "emd",
    "plot",
    "price",
    "read",
    "read_study",
    "space_from_spec",
    "verify",
    "Workload",
    "write_study",
]  # fmt: skip


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_quick_and_loads_nothing_heavy():
    code = (
        "import time, sys, json; t = time.process_time(); import barrow; t = time.process_time() - t;"
        "print(json.dumps([t, sorted(sys.modules)]))"
    )
    runs = [json.loads(run(code)) for _ in range(3)]
    assert min(seconds for seconds, _ in runs) < 0.3
    assert not [name for name in HEAVY if name in runs[0][1]]


def test_no_public_name_loads_what_it_may_not_need():
    """All names in one process: solvers, engines, servers and the command line load when something is done."""
    late = (*HEAVY, "scipy", "click", "asyncio", "ssl", "http.client", "concurrent.futures", "multiprocessing", "email",
            "starlette", "h3", "unittest", "pydoc", "urllib.request", "xml")  # fmt: skip
    code = (
        "import json, sys, barrow\nfor name in barrow.__all__: getattr(barrow, name)\n"
        f"print(json.dumps([name for name in {late!r} if name in sys.modules]))"
    )
    assert json.loads(run(code)) == []
    assert json.loads(run(f"import click\n{code}")) == ["click"]


def test_shells_complete_words():
    request = {**os.environ, "_BARROW_COMPLETE": "bash_complete", "COMP_WORDS": "barrow le", "COMP_CWORD": "1"}
    ran = subprocess.run([sys.executable, "-c", "from barrow.cli.main import main; main()"], env=request,
                         capture_output=True, text=True)  # fmt: skip
    assert "plain,ledger" in ran.stdout


def test_choosing_alpha_loads_no_solver():
    code = (
        "import sys, barrow; barrow.Policy(barrow.Earth(), ['1, 100 mi, 0.2']).alpha;"
        "print([m for m in ('scipy.stats', 'ot', 'duckdb', 'pandas', 'scipy.optimize') if m in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_the_public_names_are_these():
    assert sorted(barrow.__all__) == sorted(PUBLIC)
    assert dir(barrow) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(barrow, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = barrow.nonsense


def packages():
    for info in pkgutil.iter_modules(barrow.__path__, "barrow."):
        if info.ispkg and info.name != "barrow.cli":
            yield importlib.import_module(info.name)


def test_every_public_function_and_class_has_a_doctest():
    """Public is what a package hands on; a class may be shown in the doctest of one of its methods."""
    missing = []
    for package in packages():
        for name in dir(package):
            thing = getattr(package, name)
            if not getattr(thing, "__module__", "").startswith(package.__name__):
                continue
            if inspect.isfunction(thing) or inspect.isclass(thing):
                text = inspect.getdoc(thing) or ""
                if inspect.isclass(thing):
                    text += "".join(inspect.getdoc(v) or "" for k, v in vars(thing).items() if not k.startswith("_"))
                if ">>>" not in text:
                    missing.append(f"{package.__name__}.{name}")
    assert missing == []


def lazy_names(text: str, package: str) -> tuple[dict[str, str], dict[str, str]]:
    """What type checkers read of a package's names, and its table of the same: the module of each name."""
    guarded = next(node for node in ast.parse(text).body if isinstance(node, ast.If))
    read = {name.name: line.module for line in guarded.body for name in line.names}
    table = ast.literal_eval(guarded.orelse[0].value.args[1])
    homes = {importlib.util.resolve_name(module, package): names.split() for module, names in table.items()}
    return read, {name: module for module, names in homes.items() for name in names}


def test_the_table_of_names_is_what_type_checkers_read():
    results = [path for path in SOURCE.rglob("*.py") if "import lazily" in path.read_text()]
    assert len(results) > 15
    for path in results:
        package = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        read, table = lazy_names(path.read_text(), package)
        assert read == table, package
        assert list(read) == list(table), package
        assert set(dir(importlib.import_module(package))) <= {*read, "__version__"}
    planted = "if TYPE_CHECKING:\n    from a.b import c\nelse:\n    x = lazily(__name__, {'.b': 'c d'})"
    assert lazy_names(planted, "a") == ({"c": "a.b"}, {"c": "a.b", "d": "a.b"})


def test_no_source_is_parsed_and_no_folder_is_searched_for_modules_at_run_time():
    """Texts that people type are parsed as literals (``parse_call``), and nothing else."""
    texts = [
        f"{path.relative_to(SOURCE)}: {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and {"ast", "pkgutil"} & {*[name.name for name in node.names], getattr(node, "module", None)}
    ]
    assert texts == ["spaces/spec.py: ast"]


def test_no_file_is_too_long_and_no_function_is():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        assert text.count("\n") <= 600, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno - node.lineno < 80, f"{path}:{node.name}"


def test_version_is_the_one_that_is_installed():
    from importlib.metadata import version

    assert version("barrow") == barrow.__version__


def test_changelog_names_the_version():
    assert f"## {barrow.__version__}" in (ROOT / "CHANGELOG.md").read_text()
