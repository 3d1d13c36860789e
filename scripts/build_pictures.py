"""Draws the pictures of docs/figures.md from fixed public example numbers; the same bytes on every run.

The noise is a fixed pattern made by a formula, so nothing here is a release of anybody's data. The pictures of the
bundled data have real counts and noise of a fixed seed: these data are public, and such noise would protect nobody.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from barrow.engines import Counts
from barrow.engines.counts import merged
from barrow.questions import Answer
from barrow.questions.answer import Sample
from barrow.render import figures as fig
from barrow.render.figures.svg import Floats
from barrow.render.idea import idea_still
from barrow.render.released import values_figure
from barrow.study import Study
from barrow.study.statement import make_statement

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
EUROPE = (
    (48.8, 2.3, 2.0, 1.0),
    (52.5, 13.4, 1.5, 0.7),
    (41.9, 12.5, 1.5, 0.6),
    (51.5, 0.0, 1.5, 1.0),
    (40.4, -3.7, 1.4, 0.5),
)
WORLD = ((40, -74, 6, 1.0), (51, 0, 6, 1.0), (35, 139, 5, 1.0), (-23, -46, 5, 0.8), (28, 77, 6, 1.0))


def pattern(count: int, scale: float) -> Floats:
    """Numbers that look like Laplace noise: quantiles in the order of a golden-ratio sequence."""
    u = np.modf(np.arange(1, count + 1) * 0.6180339887498949)[0] - 0.5
    return -scale * np.sign(u) * np.log(np.maximum(1 - 2 * np.abs(u), 1e-12))


def intervals(values: Floats, half: float) -> dict[str, Floats]:
    """Symmetric intervals."""
    return {"low": values - half, "high": values + half}


def hills(lat: Floats, lon: Floats, centres: tuple[tuple[float, float, float, float], ...]) -> Floats:
    """Shares of made-up people about a few centres."""
    total = np.zeros(len(lat))
    for y, x, spread, amount in centres:
        east = (lon - x) * math.cos(math.radians(y))
        total += amount * np.exp(-(((lat - y) / spread) ** 2 + (east / spread) ** 2))
    return total / total.sum()


def grid(box: tuple[float, float, float, float], rows: int, columns: int) -> tuple[fig.Places, Floats, Floats]:
    """The cells of a box and their middles."""
    lat = np.repeat(np.linspace(box[0], box[2], 2 * rows + 1)[1::2], columns)
    lon = np.tile(np.linspace(box[1], box[3], 2 * columns + 1)[1::2], rows)
    return fig.Places.around(lat, lon, box=box), lat, lon


def europe() -> fig.Figure:
    """A map of cells."""
    box = (35.0, -11.0, 60.0, 30.0)
    places, lat, lon = grid(box, 50, 70)
    values = hills(lat, lon, EUROPE) + pattern(len(lat), 6e-5)
    again = hills(lat, lon, EUROPE) + pattern(len(lat), 6e-5)[::-1]
    layers = [fig.FigureLayer("Another draw", "What changes is noise.", [again])]
    return fig.map_figure(
        places, values, **intervals(values, 1.8e-4), noise=6e-4, box=box, layers=layers, title="Where people were"
    )


def world() -> fig.Figure:
    """A map of the world."""
    box = (-60.0, -180.0, 80.0, 180.0)
    places, lat, lon = grid(box, 70, 180)
    values = hills(lat, lon, WORLD) + pattern(len(lat), 2e-5)
    return fig.map_figure(places, values, **intervals(values, 6e-5), noise=2e-4, box=box, title="Where people were")


def hexagons() -> fig.Figure:
    """A map of hexagons about New York."""
    size, shapes, middles = 0.012, [], []
    for i in range(26):
        for j in range(26):
            y, x = 40.55 + 1.5 * size * i, -74.25 + math.sqrt(3) * size * (j + 0.5 * (i % 2)) * 1.32
            turn = [math.radians(60 * k + 30) for k in range(6)]
            shapes.append([(y + size * math.sin(t), x + 1.32 * size * math.cos(t)) for t in turn])
            middles.append((y, x))
    lat, lon = np.array(middles).T
    values = hills(lat, lon, ((40.75, -73.98, 0.05, 1.0), (40.68, -73.95, 0.06, 0.6))) + pattern(len(lat), 3e-4)
    return fig.map_figure(
        fig.Places.polygons(shapes), values, **intervals(values, 9e-4), noise=2.5e-3, title="Taxi rides"
    )


def points() -> fig.Figure:
    """A map of density points."""
    lat, lon = (np.repeat(np.arange(26.0, 50, 1.5), 35), np.tile(np.arange(-124.0, -66, 1.68), 16))
    values = 90 * hills(
        lat, lon, ((40.7, -74, 3, 1), (34, -118, 3, 0.8), (41.9, -87.6, 2.5, 0.6), (29.7, -95.4, 2.5, 0.5))
    )
    values = values / 100 + pattern(len(lat), 8e-4)
    return fig.map_figure(fig.Places.points(lat, lon), values, **intervals(values, 2.4e-3), noise=7e-3, title="Flights")


def ages() -> fig.Figure:
    """A histogram on a line."""
    middle = np.arange(2.5, 100, 5)
    values = middle**1.6 * np.exp(-middle / 14)
    values = values / values.sum() + pattern(20, 0.002)
    return fig.histogram(
        np.arange(0, 101, 5), values, **intervals(values, 0.009), noise=0.016, axis="years", title="Ages"
    )


def hours() -> fig.Figure:
    """A histogram on a circle."""
    t = np.arange(24)
    values = np.exp(-(((t - 8) / 2) ** 2)) + 0.6 * np.exp(-(((t - 18) / 3) ** 2)) + 0.02
    values = values / values.sum() + pattern(24, 0.002)
    names = [f"{h:02d}:00" for h in t]
    return fig.ring(names, values, **intervals(values, 0.008), noise=0.013, title="Hours of the day")


def week() -> fig.Figure:
    """A matrix."""
    t, day = np.arange(24), np.arange(7)[:, None]
    morning = np.exp(-(((t - 8 - 2 * (day > 4)) / 2) ** 2)) * np.where(day > 4, 0.4, 1)
    values = morning + 0.6 * np.exp(-(((t - 18) / 3) ** 2))
    values = values / values.sum() + pattern(168, 0.0006).reshape(7, 24)
    ends = {"low": values - 0.0018, "high": values + 0.0018}
    return fig.matrix(DAYS, [str(h) for h in t], values, **ends, noise=0.0042, title="Days and hours")


def kinds() -> fig.Figure:
    """A histogram on a tree."""
    tree = {
        "leisure": {"pub": 0.22, "park": 0.1, "cinema": 0.09, "gym": 0.07, "museum": 0.02},
        "food": {"bakery": 0.12, "market": 0.07, "café": 0.05, "kiosk": 0.004},
        "work": {"office": 0.1, "workshop": 0.035, "farm": 0.012},
        "health": {"clinic": 0.07, "pharmacy": 0.034, "dentist": 0.005},
    }
    paths, values = [], []
    for top, below in tree.items():
        paths += [top, *(f"{top}/{name}" for name in below)]
        values += [sum(below.values()), *below.values()]
    shares = np.array(values)
    return fig.icicle(paths, shares, **intervals(shares, 0.006), noise=0.008, title="Kinds of places")


def words() -> fig.Figure:
    """Bars."""
    names = [
        "the king",
        "love",
        "night and day",
        "a horse",
        "blood",
        "מלך",
        "my lord chamberlain's men of London",
        "sword",
    ]
    values = np.array([0.21, 0.18, 0.12, 0.09, 0.05, 0.03, 0.02, 0.008])
    return fig.bars(names, values, **intervals(values, 0.011), noise=0.015, title="Words")


def learnt(width: int = 720) -> fig.Figure:
    """Belief curves."""
    far = np.linspace(0, 1400, 200)

    def odds(share: float) -> Floats:
        return 1 / (1 + np.exp(-np.minimum(share * (far / 250 + 0.3), 0.815)))

    shares = (("everything", 1.0), ("half of it", 0.5), ("1 in 10", 0.1), ("1 in 50", 0.02))
    promises = [
        fig.BeliefBound("1 flight of 50 had been 1,000 km elsewhere", 1000, 0.525, float(odds(0.02)[142])),
        fig.BeliefBound("all flights had been 200 km elsewhere", 200, 0.73106, 0.6932),
    ]
    curves = [fig.Curve(name, far, odds(share)) for name, share in shares]
    return fig.belief(curves, promises, worst=0.6932, unit="km", width=width)


def traded() -> fig.Figure:
    """Privacy against accuracy."""
    alphas = np.geomspace(4, 500, 40)
    curves = [
        fig.Curve("this study", alphas, 0.078 / alphas),
        fig.Curve("user-level DP, ε = 1", alphas, np.full(40, 0.0014)),
        fig.Curve("404 people", alphas, 0.78 / alphas, style="faint"),
        fig.Curve("40,430 people", alphas, 0.0078 / alphas, style="faint"),
    ]
    guesses = [(43.1 * math.log(p / (1 - p)) / 0.815, p) for p in (0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999)]
    return fig.tradeoff(
        curves,
        here=fig.Here("this study", 43.1, 0.078 / 43.1),
        guesses=guesses,
        promise="all flights had been 200 km elsewhere",
    )


def grown() -> fig.Figure:
    """Error by the number of people."""
    people = np.geomspace(100, 1e6, 40)
    curves = [fig.Curve("this study", people, 7.3 / people), fig.Curve("user-level DP", people, 80 / people)]
    return fig.growth(curves, here=fig.Here("now", 4043, 7.3 / 4043))


def spent() -> fig.Figure:
    """The ledger."""
    lines = [("map of visits", "3 Feb", 40.0), ("mean distance", "24 Feb", 46.0), ("hours of the day", "4 Apr", 68.0)]
    lines += [("map, 2 km", "19 Apr", 86.0), ("kinds of places", "23 Jun", 116.0)]
    return fig.timeline([fig.Step(*step) for step in lines], 150.0)


def dots() -> fig.Figure:
    """A hundred dots."""
    return fig.hundred(0.6932)


def example_of(name: str, text: str, title: str) -> fig.Figure:
    """A release of bundled data as it might be: its noise has a fixed seed, so it is no release and protects nobody."""
    from dataclasses import replace

    from barrow.demo.examples import EXAMPLES, bundled
    from barrow.noise.source import SeededSource

    example = EXAMPLES[name]
    study = example.study(Path("nowhere"))
    data = replace(study.data, source=str(bundled(example.files[0])))
    plan = study.plan(text)
    counts = data.count(data.engine(), study.space, study.users)
    values = plan.noise.draw(plan.statistics(counts), SeededSource(2013)).values
    return values_figure(make_statement(study, plan), plan.tables(Sample(values)), study.space, title=title)


def flights() -> fig.Figure:
    """The demo's map."""
    return example_of("flights", "map", "Where 4,043 aircraft flew from New York in 2013")


