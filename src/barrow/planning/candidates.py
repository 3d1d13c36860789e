"""A candidate: one mechanism that can answer with a valid guarantee, and the error to expect of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import float_up
from barrow.privacy import Guarantee, UserLevel


@dataclass(frozen=True)
class Candidate:
    """One way to answer, its guarantee, and its predicted error; everything in it is public.

    Attributes:
        name: What it is called, e.g. ``"tree"``; a study may ask for it by this name.
        words: What it does, in a few words.
        guarantee: What it promises.
        error: The error by which candidates are ranked, in the unit of the comparison.
        undecoded: The error before decoding, where there is decoding.
        upper: No data have a larger expected error, if the decoder is ``"nearest"``; None where nothing is proven.
        note: What it asks of the data, or warns of; empty where there is nothing to say.
        mechanism: What would be drawn.
        standard_error: Of ``error``, where that is the mean of simulated releases.
        decoded: The part of ``error`` that is noise and decoding, without what snapping moves; for histograms.

    >>> from barrow.privacy import Emd
    >>> made = Candidate("tree", "noise on the edges", Guarantee(Emd(25, model="central"), "knorm", "lemma:lin"), 0.001)
    >>> made.user_level, made.to_json()["error"]
    (False, 0.001)
    """

    name: str
    words: str
    guarantee: Guarantee
    error: float
    undecoded: float | None = None
    upper: float | None = None
    note: str = ""
    mechanism: Any = None
    standard_error: float | None = None
    decoded: float | None = None

    @property
    def user_level(self) -> bool:
        """Whether it promises ordinary user-level DP, the same for every change."""
        return isinstance(self.guarantee.definition, UserLevel)

    def epsilon_at(self, emd: float, share: float) -> float:
        """The epsilon, rounded up, if ``share`` of a person's data changes by ``emd`` in all.

        Noise on averages never sees more of a change than the share of their range: alpha share B/ell.
        """
        ratio = getattr(getattr(self.mechanism, "event", None), "range_ratio", None)
        return self.guarantee.epsilon_at(
            emd if ratio is None else min(emd, float_up(Fraction(share) * Fraction(ratio)))
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "words": self.words,
            "error": self.error,
            "standard_error": self.standard_error,
            "decoded_error": self.decoded,
            "undecoded_error": self.undecoded,
            "error_upper_nearest": self.upper,
            "note": self.note,
            "guarantee": self.guarantee.to_json(),
        }


def best_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """By predicted error.

    >>> best_first([])
    []
    """
    return sorted(candidates, key=lambda candidate: candidate.error)


def chosen(candidates: Sequence[Candidate], name: str = "auto") -> Candidate:
    """The candidate called ``name``, or the most accurate one."""
    ranked = best_first(candidates)
    if name == "auto":
        return ranked[0]
    for candidate in ranked:
        if candidate.name == name:
            return candidate
    raise ParameterError(
        f"The mechanism {name!r} cannot answer this question on this space.",
        allowed="'auto', " + ", ".join(repr(candidate.name) for candidate in ranked),
        fix=f"mechanism = {ranked[0].name!r}",
    )


def reasons(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Why each one but the best loses, by name.

    >>> from barrow.privacy import Emd
    >>> promise = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    >>> reasons([Candidate("identity", "", promise, 0.2), Candidate("tree", "", promise, 0.1)])
    {'identity': '2.0 times the error of tree'}
    """
    best, *others = best_first(candidates)
    found = {}
    for other in others:
        times = other.error / best.error if best.error > 0 else float("inf")
        found[other.name] = f"{times:,.{1 if times < 100 else 0}f} times the error of {best.name}"
    return found


def useless(candidate: Candidate, guess: float | None, unit: str) -> list[str]:
    """A warning if the best answer is hardly better than a guess without data, and what would help.

    >>> from barrow.privacy import Emd
    >>> weak = Candidate("tree", "", Guarantee(Emd(1, model="central"), "knorm", "lemma:lin"), 0.3)
    >>> useless(weak, 0.4, "km")[0][:58]
    'The answer will be nearly useless: an error of 0.3 km is t'
    """
    if guess is None or candidate.error < guess / 2.0:
        return []
    near = f" {unit}" if unit else ""
    return [
        f"The answer will be nearly useless: an error of {candidate.error:.3g}{near} is to be expected, and a guess "
        f"without any data errs by {guess:.3g}{near}."
    ]
