"""A study: one data set, its space, its promises and its questions; everything in it is public."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from barrow.display import Displayed
from barrow.errors import ParameterError, nearest_name, path_text
from barrow.numerics import Exact, checked_people, exact_text
from barrow.planning.terms import Terms, in_quadrature
from barrow.progress import task
from barrow.promises import Aggregation, Calendar, Emd, Grouping, Model, Policy, Promise, RecordMap, UserLevel, Window
from barrow.promises.definitions import positive, probability, to_model
from barrow.promises.policy import PromiseLike
from barrow.questions import Question, to_question
from barrow.questions.question import QUESTIONS, checked_words, host_of, public_items
from barrow.questions.statement import Publication
from barrow.spaces import Space
from barrow.spaces.augmented import with_no_records
from barrow.study.about import (
    LAST,
    About,
    asked_windows,
    check_parts,
    grouping_named,
    groupings_of,
    lasting,
    planned_periods,
    share_of_grouping,
)
from barrow.study.arguments import (
    MISSING,
    asked_together,
    checked_composition,
    checked_missing,
    checked_text,
    effective_space,
    honest_share,
    parties_of,
    promises_of,
    questions_of,
    records_of,
    space_of_any,
    user_level_of_any,
    with_outside,
    written_name,
)
from barrow.study.bars import bars
from barrow.study.data import Data
from barrow.study.hidden import check_asked, check_hidden, hidden_groups, reads_groups
from barrow.study.per_person import TIMED
from barrow.study.publication import publication_of

if TYPE_CHECKING:
    from barrow.ledger import Budget, Ledger
    from barrow.planning.comparison import Comparison
    from barrow.questions import Answer
    from barrow.study.grid_table import GridChoice
    from barrow.study.result import Release
    from barrow.study.several import ReleaseSeries

PathLike = str | os.PathLike[str]
QuestionLike = Question | str | Mapping[str, Any] | type[Question] | None
_SAME = (
    "space", "promises", "delta", "users", "dataset", "model", "honest_fraction", "data", "ledger", "user_level",
    "missing", "groups", "periods", "composition", "publication", "folder", "title", "description",
)  # fmt: skip
"""Arguments of a study that it has under the same name."""
_DEFAULTS: dict[str, object] = {
    "model": Model.CENTRAL, "delta": 0, "honest_fraction": 1, "composition": "additive",
}  # fmt: skip
"""What arguments are where a study does not say them, if that is not nothing."""


@dataclass(frozen=True, repr=False)
class Study(Displayed):
    """What a study says. Promises are kept by all releases about its data set together.

    Args:
        space: The space of items.
        promises: Promises ``"share, distance, epsilon"``; or
        alpha: alpha itself.
        delta: The delta of all releases together.
        users: n, how many people the data are about; public.
        dataset: A public name of the data set.
        questions: What is asked, each by a name.
        model: Who adds the noise: ``"central"``, ``"local"``, ``"shuffle"`` or ``"aggregated"``.
        honest_fraction: For ``"shuffle"``: the share of people who send what they should and tell nobody, at least; the
            guarantee counts on these alone.
        aggregators: For ``"aggregated"``: how many parties add up shares of people's answers; 2 by default.
        dishonest: For ``"aggregated"``: how many of them may break the rules, and work together; 1 by default.
        data: The records.
        ledger: The file that remembers what was spent.
        missing: What people without records hold: ``"no records"``, a public item of its own, or ``"default item"``,
            the space's default item. Left out, each question takes what suits it: "no records", but for reports on
            items. Where people report themselves, everybody who takes part has something to report.
        user_level: For a ledger of alpha, a separate user-level budget out of which releases about other spaces are
            paid by their worst case.
        groups: Groupings by which questions may be answered: public ones of people, hidden ones of records.
        periods: For how many periods promises about every period, or about all data, must last.
        composition: How releases add up at promises: ``"additive"``, or ``"quadrature"`` for a series of Gaussian ones.
        publication: Who publishes its releases, and what for, as catalogues of data ask for it.
        folder: Where its file is: statements name records and ledger as seen from there; as they are by default.
        title: The heading of its reports, in words, where a question has none of its own.
        description: A sentence or two below that heading.

    >>> from barrow.spaces import Line
    >>> study = Study(Line(0, 100, unit="years", step=1), ["all, 5 years, 0.5"], users=1000)
    >>> round(float(study.alpha), 3), study.plan("mean").description
    (8.333, 'the mean over people with records of the mean of their items (years)')
    """

    space: Space
    promises: tuple[Promise, ...]
    alpha_given: Fraction | None
    delta: Fraction
    users: int | None
    dataset: str | None
    questions: tuple[Question, ...]
    requests: tuple[Question, ...]
    model: Model
    honest_fraction: Fraction
    parties: Aggregation | None
    data: Data | None
    ledger: str | None
    user_level: UserLevel | None
    missing: str | None
    groups: tuple[Grouping, ...]
    periods: int | None
    composition: str
    publication: Publication | None
    title: str
    description: str

    def __init__(
        self,
        space: Space | str | Mapping[str, Any],
        promises: PromiseLike | Iterable[PromiseLike] = (),
        *,
        alpha: Exact | None = None,
        delta: Exact = 0,
        users: Any = None,
        dataset: str | None = None,
        questions: Any = (),
        model: str | Model = "central",
        honest_fraction: Exact = 1,
        aggregators: int | None = None,
        dishonest: int | None = None,
        data: Data | None = None,
        ledger: str | os.PathLike[str] | None = None,
        user_level: UserLevel | None = None,
        missing: str | None = None,
        groups: Sequence[Grouping] = (),
        periods: int | None = None,
        composition: str = "additive",
        publication: Publication | Mapping[str, Any] | None = None,
        folder: str | os.PathLike[str] | None = None,
        title: str = "",
        description: str = "",
    ) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if not isinstance(space, Space):
            from barrow.study.file import auto_spec

            wanted = auto_spec(space)
            if wanted is not None:  # the cells of least predicted error for what is asked, from public numbers alone
                from barrow.study.grids import choose_grid

                space, grids = choose_grid(
                    wanted,
                    lambda built: Study(
                        built, promises, alpha=alpha, delta=delta, users=users, questions=questions, model=model,
                        honest_fraction=honest_fraction, aggregators=aggregators, dishonest=dishonest, data=data,
                        missing=missing, groups=groups, periods=periods, composition=composition,
                    ),
                )  # fmt: skip
                put("_grids", grids)
        put("_folder", None if folder is None else path_text(folder, "The folder"))
        data = with_outside(space_of_any(space), records_of(data))
        put("space", effective_space(space_of_any(space), data))
        put("promises", promises_of(promises))
        put("alpha_given", None if alpha is None else positive(alpha, "alpha"))
        put("delta", probability(delta))
        put("users", None if users is None else checked_people(users))
        put("dataset", None if dataset is None else checked_text(dataset, "dataset"))
        put("model", to_model(model))
        put("requests", questions_of(questions))
        put("questions", asked_together(self.requests, self.model, {g.name for g in groups if g.hidden}))
        put("honest_fraction", honest_share(honest_fraction, self.model))
        put("parties", parties_of(aggregators, dishonest, self.model))
        put("data", data)
        put("ledger", None if ledger is None else path_text(ledger, "The ledger"))
        put("user_level", user_level_of_any(user_level))
        number = None if data is None else data.number
        if number is not None:
            number.check(self.space, self.promises)
            missing = number.missing(missing, self.space)
        put("missing", checked_missing(missing, self.space, self.model))
        put("groups", groupings_of(groups, self.users))
        put("periods", planned_periods(periods))
        put("composition", checked_composition(composition, self.promises, self.delta, self.model))
        put("publication", publication_of(publication))
        put("title", checked_words(title, "title"))
        put("description", checked_words(description, "description"))
        check_parts(self.model, self.calendar, self.groups, self.requests, self.periods)
        if any(one.hidden for one in self.groups) or any(promise.another_group for promise in self.promises):
            check_hidden(self)
        if self.alpha_given is not None and self.promises:
            raise ParameterError("The study gives alpha and promises.", allowed="one of them", fix="remove alpha")
        if self.promises:
            _ = self.policy  # distances are checked now, not at first use
        _ = self._fractions

    @property
    def calendar(self) -> Calendar | None:
        """How time is divided; None for one pile, as where times become a number and no promise is about periods."""
        timed = self.data is not None and self.data.per_person in TIMED
        scoped = any(promise.scope is not None for promise in self.promises)
        return None if self.data is None or (timed and not scoped) else self.data.calendar

    @property
    def folder(self) -> str | None:
        """The folder of the study's file; None for a study that has none."""
        folder: str | None = self.__dict__["_folder"]
        return folder

    def written(self, name: str) -> str:
        """How a statement writes the name of a file or an address: as seen from the study's folder."""
        return written_name(name, self.folder, self.ledger)

    @property
    def policy(self) -> Policy:
        """The promises as a policy; a study that gives alpha itself has none."""
        if not self.promises:
            raise ParameterError(
                "The study makes no promises.", allowed="[[promise]] tables", fix='promises=["all, 300 m, 0.5"]'
            )
        return Policy(self.space, self.promises, delta=self.delta, records=self.record_map)

    @cached_property
    def alpha(self) -> Fraction:
        """The alpha that keeps all promises whatever is asked, or the one that was given."""
        return self.policy.alpha_exact if self.alpha_given is None else self.alpha_given

    @cached_property
    def _fractions(self) -> dict[str, Fraction]:
        """The share of every promise that each question may use."""
        given = sum((q.fraction for q in self.questions if q.fraction is not None), Fraction(0))
        open_ones = [q for q in self.questions if q.fraction is None]
        if given > 1 or (given == 1 and open_ones):
            raise ParameterError(
                f"The fractions of the questions add up to {exact_text(given)}"
                + (" which leaves nothing for the other questions." if given == 1 else "."),
                allowed="at most 1 in all; questions without a fraction share the rest",
                fix=f"fraction = {exact_text(Fraction(1, max(len(self.questions), 1)))!r} for each",
            )
        rest = (1 - given) / len(open_ones) if open_ones else Fraction(0)
        return {q.label: rest if q.fraction is None else q.fraction for q in self.questions}

    def question(self, request: QuestionLike = None) -> Question:
        """The question that is meant: by its name in the study, by a text, a table, a class; or the only one."""
        if request is None:
            if len(self.questions) == 1:
                return self.questions[0]
            raise ParameterError(
                "The study has no question." if not self.questions else "The study has several questions.",
                allowed=", ".join(q.label for q in self.questions) or "a [[question]] table",
                fix=self.questions[0].label if self.questions else "--question mean, or [[question]] in the study",
            )
        if isinstance(request, str):
            for question in (*self.questions, *self.requests):
                if question.label == request:
                    return self._answering(question)
            if self.questions and request not in QUESTIONS and "(" not in request:
                names = [q.label for q in self.requests]
                close = nearest_name(request, names) or nearest_name(request, QUESTIONS)
                raise ParameterError(
                    f"The study has no question {request!r}." + (f" Did you mean {close!r}?" if close else ""),
                    allowed=", ".join(names),
                    fix=close or names[0],
                )
        return self._answering(to_question(request))

    def _answering(self, question: Question) -> Question:
        """The question that answers: quantiles are read off a histogram of the study that has them."""
        return host_of(question, self.questions)

    def space_of(self, question: Question) -> Space:
        """The space that ``question`` is answered on: the study's, with one more item for people without records.

        >>> Study("hours", alpha=1, users=10).space_of(to_question("histogram")).labels[-1]
        'no records'
        """
        if self.model is not Model.CENTRAL or self.space.size is None:
            return self.space
        text = MISSING[0] if self.missing is None and self.space.no_records_distance is not None else self.missing
        hold = text or question.missing[0]
        if hold not in question.missing:
            raise ParameterError(
                f"missing is {hold!r}, and the question {question.label!r} cannot treat people without records "
                f"separately.",
                allowed=", ".join(map(repr, question.missing)),
                fix=f"missing = {question.missing[0]!r}, or leave it out: then each question takes what suits it",
            )
        return with_no_records(self.space) if hold == MISSING[0] else self.space.records_space

    def fraction(self, question: Question) -> Fraction:
        """The share of every promise that a question may use: its own, or all of it if it stands alone."""
        given = self._fractions.get(question.label) if question in self.questions else question.fraction
        return Fraction(1) if given is None else given

    def terms(
        self,
        question: Question,
        *,
        reads: Window | None = None,
        people: int | None = None,
        by: Grouping | None = None,
    ) -> Terms:
        """What the study grants ``question``: its fraction of every promise, or all of it if it stands alone.

        Args:
            question: The question; groupings that it has share its fraction (:func:`share_of_grouping`).
            reads: The window of periods that a release is about; in a series each gets the part that lasts.
            people: How many people it is about, where that is a group of all.
            by: The grouping that it tells apart.
        """
        share = self.fraction(question) * share_of_grouping(self.groups, question.by, by)
        if self.users is None and self.model is not Model.LOCAL:
            raise ParameterError(
                "The study does not say how many people the data are about.",
                allowed="users, a public whole number",
                fix="--users 100000, or users = 100000 in the study",
            )
        periods = 1 if reads is None else lasting(self.promises, self.periods, reads.periods[0].unit)
        lasts = periods if any(p.scope is None or p.scope.periods != 1 for p in self.promises) else 1
        terms = Terms(
            self.space_of(question), people or self.users or 1, self.promises, self.alpha_given,
            self.delta * share / lasts, share, self.model, self.honest_fraction, self.record_map, reads, periods,
            number=self.number, parties=self.parties, ungrouped=not reads_groups(self, by),
        )  # fmt: skip
        return in_quadrature(terms, self.delta) if self.composition == "quadrature" else terms

    @property
    def number(self) -> str | None:
        """What one number each person's records become; None where they stay records."""
        result = None if self.data is None else self.data.number
        if result is None or self.data is None:
            return None
        return result.named(self.data.items, self.data.time, self.data.zone)

    @property
    def record_map(self) -> RecordMap:
        """How the records become items, as far as promises care."""
        return RecordMap.CONTRACTION if self.data is None else self.data.record_map(self.space)

    def by(self, question: Question, by: str | Sequence[str] | None) -> Question:
        """The question, answered by other groupings of people; it keeps its fraction."""
        if by is None:
            return question
        fraction = self.fraction(question) if question in self.questions else question.fraction
        result: Question = replace(question, by=by, fraction=fraction)  # type: ignore[arg-type]
        check_parts(self.model, self.calendar, self.groups, [result], self.periods)
        if any(one.hidden for one in self.groups):
            check_asked(self, result)
        return result

    def within(self, grouping: Grouping | None) -> Study:
        """The study whose items are in hidden groups; itself for public groups, whose people it counts apart.

        >>> department = Grouping("department", labels=["a", "b"], distance="6 h")
        >>> study = Study("hours", ["all, 1 hour, 0.5"], users=1000, groups=[department])
        >>> study.within(department).space.labels[0], study.within(None) is study
        ('a | 0.5', True)
        """
        if grouping is None or not grouping.hidden or self.space.geometry.within is not None:
            return self
        known: dict[str, Study] = self.__dict__.setdefault("_within", {})
        if grouping.name not in known:
            known[grouping.name] = hidden_groups(self, grouping)
        return known[grouping.name]

    def abouts(
        self,
        question: Question,
        period: str | Sequence[str] | None = None,
        pool: str | None = None,
        weights: str | Sequence[Exact] | None = None,
    ) -> list[list[About]]:
        """What releases of a question are about: for each of its groupings, one for each window of periods."""
        text = period if period is None or isinstance(period, str) else ",".join(period)
        windows = asked_windows(text, self.calendar, pool=pool, weights=weights)
        groupings = [grouping_named(self.groups, name) for name in question.by] or [None]
        return [[About(window, grouping) for window in windows] for grouping in groupings]

    def plan(
        self, request: QuestionLike = None, *, period: str | None = None, by: str | Sequence[str] | None = None
    ) -> Answer:
        """What a release would give and cost; reads no private value.

        Args:
            request: The question.
            period: The period that it is about; in a study with periods any single one by default, they are alike.
            by: The grouping of people by which it is answered: the plan is that of its least accurate group.
        """
        from barrow.study.parts import plan_parts

        question = self.by(self.question(request), by)
        about = self.abouts(question, period or (None if self.calendar is None else LAST))[0][0]
        with bars(), task(f"planning {question.label}"):
            return plan_parts(self, question, about).plan

    def compare(
        self,
        request: QuestionLike = None,
        *,
        epsilons: Sequence[Exact] = (),
        items: int | None = None,
        reference: Any = None,
    ) -> Comparison:
        """Every mechanism that can answer, beside user-level DP that keeps the same promises; reads no private value.

        Args:
            request: The question.
            epsilons: More parameters of user-level DP to compare with.
            items: How many items each person holds, where that is public and the same for all.
            reference: Where errors of decoded histograms are predicted; as the question says by default.
        """
        from barrow.questions.mechanisms_compared import mechanisms_compared  # which loads accountants and queries

        question = self.question(request)
        terms = self.terms(question, reads=asked_windows(None if self.calendar is None else LAST, self.calendar)[0])
        promises = [
            Promise(p.share_text, p.distance, granted, scope=p.scope)
            for p, granted in zip(self.promises, terms.epsilons, strict=True)
        ]
        levels = tuple(epsilons) if epsilons or promises else ("1",)
        given = {name: value for name, value in (("items", items), ("reference", reference)) if value is not None}
        with bars(), task(f"comparing mechanisms for {question.label}"):
            return mechanisms_compared(question, terms, promises, levels, given)

    # fmt: off
    @overload
    def release(
        self, request: QuestionLike = None, data: Data | None = None, *, ledger: Ledger | PathLike | None = None,
        out: PathLike | None = None, key: str | None = None, progress: bool | None = None,
        renderers: Iterable[Any] | None = None, by: str | None = None, period: str | None = None,
        pool: str | None = None, weights: Sequence[Exact] | None = None,
    ) -> Release: ...
    @overload
    def release(
        self, request: QuestionLike = None, data: Data | None = None, *, ledger: Ledger | PathLike | None = None,
        out: PathLike | None = None, key: str | None = None, progress: bool | None = None,
        renderers: Iterable[Any] | None = None, by: str | Sequence[str] | None = None,
        period: str | Sequence[str] | None = None, pool: str | None = None, weights: Sequence[Exact] | None = None,
    ) -> Release | ReleaseSeries: ...
    def release(
        self, request: QuestionLike = None, data: Data | None = None, *, ledger: Ledger | PathLike | None = None,
        out: PathLike | None = None, key: str | None = None, progress: bool | None = None,
        renderers: Iterable[Any] | None = None, by: str | Sequence[str] | None = None,
        period: str | Sequence[str] | None = None, pool: str | None = None, weights: Sequence[Exact] | None = None,
    ) -> Release | ReleaseSeries:
        # fmt: on
        """Release the answer: validate, read, reserve, draw, stage, commit, publish.

        Args:
            request: The question.
            data: The records, if the study names none.
            ledger: The ledger to charge; by default the one that the study names.
            out: A new folder for the results; of several releases each has one in it.
            key: Names this release; the same key is never paid or drawn twice.
            progress: Show what takes long.
            renderers: What makes further files.
            by: The grouping by which it is answered; a list gives one release for each of them.
            period: The period that it is about, ``"2026-10"``, ``"last"``, or a range where they are pooled; a list, of
                ranges too, gives one release for each period, all of them counted in one pass.
            pool: ``"records"`` or ``"periods"``: one release about several periods together.
            weights: How much each of them counts, pooled by periods; alike by default.
        """
        from barrow.study.release import run_release
        from barrow.study.several import one_of, release_series

        study = self if data is None else self.replace(data=data)
        question = study.by(study.question(request), by)
        listed = study.abouts(question, period, pool, weights)
        results = [about for abouts in listed for about in abouts]
        options: dict[str, Any] = {"ledger": ledger, "key": key, "progress": progress, "renderers": renderers}
        if isinstance(period, str | None) and isinstance(by, str | None):
            return run_release(study, question, out=out, about=one_of(results), **options)
        return release_series(study, question, listed, out, options)

    @property
    def budget(self) -> Budget:
        """What a ledger of this data set may spend: every promise's epsilon, or alpha."""
        from barrow.ledger import Budget, PromiseLimit, Promises, SpaceRef

        if self.users is None or self.dataset is None:
            raise ParameterError(
                "A ledger needs the name of the data set and the number of people, and the study lacks one of them.",
                allowed="dataset and users",
                fix='dataset = "visits"\nusers = 100000',
            )
        held = {public_items(question) for question in self.questions} - {None}
        # Where one question is about people of exactly m items, the budget is: unbounded releases pay in it too.
        items = held.pop() if len(held) == 1 else None
        bounded = items is not None
        if not self.promises:
            limit = Emd(self.alpha, self.delta, model=self.model, bounded=bounded)
            where = SpaceRef.of(self.space, number=self.number)
            return Budget(self.dataset, self.users, where, limit, items=items, user_level=self.user_level)
        limits = [PromiseLimit.of(promise, self.space) for promise in self.promises]
        account = 1 if self.composition == "quadrature" else None
        promises = Promises(limits, self.delta, model=self.model, bounded=bounded, quadrature=account)
        groups = {grouping.name: dict(grouping.sizes) for grouping in self.groups if not grouping.hidden}
        where = SpaceRef.of(self.space, number=self.number)
        return Budget(
            self.dataset, self.users, where, promises, items=items, calendar=self.calendar, groups=groups or None
        )

    def replace(self, **changes: Any) -> Study:
        """The same study with some arguments changed, e.g. ``study.replace(model="local")``."""
        own = self._arguments
        if self.parties is not None and changes.get("model", Model.AGGREGATED) != Model.AGGREGATED:
            own |= {"aggregators": None, "dishonest": None}  # nobody adds up shares there
        study = Study(**{**own, **changes})
        if self.grids is not None and study.space == self.space:
            object.__setattr__(study, "_grids", self.grids)
        return study

    @property
    def grids(self) -> GridChoice | None:
        """The sizes of cells that were tried, where the cells were ``"auto"``; else None."""
        grid_choice: GridChoice | None = self.__dict__.get("_grids")
        return grid_choice

    @property
    def _arguments(self) -> dict[str, Any]:
        parties = self.parties
        return {
            **{name: getattr(self, name) for name in _SAME},
            "alpha": self.alpha_given,
            "questions": self.requests,
            "aggregators": None if parties is None else parties.aggregators,
            "dishonest": None if parties is None else parties.dishonest,
        }

    @property
    def _given(self) -> dict[str, Any]:
        """The arguments in which it differs from a study that says nothing."""
        return {k: v for k, v in self._arguments.items() if v not in (None, "", (), _DEFAULTS.get(k))}

    @classmethod
    def read(cls, path: str | os.PathLike[str] = "study.toml", *, acknowledge_sql: bool = False) -> Study:
        """The study in the TOML file ``path``; ``acknowledge_sql`` lets a query through that nobody has checked."""
        from barrow.study.file import read_study

        return read_study(path, acknowledge_sql=acknowledge_sql)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Study:
        """The study that plain data describe; see ``to_spec``."""
        from barrow.study.file import study_from_spec

        return study_from_spec(spec)

    def to_spec(self) -> dict[str, Any]:
        """Plain data, as a study file holds them."""
        from barrow.study.file import spec_of

        return spec_of(self)

    def write(self, path: str | os.PathLike[str] = "study.toml") -> None:
        """Write a new study file; an existing one is never overwritten."""
        from barrow.study.file import write_study

        write_study(self, path)

    def __repr__(self) -> str:
        promises = [promise.text for promise in self.promises]
        first = [repr(self.space), *([repr(promises)] if promises else [])]
        named = {k: v for k, v in self._given.items() if k not in ("space", "promises", "folder")}
        return f"Study({', '.join(first + [f'{k}={_typed(v)!r}' for k, v in named.items()])})"


def _typed(value: object) -> object:
    """An argument as it can be typed."""
    if isinstance(value, Fraction):
        return exact_text(value)
    return value.value if isinstance(value, Model) else value