def concepts() -> fig.Figure:
    """The demo's words."""
    return example_of(
        "shakespeare", "concepts", "How near the words of 297 speakers of Shakespeare are to five concepts"
    )


def trips() -> fig.Figure:
    """Flows between six made-up towns, two of which most people work in."""
    lat = np.array([40.71, 40.75, 40.65, 40.85, 40.74, 40.76])
    lon = np.array([-74.01, -73.99, -73.95, -73.87, -74.17, -73.8])
    homes, jobs = np.array([5, 6, 4, 3, 2, 3.0]), np.array([9, 9, 1, 1, 1, 1.0])
    shares = np.outer(homes, jobs) + np.outer(jobs, homes)
    values = (shares / shares.sum()).ravel() + pattern(36, 0.002)
    towns = fig.Places.points(lat, lon)
    return fig.flows_figure(
        towns, towns, values, **intervals(values, 0.006), noise=0.006, box=(40.55, -74.3, 40.95, -73.7),
        title="Trips of made-up people", most_height=420,
    )  # fmt: skip


def commutes() -> fig.Figure:
    """The histogram of docs/index.md: its made-up records, its promises, and noise of a fixed seed."""
    from barrow import Study, read
    from barrow.noise.source import SeededSource

    usual = (15, 25, 25, 40, 55)
    rows = [
        (p, usual[p % 5] + (p * 13 + day * 7) % 13 + (p * 5 + day * 11) % 14 - 12)
        for p in range(1200)
        for day in range(3 + p % 18)
    ]
    people, minutes = zip(*rows, strict=True)
    data = read({"person": list(people), "minutes": list(minutes)}, user="person", item="minutes")
    space = "line(low=0, high=180, unit='min', step=2)"
    promises = ["1 day of 20, 60 min, 0.1", "all, anywhere, 3"]
    study = Study(space, promises, users=1200, dataset="commutes", missing="no records")
    plan = study.plan("histogram")
    noisy = plan.noise.draw(plan.statistics(data.count(data.engine(), study.space, 1200)), SeededSource(2026)).values
    tables = plan.tables(Sample(noisy))
    return values_figure(make_statement(study, plan), tables, plan.terms.space, title="Minutes to work")


