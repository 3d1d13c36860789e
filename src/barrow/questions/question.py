"""What a person asks: one frozen class for each kind, which knows everything about being asked.

Kinds have names, and questions are read from texts, tables and classes.
"""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from fractions import Fraction
from functools import singledispatch
from typing import TYPE_CHECKING, ClassVar

from barrow.errors import ParameterError, check_options, nearest_name, unknown_name
from barrow.numerics import exact_text
from barrow.promises.definitions import share
from barrow.registry import Registry, declared, package_of
from barrow.spaces import declared_spaces, parse_call

if TYPE_CHECKING:
    from barrow.planning.terms import Terms
    from barrow.questions.answer import Answer
    from barrow.questions.channels import LocalChannel
    from barrow.questions.statement import Statement
    from barrow.spaces import Space

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Traits:
    """What is true of all values of a kind of question.

    Attributes:
        error_words: What its error is.
        per_value_error: Whether that is the error of each value by itself, and not of all together.
        of_shares: Whether its values are shares of people's items, from 0 to 1.
        alike: Whether its values are of one kind: if not, the largest of them says nothing.
        whole_people: Whether it is answered from each person's items together, and not from how often items occur.
        within_groups: Whether it is answered within hidden groups of records.
        drives_grid: Whether a grid is chosen for it, wherever it stands among the questions of a study.
        first_drawn: Whether pictures show its first value alone: beside a total a mean would be a dot at 0.

    >>> Traits(per_value_error=True, of_shares=True).in_percent
    True
    """

    error_words: str = "earth mover's distance"
    per_value_error: bool = False
    of_shares: bool = False
    alike: bool = True
    whole_people: bool = False
    within_groups: bool = False
    drives_grid: bool = False
    first_drawn: bool = False

    @property
    def in_percent(self) -> bool:
        """Whether its error is one of shares."""
        return self.per_value_error and self.of_shares


VALUES = Traits("95 % half width", per_value_error=True)
"""Of values that have an error each."""
SHARES = Traits("95 % half width", per_value_error=True, of_shares=True)
"""Of shares that have an error each."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Question(ABC):
    """One question of a study; each kind is a subclass with its own options.

    Args:
        name: What it is called in the study: its folder of results has this name. The kind by default.
        fraction: The share of every promise that it may use; None for an equal share of what the others leave.
        by: The groupings of people by which it is answered, one release for each: ``"region"``; ``"all"`` is everybody.
        title: The heading of its report, in words: "Destinations of 4,043 aircraft, 2013".
        description: A sentence or two below that heading.

    >>> from barrow.questions import Mean
    >>> Mean(fraction="0.5")
    Mean(fraction='0.5')
    """

    kind: ClassVar[str] = ""
    traits: ClassVar[Traits] = Traits()
    missing: ClassVar[tuple[str, ...]] = ("default item",)
    """What people without records may hold when it is asked; the first where the study does not say."""

    name: str = ""
    fraction: Fraction | None = None
    by: tuple[str, ...] = ()
    title: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", _groupings(self.by))
        object.__setattr__(self, "title", checked_words(self.title, "title"))
        object.__setattr__(self, "description", checked_words(self.description, "description"))
        if self.name != "" and (not isinstance(self.name, str) or _NAME.fullmatch(self.name) is None):
            raise ParameterError(
                f"The question is called {self.name!r}.",
                allowed="letters, digits, '.', '_' and '-', at most 80: its results get a folder of this name",
                fix=f"name = {self.kind!r}",
            )
        for option in dataclasses.fields(self):
            if option.default is MISSING and getattr(self, option.name) is None:
                raise ParameterError(
                    f"{option.name} of the question {self.kind!r} is None.",
                    allowed="see help(barrow." + type(self).__name__ + ")",
                    fix=f'"{self.kind}({option.name}=…)"',
                )
        if self.fraction is not None:
            object.__setattr__(self, "fraction", share(self.fraction, "fraction"))

    @property
    def label(self) -> str:
        """Its name, or its kind where it has none."""
        return self.name or self.kind

    def fits(self, space: Space) -> None:  # noqa: B027 (most fit every space)
        """Refuse, within a second, a space on which it has no answer."""

    @abstractmethod
    def plan(self, terms: Terms) -> Answer:
        """The most accurate answer that keeps the terms; it reads no data."""

    def channel(self, terms: Terms) -> LocalChannel:
        """What one person's client does to their items; nothing is simulated, compared or decoded for it."""
        raise central_only(self)

    # What a statement says, from itself alone, so that an old one can be explained without its study.

    @classmethod
    @abstractmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is, in a sentence or two."""

    @classmethod
    def steps(cls, statement: Statement) -> list[str]:
        """How a release was made: first what the noise was added to, then how it was drawn, step by step."""
        return [cls._counted(statement), *cls._noise_steps(statement)]

    @classmethod
    @abstractmethod
    def _counted(cls, statement: Statement) -> str:
        """What the noise was added to."""

    @classmethod
    @abstractmethod
    def _noise_steps(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, step by step."""

    # How it is written.

    def to_spec(self) -> dict[str, object]:
        """Plain data that :func:`barrow.questions.to_question` reads back: the kind, and what is no default."""
        result: dict[str, object] = {"kind": self.kind}
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            if option.default is MISSING or value != option.default:
                result[option.name] = exact_text(value) if isinstance(value, Fraction) else value
        if self.by:
            result["by"] = self.by[0] if len(self.by) == 1 else list(self.by)
        return result

    def __repr__(self) -> str:
        options = [f"{key}={value!r}" for key, value in self.to_spec().items() if key != "kind"]
        return f"{type(self).__name__}({', '.join(options)})"


