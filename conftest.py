"""What tests and doctests share."""

from __future__ import annotations

import asyncio.events
import gc
import os
import resource
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as on the command line; threads that wait for each other use CPU

TOGETHER = {
    "tests/engines/test_spark": "spark",
    "tests/web/test_page.py": "designer",
    "tests/web/test_guard.py": "designer",
}
"""Files that share something slow to start run in one process; a file's tests share its fixtures, so they do anyway."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What scripts/test hands on."""
    parser.addoption("--thorough", action="store_true", help="also repeat what is tried a few times otherwise")
    parser.addoption("--cpu-seconds", type=float, metavar="N", help="leave out the tests for which no CPU time is left")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Tests read how often they repeat something when they are imported: ``tests.thorough.often``."""
    config.addinivalue_line("markers", "thorough: says more of the same, and runs with --thorough only")
    if config.getoption("--thorough"):
        os.environ["BARROW_THOROUGH"] = "1"
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter._tw.fullwidth = reporter._tw.fullwidth  # pytest's own lines stay as they are
    os.environ["BARROW_MEMORY"] = "off"  # tests say where they remember something
    os.environ["COLUMNS"] = "1000"  # sentences are looked for whole; tests/cli/test_columns.py has a real terminal


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is collected stays to the end: looking through it for garbage, again and again, is a third of the work."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish() -> None:
    """At its end the process looks at all that is left."""
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Repetitions are skipped unless they are asked for."""
    if not config.getoption("--thorough"):
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="a repetition: --thorough runs it"))


LEFT_OUT = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """A test for which no CPU time is left does not run; the summary says so."""
    most = item.config.getoption("--cpu-seconds")
    if most is None or _cpu_seconds() < most:
        return None
    item.config.stash.setdefault(LEFT_OUT, Counter())[item.nodeid.partition("::")[0]] += 1
    return True


def _cpu_seconds() -> float:
    """What this process and those that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Groups by file: the marks of xdist do not reach its scheduler with every version of pytest."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((group for start, group in TOGETHER.items() if file.startswith(start)), file)

    return Together(config, log)


@pytest.fixture(autouse=True)
def _no_loop_of_the_browser(request: pytest.FixtureRequest):
    """Playwright leaves its event loop marked as running between tests; what runs a loop of its own must not see it."""
    running = None if "browser" in request.fixturenames else asyncio.events._get_running_loop()
    if running is not None:
        asyncio.events._set_running_loop(None)
    yield
    if running is not None:
        asyncio.events._set_running_loop(running)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says for which fonts the figures could be looked at, and what was left out."""
    left = config.stash.get(LEFT_OUT, Counter())
    if left:
        files = ", ".join(f"{name} ({count})" for name, count in left.items())
        terminalreporter.write_line(f"left out, because no CPU time was left: {files}")
    from tests.render.figures.fonts import FONTS, installed

    missing = [font for font in FONTS if font not in installed()]
    terminalreporter.write_line(
        f"fonts of figures: {', '.join(installed()) or 'none'}; not here: {', '.join(missing) or 'none'}"
    )
