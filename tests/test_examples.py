"""The notebooks run from the first cell to the last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def test_there_is_one_for_each_use_case():
    assert [state.stem for state in BOOKS] == ["graphs", "places", "words"]


@pytest.mark.parametrize("book", BOOKS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore")  # those of the notebook server
def test_it_runs(book, tmp_path, monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    loaded = nbformat.read(book, as_version=4)
    assert not any(cell.get("outputs") for cell in loaded.cells), "notebooks are kept without outputs"
    nbclient.NotebookClient(loaded, timeout=1800, resources={"metadata": {"path": str(tmp_path)}}).execute()
