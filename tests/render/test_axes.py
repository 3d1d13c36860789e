"""Figures in axes of matplotlib have the numbers, classes and units of our own."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest

import barrow as bw
from barrow.errors import ParameterError
from barrow.numerics.places import Places
from barrow.render import figures as fig
from barrow.render.figures.figure import LIGHT


@pytest.fixture(scope="module", autouse=True)
def _agg():
    """Loaded when one of these tests runs: it takes a second, and every process of a run collects this file."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("Agg")


def empty_figure():
    from matplotlib.figure import Figure

    return Figure()


def to_hex(colour) -> str:
    from matplotlib.colors import to_hex as named

    return named(colour)


@pytest.fixture
def ax():
    figure = empty_figure()
    yield figure.subplots()
    figure.savefig(io.BytesIO(), format="png", dpi=40)  # texts and ticks are laid out only here


def ticks(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def whiskers(ax) -> list[list[float]]:
    """The ends of error bars, of whichever direction."""
    paths = [np.asarray(segment) for segment in ax.collections[0].get_segments()]
    return [sorted(set(path[:, int(path[0, 0] == path[1, 0])].tolist())) for path in paths]


def painted(ax) -> dict[str, int]:
    """How many polygons have which colour; "none" is hatched."""
    counts = {}
    for each in ax.collections:
        colours = each.get_facecolor()
        counts[to_hex(colours[0]) if len(colours) else "none"] = len(each.get_paths())
        assert bool(each.get_hatch()) == (not len(colours))
    return counts


def test_bars_are_hatched_below_the_noise_and_whiskers_of_shares_end_at_0(ax):
    figure = fig.bars(["tea $x^$", "mud"], [0.2, 0.01], low=[0.1, -0.05], high=[0.3, 0.06], noise=0.05)
    assert bw.plot(figure, ax=ax) is ax
    full, hatched = ax.patches
    assert (full.get_width(), full.get_hatch(), to_hex(full.get_facecolor())) == (0.2, None, LIGHT["q3"])
    assert (hatched.get_width(), bool(hatched.get_hatch()), hatched.get_facecolor()[3]) == (0.01, True, 0)
    assert whiskers(ax) == [pytest.approx([0.1, 0.3]), pytest.approx([0.0, 0.06])]
    assert ticks(ax.yaxis) == ["tea $x^$", "mud"]
    assert ax.xaxis.get_major_formatter()(0.1, 0) == "10 %"


@pytest.mark.parametrize("bins", [20, 100])
def test_a_histogram_is_bars_or_steps_with_its_units(ax, bins):
    values = np.linspace(0.0, 2.0 / bins, bins)
    space = bw.Line(0, 100, step=100 / bins, cells=True, unit="min")
    bw.plot(space, values, low=values - 0.001, high=values + 0.001, noise=0.004, ax=ax)
    above = values > 0.004
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim()) == ("min", "share of people's records", (0, 100))
    if bins == 20:
        assert [bar.get_height() for bar in ax.patches] == [*values[above], *values[~above]]
        assert [bool(bar.get_hatch()) for bar in ax.patches] == [False] * above.sum() + [True] * (~above).sum()
        assert whiskers(ax)[-1] == pytest.approx([values[-1] - 0.001, values[-1] + 0.001])
    else:
        full, hatched, band = (patch.get_data() for patch in ax.patches)
        np.testing.assert_array_equal(full.values, np.where(above, values, np.nan))
        np.testing.assert_array_equal(hatched.values, np.where(above, np.nan, values))
        np.testing.assert_allclose(band.values - band.baseline, np.where(above, 0.002, np.nan))


def test_hours_of_a_day_are_columns_along_it(ax):
    bw.plot(bw.Circle.hours(6), [0.1, 0.2, 0.3, 0.4], ax=ax)
    assert [(bar.get_center()[0], bar.get_height()) for bar in ax.patches] == [(3, 0.1), (9, 0.2), (15, 0.3), (21, 0.4)]
    assert ax.get_xlabel() == "h"