READ_FROM_HISTOGRAM = "histogram, which people can report themselves, and from which they can be read off"
"""What to ask of reports in place of what is read off values of a curator."""
MOST_WORDS = {"title": 200, "description": 2000}
"""Letters of the words that a study and its questions have for readers."""


def checked_words(value: object, name: str) -> str:
    """Words for readers: the heading of a report, or what stands below it; on one line, or none at all.

    >>> checked_words("  Destinations of   4,043 aircraft", "title")
    'Destinations of 4,043 aircraft'
    """
    words = " ".join(value.split()) if isinstance(value, str) else None
    if words is None or len(words) > MOST_WORDS[name]:
        raise ParameterError(
            f"{name} is a text of {len(words):,} letters." if words else f"{name} is {value!r:.50}.",
            allowed=f"a text of at most {MOST_WORDS[name]:,} letters",
            fix=f'{name} = "Destinations of 4,043 aircraft, 2013"',
        )
    return words


def central_only(question: Question) -> ParameterError:
    """That nobody can answer it alone."""
    return ParameterError(
        f"The question {question.kind!r} cannot be answered from reports that people randomise themselves.",
        allowed="a mean, a distance, a histogram, frequencies or items",
        fix="kind = 'histogram', or model = 'central' for data that somebody holds",
    )


def needs_curator(what: str, fix: str = "model='central'") -> ParameterError:
    """That somebody must hold the data."""
    return ParameterError(
        f"{what} need the central model, in which a curator holds the data.", allowed="model = 'central'", fix=fix
    )


def _groupings(by: object) -> tuple[str, ...]:
    """The names of groupings, one or several."""
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Sequence) else (by,)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ParameterError(
            f"by is {by!r}.",
            allowed="the name of a [[group]], or a list of different ones; 'all' for everybody",
            fix='by = "region"',
        )
    return names


def digits_of(statement: Statement) -> int:
    """With how many digits an error is said: one where a release worked it out from itself, as it varies by so much."""
    own = statement.error_after
    return 1 if own is not None and own.between is None else 3


def asked_of(question: Question) -> dict[str, object]:
    """The question itself as plain data, without its words for readers, its fraction and its groupings.

    What a kind declares anew has a meaning of its own there, and stays.
    """
    own = vars(type(question)).get("__annotations__", {})
    beside = {"name", "fraction", "by", "title", "description"} - set(own)
    return {key: value for key, value in question.to_spec().items() if key not in beside}


