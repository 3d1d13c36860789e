"""The client: turns one person's items into a report, once. Their items never leave it."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import LedgerError, ParameterError
from barrow.local.memory import Memory
from barrow.local.report import Report, message_of
from barrow.noise import system_source
from barrow.numerics import digest_of
from barrow.promises import Emd, Guarantee, Model, RecordMap
from barrow.questions import Answer, ReportSums, declared_parts
from barrow.questions.question import asked_of, resolved
from barrow.registry import PluginError
from barrow.spaces.augmented import base_space
from barrow.spaces.nearness import keeps_near
from barrow.spaces.space import Ids, Unknown
from barrow.study.study import QuestionLike, Study

SURVEY_VERSION = 2


class Survey:
    """One question of a study, asked of people who add their own noise: what clients and servers agree on.

    What is chosen by its predicted error, such as the mechanism of a histogram, is chosen here and stands by its name
    in ``question``: a study that asks this question, such as that of a card, has nothing left to choose.

    Args:
        study: The study, with the model ``"local"``, ``"shuffle"`` or ``"aggregated"``.
        question: The question; the only one by default.

    >>> survey = Survey(Study("line(low=0, high=10, step=1, unit='km')", alpha=25, users=100, model="local"), "mean")
    >>> survey.channel.noise.name, survey.digest.startswith("sha256:")
    ('Laplace', True)
    """

    def __init__(self, study: Study, question: QuestionLike = None) -> None:
        if not isinstance(study, Study):
            raise ParameterError(f"The study is a {type(study).__name__}.", allowed="a study", fix="Study(…)")
        if study.model is Model.CENTRAL:
            raise ParameterError(
                "model is 'central', but people randomise their own items only in the local and shuffle models.",
                allowed="'local' or 'shuffle'",
                fix="study.replace(model='local'), or barrow release for data already held",
            )
        self.study, self.request = study, study.question(question)
        for told in declared_parts(self.request, study.space):
            raise PluginError(
                f"A client must be able to prove its guarantee. {told}",
                allowed="kinds of spaces and questions that are built in",
                fix="do not report to it; ask whoever made the study for one of these",
            )
        self.terms = study.terms(self.request)
        self.question = resolved(self.request, self.terms)
        self.channel = self.question.channel(self.terms)

    @property
    def shuffled(self) -> bool:
        """Whether somebody mixes all people's messages before anybody sees them."""
        return self.study.model is Model.SHUFFLE

    @property
    def aggregated(self) -> bool:
        """Whether answers leave in shares, which aggregators add up."""
        return self.study.model is Model.AGGREGATED

    @cached_property
    def plan(self) -> Answer:
        """What the reports will say together, and how accurately: for whoever collects them."""
        return self.request.plan(self.terms)

    @property
    def guarantee(self) -> Guarantee:
        """What each person is promised; a function of the study alone."""
        return self.channel.guarantee

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that is agreed on: reports name the survey by it."""
        terms, space = self.terms.to_spec(), self.study.space.to_spec()
        agreed = {"survey": SURVEY_VERSION, "question": asked_of(self.question), "terms": terms, "space": space}
        return digest_of(agreed)

    def collector(self) -> ReportSums:
        """What adds up its reports."""
        return self.channel.collector()

    @property
    def public(self) -> tuple[str, ...]:
        """What is public, and what a report reveals beside its values."""
        space, terms, definition = self.study.space, self.terms, self.guarantee.definition
        rate = f"alpha = {float(definition.alpha):.6g} and " if isinstance(definition, Emd) else ""
        seen = (
            "who answers, when, and how many do"
            if self.aggregated
            else (
                "how many messages there are in all: the guarantee holds for messages that are mixed"
                if self.shuffled
                else "who reports, when, and how many do: the guarantee is about the values of a report only"
            )
        )
        return (
            f"the space ({space.kind}, {space.items:,} items, diameter {space.diameter:.6g} {space.unit}".rstrip()
            + ")",
            f"the question: {self.channel.description}",
            f"{rate}delta = {float(terms.delta):.6g}",
            seen,
        )


class LocalClient:
    """One person's side of a survey. A report is drawn once, and stored before it is handed out.

    Asking again gives the same report, even for other items: a second draw would be a second leak. There is no seed.
    A study whose Lipschitz constant is somebody's word is refused: a client takes only what it can prove itself.

    Args:
        study: The public study, with the model ``"local"`` or ``"shuffle"``; or a survey, which is planned already.
        question: The question; the only one by default.
        memory: The file that remembers reports; one for each person.

    >>> import tempfile
    >>> study = Study("line(low=0, high=10, step=1, unit='km')", alpha=25, users=100, model="local")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     client = LocalClient(study, "distance(to=3)", memory=f"{folder}/me.json")
    ...     first = client.report([2.5, 7.1])
    ...     first == client.report([9.0]), first.study == client.survey.digest
    (True, True)
    """

    def __init__(self, study: Study | Survey, question: QuestionLike = None, *, memory: str | os.PathLike[str]) -> None:
        self.survey = study if isinstance(study, Survey) else Survey(study, question)
        self.memory = Memory(memory)
        if not self.survey.channel.proved:
            raise ParameterError(
                "The study declares a Lipschitz constant that cannot be proved here; if it is too small, a report "
                "reveals more than promised.",
                allowed="questions whose constants follow from the space",
                fix="ask whoever made the study for a coarser space or another question; do not report to it",
            )

    @property
    def answered(self) -> tuple[str, ...]:
        """The digests of all surveys that this memory holds reports for; their guarantees add up."""
        return tuple(self.memory.load())

    def report(self, records: Any = None, *, ids: ArrayLike | None = None, unknown: Unknown = "error") -> Report:
        """The person's report: the remembered one, or a new one from their items.

        Args:
            records: The person's items as records of the space; none stand for the public default item.
            ids: The same as item ids, instead of ``records``.
            unknown: What to do with records that the space does not know, as in ``space.encode``. Where that may move
                a record far, a study that makes promises must say so (``outside`` in its ``[data]``): they cost more.
        """
        if self.survey.shuffled:
            raise ParameterError(
                "In a shuffle study a report would link all values of one person.",
                allowed="messages, one for each value, which are mixed with those of others",
                fix="client.messages(records)",
            )
        if self.survey.aggregated:
            raise ParameterError(
                "In an aggregated study an answer must leave in shares: in one piece it would reveal everything.",
                allowed="sealed shares, one for each aggregator",
                fix="barrow collect answer CARD",
            )
        return self._report(records, ids, unknown)

    def messages(
        self, records: Any = None, *, ids: ArrayLike | None = None, unknown: Unknown = "error"
    ) -> tuple[str, ...]:
        """The person's messages in a shuffle study: one for each value, all of one size, with nothing in common.

        They are the same whenever they are asked for. Their order is that of their values, so that it says nothing.
        """
        if not self.survey.shuffled:
            raise ParameterError("The study is local.", allowed="one report a person", fix="client.report(records)")
        report = self._report(records, ids, unknown)
        kinds = self.survey.channel.message_kinds or 0
        return tuple(message_of(report.study, value, kinds) for value in sorted(report.values))

    def _report(self, records: Any, ids: ArrayLike | None, unknown: Unknown) -> Report:
        if (records is None) == (ids is None):
            raise ParameterError(
                "The items of the report are not named, or named twice.",
                allowed="records, or ids",
                fix="client.report([...])",
            )
        digest, space = self.survey.digest, self.survey.study.space
        with self.memory.locked():
            known = self.memory.load().get(digest)
            if known is not None:
                return self._checked(known)
            items = space._ids(self._encoded(records, unknown) if ids is None else np.asarray(ids))
            self.survey.channel.check(items)
            self._before_drawing()
            values = tuple(int(value) for value in self.survey.channel.report(items))
            name = "".join(f"{int(word):016x}" for word in system_source().words(2))
            report = Report(digest, name, values)
            self.memory.store(report)
            return report

    def _encoded(self, records: Any, unknown: Unknown) -> Ids:
        """The items of some records; refused where they may land farther apart than the promises are priced for."""
        space, terms = self.survey.study.space, self.survey.terms
        items = space.encode(records, unknown=unknown)
        priced = not terms.promises or terms.records is not RecordMap.CONTRACTION
        if not priced and not keeps_near(base_space(space), unknown):
            near = [word for word in ("error", "nearest") if keeps_near(base_space(space), word)]
            raise ParameterError(
                f"unknown is {unknown!r}: a record outside may become an item far away, but the study's promises "
                f"were priced for records that stay near.",
                allowed=f"{' or '.join(map(repr, near))}, or a study that says in [data] what is done with them",
                fix=f"leave out what is outside; or ask whoever made the study for outside = {unknown!r} in its [data]",
            )
        return items

    def _before_drawing(self) -> None:
        """What must be done once the items are known to be good, and before anything is drawn from them."""

    def _checked(self, report: Report) -> Report:
        if len(report.values) != self.survey.collector().length:
            raise LedgerError(
                "The saved report does not fit the study.",
                allowed="a memory that this client wrote",
                fix="restore it from a copy",
            )
        return report
