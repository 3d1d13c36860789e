"""Natural input: what people type works, what is wrong ends in an error that says so, and values print as calls."""

from __future__ import annotations

import inspect
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import barrow
from barrow.errors import BarrowError
from barrow.questions import to_question
from barrow.spaces import Elsewhere

NAMES: dict[str, Any] = {name: getattr(barrow, name) for name in barrow.__all__}
NAMES |= {"Decimal": Decimal, "Elsewhere": Elsewhere, "Fraction": Fraction, "Path": Path, "np": np, "pl": pl}
NAMES |= {"to_question": to_question, "ages": barrow.Line(0, 100, step=1, unit="years")}
NAMES |= {"frame": pd.DataFrame({"uid": [1, 2], "age": [20, 30]})}

NATURAL = """
Study(ages, alpha=0.5)
Study(ages, alpha="5")
Study(ages, alpha="1/3")
Study(ages, alpha=Fraction(1,3))
Study(ages, alpha=Decimal("0.1"))
Study(ages, alpha=np.float64(0.5))
Study(ages, alpha=5, delta=1e-9)
Study(ages, alpha=5, delta="1e-9")
Study(ages, alpha=5, users="1000")
Study(ages, alpha=5, users=1e3)
Study(ages, alpha=5, users=np.int64(3))
Study(ages, "all, 5 years, 0.5")
Study(ages, ["all, 5 years, 0.5"])
Study(ages, ("all", "5 years", 0.5))
Study(ages, ("1 of 30", "5 years", "0.5"))
Study(ages, Promise("all", "5 years", 0.5))
Study(ages, [Promise("all", "5 years", 0.5), ("1/10", "20 years", Fraction(1,2))])
Study(ages, [("all", "5 years", Decimal("0.5")), "1 %, anywhere, 0.2"])
Study(ages, {"share": "all", "distance": "5 years", "epsilon": 0.5})
Study(ages, [{"share": "all", "distance": "5 years", "epsilon": 0.5}])
Study("line(low=0, high=100, step=1)", alpha=1)
Study("earth", alpha=1)
Study({"kind": "circle", "period": 24}, alpha=1)
Study(ages, alpha=5, model="local")
Study(ages, alpha=5, model=Model.SHUFFLE)
Study(ages, alpha=5, questions="mean")
Study(ages, alpha=5, questions=["mean", "histogram"])
Study(ages, alpha=5, questions=Mean)
Study(ages, alpha=5, questions=[Mean(), {"kind": "density", "bandwidth": "5 years"}])
Study(ages, alpha=5, questions={"kind": "mean"})
Study(ages, alpha=5, questions="density(bandwidth='5 years')")
Study(ages, alpha=5, questions={"kind": "mean", "fraction": 0.5})
Study(ages, alpha=5, questions=Mean(fraction="1/3", name="m"))
Study(ages, alpha=5, users=100).plan("mean")
Study(ages, alpha=5, users=100).plan(Mean)
Study(ages, alpha=5, users=100).plan({"kind": "mean"})
Study(ages, alpha=5, users=100).plan(Distance(to=30))
Study(ages, alpha=5, users=100).plan("distance(to=30)")
Study(ages, alpha=5, data=read(frame, user="uid", item="age"))
Study(ages, alpha=5, data=read({"uid": [1, 2], "age": [3, 4]}, user="uid", item="age"))
Study(ages, alpha=5, data=read(pl.DataFrame({'uid': [1], 'age': [3]}), user="uid", items=["age"]))
Study(ages, alpha=5, data={"source": "x.csv", "user": "uid", "items": "age"})
read("visits.parquet", user="uid", item=["lat", "lon"])
read("visits/*.csv", user="uid", item="age")
read("postgresql://me@host/db?table=visits", user="uid", item="age")
read(Path("visits.csv"), user="uid", item="age")
read("visits.csv", user="uid", items=("lat", "lon"), version=3)
Study(ages, alpha=5) == Study(ages, alpha="5")
Study(ages, alpha=5, ledger="x.ledger")
Study(ages, alpha=5, ledger=Path("x.ledger"))
Study(ages, alpha=5, dataset=2026)
Line("0", "100", step="1")
Line(Fraction(0), Decimal("100"), step=Fraction(1,2))
Line(0, 100, step=Decimal("0.5"), unit="km")
Line(0, 10, points=[1, 2.5, "3"])
Circle("24", unit="h", step="1")
Earth(cell="50")
Earth(box=("40", "-74", "41", "-73"), cell=Fraction(20))
Euclidean([0, 0], [3, 4], step="1")
Discrete("abc")
Discrete(["a", "b"])
Product([Line(0, 2, step=1), Circle(4, step=1)], weights=[0.5, "1/2"])
Clustered.grid(2, 3, r="0.25")
Clustered({"x": ["a", "b"], "y": ["c"]}, r=Fraction(1, 4))
Promise("1 of 30", "10 km", "0.5")
Promise("1 day of 30", "10 km", Fraction(1,2))
Promise(0.1, 5, 0.5)
Promise("10 %", "anywhere", 0.5)
Policy(ages, "all, 5 years, 0.5")
Policy(ages, [("all", "5 years", 0.5)], delta=1e-9)
Emd("5", 1e-9)
UserLevel(Decimal("0.1"), "1e-9")
DiscreteEmd(0.2, "1e-12", radius=0.01)
Budget("visits", "1083", ages, Emd(5))
Study(ages, alpha=5, user_level=UserLevel(1))
Study(ages, alpha=5, user_level=(1, 1e-9))
Study(ages, alpha=5, user_level=1)
""".strip().splitlines()

