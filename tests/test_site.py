"""The documentation builds into a site without network, and every link between its pages leads somewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tex_reader import read_mathml, read_tex

ROOT = Path(__file__).parent.parent


NEEDED = ("mkdocstrings", "latex2mathml")


@pytest.mark.skipif(not all(map(importlib.util.find_spec, NEEDED)), reason=f"{NEEDED} are not installed")
def test_the_site_builds_strictly(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    site = tmp_path / "site"
    api = (site / "reference" / "api.html").read_text()
    assert "Study" in api
    assert "<blockquote>" not in api
    assert "barrow ledger anchor" in (site / "reference" / "commands.html").read_text()
    assert "Event: KNormNoise" in (site / "reference" / "schemas.html").read_text()
    assert "$defs" in json.loads((site / "reference" / "statement.schema.json").read_text())
    schema = json.loads((site / "reference" / "study.schema.json").read_text())
    assert schema["$ref"].endswith("StudyFile")
    assert not [page for page in site.rglob("*.html") if re.search("fonts.googleapis|unpkg.com", page.read_text())]
    place = (site / "how-to" / "places.html").read_text()
    assert '<script src="../assets/docs_worker.js"></script>' in place
    assert (site / "assets" / "docs_worker.js").is_file()
    assert "Move one person" in (site / "idea.html").read_text()
    proofs = [page.read_text() for page in (site / "proofs").glob("*.html")]
    assert len(proofs) > 50
    assert all(
        "<math" in page and "arithmatex" not in page and "$$" not in page and "$`" not in page for page in proofs
    )
    assert sum(page.count("<math") for page in proofs) > 6000
    font = site / "assets" / "docs_fonts" / "stix-two-math.woff2"
    assert font.read_bytes() == (ROOT / "scripts" / "docs_fonts" / font.name).read_bytes()
    assert f"docs_fonts/{font.name}" in (site / "assets" / "docs.css").read_text()


def typesetter():
    """The hook that typesets formulas; scripts are no package."""
    spec = importlib.util.spec_from_file_location("docs_mathematics", ROOT / "scripts" / "docs_mathematics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FORMULA = re.compile(
    r"^```.*?^```|\$\$(?P<shown>.*?)\$\$|\$`(?P<quoted>[^`\n]+)`\$|`[^`\n]*`|\$(?!\s)(?P<plain>[^$\n]+?)(?<!\s)\$",
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.skipif(importlib.util.find_spec("latex2mathml") is None, reason="latex2mathml is not installed")
def test_formulas_are_typeset_as_they_are_written():
    """Two readers that share nothing with the converter say the same of a formula and of its pieces on the page."""
    module, seen = typesetter(), set()
    for page in (ROOT / "docs").rglob("*.md"):
        for match in FORMULA.finditer(page.read_text(encoding="utf-8")):
            tex = match["shown"] or match["quoted"] or match["plain"]
            if tex is None or tex in seen:
                continue
            seen.add(tex)
            pieces = module.breakable(module.mathematics(rf"\({tex}\)", str(page)))
            assert "".join(map(read_mathml, pieces)) == read_tex(tex), tex
    assert len(seen) > 3500


@pytest.mark.skipif(importlib.util.find_spec("latex2mathml") is None, reason="latex2mathml is not installed")
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("x_{10}", "x_10"),
        ("2^{-53}", "2^-53"),
        ("r^{(x)}", "r^x"),
        ("f''", "f'"),
        (r"\frac{a + b}{c}", r"\frac{a}{c} + b"),
        (r"\lvert x' \rvert", r"\lvert x \rvert'"),
        (r"\sqrt{a b}", r"\sqrt{a} b"),
        (r"\max_{x'} x", r"\max_x' x"),
    ],
)
def test_another_formula_is_seen(right, wrong):
    math = typesetter().mathematics(rf"\({right}\)", "here")
    assert read_mathml(math) == read_tex(right) != read_tex(wrong)


@pytest.mark.skipif(importlib.util.find_spec("latex2mathml") is None, reason="latex2mathml is not installed")
def test_long_formulas_end_lines_between_their_parts_and_nowhere_else():
    module = typesetter()

    def parts(tex):
        return ["".join(part.itertext()) for part in module.breakable(module.mathematics(rf"\({tex}\)", "here"))]

    assert parts(r"x \le 1") == ["x\u22641"]
    assert parts(r"f(x, y) \le g(x + 1) + h(y + 2 z) = \lvert x' \rvert") == [
        "f(x,y)",
        "\u2264g(x+1)+h(y+2z)",
        "=|x\u2032|",
    ]
    assert parts(r"\max(x = 1, y = 2, z = 3, u = 4, v = 5)") == ["max(x=1,y=2,z=3,u=4,v=5)"]
    with pytest.raises(ValueError, match=r"here: .*nonsense"):
        module.mathematics(r"\(\nonsense{x}\)", "here")


def test_no_page_stands_twice_in_the_navigation():
    pages = re.findall(r":\s+(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    titles = re.findall(r"^\s+- (.+): \S+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert len(pages) == len(set(pages)) > 40
    assert len(titles) == len(set(titles))
