"""Figures: numbers in, SVG text out.

Every figure carries its title and its findings as text, is drawn for light and dark, reads itself out by pointer and
keyboard where a page brings :func:`script`, and has the same bytes whenever its numbers are the same. Bounds are
rounded to their safe side by :func:`at_most` and :func:`at_least`.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily
from barrow.numerics.exact import at_least, at_most, between, near
from barrow.numerics.places import Places
from barrow.render.figures.accuracy import Here, growth, loglog, sweep, tradeoff
from barrow.render.figures.bars import bars, histogram
from barrow.render.figures.belief import BeliefBound, belief, hundred
from barrow.render.figures.curves import Curve
from barrow.render.figures.figure import Figure, bundle, document, script, stylesheet
from barrow.render.figures.icicle import icicle
from barrow.render.figures.layers import FigureLayer
from barrow.render.figures.matrix import matrix
from barrow.render.figures.network import network
from barrow.render.figures.points import points
from barrow.render.figures.ring import ring
from barrow.render.figures.series import intervals
from barrow.render.figures.timeline import Step, timeline

if TYPE_CHECKING:
    from barrow.render.figures.cities import place_names
    from barrow.render.figures.flows import flows_figure
    from barrow.render.figures.geography import cell_reach
    from barrow.render.figures.map import map_figure
else:  # what knows the Earth: most reports need nothing of it
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".cities": "place_names",
            ".flows": "flows_figure",
            ".geography": "cell_reach",
            ".map": "map_figure",
        },
    )
