"""Accounting: what a release costs. Events in, guarantees out; every bound has a side and a proof page."""

from barrow.accounting.discrete import GroupPrivacy, group_privacy_upper
from barrow.accounting.gaussian import gaussian_alpha_upper, gaussian_mu_lower
from barrow.accounting.per_report import per_report_alpha, per_report_composition
from barrow.accounting.projection import (
    best_projection,
    projection_distance_paper,
    projection_distance_upper,
)
from barrow.accounting.theorem import (
    GroupShuffleBound,
    TheoremBound,
    paper_asymptotic_alpha0,
    theorem_alpha0_lower,
    theorem_alpha_upper,
    theorem_bound,
    theorem_group_bound,
)

__all__ = [
    "GroupPrivacy",
    "GroupShuffleBound",
    "TheoremBound",
    "best_projection",
    "gaussian_alpha_upper",
    "gaussian_mu_lower",
    "group_privacy_upper",
    "paper_asymptotic_alpha0",
    "per_report_alpha",
    "per_report_composition",
    "projection_distance_paper",
    "projection_distance_upper",
    "theorem_alpha0_lower",
    "theorem_alpha_upper",
    "theorem_bound",
    "theorem_group_bound",
]
