"""Figures: numbers in, SVG text out.

Every figure carries its title and its findings as text, is drawn for light and dark, reads itself out by pointer and
keyboard where a page brings :func:`script`, and has the same bytes whenever its numbers are the same. Bounds are
rounded to their safe side by :func:`at_most` and :func:`at_least`.
"""

from barrow.figures.accuracy import Here, growth, loglog, sweep, tradeoff
from barrow.figures.bars import bars, histogram
from barrow.figures.belief import Kept, belief, hundred
from barrow.figures.curves import Curve
from barrow.figures.figure import Figure, bundle, document, script, stylesheet
from barrow.figures.icicle import icicle
from barrow.figures.map import map_figure
from barrow.figures.matrix import matrix
from barrow.figures.places import Places
from barrow.figures.ring import ring
from barrow.figures.timeline import Step, timeline
from barrow.numerics.exact import at_least, at_most, between, near
