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
from typing import TYPE_CHECKING, Any, ClassVar

from barrow.errors import NamedOptions, ParameterError, nearest_name
from barrow.numerics import exact_text
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.privacy.definitions import share
from barrow.registry import Registry, declared, package_of
from barrow.spaces import declared_spaces, parse_call

if TYPE_CHECKING:
    from barrow.planning import Comparison
    from barrow.planning.terms import Terms
    from barrow.policy import Promise
    from barrow.privacy import Model
    from barrow.questions.channels import LocalChannel
    from barrow.questions.plan import Plan
    from barrow.questions.statement import Statement
    from barrow.spaces import Space

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class AnyItems:
    """What holds of a question and of its plan where they say nothing else: people may hold any number of items."""

    @property
    def items(self) -> int | None:
        """m, where every person holds the same public number of items; None where they may hold any number."""
        return None

    @property
    def samples(self) -> int | None:
        """s, where so many items are drawn from each person; None otherwise."""
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class Question(AnyItems, NamedOptions, ABC):
    """One question of a study; each kind is a subclass with its own options.

    Args:
        name: What it is called in the study: its folder of results has this name. The kind by default.
        fraction: The share of every promise that it may use; None for an equal share of what the others leave.

    >>> from barrow.questions import Mean
    >>> Mean(fraction="0.5")
    Mean(fraction='0.5')
    """

    kind: ClassVar[str] = ""
    of_shares: ClassVar[bool] = False
    """Whether its values are shares of people's items, from 0 to 1."""
    alike: ClassVar[bool] = True
    """Whether its values are of one kind: if not, the largest of them says nothing."""
    error_words: ClassVar[str] = "earth mover's distance"
    """What its error is."""
    each_alone: ClassVar[bool] = False
    """Whether that is the error of each value by itself, and not of all together."""
    leads_grid: ClassVar[bool] = False
    """Whether a grid is chosen for it, wherever it stands among the questions of a study."""
    at_once: ClassVar[int] = 700
    """It is planned at once on spaces of up to so many items."""

    name: str = ""
    fraction: Fraction | None = None

    def __post_init__(self) -> None:
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

    @property
    def missing(self) -> tuple[str, ...]:
        """What people without records may hold when it is asked; the first where the study does not say."""
        return ("default item",)

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""

    @property
    def in_percent(self) -> bool:
        """Whether its error is one of shares."""
        return False

    @property
    def smoothed_over(self) -> Any:
        """The distance over which it smooths, as it was typed; None where it does not."""
        return None

    def bandwidths(self, terms: Terms) -> tuple[tuple[float, float], ...]:
        """Bandwidths that can be chosen, in the space's unit, each with the predicted error; mostly nothing."""
        return ()

    @property
    def settled(self) -> bool:
        """Whether it can be written down; where not, the question of its plan can."""
        return True

    @abstractmethod
    def plan(self, terms: Terms) -> Plan:
        """The most accurate answer that keeps the terms; it reads no data."""

    def channel(self, terms: Terms) -> LocalChannel:
        """What one person's client does to their items; nothing is simulated, compared or decoded for it."""
        raise self.central_only()

    def central_only(self) -> ParameterError:
        """That nobody can answer it alone."""
        return ParameterError(
            f"The question {self.kind!r} is not planned for reports that people make themselves.",
            allowed="model='local' or 'shuffle'",
            fix="study.replace(model='local')",
        )

    def compared_as(self, space: Space) -> dict[str, Any]:
        """What :func:`barrow.planning.compare` takes of it: what it knows of people's items is their histogram."""
        return {"space": space, "query": {"kind": "histogram"}, "items": self.items or self.samples}

    def compared(self, terms: Terms, promises: Sequence[Promise], epsilons: Sequence[Any], **given: Any) -> Comparison:
        """All mechanisms that keep the terms beside user-level DP; ``given`` goes before its own options."""
        from barrow.planning import compare

        return compare(
            alpha=None if promises else terms.alpha,
            delta=terms.delta,
            users=terms.users,
            model=terms.model.value,
            promises=terms.policy_of(promises),
            epsilons=epsilons,
            **{**self.compared_as(terms.space), **given},
        )

    def answers(self, other: Question) -> bool:
        """Whether a release of this question holds the answer to another one."""
        return False

    def for_grid(self) -> Question:
        """What is planned in its place while a grid is chosen."""
        return self

    # While somebody waits: whether a plan is there at once, and what can stand in for it.

    def ready(self, space: Space) -> bool:
        """Whether it is planned at once."""
        return space.size is not None and space.items <= self.at_once

    def preview_items(self, space: Space) -> int:
        """How many items the grid of a preview has."""
        return 400

    def previewed(self, model: Model, finer: bool) -> bool:
        """Whether a preview can stand in for the plan on this grid, or on one that is ``finer`` than its own."""
        return finer

    def quick(self, space: Space) -> Question:
        """The same question, asked so that a plan on ``space`` takes no time."""
        return self

    def preview(self, terms: Terms, space: Space) -> Plan:
        """A plan on ``space`` with the alpha of ``terms``."""
        return self.quick(space).plan(at_alpha(terms, space, terms.alpha))

    # What a statement says, from itself alone, so that an old one can be explained without its study.

    @classmethod
    def accuracy(cls, statement: Statement) -> str:
        """How accurate a release is, in a few words, half widths rounded up; empty where that is not known."""
        error, unit = statement.error, statement.error_unit
        if error is None:
            return ""
        if cls.each_alone:
            return f"each value ± {at_most(error, PERCENT if cls.of_shares else unit)} (95 %)"
        return f"off by about {near(error, unit, digits=digits_of(statement))} (earth mover's distance)"

    @classmethod
    @abstractmethod
    def released(cls, statement: Statement) -> str:
        """What was released, and how accurate it is, in a sentence or two."""

    @classmethod
    @abstractmethod
    def counted(cls, statement: Statement) -> str:
        """What the noise was added to."""

    @classmethod
    @abstractmethod
    def drawn(cls, statement: Statement) -> list[str]:
        """How the noise was drawn, step by step."""

    # How it is written.

    def options(self) -> dict[str, Any]:
        """What was asked for beside the defaults, as plain data."""
        found = {}
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            if option.default is MISSING or value != option.default:
                found[option.name] = exact_text(value) if isinstance(value, Fraction) else value
        return found

    def to_spec(self) -> dict[str, Any]:
        """Plain data that :func:`barrow.questions.to_question` reads back."""
        return {"kind": self.kind, **self.options()}

    @property
    def asked(self) -> dict[str, Any]:
        """The question itself as plain data, without its name and its fraction."""
        return {key: value for key, value in self.to_spec().items() if key not in ("name", "fraction")}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.options().items())})"


