"""The Python in the documentation runs and says what it says; links between pages lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page):
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_proof_pages_that_the_code_names_exist():
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"docs/[\w/-]+\.md", path.read_text()):
            assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_every_command_has_a_docs_section():
    from barrow.cli.main import _COMMANDS

    text = "".join(page.read_text() for page in PAGES)
    for name in _COMMANDS:
        assert f"barrow {name}" in text
