"""What a release writes of an answer beside its tables: by the type of the answer, from public or noisy numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

from barrow.promises import Model
from barrow.questions.answer import Answer, Rows, Sample
from barrow.questions.statement import Json
from barrow.spaces.space import Floats

if TYPE_CHECKING:
    from barrow.mechanisms import ReleasedShares
    from barrow.planning.after import OwnError

_FEW_ROWS = 12


@singledispatch
def parameters(answer: Answer) -> Json:
    """The public numbers on which the distribution of the values depends, beside the terms; the event by default."""
    return {"event": answer.event.to_json()}


@singledispatch
def summary(answer: Answer, sample: Sample) -> list[str]:
    """The released values in a few lines, for a terminal; the first rows by default."""
    rows = answer.tables(sample)["values"][:_FEW_ROWS]
    return [", ".join(f"{name} {value}" for name, value in row.items()) for row in rows]


@singledispatch
def error_after(answer: Answer, sample: Sample) -> OwnError | None:
    """How far off what was drawn is, from itself and public numbers; None where the plan's number says it all."""
    return None


@singledispatch
def released_shares(answer: Answer, values: Floats, users: int) -> ReleasedShares | None:
    """The unbiased shares that released values are, or means of so many people's reports; None for other types."""
    return None


@singledispatch
def simulated(answer: Answer, people: Floats, seed: int) -> Floats:
    """What would be released of public shares of the items, with noise from a seed: for pictures, never for people."""
    return people


@singledispatch
def noisy_values(answer: Answer, tables: Mapping[str, Rows]) -> Floats | None:
    """The values with noise that tables were made of, about; None where tables do not say them."""
    return None


@singledispatch
def drawn_by_curator(answer: Answer) -> bool:
    """Whether somebody who holds the records can draw it."""
    return answer.terms.model is Model.CENTRAL


@singledispatch
def places_of(answer: Answer) -> Floats | None:
    """Where the values belong; None where nowhere."""
    return answer.terms.space.records_space.geometry.places


@singledispatch
def on_map(answer: Answer) -> bool:
    """Whether the rows are places on a map."""
    return False


@singledispatch
def most_rows(answer: Answer) -> int:
    """How many rows the tables have, at most."""
    return 2 * answer.facts().outputs + (answer.terms.space.size or 0)


class HeldItems(NamedTuple):
    """What is public about how many items each person holds.

    Attributes:
        items: m, where everybody holds exactly so many; None where people may hold any number.
        samples: s, where so many are drawn from each person; None otherwise.
    """

    items: int | None = None
    samples: int | None = None


@singledispatch
def held_by_each(answer: Answer) -> HeldItems:
    """How many items each person holds, or gives; any number by default."""
    return HeldItems()
