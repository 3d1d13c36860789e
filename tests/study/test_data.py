"""Records of a study: queries that may mix people, weights, versions; what ledger and statement say of them."""

from __future__ import annotations

import pytest

from barrow.errors import BarrowError, ParameterError
from barrow.study import read
from tests.study.helpers import make_ledger, make_study, write_ages

MIXES = "select uid, (select max(age) from records) as age from records"


def test_a_query_that_mixes_people_is_refused_before_anything_is_spent(tmp_path):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    for sql in (MIXES, "select uid, age + 1 as age from records", "select uid, age from records where age > 3"):
        with pytest.raises(BarrowError) as error:
            study.release(data=read(str(tmp_path / "ages.csv"), user="uid", item="age", sql=sql))
        assert error.value.fix
    assert len(ledger.records()) == 1


def test_an_acknowledged_query_stands_in_statement_ledger_and_key(tmp_path):
    study = make_study(tmp_path, questions=["mean(fraction='1/2')"])
    ledger = make_ledger(study)
    data = read(str(tmp_path / "ages.csv"), user="uid", item="age", sql=MIXES, acknowledge_sql=True)
    result = study.release(data=data)
    assert "no promise of this statement holds" in " ".join(result.text.split())
    record = next(record for record in ledger.records() if record.kind == "reserve")
    assert MIXES in str(record.data["parameters"]["data"])
    plain = study.release()
    assert plain.statement.ledger.key != result.statement.ledger.key
    assert "Not covered" not in plain.text


def test_a_filter_on_another_column_passes_and_is_told(tmp_path):
    (tmp_path / "visits.csv").write_text("uid,age,kind\n" + "".join(f"{i},{20 + i},x\n" for i in range(40)))
    study = make_study(tmp_path)
    make_ledger(study)
    sql = "select uid, age from records where kind = 'x'"
    result = study.release(data=read(str(tmp_path / "visits.csv"), user="uid", item="age", sql=sql))
    assert "A query selects some of them" in " ".join(result.text.split())


def test_weights_count_records_as_often_as_they_say(tmp_path):
    write_ages(tmp_path / "ages.csv")
    study = make_study(tmp_path, promises=(), alpha=10**6, users=2)
    make_ledger(study)
    columns = {"uid": [1, 1, 2], "age": [10, 40, 90], "times": [3, 1, 7]}
    result = study.release(data=read(columns, user="uid", item="age", weight="times"))
    assert abs(result.values[0] - (17.5 + 90) / 2) < 0.6
    with pytest.raises(ParameterError):
        study.release(data=read(columns, user="uid", item="age", weight="nothing"), key="other")


def test_encoding_and_timeout_are_said_in_study_files_and_reach_the_engine(tmp_path):
    from barrow.study import study_from_spec
    from barrow.study.study import Study

    space = {"kind": "discrete", "labels": ["é", "ü"]}
    (tmp_path / "t.csv").write_bytes("uid,item\nJosé,é\nx,ü\n".encode("latin-1"))
    data = {"source": str(tmp_path / "t.csv"), "user": "uid", "items": ["item"], "encoding": "latin-1"}
    study = study_from_spec({"space": space, "alpha": 1, "users": 2, "data": data})
    assert study.data.count(study.data.validate(study.space), study.space, 2).users == 2
    study.write(tmp_path / "study.toml")
    assert Study.read(tmp_path / "study.toml").data == study.data
    server = {"source": "postgresql://db.example/shop?table=visits", "user": "uid", "items": ["item"], "timeout": "4h"}
    study = study_from_spec({"space": space, "alpha": 1, "users": 2, "data": server})
    assert study.data.engine().timeout == "4h"
    assert "timeout" not in study.data.named()  # how long one waits is no part of what is asked
    assert study.data.to_spec()["timeout"] == "4h"


def test_another_version_of_columns_in_memory_is_another_release(tmp_path):
    study = make_study(tmp_path, questions=["mean(fraction='1/4')"], data=None)
    make_ledger(study)
    ages = {"uid": [f"u{i}" for i in range(40)], "age": [30.0] * 40}
    old = read(ages, user="uid", item="age", version="2026-10")
    new = read({**ages, "age": [60.0] * 40}, user="uid", item="age", version="2026-11")
    first, again, other = (study.release(data=data) for data in (old, old, new))
    assert first.values[0] == again.values[0]
    assert first.statement.ledger.key == again.statement.ledger.key != other.statement.ledger.key
    assert other.statement.ledger.entry > first.statement.ledger.entry


def test_a_query_over_columns_in_memory_is_refused_and_not_left_out():
    with pytest.raises(ParameterError, match="records are in memory, where no query is run"):
        read({"uid": [1, 2], "age": [3, 4]}, user="uid", item="age", sql="SELECT uid, age FROM records WHERE age > 3")
