"""Products of two planes, and of places and hours: how long plans take, and who errs least: ``scripts/bench trips``.

Trips in one box by cells of several widths, 20,000 people: the predicted error of noise along the product's edges, on
every pair of cells, and of user-level DP (normalised, noise and decoding alone), and the CPU seconds of an automatic
plan, with modules loaded. Noise on every pair is tried up to 200,000 pairs. The last line is one JSON object.
"""

from __future__ import annotations

import sys
import time
from typing import cast

from barrow.questions import Histogram
from barrow.questions.histogram_answer import HistogramAnswer
from barrow.spaces import Circle, Earth, Product
from barrow.study import Study
from benchmarks._timing import finish

BOX = (40.55, -74.3, 40.95, -73.7)
MOST_CELLS = 200_000
KINDS = (("edges", "emd"), ("cells", "emd"), ("levels", "user_level"))
SPACES = {
    "trips_900": Product.trips(box=BOX, cell=10),
    "trips_3136": Product.trips(box=BOX, cell=7),
    "trips_9801": Product.trips(box=BOX, cell=5),
    "trips_142884": Product.trips(box=BOX, cell=2.5),
    "trips_915849": Product.trips(box=BOX, cell=1.57),
    "week_904176": Product([Earth(box=BOX, cell=0.65), Circle(168, unit="h", step=1)]),
}


def study_of(space: Product, users: int) -> Study:
    """Promises about both parts."""
    far = ("5 km and 5 km", "1 km and 1 km") if isinstance(space.parts[1], Earth) else ("5 km and 3 h", "1 km and 1 h")
    return Study(space, [f"1 of 10, {far[0]}, 0.5", f"all, {far[1]}, 0.5"], users=users, dataset="trips")


def main(users: int = 20_000) -> None:
    """Prints one row for each space, then all figures as one line of JSON."""
    study_of(Product.trips(box=BOX, cell=15), users).plan("histogram")
    figures: dict[str, float] = {}
    print(f"{'':>14}{'items':>10}{'edges':>9}{'cells':>9}{'levels':>9}{'CPU s of a plan':>18}")
    for name, space in SPACES.items():
        start = time.process_time()  # first, while nothing of the space is known
        study_of(space, users).plan("histogram")
        figures[f"{name}_seconds"] = round(time.process_time() - start, 2)
        errors = []
        for mechanism, definition in KINDS:
            if mechanism == "cells" and space.items > MOST_CELLS:
                errors.append(float("nan"))
                continue
            answer = study_of(space, users).plan(Histogram(mechanism=mechanism, definition=definition))
            errors.append(cast("HistogramAnswer", answer).decoded_error)
            figures[f"{name}_{mechanism}"] = round(errors[-1], 5)
        row = "".join(f"{error:>9.4f}" for error in errors)
        print(f"{name:>14}{space.items:>10,}{row}{figures[f'{name}_seconds']:>18.1f}", flush=True)
    figures["gain_of_edges"] = round(figures["trips_915849_levels"] / figures["trips_915849_edges"], 3)
    figures["gain_by_hour_of_week"] = round(figures["week_904176_levels"] / figures["week_904176_edges"], 3)
    finish(figures)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
