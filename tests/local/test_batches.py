"""The batch reader and the strict reader make the same of every text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.local.batches import BatchReader
from barrow.local.client import Survey
from barrow.local.report import Report
from barrow.local.server import Server
from barrow.spaces import Clustered, Discrete
from barrow.study import Study


def survey(alpha, space=None, items=4):
    where = Clustered.grid(3, 40, r=0.1) if space is None else space
    question = {"kind": "items", "items": items}
    return Survey(Study(where, alpha=alpha, delta="1e-6", model="local", questions=[question]))


STUDY = survey(60)
OTHER = survey(61)


def both(texts: list) -> tuple[Server, Server]:
    fast, strict = Server(STUDY), Server(STUDY)
    fast.add_all(texts)
    for text in texts:
        strict.add(text)
    return fast, strict


def told(server: Server) -> tuple:
    """All that a server knows after reading."""
    return server.n, dict(server.refused), server._collector.counts.tolist(), server._seen


def agree(texts: list) -> bool:
    fast, strict = both(texts)
    return told(fast) == told(strict)


def text(values: object = (0, 5, 17, 119), name: str = "0" * 32, study: str = STUDY.digest) -> str:
    given = {"barrow": "local report", "version": 1, "study": study, "id": name, "values": values}
    return json.dumps(given, separators=(",", ":"))


ODD = [
    text() + "\n",
    text() + " \n",
    text() + "\r\n",
    " " + text(),
    text().replace(",", ", "),
    text().replace("17", "017"),
    text().replace("17", "+17"),
    text().replace("17", "-17"),
    text().replace("17", "17.0"),
    text().replace("17", "1e1"),
    text().replace("17", "1_7"),
    text().replace("17", ""),
    text().replace("17", "true"),
    text().replace("17", '"17"'),
    text().replace("17", "١٧"),
    text().replace("17", "1" * 18),
    text().replace("17", "1" * 19),
    text().replace("17", "9" * 300),
    text().replace("[0", "[-0"),
    text([]),
    text([0, 5, 17]),
    text([0, 5, 17, 119, 119]),
    text([0, 5, 17, 120]),
    text([5, 0, 17, 119]),
    text([0, 5, 119, 17]),
    text()[:-1],
    text()[:-2],
    text() + "}",
    text() + text(),
    text().replace("]}", '],"more":[1]}'),
    text().replace("]}", "]]}"),
    text(name="0" * 31),
    text(name="0" * 31 + "A"),
    text(name="0" * 31 + "g"),
    text(name="0" * 31 + "-"),
    text(name="0" * 33),
    text(study=OTHER.digest),
    text().replace('"version":1', '"version":2'),
    text().replace('"version":1', '"version":true'),
    text().replace("local report", "another report"),
    text().replace('{"barrow"', '{"values":[1],"barrow"'),
    "",
    "{}",
    "[]",
    "null",
    "\x00",
    "🙂",
    text().encode(),
    b"\xff",
    json.loads(text()),
    {},
    Report(STUDY.digest, "0" * 32, (0, 5, 17, 119)),
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_texts_are_judged_as_the_strict_reader_does(odd):
    assert agree([odd])
    assert agree([text(name="1" * 32), odd, text(name="2" * 32)])


def test_all_of_them_together_in_any_order():
    rng = np.random.default_rng(3)
    for _ in range(20):
        some = [ODD[i] for i in rng.permutation(len(ODD))]
        assert agree([*some, *(text(name=f"{i:032x}") for i in range(5)), *some])


@settings(deadline=None, max_examples=300)
@given(st.integers(0, len(text()) - 1), st.characters(codec="utf-8"), st.booleans())
def test_any_one_character_changed_or_added(place, character, added):
    whole = text(name="0123456789abcdef" * 2)
    assert agree([whole[:place] + character + whole[place + (not added) :], text(name="1" * 32)])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.lists(st.integers(-2, 130), min_size=1, max_size=6), st.integers(0, 5)), max_size=30))
def test_random_reports(made):
    assert agree([text(sorted(values) if len(values) % 2 else values, name=f"{name:032x}") for values, name in made])


def test_good_reports_take_the_fast_way():
    values = np.sort(np.random.default_rng(1).integers(0, 120, (5000, 4)), axis=1)
    texts = [text(row.tolist(), name=f"{i:032x}") + "\n" for i, row in enumerate(values)]
    assert BatchReader(STUDY.digest).read(texts).read.all()
    server, strict = both(texts)
    assert told(server) == told(strict)
    assert server.n == 5000
    assert np.array_equal(server._collector.counts, np.bincount(values.ravel(), minlength=120))
    again = Server(STUDY)
    again.add_all(iter(texts + texts))
    assert again.refused == {"repeated": 5000}
    assert np.array_equal(again._collector.counts, server._collector.counts)


def test_long_numbers_and_large_spaces():
    study = survey(60, Discrete([str(i) for i in range(5000)]), 3)
    server = Server(study)
    server.add_all([Report(study.digest, f"{i:032x}", (i, 1234, 4999)).to_text() for i in range(9)])
    assert server.n == 9
    assert server._collector.counts[1234] == 9
    assert server._collector.counts[4999] == 9
    assert server._collector.counts.sum() == 27
