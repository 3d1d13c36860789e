"""Questions: one class for each kind, used by plans, releases, reports of people, comparisons and the command line.

A new kind is one new file in this folder: a class with a ``kind`` is found by itself.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.planning.terms import Terms
    from barrow.questions.base import Question, declared_parts, question_kinds, to_question
    from barrow.questions.circular_mean import CircularMean
    from barrow.questions.collecting import Collected, Collector
    from barrow.questions.density import Density
    from barrow.questions.distance import Distance
    from barrow.questions.frequency import Frequency
    from barrow.questions.function import Function
    from barrow.questions.histogram import Histogram
    from barrow.questions.items import Items
    from barrow.questions.linear import Linear, LinearPlan
    from barrow.questions.mean import Mean
    from barrow.questions.plan import Plan
    from barrow.questions.quantile import Quantile
    from barrow.questions.region import Region
    from barrow.questions.similarity import Projection, Similarity
    from barrow.questions.spread import Spread
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "barrow.planning.terms": "Terms",
            ".base": "Question declared_parts question_kinds to_question",
            ".circular_mean": "CircularMean",
            ".collecting": "Collected Collector",
            ".density": "Density",
            ".distance": "Distance",
            ".frequency": "Frequency",
            ".function": "Function",
            ".histogram": "Histogram",
            ".items": "Items",
            ".linear": "Linear LinearPlan",
            ".mean": "Mean",
            ".plan": "Plan",
            ".quantile": "Quantile",
            ".region": "Region",
            ".similarity": "Projection Similarity",
            ".spread": "Spread",
        },
    )