def anyone() -> fig.Figure:
    """What that release may tell anyone about one person, at worst."""
    return fig.hundred(0.881)


def quantiles() -> fig.Figure:
    """Quantiles as points on an axis."""
    names, values = ["quantile 0.1", "quantile 0.25", "median", "quantile 0.75", "quantile 0.9"], [16, 22, 33, 45, 60]
    low, high = [14.4, 21.4, 31.4, 44.4, 57.4], [16.6, 23.6, 33.6, 46.6, 61.6]
    return fig.points(names, values, low=low, high=high, unit="min", title="Minutes to work")


def roads() -> fig.Figure:
    """A small network of streets."""
    lanes = [(i, j) for j in range(4) for i in range(6)]
    tails = [k for k, (i, j) in enumerate(lanes) if i < 5] + [k for k, (i, j) in enumerate(lanes) if j < 3]
    heads = [k + 1 for k, (i, j) in enumerate(lanes) if i < 5] + [k + 6 for k, (i, j) in enumerate(lanes) if j < 3]
    places = np.array(lanes, dtype=float)
    apart = np.abs(places[:, None, :] - places[None, :, :]).sum(axis=2)
    values = np.exp(-((places[:, 0] - 3.5) ** 2) / 2 - (places[:, 1] - 1) ** 2) + 0.004
    values = values / values.sum()
    names = [f"{'ABCDEF'[i]}{j + 1}" for i, j in lanes]
    ends = {"low": values - 0.006, "high": values + 0.006}
    return fig.network(names, (np.array(tails), np.array(heads)), apart, values, title="Where people walk", **ends)


