"""How far apart the nodes of an edge histogram may be: what is worth trying, from public numbers alone.

Fine nodes blur nothing and are noisy, coarse ones the other way round; planning chooses among them by simulation.
"""

from __future__ import annotations

import numpy as np

from barrow.spaces import Circle, Earth, Euclidean, Line, Space, held

_GAPS = (4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128, 181, 256, 362, 512, 724, 1024)


def spacings(space: Space) -> list[float | None]:
    """What is tried, from coarse to fine: None (nodes as fine as the items) last, and alone without coordinates.

    >>> from barrow.spaces import Line
    >>> spacings(Line(0, 1, step=1/16))
    [0.234375, 0.15625, 0.1171875, 0.08522727272727272, None]
    """
    space = held(space)
    if isinstance(space, Euclidean):
        shape = np.array(space.shape)
        extent = float(((space.high - space.low) * (shape - 1) / shape).max())
        finest = int(shape.max()) - 1
    elif isinstance(space, Line | Circle):
        extent = space.diameter * (float(space.gaps.sum()) if isinstance(space, Line) else 2.0)
        finest = space.items - 1
    elif isinstance(space, Earth):
        extent, finest = space.diameter, max(1, int(space.items**0.5))
    else:
        return [None]
    return [*(extent / gaps for gaps in _GAPS if gaps <= 0.75 * finest), None]
