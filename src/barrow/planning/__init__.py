"""Planning: from what must be kept to the most accurate mechanism that keeps it, from public numbers only."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.planning.candidates import BaselineComparison, Candidate, best_first, reasons, useless
    from barrow.planning.comparing import ComparisonRequest, compare_histograms, compared
    from barrow.planning.comparison import Baseline, Comparison
    from barrow.planning.densities import DensityMap, bandwidth_errors, best_of
    from barrow.planning.histograms import HistogramTarget, histogram_candidates
    from barrow.planning.item_choice import ItemChoice, choose_items
    from barrow.planning.linear import errors_within, linear_errors, shuffled_epsilon0, user_level_errors
    from barrow.planning.rules import (
        CAVEATS,
        Caveat,
        PaperRule,
        paper_rule_central,
        paper_rule_linear,
        paper_rule_local,
    )
    from barrow.planning.simulate import Simulated, reference_distribution
    from barrow.planning.terms import Terms
    from barrow.planning.user_level import released_user_level, user_level_histograms
    from barrow.planning.worst_case import edges_by_stand_in
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".candidates": "BaselineComparison Candidate best_first reasons useless",
            ".comparing": "ComparisonRequest compare_histograms compared",
            ".comparison": "Baseline Comparison",
            ".densities": "DensityMap bandwidth_errors best_of",
            ".histograms": "HistogramTarget histogram_candidates",
            ".item_choice": "ItemChoice choose_items",
            ".linear": "errors_within linear_errors shuffled_epsilon0 user_level_errors",
            ".rules": "CAVEATS Caveat PaperRule paper_rule_central paper_rule_linear paper_rule_local",
            ".simulate": "Simulated reference_distribution",
            ".terms": "Terms",
            ".user_level": "released_user_level user_level_histograms",
            ".worst_case": "edges_by_stand_in",
        },
    )
