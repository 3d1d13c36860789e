"""A real browser for the tests that look at pages: skipped, with the reason, where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by playwright, which downloads no browser of its own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    result = shutil.which("chromium") or shutil.which("chromium-browser")
    if result is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=result, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The script of axe-core, which checks a page's accessibility; fetched for the test, never bundled."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: axe-core cannot be had")
    folder = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run(["npm", "pack", "axe-core@4"], cwd=folder, capture_output=True, timeout=60, check=True)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("axe-core cannot be fetched here")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Where screenshots are kept: $BARROW_PICTURES, else a folder of this run."""
    named = os.environ.get("BARROW_PICTURES")
    folder = Path(named) if named else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
