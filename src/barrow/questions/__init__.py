"""Questions: one class for each kind, used by plans, releases, reports of people, comparisons and the command line.

A new kind is one new file in this folder: a class with a ``kind`` is found by itself.
"""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.planning.terms import Terms
    from barrow.questions.answer import Answer
    from barrow.questions.circular_mean import CircularMean
    from barrow.questions.collecting import Collected, ReportSums
    from barrow.questions.density import Density
    from barrow.questions.distance import Distance
    from barrow.questions.frequency import Frequency
    from barrow.questions.function import Function
    from barrow.questions.histogram import Histogram
    from barrow.questions.items import Items
    from barrow.questions.linear import Linear, LinearAnswer
    from barrow.questions.mean import Mean
    from barrow.questions.person import Person
    from barrow.questions.quantile import Quantile
    from barrow.questions.question import Question, declared_parts, question_kinds, to_question
    from barrow.questions.region import Region
    from barrow.questions.similarity import Projection, Similarity
    from barrow.questions.spread import Spread
    from barrow.questions.total import Total
    from barrow.questions.workload import Workload
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "barrow.planning.terms": "Terms",
            ".answer": "Answer",
            ".circular_mean": "CircularMean",
            ".collecting": "Collected ReportSums",
            ".density": "Density",
            ".distance": "Distance",
            ".frequency": "Frequency",
            ".function": "Function",
            ".histogram": "Histogram",
            ".items": "Items",
            ".linear": "Linear LinearAnswer",
            ".mean": "Mean",
            ".person": "Person",
            ".quantile": "Quantile",
            ".question": "Question declared_parts question_kinds to_question",
            ".region": "Region",
            ".similarity": "Projection Similarity",
            ".spread": "Spread",
            ".total": "Total",
            ".workload": "Workload",
        },
    )
