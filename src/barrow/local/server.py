"""The server: adds up reports of one survey, refuses all others, and says what they say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.local.batches import BatchReader
from barrow.local.client import Survey
from barrow.local.mixing import MixedBatch
from barrow.local.report import Report, read_for
from barrow.questions import Collected
from barrow.questions.collecting import Counted, collected, for_people
from barrow.study import make_statement
from barrow.study.study import QuestionLike, Study

Received = Report | str | bytes | Mapping[str, Any]
_BY_HAND = "Each report counts as one person's: whoever collected them answers for that."
_BATCH = 4096
_BATCH_LENGTH = 2**22


class Server:
    """The collecting side of a survey; it sees noisy reports only, and keeps sums and counts of them.

    In a shuffle study it opens mixed batches and nothing else: reports that link one person's values are refused.

    Args:
        study: The public study, with the model ``"local"`` or ``"shuffle"``; or a survey, which is planned already.
        question: The question; the only one by default.
        counted: A sentence that says who let these people in.

    >>> study = Study("line(low=0, high=10, step=1, unit='km')", alpha=25, users=100, model="local")
    >>> server = Server(study, "distance(to=3)")
    >>> server.add(Report(server.survey.digest, "0" * 32, (4000,))), server.add("hello"), server.n
    (None, 'malformed', 1)
    """

    def __init__(self, study: Study | Survey, question: QuestionLike = None, *, counted: str = _BY_HAND) -> None:
        self.survey = study if isinstance(study, Survey) else Survey(study, question)
        if self.survey.aggregated:
            raise ParameterError(
                "In an aggregated study answers are never added up in one place.",
                allowed="aggregators, each with its own shares",
                fix="barrow collect aggregate CARD",
            )
        self._counted = counted
        self.refused: Counter[str] = Counter()
        self._collector = self.survey.collector()
        self._seen: set[str] = set()
        self._most = self.survey.study.users
        self._reader = BatchReader(self.survey.digest)

    @property
    def n(self) -> int:
        """How many people's reports were counted."""
        return self._collector.n

    @property
    def _full(self) -> bool:
        """Whether as many reports were counted as the study is about people, where it says how many."""
        return self._most is not None and len(self._seen) >= self._most

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How often each kind of report occurs, where reports are counted and not averaged."""
        return self._collector.counts if isinstance(self._collector, Counted) else None

    def add(self, report: Received) -> str | None:
        """Counts one report; or refuses it, counts the refusal and returns its reason.

        Reasons are ``"malformed"``, ``"another version"``, ``"another study"``, ``"wrong size"``, ``"repeated"``,
        ``"impossible value"``, ``"too many"`` (the study is about fewer people than sent reports), and in a shuffle
        study ``"linked report"``.
        """
        reason = self._add(report)
        if reason is not None:
            self.refused[reason] += 1
        return reason

    def _add(self, received: Received) -> str | None:
        if self.survey.shuffled:
            return "linked report"
        report = read_for(self.survey.digest, received)
        if isinstance(report, str):
            return report
        if len(report.values) != self._collector.length:
            return "wrong size"
        if report.id in self._seen:
            return "repeated"
        reason = self._collector.refusal(report.values)
        if reason is None and self._full:
            return "too many"
        if reason is None:
            self._seen.add(report.id)
            self._collector.add(report.values)
        return reason

    def add_all(self, reports: Iterable[Received]) -> None:
        """Counts many reports, in their order, some thousands at a time: memory does not grow with what they hold."""
        counted = self._collector if isinstance(self._collector, Counted) and not self.survey.shuffled else None
        some: list[Received] = []
        length = 0
        for report in reports:
            if counted is None:
                self.add(report)
                continue
            some.append(report)
            length += len(report) if isinstance(report, str) else 0
            if len(some) == _BATCH or length > _BATCH_LENGTH:
                self._add_batch(some, counted)
                some, length = [], 0
        if counted is not None and some:
            self._add_batch(some, counted)

    def _add_batch(self, some: list[Received], counted: Counted) -> None:
        """The same decisions as :meth:`add`, report by report; what they hold was read all at once."""
        batch = self._reader.read(some)
        impossible = batch.falling | (batch.largest >= len(counted.counts))
        wrong, seen = batch.sizes != counted.length, self._seen
        good = np.zeros(len(some), dtype=bool)
        read, wrong_sizes, no_values = batch.read.tolist(), wrong.tolist(), impossible.tolist()
        for i, name in enumerate(batch.ids):
            if not read[i]:
                self.add(some[i])
            elif wrong_sizes[i]:
                self.refused["wrong size"] += 1
            elif name in seen:
                self.refused["repeated"] += 1
            elif no_values[i]:
                self.refused["impossible value"] += 1
            elif self._full:
                self.refused["too many"] += 1
            else:
                seen.add(name)
                good[i] = True
        chosen = batch.firsts[good][:, None] + np.arange(counted.length)
        counted.add_many(batch.values[chosen.ravel()], int(good.sum()))

    def open(self, batch: MixedBatch, *, accept_weaker: bool = False) -> None:
        """Counts a mixed batch of a shuffle study, if it holds the messages of the study's public number of people.

        Args:
            batch: What :func:`barrow.local.mix` made.
            accept_weaker: Open a smaller one too; the result then says what holds, and that less was kept than was
                promised.
        """
        if not self.survey.shuffled:
            raise ParameterError("The study is local.", allowed="reports", fix="server.add(report)")
        if batch.study != self.survey.digest:
            raise ParameterError(
                "The batch belongs to another study or question.",
                allowed="a batch of this study",
                fix="barrow local mix",
            )
        if batch.id in self._seen or self.n:
            raise ParameterError(
                "A batch was opened before.", allowed="one batch, once", fix="mix all messages together"
            )
        planned = self.survey.plan.terms.users
        if batch.people < planned and not accept_weaker:
            raise ParameterError(
                f"The batch holds the messages of {batch.people:,} people, but the guarantee needs {planned:,}: with "
                f"fewer people each is hidden less.",
                allowed=f"the messages of at least {planned:,} people",
                fix="wait for more messages; or --accept-weaker, and publish the weaker guarantee",
            )
        counted = self._collector
        if not isinstance(counted, Counted):
            raise ParameterError(
                "This question does not use messages.", allowed="items or frequency", fix="kind='frequency'"
            )
        self._seen.add(batch.id)
        counted.add_many(batch.values, batch.people)
        self.refused.update(batch.refused)

    def result(self) -> Collected:
        """What the reports say together, with its error, the guarantee, and what was refused."""
        if self.n == 0:
            raise ParameterError("No report has been counted.", allowed="at least one", fix="server.add(report) first")
        plan = self.survey.plan
        result = collected(plan, self._collector)
        notes = [] if self.survey.shuffled else [self._counted]
        planned = plan.terms.users
        weaker = self.survey.shuffled and result.guarantee != plan.guarantee and self.n < planned
        warning = ""
        if weaker:
            warning = (
                f"Promised to each person: {plan.guarantee}. What now holds is weaker: {result.guarantee}, because "
                f"{self.n:,} people's messages were mixed and not {planned:,}."
            )
        notes.append(warning or f"Each person was promised {plan.guarantee}.")
        if words := plan.terms.records.words if plan.terms.promises else "":
            notes.append(f"{words}.")
        lines = [*result.lines, *notes]
        details = {
            "study": self.survey.digest,
            "records": plan.terms.records.value,
            **result.details,
            "promised": plan.guarantee.to_json(),
            **({} if self.survey.shuffled else {"counted": self._counted}),
            "weaker": weaker,
            "public": list(self.survey.public),
        }
        here = for_people(plan, self.n)
        stated = partial(make_statement, self.survey.study, here, summary=lines, own=result.own)
        shown = replace(result, lines=lines, notes=notes, warning=warning, plan=here, stated=stated)
        return replace(shown, details=details, refused=dict(self.refused))
