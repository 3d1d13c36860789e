"""The space, the question and the engine pass the suites that barrow's own pass."""

import json

import pytest
from barrow_prefixes import JsonLines, Prefixes, PrivateShare

from barrow.errors import DataError, ParameterError
from barrow.testing import (
    EngineSuite,
    QuestionCase,
    QuestionSuite,
    SpaceCase,
    SpaceSuite,
    pytest_generate_tests,
)

__all__ = ["pytest_generate_tests"]

SPACE = Prefixes([f"{a}.{b}.{c}.0/24" for a in (8, 10, 192) for b in (0, 8, 168) for c in (1, 2)])


class TestPrefixes(SpaceSuite):
    cases = (SpaceCase("small", Prefixes(["10.0.1.0/24", "8.8.8.0/24"])), SpaceCase("many", SPACE))


class TestPrivateShare(QuestionSuite):
    cases = (QuestionCase("share", PrivateShare(), SPACE),)


class TestJsonLines(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows))
        return JsonLines(), path

    # A file without lines names no columns.
    test_no_rows = None


def test_addresses_are_read_by_their_network():
    assert SPACE.encode(["10.8.1.200"]).tolist() == [SPACE.labels.index("10.8.1.0/24")]
    with pytest.raises(DataError):
        SPACE.encode(["10.8.3.200"])
    with pytest.raises(ParameterError, match="cannot be encoded inside the engine"):
        _ = SPACE.formula


def test_a_line_that_is_no_json_is_refused_without_its_text(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"uid": "SECRET"\n')
    with pytest.raises(DataError, match="A line is no JSON") as error:
        JsonLines().columns(tmp_path / "rows.jsonl")
    assert "SECRET" not in str(error.value)
