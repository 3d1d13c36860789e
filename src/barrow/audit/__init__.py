"""Audits: the library tries to break its own promises, exactly on tiny spaces and by sampling on real ones."""

from barrow.audit.cases import CASES
from barrow.audit.enumeration import Distribution, ScriptedSource, distribution
from barrow.audit.planted import BUGS, Bug, planted, try_bug
from barrow.audit.run import audit_all
from barrow.audit.sampling import SampledFinding, audit_mechanism
from barrow.audit.study import StudyFinding, audit_study
from barrow.audit.verdict import Finding, Planted, Verdict, Violation
