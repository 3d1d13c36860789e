"""What a plan says of questions that would be more accurate as one."""

from __future__ import annotations

import pytest

import barrow as bw
from barrow.questions.together import together_lines
from barrow.spaces import Line

LINE = Line(0, 60, unit="km", step=1)
REGIONS = [bw.Region(name=f"r{c}", center=c, radius="4 km", ramp="6 km") for c in (5, 20, 30, 50)]


def study(*questions: bw.Question, **options: object) -> bw.Study:
    options = {"missing": "default item", **options}
    return bw.Study(LINE, ["all, 6 km, 0.5"], users=2000, questions=questions, **options)  # type: ignore[arg-type]


def lines(one: bw.Study) -> list[str]:
    return together_lines([one.plan(question) for question in one.questions])


@pytest.mark.parametrize("options", [{}, {"delta": "1e-9"}, {"delta": "1e-9", "composition": "quadrature"}])
def test_what_is_said_is_what_the_workload_gives(options: dict[str, str]) -> None:
    (line,) = lines(study(*REGIONS, **options))
    together = study(bw.Workload(parts=REGIONS), **options).plan()
    alone = study(*REGIONS, **options).plan(REGIONS[0])
    assert f"at most {together.error:.3g}"[:11] in line
    assert alone.error > 1.05 * together.error


def test_nothing_is_said_where_nothing_would_be_gained() -> None:
    assert lines(study(REGIONS[0])) == []
    assert lines(study(REGIONS[0], bw.Mean())) == []  # shares and kilometres
    assert lines(study(*REGIONS, missing="no records")) == []
    fixed = [bw.Region(name=f"l{c}", center=c, radius="4 km", ramp="6 km", noise="laplace") for c in (5, 50)]
    assert lines(study(*fixed)) == []
    small = bw.Region(name="small", center=10, radius="4 km", ramp="6 km", fraction="0.9")
    assert lines(study(small, bw.Region(name="other", center=50, radius="4 km", ramp="6 km"))) == []  # it would lose
