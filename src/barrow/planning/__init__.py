"""Planning: from a promise to a mechanism that keeps it, from public numbers only."""

from barrow.planning.candidates import Candidate, best_first, reasons, useless
from barrow.planning.compare import compare
from barrow.planning.comparison import Comparison, Rival
from barrow.planning.frequency import FrequencyQuestion, frequency_question
from barrow.planning.goals import Goal, Sampling, goals_for, goals_of, sampling_of
from barrow.planning.histograms import HistogramQuestion, histogram_candidates
from barrow.planning.items import ItemChoice, choose_items
from barrow.planning.linear import linear_errors
from barrow.planning.reduction import ReductionChoice, choose_reduction, inner_alpha_lower
from barrow.planning.references import reference_distribution
from barrow.planning.rivals import Asked, compared, crossover
from barrow.planning.rules import (
    CAVEATS,
    REASONS_FOR,
    Caveat,
    PaperRule,
    paper_rule_central,
    paper_rule_linear,
    paper_rule_local,
)
from barrow.planning.sampling import SamplesTable, compare_samples
from barrow.planning.tree import DecodedError, decoded_error
from barrow.planning.user_level import shuffled_epsilon0, user_level_errors, user_level_histograms

__all__ = [
    "CAVEATS",
    "REASONS_FOR",
    "Asked",
    "Candidate",
    "Caveat",
    "Comparison",
    "DecodedError",
    "FrequencyQuestion",
    "Goal",
    "HistogramQuestion",
    "ItemChoice",
    "PaperRule",
    "ReductionChoice",
    "Rival",
    "SamplesTable",
    "Sampling",
    "best_first",
    "choose_items",
    "choose_reduction",
    "compare",
    "compare_samples",
    "compared",
    "crossover",
    "decoded_error",
    "frequency_question",
    "goals_for",
    "goals_of",
    "histogram_candidates",
    "inner_alpha_lower",
    "linear_errors",
    "paper_rule_central",
    "paper_rule_linear",
    "paper_rule_local",
    "reasons",
    "reference_distribution",
    "sampling_of",
    "shuffled_epsilon0",
    "useless",
    "user_level_errors",
    "user_level_histograms",
]
