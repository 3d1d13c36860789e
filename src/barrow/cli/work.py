"""What commands do their work with: each name loads on first use, so that help of a command is quick."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.engines import Source, engine_for, with_tables
    from barrow.ledger import Budget, Ledger, Overview, PromiseLimit, Promises, SpaceRef
    from barrow.ledger.approvals import Approval, Approver, Quorum
    from barrow.ledger.charges import price_together
    from barrow.ledger.published import FILE
    from barrow.ledger.state import Record
    from barrow.ledger.store import ChainHead
    from barrow.promises import DiscreteEmd, Emd, Model, Policy, Promise, UserLevel, alarm, cap, percent_up
    from barrow.promises.policy import to_promise
    from barrow.questions import Question, declared_parts, to_question
    from barrow.questions.estimates import widest
    from barrow.questions.plan_text import answer_json, brief_lines, warnings, worst_alarm
    from barrow.questions.question import is_resolved
    from barrow.questions.recalled import keep_choices
    from barrow.spaces import cell_key, parse_space, parse_spec, space_from_spec, units_of
    from barrow.study import Data, Release, Study, read_study, study_from_spec, verify
    from barrow.study.about import LAST, About, release_folder
    from barrow.study.arguments import from_study
    from barrow.study.bars import bars
    from barrow.study.file import AUTO, promise_table, read_table
    from barrow.study.folders import read_regular
    from barrow.study.jointly import jointly
    from barrow.study.keys import parameters_of
    from barrow.study.left import lines_left
    from barrow.study.models import compare_models
    from barrow.study.parts import Planner, ReleaseParts, Series
    from barrow.study.prose import released_words
    from barrow.study.release import run_release
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "barrow.engines": "Source engine_for with_tables",
            "barrow.ledger": "Budget Ledger Overview PromiseLimit Promises SpaceRef",
            "barrow.ledger.approvals": "Approval Approver Quorum",
            "barrow.ledger.charges": "price_together",
            "barrow.ledger.published": "FILE",
            "barrow.ledger.state": "Record",
            "barrow.ledger.store": "ChainHead",
            "barrow.promises": "DiscreteEmd Emd Model Policy Promise UserLevel alarm cap percent_up",
            "barrow.promises.policy": "to_promise",
            "barrow.questions": "Question declared_parts to_question",
            "barrow.questions.estimates": "widest",
            "barrow.questions.plan_text": "answer_json brief_lines warnings worst_alarm",
            "barrow.questions.question": "is_resolved",
            "barrow.questions.recalled": "keep_choices",
            "barrow.spaces": "cell_key parse_space parse_spec space_from_spec units_of",
            "barrow.study": "Data Release Study read_study study_from_spec verify",
            "barrow.study.about": "LAST About release_folder",
            "barrow.study.arguments": "from_study",
            "barrow.study.bars": "bars",
            "barrow.study.file": "AUTO promise_table read_table",
            "barrow.study.folders": "read_regular",
            "barrow.study.jointly": "jointly",
            "barrow.study.keys": "parameters_of",
            "barrow.study.left": "lines_left",
            "barrow.study.models": "compare_models",
            "barrow.study.parts": "Planner ReleaseParts Series",
            "barrow.study.prose": "released_words",
            "barrow.study.release": "run_release",
        },
    )