WRONG = """
Study(None, alpha=1)
Study(object(), alpha=1)
Study([], alpha=1)
Study(7)
Density(bandwidth=None)
Function(None)
Distance(None)
Projection(None)
Model("centre")
Source(7)
read("x.csv", user=None, item="age")
read("x.csv", user="uid")
Study(ages, alpha=object())
Study(ages, alpha=[1])
Study(ages, alpha="x")
Study(ages, alpha=True)
Study(ages, alpha=float("nan"))
Study(ages, alpha=1, delta=None)
Study(ages, alpha=1, delta=[0])
Study(ages, alpha=1, users="many")
Study(ages, alpha=1, users=[3])
Study(ages, alpha=1, users=object())
Study(ages, None)
Study(ages, 7)
Study(ages, [None])
Study(ages, [7])
Study(ages, [[]])
Study(ages, [("all", None, None)])
Study(ages, [("all", "5 km", 0.5)])
Study(ages, object())
Study(ages, alpha=1, questions=7)
Study(ages, alpha=1, questions=[None])
Study(ages, alpha=1, questions=object())
Study(ages, alpha=1, questions=[7])
Study(ages, alpha=1, questions=int)
Study(ages, alpha=1, model=None)
Study(ages, alpha=1, model=7)
Study(ages, alpha=1, model="lokal")
Study(ages, alpha=1, model=[])
Study(ages, alpha=1, data=7)
Study(ages, alpha=1, data=object())
Study(ages, alpha=1, data=[1])
Study(ages, alpha=1, ledger=7)
Study(ages, alpha=1, ledger=object())
Study(ages, alpha=1, user_level="x")
Study(ages, alpha=1, dataset=[])
Study(ages, alpha=1).plan(7)
Study(ages, alpha=1, users=3).plan([])
Study(ages, alpha=1, users=3).plan("distance(to='x')")
Study(ages, alpha=1, users=3).plan(Distance(to=object()))
Study(ages, alpha=1, users=3).plan(Density(bandwidth=object()))
Study(ages, alpha=1, users=3).release("mean")
Study.read(7)
Study.read(None)
Study.read("nowhere.toml")
Study.from_spec(None)
Study.from_spec([])
read(7, user="uid", item="age")
read(object(), user="uid", item="age")
read([1, 2], user="uid", item="age")
read("x.csv", user=7, item="age")
read("x.csv", user="uid", item=7)
read("x.csv", user="uid", item=[None])
read("x.csv", user="uid", item="age", outside=7)
read("x.csv", user="uid", item="age", sql=7)
Ledger("x")
Ledger(7)
Ledger(None)
Ledger.open("x")
Ledger.create("b.ledger", None)
Ledger.create("b.ledger", 7)
Ledger.create(7, Study(ages, alpha=5, users=3, dataset="a"))
Line(None, 1)
Line("a", "b")
Line(0, 1, step=object())
Line(0, 1, step=[1])
Line(0, 1, unit=7)
Line(0, 1, step=1, default="x")
Circle(None)
Circle(24, step="x")
Earth(box=7)
Earth(box="x")
Earth(cell=None, box=[1])
Earth(cell=object())
Euclidean(None, None)
Euclidean([0], object())
Euclidean()
Discrete(None)
Discrete(7)
Discrete([1, 2])
Discrete([[]])
Finite(None, None)
Finite(["a"], object())
Tree(None)
Tree([1])
Clustered(None, r=0.5)
Clustered({"a": 7}, r=0.5)
Clustered.grid(None, 2, r=0.5)
Embedding(None, None)
Embedding(["a"], "x")
Product(None, weights=None)
Product([1], weights=[1])
Graph(None)
Graph([7])
Hexagons(None)
Covariates(None)
Promise(None, None, None)
Promise("all", object(), 0.5)
Promise("all", "5 km", object())
Promise([], "5 km", 0.5)
Policy(None, None)
Policy(ages, None)
Policy(ages, 7)
Emd(None)
Emd([])
Emd(object())
UserLevel(None)
Budget(None, None, None, None)
Budget("v", "x", ages, Emd(5))
Budget("v", 3, 7, Emd(5))
Budget("v", 3, ages, 7)
Source.parse(7)
emd(None, [1], [2])
emd(ages, None, [1])
emd(ages, "x", "y")
price(None)
price(7)
verify(None)
verify(7)
verify("nowhere")
read_study(7)
write_study(None, "x.toml")
write_study(Study(ages, alpha=1), None)
space_from_spec(None)
space_from_spec(7)
Release.read(7)
Release.read("nowhere")
Server(None)
Report(None, None, None)
Report("a", "b", 7)
Mean(fraction=object())
Mean(fraction="x")
Mean(name=7)
Items(items="x")
Frequency(items=object())
to_question(None)
to_question([])
to_question(object())
to_question({"kind": 7})
to_question("")
Study(ages, alpha=5, data=frame)
Study(ages, alpha=5, data="visits.csv")
""".strip().splitlines()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_there_are_many():
    assert len(NATURAL) >= 60
    assert len(WRONG) >= 60