def test_means_are_points_with_intervals(ax):
    bw.plot(fig.points(["mean", "median"], [35.0, 30.0], low=[32, 29], high=[38, 33], unit="min", turn=24.0), ax=ax)
    assert ax.lines[0].get_xdata().tolist() == [35.0, 30.0]
    assert whiskers(ax) == [[32, 38], [29, 33]]
    assert ax.get_xlabel() == "min"
    assert ax.xaxis.get_major_formatter()(25.0, 0) == "1"  # round the clock
    assert ticks(ax.yaxis) == ["mean", "median"]


def test_cells_of_a_map_have_the_classes_of_our_own(ax):
    cells = Places.cells([40, 40, 41], [-75, -74, -75], [41, 41, 42], [-74, -73, -74])
    figure = fig.map_figure(cells, [0.01, 0.4, 0.1], noise=0.02, box=(40, -75, 42, -73), crop=False)
    bw.plot(figure, ax=ax)
    counts = painted(ax)
    assert sum(counts.values()) == 3
    assert counts["none"] == 1
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert all(name in figure.svg for name in legend)
    assert all(f"q{shade}" in figure.svg for shade in range(1, 6) if LIGHT[f"q{shade}"] in counts)
    darkest = ax.collections[-1]
    assert to_hex(darkest.get_facecolor()[0]) == LIGHT["q5"]
    assert darkest.get_paths()[0].vertices[:, 0].min() == -74  # longitudes go to the right
    assert (ax.get_xlim(), ax.get_ylim()) == ((-75, -73), (40, 42))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("longitude (°E)", "latitude (°N)")
    assert ax.get_aspect() == pytest.approx(1 / np.cos(np.radians(41)))


def test_points_of_a_map_are_discs(ax):
    bw.plot(fig.map_figure(Places.points([40, 41], [0, 1]), [0.01, 0.4], noise=0.02, crop=False), ax=ax)
    assert [each.get_offsets().tolist() for each in ax.collections] == [[[0, 40]], [[1, 41]]]


def test_a_plane_has_its_second_coordinate_upwards_and_a_matrix_its_rows_downwards(ax):
    plane = bw.Euclidean([0, 0], [4, 2], step=1, unit="km")
    values = np.full(plane.shape, 0.01)
    values[3, 0] = 0.9  # x from 3 to 4, y from 0 to 1
    bw.plot(plane, values.ravel(), noise=0.05, ax=ax)
    hatched, full = ax.collections
    assert (full.get_paths()[0].get_extents().extents.tolist(), len(hatched.get_paths())) == ([3, 0, 4, 1], 7)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()) == ("x (km)", "y (km)", (0, 2))
    ax.clear()
    bw.plot(fig.matrix(["Mon", "Tue"], ["am", "pm"], [[0, 0], [0, 0.9]], noise=0.05), ax=ax)
    assert ax.collections[1].get_paths()[0].get_extents().extents.tolist() == [0.5, 0.5, 1.5, 1.5]
    assert (ax.get_ylim(), ticks(ax.yaxis), ticks(ax.xaxis)) == ((1.5, -0.5), ["Mon", "Tue"], ["am", "pm"])


def test_what_cannot_be_drawn_says_what_can(ax, monkeypatch):
    with pytest.raises(ParameterError, match="maps") as caught:
        bw.plot(bw.Tree([("a", "b", 1.0), ("c", "b", 1.0)]), [0.5, 0.5], title="Boxes", ax=ax)
    assert '"Boxes" cannot be drawn into axes' in str(caught.value)
    assert not ax.has_data()
    bars = fig.bars(["tea"], [0.2])
    for other in (empty_figure().add_subplot(projection="polar"), "left", empty_figure()):
        with pytest.raises(ParameterError, match="axes of matplotlib with x and y"):
            bw.plot(bars, ax=other)
    monkeypatch.delitem(sys.modules, "matplotlib.axes")
    with pytest.raises(ParameterError, match="axes of matplotlib"):  # nothing is loaded for what is no axes
        bw.plot(bars, ax="left")
    assert "matplotlib.axes" not in sys.modules