def seasons() -> fig.Figure:
    """A mean by month and region."""
    names, groups = ["Jan", "Feb", "Mar", "Apr"] * 2, ["north"] * 4 + ["south"] * 4
    values = [51.0, 54.0, 56.5, 59.7, 42.8, 45.0, 49.0, 52.5]
    low, high = [v - 5.2 for v in values], [v + 5.2 for v in values]
    return fig.intervals(names, values, low, high, unit="years", title="Mean age", joined=True, groups=groups)


def months() -> fig.Figure:
    """A year of monthly means, with the error that the plan of docs/how-to/monthly-report.md has."""
    from barrow import Study, read

    promises = ["1 visit of 5, 30 minutes, 0.5, in any month", "1 visit of 5, 30 minutes, 6, in every month"]
    data = read({"uid": [], "minutes": [], "at": []}, user="uid", item="minutes", time="at", period="month", zone="UTC")
    study = Study(
        "line(low=0, high=120, step=1, unit='minutes')", promises, users=1000, questions=["mean"], periods=12, data=data
    )
    half = study.plan("mean").error
    true = 46.0 + 6.0 * np.cos(2 * math.pi * (np.arange(12) - 1) / 12)
    values = true + np.clip(pattern(12, half / 3), -half, half)
    names = [f"2026-{month:02}" for month in range(1, 13)]
    title = "Mean minutes of a visit, month by month"
    return fig.intervals(names, values, values - half, values + half, unit="minutes", joined=True, title=title)


def regions() -> fig.Figure:
    """Means of public groups of different sizes: each has the whole promise, and the error of its size."""
    from barrow import Grouping, Study

    sizes = {"north": 512, "south": 571, "east": 140, "west": 60}
    groups = [Grouping("region", sizes=sizes)]
    study = Study(
        "line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=sum(sizes.values()), groups=groups
    )
    half = np.array([study.replace(users=n, groups=[]).plan("mean").error for n in sizes.values()])
    values = np.array([44.2, 47.9, 45.1, 52.0]) + pattern(4, 0.3) * half
    title = "Mean age in four regions of 512, 571, 140 and 60 people"
    return fig.intervals(list(sizes), values, values - half, values + half, unit="years", title=title)


def departments() -> fig.Figure:
    """Means within hidden groups of different sizes, one of them empty: docs/how-to/by-department.md."""
    from barrow import Grouping, Study

    names = ["surgery", "radiology", "emergency", "palliative"]
    groups = [Grouping("department", labels=names, distance="60 minutes")]
    promises = ["1 of 10, 30 minutes, 0.5", "1 of 10, another group, 1"]
    study = Study("line(low=0, high=240, step=5, unit='minutes', cells=True)", promises, users=3000, groups=groups)
    plan = study.plan("mean", by="department")
    shares = np.array([0.55, 0.27, 0.175, 0.005])
    sums = shares * (np.array([78.0, 33.0, 59.0, 120.0]) - plan.pair.middles[0])
    exact = np.stack([sums, shares * plan.pair.weight], axis=1).ravel()
    rows = plan.tables(Sample(exact + pattern(8, float(plan.noise.scale))))["values"]
    values = [math.nan if row["value"] is None else row["value"] for row in rows]
    ends = [[row[name] for row in rows] for name in ("low_95", "high_95")]
    title = "Mean minutes of a visit within hidden departments of 55, 27, 17.5 and 0.5 % of all records"
    return fig.intervals(names, values, *ends, unit="minutes", title=title)


