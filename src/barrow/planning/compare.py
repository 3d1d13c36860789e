"""EMD-DP and ordinary user-level DP side by side: errors, the cost of changes, where one overtakes the other.

User-level DP is set to the epsilon that keeps every promise, the smallest that is asked, and to the worst case of the
chosen release. EMD-DP at alpha is user-level DP at the worst case of alpha, so it is one of the competitors itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up
from barrow.planning.candidates import Candidate, best_first, reasons, useless
from barrow.planning.histograms import HistogramQuestion, histogram_candidates
from barrow.planning.linear import linear_errors
from barrow.planning.references import Reference
from barrow.planning.rules import CAVEATS, PaperRule, paper_rule_central, paper_rule_linear, paper_rule_local
from barrow.planning.user_level import user_level_errors, user_level_histograms
from barrow.policy import Policy, describe_distance, describe_share
from barrow.policy.policy import PromiseLike
from barrow.privacy.definitions import positive, probability
from barrow.queries import Query, query_from_spec
from barrow.spaces import TREES, Space

PROMISES, WORST, ASKED = "keeps the same promises", "has the same worst case", "was asked for"
"""Why user-level DP is at an epsilon."""
_ALIKE = 1.05
_LARGEST_ALPHA = 10_000.0
Change = tuple[str, float, float]
"""A change of one person's data: in words, its EMD, and the epsilon that was promised."""


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
class Comparison:
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
        changes: Changes of one person's data: in words, their EMD, and the epsilon that was promised.
        blind: What a guess without data errs by, for a histogram.

    >>> from barrow.spaces import Line
    >>> line = Line(0, 100, unit="years", step=1)
    >>> found = compare(line, {"kind": "mean"}, promises=["all, 5 years, 0.5"], users=1000)
    >>> print(found.sentence)
    16 times less error than user-level DP that keeps the same promises (ε = 0.5).
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
    blind: float | None = None

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
        """What to release: the choice, or user-level DP where that keeps the same promises and errs less."""
        kept = [rival.best for rival in self.rivals if rival.why == PROMISES]
        return best_first([self.choice, *kept])[0]

    @property
    def ratio(self) -> float | None:
        """The error of user-level DP that keeps the same promises over that of EMD-DP; of the first rival otherwise."""
        return self._ratio(self.rivals[0]) if self.rivals else None

    def _ratio(self, rival: Rival) -> float:
        return rival.error / self.choice.error if self.choice.error > 0.0 else math.inf

    @property
    def sentence(self) -> str:
        """The first line: how much there is to gain, or to lose, against user-level DP that keeps the same promises."""
        return self.against(self.rivals[0]) if self.rivals else "There is no user-level DP to compare with."

    def against(self, rival: Rival) -> str:
        """The ratio of errors in words."""
        ratio = self._ratio(rival)
        bound = " at least" if self.choice.note.startswith("its error is an upper bound") else ""
        if ratio >= _ALIKE:
            return f"{_capital(bound)}{_times(ratio)} less error than {rival.words}."
        words = rival.words[0].upper() + rival.words[1:]
        if ratio > 1.0 / _ALIKE:
            return f"{words} has about the same error."
        advice = " Release that instead." if rival.why == PROMISES else ""
        return f"{words} has {_times(1.0 / ratio)} less error.{advice}"

    def warnings(self) -> list[str]:
        """When EMD-DP is the wrong choice here, from the numbers."""
        found = []
        for rival in self.rivals:
            kept = all(float(rival.epsilon) <= asked for _, _, asked in self.changes)
            if self.changes and kept and rival.error <= self.choice.error:
                found.append(
                    f"User-level DP with ε = {float(rival.epsilon):.3g} keeps every promise above and is at least as "
                    "accurate: EMD-DP is the wrong choice for these promises."
                )
        found += useless(self.choice, self.blind, self.unit)
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
            at = {words: candidate.guarantee.epsilon_at(w) for words, w, _ in self.changes}
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
            "blind_error": self.blind,
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
        heads = ["error", *[words for words, _, _ in self.changes], "everything"]
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
        at = [f"ε {candidate.guarantee.epsilon_at(w):.3g}" for _, w, _ in self.changes]
        bound = "≤ " if candidate.note.startswith("its error is an upper bound") else ""
        spread = "" if candidate.standard_error is None else f" ± {candidate.standard_error:.1g}"
        return [f"{bound}{candidate.error:.3g}{spread}", *at, f"ε {candidate.guarantee.epsilon_at(1):.3g}"]

    def _crossing(self) -> list[str]:
        lines = []
        for rival in self.rivals:
            if rival.why == WORST:
                continue  # at this epsilon the choice is user-level DP itself
            start = f"Against user-level DP with ε = {float(rival.epsilon):.3g}, EMD-DP is more accurate"
            if rival.crossover is None:
                lines.append(f"{start} for no α below 10,000 that is known.")
            else:
                lines.append(f"{start} from about α = {rival.crossover:.3g} on (predicted).")
            if rival.rule is not None:
                lines.append("  " + rival.rule.sentence())
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def compare(
    space: Space,
    query: Mapping[str, Any] | Query,
    alpha: Exact | None = None,
    delta: Exact = 0,
    *,
    users: int,
    items: int | None = None,
    model: str = "central",
    promises: Policy | Sequence[PromiseLike] | None = None,
    epsilons: Sequence[Exact] = (),
    reference: Reference = "auto",
) -> Comparison:
    """All mechanisms that can answer ``query`` under (alpha, delta)-EMD-DP, and user-level DP beside them.

    User-level DP is at the smallest epsilon of the promises, which keeps all of them, at the worst case of the choice,
    and at every epsilon that is asked for.

    Args:
        space: The public space.
        query: What is asked; for a histogram the error is the EMD after decoding, otherwise a 95 % half width.
        alpha: Privacy loss per unit of EMD; by default the largest that keeps the promises.
        delta: The probability with which guarantees may fail; 0 leaves pure ones.
        users: n, public.
        items: m, how many items each user holds, where that is public and the same for all; without it mechanisms that
            need it are left out.
        model: ``"central"``, ``"local"``, or ``"shuffle"`` (histograms).
        promises: (share, distance, epsilon), as texts or triples, or a policy; their changes head the columns.
        epsilons: More parameters of user-level DP to compare with.
        reference: The public distribution at which the error of a decoded histogram is predicted.

    >>> from barrow.spaces import Clustered
    >>> found = compare(Clustered.grid(5, 4, r=0.02), {"kind": "histogram"}, 25, users=10**4, epsilons=["0.5"])
    >>> found.choice.name, [rival.why for rival in found.rivals]
    ('tree', ['was asked for', 'has the same worst case'])
    """
    if isinstance(users, bool) or users is None or users < 2:
        raise ParameterError(f"users is {users!r}.", allowed="a whole number, 2 or more", fix="users=1000")
    slack = probability(delta)
    policy = promises if promises is None or isinstance(promises, Policy) else Policy(space, promises, delta=slack)
    if alpha is None and policy is None:
        raise ParameterError(
            "Neither promises nor alpha are given.", allowed="one of them", fix='promises=["1/30, 10 km, 0.5"]'
        )
    rate = policy.alpha_exact if alpha is None and policy is not None else positive(alpha or 0, "alpha")
    asked = query if isinstance(query, Query) else query_from_spec(space, dict(query))
    sides: _Histograms | _Linear
    if asked.kind == "histogram":
        sides = _Histograms(
            HistogramQuestion.of(space, slack, users=users, items=items, model=model, reference=reference)
        )
    else:
        sides = _Linear(asked, slack, users, model)
    found, cannot = sides.own(rate)
    return Comparison(
        sides.description,
        sides.measure,
        sides.unit,
        rate,
        slack,
        f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance",
        tuple(found),
        cannot,
        tuple(_rival(sides, found, rate, why, epsilon) for why, epsilon in _levels(policy, epsilons, found[0])),
        () if policy is None else tuple(_change(kept, space) for kept in policy.kept),
        sides.blind,
    )


