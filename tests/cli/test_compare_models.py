"""``barrow compare --models`` and the flags of the aggregated model."""

from __future__ import annotations

import json

import pytest

ASKED = ["--space", "clustered(shape=[3, 3], r=0.05)", "--question", "histogram", "--users", "1000", "--alpha", "25"]


def test_models_are_told_as_a_table_and_as_json(barrow):
    code, text, _ = barrow("compare", "--models", *ASKED)
    assert code == 0
    assert "who must be trusted" in text
    assert "2 aggregators" in text
    told = json.loads(barrow("compare", "--models", "--json", *ASKED)[1])["models"]["histogram"]
    assert [row["model"] for row in told] == ["central", "aggregated", "shuffle", "local"]
    assert told[2]["error"] is None
    assert barrow("compare", "--models", "--quiet", *ASKED)[1].split() == ["central", "aggregated", "local"]


def test_a_plan_takes_the_number_of_aggregators(barrow):
    told = json.loads(barrow("plan", "--json", "--model", "aggregated", "--aggregators", "3", *ASKED)[1])
    assert (told["aggregators"], told["dishonest"], told["model"]) == (3, 1, "aggregated")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--model", "local", "--aggregators", "2"], "which has no aggregators"),
        (["--model", "aggregated", "--aggregators", "3", "--dishonest", "3"], "all of them together"),
        (["--model", "aggregated", "--aggregators", "1"], "aggregators"),
    ],
)
def test_wrong_numbers_of_aggregators_are_refused(barrow, flags, words):
    code, _, error = barrow("plan", *flags, *ASKED)
    assert code != 0
    assert words in error


def test_a_table_of_models_keeps_its_columns_at_80(barrow):
    lines = barrow("compare", "--models", *ASKED)[1].splitlines()
    place = lines[1].index("who must be trusted")
    rest = [line for line in lines[2:] if line[:place].strip() == "" and line.strip()]
    assert rest
    assert all(len(line) <= 80 for line in lines[:8])
    assert not any(line.startswith(("of them", "rules", "histogram:")) for line in lines)
