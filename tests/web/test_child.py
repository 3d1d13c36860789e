"""The process that releases for the page."""

from __future__ import annotations

import asyncio

import pytest

from barrow.errors import ParameterError
from barrow.web.child import Cancelled, Child, columns
from barrow.web.releasing import _message, started


async def _ordered(folder, order):
    child = await started(folder, order)
    return _message((await child.communicate())[0])


def test_a_child_that_is_cancelled_goes_no_further():
    told = []
    child = Child(told.append)
    child.stage("validate")
    child.cancel(interrupt=lambda: None)
    with pytest.raises(Cancelled):
        child.stage("reserve")
    assert told == [{"event": "stage", "stage": "validate"}, {"event": "cancelling"}]
    with pytest.raises(ParameterError, match=r"There is no file 'nowhere\.parquet'"):
        columns("nowhere.parquet")


def test_a_file_whose_name_is_in_another_encoding_reaches_the_child(tmp_path):
    child = asyncio.run(_ordered(tmp_path, {"do": "release", "file": "caf\udce9.toml", "question": "mean"}))
    assert child["problem"] == "There is no study file 'caf\\udce9.toml'."