def visits() -> fig.Figure:
    """How many visits people make: a histogram of one number a person."""
    from barrow import Line, Study
    from barrow.noise.source import SeededSource

    study = Study(Line(0, 50, step=1, unit="visits", whole=True), ["all, 5 visits, 0.5"], users=20_000)
    plan = study.plan("histogram")
    true = np.append(np.exp(-np.arange(51) / 7.0) * (np.arange(51) + 1.0), 0.0)
    noise = plan.noise.draw(plan.statistics(_nobody(plan)), SeededSource(2026)).values
    noise -= np.asarray(plan.mechanism.matrix @ np.eye(52)[51])
    tables = plan.tables(Sample(np.asarray(plan.mechanism.matrix @ (true / true.sum())) + noise))
    return values_figure(make_statement(study, plan), tables, plan.terms.space, title="Visits of each of 20,000 people")


def drawn(study: Study, question: str, rows: dict[str, list[object]], item: str | list[str], title: str) -> fig.Figure:
    """The picture of a release of made-up records, with noise of a fixed seed."""
    from barrow import read
    from barrow.noise.source import SeededSource

    plan = study.plan(question)
    data = read(rows, user="uid", item=item)
    counts = data.count(data.engine(), plan.terms.space, plan.terms.users)
    values = plan.noise.draw(plan.statistics(counts), SeededSource(2026)).values
    return values_figure(make_statement(study, plan), plan.tables(Sample(values)), plan.terms.space, title=title)


def places() -> fig.Figure:
    """The map of docs/how-to/places.md, for people of three quarters of the city."""
    from barrow import Earth

    city = Earth(box=(40.5, -74.2, 41.0, -73.6), cell=1)
    study = Study(city, ["1 of 30, 10 km, 0.5", "all, 3 km, 0.5", "all, anywhere, 1"], users=40_000)
    spots = ((40.75, -73.99, 5), (40.68, -73.94, 3), (40.86, -73.89, 2))
    rows: dict[str, list[object]] = {"uid": [], "lat": [], "lon": []}
    for uid in range(40_000):
        lat, lon, _ = spots[(0, 0, 0, 0, 0, 1, 1, 1, 2, 2)[uid % 10]]
        rows["uid"].append(uid)
        rows["lat"].append(lat + (uid * 7919 % 101 - 50) / 2000)
        rows["lon"].append(lon + (uid * 104729 % 103 - 51) / 2000)
    return drawn(study, "histogram", rows, ["lat", "lon"], "Visits of 40,000 made-up people")


def survey() -> fig.Figure:
    """The quantiles of docs/how-to/ages-and-hours.md."""
    from barrow import Line

    study = Study(Line(0, 100, step=1, unit="years"), ["all, 5 years, 0.5", "all, anywhere, 1"], users=2000)
    ages = [18 + (uid * 37 % 41) + (uid * 61 % 29) for uid in range(2000)]
    rows: dict[str, list[object]] = {"uid": list(range(2000)), "x": list(ages)}
    return drawn(study, "quantile(of=['0.1', '0.5', '0.9'])", rows, "x", "Ages of 2,000 made-up people")


def friends() -> fig.Figure:
    """The ages of people's neighbours in a graph, docs/how-to/graphs.md, with 20,000 people."""
    space = {"kind": "line", "low": 20, "high": 70, "step": 5, "unit": "years"}
    study = Study(space, ["1 of 20, 10 years, 0.5", "all, anywhere, 1"], users=20_000)
    rows: dict[str, list[object]] = {"uid": [], "x": []}
    for uid in range(20_000):
        for j in range(5):
            rows["uid"].append(uid)
            rows["x"].append(22 + (uid * 7 + j * 11) % 23 + (uid * 13 + j * 17) % 25)
    return drawn(study, "histogram", rows, "x", "Ages of the friends of 20,000 made-up people")


