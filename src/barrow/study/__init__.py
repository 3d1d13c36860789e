"""Studies: one data set, its space, its promises and its questions; planned, released, stated, verified."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.study.data import Data, read
    from barrow.study.file import read_study, study_from_spec, write_study
    from barrow.study.prose import explain, statement_text
    from barrow.study.release import LostReleaseError, run_release
    from barrow.study.result import Release
    from barrow.study.statement import make_statement
    from barrow.study.study import Study
    from barrow.study.verification import Check, read_statement, verify
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".data": "Data read",
            ".file": "read_study study_from_spec write_study",
            ".prose": "explain statement_text",
            ".release": "LostReleaseError run_release",
            ".result": "Release",
            ".statement": "make_statement",
            ".study": "Study",
            ".verification": "Check read_statement verify",
        },
    )
