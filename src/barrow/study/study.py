"""A study: one data set, its space, its promises and its questions; everything in it is public."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from barrow.display import Displayed
from barrow.engines import with_tables
from barrow.errors import NamedOptions, ParameterError, path_text, reading
from barrow.numerics import Exact, checked_people, exact_text
from barrow.planning.terms import Terms
from barrow.policy import Policy, Promise, RecordMap
from barrow.policy.policy import PromiseLike, to_promise
from barrow.privacy import Emd, Model, UserLevel
from barrow.privacy.definitions import positive, probability, to_model
from barrow.privacy.definitions import share as fraction_of
from barrow.progress import task
from barrow.questions import Question, to_question
from barrow.questions.base import QUESTIONS
from barrow.spaces import Elsewhere, NoRecords, Space, parse_space, parse_spec, space_from_spec
from barrow.spaces.one_more import has_outside, with_no_records
from barrow.study.data import Data

if TYPE_CHECKING:
    from barrow.ledger import Budget, Ledger
    from barrow.planning import Comparison
    from barrow.questions import Plan
    from barrow.study.grid_table import GridChoice
    from barrow.study.result import Release

MISSING = ("no records", "default item")
"""What people without records may hold."""
Asked = Question | str | Mapping[str, Any] | type[Question] | None


@dataclass(frozen=True, repr=False)
class Study(Displayed, NamedOptions):
    """What a study says. Promises are kept by all releases about its data set together.

    Args:
        space: The space of items.
        promises: Promises ``"share, distance, epsilon"``; or
        alpha: alpha itself.
        delta: The delta of all releases together.
        users: n, how many people the data are about; public.
        dataset: A public name of the data set.
        questions: What is asked, each by a name.
        model: Who adds the noise: ``"central"``, ``"local"`` or ``"shuffle"``.
        honest: For ``"shuffle"``: the share of people who send what they should and tell nobody, at least; the
            guarantee counts on these alone.
        data: The records.
        ledger: The file that remembers what was spent.
        missing: What people without records hold: ``"no records"``, a public item of its own, or ``"default item"``,
            the space's default item. Left out, each question takes what suits it: "no records", but for reports on
            items. Where people report themselves, everybody who takes part has something to report.
        user_level: For a ledger of alpha, a separate user-level budget out of which releases about other spaces are
            paid by their worst case.

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
    asked: tuple[Question, ...]
    model: Model
    honest: Fraction
    data: Data | None
    ledger: str | None
    user_level: UserLevel | None
    missing: str | None

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
        honest: Exact = 1,
        data: Data | None = None,
        ledger: str | os.PathLike[str] | None = None,
        user_level: UserLevel | None = None,
        missing: str | None = None,
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
                    lambda made: Study(
                        made, promises, alpha=alpha, delta=delta, users=users, questions=questions, model=model,
                        honest=honest, data=data, missing=missing,
                    ),
                )  # fmt: skip
                put("_grids", grids)
        data = _with_outside(_space(space), _data(data))
        put("space", _effective(_space(space), data))
        put("promises", _promises(promises))
        put("alpha_given", None if alpha is None else positive(alpha, "alpha"))
        put("delta", probability(delta))
        put("users", None if users is None else checked_people(users))
        put("dataset", None if dataset is None else _text(dataset, "dataset"))
        put("model", to_model(model))
        put("asked", _questions(questions))
        put("questions", _together(self.asked, self.model))
        put("honest", _honest(honest, self.model))
        put("data", data)
        put("ledger", None if ledger is None else path_text(ledger, "The ledger"))
        put("user_level", _user_level(user_level))
        put("missing", _missing(missing, self.space, self.model))
        if self.alpha_given is not None and self.promises:
            raise ParameterError("The study gives alpha and promises.", allowed="one of them", fix="remove alpha")
        if self.promises:
            _ = self.policy  # distances are checked now, not at first use
        _ = self._fractions

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
                + (" and leave nothing to the others." if given == 1 else "."),
                allowed="at most 1 in all; questions without a fraction share the rest",
                fix=f"fraction = {exact_text(Fraction(1, max(len(self.questions), 1)))!r} for each",
            )
        rest = (1 - given) / len(open_ones) if open_ones else Fraction(0)
        return {q.label: rest if q.fraction is None else q.fraction for q in self.questions}

    def question(self, asked: Asked = None) -> Question:
        """The question that is meant: by its name in the study, by a text, a table, a class; or the only one."""
        if asked is None:
            if len(self.questions) == 1:
                return self.questions[0]
            raise ParameterError(
                "The study asks no question." if not self.questions else "The study asks several questions.",
                allowed=", ".join(q.label for q in self.questions) or "a [[question]] table",
                fix=self.questions[0].label if self.questions else "--question mean, or [[question]] in the study",
            )
        if isinstance(asked, str):
            for question in (*self.questions, *self.asked):
                if question.label == asked:
                    return self._answering(question)
            if self.questions and asked not in QUESTIONS and "(" not in asked:
                from barrow.errors import nearest_name

                names = [q.label for q in self.asked]
                close = nearest_name(asked, names) or nearest_name(asked, QUESTIONS)
                raise ParameterError(
                    f"The study has no question {asked!r}." + (f" Did you mean {close!r}?" if close else ""),
                    allowed=", ".join(names),
                    fix=close or names[0],
                )
        return self._answering(to_question(asked))

    def _answering(self, question: Question) -> Question:
        """The question that answers: quantiles are read off a histogram of the study that has them."""
        return next((other for other in self.questions if other.answers(question)), question)

    def space_of(self, question: Question) -> Space:
        """The space that ``question`` is answered on: the study's, with one more item for people without records.

        >>> Study("hours", alpha=1, users=10).space_of(to_question("histogram")).labels[-1]
        'no records'
        """
        if self.model is not Model.CENTRAL or self.space.size is None:
            return self.space
        said = MISSING[0] if self.missing is None and self.space.no_records_distance is not None else self.missing
        hold = said or question.missing[0]
        if hold not in question.missing:
            raise ParameterError(
                f"missing is {hold!r}, and the question {question.label!r} cannot tell people without records apart.",
                allowed=", ".join(map(repr, question.missing)),
                fix=f"missing = {question.missing[0]!r}, or leave it out: then each question takes what suits it",
            )
        return with_no_records(self.space) if hold == MISSING[0] else self.space.records_space

    def terms(self, question: Question) -> Terms:
        """What the study grants ``question``: its fraction of every promise, or all of it if it stands alone."""
        fraction = self._fractions.get(question.label) if question in self.questions else question.fraction
        share = Fraction(1) if fraction is None else fraction
        if self.users is None and self.model is not Model.LOCAL:
            raise ParameterError(
                "The study does not say how many people the data are about.",
                allowed="users, a public whole number",
                fix="--users 100000, or users = 100000 in the study",
            )
        return Terms(
            self.space_of(question), self.users or 1, self.promises, self.alpha_given, self.delta * share, share,
            self.model, self.honest, self.record_map,
        )  # fmt: skip

    @property
    def record_map(self) -> RecordMap:
        """How the records become items, as far as promises care."""
        return RecordMap.CONTRACTION if self.data is None else self.data.record_map(self.space)

    def plan(self, asked: Asked = None) -> Plan:
        """What a release would give and cost; reads no private value."""
        from barrow.study.bars import bars

        question = self.question(asked)
        with bars(), task(f"planning {question.label}"):
            return question.plan(self.terms(question))

    def compare(
        self,
        asked: Asked = None,
        *,
        epsilons: Sequence[Exact] = (),
        items: int | None = None,
        reference: Any = None,
    ) -> Comparison:
        """Every mechanism that can answer, beside user-level DP that keeps the same promises; reads no private value.

        Args:
            asked: The question.
            epsilons: More parameters of user-level DP to compare with.
            items: How many items each person holds, where that is public and the same for all.
            reference: Where errors of decoded histograms are predicted; as the question says by default.
        """
        from barrow.study.bars import bars

        question = self.question(asked)
        terms = self.terms(question)
        promises = [Promise(p.share_text, p.distance, p.epsilon * terms.fraction) for p in self.promises]
        levels = tuple(epsilons) if epsilons or promises else ("1",)
        given = {name: value for name, value in (("items", items), ("reference", reference)) if value is not None}
        with bars(), task(f"comparing mechanisms for {question.label}"):
            return question.compared(terms, promises, levels, **given)

    def release(
        self,
        asked: Asked = None,
        data: Data | None = None,
        *,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
        key: str | None = None,
        progress: bool | None = None,
        renderers: Iterable[Any] | None = None,
    ) -> Release:
        """Release the answer: validate, read, reserve, draw, stage, commit, publish."""
        from barrow.study.release import run_release

        study = self if data is None else self.replace(data=data)
        return run_release(
            study, study.question(asked), ledger=ledger, out=out, key=key, progress=progress, renderers=renderers
        )

    @property
    def budget(self) -> Budget:
        """What a ledger of this data set may spend: every promise's epsilon, or alpha."""
        from barrow.ledger import Budget, PromiseLimit, Promises, SpaceRef

        if self.users is None or self.dataset is None:
            raise ParameterError(
                "A ledger is about a named data set and a number of people, and the study does not say both.",
                allowed="dataset and users",
                fix='dataset = "visits"\nusers = 100000',
            )
        held = {question.items for question in self.questions} - {None}
        # Where one question is about people of exactly m items, the budget is: unbounded releases pay in it too.
        items = held.pop() if len(held) == 1 else None
        bounded = items is not None
        if not self.promises:
            limit = Emd(self.alpha, self.delta, model=self.model, bounded=bounded)
            where = SpaceRef.of(self.space)
            return Budget(self.dataset, self.users, where, limit, items=items, user_level=self.user_level)
        limits = [PromiseLimit.of(promise, self.space) for promise in self.promises]
        kept = Promises(limits, self.delta, model=self.model, bounded=bounded)
        return Budget(self.dataset, self.users, self.space, kept, items=items)

    def replace(self, **changes: Any) -> Study:
        """The same study with some arguments changed, e.g. ``study.replace(model="local")``."""
        found = Study(**{**self._arguments, **changes})
        if self.grids is not None and found.space == self.space:
            object.__setattr__(found, "_grids", self.grids)
        return found

    @property
    def grids(self) -> GridChoice | None:
        """The sizes of cells that were tried, where the cells were ``"auto"``; else None."""
        found: GridChoice | None = self.__dict__.get("_grids")
        return found

    @property
    def _arguments(self) -> dict[str, Any]:
        return {
            "space": self.space,
            "promises": self.promises,
            "alpha": self.alpha_given,
            "delta": self.delta,
            "users": self.users,
            "dataset": self.dataset,
            "questions": self.asked,
            "model": self.model,
            "honest": self.honest,
            "data": self.data,
            "ledger": self.ledger,
            "user_level": self.user_level,
            "missing": self.missing,
        }

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
        shown = {
            "alpha": None if self.alpha_given is None else exact_text(self.alpha_given),
            "delta": exact_text(self.delta) if self.delta else None,
            "users": self.users,
            "dataset": self.dataset,
            "questions": list(self.questions) or None,
            "model": None if self.model is Model.CENTRAL else self.model.value,
            "honest": None if self.honest == 1 else exact_text(self.honest),
            "data": self.data,
            "ledger": self.ledger,
            "user_level": self.user_level,
            "missing": self.missing,
        }
        promises = [promise.text for promise in self.promises]
        first = [repr(self.space), *([repr(promises)] if promises else [])]
        return f"Study({', '.join(first + [f'{k}={v!r}' for k, v in shown.items() if v is not None])})"


