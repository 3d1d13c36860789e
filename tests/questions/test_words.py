"""The sentences of statements, from their facts."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from barrow.questions.item_words import how_many, items_counted, reports_sentence
from barrow.questions.noise_words import noise_sentence, snapping_words
from barrow.questions.statement import AnswerFacts, NoiseFacts, Statement
from barrow.study import Study, make_statement


def statement_of(**facts: Any) -> Statement:
    """A statement of a mean, with other facts."""
    study = Study("line(low=0, high=1, step=0.1)", alpha=5, users=10)
    return structs.replace(make_statement(study, study.plan("mean")), **facts)


def test_how_many():
    assert how_many(AnswerFacts(items_per_person=30)) == "each holding exactly 30 items"


def test_items_counted():
    assert (
        items_counted(statement_of(people=9, answer=AnswerFacts(items_per_person=30)))
        == "The items of all 9 people, exactly 30 of each, were counted together."
    )


def test_reports_sentence():
    noise = NoiseFacts(distribution="randomised response", alpha0=1.0, method="flow_strong")
    result = reports_sentence(statement_of(answer=AnswerFacts(noise=noise)))
    assert result[:45] == "Every item was replaced by a random report (r"


def test_snapping_words():
    assert snapping_words(AnswerFacts(snapping=0.5, unit="years")) == " (0.5 years of it for snapping to the grid)"


def test_noise_sentence():
    noise = NoiseFacts(distribution="Laplace", scale=0.5, grid="1/1024")
    assert noise_sentence(AnswerFacts(noise=noise, unit="km")).startswith("Laplace noise of scale 0.5 km ")
