"""A proposal: releases that are planned and not made, as a file that approvers read, check and sign.

It holds, for each release, everything by whose digest a ledger will know it, and the statement that would go with it.
Whoever reads it need not believe it: the numbers of every statement are computed again from what would be drawn, and
must be those of the release that the signature is for.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import msgspec

from barrow.errors import ParameterError, clean, path_text
from barrow.ledger import Ledger
from barrow.ledger.approvals import STAMP, Approval, ProposedRelease, end_of, release_digest
from barrow.ledger.keys import SigningKey
from barrow.ledger.opened import stamp, whoami
from barrow.ledger.state import ASKED
from barrow.ledger.store import canonical
from barrow.questions.statement import Json, Statement
from barrow.study.about import About
from barrow.study.folders import read_part
from barrow.study.keys import parameters_of
from barrow.study.parts import Series, with_parts
from barrow.study.prose import statement_text
from barrow.study.release import CollectedReports, check_ledger, open_ledger, payment_of
from barrow.study.restated import contradictions, paid_otherwise
from barrow.study.statement import make_statement, parse_statement, write_statement
from barrow.study.study import Study
from barrow.study.verification import FORGED

PROPOSAL_VERSION = 1
FILE = "proposal.json"
"""What it is called in its folder."""
_MOST = 10_000


class _ProposedWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    asked: Json
    statement: Json


class _ProposalWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    barrow: Literal["proposal"]
    version: Literal[1]
    ledger: str
    dataset: str
    made: str
    by: str
    expires: str
    releases: list[_ProposedWire]


@dataclass(frozen=True, eq=False)
class Proposal:
    """Releases that approvers are asked to sign.

    Attributes:
        ledger: The name of the ledger that would pay.
        dataset: The data set.
        made: When it was made.
        by: Who made it, as their system calls them.
        expires: After when nothing of it may be paid for.
        statements: What would go with each release.
        releases: The releases as approvals name them.
    """

    wire: _ProposalWire
    statements: tuple[Statement, ...]
    releases: tuple[ProposedRelease, ...]

    @property
    def ledger(self) -> str:
        """The name of the ledger that would pay."""
        return self.wire.ledger

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.wire.dataset

    @property
    def expires(self) -> str:
        """After when nothing of it may be paid for."""
        return self.wire.expires

    @property
    def content(self) -> bytes:
        """The file."""
        return msgspec.json.format(msgspec.json.encode(self.wire), indent=1) + b"\n"

    @property
    def digest(self) -> str:
        """By what approvals name it."""
        return "sha256:" + hashlib.sha256(canonical(msgspec.to_builtins(self.wire)).encode()).hexdigest()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Proposal:
        """The proposal in a file, or in the folder that ``barrow propose`` wrote; checked.

        >>> Proposal.read("nowhere")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: There is no proposal at 'nowhere'.
          allowed: the folder that barrow propose wrote, or its proposal.json
          fix:     barrow approve proposal
        """
        wanted = f"the folder that barrow propose wrote, or its {FILE}"
        text, fix = path_text(path, "The proposal"), "barrow approve proposal"
        return cls.parse(read_part(text, FILE, "proposal", allowed=wanted, fix=fix)[1])

    @classmethod
    def parse(cls, content: bytes) -> Proposal:
        """The proposal that bytes hold; one whose words are not about the releases that would be signed is refused."""
        try:
            wire = msgspec.json.decode(content, type=_ProposalWire)
            stamped = all(map(STAMP.fullmatch, (wire.made, wire.expires)))
            plain = all(clean(name) == name and "\n" not in name for name in (wire.ledger, wire.dataset, wire.by))
            if not (0 < len(wire.releases) <= _MOST and stamped and plain):  # an approver's screen shows them
                raise ValueError
            statements = [parse_statement(msgspec.json.encode(one.statement)) for one in wire.releases]
            wrong = [s.name for one, s in zip(wire.releases, statements, strict=True) if not _is_about(s, one.asked)]
            wrong += [s.name for s in statements if contradictions(s) or s.dataset not in (None, wire.dataset)]
        except FORGED:
            raise ParameterError(
                "The file is not a proposal of this version of barrow, or was changed.",
                allowed=f"{FILE} as barrow propose wrote it, version {PROPOSAL_VERSION}",
                fix="barrow propose",
            ) from None
        if wrong:
            raise ParameterError(
                f"What the proposal says about {wrong[0]!r} does not follow from the releases that are proposed.",
                allowed="a proposal whose words and numbers are those of the releases in it",
                fix="do not sign it; ask for a proposal that barrow propose wrote",
            )
        return cls(wire, tuple(statements), tuple(_named(one.asked) for one in wire.releases))

    def approve(self, *, by: str, key: SigningKey, expires: str | None = None, now: datetime | None = None) -> Approval:
        """Sign all of it; ``expires``, a date or a number of days, may be earlier than the proposal's."""
        moment = now or datetime.now(UTC)
        end = self.expires if expires is None else min(self.expires, end_of(expires, moment))
        if stamp(moment) > end:
            raise ParameterError(
                f"The proposal expired on {end[:10]}.", allowed="a proposal that has not expired", fix="barrow propose"
            )
        return Approval.sign(self.ledger, self.digest, self.releases, by=by, key=key, expires=end, signed=stamp(moment))

    def lines(self) -> list[str]:
        """What is proposed, in words: each question once in full, with the periods that it is asked about."""
        lines = [
            f"Proposal {self.digest}",
            f"made on {self.wire.made[:10]} by {self.wire.by}, until {self.expires[:10]}",
        ]
        seen: dict[str, list[str]] = {}
        for release in self.releases:
            seen.setdefault(release.question, []).extend(release.periods)
        told = set()
        for release, statement in zip(self.releases, self.statements, strict=True):
            if release.question not in told:
                told.add(release.question)
                periods = ", ".join(seen[release.question])
                lines += ["", f"── {release.question}" + (f", for each of {periods}" if periods else "")]
                lines += ["Its statement would say:", statement_text(statement)]
        return lines