def digits_of(statement: Statement) -> int:
    """With how many digits an error is said: one where a release worked it out from itself, as it varies by so much."""
    own = statement.error_after
    return 1 if own is not None and own.between is None else 3


def at_alpha(terms: Terms, space: Space, alpha: Fraction) -> Terms:
    """The same people on another space, with an alpha in place of promises."""
    return dataclasses.replace(terms, space=space, promises=(), given=alpha, fraction=Fraction(1))


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
        "projection": "barrow.questions.similarity:Projection",
        "quantile": "barrow.questions.quantile:Quantile",
        "region": "barrow.questions.region:Region",
        "similarity": "barrow.questions.similarity:Similarity",
        "spread": "barrow.questions.spread:Spread",
    },
)


def question_kinds() -> Registry[Question]:
    """Every kind of question by its name; a class is loaded when it is asked for.

    >>> question_kinds()["mean"].__name__
    'Mean'
    """
    return QUESTIONS


def declared_parts(asked: Question | type[Question], space: Space) -> list[str]:
    """What a plan, a statement and a ledger say where a question or its space is another package's word.

    >>> from barrow.spaces import Line
    >>> declared_parts(QUESTIONS["mean"], Line(0, 1))
    []
    """
    kind = asked if isinstance(asked, type) else type(asked)
    own = declared(f"question {kind.kind!r}", package_of(kind), "its constants and how it adds noise")
    return [*own, *declared_spaces(space)]


def to_question(asked: Question | str | Mapping[str, Any] | type[Question]) -> Question:
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
    if isinstance(asked, Question):
        return asked
    if isinstance(asked, type) and issubclass(asked, Question):
        return _made(asked, {})
    if isinstance(asked, str):
        spec = parse_call(asked)
        if spec is None:
            raise ParameterError(
                f"The question {asked[:200]!r} cannot be read.",
                allowed="a kind of question with named arguments",
                fix='"mean", "histogram" or "density(bandwidth=\'5 km\')"',
            )
        return to_question(spec)
    if not isinstance(asked, Mapping):
        raise ParameterError(
            f"The question is a {type(asked).__name__}.",
            allowed="a question, a text or a table",
            fix='"mean"',
        )
    options = {str(key): value for key, value in asked.items()}
    name = str(options.pop("kind", "")).replace("-", "_")
    if name == "median":
        name, options = "quantile", {"name": name, **options, "of": "1/2"}
    if name in QUESTIONS:
        return _made(QUESTIONS[name], options)
    close = nearest_name(name, QUESTIONS)
    raise ParameterError(
        f"The kind of question is {name!r}." + (f" Did you mean {close!r}?" if close else ""),
        allowed=", ".join(QUESTIONS),
        fix=close or "mean",
    )


def _made(kind: type[Question], options: Mapping[str, Any]) -> Question:
    """The question, or an error that names the option that is wrong."""
    known = {field.name: field for field in dataclasses.fields(kind)}
    missing = [
        name
        for name, field in known.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in options
    ]
    if missing and set(options) <= set(known):  # an option that is not known is refused below, with the nearest one
        raise ParameterError(
            f"The question {kind.kind!r} lacks {', '.join(missing)}.",
            allowed=", ".join(known),
            fix=f'"{kind.kind}({missing[0]}=…)"',
        )
    return kind(**options)
