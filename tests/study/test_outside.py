"""Records outside the space count as one public item, from the study's words to the statement."""

from __future__ import annotations

import numpy as np
import pytest

from barrow.errors import DataError, ParameterError
from barrow.ledger import Ledger
from barrow.questions.prices import charges
from barrow.spaces import Elsewhere, Line
from barrow.study import Study, explain, read, statement_text

LINE = Line(0, 10, unit="km", step=1, cells=True)
COLUMNS = {"uid": list(range(40)), "x": [0.5] * 10 + [9.5] * 10 + [-3.0] * 10 + [500.0] * 10}


def asked(tmp_path, columns=COLUMNS, outside="elsewhere", **changes):
    options = {"alpha": 10**5, "questions": ["histogram"], "dataset": "ways", "ledger": str(tmp_path / "ways.ledger")}
    data = read(columns, user="uid", item="x", outside=outside)
    return Study(LINE, users=40, data=data, **{**options, **changes})


def test_a_release_counts_what_is_elsewhere(tmp_path):
    study = asked(tmp_path)
    assert study.space == Elsewhere(LINE)
    Ledger.create(str(study.ledger), study)
    result = study.release(out=tmp_path / "out")
    shares = {row["item"]: row["share"] for row in result.rows()}
    assert shares["elsewhere"] == pytest.approx(0.5, abs=0.01)
    assert shares["0.5"] == pytest.approx(0.25, abs=0.01)
    text = statement_text(result.statement)
    assert result.statement.outside == "elsewhere"
    assert "'elsewhere'" in explain(result.statement)
    assert "do not cover records that move across the edge" not in " ".join(text.split())
    other = asked(tmp_path, outside="default", dataset="others", ledger=str(tmp_path / "o.ledger"))
    assert other.space == LINE


def test_counts_put_the_outside_into_one_item(tmp_path):
    study = asked(tmp_path)
    for source in (COLUMNS, _parquet(tmp_path)):
        data = read(source, user="uid", item="x", outside="elsewhere")
        counts = data.count(data.validate(study.space), study.space, 40)
        assert dict(zip(counts.items.tolist(), counts.counts.tolist(), strict=True)) == {0: 10, 9: 10, 10: 20}


def _parquet(tmp_path):
    import duckdb

    path = tmp_path / "ways.parquet"
    rows = ", ".join(f"({u}, {x})" for u, x in zip(COLUMNS["uid"], COLUMNS["x"], strict=True))
    duckdb.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS t(uid, x)) TO '{path}' (FORMAT parquet)")
    return str(path)


def test_missing_records_stay_errors(tmp_path):
    for bad in (np.nan, np.inf):
        study = asked(tmp_path, {"uid": [1, 2], "x": [1.0, bad]})
        with pytest.raises(DataError):
            study.data.count(study.data.validate(study.space), study.space, 40)


def test_plain_data_bring_the_study_back_and_other_rules_are_refused(tmp_path):
    study = asked(tmp_path)
    assert Study.from_spec(study.to_spec()).space == study.space
    with pytest.raises(ParameterError, match="has an item for what is outside"):
        study.replace(data=read(COLUMNS, user="uid", item="x", outside="default"))
    again = study.replace(data=read(COLUMNS, user="uid", item="x"))
    assert again.data.outside == "elsewhere"
    with pytest.raises(ParameterError, match="has no item for what is outside"):
        study.data.validate(LINE)
    with pytest.raises(ParameterError):
        study.plan("mean")
    with pytest.raises(ParameterError):
        study.plan("density(bandwidth='5 km')")
    with pytest.raises(ParameterError):
        study.plan("distance(to=3)")
    with pytest.raises(ParameterError, match="no edge"):
        Study("discrete(labels=['a', 'b'])", alpha=1, data=read(COLUMNS, user="uid", item="x", outside="elsewhere"))


def test_promises_are_priced_as_inside(tmp_path):
    """Moves of q cost alpha (q + 2 rho), whether across the edge or not."""
    plain = Study(LINE, ["all, 2 km, 0.5"], users=40)
    wide = asked(tmp_path, alpha=None, promises=["all, 2 km, 0.5"])
    assert wide.alpha == plain.alpha
    assert wide.space.items == plain.space.items + 1
    assert max(charges(wide.plan())) <= 0.5
