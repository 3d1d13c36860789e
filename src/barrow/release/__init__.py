"""Where data, mechanism, accountant and ledger meet: study, plan, release, statement."""

from barrow.release.linear import LinearPlan, as_linear
from barrow.release.plan import Plan, make_plan
from barrow.release.record import Release
from barrow.release.run import LostReleaseError, run_release
from barrow.release.statement import explain, make_statement, statement_text
from barrow.release.study import Study, read_study, read_table, study_from_spec, write_study
from barrow.release.verify import Check, read_statement, verify

__all__ = [
    "Check",
    "LinearPlan",
    "LostReleaseError",
    "Plan",
    "Release",
    "Study",
    "as_linear",
    "explain",
    "make_plan",
    "make_statement",
    "read_statement",
    "read_study",
    "read_table",
    "run_release",
    "statement_text",
    "study_from_spec",
    "verify",
    "write_study",
]
