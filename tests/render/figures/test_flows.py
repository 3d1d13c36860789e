"""Arrows between places: those that stand out, the widest for the largest, and rings where nothing moves."""

from __future__ import annotations

import re

import numpy as np
import pytest

from barrow.errors import ParameterError
from barrow.render.figures import Places, flows_figure
from barrow.render.item_figures import item_figure
from barrow.spaces import Product

TOWNS = Places.points([40.7, 40.8, 40.9], [-74.0, -73.9, -73.8])


def widths(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'class="flow" stroke-width="([0-9.]+)"', svg)]


def test_what_stands_out_is_drawn_and_nothing_else():
    values = np.array([0.3, 0.2, 0.0, 0.1, 0.01, 0.0, 0.02, 0.37, 0.0])
    figure = flows_figure(TOWNS, TOWNS, values, noise=0.05)
    assert len(widths(figure.svg)) == 4
    assert figure.svg.count('class="tip"') == 3  # the fourth stays where it is
    assert widths(figure.svg) == sorted(widths(figure.svg))  # the largest lie above
    assert max(widths(figure.svg)) / min(widths(figure.svg)) == pytest.approx(0.37 / 0.1, rel=0.02)
    assert ">37 %</text>" in figure.svg  # the key says how wide that is
    assert ">9.2 %</text>" in figure.svg
    assert "4 of 9 flows" in figure.description
    assert flows_figure(TOWNS, TOWNS, values, noise=0.05, most=2).description.endswith("The 2 largest are drawn.")


def test_there_and_back_lie_side_by_side():
    values = np.zeros(9)
    values[[1, 3]] = 0.5
    first, second = re.findall(r'd="M([0-9.]+),([0-9.]+)Q([0-9.]+),([0-9.]+) ', flows_figure(TOWNS, TOWNS, values).svg)
    assert first[2:] != second[2:]


def test_trips_of_many_cells_are_arrows_and_of_few_a_matrix():
    many = Product.trips(box=(40.5, -74.3, 41.0, -73.6), cell=10)
    values = np.zeros(many.items)
    values[[5, 70]] = 0.5
    assert 'class="flow"' in item_figure(many, values).svg
    few = Product.trips(box=(40.5, -74.3, 41.0, -73.6), cell=30)
    assert few.items <= 144
    assert 'class="flow"' not in item_figure(few, np.full(few.items, 1 / few.items)).svg


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="8 values for 3 starts and 3 ends"):
        flows_figure(TOWNS, TOWNS, np.ones(8))
