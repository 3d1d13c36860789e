"""What is drawn and read out is what the tables hold: whiskers and spans by their pixels, tooltips by their numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import barrow as bw

CERTAIN = re.compile(r"<title>([^<]*?): (?:([\d.]+) %, )?95 % interval ([\d.]+) % to ([\d.]+) %</title>")


def released(folder, space, question, records, item, promise):
    users = len(set(records["uid"]))
    study = bw.Study(space, [promise], users=users, dataset="drawn", ledger=str(folder / "drawn.ledger"))
    bw.Ledger.create(study.ledger, study)
    return study.release(question, bw.read(records, user="uid", item=item), out=folder / "release")


def axis_of(svg, across):
    """From pixels to values, by two ticks as they are written below or at the left."""
    kind = "tick mid" if across else "tick end"
    found = re.findall(rf'<text x="([\d.]+)" y="([\d.]+)" class="{kind}">(-?[\d.,]+)(?: %)?</text>', svg)
    at = [(float(x) if across else float(y) - 4.0, float(text.replace(",", ""))) for x, y, text in found]
    (p, a), (q, b) = at[0], at[-1]
    return lambda pixel: a + (pixel - p) / (q - p) * (b - a), abs((b - a) / (q - p))


@pytest.fixture(scope="module")
def skewed():
    """2,000 people with five records each, most of them small, some at one end."""
    numbers = np.concatenate([np.arange(9_000) ** 2 % 31, np.full(1_000, 95)])
    return {"uid": np.arange(10_000) % 2_000, "x": numbers.astype(float)}


def test_whiskers_of_a_histogram_are_the_intervals_of_its_table(tmp_path, skewed):
    space = "line(low=0, high=100, step=5, unit='EUR', cells=True)"
    result = released(tmp_path, space, "histogram", skewed, "x", "all, 10 EUR, 1")
    svg = bw.plot(result).svg
    value, pixel = axis_of(svg, across=False)
    drawn = re.findall(r'd="M[\d.]+,([\d.]+)V([\d.]+)[^"]*" class="whisker"', svg)
    rows = result.tables["values"]
    assert len(drawn) == len(rows) == 20
    for (top, foot), row in zip(drawn, rows, strict=True):
        assert value(float(foot)) == pytest.approx(100 * row["low_95"], abs=0.2 * pixel)
        assert value(float(top)) == pytest.approx(100 * row["high_95"], abs=0.2 * pixel)


def test_spans_of_quantiles_are_the_intervals_of_their_table(tmp_path, skewed):
    space = "line(low=0, high=100, step=1, unit='EUR', whole=True)"
    result = released(tmp_path, space, "quantile(of=['0.25', '0.5', '0.9'])", skewed, "x", "all, 10 EUR, 1")
    svg = bw.plot(result).svg
    value, pixel = axis_of(svg, across=True)
    drawn = re.findall(r'd="M([\d.]+),[\d.]+H([\d.]+)" class="span"', svg)
    assert len(drawn) == 3
    for (left, right), row in zip(drawn, result.tables["values"], strict=True):
        assert value(float(left)) == pytest.approx(row["low_95"], abs=0.2 * pixel)
        assert value(float(right)) == pytest.approx(row["high_95"], abs=0.2 * pixel)


def test_tooltips_of_a_map_are_the_intervals_of_its_tables(tmp_path):
    towns = np.array([(40.71, -74.0), (40.75, -73.98), (40.6, -74.2), (40.9, -73.7)])
    people = np.arange(3_000)
    where = towns[np.minimum(people % 7, 3)]
    records = {"uid": people, "lat": where[:, 0], "lon": where[:, 1]}
    space = "earth(box=(40.5, -74.3, 41.0, -73.6), cell=5)"
    result = released(tmp_path, space, "histogram", records, ["lat", "lon"], "all, 5 km, 1")
    tables = result.tables
    known = [(row["low_95"], row["high_95"]) for name in ("values", "regions") for row in tables[name]]
    told = CERTAIN.findall(bw.plot(result).svg)
    assert told
    for _, _, low, high in told:
        width = (float(high) - float(low)) / 100
        # Rounded outwards, by less than a tenth of the half width.
        assert any(
            float(low) / 100 <= a + 1e-12 and b - 1e-12 <= float(high) / 100
            and a - float(low) / 100 <= 0.06 * width and float(high) / 100 - b <= 0.06 * width
            for a, b in known
        )  # fmt: skip