@pytest.mark.parametrize("line", NATURAL)
def test_what_people_type_works(line):
    assert eval(line, dict(NAMES)) is not None


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_a_barrow_error(line):
    with pytest.raises(BarrowError) as error:
        eval(line, dict(NAMES))
    assert error.value.fix


@pytest.mark.parametrize("line", ["Study(ages, alpha=1, user=5)", 'Density(bandwith="1 km")', "Mean(7)"])
def test_arguments_that_a_constructor_does_not_have_are_python_errors(line):
    """In Python itself; a text or a file is answered with the nearest name."""
    with pytest.raises(TypeError, match=r"unexpected keyword argument '(user|bandwith)'|takes 1 positional argument"):
        eval(line, dict(NAMES))
    with pytest.raises(BarrowError, match=r"Density has no option 'bandwith'\. Did you mean 'bandwidth'"):
        barrow.Study(NAMES["ages"], alpha=1, questions="density(bandwith='1 km')")


def test_studies_with_frames_compare():
    frame = NAMES["frame"]

    def study(data):
        return barrow.Study(NAMES["ages"], alpha=5, data=barrow.read(data, user="uid", item="age"))

    assert study(frame) == study(frame)
    assert study(frame) != study(frame.copy())  # another frame may hold other records


VALUES = """
Line(0, 100, step=1, unit="years")
Line(0, 100, step=1, cells=True)
Line(0, 1)
Line(0, 10, points=[1, 2.5, 7], default=2.5)
Line(0, 5, step=1, whole=True)
Circle(24, unit="h", step=1)
Discrete(["a", "b"], default="b")
Euclidean([0, 0], [3, 4], step=1, unit="m")
Euclidean(center=[0, 0], radius=1, step=0.5)
Earth()
Earth(box=(40, -74, 41, -73), cell=20)
Clustered({"x": ["a", "b"], "y": ["c"]}, r=0.25, default="c")
Tree.nested(["US/NY", "US/LA", "FR/Paris"], distances=[1, 0.25])
Embedding(["a", "b"], [[0.0, 1.0], [1.0, 0.0]])
Covariates(["a", "b"], [[0.0, 1.0], [1.0, 0.0]])
Finite(["x", "y"], [[0, 1], [1, 0]])
Graph([("a", "b", 1.5), ("b", "c", 2)], unit="km")
Product([Line(0, 2, step=1), Circle(4, step=1)], weights=["1/2", "1/2"])
Elsewhere(Line(0, 10, step=1, unit="km", whole=True))
Mean()
Mean(name="m", fraction="1/3")
Density(bandwidth="1 km")
Distance(to=3)
Histogram()
Items(items=3)
Frequency(items=2)
Promise("1 of 30", "10 km", 0.5)
Promise("all", "anywhere", "1/3")
read("visits.parquet", user="uid", item=["lat", "lon"])
read("visits.csv", user="uid", item="age", outside="default", version="2026-10")
Study(ages, alpha="1/3")
Study(ages, ["all, 5 years, 0.5", "1 day of 30, 20 years, 0.3"], users=10, dataset="a", questions=["mean", Histogram()])
Study(ages, alpha=5, delta=1e-9, model="shuffle", ledger="x.ledger", user_level=UserLevel(1))
Study("earth(cell=50)", alpha=5, data=read("v.csv", user="u", item=["lat", "lon"]))
""".strip().splitlines()


@pytest.mark.parametrize("line", VALUES)
def test_values_print_as_the_call_that_makes_them(line):
    value = eval(line, dict(NAMES))
    assert eval(repr(value), dict(NAMES)) == value


def test_long_spaces_print_in_short():
    text = repr(barrow.Discrete([f"label-{i}" for i in range(10_000)]))
    assert len(text) < 200
    assert "10,000 items" in text


def test_constructors_keep_their_signatures():
    assert list(inspect.signature(barrow.Line).parameters)[:2] == ["low", "high"]


def test_public_names_load_no_library_that_they_may_never_need():
    """What makes an import slow is what it drags in; a clock would judge the machine instead."""
    heavy = ("pandas", "polars", "pyarrow", "ot", "psycopg", "h3", "matplotlib", "scipy", "duckdb", "flint")
    code = f"import sys; from barrow import {{}}; print([x for x in {heavy!r} if x in sys.modules])"
    for names in [barrow.__all__, ["Study"]]:
        run = [sys.executable, "-c", code.format(", ".join(names))]
        assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n", names


def test_a_study_loads_a_small_part_of_the_package():
    code = "import sys; from barrow import Study; print(sum(name.startswith('barrow') for name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 90
