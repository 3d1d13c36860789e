"""Twelve cron jobs of a year, with what goes wrong in one: each month is paid once, and promises are kept."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.faults import year


@pytest.mark.parametrize("stage", ["draw", "commit"])
def test_a_year_of_cron_jobs(tmp_path, stage):
    result = year.simulate(tmp_path, stage)
    assert result["paid_after_each"] == list(range(1, 13))  # the killed one was finished, and not paid twice
    assert result["payments"] == 13
    assert "in every month" in str(result["refused"])
    assert result["verified"] is True
    assert result["draws_left"] == 0
    spent = [Fraction(str(loss)) for loss in result["spent"]]  # type: ignore[attr-defined]
    quarter = Fraction(1, 4)
    assert quarter * 2 * (1 - Fraction(1, 10**6)) <= spent[0] <= 2 * quarter  # March and its correction
    assert quarter * 13 * (1 - Fraction(1, 10**6)) <= spent[1] <= 13 * quarter
    assert "all 12 months" in str(result["text"])
