"""Values display themselves in a real JupyterLab: executed by nbclient, opened in a real browser, not trusted.

JupyterLab removes scripts and inline SVG from what it does not trust; images stay. Skipped where it is not installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")

START = """
import csv
import barrow as bw
with open("ages.csv", "w", newline="") as file:
    csv.writer(file).writerows([("uid", "age"), *((f"p{k}", 20 + 7 * k % 60) for k in range(200))])
ages = bw.Line(0, 100, unit="years", step=5, cells=True)
study = bw.Study(ages, ["all, 5 years, 0.5"], users=200, dataset="ages", questions=["mean", "histogram"],
                 data=bw.read("ages.csv", user="uid", item="age"), ledger="ages.ledger")
book = bw.Ledger.create("ages.ledger", study)
"""
SHOWN = {
    "Study": "study",
    "Policy": "study.policy",
    "Answer": "study.plan('mean')",
    "Comparison": "study.compare('mean')",
    "Release": "study.release('mean', out='mean')",
    "Ledger": "book",
    "Figure": "bw.plot(study.plan('mean'))",
}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook that was run, with what its cells displayed."""
    folder = tmp_path_factory.mktemp("notebook")
    cells = [nbformat.v4.new_code_cell(text) for text in (START, *SHOWN.values())]
    loaded = nbformat.v4.new_notebook(cells=cells)
    loaded.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbclient.NotebookClient(loaded, timeout=900, resources={"metadata": {"path": str(folder)}}).execute()
    nbformat.write(loaded, folder / "shown.ipynb")
    return folder, loaded


@pytest.fixture(scope="module")
def lab(notebook):
    """JupyterLab in the notebook's folder, with settings of its own."""
    folder, _ = notebook
    own = {f"JUPYTER_{name}_DIR": str(folder / ".jupyter" / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    quiet = ["--no-browser", "--allow-root", "--port=0", "--ServerApp.port_retries=0", "--IdentityProvider.token=t"]
    log = folder / ".log"
    with open(log, "w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *quiet], cwd=folder, stdout=out, stderr=out,
            env={**os.environ, **own, "JUPYTERLAB_SETTINGS_DIR": str(folder / ".jupyter" / "settings")},
        )  # fmt: skip
    try:
        until = time.monotonic() + 600
        while (result := re.search(r"http://127\.0\.0\.1:(\d+)/lab", log.read_text())) is None:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{result[1]}/lab/tree/shown.ipynb?token=t&reset"
    finally:
        server.kill()  # its shutdown asks kernels and may take long; nothing of it is wanted
        server.wait()


def test_every_value_is_text_and_image(notebook):
    for name, cell in zip(SHOWN, notebook[1].cells[1:], strict=True):
        data = next(out.data for out in cell.outputs if out.output_type == "execute_result")
        assert data["text/plain"].strip(), name
        assert data["text/html"].count("<img ") == 1, name


def test_jupyterlab_shows_every_image(browser, lab, pictures):
    context = browser.new_context(viewport={"width": 1200, "height": 5200})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(lab)
    page.wait_for_function("n => document.querySelectorAll('.jp-OutputArea img').length >= n", arg=len(SHOWN))
    page.wait_for_function("() => [...document.querySelectorAll('.jp-OutputArea img')].every(i => i.complete)")
    sizes = page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea img')].map(i => [i.naturalWidth, i.naturalHeight, "
        "i.getBoundingClientRect().width, i.getBoundingClientRect().height, i.src.slice(0, 19), i.alt.length])"
    )
    page.screenshot(path=pictures / "jupyter.png")
    context.close()
    assert len(sizes) == len(SHOWN)
    for wide, tall, shown, high, source, alt in sizes:
        assert min(wide, shown) >= 300
        assert min(tall, high) >= 60
        assert source == "data:image/svg+xml;"[:19]
        assert alt > 20
