"""What a report says: texts, tables and figures, converted and checked, in the order in which a reader meets them.

In all texts ``**two stars**`` make bold; everything else is text and stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barrow.errors import ParameterError
from barrow.figures import Figure

Pairs = tuple[tuple[str, str], ...]


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ParameterError("A list of texts is one text.", allowed="a list of texts", fix='["one", "two"]')
    return tuple(str(value) for value in values)


def _pairs(values: Sequence[tuple[object, object]]) -> Pairs:
    return tuple((str(first), str(second)) for first, second in values)


@dataclass(frozen=True)
class Picture:
    """A figure with its caption, and the same figure drawn for a phone.

    >>> from barrow.figures import bars
    >>> Picture(bars(["a"], [1], unit="km"), "Lengths.").caption
    'Lengths.'
    """

    figure: Figure
    caption: str = ""
    narrow: Figure | None = None


@dataclass(frozen=True)
class Table:
    """Rows of texts; a long table is folded.

    Args:
        columns: Their names.
        rows: One text for each column.
        numeric: Which columns are numbers, to be aligned at the right.
        caption: What the rows are.
        total: How many rows there are in all, where only the first are given.
        csv: The whole table as a file that readers may save, as its exact text.
        name: What that file is called.

    >>> Table(["place", "share"], [["Paris", "3 %"]], numeric=[1]).rows
    (('Paris', '3 %'),)
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[int] = ()
    caption: str = "All values"
    total: int | None = None
    csv: str | None = None
    name: str = "values.csv"

    def __post_init__(self) -> None:
        """Texts, as many in each row as there are columns."""
        object.__setattr__(self, "columns", _texts(self.columns))
        object.__setattr__(self, "rows", tuple(_texts(row) for row in self.rows))
        object.__setattr__(self, "numeric", tuple(int(k) for k in self.numeric))
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ParameterError(
                f"A row has another length than {len(self.columns)}.",
                allowed="a text for each column",
                fix="fill the row",
            )


@dataclass(frozen=True)
class Learnt:
    """What anyone can learn if something about one person had been different.

    Args:
        words: What had been different, e.g. "1 flight of 50 had been 1,000 km elsewhere".
        probability: What a 50 % guess can become at most, rounded up.
        worst: Whether this is the worst case; the others are numbered as in the figure.

    >>> Learnt("everything had been different", 0.693).probability
    0.693
    """

    words: str
    probability: float
    worst: bool = False

    def __post_init__(self) -> None:
        """Check the probability."""
        if not 0.5 <= self.probability <= 1:
            raise ParameterError(f"probability is {self.probability}.", allowed="from 0.5 to 1", fix="probability=0.6")


@dataclass(frozen=True)
class Answer:
    """One answer: what it is, its pictures, its values, and how sure they are.

    >>> Answer("The map", ["Shares of visits."]).title
    'The map'
    """

    title: str
    text: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    certainty: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Texts as tuples."""
        object.__setattr__(self, "text", _texts(self.text))
        object.__setattr__(self, "certainty", _texts(self.certainty))
        object.__setattr__(self, "pictures", tuple(self.pictures))


@dataclass(frozen=True)
class Report:
    """All that a report says. What is empty is left out, so plans, comparisons and ledgers use the same page.

    Args:
        title: The heading.
        lead: One or two sentences below it.
        kicker: A few words above it.
        chips: Short facts.
        glance: Questions that a member of the public asks, with their answers.
        answers: What was released.
        learnt: What anyone can learn about one person, for each promise and in the worst case.
        belief: The figure that goes with it.
        accuracy: Figures of privacy against accuracy, of errors by the number of people.
        accuracy_text: Sentences before them.
        budget: The ledger over time.
        budget_text: Sentences before it.
        entries: The ledger's entries.
        warnings: What must not be overlooked.
        technical: The technical statement, in paragraphs.
        parameters: Every parameter with its value.
        commands: What to type to verify.

    >>> Report("Where people went", "The share of visits near each place.").title
    'Where people went'
    """

    title: str
    lead: str = ""
    kicker: str = "Privacy-preserving release"
    chips: Sequence[str] = ()
    glance: Sequence[tuple[str, str]] = ()
    answers: Sequence[Answer] = ()
    learnt: Sequence[Learnt] = ()
    belief: Picture | None = None
    accuracy: Sequence[Picture] = ()
    accuracy_text: Sequence[str] = ()
    budget: Picture | None = None
    budget_text: Sequence[str] = ()
    entries: Table | None = None
    warnings: Sequence[str] = ()
    technical: Sequence[str] = ()
    parameters: Sequence[tuple[str, str]] = ()
    commands: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Sequences as tuples of texts."""
        for name in ("chips", "accuracy_text", "budget_text", "warnings", "technical", "commands"):
            object.__setattr__(self, name, _texts(getattr(self, name)))
        for name in ("glance", "parameters"):
            object.__setattr__(self, name, _pairs(getattr(self, name)))
        for name in ("answers", "learnt", "accuracy"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
