"""Runs the audits: all of them, one after the other, and the planted bugs after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barrow.audit.cases import CASES
from barrow.audit.planted import BUGS, try_bug
from barrow.audit.verdict import Finding, Planted, Verdict
from barrow.errors import ParameterError


def audit_all(
    *, only: Sequence[str] | None = None, planted: bool = True, progress: Callable[[str], None] | None = None
) -> Verdict:
    """Every mechanism in every model on tiny spaces, by exact enumeration, and every planted bug.

    ``only`` names audits (``CASES``). Of bugs that are ``planted`` each must be caught. ``progress`` hears a line of
    all that is done.

    >>> audit_all(only=["linf"], planted=False).passed
    True
    """
    names = list(CASES) if only is None else list(only)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise ParameterError(f"There is no audit {unknown[0]!r}.", allowed=", ".join(CASES), fix="--all")
    say = progress or (lambda line: None)
    findings: list[Finding] = []
    for name in names:
        result = CASES[name]()
        findings += result
        say(f"{name}: {sum(f.pairs for f in result):,} pairs, {sum(f.wrong for f in result):,} violations")
    tried: list[Planted] = []
    if planted:
        for bug in BUGS:
            if only is None or bug.case in names:
                tried.append(try_bug(bug))
                say(f"planted: {bug.name}: {'caught' if tried[-1].caught else 'NOT CAUGHT'}")
    return Verdict(findings, tried)
