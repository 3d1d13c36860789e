"""A comparison of EMD-DP with user-level DP as a value: candidates, rivals, sentences, a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from barrow.display import Displayed
from barrow.numerics import float_up
from barrow.planning.candidates import Candidate, best_first, preferred, reasons, useless
from barrow.planning.rules import CAVEATS, PaperRule

PROMISES, WORST, ASKED = "keeps the same promises", "has the same worst case", "was asked for"
"""Why user-level DP is at an epsilon."""
_ALIKE = 1.05
Change = tuple[str, Fraction, Fraction, float]
"""A change of one person's data: in words, the share of the items that it moves, how far, and the promised epsilon."""


@dataclass(frozen=True)
class Rival:
    """User-level DP at one epsilon.

    Attributes:
        why: Why it is at this epsilon: one of ``PROMISES``, ``WORST`` and ``ASKED``.
        epsilon: Its parameter.
        candidates: Its mechanisms, the most accurate first.
        crossover: From about which alpha on EMD-DP is more accurate, never below epsilon; None if it is for none below
            10,000, or if nothing is known.
        rule: What the paper's rule says, where there is one.

    >>> from barrow.privacy import Guarantee, UserLevel
    >>> found = Candidate("laplace", "noise", Guarantee(UserLevel(1), "user_level", ""), 0.5)
    >>> Rival(PROMISES, Fraction(1), (found,), 3.0, None).to_json()["crossover_alpha"]
    3.0
    """

    why: str
    epsilon: Fraction
    candidates: tuple[Candidate, ...]
    crossover: float | None
    rule: PaperRule | None

    @property
    def best(self) -> Candidate:
        """Its most accurate mechanism."""
        return self.candidates[0]

    @property
    def error(self) -> float:
        """The error of the most accurate mechanism."""
        return self.best.error

    @property
    def words(self) -> str:
        """In a sentence: "user-level DP that keeps the same promises (ε = 0.1)"."""
        return f"user-level DP that {self.why} (ε = {float(self.epsilon):.3g})"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        rule = None if self.rule is None else {"alpha": self.rule.alpha, "formula": self.rule.formula}
        return {
            "why": self.why,
            "epsilon": float_up(self.epsilon),
            "error": self.error,
            "mechanism": self.best.name,
            "crossover_alpha": self.crossover,
            "paper_rule": rule,
        }


