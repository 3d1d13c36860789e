"""The bundled examples: which data, what is promised, what is asked. Everything here is public and chosen beforehand.

Spaces come from geography and from the vectors' own file, never from the data that are released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path

from barrow.engines import Source
from barrow.errors import ParameterError
from barrow.policy import Promise
from barrow.release import Study
from barrow.spaces import Earth, Embedding

NEW_YORK = (40.64, -73.78)
"""John F. Kennedy airport."""

NORTH_AMERICA = (10.0, -172.0, 72.0, -59.0)
"""South, west, north, east: from Trinidad to Point Barrow and from Saint Lawrence Island to Barbados, so that the
contiguous United States, Alaska, Hawaii and the Caribbean lie within."""

CONCEPTS = ("love", "death", "king", "war", "night")


@dataclass(frozen=True)
class Example:
    """A bundled data set and the studies that the demo releases from it.

    Args:
        name: What ``--data`` calls it.
        person: Who counts as one person.
        about: The data in a few words.
        credit: Where the data come from, and their terms.
        files: The bundled files that the studies read.
        studies: From the demo's folder to its studies, by the name of their results.
        titles: What each study asks, in a few words.

    >>> EXAMPLES["flights"].person
    'aircraft'
    """

    name: str
    person: str
    about: str
    credit: str
    files: tuple[str, ...]
    studies: Callable[[Path], Mapping[str, Study]]
    titles: Mapping[str, str]


def bundled(name: str) -> Traversable:
    """A bundled file.

    >>> bundled("flights.parquet").is_file()
    True
    """
    return files("barrow.demo") / "data" / name


def flight_studies(folder: Path) -> dict[str, Study]:
    """A map of destinations and the mean distance flown; they share what is promised, 19 to 1.

    A mean of distances needs little, and a small part keeps its worst case small: one aircraft that flew as far as
    the space allows would move it a lot.

    >>> studies = flight_studies(Path("x"))
    >>> sum(study.part for study in studies.values())
    Fraction(1, 1)
    """
    space = Earth(box=NORTH_AMERICA, cell=50, default=NEW_YORK)

    def study(name: str, part: Fraction, query: dict[str, object]) -> Study:
        return Study(
            space,
            promises=(Promise("1 flight of 50", "1000 km", "0.1"), Promise("all", "200 km", "1")),
            part=part,
            noise="laplace",
            query=query,
            source=Source.parse(str(folder / "flights.parquet")),
            user="user",
            items=("lat", "lon"),
            dataset="nycflights13",
            users=4043,
            ledger=str(folder / "demo.ledger"),
            out=str(folder / name),
        )

    return {
        "map": study("map", Fraction(19, 20), {"kind": "density", "bandwidth": "400 km"}),
        "distance": study("distance", Fraction(1, 20), {"kind": "distance_to", "point": list(NEW_YORK)}),
    }


def word_studies(folder: Path) -> dict[str, Study]:
    """How near the words of each speaker are to a few concepts; words outside the vocabulary count as "the".

    Between vectors, unrelated words are at right angles, and half of all words have another one within 45 degrees.

    >>> word_studies(Path("x"))["concepts"].alpha_exact
    Fraction(10, 1)
    """
    import numpy as np

    with np.load(BytesIO(bundled("words.npz").read_bytes())) as file:
        words, vectors = file["words"].tolist(), file["vectors"].astype(np.float64)
    concepts = [vectors[words.index(word)].tolist() for word in CONCEPTS]
    return {
        "concepts": Study(
            Embedding(words, vectors, metric="angular", default="the"),
            promises=(Promise("1 word of 50", "90 degrees", "0.1"), Promise("1 word of 5", "45 degrees", "0.5")),
            noise="l2",
            query={"kind": "similarity", "vectors": concepts, "names": list(CONCEPTS)},
            source=Source.parse(str(folder / "shakespeare.parquet")),
            user="user",
            items=("word",),
            unknown="default",
            dataset="shakespeare",
            users=297,
            ledger=str(folder / "demo.ledger"),
            out=str(folder / "concepts"),
        )
    }


EXAMPLES: Mapping[str, Example] = {
    "flights": Example(
        "flights",
        "aircraft",
        "where they flew from New York in 2013",
        "nycflights13, CC0",
        ("flights.parquet",),
        flight_studies,
        {
            "map": "how much they fly to each part of North America, smoothed over 400 km",
            "distance": "how far their destinations are from New York on average",
        },
    ),
    "shakespeare": Example(
        "shakespeare",
        "speaker",
        "the words they say in eight plays by Shakespeare",
        "public domain; word vectors: GloVe, PDDL",
        ("shakespeare.parquet",),
        word_studies,
        {"concepts": "how near their words are to five concepts (mean cosine)"},
    ),
}
"""Every bundled example by its name."""


def example(name: str) -> Example:
    """The bundled example called ``name``.

    >>> example("storms")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no bundled data set 'storms'.
      allowed: flights, shakespeare
      fix:     barrow demo --data flights
    """
    if name not in EXAMPLES:
        raise ParameterError(
            f"There is no bundled data set {name!r}.", allowed=", ".join(EXAMPLES), fix="barrow demo --data flights"
        )
    return EXAMPLES[name]