def propose(
    study_releases: Iterable[tuple[Series, About]],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    expires: str = "30 days",
    now: datetime | None = None,
) -> Proposal:
    """A proposal of releases, priced by the ledger that would pay; nothing is read, spent or written.

    Args:
        study_releases: Each question of a study with what it is about.
        ledger: The ledger, or its file; by default the one that the study names.
        expires: A date, or a number of days.
        now: The time; for tests.
    """
    listed = list(study_releases)
    if not listed:
        raise ParameterError("No question is given.", allowed="at least one question", fix="barrow propose mean")
    state, releases = open_ledger(listed[0][0].study, ledger), []
    for series, about in listed:
        study, parts = series.study, series.planner.parts(about)
        parameters = parameters_of(study, parts.stated, about)
        statement = make_statement(study, parts.plan, parameters=parameters)
        if not about.whole:
            statement = with_parts(statement, study, parts, (0, []))
        paid = payment_of(parts.plan, study.dataset or state.budget.dataset)
        asked = state.proposed(**paid, parameters=parameters, question=statement.name)
        releases.append(_proposed(asked, statement))
    return _proposal(state, releases, expires, now or datetime.now(UTC))


def propose_collected(
    study: Study,
    reports: CollectedReports,
    *,
    ledger: Ledger,
    expires: str = "30 days",
    now: datetime | None = None,
) -> Proposal:
    """A proposal to release results of the reports that have come, and of no others; nothing is spent or written.

    Args:
        study: The study.
        reports: What there is to release.
        ledger: The ledger that would pay.
        expires: A date, or a number of days.
        now: The time; for tests.
    """
    check_ledger(ledger, study)
    parameters = reports.parameters(study)
    statement = make_statement(study, reports.plan, parameters=parameters, conditions=reports.conditions)
    asked = ledger.proposed(**reports.paid(ledger), parameters=parameters, question=statement.name)
    return _proposal(ledger, [_proposed(asked, statement)], expires, now or datetime.now(UTC))


def _proposed(asked: Json, statement: Statement) -> _ProposedWire:
    return _ProposedWire(asked, msgspec.json.decode(write_statement(statement), type=Json))


def _proposal(state: Ledger, releases: list[_ProposedWire], expires: str, moment: datetime) -> Proposal:
    wire = _ProposalWire(
        "proposal", 1, state.name, state.budget.dataset, stamp(moment), whoami(), end_of(expires, moment), releases
    )
    return Proposal.parse(msgspec.json.encode(wire))


def _is_about(statement: Statement, asked: Mapping[str, object]) -> bool:
    """Whether a statement is about the release that a digest stands for, and no field is there beside it."""
    return set(asked) == set(ASKED) and not paid_otherwise(statement, asked)


def _named(asked: Json) -> ProposedRelease:
    reads = asked["reads"]
    periods = msgspec.convert(reads["periods"], list[str]) if isinstance(reads, dict) else []
    return ProposedRelease(str(asked["question"]), periods, release_digest(asked))
