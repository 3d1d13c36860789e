"""Products: promises for each part, how they are written, one ledger for all grids, marginals from one draw."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from barrow.cli.main import cli
from barrow.errors import ParameterError
from barrow.ledger import Ledger
from barrow.ledger.budget import SpaceRef
from barrow.ledger.promises import PromiseLimit
from barrow.promises import Promise
from barrow.questions import Histogram
from barrow.spaces import Circle, Discrete, Euclidean, Line, NoRecords, Product, parse_distance, parse_space
from barrow.study import Study, read, verify

ROAD = Line(0, 50, unit="km", step=5, cells=True)
WHERE_WHEN = Product([ROAD, Circle.hours(6)], weights=["3/4", "1/4"])


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("5 km and 2 hours", Fraction(3, 4) / 10 + Fraction(1, 4) / 6),
        ("2 h and 5 km", Fraction(3, 4) / 10 + Fraction(1, 4) / 6),
        ("5000 m + 120 min", Fraction(3, 4) / 10 + Fraction(1, 4) / 6),
        ("5 km", Fraction(3, 4) / 10),
        ("0 km and 2 hours", Fraction(1, 4) / 6),
        ("0.5 km and 0.25 hours", Fraction(3, 4) / 100 + Fraction(1, 4) / 48),
        ("0.5 km and 0.0 h", Fraction(3, 4) / 100),
        ("0.05 km", Fraction(3, 4) / 1000),
        ("anywhere and 2 hours", Fraction(3, 4) + Fraction(1, 4) / 6),
        ("5 km and anywhere", Fraction(3, 4) / 10 + Fraction(1, 4)),
        ("anywhere", Fraction(1)),
        ("0.2", Fraction(1, 5)),
        ("20 % of the largest distance", Fraction(1, 5)),
    ],
)
def test_distances_of_the_parts_add_up_with_their_weights(text, share):
    assert parse_distance(text, WHERE_WHEN) == share
    assert parse_distance(text, NoRecords(WHERE_WHEN)) == share


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5 years", "no part of the product measures"),
        ("5 km and 2 years", "no part of the product measures"),
        ("5 km and 6 km", "does not say which part"),
        ("0 km", "not above 0"),
        ("0,5 km and 2 hours", "comma does not group"),
        ("1,5 km", "comma does not group"),
        ("70 km", "no part of the product measures"),
    ],
)
def test_what_fits_no_part_is_refused_with_an_example(text, words):
    with pytest.raises(ParameterError, match=words) as wrong:
        parse_distance(text, WHERE_WHEN)
    assert wrong.value.fix


def test_parts_with_one_unit_go_by_their_order():
    home_work = Product([ROAD, Line(0, 100, unit="km", step=5, cells=True)])
    assert parse_distance("5 km and 50 km", home_work) == Fraction(1, 2) / 10 + Fraction(1, 2) / 2
    with pytest.raises(ParameterError, match="does not say which part"):
        parse_distance("5 km", home_work)


def test_a_promise_about_both_parts_sets_alpha():
    study = Study(WHERE_WHEN, ["1/10, 5 km and 2 hours, 0.5"], users=100)
    rho = Fraction(WHERE_WHEN.snapping_upper)
    q = Fraction(3, 4) / 10 + Fraction(1, 4) / 6 + 2 * rho
    assert study.alpha == Fraction(1, 2) / (Fraction(1, 10) * q)
    limit = PromiseLimit.of(Promise("1/10", "5 km and 2 hours", "0.5"), WHERE_WHEN)
    assert limit.text == "a share of 1/10 of the data by 5 km and 2 hours"


def test_products_are_written_with_an_x():
    text = "3/4 line(low=0, high=50, unit='km', step=5, cells=True) x 1/4 hours(step=6)"
    assert parse_space(text) == WHERE_WHEN == Study(text, alpha=1, users=10).space
    assert parse_space("hours x weekdays x months").items == 24 * 7 * 12
    assert parse_space("hours × weekdays").weights == (Fraction(1, 2),) * 2
    assert parse_space("discrete(labels=['a x b', 'c'])").items == 2  # an x in quotes is none
    with pytest.raises(ParameterError, match="some have none"):
        parse_space("3/4 hours x weekdays")
    with pytest.raises(ParameterError, match="sum exactly 1"):
        parse_space("3/4 hours x 3/4 weekdays")
    with pytest.raises(ParameterError, match="cannot be read"):
        parse_space("hours x ")


def test_the_command_line_takes_them(tmp_path):
    flags = ["--space", "line(low=0, high=50, unit='km', step=10, cells=True) x hours(step=12)", "--users", "500"]
    text = CliRunner().invoke(
        cli, ["plan", *flags, "--promise", "1/10, 5 km and 2 hours, 0.5", "--question", "histogram"]
    )
    assert text.exit_code == 0, text.output
    assert "10 items" in text.output
    wrong = CliRunner().invoke(cli, ["plan", *flags, "--promise", "1/10, 5 years, 0.5", "--question", "histogram"])
    assert wrong.exit_code != 0
    assert "5 km and 1.2 h" in str(wrong.exception)


def test_one_ledger_serves_all_grids_of_a_product_and_no_other_weights():
    fine = Product([Line(0, 50, unit="km", step=1, cells=True), Circle.hours(1)], weights=["3/4", "1/4"])
    other = Product([ROAD, Circle.hours(6)], weights=["1/2", "1/2"])
    assert fine.metric_name == WHERE_WHEN.metric_name != other.metric_name
    assert SpaceRef.of(fine).metric == SpaceRef.of(WHERE_WHEN).metric


def records(people=300):
    rng = np.random.default_rng(8)
    km, hours = rng.uniform(0, 50, people), rng.choice([3.0, 9.0, 24.0], people, p=[0.2, 0.5, 0.3])
    table = {"uid": list(range(people)), "km": km.tolist(), "hour": hours.tolist()}
    return read(table, user="uid", item=["km", "hour"])


@pytest.mark.parametrize("missing", ["default item", "no records"])
def test_marginals_come_from_the_same_draw(tmp_path, missing):
    promises = ["all, 5 km and 2 hours, 60"]
    study = Study(
        WHERE_WHEN, promises, users=300, dataset="d", data=records(), questions=[Histogram()], missing=missing
    )
    ledger = Ledger.create(tmp_path / "d.ledger", study)
    result = study.release(ledger=ledger, out=tmp_path / "out")
    joint = np.array([row["share"] for row in result.rows()]).reshape(10, 4)

    def shares(name):
        rows = csv.DictReader((tmp_path / "out" / f"{name}.csv").read_text().splitlines())
        return [float(row["share"]) for row in rows]

    assert shares("marginal_1_line") == pytest.approx(joint.sum(axis=1))
    assert shares("marginal_2_circle") == pytest.approx(joint.sum(axis=0))
    assert np.abs(np.array(shares("marginal_2_circle")) - [0.5, 0.5, 0.0, 0.0]).max() < 0.1  # 24.0 is 0.0
    assert len([record for record in ledger.records() if record.kind == "reserve"]) == 1
    assert all(check.holds for check in verify(tmp_path / "out", ledger=ledger))


def test_weights_are_equal_by_default():
    assert Product([Discrete("ab"), Euclidean([0, 0], [1, 1], step=1), Circle.hours()]).weights == (Fraction(1, 3),) * 3
