"""What every question must obey, built in or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from barrow.accounting import price
from barrow.ledger import Ledger
from barrow.questions import Question, to_question
from barrow.questions.plan_text import answer_json
from barrow.questions.prices import charge
from barrow.spaces import Space
from barrow.study import Data, Study, explain, read, verify


@dataclass(frozen=True)
class QuestionCase:
    """A question on a space, with records that it is asked about.

    Args:
        name: What the test is called.
        question: The question.
        space: A space that it fits.
        records: Columns: ``uid``, and the item columns after it; by default forty people who hold labels in turn.
        promises: What is promised.
        options: What else the study says, such as ``delta``.
        per_person: Which one number each person's records become; None where they stay records.

    >>> from barrow.questions import Histogram
    >>> from barrow.spaces import Discrete
    >>> QuestionCase("shares", Histogram(), Discrete(["a", "b"])).study.users
    40
    """

    name: str
    question: Question
    space: Space
    records: Mapping[str, Sequence[Any]] | None = None
    promises: Sequence[str] = ("1 of 10, anywhere, 1",)
    options: Mapping[str, Any] = field(default_factory=dict)
    per_person: str | None = None

    @property
    def table(self) -> Mapping[str, Sequence[Any]]:
        """The records."""
        if self.records is not None:
            return self.records
        names = [self.space.label(i * i % self.space.items) for i in range(120)]
        return {"uid": [f"u{i % 40}" for i in range(120)], "item": names}

    @property
    def data(self) -> Data:
        """The records as a study reads them."""
        columns = [name for name in self.table if name != "uid"]
        return read(self.table, user="uid", item=columns, per_person=self.per_person)

    @property
    def study(self) -> Study:
        """A study of these people."""
        users = len(set(self.table["uid"]))
        options = {**({} if self.per_person is None else {"data": self.data}), **self.options}
        return Study(self.space, list(self.promises), users=users, dataset="people", **options)


class QuestionSuite:
    """Inherit it, and say which questions are tested.

    >>> from barrow.questions import Histogram
    >>> from barrow.spaces import Discrete
    >>> class TestShares(QuestionSuite):
    ...     cases = (QuestionCase("shares", Histogram(), Discrete(["a", "b"])),)
    >>> TestShares().test_no_promise_costs_more_than_it_may(TestShares.cases[0])
    """

    cases: ClassVar[Sequence[QuestionCase]] = ()

    def test_plain_data_bring_back_an_equal_question(self, case: QuestionCase) -> None:
        """By its options as plain data, and by the text that a person types."""
        request = case.question
        assert to_question(msgspec.json.decode(msgspec.json.encode(request.to_spec()))) == request
        assert request.label

    def test_no_promise_costs_more_than_it_may(self, case: QuestionCase) -> None:
        """What the event costs at each promise is at most what is promised there, and the guarantee is its price."""
        study = case.study
        plan = study.plan(case.question)
        guarantee = price(plan.event)
        assert guarantee == plan.guarantee
        for satisfied in study.policy.satisfied:
            spent = charge(plan, satisfied.share, satisfied.reach)
            assert 0 < spent <= satisfied.promise.epsilon
        assert 0 < plan.error < float("inf")

    def test_a_plan_reads_no_data(self, case: QuestionCase) -> None:
        """Equal terms make equal plans."""
        first, again = case.study.plan(case.question), case.study.plan(case.question)
        assert first.event == again.event
        assert str(first) == str(again)
        assert msgspec.json.encode(answer_json(first))

    def test_it_is_released_and_verified(self, case: QuestionCase, tmp_path: Path) -> None:
        """From records to a folder that holds: its values, its statement, its entry in a ledger."""
        study, data = case.study, case.data
        ledger = Ledger.create(tmp_path / "people.ledger", study)
        release = study.release(case.question, data, ledger=ledger, out=tmp_path / "out")
        assert release.rows()
        assert release.statement.name == case.question.label
        assert len(explain(release.statement).splitlines()) > 3
        assert (tmp_path / "out" / "statement.txt").read_text(encoding="utf-8").startswith("We released")
        checks = verify(tmp_path / "out", ledger=ledger)
        assert all(check.holds for check in checks), checks
        again = study.release(case.question, data, ledger=ledger, out=tmp_path / "out")
        assert again.rows() == release.rows()
