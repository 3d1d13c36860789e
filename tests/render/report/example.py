# ruff: noqa: E501 - sentences as a report has them
"""A report with everything in it, from the public example numbers of the figures."""

from __future__ import annotations

import numpy as np

from barrow.render import figures as fig
from barrow.render.report import Learnt, Picture, ReportPage, ReportTable, Section
from tests.render.figures.gallery import PICTURES, narrow


def picture(name: str, caption: str) -> Picture:
    return Picture(PICTURES[name](), caption, narrow(name))


def flights() -> tuple[fig.Figure, fig.Figure, ReportTable]:
    """A map as large as the demo's: 426 cells over North America."""
    box = (10.0, -172.0, 72.0, -59.0)
    lat = np.concatenate([np.full(n, 12 + 3.6 * i) for i, n in enumerate(range(32, 15, -1))])
    lon = np.concatenate([-172 + 113 * (np.arange(n) + 0.5) / n for n in range(32, 15, -1)])
    bumps = np.exp(-(((lat - 36) / 6) ** 2) - ((lon + 84) / 9) ** 2) + 0.4 * np.exp(
        -(((lat - 36) / 5) ** 2) - ((lon + 117) / 6) ** 2
    )
    values = 0.6 * bumps / bumps.sum() + 0.0004 * np.sin(np.arange(len(lat)) * 2.4)
    ends = {"low": values - 0.0018, "high": values + 0.0018, "noise": 0.0055}
    places = fig.Places.around(lat, lon, box=box)
    again = [values + 0.0006 * np.cos(np.arange(len(lat)) * (1.7 + k)) for k in range(2)]
    ends["layers"] = [fig.FigureLayer("Another draw", "What changes is noise.", again)]
    wide = fig.map_figure(places, values, box=box, title="Where aircraft flew", **ends)
    ends["layers"] = [fig.FigureLayer("Another draw", "What changes is noise.", again[:1])]
    small = fig.map_figure(places, values, box=box, title="Where aircraft flew", width=360, **ends)
    order = np.argsort(-values)
    rows = [
        (
            f"{lat[i]:.1f}, {lon[i]:.1f}",
            fig.near(values[i], "%"),
            fig.between(max(values[i] - 0.0018, 0), values[i] + 0.0018, "%"),
        )
        for i in order
    ]
    csv = "lat,lon,value\r\n" + "".join(f"{a},{b},{v}\r\n" for a, b, v in zip(lat, lon, values, strict=True))
    return wide, small, ReportTable(["place", "share", "95 % interval"], rows, numeric=[1, 2], csv=csv)


def example(title: str = "Where aircraft flew from New York") -> ReportPage:
    wide, small, table = flights()
    return ReportPage(
        title,
        "The share of people (their items) near each of 408 places, smoothed over 400 km. Computed from 4,043 aircraft, "
        "which stand in for people; each counts once.",
        kicker="Privacy-preserving release · barrow 0.1.0",
        glance=[
            ("Can anyone find out what one person did?", "Hardly. A 50 % guess can become at most **69.4 %**, whatever that person did, and even if the guesser knows everybody else's data."),
            ("Are small changes hidden better?", "Yes. If 1 flight of 50 had been 1,000 km elsewhere: at most **52.2 %**."),
            ("What is not hidden?", "That the data are about 4,043 people; the space; the question, the noise and their parameters."),
            ("Who saw the raw data?", "Whoever held them before: noise was added centrally."),
            ("Are the numbers exact?", "No. Noise was added on purpose: each value is within **± 0.18 %** with probability 95 %, all at once within ± 0.55 %."),
        ],
        answers=[
            Section(
                "The map",
                ["Share of a person's flights near each place, mean over all people."],
                [Picture(wide, "Places two or more shades apart differ by more than the noise.", small)],
                table,
                ["Each value is within ± 0.18 % with probability 95 %. Hatched places cannot be distinguished from 0."],
            ),
            Section("When they flew", [], [picture("ring", "Hours of the day."), picture("matrix", "Days and hours.")]),
        ],
        learnt=[
            Learnt("1 flight of 50 had been 1,000 km elsewhere", 0.5215),
            Learnt("all flights had been 200 km elsewhere", 0.6932),
            Learnt("everything about one person had been different", 0.6932, worst=True),
        ],
        belief=picture("belief", "1 and 2 are the promises: the bar is what was promised, the circle what is kept."),
        accuracy=[picture("tradeoff", "Predicted before the release, from public numbers only."), picture("growth", "Both errors fall with the number of people.")],
        budget=picture("timeline", "Releases about the same people add up."),
        entries=ReportTable(["day", "release", "α"], [["3 Feb", "map of visits", "40"], ["24 Feb", "mean distance", "6"]], numeric=[2], caption="Entries"),
        warnings=["This release is **not private**: its noise came from a seed."],
        technical=["(α = 43.116, δ = 0)-unbounded EMD-DP (central). Laplace noise of scale 0.000608, rounded to 1/2097152."],
        parameters=[("alpha", "43.116"), ("diameter", "12,284.2 km"), ("space", "earth, 25,070 items"), ("digest", "a" * 64)],
        commands=["barrow verify map            # files, ledger entry, digests", "barrow explain map/statement.json"],
    )  # fmt: skip
