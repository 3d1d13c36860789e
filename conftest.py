"""What tests and doctests share."""

from __future__ import annotations

import asyncio.events
from typing import Any

import pytest

TOGETHER = {
    "tests/engines/test_spark": "spark",
    "tests/web/test_page.py": "designer",
    "tests/web/test_guard.py": "designer",
    "tests/noise/additive/test_distributions.py": "distributions",
    "tests/collect/test_demo_page.py": "demo page",
}
"""Tests that share something slow to start run in one process; everything else goes where there is room."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Groups by file: the marks of xdist do not reach its scheduler with every version of pytest."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((group for start, group in TOGETHER.items() if nodeid.startswith(start)), nodeid)

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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says for which fonts the figures could be looked at."""
    from tests.render.figures.fonts import FONTS, installed

    missing = [font for font in FONTS if font not in installed()]
    terminalreporter.write_line(
        f"fonts of figures: {', '.join(installed()) or 'none'}; not here: {', '.join(missing) or 'none'}"
    )
