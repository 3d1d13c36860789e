"""Suggestions by meaning: on the command line, in study files, in texts."""

from __future__ import annotations

import pytest

from barrow import synonyms
from barrow.cli.main import _COMMANDS, main
from barrow.errors import ParameterError, nearest_name
from barrow.questions import question_kinds, to_question
from barrow.spaces import parse_space
from barrow.spaces.spec import READY, SPACES
from barrow.study import study_from_spec

MEANT = {
    "heatmap": "histogram",
    "average": "mean",
    "variance": "spread",
    "top": "histogram",
    "percentile": "quantile",
    "words": "similarity",
    "distinct": "histogram",
    "max": "quantile",
    "hotspot": "density",
    "rate": "region",
}


@pytest.mark.parametrize("word", MEANT)
def test_questions(word):
    with pytest.raises(ParameterError, match=f"Did you mean '{MEANT[word]}'"):
        to_question(word)


def test_a_median_is_a_quantile_and_counts_say_what_to_write():
    assert to_question("median").to_spec()["kind"] == "quantile"
    for word in ("count", "sum"):
        with pytest.raises(ParameterError, match="one number for each of them"):
            to_question(word)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("words", "embedding"),
        ("gps", "earth"),
        ("categories", "discrete"),
        ("map", "earth"),
        ("date", "line"),
        ("yesno", "discrete"),
    ],
)
def test_spaces(word, name):
    with pytest.raises(ParameterError, match=f"Did you mean '{name}'"):
        parse_space(word)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("quantiles(0.1, 0.5, 0.9)", r"quantile\(of=\[0.1, 0.5, 0.9\]\)"),
        ("quantile(levels=[0.1])", "Did you mean 'of'"),
        ("density('5 km')", r"density\(bandwidth='5 km'\)"),
        ("mean(3)", '"mean", "histogram"'),
        ("nothing(3", '"mean", "histogram"'),
    ],
)
def test_arguments_without_names_get_them(text, fix):
    with pytest.raises(ParameterError, match=fix):
        to_question(text)


def test_keys_of_studies():
    with pytest.raises(ParameterError, match="Did you mean 'users'"):
        study_from_spec({"space": {"kind": "hours"}, "people": 10})


TYPED = {"publish": "barrow release", "relase": "barrow release", "heatmap": "--question histogram"}


@pytest.mark.parametrize(("word", "said"), TYPED.items())
def test_commands(word, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main([word])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_everything_in_the_table_is_there_and_no_word_stands_twice_for_one_kind_of_thing():
    kinds = [set(question_kinds()), {*SPACES, *READY}, set(_COMMANDS)]
    keys = {
        "users",
        "user",
        "items",
        "source",
        "epsilon",
        "cell",
        "bandwidth",
        "of",
        "ledger",
        "promise",
        "question",
        "dataset",
        "item",
        "out",
        "within",
    }
    assert set(synonyms._MEANT) <= set.union(*kinds) | keys
    for names in kinds:
        words = [word for name in names if name in synonyms._MEANT for word in synonyms._MEANT[name].split()]
        assert not {word for word in words if words.count(word) > 1}
        assert not set(words) & names  # what there is means itself
    assert nearest_name("line", ["line", "lines"]) == "line"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["init", "x.csv", "--record", "age"], "--item"),
        (["init", "x.csv", "--value", "age"], "--item"),
        (["report", "folder", "--html", "x.html"], "--out"),
        (["region", "folder", "--near", "home"], "--within"),
        (["plan", "--user", "3", "--quesiton", "mean"], "--question"),
    ],
)
def test_options(words, name, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert f"Did you mean '{name}'" in " ".join(capsys.readouterr().err.split())


def test_an_option_that_nobody_means_gets_no_suggestion(capsys):
    with pytest.raises(SystemExit):
        main(["plan", "--banana"])
    assert "Did you mean" not in capsys.readouterr().err