def named_part(question: Question) -> dict[str, object]:
    """The question with its name, as a part of one that asks several together.

    >>> from barrow.questions import Mean
    >>> named_part(Mean(name="age"))
    {'kind': 'mean', 'name': 'age'}
    """
    return {**asked_of(question), "name": question.label}


# What a study asks before it plans; each by the type of the question.


@singledispatch
def public_items(question: Question) -> int | None:
    """m, where every person holds the same public number of items; None where they may hold any number."""
    return None


@singledispatch
def grid_question(question: Question) -> Question:
    """What is planned in its place while a grid is chosen."""
    return question


@singledispatch
def is_resolved(question: Question) -> bool:
    """Whether it can be written down; where not, the question of its plan can."""
    return True


@singledispatch
def resolved(question: Question, terms: Terms) -> Question:
    """What people who report themselves are asked: what is chosen by its error stands in it by name."""
    return question


@singledispatch
def bandwidths_of(question: Question, terms: Terms) -> tuple[tuple[float, float], ...]:
    """Bandwidths that can be chosen, in the space's unit, from wide to narrow, each with its error; mostly nothing.

    >>> from fractions import Fraction
    >>> from barrow.planning.terms import Terms
    >>> from barrow.questions import Density
    >>> from barrow.spaces import Line
    >>> bandwidths_of(Density(bandwidth="auto"), Terms(Line(0, 64, step=1), 1000, given=Fraction(9)))[0][0]
    16.0
    """
    return ()


@singledispatch
def host_of(question: Question, others: Sequence[Question]) -> Question:
    """The question among others whose release holds the answer; mostly itself."""
    return question


QUESTIONS: Registry[Question] = Registry(
    "kind of question",
    "barrow.questions",
    {
        "circular_mean": "barrow.questions.circular_mean:CircularMean",
        "density": "barrow.questions.density:Density",
        "distance": "barrow.questions.distance:Distance",
        "frequency": "barrow.questions.frequency:Frequency",
        "function": "barrow.questions.function:Function",
        "histogram": "barrow.questions.histogram:Histogram",
        "items": "barrow.questions.items:Items",
        "mean": "barrow.questions.mean:Mean",
        "person": "barrow.questions.person:Person",
        "projection": "barrow.questions.similarity:Projection",
        "quantile": "barrow.questions.quantile:Quantile",
        "region": "barrow.questions.region:Region",
        "similarity": "barrow.questions.similarity:Similarity",
        "spread": "barrow.questions.spread:Spread",
        "total": "barrow.questions.total:Total",
        "workload": "barrow.questions.workload:Workload",
    },
)


_UNBOUNDED = "Without a bound one person could move it by any amount."
_NUMBER = (
    "one number a person: [data] per_person = 'count', 'sum(column)', 'min' or 'max', whose space is a line with "
    "public ends; then the questions total, mean, quantile and histogram are about this number"
)
_GROUPS = "any question by public groups of people with typed sizes, or by hidden groups with a public list of labels"
_NUMBERS = {
    "count": (f"How many records people have is one number for each of them. {_UNBOUNDED}", 'per_person = "count"'),
    "visits": (f"How many records people have is one number for each of them. {_UNBOUNDED}", 'per_person = "count"'),
    "sum": (
        f"How much people have in all is one number for each of them. {_UNBOUNDED}",
        '"sum(amount)" on the command line, or per_person = "sum(amount)"',
    ),
    "groupby": (
        "Groups learnt from the data would reveal that somebody is in them.",
        '--group "region: north=512, south=571" (or [[group]]), and --by region (or by = "region")',
    ),
}
"""Kinds that people ask for, why they are none, and what to write."""


def question_kinds() -> Registry[Question]:
    """Every kind of question by its name; a class is loaded when it is asked for.

    >>> question_kinds()["mean"].__name__
    'Mean'
    """
    return QUESTIONS


