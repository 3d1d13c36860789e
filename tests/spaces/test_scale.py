"""Answers in order: a line whose records are words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import barrow as bw
from barrow.engines import Columns, DuckDBEngine, MemoryEngine
from barrow.errors import DataError, ParameterError
from barrow.spaces import Line, Scale, parse_space, space_from_spec
from barrow.spaces.nearness import distances_from

ANSWERS = ["never", "rarely", "sometimes", "often", "always"]
SCALE = Scale(ANSWERS)


def test_distances_are_those_of_a_line_and_records_are_words():
    assert np.array_equal(SCALE.block(), Line(1, 5, step=1).block())
    assert SCALE.encode(["always", "never"]).tolist() == [4, 0]
    assert distances_from(SCALE, "never").tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert SCALE.snapping_upper == 0.0
    with pytest.raises(DataError):
        SCALE.encode(["perhaps"])
    assert Scale(ANSWERS, default="sometimes").encode(["perhaps"], unknown="default").tolist() == [2]


def test_plain_data_and_the_command_line():
    for scale in (SCALE, Scale(ANSWERS, default="often")):
        again = space_from_spec(scale.to_spec())
        assert (again, type(again), again.digest) == (scale, Scale, scale.digest)
        assert eval(repr(scale), {"Scale": Scale}) == scale
    assert parse_space("scale(answers=['no', 'maybe', 'yes'])").size == 3
    assert SCALE.metric_name != Scale(ANSWERS[::-1]).metric_name


@pytest.mark.parametrize(
    ("answers", "default", "words"), [(["one"], None, "at least two"), (ANSWERS, "x", "one of the answers")]
)
def test_wrong_answers_are_refused(answers, default, words):
    with pytest.raises(ParameterError, match=words):
        Scale(answers, default=default)


def test_engines_count_the_same():
    records = pa.table({"uid": [1, 1, 2, 3, 3], "answer": ["often", "never", "often", "always", "rarely"]})
    counted = [engine.count(records, Columns("uid", "answer"), SCALE) for engine in (MemoryEngine(), DuckDBEngine())]
    assert counted[0].items.tolist() == counted[1].items.tolist()
    assert counted[0].counts.tolist() == counted[1].counts.tolist()


def test_everything_that_a_line_can_be_asked(tmp_path):
    study = bw.Study(SCALE, ["all, 1 steps, 1"], users=2000, dataset="survey", delta="1e-9")
    line = study.replace(space=Line(1, 5, step=1, whole=True, unit="steps"))
    for question in ("mean", "median", "histogram", "spread"):
        assert study.plan(question).error == pytest.approx(line.plan(question).error, rel=0.2)
    answers = [ANSWERS[i % 5] for i in range(2000)]
    ledger = bw.Ledger.create(str(tmp_path / "survey.ledger"), study)
    data = bw.read({"uid": list(range(2000)), "answer": answers}, user="uid", item="answer")
    built = study.release("histogram", data, ledger=ledger, out=tmp_path / "histogram")
    assert [row["item"] for row in built.rows()][:5] == ANSWERS
    assert abs(built.rows()[0]["share"] - 0.2) < 0.05
    assert all(check.holds for check in bw.verify(tmp_path / "histogram", ledger=ledger))