def moods() -> fig.Figure:
    """The survey of docs/how-to/survey-of-phones.md with 5,000 phones, each of which randomises its own answer."""
    study = Study("discrete(labels=['calm', 'glad', 'sad', 'tense'])", alpha=3, users=5000, model="local")
    plan = study.plan("frequency(items=1)")
    expected = plan.estimator.channel.forward(np.array([0.41, 0.27, 0.12, 0.20])) * 5000
    counts = np.round(expected + pattern(4, 0.7) * np.sqrt(expected)).astype(int)
    counts[0] += 5000 - counts.sum()
    tables = plan.tables(Sample(counts))
    return values_figure(make_statement(study, plan), tables, plan.terms.space, title="Moods on 5,000 phones")


def _nobody(plan: Answer) -> Counts:
    """Everybody without records, so that what is drawn is the noise alone."""
    nothing = np.zeros(0, dtype=np.int64)
    return merged(nothing, nothing, nothing, users=0).with_users(plan.terms.users, plan.terms.space.default_item)


RELEASES = {
    "monthly-report": months, "by-region": regions, "by-department": departments, "visits": visits,
    "places": places, "survey": survey, "moods": moods, "friends": friends,
    "flights": flights, "concepts": concepts, "commutes": commutes, "trips": trips, "anyone": anyone,
}  # fmt: skip
ASKED = {
    "mean, ± min": ("mean", "min"),
    "median, ± min": ("quantile(of=0.5)", "min"),
    "histogram, min": ("histogram", "min"),
    "map of a city, km": ("histogram", "km"),
}
"""The questions of docs/how-many-people.md."""


def errors_by_people() -> dict[str, list[float]]:
    """The predicted errors of docs/how-many-people.md, for 100 to 1,000,000 people."""
    from barrow import Earth, Line, Study

    spaces = {
        "min": (Line(0, 180, step=1, unit="min", whole=True), ["all, 5 min, 0.5", "all, anywhere, 1"]),
        "km": (Earth(box=(40.5, -74.2, 41.0, -73.6), cell=1), ["all, 3 km, 0.5", "all, anywhere, 1"]),
    }
    return {
        name: [Study(*spaces[unit], users=10**k).plan(question).error for k in range(2, 7)]
        for name, (question, unit) in ASKED.items()
    }


def people() -> str:
    """How the predicted error falls with the number of people, both axes logarithmic."""
    colours = ("#0b6a94", "#b3390f", "#3f7d20", "#7a4fa3")

    def x(k: float) -> float:
        return 80 + 125 * (k - 2)

    def y(error: float) -> float:
        return 40 + 48 * (2 - math.log10(error))

    grid = [
        f'<path d="M80 {y(10.0**k):.1f}H580" stroke="#d5dbe0"/><text x="72" y="{y(10.0**k) + 4:.1f}" '
        f'text-anchor="end">{10.0**k:g}</text>'
        for k in range(-3, 3)
    ]
    grid += [f'<text x="{x(k)}" y="304" text-anchor="middle">{10**k:,}</text>' for k in range(2, 7)]
    for (name, errors), colour in zip(errors_by_people().items(), colours, strict=True):
        seen = [(x(k), y(error)) for k, error in enumerate(errors, 2) if error > 0]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in seen)
        dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in seen)
        last = seen[-1]
        grid.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>{dots}'
            f'<text x="{last[0] + 9:.1f}" y="{last[1] + 4:.1f}" fill="{colour}">{name}</text>'
        )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 330" role="img" font-family="system-ui, sans-serif" '
        'font-size="13"><title>Predicted error by number of people</title><rect width="720" height="330" fill="#fff"/>'
        f'{"".join(grid)}<text x="330" y="324" text-anchor="middle">people</text><text x="20" y="24">error</text></svg>'
    )


TEXTS = {"idea": idea_still, "people": people}
"""Pictures that are drawn by themselves."""
PICTURES = {
    "map": europe, "map-world": world, "map-hexagons": hexagons, "map-points": points, "histogram": ages, "ring": hours,
    "matrix": week, "icicle": kinds, "bars": words, "belief": learnt, "tradeoff": traded, "growth": grown,
    "timeline": spent, "hundred": dots, "points": quantiles, "network": roads, "intervals": seasons,
}  # fmt: skip


def main() -> None:
    """Write every picture into a folder, docs/pictures by default."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in {**PICTURES, **RELEASES}.items():
        saved = draw().save(folder / f"{name}.svg")
        print(f"{saved}: {saved.stat().st_size:,} bytes")
    for name, drawn in TEXTS.items():
        (folder / f"{name}.svg").write_text(drawn() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
