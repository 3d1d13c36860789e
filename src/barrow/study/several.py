"""Several releases of one question in one call: one for each period, and for each grouping."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barrow.errors import ParameterError, optional_library
from barrow.questions import Question
from barrow.questions.answer import Rows
from barrow.study.about import About, release_folder
from barrow.study.outputs import columns_of
from barrow.study.parts import Series
from barrow.study.release import run_release
from barrow.study.result import Release
from barrow.study.study import Study


@dataclass(frozen=True, eq=False)
class ReleaseSeries:
    """Releases of one question, one for each period and grouping; everything in them may be published.

    Args:
        releases: The releases, in the order in which they were asked for.

    >>> len(ReleaseSeries(()))
    0
    """

    releases: tuple[Release, ...]

    def __getitem__(self, index: int) -> Release:
        return self.releases[index]

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def rows(self) -> Rows:
        """The rows of all values, with columns ``period`` and ``group`` where releases are about these."""
        rows = [row for release in self.releases for row in release.rows()]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        order = sorted(columns, key=lambda name: {"period": 0, "group": 1}.get(name, 2))
        return [{name: row.get(name) for name in order} for row in rows]

    def to_pandas(self) -> object:
        """All values in one pandas frame."""
        pandas = optional_library("pandas", extra="frames", purpose="pandas frames")
        frame: object = pandas.DataFrame(columns_of(self.rows()))
        return frame

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.releases))


def places(
    out: str | os.PathLike[str] | None, question: Question, abouts: Sequence[About]
) -> Mapping[About, Path | None]:
    """The folder of each of several releases: OUT/PERIOD/NAME, with the grouping where there are several.

    >>> from barrow.promises import Window
    >>> from barrow.questions import Mean
    >>> months = [About(Window.parse("2026-01")), About(Window.parse("2026-02"))]
    >>> [str(place) for place in places("release", Mean(), months).values()]
    ['release/2026-01/mean', 'release/2026-02/mean']
    """
    if out is None:
        return dict.fromkeys(abouts)
    return {about: release_folder(question, about, place=Path(out)) for about in abouts}


def release_series(
    study: Study,
    question: Question,
    listed: Sequence[Sequence[About]],
    out: str | os.PathLike[str] | None,
    options: Mapping[str, object],
) -> ReleaseSeries:
    """The releases of each grouping, whose periods are planned together and counted in one pass."""
    place = places(out, question, [about for abouts in listed for about in abouts])
    return ReleaseSeries(
        tuple(
            run_release(study, question, out=place[about], about=about, series=series, **options)  # type: ignore[arg-type]
            for series in (Series(study, question, abouts) for abouts in listed)
            for about in series.abouts
        )
    )


def one_of(abouts: Sequence[About]) -> About:
    """The only one; several are a series."""
    if len(abouts) == 1:
        return abouts[0]
    raise ParameterError(
        f"This asks for {len(abouts)} releases at once.",
        allowed="a list for several releases in one call; pool='records' or 'periods' makes one of several periods",
        fix='period=["2026-01..2026-03"], or by=["region", "all"]: a list gives one release for each',
    )
