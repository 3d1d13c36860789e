"""Errors keep their three parts, also through pickling."""

from __future__ import annotations

import pickle

import barrow.errors as errors


def test_errors_survive_pickling_with_their_parts():
    for kind in (errors.BarrowError, errors.ParameterError, errors.DataError, errors.LedgerError):
        error = pickle.loads(pickle.dumps(kind("what", allowed="this", fix="that")))
        assert type(error) is kind
        assert (error.problem, error.allowed, error.fix) == ("what", "this", "that")
        assert str(error) == "what\n  allowed: this\n  fix:     that"
        assert error.to_json() == {"error": kind.__name__, "problem": "what", "allowed": "this", "fix": "that"}


def test_parts_may_be_missing():
    assert str(errors.BarrowError("what")) == "what"
