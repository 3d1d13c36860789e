"""What a person asks: one frozen class for each kind, which knows everything about being asked."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from barrow.errors import NamedOptions, ParameterError
from barrow.numerics import exact_text
from barrow.privacy.definitions import share

if TYPE_CHECKING:
    from barrow.figures import Figure
    from barrow.planning.terms import Terms
    from barrow.questions.plan import Plan
    from barrow.spaces import Space

Said = Mapping[str, Any]
"""A statement as plain data."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, kw_only=True, repr=False)
class Question(NamedOptions, ABC):
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
    formerly: ClassVar[Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {}
    """Earlier names of this kind in study files, each with what turns its options into those of today."""
    kinds: ClassVar[dict[str, type[Question]]] = {}
    """Every kind by its name; see :func:`barrow.questions.question_kinds`."""

    knows_missing: ClassVar[bool] = False
    """Whether it tells people without records apart where they have an item of their own."""

    name: str = ""
    fraction: Fraction | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.kind:
            Question.kinds[cls.kind] = cls

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

    def fits(self, space: Space) -> None:
        """Refuse, within a second, a space on which it has no answer."""

    @abstractmethod
    def plan(self, terms: Terms) -> Plan:
        """The most accurate answer that keeps the terms; it reads no data."""

    # What a statement says, from its plain data alone, so that an old one can be explained without its study.

    @classmethod
    @abstractmethod
    def released(cls, said: Said) -> str:
        """What was released, and how accurate it is, in a sentence or two."""

    @classmethod
    @abstractmethod
    def counted(cls, said: Said) -> str:
        """What the noise was added to."""

    @classmethod
    @abstractmethod
    def drawn(cls, said: Said) -> list[str]:
        """How the noise was drawn, step by step."""

    @classmethod
    def figure(cls, said: Said, tables: Mapping[str, Any], space: Space | None = None, **style: Any) -> Figure:
        """A picture of the released values.

        Args:
            said: The statement.
            tables: The tables of values.
            space: The study's space: with it, items are drawn where they are.
            style: What :func:`barrow.questions.pictures.picture` takes.
        """
        from barrow.questions.pictures import picture

        return picture(said, tables["values"], space, shares=cls.of_shares, **style)

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