def _honest(honest: Any, model: Model) -> Fraction:
    found = fraction_of(honest, "honest")
    if found != 1 and model is not Model.SHUFFLE:
        raise ParameterError(
            f"honest is {exact_text(found)}, and the model is {model.value!r}, where nobody hides anybody.",
            allowed="honest for model = 'shuffle' only",
            fix="leave honest out",
        )
    return found


def _space(space: Any) -> Space:
    if isinstance(space, Space):
        return space
    if isinstance(space, str):
        spec = parse_spec(space)
        return parse_space(space) if spec is None else space_from_spec(with_tables(spec))
    if isinstance(space, Mapping):
        return space_from_spec(with_tables(space))
    raise ParameterError(
        f"The space is a {type(space).__name__}.",
        allowed="a space, a text such as 'line(low=0, high=100, step=1)', or a table",
        fix="bw.Line(0, 100, step=1, unit='years')",
    )


def _effective(space: Space, data: Data | None) -> Space:
    """The space with an item for what is outside it, where the records ask for one."""
    wanted = data is not None and data.outside == "elsewhere" and not has_outside(space)
    if not wanted:
        return space
    found = Elsewhere(space.records_space)
    return found if space.no_records_distance is None else NoRecords(found, distance=space.no_records_distance)


def _missing(missing: Any, space: Space, model: Model) -> str | None:
    if missing is not None and missing not in MISSING:
        raise ParameterError(f"missing is {missing!r}.", allowed=", ".join(map(repr, MISSING)), fix=MISSING[0])
    apart = missing == MISSING[0] or (missing is None and space.no_records_distance is not None)
    if apart and model is not Model.CENTRAL:
        raise ParameterError(
            f"missing is 'no records', and the model is {model.value!r}, where everybody who takes part reports.",
            allowed="missing = 'no records' for model = 'central'",
            fix="missing = 'default item'",
        )
    return None if missing is None else str(missing)


