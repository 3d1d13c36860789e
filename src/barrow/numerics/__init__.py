"""Numbers with a stated side: exact rationals, directed rounding, safe search, normal tails."""

from barrow.numerics.digest import digest_of
from barrow.numerics.exact import Exact, exact, exact_text, float_down, float_up, short_down, ungrouped, whole
from barrow.numerics.gdp import gdp_delta_upper, gdp_epsilon_upper, gdp_mu_lower
from barrow.numerics.limits import (
    LIMB_BITS,
    MOST_HELD,
    MOST_PEOPLE,
    MOST_RECORDS,
    MOST_ROWS,
    MOST_WEIGHT,
    SUM_BITS,
    TABLE_BITS,
    checked_people,
    record_mass,
)
from barrow.numerics.search import largest_safe, smallest_safe
