"""Studies: one data set, its space, its promises and its questions; planned, released, stated, verified."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.study.data import Data, read
    from barrow.study.file import read_study, study_from_spec, write_study
    from barrow.study.release import LostReleaseError, run_release
    from barrow.study.result import Release
    from barrow.study.statement import explain, make_statement, statement_text
    from barrow.study.study import Study
    from barrow.study.verification import Check, read_statement, verify
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".data": "Data read",
            ".file": "read_study study_from_spec write_study",
            ".release": "LostReleaseError run_release",
            ".result": "Release",
            ".statement": "explain make_statement statement_text",
            ".study": "Study",
            ".verification": "Check read_statement verify",
        },
    )
