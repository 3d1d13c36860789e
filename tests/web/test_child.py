"""The process that releases for the page."""

from __future__ import annotations

import asyncio

import pytest

from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.study.file import write_study
from barrow.web.child import Cancelled, Child, columns, released
from barrow.web.releasing import Job, _message, started
from tests.study import monthly


async def _ordered(folder, order):
    child = await started(folder, order)
    return _message((await child.communicate())[0])


def test_a_child_that_is_cancelled_goes_no_further():
    told = []
    child = Child(told.append)
    child.stage("validate")
    child.cancel(interrupt=lambda: None)
    with pytest.raises(Cancelled):
        child.stage("reserve")
    assert told == [{"event": "stage", "stage": "validate"}, {"event": "cancelling"}]
    with pytest.raises(ParameterError, match=r"There is no file 'nowhere\.parquet'"):
        columns("nowhere.parquet")


class Stops(Child):
    """A child that is called off when a stage of one of its releases has begun."""

    def __init__(self, say, part, at):
        super().__init__(say)
        self.part, self.at, self.now = part, at, ""

    def begin(self, name, number, of):
        super().begin(name, number, of)
        self.now = name

    def stage(self, name):
        super().stage(name)
        if (self.now, name) == (self.part, self.at):
            self.cancel(lambda: None)


@pytest.mark.parametrize(("at", "published"), [("read", 1), ("draw", 2)])
def test_months_in_one_go_stop_after_the_one_that_is_paid_for(at, published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = monthly.make_study(tmp_path)
    write_study(study, tmp_path / "study.toml")
    Ledger.create(study.ledger, study)
    told = []
    result = released(tmp_path / "study.toml", "mean", "2026-01..2026-04", Stops(told.append, "2026-02", at))
    months = ["2026-01", "2026-02", "2026-03", "2026-04"]
    assert sorted(path.parent.name for path in tmp_path.glob("release/*/mean")) == months[:published]
    assert result["left"] == months[published:]
    paid = [
        record.data["reads"]["periods"] for record in Ledger.open(study.ledger).records() if record.kind == "reserve"
    ]
    assert paid == [[month] for month in months[:published]]
    job = Job("mean")
    for message in told:
        job.heard(message)
    assert job.to_json()["note"].startswith("Stopping" if at == "read" else "The one under way is paid for")
    assert job.cancels == ""
    # Asked again, the rest is released and what was published is shown for nothing.
    again = released(tmp_path / "study.toml", "mean", "2026-01..2026-04", Child(told.append))
    assert again["left"] == []
    assert len([record for record in Ledger.open(study.ledger).records() if record.kind == "reserve"]) == 4


def test_what_can_be_called_off_is_said_on_the_button():
    job, said = Job("mean"), []
    for event in (
        {"event": "part", "name": "2026-01", "number": 1, "of": 2}, {"event": "stage", "stage": "read"},
        {"event": "stage", "stage": "reserve"}, {"event": "part", "name": "2026-02", "number": 2, "of": 2},
        {"event": "stage", "stage": "reserve"},
    ):  # fmt: skip
        job.heard(event)
        said.append(job.cancels)
    first, after, then = (
        "Cancel: nothing is spent yet",
        "Stop after 2026-01, which is paid for",
        "Stop: nothing is spent",
    )
    assert said == [first, first, after, f"{then} after 2026-01", ""]
    assert job.to_json()["part"] == "2026-02, 2 of 2"


def test_a_file_whose_name_is_in_another_encoding_reaches_the_child(tmp_path):
    child = asyncio.run(_ordered(tmp_path, {"do": "release", "file": "caf\udce9.toml", "question": "mean"}))
    assert child["problem"] == "There is no study file 'caf\\udce9.toml'."