@dataclass(frozen=True)
class Comparison(Displayed):
    """All mechanisms that can answer, their predicted errors, the choice, and user-level DP beside them.

    Attributes:
        description: What is asked.
        measure: What the errors are, in words.
        unit: Their unit.
        alpha: Of EMD-DP.
        delta: Of both.
        diameter: The largest distance, which alpha is per.
        candidates: Under EMD-DP, the most accurate first.
        cannot: Why each of the others cannot answer.
        rivals: User-level DP at each epsilon; the one that keeps the promises first.
        changes: Changes of one person's data: see ``Change``.
        uniform_guess: What a guess without data errs by, for a histogram.

    >>> from barrow.planning import compare
    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, unit="years", step=1)
    >>> found = compare(line, {"kind": "mean"}, promises=["all, 5 years, 0.5"], users=1000)
    >>> print(found.sentence)
    2.1 times less error than user-level DP that keeps the same promises (ε = 0.5).
    """

    description: str
    measure: str
    unit: str
    alpha: Fraction
    delta: Fraction
    diameter: str
    candidates: tuple[Candidate, ...]
    cannot: Mapping[str, str]
    rivals: tuple[Rival, ...]
    changes: tuple[Change, ...]
    uniform_guess: float | None = None

    @property
    def choice(self) -> Candidate:
        """The most accurate mechanism under EMD-DP."""
        return self.candidates[0]

    @property
    def user_level(self) -> tuple[Candidate, ...]:
        """The most accurate mechanism of user-level DP at each epsilon."""
        return tuple(rival.best for rival in self.rivals)

    @property
    def better(self) -> Candidate:
        """What to release: the choice, or user-level DP where that keeps the same promises and errs clearly less."""
        return preferred([self.choice], best_first([rival.best for rival in self.rivals if rival.why == PROMISES]))

    @property
    def ratio(self) -> float | None:
        """The error of user-level DP that keeps the same promises over that of EMD-DP; of the first rival otherwise."""
        return self._ratio(self.rivals[0]) if self.rivals else None

    def _ratio(self, rival: Rival) -> float:
        own = self.choice.error
        return rival.error / own if own > 0.0 else math.inf if rival.error > 0.0 else 1.0

    @property
    def sentence(self) -> str:
        """The first line: how much there is to gain, or to lose, against user-level DP that keeps the same promises."""
        return self.against(self.rivals[0]) if self.rivals else "There is no user-level DP to compare with."

    def against(self, rival: Rival) -> str:
        """The ratio of errors in words."""
        ratio = self._ratio(rival)
        if ratio == 0.0 or math.isinf(ratio):  # an interval of one whole number
            here, there = ("no", "some") if ratio else ("some", "no")
            return f"EMD-DP has {here} error, and {rival.words} {there} error."
        bound = " at least" if self.choice.note.startswith("its error is an upper bound") else ""
        if ratio >= _ALIKE:
            return f"{_capital(bound)}{_times(ratio)} less error than {rival.words}."
        words = rival.words[0].upper() + rival.words[1:]
        if ratio > 1.0 / _ALIKE:
            return f"{words} has about the same error."
        advice = " A plan chooses that." if rival.why == PROMISES else ""
        return f"{words} has {_times(1.0 / ratio)} less error.{advice}"

    def warnings(self) -> list[str]:
        """When EMD-DP is the wrong choice here, from the numbers."""
        found = []
        for rival in self.rivals:
            kept = all(float(rival.epsilon) <= asked for *_, asked in self.changes)
            if self.changes and kept and rival.error <= self.choice.error:
                found.append(
                    f"User-level DP with ε = {float(rival.epsilon):.3g} keeps every promise above and is at least as "
                    "accurate: EMD-DP is the wrong choice for these promises."
                )
        found += useless(self.choice.error, self.uniform_guess, self.unit)
        worst = self.choice.guarantee.epsilon_at(1)
        if worst > 10:
            found.append(
                f"Somebody whose whole data differ is hardly protected (ε = {worst:.3g}). If that is the secret, use "
                "user-level DP, or add a promise about all of the data."
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``--json``."""

        def row(candidate: Candidate) -> dict[str, Any]:
            at = {words: candidate.epsilon_at(share, reach) for words, share, reach, _ in self.changes}
            return {**candidate.to_json(), "epsilon_at": at, "worst_epsilon": candidate.guarantee.epsilon_at(1)}

        return {
            "sentence": self.sentence,
            "ratio": self.ratio,
            "question": self.description,
            "measure": self.measure,
            "unit": self.unit,
            "alpha": float_up(self.alpha),
            "delta": float(self.delta),
            "choice": self.choice.name,
            "better": {"name": self.better.name, "user_level": self.better.user_level},
            "candidates": [row(candidate) for candidate in self.candidates],
            "why_others_lose": reasons(self.candidates),
            "cannot_answer": dict(self.cannot),
            "uniform_guess": self.uniform_guess,
            "user_level": [
                {**rival.to_json(), "candidates": [row(candidate) for candidate in rival.candidates]}
                for rival in self.rivals
            ],
            "crossovers": [
                {
                    "epsilon": float_up(rival.epsilon),
                    "error": rival.error,
                    "measured_alpha": rival.crossover,
                    "paper_rule": rival.to_json()["paper_rule"],
                }
                for rival in self.rivals
                if rival.why != WORST
            ],
            "warnings": self.warnings(),
            "caveats": [caveat.sentence for caveat in CAVEATS],
        }

    def lines(self) -> list[str]:
        """The sentence, a table, and a few more sentences."""
        heads = ["error", *[words for words, *_ in self.changes], "everything"]
        rows = [
            (("→ " if i == 0 else "  ") + f"{c.name}: {c.words}", self._cells(c))
            for i, c in enumerate([*self.candidates, *self.user_level])
        ]
        first = max(len(name) for name, _ in rows)
        widths = [max(len(head), *(len(cells[j]) for _, cells in rows)) for j, head in enumerate(heads)]
        table = [
            self.sentence,
            "",
            f"Question  {self.description}",
            f"Error     {self.measure}{f', in {self.unit}' if self.unit else ''}",
            f"α         {float_up(self.alpha):.4g} per {self.diameter}, δ = {float(self.delta):.3g}",
            "",
            " " * first + "".join(f"  {head:>{w}}" for head, w in zip(heads, widths, strict=True)),
            *(
                f"{name:<{first}}" + "".join(f"  {cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
                for name, cells in rows
            ),
            "",
        ]
        said = [self.against(rival) for rival in self.rivals[1:]]
        said += [f"{name}: {why}." for name, why in reasons(self.candidates).items()]
        notes = [f"{c.name}: {c.note}." for c in (*self.candidates, *self.user_level) if c.note]
        notes += [f"{name} cannot answer: {why[0].lower()}{why[1:]}." for name, why in self.cannot.items()]
        return [*table, *said, *notes, *self._crossing(), *self.warnings()]

    def _cells(self, candidate: Candidate) -> list[str]:
        at = [f"ε {candidate.epsilon_at(share, reach):.3g}" for _, share, reach, _ in self.changes]
        bound = "≤ " if candidate.note.startswith("its error is an upper bound") else ""
        spread = "" if candidate.standard_error is None else f" ± {candidate.standard_error:.1g}"
        return [f"{bound}{candidate.error:.3g}{spread}", *at, f"ε {candidate.guarantee.epsilon_at(1):.3g}"]

    def _crossing(self) -> list[str]:
        lines = []
        for rival in self.rivals:
            if rival.why == WORST:
                continue  # at this epsilon the choice is user-level DP itself
            start = f"Against user-level DP with ε = {float(rival.epsilon):.3g}, EMD-DP is more accurate"
            if rival.crossover is None and rival.error <= self.candidates[0].error:
                lines.append(f"{start} for no α below 10,000 that is known.")
            elif rival.crossover is not None:
                lines.append(f"{start} from about α = {rival.crossover:.3g} on (predicted).")
            if rival.rule is not None:
                lines.append("  " + rival.rule.sentence())
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _times(ratio: float) -> str:
    digits = 2 if ratio < 1.95 else 1 if ratio < 9.95 else 0
    return f"{ratio:,.{digits}f} times"


def _capital(text: str) -> str:
    return f"{text.strip().capitalize()} " if text else ""
