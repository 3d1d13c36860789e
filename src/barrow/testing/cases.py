"""How the cases of a suite become tests."""

from __future__ import annotations

from typing import Any


def pytest_generate_tests(metafunc: Any) -> None:
    """One test for each case of the class that inherits a suite, and for each pair of a space and a mode.

    >>> pytest_generate_tests.__name__
    'pytest_generate_tests'
    """
    suite, wanted = metafunc.cls, set(metafunc.fixturenames)
    if "case" in wanted and hasattr(suite, "cases"):
        metafunc.parametrize("case", suite.cases, ids=[case.name for case in suite.cases])
    if {"name", "mode"} <= wanted and hasattr(suite, "pairs"):
        metafunc.parametrize(("name", "mode"), suite.pairs)
