"""How fast and how large figures and reports are: ``scripts/bench look``.

A report with a map as large as the demo's (426 places) and all other sections, and one with a map of 90,000 cells, from
fixed numbers. Seconds are processor time of the first run, which also reads the outlines; the table has the best of
three as well. Then how much longer a release takes with its report, and how often intervals of decoded histograms hold.
The last line is one JSON object.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from barrow.render import figures as fig
from barrow.render.report import Learnt, Picture, ReportPage, ReportTable, Section, report_html
from benchmarks._coverage import figures as coverage

Box = tuple[float, float, float, float]


def a_map(box: Box, rows: int, columns: int, *, width: int = 720, noise: float) -> tuple[fig.Figure, ReportTable]:
    """A map of hills over a grid, and its table."""
    lat = np.repeat(np.linspace(box[0], box[2], 2 * rows + 1)[1::2], columns)
    lon = np.tile(np.linspace(box[1], box[3], 2 * columns + 1)[1::2], rows)
    hills = np.exp(-(((lat - 40.7) / 2) ** 2) - ((lon + 74) / 2.5) ** 2)
    hills += 0.8 * np.exp(-(((lat - 34) / 2) ** 2) - ((lon + 118) / 2.5) ** 2)
    values = hills / hills.sum() + noise * np.sin(2.4 * np.arange(len(lat)))
    low, high = values - 2 * noise, values + 2 * noise
    places = fig.Places.around(lat, lon, box=box)
    figure = fig.map_figure(places, values, low=low, high=high, noise=4 * noise, box=box, width=width)
    order = np.argsort(-values)[:1000]
    rows_said = [[f"{lat[i]:.2f}, {lon[i]:.2f}", fig.near(float(values[i]), "%")] for i in order]
    csv = "lat,lon,value\n" + "".join(f"{a},{b},{v}\n" for a, b, v in zip(lat, lon, values, strict=True))
    return figure, ReportTable(["place", "share"], rows_said, numeric=[1], total=len(values), csv=csv)


def demo() -> str:
    """A whole report with a map of 426 places."""
    box = (10.0, -172.0, 72.0, -59.0)
    (wide, table), (narrow, _) = (a_map(box, 18, 24, width=width, noise=0.001) for width in (720, 360))
    far, alphas = np.linspace(0, 1400, 200), np.geomspace(4, 500, 40)
    shares = (("everything", 1.0), ("half of it", 0.5), ("1 in 10", 0.1), ("1 in 50", 0.02))
    curves = [fig.Curve(name, far, 1 / (1 + np.exp(-np.minimum(s * (far / 250 + 0.3), 0.8)))) for name, s in shares]
    lines = [fig.BeliefBound("all, 200 km elsewhere", 200, 0.7311, 0.69)]
    error = [fig.Curve("this study", alphas, 0.078 / alphas), fig.Curve("user-level DP", alphas, 0.0014 + 0 * alphas)]
    steps = [fig.Step("map", "3 Feb", 40.0), fig.Step("mean", "4 Mar", 46.0)]
    return report_html(
        ReportPage(
            "Where aircraft flew",
            "The share of flights near each place.",
            glance=[("Are the numbers exact?", "No: each is within **± 0.2 %**.")] * 5,
            answers=[Section("The map", ["Shares."], [Picture(wide, "Shares.", narrow)], table)],
            learnt=[Learnt("all flights had been 200 km elsewhere", 0.69)] * 3,
            belief=Picture(*(_both(lambda w: fig.belief(curves, lines, worst=0.69, unit="km", width=w)))),
            accuracy=[Picture(*_both(lambda w: fig.tradeoff(error, here=fig.Here("now", 43, 0.0018), width=w)))],
            budget=Picture(*_both(lambda w: fig.timeline(steps, 50.0, width=w))),
            parameters=[(f"parameter {k}", str(math.pi)) for k in range(30)],
        )
    )


def _both(draw: Callable[[int], fig.Figure]) -> tuple[fig.Figure, str, fig.Figure]:
    return draw(720), "A caption.", draw(360)


def large() -> str:
    """A report with a map of 90,000 cells."""
    figure, table = a_map((25.0, -125.0, 50.0, -66.0), 250, 360, noise=2e-6)
    return report_html(ReportPage("Large", answers=[Section("The map", pictures=[Picture(figure)], table=table)]))


def timed(make: Callable[[], str]) -> tuple[list[float], int]:
    """Processor times of three runs, and the size in bytes."""
    seconds, size = [], 0
    for _ in range(3):
        began = time.process_time()
        size = len(make().encode())
        seconds.append(time.process_time() - began)
    return seconds, size


_RELEASE = """
import sys, tempfile, time
from pathlib import Path
from barrow.demo.examples import bundled, flight_study
from barrow.ledger import Ledger
spent = 0.0
def report(*args):
    global spent
    began = time.process_time()
    from barrow.render.report.release import release_files
    found = release_files(*args)
    spent += time.process_time() - began
    return found
with tempfile.TemporaryDirectory() as folder:
    place = Path(folder)
    (place / "flights.parquet").write_bytes(bundled("flights.parquet").read_bytes())
    study = flight_study(place)
    Ledger.create(str(study.ledger), study)
    study.release(sys.argv[1], out=place / "out", renderers=[report])
print(spent, time.process_time() - spent)
"""


def slower(question: str) -> float:
    """How many times longer the process of a release takes with its report: the least of three fresh processes.

    Both parts are measured in one process, so that what else the machine does falls on both.
    """

    def once() -> float:
        run = subprocess.run(
            [sys.executable, "-c", _RELEASE, question], check=True, capture_output=True, text=True, timeout=120
        )
        report, rest = (float(number) for number in run.stdout.split()[-2:])
        return 1.0 + report / rest

    return min(once() for _ in range(3))


def main() -> None:
    """Print a table and one JSON object."""
    result: dict[str, float] = {}
    for name, make, time_key, size_key in (
        ("report of 426 places", demo, "report_seconds", "report_kb"),
        ("report of 90,000 cells", large, "cells_90k_seconds", "cells_90k_kb"),
    ):
        seconds, size = timed(make)
        print(f"{name}: {seconds[0]:.2f} s at first, {min(seconds):.2f} s then, {size / 1000:.0f} KB")
        result |= {time_key: round(seconds[0], 3), size_key: round(size / 1000, 1)}
    for question, key in (("map", "release_times"), ("distance", "release_mean_times")):
        result[key] = round(slower(question), 3)
        print(f"the demo's {question} is released in {result[key]:.2f} times the time without its report")
    result |= coverage(repeats=1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
