"""What a client does to one person's items, written down so that any client can do it, and prove it, by itself.

A channel is whole numbers only: stopping weights along a tree (randomised response, GKRR, trees), or a table with the
scale and grid of Laplace noise. The metric goes with it, so that a client proves the channel's parameter from the card
alone (docs/collect-format.md). Everything else needs a client that can plan the study again, as this library can.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from barrow import accounting, mechanisms
from barrow.local import Survey
from barrow.privacy import Guarantee, KNormNoise, Model
from barrow.questions.items import ItemsPlan
from barrow.questions.linear import LinearPlan
from barrow.randomisers.mixture import MixtureRandomiser
from barrow.randomisers.shape import Shape, tree_shape
from barrow.spaces import Clustered, Discrete, Line, Space, Tree

MOST_ENTRIES = 2**20
"""Tables larger than this are not written into cards."""


def local_guarantee(survey: Survey) -> Guarantee:
    """What holds for one person's values even if everybody else colludes: what a client can prove.

    >>> from barrow.study import Study
    >>> study = Study("discrete(labels=['a', 'b'])", alpha=6, users=100, delta="1e-6", model="shuffle")
    >>> print(local_guarantee(Survey(study, "items(items=2)")).definition.model)
    local
    """
    plan = survey.plan
    if not isinstance(plan, ItemsPlan) or plan.itemwise.model is Model.LOCAL:
        return plan.guarantee
    alone = replace(plan.itemwise, users=None, model=Model.LOCAL, delta=Fraction(0))
    return accounting.price(alone.event if plan.samples is None else mechanisms.reduced(alone).event)


def epsilon_upper(survey: Survey) -> Fraction:
    """What one person's values may cost at most, whatever anybody knows: the client's ledger adds these up.

    >>> from barrow.study import Study
    >>> study = Study("discrete(labels=['a', 'b'])", alpha=6, users=100, delta="1e-6", model="shuffle")
    >>> survey = Survey(study, "items(items=2)")
    >>> epsilon_upper(survey) == 2 * survey.plan.itemwise.randomiser.alpha0_upper
    True
    """
    plan = survey.plan
    if isinstance(plan, ItemsPlan):
        return plan.itemwise.items * plan.itemwise.randomiser.alpha0_upper
    return Fraction(local_guarantee(survey).epsilon_at(1))


def channel_of(survey: Survey) -> tuple[dict[str, Any], dict[str, Any]]:
    """The channel and the metric of a survey as plain data.

    >>> from barrow.study import Study
    >>> study = Study("discrete(labels=['a', 'b'])", alpha=6, users=100, delta="1e-6", model="shuffle")
    >>> channel, metric = channel_of(Survey(study, "items(items=2)"))
    >>> channel["kind"], channel["messages"], metric["kind"], metric["depths"]
    ('stops', 2, 'tree', ['0', '1/2', '1/2'])
    """
    plan = survey.plan
    if isinstance(plan, ItemsPlan) and isinstance(plan.itemwise.randomiser, MixtureRandomiser):
        return _stops(plan, plan.itemwise.randomiser)
    made = plan.noise if isinstance(plan, LinearPlan) else None
    laplace = isinstance(made, mechanisms.AdditiveNoise) and made.name == "Laplace"
    if isinstance(plan, LinearPlan) and laplace and isinstance(plan.event, KNormNoise):
        metric = _metric(survey.study.space)
        if metric is not None and survey.study.space.items * plan.noise.dimension <= MOST_ENTRIES:
            return _laplace(plan, plan.noise), metric
    return {"kind": "survey", "messages": survey.collector().length}, {"kind": "survey"}


def _stops(plan: ItemsPlan, randomiser: MixtureRandomiser) -> tuple[dict[str, Any], dict[str, Any]]:
    shape = randomiser.shape
    nodes = zip(shape.starts.tolist(), shape.ends.tolist(), shape.parents.tolist(), randomiser.stops, strict=True)
    channel = {
        "kind": "stops",
        "messages": plan.itemwise.items,
        "sampled": plan.samples is not None,
        "default": plan.space.default_item,
        "alpha0": str(randomiser.alpha0_upper),
        "nodes": [[start, end, parent, str(stop)] for start, end, parent, stop in nodes],
    }
    return channel, {"kind": "tree", "depths": [str(depth) for depth in shape.depths]}


def _laplace(plan: LinearPlan, noise: mechanisms.AdditiveNoise) -> dict[str, Any]:
    table = plan.query.table
    rows = np.asarray(table.integers.toarray() if table.sparse else table.integers)
    return {
        "kind": "laplace",
        "messages": 1,
        "default": plan.space.default_item,
        "alpha": str(Fraction(plan.event.alpha)),  # type: ignore[attr-defined]
        "scale": str(noise.scale),
        "grid": str(noise.grid),
        "step": str(Fraction(table.step)),
        "table": [[str(int(value)) for value in row] for row in rows],
    }


def _metric(space: Space) -> dict[str, Any] | None:
    """The metric as exact fractions of the diameter, where the space is a line or a tree."""
    if isinstance(space, Line):
        low, width = Fraction(space.low), Fraction(space.high) - Fraction(space.low)
        return {"kind": "line", "points": [str((Fraction(float(x)) - low) / width) for x in space.points]}
    if isinstance(space, Clustered | Discrete | Tree):
        shape: Shape = tree_shape(space)
        spans = zip(shape.starts.tolist(), shape.ends.tolist(), shape.parents.tolist(), strict=True)
        return {"kind": "tree", "depths": [str(d) for d in shape.depths], "nodes": [list(span) for span in spans]}
    return None