def _with_outside(space: Space, data: Data | None) -> Data | None:
    """The records, read as the space says where it has an item for what is outside."""
    if data is None or not has_outside(space) or data.outside == "elsewhere":
        return data
    if data.outside == "error":
        return replace(data, outside="elsewhere")
    raise ParameterError(
        f"outside is {data.outside!r}, but the space has an item for what is outside.",
        allowed="'elsewhere'",
        fix="outside = 'elsewhere'",
    )


def _data(data: Any) -> Data | None:
    if data is None or isinstance(data, Data):
        return data
    if isinstance(data, Mapping) and set(data) <= set(Data.__dataclass_fields__) and "user" in data:
        return Data(**data)
    raise ParameterError(
        f"The records are a {type(data).__name__}.",
        allowed="what bw.read(…) gives, which says who is one person, or a table like [data]",
        fix="data=bw.read(source, user='uid', item='age')",
    )


def _promises(promises: Any) -> tuple[Promise, ...]:
    """One promise, or several, in any of their forms."""
    single = isinstance(promises, str | Promise | Mapping) or _is_triple(promises)
    if not single and not isinstance(promises, Iterable):
        raise ParameterError(
            f"The promises are a {type(promises).__name__}.",
            allowed="promises, texts 'share, distance, epsilon', or triples",
            fix='["all, 300 m, 0.5"]',
        )
    return tuple(_promise(promise) for promise in ([promises] if single else promises))


