"""Planning: from a promise to a mechanism that keeps it, from public numbers only."""

from barrow.planning.baselines import decoded_emd, histogram_baselines, local_histogram
from barrow.planning.candidates import Candidate, best_first, reasons, useless
from barrow.planning.compare import Comparison, Crossover, compare
from barrow.planning.crossover import (
    CAVEATS,
    REASONS_FOR,
    Caveat,
    PaperRule,
    crossover_alpha,
    paper_rule_central,
    paper_rule_linear,
    paper_rule_local,
)
from barrow.planning.frequency import FrequencyQuestion, frequency_question
from barrow.planning.goals import Goal, Sampling, goals_for, goals_of, sampling_of
from barrow.planning.histograms import HistogramQuestion, histogram_candidates, user_level_histograms
from barrow.planning.items import ItemChoice, choose_items
from barrow.planning.linear import linear_errors, user_level_errors
from barrow.planning.reduction import ReductionChoice, choose_reduction, inner_alpha_lower
from barrow.planning.references import reference_distribution
from barrow.planning.sampling import SamplesTable, compare_samples
from barrow.planning.tree import DecodedError, decoded_error

__all__ = [
    "CAVEATS",
    "REASONS_FOR",
    "Candidate",
    "Caveat",
    "Comparison",
    "Crossover",
    "DecodedError",
    "FrequencyQuestion",
    "Goal",
    "HistogramQuestion",
    "ItemChoice",
    "PaperRule",
    "ReductionChoice",
    "SamplesTable",
    "Sampling",
    "best_first",
    "choose_items",
    "choose_reduction",
    "compare",
    "compare_samples",
    "crossover_alpha",
    "decoded_emd",
    "decoded_error",
    "frequency_question",
    "goals_for",
    "goals_of",
    "histogram_baselines",
    "histogram_candidates",
    "inner_alpha_lower",
    "linear_errors",
    "local_histogram",
    "paper_rule_central",
    "paper_rule_linear",
    "paper_rule_local",
    "reasons",
    "reference_distribution",
    "sampling_of",
    "useless",
    "user_level_errors",
    "user_level_histograms",
]