def declared_parts(request: Question | type[Question], space: Space) -> list[str]:
    """What a plan, a statement and a ledger say where a question or its space is another package's word.

    >>> from barrow.spaces import Line
    >>> declared_parts(QUESTIONS["mean"], Line(0, 1))
    []
    """
    kind = request if isinstance(request, type) else type(request)
    own = declared(f"question {kind.kind!r}", package_of(kind), "its constants and how it adds noise")
    return [*own, *declared_spaces(space)]


def to_question(question: Question | str | Mapping[str, object] | type[Question]) -> Question:
    """The question that was asked: an object, a text such as ``"density(bandwidth='1 km')"``, a table, or a class.

    >>> from barrow.questions import Mean
    >>> to_question("density(bandwidth='1 km')"), to_question({"kind": "mean"}), to_question(Mean)
    (Density(bandwidth='1 km'), Mean(), Mean())
    >>> to_question("maen")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The kind of question is 'maen'. Did you mean 'mean'?
      allowed: circular_mean, density, ...
      fix:     mean
    """
    if isinstance(question, Question):
        return question
    if isinstance(question, type) and issubclass(question, Question):
        return _build(question, {})
    if isinstance(question, str):
        spec = parse_call(question)
        if spec is None:
            raise ParameterError(
                f"The question {question[:200]!r} cannot be read.",
                allowed="a kind of question with named arguments",
                fix=_with_names(question) or '"mean", "histogram" or "density(bandwidth=\'5 km\')"',
            )
        return to_question(spec)
    if not isinstance(question, Mapping):
        raise ParameterError(
            f"The question is a {type(question).__name__}.",
            allowed="a question, a text or a table",
            fix='"mean"',
        )
    options = {str(key): value for key, value in question.items()}
    name = str(options.pop("kind", "")).replace("-", "_")
    if name == "median":
        name, options = "quantile", {"name": name, **options, "of": "1/2"}
    if name in QUESTIONS:
        return _build(QUESTIONS[name], options)
    if name in _NUMBERS:
        raise ParameterError(
            f"The kind of question is {name!r}. {_NUMBERS[name][0]}",
            allowed=_GROUPS if name == "groupby" else _NUMBER,
            fix=_NUMBERS[name][1],
        )
    raise unknown_name(f"The kind of question is {name!r}.", name, QUESTIONS, otherwise="mean")


def _with_names(text: str) -> str | None:
    """The question with its arguments under the name of the kind's own first option, where that may be meant.

    >>> _with_names("quantiles(0.1, 0.9)"), _with_names("density('5 km')"), _with_names("mean(3)")
    ('quantile(of=[0.1, 0.9])', "density(bandwidth='5 km')", None)
    """
    kind, bracket, inner = text.strip().partition("(")
    name = kind if kind in QUESTIONS else nearest_name(kind, QUESTIONS)
    if name is None or not bracket or not inner.endswith(")") or "=" in inner or inner == ")" or len(inner) > 200:
        return None
    shared = {"noise", "definition", "step", *(field.name for field in dataclasses.fields(Question))}
    first = next((field.name for field in dataclasses.fields(QUESTIONS[name]) if field.name not in shared), None)
    value = parse_call(f"{name}(value=[{inner[:-1]}])")
    if first is None or value is None:
        return None
    given = value["value"]
    return f"{name}({first}={given if len(given) > 1 else given[0]!r})"


def _build(kind: type[Question], options: Mapping[str, object]) -> Question:
    """The question, or an error that names the option that is wrong."""
    known = {field.name: field for field in dataclasses.fields(kind)}
    check_options(kind.__name__, known, options)
    missing = [
        name
        for name, field in known.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in options
    ]
    if missing:
        raise ParameterError(
            f"The question {kind.kind!r} lacks {', '.join(missing)}.",
            allowed=", ".join(known),
            fix=f'"{kind.kind}({missing[0]}=…)"',
        )
    return kind(**options)  # type: ignore[arg-type]  # constructors check what people type
