"""Planning: from a promise to a mechanism that keeps it, from public numbers only."""

from barrow.planning.frequency import FrequencyQuestion, frequency_question
from barrow.planning.goals import Goal, Sampling, goals_for, goals_of, sampling_of
from barrow.planning.items import ItemChoice, choose_items
from barrow.planning.reduction import ReductionChoice, choose_reduction, inner_alpha_lower
from barrow.planning.sampling import SamplesTable, compare_samples

__all__ = [
    "FrequencyQuestion",
    "Goal",
    "ItemChoice",
    "ReductionChoice",
    "SamplesTable",
    "Sampling",
    "choose_items",
    "choose_reduction",
    "compare_samples",
    "frequency_question",
    "goals_for",
    "goals_of",
    "inner_alpha_lower",
    "sampling_of",
]
