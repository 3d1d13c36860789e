"""Where data, mechanism, accountant and ledger meet; so far: the study file."""

from barrow.release.study import Study, read_study, write_study

__all__ = ["Study", "read_study", "write_study"]
