"""Releases: the order of events, what is written, what is refused, and that noise is what the plan said."""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from barrow.errors import BarrowError, DataError, ParameterError
from barrow.ledger import Ledger
from barrow.ledger.errors import LedgerIOError, OverBudgetError
from barrow.noise.source import SeededSource
from barrow.questions import Answer
from barrow.study import LostReleaseError, Release, Study, explain, read, read_statement, statement_text, verify
from tests.study.helpers import USERS, ages, make_ledger, make_study, write_ages

DRAW = "barrow.mechanisms.additive.AdditiveNoise.draw"


def true_mean(path, middle=Fraction(1, 2)) -> Fraction:
    """By hand: the mean over users of each user's mean, on the middle of each year."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    held: dict[str, list[Fraction]] = {}
    for row in rows:
        held.setdefault(row["uid"], []).append(Fraction(int(row["age"])) + middle)
    return sum((sum(x) / len(x) for x in held.values()), Fraction(0)) / len(held)


def _never(*_args: object, **_options: object) -> None:
    raise AssertionError("noise was drawn")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_release_from_a_file_to_a_statement(tmp_path):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    result = study.release(out=tmp_path / "out")
    plan = study.plan()
    assert result.folder == tmp_path / "out"
    people, values = ["people.csv", "people.parquet"], ["values.csv", "values.parquet"]
    catalogues = ["croissant.json", "datapackage.json"]
    assert names(result.folder) == [*catalogues, *people, "report.html", "statement.json", "statement.txt", *values]
    assert abs(result.values[0] - float(true_mean(tmp_path / "ages.csv"))) < 12 * plan.half_width
    statement = read_statement(result.folder)
    assert statement == result.statement
    assert statement.people == USERS
    assert statement.alpha == pytest.approx(float(plan.alpha))
    assert statement.worst_case.epsilon == plan.worst_epsilon
    for row, promise in zip(statement.protected, study.promises, strict=True):
        assert row.epsilon <= float(promise.epsilon) * (1 + 1e-12)
    assert (result.folder / "statement.txt").read_text().strip() == statement_text(statement) == result.text
    assert [record.kind for record in ledger.records()] == ["init", "reserve", "staged", "commit"]
    assert all(check.holds for check in verify(result.folder, ledger=study.ledger))
    assert "1. The records were snapped" in explain(statement)
    assert "<table>" in result._repr_html_()
    assert "<table>" in plan._repr_mimebundle_()["text/html"]
    assert result.to_pandas().shape == (1, 6) == result.to_polars().shape


def test_parquet_and_csv_say_the_same(tmp_path):
    import duckdb

    study = make_study(tmp_path, questions=["density(bandwidth='10 years')"])
    make_ledger(study)
    result = study.release(out=tmp_path / "it's out")  # a quote in a path is a path
    with open(result.folder / "values.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == result.values.tolist()
    parquet = duckdb.execute("SELECT value FROM read_parquet(?)", [f"{result.folder}/values.parquet"]).fetchall()
    assert [x for (x,) in parquet] == result.values.tolist()


@pytest.mark.parametrize(
    ("space", "column", "question"),
    [
        *(("line(low=0, high=100, step=5, unit='years')", "age", request) for request in (
            "mean", "median", "quantile(of=0.9)", "spread", "density(bandwidth='10 years')", "distance(to=40)",
            "region(center=25, radius='10 years', ramp='10 years')", "histogram", "histogram(mechanism='tree')",
        )),
        *(("line(low=0, high=100, step=25, unit='years')", "age", request) for request in (
            "items(samples=2)", "frequency(samples=2)",
        )),
        ("discrete(labels=['a', 'b', 'c'])", "word", "histogram"),
        ("discrete(labels=['a', 'b', 'c']) x line(low=0, high=100, step=20)", "both", "histogram"),
        ("earth(box=[40.5, -74.3, 40.6, -74.2], cell=2)", "place", "density(bandwidth='4 km')"),
    ],
)  # fmt: skip
def test_tables_in_memory_are_those_in_the_folder(tmp_path, space, column, question):
    table = {
        "uid": [1, 1, 2, 3, 4], "age": [20, 35, 50, 64, 71], "word": list("abcab"),
        "lat": [40.55] * 5, "lon": [-74.25] * 5,
    }  # fmt: skip
    items = {"both": ["word", "age"], "place": ["lat", "lon"]}.get(column, [column])
    people = read(table, user="uid", items=items)
    study = Study(space, ["all, 50 %, 1"], users=5, dataset="all", data=people, delta="1e-6")
    result = study.release(question, ledger=Ledger.create(tmp_path / "all.ledger", study), out=tmp_path / "out")
    again = Release.read(result.folder)
    assert result.tables == again.tables
    for name, rows in result.tables.items():
        assert [[type(x) for x in row.values()] for row in rows] == [
            [type(x) for x in row.values()] for row in again.tables[name]
        ]


def test_statistics_are_exact_and_noise_has_the_planned_scale(tmp_path, monkeypatch):
    """With seeded noise, releases centre on the true mean and spread as planned (half the noise would show)."""
    study = make_study(tmp_path, promises=(), alpha="1/12", questions=["mean"], missing="default item")
    plan = study.plan()
    truth = float(true_mean(tmp_path / "ages.csv"))
    draw, source = type(plan.noise).draw, SeededSource(5)
    monkeypatch.setattr(
        type(plan.noise), "draw", lambda self, center, _=None: replace(draw(self, center, source), private=True)
    )
    ledger = make_ledger(study.replace(alpha=100))
    values = np.array([study.release(ledger=ledger, key=f"k{i}").values[0] for i in range(40)])
    scale = np.abs(values - truth).mean() / float(plan.noise.scale)
    assert abs(scale - 1.0) < 4 / np.sqrt(40)  # Laplace: the mean of |x| is the scale
    assert not abs(scale * 2.0 - 1.0) < 4 / np.sqrt(40)
    covered = (np.abs(values - truth) <= plan.half_width).mean()
    assert covered > 0.85


def test_seeded_noise_never_leaves(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study)
    draw, source = type(study.plan().noise).draw, SeededSource(5)
    monkeypatch.setattr(type(study.plan().noise), "draw", lambda self, center, _=None: draw(self, center, source))
    with pytest.raises(LostReleaseError, match="Nothing was published"):
        study.release(out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_running_again_gives_the_same_answer_for_free_and_draws_nothing(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    first = study.release(out=tmp_path / "out")
    monkeypatch.setattr(DRAW, _never)
    again = study.release(out=tmp_path / "out")
    elsewhere = study.release(out=tmp_path / "another")
    assert first.values.tolist() == again.values.tolist() == elsewhere.values.tolist()
    assert elsewhere.folder == tmp_path / "out"
    assert [r.kind for r in ledger.records()] == ["init", "reserve", "staged", "commit"]


def test_without_a_folder_the_answer_is_kept_beside_the_ledger_for_its_owner(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study)
    first = study.release()
    assert first.folder.parent == tmp_path / "ages.ledger.answers"
    monkeypatch.setattr(DRAW, _never)
    assert study.release().values.tolist() == first.values.tolist()


def test_another_version_of_the_records_is_another_release(tmp_path):
    study = make_study(tmp_path, questions=["mean(fraction='1/3')"])
    ledger = make_ledger(study)
    for version in ("2026-10", "2026-11", "2026-10"):
        study.replace(data=ages(tmp_path / "ages.csv", version=version)).release()
    assert [r.kind for r in ledger.records()].count("reserve") == 2


def test_over_budget_nothing_is_read_drawn_or_written(tmp_path, monkeypatch):
    from barrow.engines import DuckDBEngine

    study = make_study(tmp_path)
    make_ledger(study)
    study.release()
    monkeypatch.setattr(DuckDBEngine, "sum_cells", _never)
    with pytest.raises(OverBudgetError):
        study.release("histogram", out=tmp_path / "out")
    assert names(tmp_path) == ["ages.csv", "ages.ledger", "ages.ledger.answers"]


def test_the_order_is_read_reserve_draw_stage_commit_publish(tmp_path, monkeypatch):
    events = []

    def spy(owner, name):
        original = getattr(owner, name)

        def wrapped(*args, **kwargs):
            events.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, wrapped)

    from barrow.engines import DuckDBEngine
    from barrow.ledger.opened import Reservation
    from barrow.mechanisms import AdditiveNoise
    from barrow.study.outputs import Stage

    study = make_study(tmp_path)
    make_ledger(study)
    for owner, name in (
        (DuckDBEngine, "validate"), (Ledger, "check"), (Stage, "open"), (DuckDBEngine, "sum_cells"),
        (Ledger, "reserve"), (Reservation, "take"), (AdditiveNoise, "draw"), (Stage, "write"), (Ledger, "stage"),
        (Ledger, "commit"), (Stage, "publish"),
    ):  # fmt: skip
        spy(owner, name)
    study.release(out=tmp_path / "out")
    wanted = ["check", "open", "sum_cells", "reserve", "take", "draw", "write", "stage", "commit", "publish"]
    assert [event for event in events if event != "validate"] == wanted


@pytest.mark.parametrize("where", ["draw", "write", "stage"])
@pytest.mark.parametrize("cause", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_release_is_paid_once_and_goes_on(tmp_path, monkeypatch, where, cause):
    study = make_study(tmp_path)
    ledger = make_ledger(study)

    def fail(*_args, **_kwargs):
        raise cause

    target = {"draw": DRAW, "write": "barrow.study.outputs.Stage.write", "stage": "barrow.ledger.Ledger.stage"}[where]
    with monkeypatch.context() as patch:
        patch.setattr(target, fail)
        with pytest.raises(LostReleaseError, match="paid for") as error:
            study.release(out=tmp_path / "out")
    assert error.value.exit_code == 130
    # A failed record may be on the disk all the same: what was staged stays until the release is published.
    left = [name for name in names(tmp_path) if name not in ("ages.csv", "ages.ledger")]
    assert len(left) == (1 if where == "stage" else 0)
    assert all(tmp_path.joinpath(name).stat().st_mode & 0o777 == 0o700 for name in left)
    result = study.release(out=tmp_path / "out")
    assert names(tmp_path) == ["ages.csv", "ages.ledger", "out"]
    assert all(check.holds for check in verify(result.folder, ledger=study.ledger))
    assert [r.kind for r in ledger.records()].count("reserve") == 1


@pytest.mark.parametrize("where", ["commit", "publish"])
def test_what_was_staged_is_published_and_never_drawn_again(tmp_path, monkeypatch, where):
    study = make_study(tmp_path)
    make_ledger(study)

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    target = {"commit": "barrow.ledger.Ledger.commit", "publish": "barrow.study.outputs.Stage.publish"}[where]
    with monkeypatch.context() as patch:
        patch.setattr(target, fail)
        with pytest.raises((LostReleaseError, OSError)):
            study.release(out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(DRAW, _never)
    result = study.release(out=tmp_path / "out")
    assert result.folder == tmp_path / "out"
    assert all(check.holds for check in verify(result.folder, ledger=study.ledger))


def test_files_that_were_changed_are_not_taken_for_the_release(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    folder = study.release(out=tmp_path / "out").folder
    (folder / "values.csv").write_text("changed")
    with pytest.raises(LostReleaseError, match="changed"):
        study.release(out=tmp_path / "out")


def test_a_record_that_was_written_though_the_disk_said_no_loses_nothing(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study)
    stage = Ledger.stage

    def written_and_failed(self, *args):
        stage(self, *args)
        raise LedgerIOError("The disk failed.", fix="mend it")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "stage", written_and_failed)
        with pytest.raises(LostReleaseError, match="paid for"):
            study.release(out=tmp_path / "out")
    monkeypatch.setattr(DRAW, _never)
    folder = study.release(out=tmp_path / "out").folder
    assert all(check.holds for check in verify(folder, ledger=study.ledger))


def test_two_processes_never_write_into_one_folder(tmp_path, monkeypatch):
    from barrow.study.outputs import Stage

    first, second = Stage(tmp_path / "out", "k"), Stage(tmp_path / "out", "k")
    first.open(10)
    second.open(10)  # the first one is alive: its room is not swept
    assert first.folder != second.folder
    assert len(names(tmp_path)) == 2
    second.write({"a.txt": b"2"})
    first.discard()
    assert [files for _, files in second.folders()] == [{"a.txt": b"2"}]
    third = Stage(tmp_path / "out", "k")
    third.open(10)
    third._let_go()  # as a kill would
    Stage(tmp_path / "out", "k").open(10)  # sweeps the room of the dead, and nothing that was written
    assert not third.folder.exists()
    assert second.folder.exists()
    second.publish(second.folder)
    second.forget()
    assert names(tmp_path) == ["out"]


def test_files_beside_a_published_release_do_not_matter(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    first = study.release(out=tmp_path / "out")
    (first.folder / "notes.txt").write_text("seen")
    assert study.release(out=tmp_path / "out").values.tolist() == first.values.tolist()


def test_a_full_disk_in_the_ledger_releases_nothing(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    make_ledger(study)
    monkeypatch.setattr(DRAW, _never)

    def full(*_args, **_kwargs):
        raise LedgerIOError("The disk is full.", fix="make room")

    monkeypatch.setattr(Ledger, "reserve", full)
    with pytest.raises(LedgerIOError):
        study.release(out=tmp_path / "out")
    assert names(tmp_path) == ["ages.csv", "ages.ledger"]


def test_bad_records_are_refused_before_anything_is_spent(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    for bad in ("secret", "", "999"):
        data = ages(write_ages(tmp_path / "bad.csv", bad=bad))
        with pytest.raises(DataError) as error:
            study.release(data=data)
        assert "secret" not in str(error.value)
        assert "999" not in str(error.value)
    assert len(Ledger.open(str(study.ledger)).records()) == 1
    result = study.release(data=ages(tmp_path / "bad.csv", outside="default"))
    assert result.statement.parameters["data"]["outside"] == "default"
    assert "one outside counts as another item" in " ".join(result.text.split())


def test_fewer_users_than_declared_hold_no_records_or_the_default_item_and_more_are_refused(tmp_path):
    study = make_study(tmp_path, users=USERS * 1000)
    ledger = make_ledger(study)
    apart = study.release()
    (share,) = apart.tables["people"]
    # Five times as far as in 95 % of releases: once in a million runs.
    assert abs(share["value"] - 1 / 1000) <= 5 * (share["high_95"] - share["value"])
    # The mean of the few who hold records: far from where nobody is, if it is determined at all.
    low, high = apart.rows()[0]["low_95"], apart.rows()[0]["high_95"]
    assert low - 2 * (high - low) <= float(true_mean(tmp_path / "ages.csv")) <= high + 2 * (high - low)
    assert "no records" in apart.text
    assert all(f" {USERS} " not in text for text in (apart.text, str(apart.statement)))  # n is what was declared
    assert len(ledger.records()) == 4
    study = study.replace(missing="default item", dataset="by name", ledger=str(tmp_path / "name.ledger"))
    make_ledger(study)
    result = study.release()
    # Nearly everybody holds the default item, the first year, whose middle is 0.5.
    assert abs(result.values[0] - 0.5) < 1.0
    assert "people without records" in result.text.lower()
    few = study.replace(users=3, dataset="few", ledger=str(tmp_path / "few.ledger"))
    make_ledger(few)
    with pytest.raises(DataError) as error:
        few.release()
    assert "3" not in str(error.value)
    assert str(USERS) not in str(error.value)


def test_n_is_asked_for_and_never_found(tmp_path):
    study = make_study(tmp_path)
    make_ledger(study)
    with pytest.raises(ParameterError, match="how many people"):
        study.replace(users=None).release()
    with pytest.raises(ParameterError, match="users is 1"):
        study.replace(users=1).plan()
    with pytest.raises(ParameterError, match="the ledger about 40"):
        study.replace(users=41).release()


REFUSED = {
    "no ledger": ({"ledger": None}, "names no ledger"),
    "missing ledger": ({"ledger": "nowhere.ledger"}, "no ledger"),
    "no records": ({"data": None}, "names no records"),
    "missing file": ({"data": read("nowhere/x.csv", user="uid", item="age")}, "no folder"),
    "wrong column": ({"data": "aged"}, "age"),
    "no question": ({"questions": ()}, "has no question"),
    "local": ({"model": "local"}, "adds noise centrally"),
    "another data set": ({"dataset": "others"}, "the ledger about"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_studies_are_refused_before_anything_is_spent(tmp_path, name):
    changes, pattern = REFUSED[name]
    study = make_study(tmp_path)
    make_ledger(study)
    if changes.get("data") == "aged":
        changes = {"data": read(str(tmp_path / "ages.csv"), user="uid", item="aged")}
    with pytest.raises(BarrowError, match=pattern) as error:
        study.replace(**changes).release(out=tmp_path / "out")
    assert error.value.fix
    assert len(Ledger.open(str(study.ledger)).records()) == 1
    assert not (tmp_path / "out").exists()


def test_an_output_folder_that_exists_or_cannot_be_made_is_found_first(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    ledger = make_ledger(study)
    monkeypatch.setattr(Answer, "statistics", _never)
    (tmp_path / "out").mkdir()
    with pytest.raises(ParameterError, match="exists"):
        study.release(out=tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ParameterError, match="cannot be made"):
        study.release(out=tmp_path / "file" / "out")
    assert len(ledger.records()) == 1


def test_room_on_the_disk_is_taken_before_anything_is_paid(tmp_path, monkeypatch):
    study = make_study(tmp_path)
    ledger = make_ledger(study)

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("barrow.study.outputs.os.posix_fallocate", full)
    with pytest.raises(ParameterError, match="No space left"):
        study.release(out=tmp_path / "out")
    assert len(ledger.records()) == 1
    assert names(tmp_path) == ["ages.csv", "ages.ledger"]


def test_the_guarantee_depends_on_public_parameters_only(tmp_path):
    """The same study on entirely different records makes the same promise, to the letter."""
    study = make_study(tmp_path, questions=["mean(fraction='1/2')"])
    ledger = make_ledger(study)
    first = study.release(ledger=ledger, key="a")
    other = tmp_path / "other.csv"
    other.write_text("uid,age\n" + "".join(f"x{i},99\n" for i in range(USERS)))
    second = study.release(data=ages(other), ledger=ledger, key="b")
    for key in ("alpha", "delta", "protected", "worst_case", "answer", "guarantee"):
        assert getattr(first.statement, key) == getattr(second.statement, key)


def test_frames_in_python_in_three_lines(tmp_path):
    import pandas

    study = make_study(tmp_path)
    make_ledger(study)
    frame = pandas.read_csv(tmp_path / "ages.csv")
    result = study.release("mean", read(frame, user="uid", item="age"))
    assert len(result.rows()) == 1


def test_several_questions_share_every_promise(tmp_path):
    study = make_study(
        tmp_path, questions=[{"kind": "mean", "fraction": "1/4"}, "histogram", "density(bandwidth='20 years')"]
    )
    ledger = make_ledger(study)
    assert [study.terms(q).fraction for q in study.questions] == [Fraction(1, 4), Fraction(3, 8), Fraction(3, 8)]
    for question in study.questions:
        study.release(question.label)
    with pytest.raises(OverBudgetError):
        study.release("distance(to=3)")
    assert all(balance.spent.loss <= balance.limit.loss for balance in ledger.balances())


@pytest.mark.parametrize("names", [{"out": "caf\udce9"}, {"ledger": "caf\udce9.ledger"}, {"key": "caf\udce9"}])
def test_names_that_are_not_utf_8_are_refused_before_anything_is_paid(tmp_path, names):
    study = make_study(tmp_path)
    given = {"out": "out", "ledger": "ages.ledger", **names}
    ledger = Ledger.create(tmp_path / given["ledger"], study)
    with pytest.raises(ParameterError, match="is not UTF-8"):
        study.replace(ledger=None).release(out=tmp_path / given["out"], ledger=ledger, key=given.get("key"))
    assert [record.kind for record in ledger.records()] == ["init"]
    if "ledger" in names:  # a ledger that the study names in another way is written in no statement
        assert study.release(out=tmp_path / "out", ledger=ledger).folder == tmp_path / "out"
