"""The earth mover's distance between users: closed forms where there are any, exact solvers elsewhere."""

from barrow.transport.emd import Coupling, assign, coupling, emd, emd_between, histogram, kr_norm
from barrow.transport.measure import Measure, measure_of
