"""Accounting: what a release costs. Events in, guarantees out; every bound has a side and a proof page."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.accounting.adaptive import adaptive_alpha_upper, pure_epsilon_lower, pure_mu_upper
    from barrow.accounting.approximate import added_delta_upper, approximate_alpha_upper, gaussian_items_alpha_upper
    from barrow.accounting.blanket import (
        ResponseRandomiser,
        blanket_alpha0_lower,
        blanket_alpha_upper,
        blanket_profile,
        parse_randomiser,
    )
    from barrow.accounting.calibrate import (
        METHODS,
        Calibration,
        PaperNote,
        calibrate_shuffle,
        paper_note,
        per_report_alpha,
        per_report_composition,
        price_shuffle,
        reports_of,
    )
    from barrow.accounting.flow import flow_alpha0_lower, flow_alpha_upper, flow_profile
    from barrow.accounting.item_noise import (
        gaussian_matrix,
        planar_laplace_matrix,
        shuffled_gaussian_alpha_lower,
        shuffled_gaussian_alpha_upper,
    )
    from barrow.accounting.limit import attack_delta, limit_black_box
    from barrow.accounting.matrix_blanket import (
        MatrixFamily,
        channel_arrays,
        matrix_alpha0_upper,
        matrix_blanket_alpha_upper,
        matrix_blanket_profile,
    )
    from barrow.accounting.one_step import one_step_delta_upper
    from barrow.accounting.pricing import accountant, epsilon_at, gaussian_alpha_upper, gaussian_mu_lower, price
    from barrow.accounting.releases import compose
    from barrow.accounting.sampling import (
        best_projection,
        inner_alpha_for,
        inner_alpha_within,
        projection_distance_paper,
        projection_distance_upper,
        sampled_alpha_upper,
        sampled_epsilon_upper,
    )
    from barrow.accounting.shuffled import ShuffledAccountant
    from barrow.accounting.theorem import (
        paper_alpha0_at_w_one,
        paper_asymptotic_alpha0,
        theorem_alpha0_lower,
        theorem_alpha_upper,
        theorem_bound,
        theorem_group_bound,
    )
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".adaptive": "adaptive_alpha_upper pure_epsilon_lower pure_mu_upper",
            ".approximate": "added_delta_upper approximate_alpha_upper gaussian_items_alpha_upper",
            ".blanket": "ResponseRandomiser blanket_alpha0_lower blanket_alpha_upper blanket_profile parse_randomiser",
            ".calibrate": "METHODS Calibration PaperNote calibrate_shuffle paper_note per_report_alpha "
            "per_report_composition price_shuffle reports_of",
            ".flow": "flow_alpha0_lower flow_alpha_upper flow_profile",
            ".item_noise": "gaussian_matrix planar_laplace_matrix shuffled_gaussian_alpha_lower "
            "shuffled_gaussian_alpha_upper",
            ".limit": "attack_delta limit_black_box",
            ".matrix_blanket": "MatrixFamily channel_arrays matrix_alpha0_upper "
            "matrix_blanket_alpha_upper matrix_blanket_profile",
            ".one_step": "one_step_delta_upper",
            ".pricing": "accountant epsilon_at gaussian_alpha_upper gaussian_mu_lower price",
            ".releases": "compose",
            ".sampling": "best_projection inner_alpha_for inner_alpha_within projection_distance_paper "
            "projection_distance_upper sampled_alpha_upper sampled_epsilon_upper",
            ".shuffled": "ShuffledAccountant",
            ".theorem": "paper_alpha0_at_w_one paper_asymptotic_alpha0 "
            "theorem_alpha0_lower theorem_alpha_upper theorem_bound theorem_group_bound",
        },
    )
