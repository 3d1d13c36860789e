"""Randomisers of single items: (alpha0, 0)-d_X-DP channels with an exact law and a checked claim."""

from barrow.randomisers.claim import check_claim, exceeds_exp, worst_triple
from barrow.randomisers.exponential import exponential, planar_laplace
from barrow.randomisers.laplace import laplace
from barrow.randomisers.mapped import MappedRandomiser, mapped
from barrow.randomisers.matrix import MatrixRandomiser, matrix_randomiser
from barrow.randomisers.mixture import MixtureRandomiser, gkrr, randomised_response, tree_response
from barrow.randomisers.randomiser import TOTAL, Randomiser
from barrow.randomisers.spec import RANDOMISERS, family_of_spec, randomiser_from_spec, suited
