"""What tests and doctests share."""

from __future__ import annotations

import asyncio.events

import pytest


@pytest.fixture(autouse=True)
def _no_loop_of_the_browser(request: pytest.FixtureRequest):
    """Playwright leaves its event loop marked as running between tests; what runs a loop of its own must not see it."""
    running = None if "browser" in request.fixturenames else asyncio.events._get_running_loop()
    if running is not None:
        asyncio.events._set_running_loop(None)
    yield
    if running is not None:
        asyncio.events._set_running_loop(running)