def _levels(policy: Policy | None, epsilons: Sequence[Exact], choice: Candidate) -> list[tuple[str, Fraction]]:
    """Which epsilons of user-level DP to compare with, and why; each once."""
    wanted = [] if policy is None else [(PROMISES, min(promise.epsilon for promise in policy.promises))]
    wanted += [(ASKED, positive(epsilon, "epsilon")) for epsilon in epsilons]
    worst = choice.guarantee.epsilon_at(1)
    if 0.0 < worst < math.inf:
        wanted.append((WORST, Fraction(worst)))
    found: dict[Fraction, str] = {}
    for why, epsilon in wanted:
        if not any(abs(epsilon / known - 1) < Fraction(1, 10**6) for known in found):
            found[epsilon] = why
    return [(why, epsilon) for epsilon, why in found.items()]


def _rival(sides: _Histograms | _Linear, own: list[Candidate], alpha: Fraction, why: str, epsilon: Fraction) -> Rival:
    choice, others = own[0], sides.others(epsilon, why != WORST)
    # Whatever is at most epsilon for every change is user-level DP itself.
    known = [c for c in own if c.guarantee.epsilon_at(1) <= float(epsilon) * (1.0 + 1e-12)]
    found = best_first([*others, *(_as_user_level(candidate) for candidate in known)])
    same = None if why == WORST else next((c for c in others if c.name == choice.name), None)
    crossing = None if same is None else crossover(choice, alpha, same, epsilon, found[0].error)
    return Rival(why, epsilon, tuple(found), crossing, sides.rule(epsilon))


