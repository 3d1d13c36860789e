"""What the page offers: kinds of spaces and of questions, each with its fields, a sentence, and a page of the docs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from barrow.questions import question_kinds
from barrow.spaces import Circle, Space
from barrow.spaces.augmented import base_space
from barrow.spaces.grids import cell_range, takes_cells

Field = dict[str, Any]


def _field(name: str, label: str, kind: str, about: str, **more: Any) -> Field:
    return {"name": name, "label": label, "kind": kind, "about": about, **more}


_STEP = "Records are moved to the middle of their cell; a finer grid leaves more of α and takes more time."
SPACES: list[dict[str, Any]] = [
    {
        "id": "earth",
        "name": "Places on Earth",
        "about": "Records are pairs of latitude and longitude in degrees.",
        "fixed": {"kind": "earth"},
        "fields": [
            _field("box", "Box", "box", "South, west, north, east in degrees: public, and never learnt from records.",
                   value=[10, -172, 72, -59]),
            _field("cell", "Width of the cells", "grid", _STEP, value=50, unit="km"),
        ],
    },
    {
        "id": "line",
        "name": "A number: ages, prices, minutes",
        "about": "Records are numbers between two public ends.",
        "fixed": {"kind": "line"},
        "fields": [
            _field("low", "From", "number", "The public lower end.", value=0),
            _field("high", "To", "number", "The public upper end.", value=100),
            _field("step", "Width of the cells", "grid", _STEP, value=1),
            _field("unit", "Unit", "text", "What distances are measured in; promises use it.", value="years"),
        ],
    },
    {
        "id": "hours",
        "name": "Hours of the day",
        "about": "Records are numbers from 0 to 24; midnight is next to 23:59.",
        "fixed": {"kind": "circle", "period": 24.0, "unit": "h"},
        "fields": [_field("step", "Width of the cells", "grid", _STEP, value=1, unit="h")],
    },
    {
        "id": "weekdays",
        "name": "Days of the week",
        "about": "Records are Mon, Tue, Wed, Thu, Fri, Sat or Sun; Sunday is next to Monday.",
        "fixed": Circle.weekdays().to_spec(),
        "fields": [],
    },
    {
        "id": "week",
        "name": "Weekday and hour together",
        "about": "Records are a weekday and an hour, each around its own circle.",
        "fixed": {"kind": "week"},
        "fields": [_field("step", "Width of the cells", "grid", _STEP, value=1, unit="h")],
    },
    {
        "id": "labels",
        "name": "Labels, all equally far apart",
        "about": "Records are labels of a public list, one a line.",
        "fixed": {"kind": "discrete"},
        "fields": [
            _field("labels", "Labels", "lines", "One a line; the list is public.", value=["red", "green", "blue"]),
        ],
    },
    {
        "id": "tree",
        "name": "Nested categories",
        "about": "Records are paths such as US/NY/JFK; the earlier two differ, the farther apart they are.",
        "fixed": {"kind": "tree"},
        "fields": [
            _field("paths", "Paths", "lines", "One a line, all of the same depth; the list is public.",
                   value=["food/cafe", "food/bakery", "health/doctor", "health/pharmacy"]),
            _field("distances", "Distances", "numbers", "How far apart two items are that first differ at each level.",
                   value=[1, 0.25]),
        ],
    },
    {
        "id": "embedding",
        "name": "Words or things with vectors",
        "about": "Records are labels; how far apart two are is said by public vectors.",
        "fixed": {"kind": "embedding"},
        "fields": [
            _field("labels", "Vectors", "vectors", "A label and its numbers a line, with spaces between; public.",
                   value=["cat 1 0.9", "dog 0.9 1", "car -1 0.2"]),
            _field("metric", "Metric", "choice", "How vectors are compared.", choices=["euclidean", "angular"],
                   value="euclidean"),
        ],
    },
    {
        "id": "other",
        "name": "Another space",
        "about": "Any space of the library, as it is written on the command line.",
        "fixed": {},
        "fields": [
            _field("call", "Space", "text", "A kind with named arguments.",
                   value="euclidean(low=[0, 0], high=[1, 1], step=0.1)"),
        ],
    },
]  # fmt: skip

_ITEMS = (
    _field("items", "Items of each person", "whole", "Where everybody holds the same public number of items."),
    _field("samples", "Items drawn from each person", "whole", "Where people hold any number of them."),
)
QUESTIONS: list[dict[str, Any]] = [
    {"kind": "density", "name": "A smooth map", "about": "The share of people near each place.",
     "fields": [_field("bandwidth", "Smoothed over", "distance", "How far apart the places are; a larger distance "
     "means less noise.",
                       value="400 km", required=True)]},
    {"kind": "histogram", "name": "A histogram", "about": "The share of people in each cell, decoded from noisy sums.",
     "fields": [
         _field("decode", "Decoder", "choice", "auto has the least error on average; nearest has a proven bound.",
                choices=["auto", "nearest"], value="auto"),
         _field("items", "Items of each person", "whole", "Only where everybody holds the same public number."),
     ]},
    {"kind": "mean", "name": "A mean", "about": "The mean over people of the mean of their items.", "fields": []},
    {"kind": "quantile", "name": "Quantiles", "about": "Below which value a share of people's items lies (lines only).",
     "fields": [_field("of", "Shares", "numbers", "One share between 0 and 1, or several.", value=[0.5])]},
    {"kind": "circular_mean", "name": "A mean direction", "about": "Mean and spread around a circle, such as hours of "
     "the day.", "fields": []},
    {"kind": "distance", "name": "A mean distance", "about": "How far people's items are from a public place.",
     "fields": [_field("to", "To", "record", "A place: lat, lon; or a number, or a label.", value=[40.64, -73.78],
                       required=True)]},
    {"kind": "region", "name": "The share in a region", "about": "The share of people's items within a public circle.",
     "fields": [
         _field("center", "Centre", "record", "A place: lat, lon; or a number, or a label.", value=[40.64, -73.78]),
         _field("radius", "Radius", "distance", "How far the region reaches.", value="500 km"),
         _field("ramp", "Fading over", "distance", "Over which distance the share falls to 0: longer is less noisy.",
                value="500 km", required=True),
     ]},
    {"kind": "similarity", "name": "Likeness to vectors", "about": "The mean product of people's vectors with public "
     "ones.", "fields": [_field("to", "Vectors", "rows", "One a line, numbers with spaces between.", value=[[1, 0]],
                                required=True)]},
    {"kind": "projection", "name": "A linear map of vectors", "about": "The mean of people's vectors, multiplied by a "
     "public matrix.", "fields": [_field("matrix", "Matrix", "rows", "One output a line.", value=[[1, 1]],
                                         required=True)]},
    {"kind": "function", "name": "A function of your own", "about": "The mean over people of a public value for each "
     "item.", "fields": [_field("values", "Values", "numbers", "One for each item, in the space's order.",
                                value=[0, 1], required=True)]},
    {"kind": "frequency", "name": "How often items occur, from noisy items", "about": "Every item is randomised on "
     "its own.", "fields": list(_ITEMS)},
    {"kind": "items", "name": "Noisy items themselves", "about": "A list or histogram of randomised items.",
     "fields": [*_ITEMS, _field("output", "Output", "choice", "How often each report occurs, or all of them.",
                                choices=["histogram", "list"], value="histogram")]},
    {"kind": "spread", "name": "A mean and a standard deviation", "about": "Of people's items on a line, each person "
     "counting once.", "fields": []},
    {"kind": "total", "name": "A total of one number a person", "about": "The number of people times their mean; the "
     "study's per_person says which number.", "fields": []},
    {"kind": "person", "name": "A number about whole people", "about": "The mean over people of a number that all data "
     "of a person give together.", "fields": [
         _field("function", "Number", "choice", "spread: how far apart two of a person's items are; radius: how far "
                "from their best centre; share: whether more than about a part of them lies in a region; distance: how "
                "far they are from public records.", choices=["spread", "radius", "share", "distance"], value="spread"),
         _field("region", "Region of a share", "text", "One label; a circle is written in the study file."),
         _field("above", "More than about", "text", "For a share: such as 10 %."),
         _field("ramp", "Fading over", "text", "For a share: such as 10 %, from 5 % to 15 %."),
     ]},
    {"kind": "workload", "name": "Several questions in one release", "about": "Its parts are written in the study "
     "file; the page keeps them.", "fields": []},
]  # fmt: skip
START: dict[str, Any] = {
    "dataset": "example",
    "users": 4043,
    "space": {"kind": "earth", "box": [10, -172, 72, -59], "cell": 50},
    "promise": [
        {"share": "1 day of 50", "distance": "1000 km", "epsilon": "0.1"},
        {"share": "all", "distance": "200 km", "epsilon": "1"},
    ],
    "question": [{"kind": "density", "name": "map", "bandwidth": "400 km"}],
}
"""What the page begins with where there is no study file."""


def entry_of(spec: Mapping[str, Any]) -> str:
    """Which entry of the catalogue describes a space; ``""`` where it is kept as the file has it."""
    for entry in SPACES:
        fields = {field["name"] for field in entry["fields"]} | ({"vectors"} if entry["id"] == "embedding" else set())
        fixed = entry["fixed"]
        if fixed and all(spec.get(key) == value for key, value in fixed.items()) and set(spec) <= fields | set(fixed):
            return str(entry["id"])
    return "other" if "call" in spec else ""


def steps(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … between two numbers."""
    if not 0 < low < high < math.inf:
        return []
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    results = [float(f"{m}e{k}") for k in range(first, last + 1) for m in (1, 2, 5)]
    return [value for value in results if low * (1 - 1e-12) <= value <= high * (1 + 1e-12)]


def distances(space: Space) -> list[str]:
    """Distances for a slider: from about two cells to a quarter of the largest one, in the space's unit."""
    cell = max(4 * space.snapping_upper, 1e-3) * space.diameter * 0.9
    return [f"{value:g} {space.unit}".strip() for value in steps(cell, space.diameter / 4)]


def grids(space: Space) -> list[float]:
    """Widths of cells for a slider: from some dozens of cells to some hundred thousand."""
    inner = base_space(space)
    known = cell_range(inner)
    return [] if known is None else [size for size in steps(*known) if takes_cells(inner, size)]


def catalogue() -> dict[str, Any]:
    """All that the page offers; every kind of question of the library is in it."""
    known = {row["kind"] for row in QUESTIONS}
    others = [
        {"kind": kind, "name": kind.capitalize(), "about": "", "fields": []} for kind in question_kinds()
        if kind not in known
    ]  # fmt: skip
    return {"spaces": SPACES, "questions": [*QUESTIONS, *others]}
