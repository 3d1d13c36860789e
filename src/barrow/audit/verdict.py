"""What an audit found: counts, violations, planted bugs, and one word for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Violation:
    """A pair of data sets that a release tells apart more than it promises; or a draw that is not what it claims.

    Attributes:
        what: In words: which data sets, or which draw.
        distance: The earth mover's distance of the pair, 0 where there is none.
        value: The privacy loss (or the delta) that was found.
        allowed: What the guarantee allows.

    >>> Violation("users (0,) and (1,)", 0.5, 1.25, 1.0).value
    1.25
    """

    what: str
    distance: float
    value: float
    allowed: float


@dataclass(frozen=True)
class Finding:
    """What was found about one mechanism in one model.

    Attributes:
        mechanism: Its name.
        model: ``local``, ``shuffle`` or ``central``.
        pairs: How many ordered pairs of data sets were compared.
        draws: How many results of the shipped draw code were compared with what they must be.
        violations: What is wrong; at most a few of each kind are described.
        wrong: How many violations there are.
        used: The largest share of what a guarantee allows that a pair used; near 1 where the guarantee is tight.

    >>> Finding("Laplace", "central", 2450).passed
    True
    """

    mechanism: str
    model: str
    pairs: int
    draws: int = 0
    violations: tuple[Violation, ...] = ()
    wrong: int = 0
    used: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return self.wrong == 0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mechanism": self.mechanism,
            "model": self.model,
            "pairs": self.pairs,
            "draws": self.draws,
            "violations": self.wrong,
            "used": round(self.used, 6),
            "examples": [asdict(v) for v in self.violations],
        }


NEAR = 1e-9
"""What floats may be off by, relatively."""


class Tally:
    """Collects what an audit of one mechanism finds."""

    MOST = 5

    def __init__(self, mechanism: str, model: str) -> None:
        self._names = mechanism, model
        self.pairs = self.draws = self.wrong = 0
        self.used = 0.0
        self._violations: list[Violation] = []

    def violation(self, what: str, result: float, allowed: float, distance: float = 0.0) -> None:
        """Notes one violation."""
        self.wrong += 1
        if len(self._violations) < self.MOST:
            self._violations.append(Violation(what, float(distance), float(result), float(allowed)))

    def compared(self, what: str, result: float, allowed: float, distance: float = 0.0, slack: float = 0.0) -> None:
        """One more pair: the share of what is allowed that it uses; a violation beyond rounding and ``slack``."""
        self.pairs += 1
        self.used = max(self.used, float(result) / allowed if allowed > 0.0 else 0.0)
        if result > allowed * (1.0 + NEAR) + slack:
            self.violation(what, result, allowed, distance)

    def finding(self) -> Finding:
        """What was found."""
        return Finding(*self._names, self.pairs, self.draws, tuple(self._violations), self.wrong, self.used)


@dataclass(frozen=True)
class Planted:
    """A bug that was planted on purpose, and whether the audit caught it.

    Attributes:
        name: What was broken.
        caught: Whether the audit of the patched code found a violation.
        by: Which audit.

    >>> Planted("half the scale", True, "Laplace (central)").caught
    True
    """

    name: str
    caught: bool
    by: str


@dataclass(frozen=True)
class Verdict:
    """All findings, and all planted bugs.

    >>> verdict = Verdict([Finding("Laplace", "central", 2450)])
    >>> verdict.passed, verdict.summary()["pairs"]
    (True, 2450)
    """

    findings: Sequence[Finding]
    planted: Sequence[Planted] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        """Whether no violation was found and every planted bug was caught."""
        return all(f.passed for f in self.findings) and all(p.caught for p in self.planted)

    def summary(self) -> dict[str, int]:
        """The counts: mechanisms (in their models), pairs, violations, planted bugs, those caught and those not.

        ``limits`` are the sums of integers at their limits, and the refusals beyond them.
        """
        return {
            "mechanisms": len({(f.mechanism, f.model) for f in self.findings if f.pairs}),
            "pairs": sum(f.pairs for f in self.findings),
            "violations": sum(f.wrong for f in self.findings),
            "planted": len(self.planted),
            "planted_caught": sum(p.caught for p in self.planted),
            "limits": sum(f.draws for f in self.findings if f.mechanism == "limits"),
            "undetected": sum(not p.caught for p in self.planted),
        }

    def to_json(self) -> dict[str, Any]:
        """The counts, and everything behind them, as plain data."""
        return {
            **self.summary(),
            "passed": self.passed,
            "findings": [f.to_json() for f in self.findings],
            "planted_bugs": [asdict(p) for p in self.planted],
        }

    def lines(self) -> list[str]:
        """A table for people, and one sentence.

        >>> print(Verdict([Finding("Laplace", "central", 2450, used=0.9999)]).lines()[-1])
        Passed: 2,450 pairs of data sets in 1 mechanisms, no violation.
        """
        width = max((len(f.mechanism) for f in self.findings), default=9)
        rows = [f"{'mechanism':{width}}  {'model':8} {'pairs':>8} {'draws':>8} {'wrong':>6} {'used':>7}"]
        rows += [
            f"{f.mechanism:{width}}  {f.model:8} {f.pairs:8,} {f.draws:8,} {f.wrong:6,} {f.used:7.1%}"
            for f in self.findings
        ]
        for f in self.findings:
            rows += [
                f"! {f.mechanism} ({f.model}): {v.what}: {v.value:.6g} where {v.allowed:.6g} is allowed"
                for v in f.violations
            ]
        rows += [f"! planted and not caught: {p.name}" for p in self.planted if not p.caught]
        total = self.summary()
        wrong = f"{total['violations']:,} violations" if total["violations"] else "no violation"
        planted = f"; {total['planted_caught']} of {total['planted']} planted bugs caught" if self.planted else ""
        rows.append(
            f"{'Passed' if self.passed else 'FAILED'}: {total['pairs']:,} pairs of data sets in "
            f"{total['mechanisms']} mechanisms, {wrong}{planted}."
        )
        return rows
