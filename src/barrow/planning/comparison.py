"""A comparison of EMD-DP with user-level DP as a value: candidates, baselines, sentences, a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from barrow.display import Displayed
from barrow.numerics import float_up
from barrow.numerics.exact import near
from barrow.planning.candidates import Candidate, ErrorRatio, best_first, preferred, reasons, useless
from barrow.planning.rules import CAVEATS, PaperRule
from barrow.promises import alarm

_MOVES = 3
"""Up to so many promises have a column of their own in a table of 80 columns."""
PROMISES, WORST, REQUEST = "keeps the same promises", "has the same worst case", "was asked for"
"""Why user-level DP is at an epsilon."""
Change = tuple[str, Fraction, Fraction, float]
"""A change of one person's data: in words, the share of the items that it moves, how far, and the promised epsilon."""


@dataclass(frozen=True)
class Baseline:
    """User-level DP at one epsilon.

    Attributes:
        why: Why it is at this epsilon: one of ``PROMISES``, ``WORST`` and ``REQUEST``.
        epsilon: Its parameter.
        candidates: Its mechanisms, the most accurate first.
        crossover: From about which alpha on EMD-DP is more accurate, never below epsilon; None if it is for none below
            10,000, or if nothing is known.
        rule: What the paper's rule says, where there is one.

    >>> from barrow.promises import Guarantee, UserLevel
    >>> candidate = Candidate("laplace", "noise", Guarantee(UserLevel(1), "user_level", ""), 0.5)
    >>> Baseline(PROMISES, Fraction(1), (candidate,), 3.0, None).to_json()["crossover_alpha"]
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

    def to_json(self) -> dict[str, object]:
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
        baselines: User-level DP at each epsilon; the one that keeps the promises first.
        changes: Changes of one person's data: see ``Change``.
        uniform_guess: The error of a guess without data, for a histogram.

    >>> import barrow as bw
    >>> study = bw.Study("line(low=0, high=100, step=1, unit='years')", ["all, 5 years, 0.5"], users=1000)
    >>> print(study.compare("mean").sentence)
    2.4 times less error than user-level DP that keeps the same promises (ε = 0.5).
    """

    description: str
    measure: str
    unit: str
    alpha: Fraction
    delta: Fraction
    diameter: str
    candidates: tuple[Candidate, ...]
    cannot: Mapping[str, str]
    baselines: tuple[Baseline, ...] = ()
    changes: tuple[Change, ...] = ()
    uniform_guess: float | None = None

    @property
    def choice(self) -> Candidate:
        """The most accurate mechanism under EMD-DP."""
        return self.candidates[0]

    @property
    def user_level(self) -> tuple[Candidate, ...]:
        """The most accurate mechanism of user-level DP at each epsilon."""
        return tuple(baseline.best for baseline in self.baselines)

    @property
    def better(self) -> Candidate:
        """What to release: the choice, or user-level DP where that keeps the same promises and errs clearly less."""
        return preferred(
            [self.choice], best_first([baseline.best for baseline in self.baselines if baseline.why == PROMISES])
        )

    @property
    def ratio(self) -> float | None:
        """The error of user-level DP that keeps the same promises over that of EMD-DP; else of the first baseline."""
        return ErrorRatio(self.choice.error, self.baselines[0].error).value if self.baselines else None

    @property
    def sentence(self) -> str:
        """The first line: how much there is to gain, or to lose, against user-level DP that keeps the same promises."""
        return self.against(self.baselines[0]) if self.baselines else "There is no user-level DP to compare with."

    def against(self, baseline: Baseline) -> str:
        """The ratio of errors in words."""
        found = ErrorRatio(self.choice.error, baseline.error)
        ratio, words = found.value, baseline.words[0].upper() + baseline.words[1:]
        if ratio == 0.0 or math.isinf(ratio):  # an interval of one whole number
            here, there = ("no", "some") if ratio else ("some", "no")
            return f"EMD-DP has {here} error, and {baseline.words} {there} error."
        if found.alike:
            return f"{words} has about the same error."
        if ratio > 1.0:
            return f"{found.times} less error than {baseline.words}."
        advice = " A plan chooses that." if baseline.why == PROMISES else ""
        return f"{words} has {found.times} less error.{advice}"

    def warnings(self) -> list[str]:
        """When EMD-DP is the wrong choice here, from the numbers."""
        results = []
        for baseline in self.baselines:
            holds = all(float(baseline.epsilon) <= promised for *_, promised in self.changes)
            if self.changes and holds and baseline.error <= self.choice.error:
                results.append(
                    f"User-level DP with ε = {float(baseline.epsilon):.3g} keeps every promise above and is at least "
                    "as accurate: EMD-DP is the wrong choice for these promises."
                )
        results += useless(self.choice.error, self.uniform_guess, self.unit)
        return [*results, *([self.alarm] if self.alarm else [])]

    @property
    def alarm(self) -> str | None:
        """What must be said where all data of one person are hardly hidden by the choice; else None."""
        return alarm(self.choice.guarantee.epsilon_at(1), float_up(self.delta))

    def to_json(self) -> dict[str, object]:
        """Plain data for ``--json``."""

        def row(candidate: Candidate) -> dict[str, object]:
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
                {**baseline.to_json(), "candidates": [row(candidate) for candidate in baseline.candidates]}
                for baseline in self.baselines
            ],
            "warnings": self.warnings(),
            "caveats": list(CAVEATS),
        }

    def lines(self, *, verbose: bool = True) -> list[str]:
        """The sentence, a table, and a few more sentences; without ``verbose`` those that decide.

        Columns of promises that do not fit into 80 are left out.
        """
        shown = [*self.candidates, *self.user_level]
        names = [
            f"{'→' if i == 0 else ' '} {c.name}{' (user-level DP)' if c.user_level else ''}"
            for i, c in enumerate(shown)
        ]
        moves = self.changes if len(self.changes) <= _MOVES else ()
        heads = ["error", "worst case", *(f"move {i + 1}" for i in range(len(moves)))]
        rows = [self._cells(c, moves) for c in shown]
        first = max(map(len, names))
        widths = [max(len(head), *(len(row[j]) for row in rows)) for j, head in enumerate(heads)]
        table = [
            self.sentence,
            "",
            f"Question  {self.description}",
            f"Error     {self.measure}{f', in {self.unit}' if self.unit else ''}",
            f"α         {float_up(self.alpha):.4g} per {self.diameter}, δ = {float(self.delta):.3g}",
            *(f"Move {i + 1}    {words}" for i, (words, *_) in enumerate(moves)),
            "",
            " " * first + "".join(f"  {head:>{w}}" for head, w in zip(heads, widths, strict=True)),
            *(
                f"{name:<{first}}" + "".join(f"  {cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
                for name, cells in zip(names, rows, strict=True)
            ),
            "",
        ]
        lines = [self.against(baseline) for baseline in self.baselines[1:]]
        if not verbose:
            return [*table, *lines, *self.warnings()]
        lines += [f"{c.name}: {c.words}." for c in shown]
        lines += [f"{name}: {why}." for name, why in reasons(self.candidates).items()]
        notes = [f"{c.name}: {c.note}." for c in shown if c.note]
        notes += [f"{name} cannot answer: {why[0].lower()}{why[1:]}." for name, why in self.cannot.items()]
        return [*table, *lines, *notes, *self._crossing(), *self.warnings()]

    def _cells(self, candidate: Candidate, moves: tuple[Change, ...]) -> list[str]:
        at = [f"ε {candidate.epsilon_at(share, reach):.3g}" for _, share, reach, _ in moves]
        spread = "" if candidate.standard_error is None else f" ± {near(candidate.standard_error, digits=1)}"
        return [f"{near(candidate.error)}{spread}", f"ε {candidate.guarantee.epsilon_at(1):.3g}", *at]

    def _crossing(self) -> list[str]:
        lines = []
        for baseline in self.baselines:
            if baseline.why == WORST:
                continue  # at this epsilon the choice is user-level DP itself
            start = f"Against user-level DP with ε = {float(baseline.epsilon):.3g}, EMD-DP is more accurate"
            if baseline.crossover is None and baseline.error <= self.candidates[0].error:
                lines.append(f"{start} for no known α below 10,000.")
            elif baseline.crossover is not None:
                lines.append(f"{start} from about α = {baseline.crossover:.3g} on (predicted).")
            if baseline.rule is not None:
                lines.append("  " + baseline.rule.sentence())
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())
