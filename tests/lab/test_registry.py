"""The paper's rows: complete, computed, and the same as the page says."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from lab.paper import VERDICTS, markdown, reproduce, reproduce_all, rows
from lab.paper import linear as linear_rows
from lab.paper.__main__ import main
from lab.paper.page import paper_html, verdicts
from lab.paper.registry import Effort

ROOT = Path(__file__).parent.parent.parent
DATA = json.loads((ROOT / "docs" / "paper.json").read_text(encoding="utf-8"))
STORED = {row["label"]: row for row in DATA["rows"]}
QUICK = [
    "sec:intro:relation",
    "def:metric-dp",
    "sec:semantics:alpha",
    "ex:earth",
    "ex:alpha",
    "sec:interpret:dmin",
    "def:discrete-emd-dp-central",
    "tab:privacy",
    "thm:sens",
    "alg:lap:gamma",
    "rem:gaussian",
    "ex:distance",
    "thm:shuffle-metric-full:side",
    "eq:eps-amp-central",
    "ref:group",
    "tab:privacy:group",
    "lem:coupling-dist",
    "thm:emd-dp-central",
    "rem:sampling-not-dp",
    "thm:krr-utility:proof",
    "rem:krr:inequalities",
    "rem:krr-utility",
    "lem:group-priv",
    "lem:dp-decomp",
    "open:without-replacement",
    "app:data-processing",
    "rem:non-normalised",
    "rem:discrete-roughly",
    "rem:small-r",
    "sec:interpret:prior",
    "sec:interpret:routine",
    "sec:interpret:small",
    "sec:interpret:medical",
]
"""Rows that take a moment: they are measured again, all others are compared as they were written."""


def test_every_statement_has_a_row():
    known = rows()
    assert len(known) >= 60
    for label in ("thm:sens", "thm:shuffle-metric-full", "thm:eps-amp", "thm:emd-dp-central", "thm:krr-utility"):
        assert label in known
    for label in ("thm:general-hist-utility", "coro:krr-utility-central", "lem:coupling-dist", "tab:privacy"):
        assert label in known
    for label in (
        "rem:non-normalised",
        "rem:factorisation",
        "rem:heterogeneous",
        "rem:discrete-roughly",
        "rem:one-item",
    ):
        assert label in known
    assert sum(label.startswith("sec:interpret:") for label in known) == 6
    assert sum(label.startswith("open:") for label in known) >= 6
    assert {label for label in known if label.startswith("use:")} == {"use:location", "use:text", "use:graph"}


@pytest.mark.parametrize("label", rows())
def test_rows_name_code_and_pages_that_exist(label):
    row = rows()[label]
    assert row.claim
    assert row.place
    for name in row.uses:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                result = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            for part in parts[cut:]:
                result = getattr(result, part)
            break
        else:
            pytest.fail(name)
    for link in row.links:
        assert (ROOT / "docs" / link).exists(), link


def test_the_page_is_what_the_registry_said():
    assert markdown(DATA) == (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert list(STORED) == [label for label in rows() if label not in DATA["missing"]]
    assert len(DATA["missing"]) <= 3
    assert not any(rows()[label].steady for label in DATA["missing"])  # only what takes long may be missing
    assert not DATA["quick"]
    assert DATA["verdicts"] == verdicts(DATA["rows"])
    for label, stored in STORED.items():
        row = rows()[label]
        assert (stored["claim"], stored["erratum"], tuple(stored["uses"])) == (row.claim, row.erratum, row.uses)
        assert stored["verdict"] in VERDICTS
        assert stored["measured"]


@pytest.mark.parametrize("label", QUICK)
def test_no_number_drifts(label):
    result, stored = reproduce(label, quick=True), STORED[label]
    assert result.row.steady
    assert result.verdict == stored["verdict"]
    assert set(result.measured.numbers) == set(stored["numbers"])
    for name, value in result.measured.numbers.items():
        text = stored["numbers"][name]
        if isinstance(value, float):
            assert math.isclose(value, text, rel_tol=1e-6, abs_tol=1e-12), name
        else:
            assert value == text, name


def test_what_is_stored_is_plain_json():
    def refused(constant):
        raise AssertionError(constant)

    text = (Path(__file__).parents[2] / "docs" / "paper.json").read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=refused)["rows"]


def test_the_running_example_is_what_was_computed_elsewhere():
    numbers = STORED["ex:alpha0"]["numbers"]
    known = {
        "composition": 0.025,
        "theorem": 2.48386972128,
        "flow_standard": 4.314,
        "flow_strong": 4.4016,
        "attack": 4.41,
    }
    for name, value in known.items():
        assert math.isclose(numbers[name], value, rel_tol=1e-3), name
    assert math.isclose(numbers["theorem"], known["theorem"], rel_tol=1e-10)
    assert math.isclose(STORED["rem:gaussian"]["numbers"]["delta_25_1e-12"], 4.50176265846e-5, rel_tol=1e-9)
    assert math.isclose(STORED["rem:gaussian"]["numbers"]["delta_1_1e-12"], 9.43237513665e-11, rel_tol=1e-9)
    assert math.isclose(STORED["lem:coupling-dist"]["numbers"]["chernoff_0.008_1000"], 0.0367034710991, rel_tol=1e-10)
    assert round(STORED["ex:alpha"]["numbers"]["alpha"], 2) == 24.87


def test_a_verdict_is_computed(monkeypatch):
    assert reproduce("rem:gaussian").verdict == "unsafe"
    monkeypatch.setattr(linear_rows, "gdp_delta_upper", lambda mu, epsilon: 0.0)
    assert reproduce("rem:gaussian").verdict == "holds"


def test_the_command_shows_one_row():
    shown = CliRunner().invoke(main, ["ex:earth"])
    assert shown.exit_code == 0
    assert "12,437 miles" in shown.output
    result = json.loads(CliRunner().invoke(main, ["ex:earth", "--json", "--quick"]).output)
    assert [row["label"] for row in result["rows"]] == ["ex:earth"]
    assert set(result["rows"][0]) >= {"label", "claim", "measured", "verdict", "numbers", "erratum"}
    listed = CliRunner().invoke(main, ["--list"]).output.splitlines()
    assert len(listed) == len(rows())


def test_the_command_writes_a_page_with_plots(tmp_path):
    file = tmp_path / "paper.html"
    CliRunner().invoke(main, ["lem:coupling-dist", "--html", str(file)])
    page = file.read_text(encoding="utf-8")
    assert "<svg" in page
    assert "default-src 'none'" in page
    assert "by Chernoff" in page
    assert paper_html([reproduce("ex:earth")]) == paper_html([reproduce("ex:earth")])


def test_unknown_labels_are_answered_by_the_nearest():
    from barrow.errors import ParameterError

    with pytest.raises(ParameterError, match="ex:alpha"):
        reproduce("ex:alfa")
    with pytest.raises(ParameterError, match="ex:alpha"):
        reproduce_all(["ex:alfa"])


def test_verdicts():
    assert verdicts([{"verdict": "holds"}]) == {"holds": 1}


def test_effort():
    assert Effort(quick=True).of(10, 1000) == 10
    assert Effort(quick=False).of(10, 1000) == 1000