def crossover(choice: Candidate, alpha: Fraction, same: Candidate, epsilon: Fraction, error: float) -> float | None:
    """From about which alpha on the chosen mechanism errs by less than ``error``, user-level DP at ``epsilon``.

    The mechanism's error is known at two values of alpha: at the one that was planned, and at the one whose worst case
    is epsilon, where it is one of the competitors. In between and beyond, ln(error) is taken as linear in ln(alpha).
    It is never below epsilon, where EMD-DP is user-level DP itself.

    Args:
        choice: The mechanism at ``alpha``.
        alpha: Where it was planned.
        same: The same mechanism at the worst case ``epsilon``.
        epsilon: The parameter of user-level DP.
        error: The error of the best competitor.

    >>> from barrow.privacy import Emd, Guarantee
    >>> promise = Guarantee(Emd(25, model="central"), "knorm", "lemma:lin")
    >>> made = Candidate("tree", "", promise, 0.04)
    >>> round(crossover(made, Fraction(25), replace(made, error=1.0), Fraction(1), 0.5), 6)
    2.0
    """
    worst = choice.guarantee.epsilon_at(1)
    # The worst case is proportional to alpha: this alpha has epsilon as its worst case.
    first, second = float(epsilon) * float(alpha) / worst, float(alpha)
    least = max(float(epsilon), first)
    if error >= same.error:
        return least
    steps = math.log(second / first)
    if abs(steps) < 1e-9 or not choice.error > 0.0 or (same.error - choice.error) * steps <= 0.0:
        return None
    slope = math.log(choice.error / same.error) / steps
    found = first * math.exp(math.log(error / same.error) / slope)
    return max(found, least) if found <= _LARGEST_ALPHA else None


@dataclass(frozen=True)
class _Linear:
    """A linear question: errors are half widths."""

    query: Query
    delta: Fraction
    users: int
    model: str
    measure: ClassVar[str] = "95 % half width of each value"
    blind: ClassVar[float | None] = None

    @property
    def description(self) -> str:
        return self.query.description

    @property
    def unit(self) -> str:
        return self.query.unit

    def own(self, alpha: Fraction) -> tuple[list[Candidate], dict[str, str]]:
        return linear_errors(self.query, alpha, self.delta, users=self.users, model=self.model), {}

    def others(self, epsilon: Fraction, itself: bool) -> list[Candidate]:
        return user_level_errors(self.query, epsilon, self.delta, users=self.users, model=self.model)

    def rule(self, epsilon: Fraction) -> PaperRule | None:
        return paper_rule_linear(epsilon)


@dataclass(frozen=True)
class _Histograms:
    """A histogram: errors are earth mover's distances after decoding."""

    question: HistogramQuestion
    measure: ClassVar[str] = "EMD between the decoded histogram and the truth, simulated at a public reference"
    description: ClassVar[str] = "the histogram of people's items"

    @property
    def unit(self) -> str:
        return self.question.space.unit

    @property
    def blind(self) -> float:
        return self.question.blind_error

    def own(self, alpha: Fraction) -> tuple[list[Candidate], dict[str, str]]:
        return histogram_candidates(self.question, alpha)

    def others(self, epsilon: Fraction, itself: bool) -> list[Candidate]:
        asked = self.question
        found = user_level_histograms(
            asked.space,
            epsilon,
            asked.delta,
            users=asked.users,
            model=asked.model,
            reference=asked.reference,
            decode=asked.decode,
        )
        # In the local model edge noise at alpha = epsilon is among them already where there is a tree, and is better.
        local_tree = asked.model == "local" and isinstance(asked.space, TREES)
        if itself and asked.model != "central" and asked.items is not None and not local_tree:
            found += self._itself(epsilon)
        return found

    def _itself(self, epsilon: Fraction) -> list[Candidate]:
        """Randomised items at alpha = epsilon: user-level DP too, with the decoders that EMD-DP has on any space."""
        try:
            made = histogram_candidates(self.question, epsilon, only="frequency")[0][0]
        except ParameterError:
            return []
        return [_as_user_level(made)]

    def rule(self, epsilon: Fraction) -> PaperRule | None:
        asked = self.question
        if asked.delta == 0 or asked.items is None:
            return None
        sizes = {"items": asked.space.items, "users_items": asked.items}
        if asked.model == "local":
            return paper_rule_local(epsilon, asked.delta, **sizes)
        return paper_rule_central(epsilon, asked.delta, **sizes, users=asked.users)


def _as_user_level(made: Candidate) -> Candidate:
    return replace(made, words=f"user-level: {made.words}, by its worst case")


def _change(kept: Any, space: Space) -> Change:
    words = f"{describe_share(kept.promise)} by {describe_distance(kept.promise, space)}"
    return words, float_up(kept.emd), float(kept.promise.epsilon)


def _times(ratio: float) -> str:
    digits = 2 if ratio < 1.95 else 1 if ratio < 9.95 else 0
    return f"{ratio:,.{digits}f} times"


def _capital(text: str) -> str:
    return f"{text.strip().capitalize()} " if text else ""
