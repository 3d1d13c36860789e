"""What internal names do, each by one known answer."""

from __future__ import annotations

from barrow.render.report.release import release_files
from barrow.study import Study
from barrow.study.statement import make_statement


def test_release_files():
    study = Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=1000)
    plan = study.plan("mean")
    said = make_statement(study, plan)
    files = release_files(said, plan.tables([30.0]), plan)
    assert sorted(files) == ["report.html"]
    assert files == release_files(said, plan.tables([30.0]), plan)