def _promise(promise: Any) -> Promise:
    if isinstance(promise, Mapping):
        with reading("The promise", allowed="share, distance, epsilon", fix='"all, 300 m, 0.5"'):
            return Promise(**promise)
    return to_promise(promise)


def _user_level(level: Any) -> UserLevel | None:
    if level is None or isinstance(level, UserLevel):
        return level
    return UserLevel(*level) if isinstance(level, tuple) and 0 < len(level) <= 2 else UserLevel(level)


def _is_triple(promises: Any) -> bool:
    """Whether this is one promise as a tuple, and not a tuple of promises."""
    return (
        isinstance(promises, tuple)
        and len(promises) == 3
        and not any(isinstance(part, Promise | tuple | list) for part in promises)
        and not all(isinstance(part, str) and part.count(",") >= 2 for part in promises)
    )


def _questions(asked: Any) -> tuple[Question, ...]:
    single = isinstance(asked, Question | str | Mapping | type) or not isinstance(asked, Iterable)
    found = tuple(to_question(one) for one in ([asked] if single else asked))
    names = [question.label for question in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(
            f"Two questions are called {twice!r}.", allowed="a name of its own for each", fix=f'name = "{twice}-2"'
        )
    return found


def _together(asked: tuple[Question, ...], model: Model) -> tuple[Question, ...]:
    """What is released: quantiles beside a histogram are read off it."""
    if model is not Model.CENTRAL or not {"histogram", "quantile"} <= {question.kind for question in asked}:
        return asked
    from barrow.questions.quantile import read_together  # with both kinds there, their modules are loaded

    return read_together(asked)


def _text(value: Any, name: str) -> str:
    text = str(value).strip() if isinstance(value, str | int) else ""
    if not text or len(text) > 200:
        raise ParameterError(f"{name} is {text[:50]!r}.", allowed="1 to 200 characters", fix=f'{name} = "visits"')
    return text
